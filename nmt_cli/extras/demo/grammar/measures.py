"""Sentences about amounts: comparisons, prices, ages, numbers of things, dates."""

from dataclasses import replace

from nmt_cli.extras.demo.grammar import events
from nmt_cli.extras.demo.grammar.chooser import DEFINITE, Chooser, clashes
from nmt_cli.extras.demo.grammar.clauses import Clause, english_clause, fronted, german_clause
from nmt_cli.extras.demo.grammar.nominals import Nominal, Pronoun
from nmt_cli.extras.demo.grammar.phrases import NounPhrase, PlacePhrase
from nmt_cli.extras.demo.grammar.sentences import Text, said
from nmt_cli.extras.demo.vocabulary import english, lexicon, words
from nmt_cli.extras.demo.vocabulary.lexicon import Adjective, Noun, Verb


def comparison(ch: Chooser) -> Text:
    """A comparison with `bigger than`, `as big as` or `the biggest`."""
    ch.labels.add("comparative")
    kind = ch.weighted(((5, "than"), (3, "as"), (3, "most")))
    if kind == "most":
        return _most(ch)
    first, second, look = _two(ch)
    adjective = ch.pick(lexicon.comparable(look))
    negated = ch.chance(0.2)
    en, de = second.english("object"), second.german("nom", ch.labels)
    predicate = (f"as {adjective.en} as {en}", f"so {adjective.de} wie {de}")
    if kind == "than":
        predicate = _than(adjective, en, de)
        negated = False
    return said(ch, Clause(first, None, "present", negated=negated, predicate=predicate))


def _than(adjective: Adjective, en: str, de: str) -> Text:
    assert adjective.en_degrees is not None
    assert adjective.de_degrees is not None
    return (
        f"{adjective.en_degrees[0]} than {en}",
        f"{adjective.de_degrees[0]} als {de}",
    )


def _two(ch: Chooser) -> tuple[Nominal, Nominal, str]:
    """Two things or people that can be compared, and the look that adjectives have to fit."""
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
        # Such as: This car is faster than my car.
        return NounPhrase(noun, "this"), NounPhrase(noun, "owner", owner=ch.pronoun()), noun.look
    # Cars and horses are left out: it would be unusual to say which is faster or bigger.
    alike = lexicon.nouns_tagged("bag lamp chair table book letter")[0]
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
    """A sentence about a price, an age or a number of things."""
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
    return said(ch, Clause(phrase, _COST, "present", predicate=amount))


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
    return said(ch, Clause(subject, _PAY, tense, predicate=predicate))


def _age(ch: Chooser) -> Text:
    ch.labels.add("number")
    years = 18 + int(ch.rng.random() * 72)
    subject = ch.person("person", ("the", "owner"))
    if isinstance(subject, NounPhrase):
        subject = replace(subject, adjective=None)
        years = 2 + years % 8 if "young" in subject.noun.tags else 20 + years % 50
    predicate = (f"{years} years old", f"{years} Jahre alt")
    return said(ch, Clause(subject, None, "present", predicate=predicate))


def _there_are(ch: Chooser) -> Text:
    """A sentence with `there is`, in German `es gibt` with the accusative."""
    phrase = ch.dress(ch.pick(lexicon.nouns_tagged("hotel park school")[0]), ("number", "a"))
    place = PlacePhrase("in", "in", "dat", NounPhrase(lexicon.nouns()["city"], "the"))
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
    """A sentence about a date, such as `Today is Monday` or `It is 8 o'clock`."""
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
