"""Words that can be a subject or an object, in both languages: pronouns, names, question words."""

from dataclasses import dataclass
from typing import Literal, Protocol

from nmt_cli.extras.demo.vocabulary import german
from nmt_cli.extras.demo.vocabulary.german import Case, Gender, Person

Role = Literal["subject", "object"]
Labels = set[str]

CASE_LABELS: dict[Case, str] = {"acc": "accusative", "dat": "dative", "gen": "genitive"}


class Nominal(Protocol):
    """A word or phrase that can be a subject or an object."""

    @property
    def person(self) -> Person:
        """The person of its verb."""

    @property
    def is_pronoun(self) -> bool:
        """Pronouns stand first in the German middle field."""

    @property
    def is_definite(self) -> bool:
        """Definite objects stand before a negation."""

    def english(self, role: Role) -> str:
        """The English words."""

    def german(self, case: Case, labels: Labels) -> str:
        """The German words in a case; adds to `labels` the phenomena they show."""


_EN_SUBJECT = ("I", "you", "he", "we", "you", "they", "you")
_EN_OBJECT = ("me", "you", "him", "us", "you", "them", "you")
_EN_OWNER = ("my", "your", "his", "our", "your", "their", "your")
_EN_THIRD = {"m": ("he", "him", "his"), "f": ("she", "her", "her"), "n": ("it", "it", "its")}
_DE = {
    "nom": ("ich", "du", "", "wir", "ihr", "sie", "Sie"),
    "acc": ("mich", "dich", "", "uns", "euch", "sie", "Sie"),
    "dat": ("mir", "dir", "", "uns", "euch", "ihnen", "Ihnen"),
}
_DE_THIRD = {
    "m": {"nom": "er", "acc": "ihn", "dat": "ihm"},
    "f": {"nom": "sie", "acc": "sie", "dat": "ihr"},
    "n": {"nom": "es", "acc": "es", "dat": "ihm"},
}
_DE_OWNER = ("mein", "dein", "", "unser", "euer", "ihr", "Ihr")
_DE_OWNER_THIRD = {"m": "sein", "f": "ihr", "n": "sein"}


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A personal pronoun: 0 I, 1 you (du), 2 he she it, 3 we, 4 you (ihr), 5 they, 6 you (Sie).

    `en_gender` and `de_gender` differ if a thing is `it` in English but `er` in German.
    """

    index: int
    en_gender: Gender = "n"
    de_gender: Gender = "n"
    is_pronoun: bool = True
    is_definite: bool = True

    @property
    def person(self) -> Person:
        """`Sie` has the verb forms of `sie`; English `you` always has the same one."""
        return min(self.index, 5)

    @property
    def is_address(self) -> bool:
        """Whether this is `you`."""
        return self.index in (1, 4, 6)

    def english(self, role: Role) -> str:
        """The English pronoun, such as `he` or `him`."""
        if self.index == 2:
            return _EN_THIRD[self.en_gender][role == "object"]
        return (_EN_SUBJECT if role == "subject" else _EN_OBJECT)[self.index]

    def german(self, case: Case, labels: Labels) -> str:
        """The German pronoun, such as `er`, `ihn` or `ihm`; there is no genitive."""
        labels.add("pronoun")
        if self.is_address:
            labels.add("address")
        if case != "nom":
            labels.add(CASE_LABELS[case])
        return _DE[case][self.index] or _DE_THIRD[self.de_gender][case]

    def english_owner(self) -> str:
        """The English possessive, such as `his`."""
        return _EN_THIRD[self.en_gender][2] if self.index == 2 else _EN_OWNER[self.index]

    def german_owner(self, case: Case, gender: Gender, labels: Labels) -> str:
        """The German possessive, such as `sein`, before a noun of this case and gender."""
        labels.add("possessive")
        if self.is_address:
            labels.add("address")
        stem = _DE_OWNER[self.index] or _DE_OWNER_THIRD[self.de_gender]
        return german.ein_word(stem, case, gender)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is copied: one or two first names, or Mr./Mrs. with a surname."""

    names: tuple[str, ...]
    gender: Gender
    titled: bool = False
    de: str = ""  # cities that have a German name
    is_pronoun: bool = False
    is_definite: bool = True

    @property
    def person(self) -> Person:
        """The third person: singular for one name, plural for two."""
        return 5 if len(self.names) > 1 else 2

    def english(self, role: Role) -> str:
        """The English name, such as `Anna`, `Anna and Paul` or `Mrs. Weber`."""
        title = ("Mr. " if self.gender == "m" else "Mrs. ") if self.titled else ""
        return title + " and ".join(self.names)

    def german(self, case: Case, labels: Labels) -> str:
        """The German name, such as `Anna` or `Herrn Weber` (`Herr` is a weak masculine)."""
        labels.add("name")
        if case != "nom":
            labels.add(CASE_LABELS[case])
        title = ""
        if self.titled:
            title = "Frau " if self.gender == "f" else "Herr " if case == "nom" else "Herrn "
            if title == "Herrn ":
                labels.add("weak_masculine")
        return title + (self.de or " und ".join(self.names))


@dataclass(frozen=True, slots=True)
class WhoWhat:
    """The question words who and what."""

    de: dict[Case, str]
    en: str
    person: Person = 2
    is_pronoun: bool = True
    is_definite: bool = True

    def english(self, role: Role) -> str:
        """The English word, `who` or `what`."""
        return self.en

    def german(self, case: Case, labels: Labels) -> str:
        """The German word: `wer`, `wen`, `wem` or `was`."""
        if case != "nom":
            labels.add(CASE_LABELS[case])
        return self.de[case]
