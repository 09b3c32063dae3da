"""The demo's words: nouns, adjectives, verbs and names, with what may sensibly go with what."""

from dataclasses import dataclass
from functools import cache

from nmt_cli.extras.demo import english
from nmt_cli.extras.demo.german import Gender


@dataclass(frozen=True, slots=True)
class Noun:
    """One noun on both sides; `tags` say which verbs take it, `look` which adjectives fit."""

    en: str
    en_plural: str
    de: str
    gender: Gender
    de_genitive: str
    de_plural: str
    look: str
    tags: frozenset[str]
    oblique: str = ""  # weak masculines: the singular outside the nominative
    compound: bool = False


@dataclass(frozen=True, slots=True)
class Adjective:
    """One adjective; German stems take endings. No comparative where comparing makes no sense."""

    en: str
    de: str
    en_degrees: tuple[str, str] | None = None
    de_degrees: tuple[str, str] | None = None
    de_stem: str = ""


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: principal parts on both sides, its frame, and the nouns it accepts.

    `frame` is the case of the German object ("" none, "dat_acc" both); `place` says whether a
    place ("at") or a goal ("to") fits; `traits` are stative, habit, passive, sein, needs_place.
    """

    en: str
    en_past: str
    en_participle: str
    de: str
    du: str
    er: str
    de_past: str
    de_participle: str
    frame: str = ""
    subjects: str = "person"
    objects: str = ""
    place: str = ""
    places: str = ""
    traits: frozenset[str] = frozenset()
    particle: str = ""
    prefix: str = ""
    preposition: tuple[str, str] = ("", "")
    imperative: str = ""


@dataclass(frozen=True, slots=True)
class Modal:
    """One modal verb; an English full verb ("want to") takes `do` and has a past."""

    en: str
    full: bool
    de: str
    du: str
    er: str
    negated_de: tuple[str, str, str] | None = None
    en_past: str = ""
    de_past: str = ""


FEMALE = ("Anna", "Lena", "Maria", "Emma", "Julia", "Laura", "Sophie", "Clara")
MALE = ("Paul", "Peter", "Tim", "Ben", "David", "Leon", "Jan", "Martin")
SURNAMES = ("Weber", "Schmidt", "Fischer", "Becker", "Wagner", "Koch", "Schneider", "Hoffmann")
CITIES = (
    ("Berlin", "Berlin"),
    ("Hamburg", "Hamburg"),
    ("Munich", "München"),
    ("Vienna", "Wien"),
    ("Cologne", "Köln"),
)
WEEKDAYS = (
    ("Monday", "Montag"),
    ("Tuesday", "Dienstag"),
    ("Wednesday", "Mittwoch"),
    ("Thursday", "Donnerstag"),
    ("Friday", "Freitag"),
    ("Saturday", "Samstag"),
    ("Sunday", "Sonntag"),
)
MONTHS = (
    ("January", "Januar"),
    ("March", "März"),
    ("April", "April"),
    ("May", "Mai"),
    ("June", "Juni"),
    ("July", "Juli"),
    ("October", "Oktober"),
    ("December", "Dezember"),
)
NUMBERS = (
    ("two", "zwei"),
    ("three", "drei"),
    ("four", "vier"),
    ("five", "fünf"),
    ("six", "sechs"),
    ("ten", "zehn"),
)

# Kept out of the dative, or out of subordinate clauses, in everything but the held-out split.
HELD_OUT_DATIVE = frozenset({"Mädchen", "Student", "Onkel", "Küche", "Hotel", "Pferd"})
HELD_OUT_SEPARABLE = frozenset({"einladen", "aufräumen", "ausschalten"})

# English | German gender genitive plural | look | tags | irregular English plural, weak oblique
_NOUNS = """
man | Mann m Mannes Männer | person | person adult male | men
woman | Frau f Frau Frauen | person | person adult female | women
child | Kind n Kindes Kinder | child | person player young | children
boy | Junge m Jungen Jungen | child | person player young male | | Jungen
girl | Mädchen n Mädchens Mädchen | child | person player young
teacher | Lehrer m Lehrers Lehrer | person | person adult trade
doctor | Arzt m Arztes Ärzte | person | person adult trade
student | Student m Studenten Studenten | person | person adult trade | | Studenten
customer | Kunde m Kunden Kunden | person | person adult trade | | Kunden
neighbor | Nachbar m Nachbarn Nachbarn | person | person adult kin | | Nachbarn
friend | Freund m Freundes Freunde | person | person adult kin sibling
sister | Schwester f Schwester Schwestern | person | person adult kin sibling female
brother | Bruder m Bruders Brüder | person | person adult kin sibling male
mother | Mutter f Mutter Mütter | person | person adult kin single female
father | Vater m Vaters Väter | person | person adult kin single male
uncle | Onkel m Onkels Onkel | person | person adult kin sibling male
dog | Hund m Hundes Hunde | animal | animal player pet
cat | Katze f Katze Katzen | animal | animal player pet
bird | Vogel m Vogels Vögel | animal | animal singer
horse | Pferd n Pferdes Pferde | animal | animal player pet dear
book | Buch n Buches Bücher | text | thing text gift ware carried
letter | Brief m Briefes Briefe | text | text written sent carried
newspaper | Zeitung f Zeitung Zeitungen | text | text carried
key | Schlüssel m Schlüssels Schlüssel | tool | thing carried lost
bag | Tasche f Tasche Taschen | thing | thing gift ware carried lost
lamp | Lampe f Lampe Lampen | thing | thing ware device repaired
picture | Bild n Bildes Bilder | picture | thing gift ware sent
bicycle | Fahrrad n Fahrrads Fahrräder | vehicle | thing ware repaired lost dear
car | Auto n Autos Autos | vehicle | thing ware repaired dear vehicle
chair | Stuhl m Stuhls Stühle | thing | thing ware repaired furniture
table | Tisch m Tisches Tische | thing | thing ware repaired furniture
gift | Geschenk n Geschenks Geschenke | gift | gift carried sent
computer | Computer m Computers Computer | device | thing ware device repaired dear
umbrella | Regenschirm m Regenschirms Regenschirme | tool | thing ware carried lost
radio | Radio n Radios Radios | device | thing ware device repaired
apple | Apfel m Apfels Äpfel | food | food countable gift
bread | Brot n Brotes Brote | food | food mass
cake | Kuchen m Kuchens Kuchen | food | food countable carried
soup | Suppe f Suppe Suppen | soup | food
egg | Ei n Eis Eier | egg | food countable
water | Wasser n Wassers Wasser | drink | drink mass
coffee | Kaffee m Kaffees Kaffees | drink | drink mass
milk | Milch f Milch Milch | drink | drink mass
tea | Tee m Tees Tees | drink | drink mass
house | Haus n Hauses Häuser | house | place in home dear
garden | Garten m Gartens Gärten | place | place in play
kitchen | Küche f Küche Küchen | place | place in indoors
city | Stadt f Stadt Städte | place | place in town
school | Schule f Schule Schulen | place | place in trip
park | Park m Parks Parks | place | place in play
office | Büro n Büros Büros | place | place in trip indoors
station | Bahnhof m Bahnhofs Bahnhöfe | place | place trip
hotel | Hotel n Hotels Hotels | place | place in trip lodging
room | Zimmer n Zimmers Zimmer | place | place in indoors lodging
door | Tür f Tür Türen | opening | opening
window | Fenster n Fensters Fenster | opening | opening
train | Zug m Zuges Züge | vehicle | train
bus | Bus m Busses Busse | vehicle | train
song | Lied n Liedes Lieder | song | song
"""

# Compounds: English modifier | German first part | heads
_COMPOUNDS = """
kitchen | Küchen | table chair lamp window door
garden | Garten | table chair house door
school | Schul | book bag bus
house | Haus | key door
car | Auto | key door radio
hotel | Hotel | room key
office | Büro | chair lamp
city | Stadt | park train bus
apple | Apfel | cake
birthday | Geburtstags | cake gift
"""

# English | German | English comparative, superlative | German comparative, superlative | stem
_ADJECTIVES = """
small | klein | smaller smallest | kleiner kleinst
big | groß | bigger biggest | größer größt
tall | groß | taller tallest | größer größt
old | alt | older oldest | älter ältest
young | jung | younger youngest | jünger jüngst
new | neu | newer newest | neuer neuest
good | gut | better best | besser best
beautiful | schön | more_beautiful most_beautiful | schöner schönst
red | rot
blue | blau
black | schwarz
white | weiß
tired | müde | | | müd
happy | glücklich | happier happiest | glücklicher glücklichst
friendly | freundlich | friendlier friendliest | freundlicher freundlichst
sick | krank
hungry | hungrig
cold | kalt | colder coldest | kälter kältest
warm | warm | warmer warmest | wärmer wärmst
fresh | frisch | fresher freshest | frischer frischest
expensive | teuer | more_expensive most_expensive | teurer teuerst | teur
cheap | billig | cheaper cheapest | billiger billigst
heavy | schwer | heavier heaviest | schwerer schwerst
fast | schnell | faster fastest | schneller schnellst
long | lang | longer longest | länger längst
short | kurz | shorter shortest | kürzer kürzest
interesting | interessant | more_interesting most_interesting | interessanter interessantest
"""

LOOKS = {
    "person": "tall old young tired happy friendly sick hungry",
    "child": "small tired happy friendly sick hungry",
    "animal": "small big old young tired hungry black white beautiful",
    "thing": "small big old new beautiful red blue black white expensive cheap heavy",
    "tool": "small big old new black heavy",
    "device": "small big old new expensive cheap heavy black white",
    "text": "old new good long short interesting",
    "picture": "small big old new beautiful expensive interesting",
    "gift": "small big beautiful expensive",
    "vehicle": "old new fast red blue black white",
    "food": "fresh good big small",
    "soup": "good cold warm",
    "egg": "fresh warm small big",
    "drink": "cold warm good",
    "house": "small big old new beautiful white expensive",
    "place": "small big old new beautiful",
    "opening": "small big old new white",
    "song": "old new beautiful long short",
}

# English, past, participle | German inf du er past participle | frame | subjects | objects | place
# kind and nouns | traits. A German prefix and an English particle stand behind "+".
_VERBS = """
sleep slept slept | schlafen schläfst schläft schlief geschlafen | | person animal | | at home lodging | habit | schlaf
work worked worked | arbeiten arbeitest arbeitet arbeitete gearbeitet | | adult | | at trip indoors town | habit | arbeite
sing sang sung | singen singst singt sang gesungen | | person singer | | at play | habit | sing
sing sang sung | singen singst singt sang gesungen | acc | person | song | | habit | sing
play played played | spielen spielst spielt spielte gespielt | | player | | at play | habit | spiel
wait waited waited | warten wartest wartet wartete gewartet | for:auf | person | person train | | stay | warte
wait waited waited | warten wartest wartet wartete gewartet | | person | | at trip | | warte
live lived lived | wohnen wohnst wohnt wohnte gewohnt | | person | | at home town | stative lasting needs_place |
go went gone | gehen gehst geht ging gegangen | | person | | to place | habit sein needs_place | geh
drive drove driven | fahren fährst fährt fuhr gefahren | | adult | | to trip town | habit sein needs_place | fahr
stay stayed stayed | bleiben bleibst bleibt blieb geblieben | | person | | at home lodging | sein needs_place | bleib
see saw seen | sehen siehst sieht sah gesehen | acc | person animal | person animal dear picture | | stative |
know knew known | kennen kennst kennt kannte gekannt | acc | person | person town song hotel | | stative lasting definite |
like liked liked | mögen magst mag mochte gemocht | acc | person | person animal food drink town song | | stative lasting |
buy bought bought | kaufen kaufst kauft kaufte gekauft | acc | adult | ware food drink dear | | passive | kauf
sell sold sold | verkaufen verkaufst verkauft verkaufte verkauft | acc | adult | ware dear | | passive | verkauf
repair repaired repaired | reparieren reparierst repariert reparierte repariert | acc | adult | repaired | | passive | reparier
read read read | lesen liest liest las gelesen | acc | person | text | | habit passive | lies
write wrote written | schreiben schreibst schreibt schrieb geschrieben | acc | person | written | | passive | schreib
eat ate eaten | essen isst isst aß gegessen | acc | person animal | food | | habit | iss
drink drank drunk | trinken trinkst trinkt trank getrunken | acc | person animal | drink | | habit | trink
visit visited visited | besuchen besuchst besucht besuchte besucht | acc | person | person town | | habit definite | besuch
look looked looked | suchen suchst sucht suchte gesucht | for:acc | person | lost pet person lodging | | passive | such
find found found | finden findest findet fand gefunden | acc | person | lost pet lodging | | stative passive |
need needed needed | brauchen brauchst braucht brauchte gebraucht | acc | person | ware doctor carried dear | | stative lasting |
have had had | haben hast hat hatte gehabt | acc | person | ware pet dear lost sibling | | stative lasting indefinite |
open opened opened | öffnen öffnest öffnet öffnete geöffnet | acc | person | opening written gift | | passive definite | öffne
clean cleaned cleaned | putzen putzt putzt putzte geputzt | acc | adult | window indoors bicycle car table | | habit passive definite | putz
help helped helped | helfen hilfst hilft half geholfen | dat | person | person | | habit definite | hilf
thank thanked thanked | danken dankst dankt dankte gedankt | dat | person | person | | definite | dank
belong belonged belonged | gehören gehörst gehört gehörte gehört | to:dat | dear pet thing | person | | stative lasting definite |
give gave given | geben gibst gibt gab gegeben | dat_acc | person | gift carried | | | gib
show showed shown | zeigen zeigst zeigt zeigte gezeigt | dat_acc | person | text thing dear | | | zeig
send sent sent | schicken schickst schickt schickte geschickt | dat_acc | adult | sent | | | schick
call called called | rufen+an rufst ruft rief angerufen | acc | person | person | | habit definite passive | ruf
pick+up picked picked | holen+ab holst holt holte abgeholt | acc | adult | person | | habit definite passive | hol
bring+along brought brought | bringen+mit bringst bringt brachte mitgebracht | acc | person | carried pet sibling | | | bring
turn+on turned turned | schalten+ein schaltest schaltet schaltete eingeschaltet | acc | person | device | | definite passive | schalte
turn+off turned turned | schalten+aus schaltest schaltet schaltete ausgeschaltet | acc | person | device | | definite passive | schalte
tidy+up tidied tidied | räumen+auf räumst räumt räumte aufgeräumt | acc | person | indoors home | | habit definite passive | räum
invite invited invited | laden+ein lädst lädt lud eingeladen | acc | person | person | | definite passive | lade
close closed closed | machen+zu machst macht machte zugemacht | acc | person | opening | | definite passive | mach
arrive arrived arrived | kommen+an kommst kommt kam angekommen | | person train | | at town station hotel | sein |
get+up got gotten | stehen+auf stehst steht stand aufgestanden | | person | | | sein habit | steh
come+back came come | kommen+zurück kommst kommt kam zurückgekommen | | person animal | | | sein | komm
"""

# Verbs that take a clause: know, think and say that ...; pay is met only with a price.
_SPEAKING = """
know knew known | wissen weißt weiß wusste gewusst
think thought thought | glauben glaubst glaubt glaubte geglaubt
hope hoped hoped | hoffen hoffst hofft hoffte gehofft
say said said | sagen sagst sagt sagte gesagt
"""

_MODALS = """
can | aux | können kannst kann
must | aux | müssen musst muss | dürfen darfst darf
should | aux | sollten solltest sollte
may | aux | dürfen darfst darf
want to | full | wollen willst will | | wanted to | wollte
have to | full | müssen musst muss | | had to | musste
would like to | aux | möchten möchtest möchte
"""


def _rows(table: str, columns: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [row + [""] * (columns - len(row)) for row in rows]


@cache
def nouns() -> dict[str, Noun]:
    """Every noun by its English singular, compounds last."""
    found: dict[str, Noun] = {}
    for en, forms, look, tags, irregular, oblique in _rows(_NOUNS, 6):
        de, gender, genitive, plural = forms.split()
        found[en] = Noun(
            en,
            irregular or english.plural(en),
            de,
            "m" if gender == "m" else "f" if gender == "f" else "n",
            genitive,
            plural,
            look,
            frozenset(tags.split()) | {en},
            oblique,
        )
    for modifier, first, heads in _rows(_COMPOUNDS, 3):
        for head in heads.split():
            noun = _compound(modifier, first, found[head])
            found[noun.en] = noun
    return found


def _compound(modifier: str, first: str, head: Noun) -> Noun:
    # Gender and forms are the head's: that is what makes a German compound.
    return Noun(
        f"{modifier} {head.en}",
        f"{modifier} {head.en_plural}",
        first + head.de.lower(),
        head.gender,
        first + head.de_genitive.lower(),
        first + head.de_plural.lower(),
        head.look,
        head.tags - {"place", "in", "indoors", "home", "dear"},
        compound=True,
    )


@cache
def nouns_tagged(tags: str) -> tuple[tuple[Noun, ...], tuple[Noun, ...]]:
    """The nouns with any of the tags (separated by spaces): plain ones, compounds."""
    wanted = frozenset(tags.split())
    fitting = [noun for noun in nouns().values() if noun.tags & wanted]
    plain = tuple(noun for noun in fitting if not noun.compound)
    return plain, tuple(noun for noun in fitting if noun.compound)


@cache
def adjectives() -> dict[str, Adjective]:
    """Every adjective by its English form."""
    found = {}
    for en, de, en_degrees, de_degrees, stem in _rows(_ADJECTIVES, 5):
        found[en] = Adjective(en, de, _degrees(en_degrees), _degrees(de_degrees), stem or de)
    return found


def _degrees(cell: str) -> tuple[str, str] | None:
    words = cell.replace("_", "\N{NO-BREAK SPACE}").split(" ")
    if len(words) != 2:
        return None
    return words[0].replace("\N{NO-BREAK SPACE}", " "), words[1].replace("\N{NO-BREAK SPACE}", " ")


@cache
def fitting_adjectives(look: str) -> tuple[Adjective, ...]:
    """The adjectives that go with nouns of this look."""
    return tuple(adjectives()[name] for name in LOOKS[look].split())


@cache
def verbs() -> tuple[Verb, ...]:
    """Every verb; one with two frames is there twice."""
    return tuple(_verb(row) for row in _rows(_VERBS, 8))


@cache
def speaking_verbs() -> tuple[Verb, ...]:
    """Know, think, hope and say."""
    return tuple(_verb(row) for row in _rows(_SPEAKING, 8))


@cache
def verbs_with(frames: str = "", trait: str = "") -> tuple[Verb, ...]:
    """The verbs with one of the frames (none: any) and with the trait (none: any)."""
    wanted = frames.split()
    return tuple(
        verb
        for verb in verbs()
        if (not wanted or verb.frame in wanted) and (not trait or trait in verb.traits)
    )


def _verb(row: list[str]) -> Verb:
    english_forms, german_forms, frame, subjects, objects, place, traits, imperative = row
    en, en_past, en_participle = english_forms.split()
    de, du, er, de_past, de_participle = german_forms.split()
    en, _, particle = en.partition("+")
    de, _, prefix = de.partition("+")
    before, _, after = frame.partition(":")
    kind, _, places = place.partition(" ")
    return Verb(
        en,
        en_past,
        en_participle,
        de,
        du,
        er,
        de_past,
        de_participle,
        frame="prep" if after == "auf" else after or frame,
        subjects=subjects,
        objects=objects,
        place=kind,
        places=places,
        traits=frozenset(traits.split()),
        particle=particle,
        prefix=prefix,
        preposition=(before if after else "", "auf" if after == "auf" else ""),
        imperative=imperative,
    )


@cache
def modals() -> tuple[Modal, ...]:
    """Every modal verb."""
    found = []
    for en, kind, forms, negated, en_past, de_past in _rows(_MODALS, 6):
        de, du, er = forms.split()
        other = tuple(negated.split())
        swap = (other[0], other[1], other[2]) if other else None
        found.append(Modal(en, kind == "full", de, du, er, swap, en_past, de_past))
    return tuple(found)
