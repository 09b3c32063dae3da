"""Word order: writes a clause in English and in German, each by its own rules."""

from dataclasses import dataclass, replace
from typing import Literal

from nmt_cli.extras.demo.grammar.nominals import Labels, Name, Nominal, Pronoun
from nmt_cli.extras.demo.grammar.phrases import NounPhrase, PlacePhrase, TimePhrase
from nmt_cli.extras.demo.grammar.verb_groups import (
    Predication,
    Tense,
    english_group,
    german_group,
    is_held_out,
)
from nmt_cli.extras.demo.vocabulary.german import Case
from nmt_cli.extras.demo.vocabulary.lexicon import Modal, Verb

Order = Literal["statement", "question", "subordinate"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause as a tree that both languages share.

    verb: None for `be`; predicate: the English and German words after `be`. A relative clause has
    no `subject`, or lacks the object that its pronoun replaces.
    """

    subject: Nominal
    verb: Verb | None
    tense: Tense
    modal: Modal | None = None
    passive: bool = False
    negated: bool = False
    direct: Nominal | None = None
    indirect: Nominal | None = None
    agent: Nominal | None = None
    predicate: tuple[str, str] = ("", "")
    place: PlacePhrase | None = None
    time: TimePhrase | None = None

    @property
    def group(self) -> Predication:
        """The verb group."""
        return Predication(self.verb, self.tense, self.modal, self.passive, self.negated)

    @property
    def direct_case(self) -> Case:
        """The case of the direct object."""
        return "dat" if self.verb and self.verb.frame == "dat" else "acc"


def english_clause(clause: Clause, order: Order = "statement", front: str = "") -> str:
    """The English words; `front` (a time or a question word) comes first.

    The subject of a relative clause is its pronoun, which has to be the subject of `clause`.
    """
    asks = order == "question"
    subject = clause.subject
    finite, rest = english_group(clause.group, subject.person, auxiliary=asks or clause.negated)
    negation = "not" if clause.negated else ""
    mid = clause.time.en if clause.time and clause.time.mid else ""
    who = subject.english("subject")
    head = [finite, who, negation] if asks else [who, finite, negation]
    words = [front, *head, mid, rest, *_english_objects(clause), clause.predicate[0]]
    if clause.agent:
        words.append("by " + clause.agent.english("object"))
    if clause.place:
        words.append(clause.place.english())
    if clause.time and not clause.time.mid:
        words.append(clause.time.en)
    return " ".join(word for word in words if word).replace("can not", "cannot")


def _english_objects(clause: Clause) -> list[str]:
    verb = clause.verb
    if verb is None:
        return []
    direct = clause.direct.english("object") if clause.direct else ""
    if clause.indirect:
        return [clause.indirect.english("object"), direct]
    if verb.particle:
        # For example: pick him up, but pick up the child; bring the child along.
        late = (clause.direct and clause.direct.is_pronoun) or verb.particle == "along"
        return [direct, verb.particle] if late else [verb.particle, direct]
    return [verb.preposition[0], direct]


def german_clause(
    clause: Clause, labels: Labels, order: Order = "statement", front: str = ""
) -> str:
    """The German words: verb second, first, or last; after a `front`, the subject follows it."""
    finite, tail, closing = german_group(clause.group, clause.subject.person, labels)
    subject = clause.subject.german("nom", labels)
    field = _middle_field(clause, labels)
    if _belongs_to_pronoun(clause) and (front or order != "statement"):
        # `Gehört dir das Auto?`: the pronoun comes before the noun.
        subject, field = f"{field[0]} {subject}", field[1:]
    if order == "subordinate":
        if is_held_out(clause.verb):
            labels.add("held_out_separable")
        words = [subject, *field, closing]
    elif order == "question":
        words = [front, finite, subject, *field, tail]
    elif front:
        labels.add("inversion")
        words = [front, finite, subject, *field, tail]
    else:
        words = [subject, finite, *field, tail]
    return " ".join(word for word in words if word)


def _belongs_to_pronoun(clause: Clause) -> bool:
    if clause.verb is None or clause.verb.en != "belong" or clause.direct is None:
        return False
    return isinstance(clause.direct, Pronoun) and isinstance(clause.subject, NounPhrase)


def _middle_field(clause: Clause, labels: Labels) -> list[str]:
    """In this order: pronouns, known objects, time, new objects, negation, parts of the verb."""
    objects = _objects(clause)
    nicht = clause.negated and not any(_is_kein(phrase) for phrase, _ in objects)
    late = nicht or (clause.time is not None and clause.time.late)
    early = [entry for entry in objects if _is_early(*entry, late=late)]
    pronouns = [entry for entry in early if entry[0].is_pronoun]
    known = [entry for entry in early if not entry[0].is_pronoun]
    new = [entry for entry in objects if entry not in early]
    words = [phrase.german(case, labels) for phrase, case in pronouns + known]
    if clause.time:
        words.append(clause.time.de)
        if clause.time.label:
            labels.add(clause.time.label)
    words += [phrase.german(case, labels) for phrase, case in new]
    if nicht:
        labels.add("nicht")
        words.append("nicht")
    return words + _verbal_rest(clause, labels)


def _objects(clause: Clause) -> list[tuple[Nominal, Case]]:
    """The objects in their German order: dative before accusative."""
    if clause.verb is None or clause.verb.frame == "prep":
        return []
    objects: list[tuple[Nominal, Case]] = []
    if clause.indirect:
        objects.append((clause.indirect, "dat"))
    if clause.direct:
        objects.append((clause.direct, clause.direct_case))
    return objects


def _verbal_rest(clause: Clause, labels: Labels) -> list[str]:
    words = []
    if clause.agent:
        words.append(PlacePhrase("by", "von", "dat", clause.agent).german(labels))
    if clause.verb and clause.verb.frame == "prep" and clause.direct:
        words.append(
            PlacePhrase("for", clause.verb.preposition[1], "acc", clause.direct).german(labels)
        )
    words.append(clause.predicate[1])
    if clause.place:
        words.append(clause.place.german(labels))
    return words


def _is_kein(phrase: Nominal) -> bool:
    return isinstance(phrase, NounPhrase) and phrase.determiner == "no"


def _is_early(phrase: Nominal, case: Case, *, late: bool) -> bool:
    if phrase.is_pronoun or isinstance(phrase, Name):
        return True
    return phrase.is_definite and (case == "dat" or late)


def fronted(clause: Clause, labels: Labels) -> tuple[str, str]:
    """Both languages with the time of the clause in front; unchanged without a time."""
    time = clause.time
    if time is None or time.mid:
        return english_clause(clause), german_clause(clause, labels)
    rest = replace(clause, time=None)
    if time.label:
        labels.add(time.label)
    return english_clause(rest, front=time.en), german_clause(rest, labels, front=time.de)
