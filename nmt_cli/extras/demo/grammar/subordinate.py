"""Sentences of two clauses: subordinate and relative clauses, and a pronoun that refers back."""

from dataclasses import dataclass, replace

from nmt_cli.extras.demo.grammar import events
from nmt_cli.extras.demo.grammar.chooser import DEFINITE, Chooser, clashes
from nmt_cli.extras.demo.grammar.clauses import Clause, english_clause, german_clause
from nmt_cli.extras.demo.grammar.events import PAST, PRESENT, Tenses
from nmt_cli.extras.demo.grammar.nominals import Name, Nominal, Pronoun
from nmt_cli.extras.demo.grammar.phrases import NounPhrase
from nmt_cli.extras.demo.grammar.sentences import NOW, QUESTION, Text, weather
from nmt_cli.extras.demo.vocabulary import lexicon
from nmt_cli.extras.demo.vocabulary.lexicon import Verb


def that_clause(ch: Chooser) -> Text:
    """A sentence such as `I think that ...`, `she knows whether ...`, `we know where ...`."""
    ch.labels.add("subordinate")
    verb = ch.pick(lexicon.speaking_verbs())
    matrix = Clause(ch.person(determiners=("the", "owner")), verb, "present")
    en, de, inner = "that", "dass", None
    if verb.en == "know" and ch.chance(0.7):
        matrix = replace(matrix, negated=ch.chance(0.6))
        if matrix.negated or ch.chance(0.3):
            matrix = replace(matrix, negated=True)
            en, de = "whether", "ob"
        if ch.chance(0.4):
            en, de = "where", "wo"
            inner = _where_inner(ch)
    if verb.en == "hope":
        inner = _hoped(ch)
    if inner is None:
        inner = any_clause(ch)
    last = german_clause(inner, ch.labels, "subordinate")
    return (
        f"{english_clause(matrix)} {en} {english_clause(inner)}",
        f"{german_clause(matrix, ch.labels)}, {de} {last}",
    )


def _where_inner(ch: Chooser) -> Clause:
    verb = ch.pick(lexicon.verbs_named("live work sleep play"))
    subject = ch.subject(verb.subjects, DEFINITE)
    clause = events.event(ch, QUESTION, verb=verb, subject=subject, time=0)
    return replace(clause, place=None)


def _hoped(ch: Chooser) -> Clause:
    verb = ch.pick([v for v in lexicon.personal_verbs() if "lasting" not in v.traits])
    clause = events.event(ch, ((3, "future"), (2, "perfect"), (1, "modal")), verb=verb, time=0.12)
    if clause.tense != "modal":
        return clause
    return replace(clause, modal=ch.pick(lexicon.modals_named("can", "may")))


def any_clause(ch: Chooser, tenses: Tenses = events.ANY_TENSE) -> Clause:
    """A clause that can be joined to another one."""
    if ch.chance(0.25):
        known = tuple(entry for entry in tenses if entry[1] in ("present", "past"))
        return events.state(ch, ch.subject("person animal", DEFINITE), known or NOW)
    return events.event(ch, tenses, negation=0.08, time=0.12)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A conjunction with the tenses of the two clauses it can join."""

    en: str
    de: str
    main: Tenses
    sub: Tenses


# (weight, conjunction) for clauses about moods, about plans, and about two events.
_OF_MOOD = (
    (5, Conjunction("because", "weil", PRESENT, NOW)),
    (2, Conjunction("because", "weil", PAST, PAST)),
    (3, Conjunction("although", "obwohl", PRESENT, NOW)),
    (3, Conjunction("when", "wenn", NOW, NOW)),
    (3, Conjunction("when", "als", PAST, PAST)),
    (2, Conjunction("if", "wenn", events.AHEAD, NOW)),
)
_OF_PLANS = (
    (5, Conjunction("because", "weil", PRESENT, ((1, "modal"),))),
    (3, Conjunction("because", "weil", PAST, ((1, "past modal"),))),
    (3, Conjunction("although", "obwohl", PRESENT, ((1, "modal"),))),
    (4, Conjunction("if", "wenn", events.AHEAD, NOW)),
)
_SIDE_BY_SIDE = (
    (3, Conjunction("while", "während", ((1, "progressive"),), ((1, "progressive"),))),
    (2, Conjunction("before", "bevor", NOW, NOW)),
    (2, Conjunction("when", "als", PAST, PAST)),
)
_REASONS = {
    "tired": "sleep stay go come drink",
    "happy": "sing come call give",
    "sick": "stay sleep call drink come",
    "hungry": "eat go come call",
}
_NO_REASONS = {
    "tired": "work drive sing read",
    "happy": "sleep go work stay",
    "sick": "work go drive sing eat",
    "hungry": "work wait drive sleep read",
}


def joined_clauses(ch: Chooser) -> Text:
    """A main and a subordinate clause, in either order."""
    ch.labels.add("subordinate")
    kind = ch.weighted(((6, _of_mood), (4, _of_plans), (4, _side_by_side), (2, _in_weather)))
    return kind(ch)


def _main(ch: Chooser, conjunction: Conjunction, verb: Verb, subject: Nominal) -> Clause:
    if conjunction.main == PAST and events.is_you(subject):
        subject = Pronoun(3)
    return events.event(ch, conjunction.main, verb=verb, subject=subject, time=0)


def _of_mood(ch: Chooser) -> Text:
    conjunction = ch.weighted(_OF_MOOD)
    adjective = ch.pick(lexicon.moods())
    verbs = _NO_REASONS if conjunction.de == "obwohl" else _REASONS
    verb = ch.pick(lexicon.verbs_named(verbs[adjective.en]))
    main = _main(ch, conjunction, verb, _echoed(ch))
    sub = events.described(ch, echo(main.subject), adjective, conjunction.sub)
    return _join_echo(ch, conjunction, main, sub)


def _of_plans(ch: Chooser) -> Text:
    conjunction = ch.weighted(_OF_PLANS)
    verbs = [verb for verb in lexicon.personal_verbs() if "lasting" not in verb.traits]
    main = _main(ch, conjunction, ch.pick(verbs), _echoed(ch))
    doing = [verb for verb in verbs if verb.en not in ("wait", "stay", "see", main_name(main))]
    sub = events.event(ch, conjunction.sub, verb=ch.pick(doing), subject=echo(main.subject), time=0)
    if sub.tense == "modal":
        sub = replace(sub, modal=ch.pick(lexicon.modals_named("want to", "have to", "must")))
    return _join_echo(ch, conjunction, main, sub)


def main_name(clause: Clause) -> str:
    """The clause's verb in English."""
    return clause.verb.en if clause.verb else "be"


def _side_by_side(ch: Chooser) -> Text:
    conjunction = ch.weighted(_SIDE_BY_SIDE)
    verb = ch.pick(lexicon.personal_verbs("habit"))
    other = ch.pick(lexicon.personal_verbs("habit"))
    if conjunction.en == "before":
        main = _main(ch, conjunction, verb, _echoed(ch))
        sub = events.event(ch, conjunction.sub, verb=other, subject=echo(main.subject), time=0)
        return _join_echo(ch, conjunction, main, sub)
    main = _main(ch, conjunction, verb, ch.subject(verb.subjects, ("the", "owner")))
    second = ch.subject(other.subjects, ("the", "owner"))
    while second == main.subject or events.is_you(second) or clashes(second, main.subject):
        second = ch.name()
    sub = events.event(ch, conjunction.sub, verb=other, subject=second, time=0)
    return _join(ch, conjunction, main, sub, first=ch.chance(0.5))


def _in_weather(ch: Chooser) -> Text:
    conjunction = ch.weighted([entry for entry in _OF_MOOD if entry[1].sub == NOW])
    sky = ch.pick(weather())
    outside = sky.predicate[0] == "warm"
    if conjunction.de == "obwohl":
        sky, outside = weather()[2], True
    verb = ch.pick(lexicon.verbs_named("go drive play sing" if outside else "stay sleep drink"))
    main = _main(ch, conjunction, verb, ch.subject(verb.subjects, ("the", "owner")))
    return _join(ch, conjunction, main, sky, first=ch.chance(0.5))


def _echoed(ch: Chooser) -> Nominal:
    """A person to whom a pronoun can refer without doubt about `he` or `she`."""
    roll = ch.rng.random()
    if roll < 0.35:
        return ch.pronoun()
    if roll < 0.65:
        return ch.name()
    phrase = ch.noun_phrase("male female", ("the", "owner"))
    return replace(phrase, plural=False, adjective=None)


def echo(subject: Nominal) -> Nominal:
    """The pronoun that refers to the subject."""
    if isinstance(subject, NounPhrase):
        gender = "f" if "female" in subject.noun.tags else "m"
        return Pronoun(2, "f", "f") if gender == "f" else Pronoun(2, "m", "m")
    if isinstance(subject, Name):
        return Pronoun(5) if subject.gender == "p" else Pronoun(2, subject.gender, subject.gender)
    return subject


def _join_echo(ch: Chooser, conjunction: Conjunction, main: Clause, sub: Clause) -> Text:
    """Replace the subject of the second clause by a pronoun if the first clause names it."""
    if ch.chance(0.6):
        return _join(ch, conjunction, main, sub, first=False)
    named, pronoun = main.subject, sub.subject
    main, sub = replace(main, subject=pronoun), replace(sub, subject=named)
    return _join(ch, conjunction, main, sub, first=True)


def _join(ch: Chooser, conjunction: Conjunction, main: Clause, sub: Clause, *, first: bool) -> Text:
    """Join main and subordinate clause; first: whether the subordinate clause comes first."""
    english_sub = f"{conjunction.en} {english_clause(sub)}"
    german_sub = f"{conjunction.de} {german_clause(sub, ch.labels, 'subordinate')}"
    if not first:
        said = german_clause(main, ch.labels)
        return f"{english_clause(main)} {english_sub}", f"{said}, {german_sub}"
    ch.labels.add("inversion")
    behind = german_clause(main, ch.labels, "question")
    return f"{english_sub}, {english_clause(main)}", f"{german_sub}, {behind}"
