"""Noun phrases, places and times: the English words of each, and the German ones in any case."""

from dataclasses import dataclass
from typing import Literal

from nmt_cli.extras.demo.grammar.nominals import CASE_LABELS, Labels, Name, Nominal, Pronoun, Role
from nmt_cli.extras.demo.vocabulary import english, german
from nmt_cli.extras.demo.vocabulary.german import Case, Declension, Gender, Person
from nmt_cli.extras.demo.vocabulary.lexicon import Adjective, Noun
from nmt_cli.extras.demo.vocabulary.words import HELD_OUT_DATIVE

Determiner = Literal["the", "a", "bare", "this", "no", "owner", "number", "which", "how many"]
Determiners = tuple[Determiner, ...]
Degree = Literal["positive", "comparative", "superlative"]


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase: determiner, noun, and optionally an adjective and an owner."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjective: Adjective | None = None
    degree: Degree = "positive"
    owner: "Pronoun | Name | NounPhrase | None" = None
    count: tuple[str, str] = ("", "")
    is_pronoun: bool = False

    @property
    def person(self) -> Person:
        """The third person, singular or plural."""
        return 5 if self.plural else 2

    @property
    def is_definite(self) -> bool:
        """Whether the phrase is definite: the listener knows which one is meant."""
        return self.determiner in ("the", "this", "owner")

    @property
    def gender(self) -> Gender:
        """The gender that decides the article; in the plural there is one for all."""
        return "p" if self.plural else self.noun.gender

    def english(self, role: Role) -> str:
        """The English words, such as `the small dog` or `Anna's old cars`."""
        words = self._english_adjective() + (self.noun.en_plural if self.plural else self.noun.en)
        match self.determiner:
            case "a" | "no":
                # `does not have a car` is `hat kein Auto`: English negates the verb instead.
                counts = not self.plural and "mass" not in self.noun.tags
                return english.with_article(words) if counts else words
            case "bare":
                return words
            case "this":
                return f"{'these' if self.plural else 'this'} {words}"
            case "number":
                return f"{self.count[0]} {words}"
            case "owner":
                return self._english_owned(words)
        return f"{self.determiner} {words}"

    def _english_adjective(self) -> str:
        if self.adjective is None:
            return ""
        if self.degree == "positive" or self.adjective.en_degrees is None:
            return self.adjective.en + " "
        return self.adjective.en_degrees[self.degree == "superlative"] + " "

    def _english_owned(self, words: str) -> str:
        owner = self.owner
        assert owner is not None
        if isinstance(owner, Pronoun):
            return f"{owner.english_owner()} {words}"
        if isinstance(owner, NounPhrase) and "place" in owner.noun.tags:
            return f"the {words} of {owner.english('object')}"
        return f"{english.genitive(owner.english('object'))} {words}"

    def german(self, case: Case, labels: Labels) -> str:
        """The German words in a case, such as `der kleine Hund` or `Annas alte Autos`."""
        self._add_labels(case, labels)
        article, declension = self._article(case, labels)
        words = [article] if article else []
        if self.adjective is not None:
            stem = self._german_stem(self.adjective)
            words.append(german.adjective_form(stem, declension, case, self.gender))
        words.append(self._german_noun(case, labels))
        if isinstance(self.owner, NounPhrase):
            words.append(self.owner.german("gen", labels))
        return " ".join(words)

    def _add_labels(self, case: Case, labels: Labels) -> None:
        if case != "nom":
            labels.add(CASE_LABELS[case])
        if self.plural:
            labels.add("plural")
        if self.adjective is not None:
            labels.add("adjective" if self.degree == "positive" else "comparative")
        if self.noun.compound:
            labels.add("compound")
        if self.determiner == "no":
            labels.add("kein")
        if self.determiner == "number":
            labels.add("number")
        if case == "dat" and self.noun.de in HELD_OUT_DATIVE:
            labels.add("held_out_dative")

    def _article(self, case: Case, labels: Labels) -> tuple[str, Declension]:
        owner = self.owner
        match self.determiner:
            case "a":
                return german.ein_word("ein", case, self.gender), "mixed"
            case "no":
                return german.ein_word("kein", case, self.gender), "mixed"
            case "this":
                return german.dieser("dies", case, self.gender), "weak"
            case "which":
                return german.dieser("welch", case, self.gender), "weak"
            case "bare":
                return "", "strong"
            case "number":
                return self.count[1], "strong"
            case "how many":
                return "wie viele", "strong"
        if isinstance(owner, Pronoun):
            return owner.german_owner(case, self.gender, labels), "mixed"
        if isinstance(owner, Name):
            labels.update(("genitive", "name"))
            return owner.names[0] + "s", "strong"
        return german.definite_article(case, self.gender), "weak"

    def _german_stem(self, adjective: Adjective) -> str:
        if self.degree == "positive" or adjective.de_degrees is None:
            return adjective.de_stem
        return adjective.de_degrees[self.degree == "superlative"]

    def _german_noun(self, case: Case, labels: Labels) -> str:
        noun = self.noun
        if self.plural:
            return german.dative_plural(noun.de_plural) if case == "dat" else noun.de_plural
        if noun.oblique and case != "nom":
            labels.add("weak_masculine")
        if case == "gen":
            return noun.de_genitive
        return noun.oblique or noun.de if case != "nom" else noun.de


@dataclass(frozen=True, slots=True)
class PlacePhrase:
    """A place or a destination: a preposition with its German case, and a phrase."""

    en: str
    de: str
    case: Case
    phrase: Nominal | None = None

    def english(self) -> str:
        """The English words, such as `in the garden`; without a phrase they are `en`."""
        return f"{self.en} {self.phrase.english('object')}" if self.phrase else self.en

    def german(self, labels: Labels) -> str:
        """The German words, such as `im Garten`."""
        if self.phrase is None:
            return self.de
        return german.contract(self.de, self.phrase.german(self.case, labels))


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """A time phrase: `mid` before the English verb, `late` after a definite object."""

    en: str
    de: str
    mid: bool = False
    late: bool = False
    label: str = ""
