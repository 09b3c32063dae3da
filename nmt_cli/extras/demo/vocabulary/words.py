"""The demo's words as tables; `lexicon.py` reads them."""

# ruff: noqa: E501 (a table is read by its columns)

FEMALE = ("Anna", "Lena", "Maria", "Emma", "Julia", "Sophie")
MALE = ("Paul", "Peter", "Tim", "Ben", "David", "Leon")
SURNAMES = ("Weber", "Schmidt", "Fischer", "Becker", "Wagner", "Koch")
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
    ("May", "Mai"),
    ("June", "Juni"),
    ("July", "Juli"),
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

# Words that occur in the dative, or in subordinate clauses, only in the held-out split.
HELD_OUT_DATIVE = frozenset({"Mädchen", "Student", "Onkel", "Schwester", "Küche", "Pferd"})
HELD_OUT_SEPARABLE = frozenset({"einladen", "aufräumen", "ausschalten"})

# English | German gender genitive plural | look | tags | irregular English plural, weak oblique
NOUNS = """
man | Mann m Mannes Männer | person | person adult male unowned | men
woman | Frau f Frau Frauen | person | person adult female unowned | women
child | Kind n Kindes Kinder | child | person player young | children
boy | Junge m Jungen Jungen | child | person player young male unowned | | Jungen
girl | Mädchen n Mädchens Mädchen | child | person player young unowned
teacher | Lehrer m Lehrers Lehrer | person | person adult trade
doctor | Arzt m Arztes Ärzte | person | person adult trade
student | Student m Studenten Studenten | person | person adult trade | | Studenten
customer | Kunde m Kunden Kunden | person | person adult trade | | Kunden
neighbor | Nachbar m Nachbarn Nachbarn | person | person adult kin | | Nachbarn
friend | Freund m Freundes Freunde | person | person adult kin sibling
sister | Schwester f Schwester Schwestern | person | person adult kin sibling female
brother | Bruder m Bruders Brüder | person | person adult kin sibling male
mother | Mutter f Mutter Mütter | person | person adult kin single female
uncle | Onkel m Onkels Onkel | person | person adult kin sibling male
dog | Hund m Hundes Hunde | animal | animal player pet
cat | Katze f Katze Katzen | animal | animal player pet
horse | Pferd n Pferdes Pferde | animal | animal player pet dear
book | Buch n Buches Bücher | text | thing text given ware carried
letter | Brief m Briefes Briefe | text | text sent carried
key | Schlüssel m Schlüssels Schlüssel | tool | thing carried lost
bag | Tasche f Tasche Taschen | thing | thing given ware carried lost
lamp | Lampe f Lampe Lampen | thing | thing ware device repaired
picture | Bild n Bildes Bilder | picture | thing given ware sent
bicycle | Fahrrad n Fahrrads Fahrräder | vehicle | thing ware repaired lost dear
car | Auto n Autos Autos | vehicle | thing ware repaired dear vehicle
chair | Stuhl m Stuhls Stühle | thing | thing ware repaired furniture
table | Tisch m Tisches Tische | thing | thing ware repaired furniture
gift | Geschenk n Geschenks Geschenke | gift | given carried sent
computer | Computer m Computers Computer | device | thing ware device repaired dear
apple | Apfel m Apfels Äpfel | food | food countable given
bread | Brot n Brotes Brote | food | food mass
cake | Kuchen m Kuchens Kuchen | food | food countable carried
soup | Suppe f Suppe Suppen | soup | food mass
water | Wasser n Wassers Wasser | drink | drink mass
coffee | Kaffee m Kaffees Kaffees | drink | drink mass
milk | Milch f Milch Milch | drink | drink mass
house | Haus n Hauses Häuser | house | place in home dear
garden | Garten m Gartens Gärten | place | place in play
kitchen | Küche f Küche Küchen | place | place in indoors
city | Stadt f Stadt Städte | city | place in town unowned
school | Schule f Schule Schulen | place | place in trip
park | Park m Parks Parks | place | place in play unowned
office | Büro n Büros Büros | place | place in trip indoors
station | Bahnhof m Bahnhofs Bahnhöfe | place | place trip unowned
hotel | Hotel n Hotels Hotels | place | place in trip lodging unowned
room | Zimmer n Zimmers Zimmer | place | place in indoors lodging
door | Tür f Tür Türen | opening | opening
window | Fenster n Fensters Fenster | opening | opening
train | Zug m Zuges Züge | vehicle | train unowned
"""

# Compounds: English modifier | German first part | heads
COMPOUNDS = """
kitchen | Küchen | table chair lamp window door
garden | Garten | table chair house door
school | Schul | book bag
house | Haus | key door
car | Auto | key door
hotel | Hotel | room key
office | Büro | chair lamp
city | Stadt | park train
apple | Apfel | cake
birthday | Geburtstags | cake gift
"""

# English | German | English comparative, superlative | German comparative, superlative | stem
ADJECTIVES = """
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
expensive | teuer | more_expensive most_expensive | teurer teuerst | teur
fast | schnell | faster fastest | schneller schnellst
long | lang | longer longest | länger längst
short | kurz | shorter shortest | kürzer kürzest
interesting | interessant | more_interesting most_interesting | interessanter interessantest
"""

LOOKS = {
    "person": "tall old young tired happy friendly sick hungry",
    "child": "small tired happy friendly sick hungry",
    "animal": "small big old young tired hungry black white beautiful",
    "thing": "small big old new beautiful red blue black white expensive",
    "tool": "small big old new black",
    "device": "small big old new expensive black white",
    "text": "old new good long short interesting",
    "picture": "small big old new beautiful expensive interesting",
    "gift": "small big beautiful expensive",
    "vehicle": "old new fast red blue black white",
    "food": "good big small",
    "soup": "good cold warm",
    "drink": "cold warm good",
    "house": "small big old new beautiful white expensive",
    "place": "small big old new beautiful",
    "city": "small big old beautiful",
    "opening": "small big old new white",
}

# English, past, participle | German infinitive, du, er, past, participle | frame | subjects |
# objects | place: at or to, and which | traits | imperative. "+": English particle, German prefix.
VERBS = """
sleep slept slept | schlafen schläfst schläft schlief geschlafen | | person animal | | at home lodging | habit | schlaf
work worked worked | arbeiten arbeitest arbeitet arbeitete gearbeitet | | adult | | at trip indoors town | habit | arbeite
sing sang sung | singen singst singt sang gesungen | | person | | at play | habit | sing
play played played | spielen spielst spielt spielte gespielt | | player | | at play | habit | spiel
wait waited waited | warten wartest wartet wartete gewartet | for:auf | person | person train | | stay | warte
wait waited waited | warten wartest wartet wartete gewartet | | person | | at trip | | warte
live lived lived | wohnen wohnst wohnt wohnte gewohnt | | person | | at house town | stative lasting needs_place |
go went gone | gehen gehst geht ging gegangen | | person | | to place | habit sein needs_place | geh
drive drove driven | fahren fährst fährt fuhr gefahren | | adult | | to trip town | habit sein needs_place | fahr
stay stayed stayed | bleiben bleibst bleibt blieb geblieben | | person | | at home lodging | sein needs_place | bleib
see saw seen | sehen siehst sieht sah gesehen | acc | person | person animal dear picture | | stative |
know knew known | kennen kennst kennt kannte gekannt | acc | person | person town hotel | | stative lasting definite |
like liked liked | mögen magst mag mochte gemocht | acc | person | person animal food drink town | | stative lasting |
buy bought bought | kaufen kaufst kauft kaufte gekauft | acc | adult | ware food drink dear | | passive | kauf
sell sold sold | verkaufen verkaufst verkauft verkaufte verkauft | acc | adult | ware dear | | passive | verkauf
repair repaired repaired | reparieren reparierst repariert reparierte repariert | acc | adult | repaired | | passive | repariere
read read read | lesen liest liest las gelesen | acc | person | text | | habit passive | lies
eat ate eaten | essen isst isst aß gegessen | acc | person | food | | habit | iss
eat ate eaten | essen isst isst aß gegessen | acc | animal | bread apple | | habit |
drink drank drunk | trinken trinkst trinkt trank getrunken | acc | person | drink | | habit | trink
drink drank drunk | trinken trinkst trinkt trank getrunken | acc | animal | water milk | | habit |
visit visited visited | besuchen besuchst besucht besuchte besucht | acc | person | person town | | habit definite | besuch
look looked looked | suchen suchst sucht suchte gesucht | for:acc | person | lost pet person lodging | | | such
need needed needed | brauchen brauchst braucht brauchte gebraucht | acc | person | ware doctor carried dear | | stative lasting |
have had had | haben hast hat hatte gehabt | acc | person | ware pet dear lost sibling | | stative lasting indefinite |
open opened opened | öffnen öffnest öffnet öffnete geöffnet | acc | person | opening letter gift | | passive definite | öffne
help helped helped | helfen hilfst hilft half geholfen | dat | person | person | | habit definite | hilf
belong belonged belonged | gehören gehörst gehört gehörte gehört | to:dat | dear pet thing | person | | stative lasting definite |
give gave given | geben gibst gibt gab gegeben | dat_acc | person | given carried | | | gib
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
SPEAKING = """
know knew known | wissen weißt weiß wusste gewusst
think thought thought | glauben glaubst glaubt glaubte geglaubt
hope hoped hoped | hoffen hoffst hofft hoffte gehofft
say said said | sagen sagst sagt sagte gesagt
"""

MODALS = """
can | aux | können kannst kann
must | aux | müssen musst muss | dürfen darfst darf
should | aux | sollten solltest sollte
may | aux | dürfen darfst darf
want to | full | wollen willst will | | wanted to | wollte
have to | full | müssen musst muss | | had to | musste
would like to | aux | möchten möchtest möchte
"""

# The English words that belong to no table above.
OTHER_ENGLISH = """
a an the this these every no not and but because although when if while before that whether who
whom what where which why how many much old are than as very most more in into on under at to by
for of is am was were be been being do does did have has had will would can cannot must
should may want wants wanted like i you he she it we they me him her us them my your his our
their now today yesterday tomorrow last next week day often always never already morning evening
night o'clock euros cost costs pay pays paid paying birthday years there good hello goodbye happy
thank please see name home mr mrs live
"""
