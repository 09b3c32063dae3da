"""Sentences whose second clause refers to a noun of the first: relative clauses, and it."""

from dataclasses import dataclass, replace

from nmt_cli.extras.demo.grammar import events
from nmt_cli.extras.demo.grammar.chooser import Chooser, clashes
from nmt_cli.extras.demo.grammar.clauses import Clause, english_clause, german_clause
from nmt_cli.extras.demo.grammar.events import PRESENT_OR_MODAL, Tenses
from nmt_cli.extras.demo.grammar.nominals import CASE_LABELS, Labels, Pronoun, Role
from nmt_cli.extras.demo.grammar.phrases import NounPhrase
from nmt_cli.extras.demo.grammar.sentences import NOW, NOW_OR_THEN, QUESTION, Text
from nmt_cli.extras.demo.vocabulary import german, lexicon
from nmt_cli.extras.demo.vocabulary.german import Case, Person
from nmt_cli.extras.demo.vocabulary.lexicon import Verb


@dataclass(frozen=True, slots=True)
class RelativePronoun:
    """The relative pronoun `who` or `that` as the subject of a relative clause."""

    en: str
    head: NounPhrase
    is_pronoun: bool = True
    is_definite: bool = True

    @property
    def person(self) -> Person:
        """The person of the noun it refers to."""
        return self.head.person

    def english(self, role: Role) -> str:
        """The English pronoun, `who` or `that`."""
        return self.en

    def german(self, case: Case, labels: Labels) -> str:
        """The German pronoun, such as `der`, `die` or `das`."""
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
        """The English words, such as `the man who repairs the car`."""
        return f"{self.head.english(role)} {self.relative[0]}"

    def german(self, case: Case, labels: Labels) -> str:
        """The German words, such as `den Mann, der das Auto repariert,` with the last comma."""
        return f"{self.head.german(case, labels)}, {self.relative[1]},"


_PEOPLE = "man woman boy girl child trade"


def relative_sentence(ch: Chooser) -> Text:
    """A sentence whose subject or object has a relative clause."""
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
    names = "see like buy sell repair read visit look need bring turn close know"
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
    """Two clauses: the first names a thing, the second refers to it by a pronoun of its gender."""
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


_OPPOSITES = ("small big", "old new", "long short", "cold warm")


def _goes_with(first: str, second: str) -> bool:
    return first != second and not any({first, second} == set(pair.split()) for pair in _OPPOSITES)


def _done_to(ch: Chooser, first: Clause, phrase: NounPhrase, it: Pronoun) -> Clause:
    names = "eat drink like" if phrase.noun.tags & {"food", "drink"} else _DONE
    verb = ch.pick(lexicon.verbs_taking(phrase.noun.en, names))
    subject = ch.person(determiners=("the", "owner"))
    tenses: Tenses = ((1, "past"),) if first.tense == "past" else PRESENT_OR_MODAL
    if first.tense == "past" and events.is_you(subject):
        subject = ch.name()
    return replace(events.event(ch, tenses, verb=verb, subject=subject, time=0), direct=it)
