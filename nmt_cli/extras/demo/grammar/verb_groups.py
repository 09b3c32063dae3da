"""The verb of a clause with its auxiliaries, in both languages."""

from dataclasses import dataclass
from typing import Literal

from nmt_cli.extras.demo.grammar.nominals import Labels
from nmt_cli.extras.demo.vocabulary import english, german
from nmt_cli.extras.demo.vocabulary.german import Person
from nmt_cli.extras.demo.vocabulary.lexicon import Modal, Verb
from nmt_cli.extras.demo.vocabulary.words import HELD_OUT_SEPARABLE

Tense = Literal["present", "progressive", "past", "perfect", "future", "modal", "past modal"]

_SEIN = ("bin", "bist", "ist", "sind", "seid", "sind")


@dataclass(frozen=True, slots=True)
class Predication:
    """The predicate of a clause: verb (None: be), tense, voice."""

    verb: Verb | None
    tense: Tense
    modal: Modal | None = None
    passive: bool = False
    negated: bool = False


def english_group(group: Predication, person: Person, *, auxiliary: bool) -> tuple[str, str]:
    """The English finite auxiliary and the rest; auxiliary: whether `do` is used where needed.

    >>> english_group(Predication(None, "perfect"), 2, auxiliary=False)
    ('has', 'been')
    """
    verb = None if group.passive else group.verb
    base, participle, ing = ("be", "been", "being")
    if verb is not None:
        base, participle = verb.en, verb.en_participle
        ing = english.progressive(base)
    suffix = f" {group.verb.en_participle}" if group.passive and group.verb else ""
    match group.tense:
        case "progressive":
            return english.be_present(person), ing + suffix
        case "perfect":
            return ("has" if person == 2 else "have"), participle + suffix
        case "future":
            return "will", base + suffix
        case "modal" | "past modal":
            return _english_modal(group, person, base + suffix, auxiliary=auxiliary)
    if verb is None:
        be = english.be_present if group.tense == "present" else english.be_past
        return be(person), suffix.strip()
    return _english_simple(group.tense, person, base, verb.en_past, auxiliary=auxiliary)


def _english_simple(
    tense: Tense, person: Person, base: str, past: str, *, auxiliary: bool
) -> tuple[str, str]:
    if tense == "past":
        return ("did", base) if auxiliary else ("", past)
    if auxiliary:
        return ("does" if person == 2 else "do"), base
    return "", english.third_person(base) if person == 2 else base


def _english_modal(
    group: Predication, person: Person, base: str, *, auxiliary: bool
) -> tuple[str, str]:
    modal = group.modal
    assert modal is not None
    first, _, rest = modal.en.partition(" ")
    if not modal.full:
        return first, f"{rest} {base}".strip()
    past = modal.en_past.partition(" ")[0]
    tense: Tense = "past" if group.tense == "past modal" else "present"
    finite, head = _english_simple(tense, person, first, past, auxiliary=auxiliary)
    return finite, f"{head} {rest} {base}"


def german_group(group: Predication, person: Person, labels: Labels) -> tuple[str, str, str]:
    """The German finite verb, the words that end the clause, and both at the end of a clause."""
    finite, tail = _german_parts(group, person, labels)
    prefix = group.verb.prefix if group.verb else ""
    if prefix:
        labels.add("separable")
    if prefix and tail == prefix:
        return finite, tail, prefix + finite
    return finite, tail, f"{tail} {finite}".strip()


def is_held_out(verb: Verb | None) -> bool:
    """Whether the verb is kept out of subordinate clauses in training."""
    return verb is not None and verb.prefix + verb.de in HELD_OUT_SEPARABLE


def _german_parts(group: Predication, person: Person, labels: Labels) -> tuple[str, str]:
    verb = group.verb
    participle = verb.de_participle if verb else "gewesen"
    infinitive = verb.prefix + verb.de if verb else "sein"
    if group.passive:
        labels.add("passive")
        infinitive = participle + " werden"
    match group.tense:
        case "perfect":
            labels.add("perfect")
            moves = verb is None or group.passive or "sein" in verb.traits
            if moves and not group.passive:
                labels.add("perfect_sein")
            auxiliary = (
                _SEIN[person] if moves else german.present_form("haben", "hast", "hat", person)
            )
            return auxiliary, participle + (" worden" if group.passive else "")
        case "future":
            labels.add("future")
            return german.present_form("werden", "wirst", "wird", person), infinitive
        case "modal" | "past modal":
            labels.add("modal")
            return _german_modal(group, person), infinitive
    return _german_simple(group, person, labels)


def _german_simple(group: Predication, person: Person, labels: Labels) -> tuple[str, str]:
    verb, past = group.verb, group.tense == "past"
    if past:
        labels.add("past")
    if group.passive and verb:
        werden = german.present_form("werden", "wirst", "wird", person)
        return (german.past_form("wurde", person) if past else werden), verb.de_participle
    if verb is None:
        return (german.past_form("war", person) if past else _SEIN[person]), ""
    if past:
        return german.past_form(verb.de_past, person), verb.prefix
    return german.present_form(verb.de, verb.du, verb.er, person), verb.prefix


def _german_modal(group: Predication, person: Person) -> str:
    modal = group.modal
    assert modal is not None
    if group.tense == "past modal":
        return german.past_form(modal.de_past, person)
    forms = (modal.de, modal.du, modal.er)
    if group.negated and modal.negated_de:
        forms = modal.negated_de
    return german.present_form(*forms, person)
