"""Random clauses that make sense: who does what, when and where, and descriptions."""

from dataclasses import replace

from nmt_cli.extras.demo.grammar.chooser import DEFINITE, INDEFINITE, Chooser
from nmt_cli.extras.demo.grammar.clauses import Clause
from nmt_cli.extras.demo.grammar.nominals import Nominal, Pronoun
from nmt_cli.extras.demo.grammar.phrases import (
    Determiner,
    Determiners,
    NounPhrase,
    PlacePhrase,
    TimePhrase,
)
from nmt_cli.extras.demo.grammar.verb_groups import Tense
from nmt_cli.extras.demo.vocabulary import lexicon, words
from nmt_cli.extras.demo.vocabulary.lexicon import Adjective, Modal, Verb

Tenses = tuple[tuple[int, Tense], ...]

ANY_TENSE: Tenses = (
    (18, "present"),
    (20, "progressive"),
    (20, "past"),
    (17, "perfect"),
    (12, "future"),
    (15, "modal"),
    (4, "past modal"),
)
PRESENT: Tenses = ((5, "present"), (5, "progressive"))
PRESENT_OR_MODAL: Tenses = ((4, "present"), (4, "progressive"), (3, "modal"))
PAST: Tenses = ((1, "past"),)
AHEAD: Tenses = ((3, "future"), (2, "modal"))
_KNOWN: Determiners = ("the", "owner")


def event(
    ch: Chooser,
    tenses: Tenses = ANY_TENSE,
    *,
    verb: Verb | None = None,
    subject: Nominal | None = None,
    negation: float = 0.0,
    time: float = 0.35,
) -> Clause:
    """A clause in which somebody does something; negation, time: probabilities."""
    negated = ch.chance(negation)
    if verb is None:
        verb = ch.pick(lexicon.verbs())
    if subject is None:
        subject = ch.subject(verb.subjects, DEFINITE if negated else ())
    tense = pick_tense(ch, verb, subject, tenses)
    modal = _modal(ch, subject, tense)
    clause = Clause(subject, verb, tense, modal, negated=negated)
    clause = _with_objects(ch, clause, verb)
    if "needs_place" in verb.traits or (verb.place and ch.chance(0.45)):
        clause = replace(clause, place=_place(ch, verb, subject))
    if ch.chance(time):
        clause = replace(clause, time=time_for(ch, clause))
    return clause


def is_possible(verb: Verb, subject: Nominal, tense: Tense) -> bool:
    """Whether this verb with this subject is usual in this tense in both languages."""
    if "lasting" in verb.traits and tense not in ("present", "past"):
        return False
    if tense == "progressive":
        return "stative" not in verb.traits
    if tense == "past modal":
        return not (isinstance(subject, NounPhrase) and "train" in subject.noun.tags)
    if tense == "past":
        # `Du schliefst` and `Sie aßen` are unusual, and `they read` can be of two tenses.
        return not is_you(subject)
    return tense != "present" or verb.en != verb.en_past or subject.person == 2


def is_you(subject: Nominal) -> bool:
    """Whether the subject is `you`."""
    return isinstance(subject, Pronoun) and subject.is_address


def pick_tense(ch: Chooser, verb: Verb, subject: Nominal, tenses: Tenses) -> Tense:
    """One of the possible tenses."""
    possible = [entry for entry in tenses if is_possible(verb, subject, entry[1])]
    if possible:
        return ch.weighted([(weight * _factor(verb, tense), tense) for weight, tense in possible])
    if "stative" in verb.traits:
        return "present"
    return "perfect" if tenses == PAST else "progressive"


def _place(ch: Chooser, verb: Verb, subject: Nominal) -> PlacePhrase:
    if isinstance(subject, NounPhrase) and "train" in subject.noun.tags:
        return ch.place_at("town station")
    if isinstance(subject, NounPhrase) and "animal" in subject.noun.tags:
        return ch.place_at("house garden" if "home" in verb.places else verb.places)
    place = ch.place(verb)
    at_hotel = verb.en == "arrive" and place.en == "in" and isinstance(place.phrase, NounPhrase)
    if at_hotel and isinstance(place.phrase, NounPhrase) and place.phrase.noun.en == "hotel":
        return replace(place, en="at")
    return place


def _factor(verb: Verb, tense: Tense) -> int:
    """The weight of a verb in a tense.

    In the English present, verbs of states and habits are more usual than others; verbs whose
    perfect has `sein` are few, so they are chosen more often there.
    """
    if tense == "present":
        return 4 if verb.traits & {"habit", "stative"} else 1
    return 16 if tense == "perfect" and "sein" in verb.traits else 4


def _modal(ch: Chooser, subject: Nominal, tense: Tense) -> Modal | None:
    if tense == "past modal":
        return ch.pick(lexicon.modals_named("want to", "have to"))
    if tense != "modal":
        return None
    modals = lexicon.modals()
    if isinstance(subject, NounPhrase) and "person" not in subject.noun.tags:
        wishes = "animal" in subject.noun.tags
        modals = lexicon.modals_named("can", "must", *(("want to", "have to") if wishes else ()))
    return ch.pick(modals)


def _with_objects(ch: Chooser, clause: Clause, verb: Verb) -> Clause:
    if not verb.frame:
        return clause
    determiners: Determiners = ()
    if "definite" in verb.traits or (clause.negated and verb.frame != "acc"):
        determiners = DEFINITE
    elif "indefinite" in verb.traits or _takes_kein(ch, clause, verb):
        determiners = INDEFINITE
    subject = clause.subject
    if verb.frame == "dat_acc":
        indirect = ch.object("person", subject, DEFINITE if clause.negated else ())
        direct = ch.noun_phrase(verb.objects)
        return replace(clause, indirect=indirect, direct=_negate(direct, clause.negated))
    direct_object = ch.object(verb.objects, subject, determiners)
    if isinstance(direct_object, NounPhrase):
        direct_object = _negate(direct_object, clause.negated)
        if verb.en == "like":
            direct_object = _generic(direct_object)
        if verb.en in ("buy", "need", "look") and ch.chance(0.12):
            direct_object = _wished(ch, direct_object)
    return replace(clause, direct=direct_object)


def _takes_kein(ch: Chooser, clause: Clause, verb: Verb) -> bool:
    return clause.negated and "person" not in verb.objects and ch.chance(0.95)


def _negate(phrase: NounPhrase, negated: bool) -> NounPhrase:
    if not negated or phrase.is_definite:
        return phrase
    return replace(phrase, determiner="no", count=("", ""))


def _generic(phrase: NounPhrase) -> NounPhrase:
    """The noun phrase as in a general statement: `dogs` instead of `a dog` in `He likes dogs`."""
    if phrase.determiner in ("a", "number", "no") and "mass" not in phrase.noun.tags:
        kind: Determiner = "no" if phrase.determiner == "no" else "bare"
        return replace(phrase, determiner=kind, plural=True, count=("", ""))
    return phrase


def _wished(ch: Chooser, phrase: NounPhrase) -> NounPhrase:
    """A comparative before a noun, such as `a faster car`."""
    known = lexicon.comparable(phrase.noun.look)
    if phrase.determiner not in ("a", "no") or not known:
        return phrase
    return replace(phrase, adjective=ch.pick(known), degree="comparative")


def time_for(ch: Chooser, clause: Clause) -> TimePhrase | None:
    """A time phrase that fits tense and verb, or None."""
    traits = clause.verb.traits if clause.verb else frozenset({"copula"})
    if "lasting" in traits or (clause.negated and "copula" in traits):
        return None
    match clause.tense:
        case "progressive":
            return TimePhrase("now", "jetzt") if ch.chance(0.5) else TimePhrase("today", "heute")
        case "perfect":
            return _time_of_perfect(ch, clause, traits)
        case "past" | "past modal":
            if ch.chance(0.55):
                return ch.pick(
                    (TimePhrase("yesterday", "gestern"), TimePhrase("last week", "letzte Woche"))
                )
            return day(ch)
        case "future" | "modal":
            if ch.chance(0.55):
                tomorrow = TimePhrase("tomorrow", "morgen")
                return ch.pick((tomorrow, tomorrow, TimePhrase("next week", "nächste Woche")))
            return day(ch)
    if "habit" not in traits or clause.negated:
        return TimePhrase("today", "heute") if "copula" in traits else None
    moments = clause.verb is not None and clause.verb.en in ("get", "go", "drive", "call", "eat")
    return hour(ch) if moments and ch.chance(0.2) else _habit(ch)


def _habit(ch: Chooser) -> TimePhrase:
    return ch.weighted(
        (
            (4, TimePhrase("every day", "jeden Tag")),
            (3, TimePhrase("often", "oft", mid=True)),
            (3, TimePhrase("always", "immer", mid=True)),
            (2, TimePhrase("never", "nie", mid=True, late=True)),
            (2, TimePhrase("in the morning", "am Morgen")),
            (2, TimePhrase("in the evening", "am Abend")),
        )
    )


def _time_of_perfect(ch: Chooser, clause: Clause, traits: frozenset[str]) -> TimePhrase:
    if clause.negated or ch.chance(0.35):
        return TimePhrase("today", "heute")
    if "habit" in traits and not clause.passive and ch.chance(0.25):
        return TimePhrase("never", "noch nie", mid=True, late=True)
    return TimePhrase("already", "schon", mid=True, late=True)


def day(ch: Chooser) -> TimePhrase:
    """A weekday, a date, a part of the day, or an hour."""
    kind = ch.weighted(((4, "weekday"), (5, "date"), (2, "morning"), (2, "evening"), (2, "hour")))
    match kind:
        case "weekday":
            en, de = ch.pick(words.WEEKDAYS)
            return TimePhrase(f"on {en}", f"am {de}", label="date")
        case "date":
            en, de = date(ch)
            return TimePhrase(f"on {en}", f"am {de}", label="date")
        case "hour":
            return hour(ch)
    return TimePhrase(f"in the {kind}", f"am {'Morgen' if kind == 'morning' else 'Abend'}")


def date(ch: Chooser) -> tuple[str, str]:
    """A date, such as `May 3` and `3. Mai`."""
    en, de = ch.pick(words.MONTHS)
    number = 1 + int(ch.rng.random() * 28)
    return f"{en} {number}", f"{number}. {de}"


def hour(ch: Chooser) -> TimePhrase:
    """An hour, such as `at 8 o'clock`."""
    number = 1 + int(ch.rng.random() * 12)
    return TimePhrase(f"at {number} o'clock", f"um {number} Uhr", label="number")


def looks(subject: Nominal) -> tuple[Adjective, ...]:
    """The adjectives that fit the subject."""
    if isinstance(subject, NounPhrase):
        return lexicon.fitting_adjectives(subject.noun.look)
    return lexicon.fitting_adjectives("person")


def mood(ch: Chooser, subject: Nominal, tenses: Tenses) -> Clause:
    """A clause in which somebody is tired, happy, sick or hungry."""
    return described(ch, plain(subject), ch.pick(lexicon.moods()), tenses)


def plain(subject: Nominal) -> Nominal:
    """The subject without its adjective."""
    return replace(subject, adjective=None) if isinstance(subject, NounPhrase) else subject


def state(ch: Chooser, subject: Nominal, tenses: Tenses, *, negation: float = 0.0) -> Clause:
    """A clause with an adjective after `be`; an adjective before the subject's noun is removed."""
    subject = plain(subject)
    adjective = ch.pick(looks(subject))
    return described(ch, subject, adjective, tenses, negation=negation)


def described(
    ch: Chooser,
    subject: Nominal,
    adjective: Adjective,
    tenses: Tenses,
    *,
    negation: float = 0.0,
) -> Clause:
    """A clause that says that the subject is as the adjective says."""
    negated = ch.chance(negation)
    if isinstance(subject, NounPhrase) and not subject.is_definite:
        negated = False
    very = not negated and adjective.en_degrees is not None and ch.chance(0.3)
    predicate = (f"very {adjective.en}", f"sehr {adjective.de}") if very else None
    predicate = predicate or (adjective.en, adjective.de)
    return Clause(subject, None, ch.weighted(tenses), negated=negated, predicate=predicate)


def whereabouts(ch: Chooser) -> Clause:
    """A clause that says where somebody or something is."""
    tense: Tense = "past" if ch.chance(0.3) else "present"
    if ch.chance(0.5):
        subject = ch.subject("person pet", DEFINITE)
        place = PlacePhrase("at home", "zu Hause", "dat")
        if ch.chance(0.75):
            place = ch.place_at("place town")
        return Clause(subject, None, tense, place=place)
    thing = ch.noun_phrase("carried device picture cat", DEFINITE)
    preposition = ch.pick((("on", "auf"), ("under", "unter")))
    furniture = replace(ch.noun_phrase("furniture", _KNOWN), plural=False)
    return Clause(thing, None, tense, place=PlacePhrase(*preposition, "dat", furniture))
