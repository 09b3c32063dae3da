"""Nouns, adjectives and verbs with their forms, and which of them fit each other."""

from dataclasses import dataclass
from functools import cache

from nmt_cli.extras.demo.vocabulary import english, words
from nmt_cli.extras.demo.vocabulary.german import Gender


@dataclass(frozen=True, slots=True)
class Noun:
    """One noun in both languages; tags: which verbs take it; look: which adjectives fit."""

    en: str
    en_plural: str
    de: str
    gender: Gender
    de_genitive: str
    de_plural: str
    look: str
    tags: frozenset[str]
    oblique: str = ""  # Weak masculines: the singular except the nominative.
    compound: bool = False


@dataclass(frozen=True, slots=True)
class Adjective:
    """One adjective; German stems take endings. Without a comparative if that makes no sense."""

    en: str
    de: str
    en_degrees: tuple[str, str] | None = None
    de_degrees: tuple[str, str] | None = None
    de_stem: str = ""


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: principal parts in both languages, its frame, and the nouns it accepts.

    frame: the case of the German object ("": none, "dat_acc": both); place: whether a place ("at")
    or a destination ("to") fits; traits: stative, habit, passive, sein, needs_place.
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


def _rows(table: str, columns: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [row + [""] * (columns - len(row)) for row in rows]


@cache
def nouns() -> dict[str, Noun]:
    """All nouns by their English singular, compounds last."""
    entries: dict[str, Noun] = {}
    for en, forms, look, tags, irregular, oblique in _rows(words.NOUNS, 6):
        de, gender, genitive, plural = forms.split()
        entries[en] = Noun(
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
    for modifier, first, heads in _rows(words.COMPOUNDS, 3):
        for head in heads.split():
            noun = _compound(modifier, first, entries[head])
            entries[noun.en] = noun
    return entries


def _compound(modifier: str, first: str, head: Noun) -> Noun:
    # A German compound has the gender and the forms of its head.
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
    entries = {}
    for en, de, en_degrees, de_degrees, stem in _rows(words.ADJECTIVES, 5):
        entries[en] = Adjective(en, de, _degrees(en_degrees), _degrees(de_degrees), stem or de)
    return entries


def _degrees(cell: str) -> tuple[str, str] | None:
    # `_` stands for a space: `more_beautiful`.
    forms = [form.replace("_", " ") for form in cell.split()]
    return (forms[0], forms[1]) if forms else None


@cache
def fitting_adjectives(look: str) -> tuple[Adjective, ...]:
    """The adjectives that go with nouns of this look."""
    return tuple(adjectives()[name] for name in words.LOOKS[look].split())


@cache
def verbs() -> tuple[Verb, ...]:
    """All verbs; a verb with two frames occurs twice."""
    return tuple(_verb(row) for row in _rows(words.VERBS, 8))


@cache
def speaking_verbs() -> tuple[Verb, ...]:
    """The verbs know, think, hope and say."""
    return tuple(_verb(row) for row in _rows(words.SPEAKING, 8))


@cache
def verbs_named(names: str) -> tuple[Verb, ...]:
    """The verbs with these English words, without particles."""
    return tuple(verb for verb in verbs() if verb.en in names.split())


@cache
def personal_verbs(trait: str = "") -> tuple[Verb, ...]:
    """The verbs whose subject is a person."""
    return tuple(
        verb for verb in verbs_with("", trait) if {"person", "adult"} & set(verb.subjects.split())
    )


@cache
def verbs_taking(english_noun: str, names: str = "") -> tuple[Verb, ...]:
    """The verbs with this noun as a fitting direct object, or those of them with these names."""
    tags = nouns()[english_noun].tags
    return tuple(
        verb
        for verb in verbs_with("acc")
        if tags & set(verb.objects.split()) and (not names or verb.en in names.split())
    )


@cache
def moods() -> tuple[Adjective, ...]:
    """The adjectives for moods of people."""
    return tuple(adjectives()[name] for name in ("tired", "happy", "sick", "hungry"))


@cache
def comparable(look: str) -> tuple[Adjective, ...]:
    """The fitting adjectives that have a comparative."""
    return tuple(adjective for adjective in fitting_adjectives(look) if adjective.en_degrees)


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
    """All modal verbs."""
    entries = []
    for en, kind, forms, negated, en_past, de_past in _rows(words.MODALS, 6):
        de, du, er = forms.split()
        other = tuple(negated.split())
        swap = (other[0], other[1], other[2]) if other else None
        entries.append(Modal(en, kind == "full", de, du, er, swap, en_past, de_past))
    return tuple(entries)


@cache
def modals_named(*names: str) -> tuple[Modal, ...]:
    """The modal verbs with these English words."""
    return tuple(modal for modal in modals() if modal.en in names)


@cache
def english_forms() -> frozenset[str]:
    """All English word forms of all tables, in lower case, genitives without 's."""
    forms = words.OTHER_ENGLISH.split()
    for noun in nouns().values():
        forms += noun.en.split() + noun.en_plural.split()
    for adjective in adjectives().values():
        forms += " ".join((adjective.en, *(adjective.en_degrees or ()))).split()
    for verb in verbs() + speaking_verbs():
        forms += [verb.en, english.third_person(verb.en), english.progressive(verb.en)]
        forms += [verb.en_past, verb.en_participle, verb.particle]
    forms += [*words.FEMALE, *words.MALE, *words.SURNAMES]
    for pair in (*words.CITIES, *words.WEEKDAYS, *words.MONTHS, *words.NUMBERS):
        forms.append(pair[0])
    return frozenset(word.lower() for word in forms if word)
