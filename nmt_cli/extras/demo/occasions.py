"""Everyday talk of the demo: greetings, requests, prices, dates, passives and comparisons."""

from dataclasses import replace

from nmt_cli.extras.demo import english, events, lexicon, words
from nmt_cli.extras.demo.choice import DEFINITE, Chooser, clashes
from nmt_cli.extras.demo.clauses import Clause, english_clause, fronted, german_clause
from nmt_cli.extras.demo.events import Tenses
from nmt_cli.extras.demo.german import present_form
from nmt_cli.extras.demo.lexicon import Adjective, Noun, Verb
from nmt_cli.extras.demo.phrases import Nominal, NounPhrase, Place, Pronoun
from nmt_cli.extras.demo.sentences import Text

_PASSIVE: Tenses = (
    (3, "progressive"),
    (4, "past"),
    (3, "perfect"),
    (2, "future"),
    (2, "modal"),
)


def passive(ch: Chooser) -> Text:
    """Something is done to somebody or something."""
    verb = ch.pick(lexicon.verbs_with("", "passive"))
    tags = " ".join(tag for tag in verb.objects.split() if tag != "person") or "person"
    phrase: Nominal = ch.noun_phrase(tags, DEFINITE)
    if tags == "person" and ch.chance(0.3):
        phrase = ch.person()
    clause = Clause(phrase, verb, ch.weighted(_PASSIVE), passive=True)
    if clause.tense == "modal":
        clause = replace(clause, modal=ch.pick(lexicon.modals_named("can", "must", "should")))
    if clause.tense == "past" and events.is_you(phrase):
        clause = replace(clause, tense="perfect")
    if ch.chance(0.35):
        clause = replace(clause, agent=_agent(ch, phrase))
    elif ch.chance(0.2):
        clause = replace(clause, negated=True)
    if ch.chance(0.3):
        clause = replace(clause, time=events.time_for(ch, clause))
    return fronted(clause, ch.labels) if ch.chance(0.5) else _plain(ch, clause)


def _plain(ch: Chooser, clause: Clause) -> Text:
    return english_clause(clause), german_clause(clause, ch.labels)


def _agent(ch: Chooser, patient: Nominal) -> Nominal:
    if ch.chance(0.35):
        return ch.name()
    agent = ch.noun_phrase("adult", ("the", "a", "owner"))
    if isinstance(patient, NounPhrase) and patient.noun.en == agent.noun.en:
        return ch.name()
    return agent


def comparison(ch: Chooser) -> Text:
    """Bigger than, as big as, the biggest."""
    ch.labels.add("comparative")
    kind = ch.weighted(((5, "than"), (3, "as"), (3, "most")))
    if kind == "most":
        return _most(ch)
    first, second, look = _two(ch)
    adjective = ch.pick(lexicon.comparable(look))
    negated = ch.chance(0.2)
    one, other = second.english("object"), second.german("nom", ch.labels)
    predicate = (f"as {adjective.en} as {one}", f"so {adjective.de} wie {other}")
    if kind == "than":
        predicate = _than(adjective, one, other)
        negated = False
    return _plain(ch, Clause(first, None, "present", negated=negated, predicate=predicate))


def _than(adjective: Adjective, one: str, other: str) -> Text:
    assert adjective.en_degrees is not None
    assert adjective.de_degrees is not None
    return (
        f"{adjective.en_degrees[0]} than {one}",
        f"{adjective.de_degrees[0]} als {other}",
    )


def _two(ch: Chooser) -> tuple[Nominal, Nominal, str]:
    """Two of a kind, and how they look."""
    kind = ch.weighted(((4, "people"), (1, "cities"), (3, "same noun"), (3, "two nouns")))
    if kind == "people":
        return *_two_people(ch), "person"
    if kind == "cities":
        first, second = ch.city(), ch.city()
        while first == second:
            second = ch.city()
        return first, second, "city"
    noun = ch.pick(lexicon.nouns_tagged("thing text pet dear kitchen garden room office")[0])
    if kind == "same noun":
        # This car is faster than my car.
        return NounPhrase(noun, "this"), NounPhrase(noun, "owner", owner=ch.pronoun()), noun.look
    # Not of cars or horses: that would be judging who is faster or bigger.
    alike = lexicon.nouns_tagged("bag lamp chair table book letter newspaper")[0]
    noun = ch.pick(alike)
    other = ch.pick([n for n in alike if n.look == noun.look])
    if noun == other:
        return NounPhrase(noun, "this"), NounPhrase(noun, "owner", owner=ch.first_name()), noun.look
    first_thing = replace(ch.dress(noun, DEFINITE), adjective=None, plural=False)
    return first_thing, NounPhrase(other, "the"), noun.look


def _two_people(ch: Chooser) -> tuple[Nominal, Nominal]:
    first: Nominal = ch.pronoun()
    if ch.chance(0.65):
        first = ch.first_name() if ch.chance(0.6) else ch.titled()
    second: Nominal = ch.simple("adult boy girl", DEFINITE)
    if ch.chance(0.5):
        second = ch.first_name()
    if clashes(second, first):
        second = ch.simple("boy girl", ("the",))
    return first, second


def _most(ch: Chooser) -> Text:
    noun = ch.noun("hotel house park city school office train bicycle car book picture lamp horse")
    adjective = ch.pick(lexicon.comparable(noun.look))
    phrase = NounPhrase(noun, "the", adjective=adjective, degree="superlative")
    verbs = lexicon.verbs_taking(noun.en, "see like know buy sell repair read visit look need")
    if ch.chance(0.4) or not verbs:
        return "this is " + phrase.english("subject"), "das ist " + phrase.german("nom", ch.labels)
    clause = events.event(ch, events.ANY_TENSE, verb=ch.pick(verbs), time=0.15)
    return fronted(replace(clause, direct=phrase), ch.labels)


def number_talk(ch: Chooser) -> Text:
    """Prices, ages and how many there are."""
    kind = ch.weighted(((3, _price), (2, _payment), (2, _age), (2, _there_are), (2, _how_much)))
    return kind(ch)


_ON_SALE = "book bag lamp picture chair table food drink"


def _amount(ch: Chooser, noun: Noun) -> Text:
    ch.labels.update(("price", "number"))
    cheap = noun.tags & {"food", "drink"}
    whole = 2 + int(ch.rng.random() * 8) if cheap else 10 + int(ch.rng.random() * 90)
    if ch.chance(0.3):
        cents = ch.pick(("50", "99"))
        return f"{whole}.{cents} euros", f"{whole},{cents} Euro"
    return f"{whole} euros", f"{whole} Euro"


_COST = Verb("cost", "cost", "cost", "kosten", "kostest", "kostet", "kostete", "gekostet")
_PAY = Verb("pay", "paid", "paid", "bezahlen", "bezahlst", "bezahlt", "bezahlte", "bezahlt")


def _price(ch: Chooser) -> Text:
    phrase = ch.noun_phrase(_ON_SALE, ("the", "this"))
    amount = _amount(ch, phrase.noun)
    return _plain(ch, Clause(phrase, _COST, "present", predicate=amount))


def _payment(ch: Chooser) -> Text:
    thing = ch.noun_phrase(_ON_SALE, ("the", "this"))
    en, de = _amount(ch, thing.noun)
    predicate = (
        f"{en} for {thing.english('object')}",
        f"{de} für {thing.german('acc', ch.labels)}",
    )
    subject = ch.person("adult", DEFINITE)
    tense = events.pick_tense(ch, _PAY, subject, events.ANY_TENSE)
    if tense in ("modal", "past modal"):
        tense = "future"
    return _plain(ch, Clause(subject, _PAY, tense, predicate=predicate))


def _age(ch: Chooser) -> Text:
    ch.labels.add("number")
    years = 18 + int(ch.rng.random() * 72)
    subject = ch.person("person", ("the", "owner"))
    if isinstance(subject, NounPhrase):
        subject = replace(subject, adjective=None)
        years = 2 + years % 8 if "young" in subject.noun.tags else 20 + years % 50
    predicate = (f"{years} years old", f"{years} Jahre alt")
    return _plain(ch, Clause(subject, None, "present", predicate=predicate))


def _there_are(ch: Chooser) -> Text:
    """There are three hotels in the city: es gibt with the accusative."""
    phrase = ch.dress(ch.pick(lexicon.nouns_tagged("hotel park school")[0]), ("number", "a"))
    place = Place("in", "in", "dat", NounPhrase(lexicon.nouns()["city"], "the"))
    if ch.chance(0.5):
        place = replace(place, phrase=ch.city())
    en = f"there {'are' if phrase.plural else 'is'} {phrase.english('object')}"
    if ch.chance(0.4):
        phrase = replace(phrase, determiner="no", plural=False, count=("", ""), adjective=None)
        en = f"there is no {phrase.noun.en}"
    return (
        f"{en} {place.english()}",
        f"es gibt {phrase.german('acc', ch.labels)} {place.german(ch.labels)}",
    )


def _how_much(ch: Chooser) -> Text:
    ch.labels.add("wh_question")
    if ch.chance(0.5):
        phrase = ch.noun_phrase(_ON_SALE, ("the", "this"))
        clause = Clause(phrase, _COST, "present")
        ch.labels.add("price")
        en, de = "how much", "wie viel"
    else:
        subject = ch.person("person", ("the", "owner"))
        if isinstance(subject, NounPhrase):
            subject = replace(subject, adjective=None)
        clause, en, de = Clause(subject, None, "present"), "how old", "wie alt"
    return (
        english_clause(clause, "question", en),
        german_clause(clause, ch.labels, "question", de),
    )


def dates(ch: Chooser) -> Text:
    """Today is Monday; my birthday is on May 3; it is 8 o'clock."""
    kind = ch.weighted(((4, "birthday"), (2, "weekday"), (2, "today"), (2, "hour")))
    if kind == "hour":
        ch.labels.add("number")
        hour = 1 + int(ch.rng.random() * 12)
        return f"it is {hour} o'clock", f"es ist {hour} Uhr"
    ch.labels.add("date")
    if kind == "weekday":
        en, de = ch.pick(words.WEEKDAYS)
        return f"today is {en}", f"heute ist {de}"
    en, de = events.date(ch)
    if kind == "today":
        return f"today is {en}", f"heute ist der {de}"
    if ch.chance(0.5):
        name = ch.first_name().names[0]
        ch.labels.update(("genitive", "name"))
        whose = (english.genitive(name), name + "s")
    else:
        owner = ch.pronoun()
        if owner.index in (3, 4, 5):
            owner = Pronoun(0)  # people who share a birthday are few
        whose = (owner.english_owner(), owner.german_owner("nom", "m", ch.labels))
    return f"{whose[0]} birthday is on {en}", f"{whose[1]} Geburtstag ist am {de}"


def greeting(ch: Chooser) -> Text:
    """Hello, goodbye, thanks and wishes."""
    ch.labels.add("greeting")
    kind = ch.weighted(((3, _hello), (2, _how_are_you), (2, _thanks), (2, _until), (2, _my_name)))
    return kind(ch)


def _hello(ch: Chooser) -> Text:
    en, de = ch.pick(
        (
            ("good morning", "guten Morgen"),
            ("good evening", "guten Abend"),
            ("good night", "gute Nacht"),
            ("hello", "hallo"),
            ("goodbye", "auf Wiedersehen"),
            ("happy birthday", "alles Gute zum Geburtstag"),
        )
    )
    name = ch.name()
    return f"{en}, {name.english('object')}!", f"{de}, {name.german('nom', ch.labels)}!"


def _how_are_you(ch: Chooser) -> Text:
    you = ch.you()
    ch.labels.add("wh_question")
    return "how are you?", f"wie geht es {you.german('dat', ch.labels)}?"


def _thanks(ch: Chooser) -> Text:
    noun = ch.pick(lexicon.nouns_tagged("gift letter picture cake book coffee soup bag")[0])
    thing = replace(ch.dress(noun, ("the",)), determiner="the", plural=False)
    if ch.chance(0.5):
        thing = replace(thing, determiner="owner", owner=ch.you())
        return f"thank you for {thing.english('object')}!", f"danke für {_acc(ch, thing)}!"
    name = ch.name()
    return (
        f"thank you for {thing.english('object')}, {name.english('object')}!",
        f"danke für {_acc(ch, thing)}, {name.german('nom', ch.labels)}!",
    )


def _acc(ch: Chooser, phrase: NounPhrase) -> str:
    return phrase.german("acc", ch.labels)


def _until(ch: Chooser) -> Text:
    en, de = ch.pick((("tomorrow", "morgen"), *((f"on {en}", de) for en, de in words.WEEKDAYS)))
    if en != "tomorrow":
        ch.labels.add("date")
    name = ch.name()
    return f"see you {en}, {name.english('object')}!", f"bis {de}, {name.german('nom', ch.labels)}!"


def _my_name(ch: Chooser) -> Text:
    ch.labels.add("name")
    name = ch.first_name().names[0]
    if ch.chance(0.5):
        city = ch.city()
        return (
            f"my name is {name} and I live in {city.english('object')}",
            f"ich heiße {name} und wohne in {city.german('dat', ch.labels)}",
        )
    return f"my name is {name}", f"ich heiße {name}"


def request(ch: Chooser) -> Text:
    """Open the window, Anna!"""
    ch.labels.update(("imperative", "address"))
    you = ch.you()
    verb = ch.pick([verb for verb in lexicon.verbs() if verb.imperative])
    clause = events.event(ch, verb=verb, subject=you, time=0)
    negated = verb.frame == "acc" and ch.chance(0.25)
    if isinstance(clause.direct, NounPhrase) and not clause.direct.is_definite:
        negated = False
    clause = replace(clause, tense="present", modal=None, negated=negated, time=None)
    please = not negated and ch.chance(0.5)
    return _requested(ch, clause, verb, you, please=please)


def _requested(ch: Chooser, clause: Clause, verb: Verb, you: Pronoun, *, please: bool) -> Text:
    said = english_clause(replace(clause, negated=False)).removeprefix("you ")
    asked = german_clause(clause, ch.labels, "question")
    finite, subject = (
        present_form(verb.de, verb.du, verb.er, you.person),
        you.german("nom", set()),
    )
    rest = asked.removeprefix(f"{finite} {subject}").strip()
    form = {1: verb.imperative, 4: finite, 6: f"{finite} Sie"}[you.index]
    en = f"do not {said}" if clause.negated else said
    mark = "." if please else "!"
    polite = ("please ", "bitte ") if please else ("", "")
    return f"{polite[0]}{en}{mark}", f"{polite[1]}{form} {rest}".strip() + mark
