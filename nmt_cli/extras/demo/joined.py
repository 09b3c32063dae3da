"""Sentences of two clauses: subordinate and relative clauses, and a pronoun that refers back."""

from dataclasses import dataclass, replace

from nmt_cli.extras.demo import events, german, lexicon
from nmt_cli.extras.demo.choice import DEFINITE, Chooser, clashes
from nmt_cli.extras.demo.clauses import Clause, english_clause, german_clause
from nmt_cli.extras.demo.events import PAST, PRESENT, PRESENT_OR_MODAL, Tenses
from nmt_cli.extras.demo.german import Case, Person
from nmt_cli.extras.demo.lexicon import Verb
from nmt_cli.extras.demo.phrases import (
    CASE_LABELS,
    Labels,
    Name,
    Nominal,
    NounPhrase,
    Pronoun,
    Role,
)
from nmt_cli.extras.demo.sentences import NOW, NOW_OR_THEN, QUESTION, Text, weather


def that_clause(ch: Chooser) -> Text:
    """I think that, she knows whether, we know where."""
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
    return events.event(ch, ((3, "future"), (2, "perfect"), (1, "modal")), verb=verb, time=0.12)


def any_clause(ch: Chooser, tenses: Tenses = events.ANY_TENSE) -> Clause:
    """A clause to be joined to another."""
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


# (weight, conjunction): clauses about somebody's mood, about plans, and side by side.
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
    "tired": "work drive sing write read",
    "happy": "sleep go work stay",
    "sick": "work go drive sing write eat",
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
    verb = ch.pick(lexicon.verbs_named("stay sleep drink go come drive sing play work"))
    main = _main(ch, conjunction, verb, ch.subject(verb.subjects, ("the", "owner")))
    return _join(ch, conjunction, main, ch.pick(weather()), first=ch.chance(0.5))


def _echoed(ch: Chooser) -> Nominal:
    """A person that a pronoun can take up without doubt about he or she."""
    roll = ch.rng.random()
    if roll < 0.35:
        return ch.pronoun()
    if roll < 0.65:
        return ch.name()
    phrase = ch.noun_phrase("male female", ("the", "owner"))
    return replace(phrase, plural=False, adjective=None)


def echo(subject: Nominal) -> Nominal:
    """The pronoun that takes the subject up."""
    if isinstance(subject, NounPhrase):
        gender = "f" if "female" in subject.noun.tags else "m"
        return Pronoun(2, "f", "f") if gender == "f" else Pronoun(2, "m", "m")
    if isinstance(subject, Name):
        return Pronoun(5) if subject.gender == "p" else Pronoun(2, subject.gender, subject.gender)
    return subject


def _join_echo(ch: Chooser, conjunction: Conjunction, main: Clause, sub: Clause) -> Text:
    """Whoever is named in the first clause is a pronoun in the second."""
    if ch.chance(0.6):
        return _join(ch, conjunction, main, sub, first=False)
    named, pronoun = main.subject, sub.subject
    main, sub = replace(main, subject=pronoun), replace(sub, subject=named)
    return _join(ch, conjunction, main, sub, first=True)


def _join(ch: Chooser, conjunction: Conjunction, main: Clause, sub: Clause, *, first: bool) -> Text:
    """Main clause and subordinate clause, the latter `first` or last."""
    english_sub = f"{conjunction.en} {english_clause(sub)}"
    german_sub = f"{conjunction.de} {german_clause(sub, ch.labels, 'subordinate')}"
    if not first:
        said = german_clause(main, ch.labels)
        return f"{english_clause(main)} {english_sub}", f"{said}, {german_sub}"
    ch.labels.add("inversion")
    behind = german_clause(main, ch.labels, "question")
    return f"{english_sub}, {english_clause(main)}", f"{german_sub}, {behind}"


@dataclass(frozen=True, slots=True)
class RelativePronoun:
    """Who, or that, as the subject of a relative clause."""

    en: str
    head: NounPhrase
    is_pronoun: bool = True
    is_definite: bool = True

    @property
    def person(self) -> Person:
        """The person of the noun it refers to."""
        return self.head.person

    def english(self, role: Role) -> str:
        """Who, that."""
        return self.en

    def german(self, case: Case, labels: Labels) -> str:
        """Der, die, das."""
        return german.relative_pronoun(case, self.head.gender)


@dataclass(frozen=True, slots=True)
class Described:
    """A noun phrase with its relative clause."""

    head: NounPhrase
    relative: Text
    is_pronoun: bool = False
    is_definite: bool = True

    @property
    def person(self) -> Person:
        """The person of the noun."""
        return self.head.person

    def english(self, role: Role) -> str:
        """The man who repairs the car."""
        return f"{self.head.english(role)} {self.relative[0]}"

    def german(self, case: Case, labels: Labels) -> str:
        """Den Mann, der das Auto repariert, (a sentence drops the last comma)."""
        return f"{self.head.german(case, labels)}, {self.relative[1]},"


_PEOPLE = "man woman boy girl child trade"


def relative_sentence(ch: Chooser) -> Text:
    """A noun with a relative clause, as the subject or as the object."""
    ch.labels.add("relative")
    kind = ch.pick((_PEOPLE, _PEOPLE, "thing", "house town lodging"))
    head = ch.noun_phrase(kind, ("the",))
    if kind == _PEOPLE:
        relative = ch.pick((_who_does, _whom_somebody))(ch, head)
    elif kind == "thing":
        relative = _that_somebody(ch, head)
    else:
        relative = _in_which(ch, head)
    described = Described(head, relative)
    if ch.chance(0.4) and kind == _PEOPLE:
        subject = ch.person(determiners=("the", "owner"))
        verb = ch.pick(lexicon.verbs_named("see know help visit"))
        tense = NOW if events.is_possible(verb, subject, "present") else QUESTION
        while clashes(head, subject):
            subject = ch.name()
        clause = events.event(ch, tense, verb=verb, subject=subject, time=0)
        clause = replace(clause, direct=described)
    else:
        adjective = ch.pick(lexicon.fitting_adjectives(head.noun.look))
        plain = Described(replace(head, adjective=None), relative)
        clause = events.described(ch, plain, adjective, NOW)
    return english_clause(clause), german_clause(clause, ch.labels)


_TOLD: Tenses = ((4, "present"), (4, "progressive"), (2, "past"), (2, "perfect"))


def _who_does(ch: Chooser, head: NounPhrase) -> Text:
    verb = ch.pick(lexicon.personal_verbs())
    subject = RelativePronoun("who", head)
    clause = events.event(ch, _TOLD, verb=verb, subject=subject, time=0.1)
    if isinstance(clause.direct, NounPhrase) and clashes(clause.direct, head):
        clause = replace(clause, direct=ch.name())
    return english_clause(clause), german_clause(clause, ch.labels, "subordinate")


def _with_gap(ch: Chooser, clause: Clause, en: str, head: NounPhrase) -> Text:
    case = clause.direct_case
    clause = replace(clause, direct=None)
    ch.labels.add(CASE_LABELS[case])
    pronoun = german.relative_pronoun(case, head.gender)
    said = german_clause(clause, ch.labels, "subordinate")
    return f"{en} {english_clause(clause)}", f"{pronoun} {said}"


def _whom_somebody(ch: Chooser, head: NounPhrase) -> Text:
    verb = ch.pick(lexicon.verbs_named("see know like visit look help call pick invite"))
    return _with_gap(ch, _somebody_does(ch, verb, head), "whom", head)


def _that_somebody(ch: Chooser, head: NounPhrase) -> Text:
    names = "see like buy sell repair read write visit look need bring turn close know"
    verb = ch.pick(lexicon.verbs_taking(head.noun.en, names))
    return _with_gap(ch, _somebody_does(ch, verb, head), "that", head)


def _somebody_does(ch: Chooser, verb: Verb, head: NounPhrase) -> Clause:
    subject = ch.subject(verb.subjects, ("the", "owner"))
    while clashes(head, subject):
        subject = ch.name()
    return events.event(ch, _TOLD, verb=verb, subject=subject, time=0.1)


def _in_which(ch: Chooser, head: NounPhrase) -> Text:
    resting = head.noun.tags & {"town", "hotel"}
    verb = ch.pick(lexicon.verbs_named("live stay" if resting else "live sleep"))
    subject = ch.person(determiners=("the", "owner"))
    clause = replace(events.event(ch, _TOLD, verb=verb, subject=subject, time=0), place=None)
    ch.labels.add("dative")
    pronoun = german.relative_pronoun("dat", head.gender)
    said = german_clause(clause, ch.labels, "subordinate")
    return f"in which {english_clause(clause)}", f"in {pronoun} {said}"


def reference_back(ch: Chooser) -> Text:
    """A thing named once and taken up by a pronoun: it, which German gives the noun's gender."""
    ch.labels.add("anaphora")
    tags = ch.pick(("thing", "text", "food drink", "place opening dear"))
    phrase = replace(ch.noun_phrase(tags, ("the", "this", "owner")), adjective=None)
    first = events.state(ch, phrase, NOW_OR_THEN)
    it = Pronoun(5) if phrase.plural else Pronoun(2, "n", phrase.noun.gender)
    en, de = "and", "und"
    if ch.chance(0.5) or not lexicon.verbs_taking(phrase.noun.en, _DONE):
        second = _other_state(ch, first, phrase, it)
        if ch.chance(0.6):
            en, de = "but", "aber"
    else:
        second = _done_to(ch, first, phrase, it)
    comma = "," if de == "aber" else ""
    return (
        f"{english_clause(first)}, {en} {english_clause(second)}",
        f"{german_clause(first, ch.labels)}{comma} {de} {german_clause(second, ch.labels)}",
    )


_DONE = "like buy read eat drink sell need repair close"


def _other_state(ch: Chooser, first: Clause, phrase: NounPhrase, it: Pronoun) -> Clause:
    said = first.predicate[0].removeprefix("very ")
    others = [a for a in lexicon.comparable(phrase.noun.look) if _goes_with(a.en, said)]
    return events.described(ch, it, ch.pick(others), ((1, first.tense),))


_OPPOSITES = ("small big", "old new", "expensive cheap", "long short", "cold warm")


def _goes_with(one: str, other: str) -> bool:
    return one != other and not any({one, other} == set(pair.split()) for pair in _OPPOSITES)


def _done_to(ch: Chooser, first: Clause, phrase: NounPhrase, it: Pronoun) -> Clause:
    names = "eat drink like" if phrase.noun.tags & {"food", "drink"} else _DONE
    verb = ch.pick(lexicon.verbs_taking(phrase.noun.en, names))
    subject = ch.person(determiners=("the", "owner"))
    tenses: Tenses = ((1, "past"),) if first.tense == "past" else PRESENT_OR_MODAL
    if first.tense == "past" and events.is_you(subject):
        subject = ch.name()
    return replace(events.event(ch, tenses, verb=verb, subject=subject, time=0), direct=it)
