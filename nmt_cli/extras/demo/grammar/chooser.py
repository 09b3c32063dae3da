"""Random choice of words and noun phrases that make sense together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from nmt_cli.extras.demo.grammar.nominals import Labels, Name, Nominal, Pronoun
from nmt_cli.extras.demo.grammar.phrases import Determiner, Determiners, NounPhrase, PlacePhrase
from nmt_cli.extras.demo.vocabulary import lexicon, words
from nmt_cli.extras.demo.vocabulary.german import Gender
from nmt_cli.extras.demo.vocabulary.lexicon import Noun, Verb

T = TypeVar("T")

DEFINITE: Determiners = ("the", "this", "owner")
INDEFINITE: Determiners = ("a", "number", "bare")
# A plural without an article is rarely a good subject: "Women saw Emma", "Doctors may sleep".
SUBJECT: Determiners = ("the", "a", "owner", "this", "number")
_Weights = tuple[tuple[int, Determiner], ...]
_COMMON: _Weights = (
    (40, "the"),
    (22, "a"),
    (18, "owner"),
    (8, "this"),
    (6, "number"),
    (4, "bare"),
)
_MASS: _Weights = ((60, "bare"), (25, "the"), (15, "owner"))
_UNOWNED: _Weights = tuple(entry for entry in _COMMON if entry[1] != "owner")
_RELATED: _Weights = ((1, "owner"),)


@dataclass(frozen=True, slots=True)
class Address:
    """The person who is addressed: the name makes `you` du, ihr or Sie; without one it is Sie."""

    name: Name | None
    pronoun: Pronoun


@dataclass(slots=True)
class Chooser:
    """The random source of one sentence, the phenomena seen so far, and who is addressed."""

    rng: Random
    labels: Labels = field(default_factory=set)
    addressed: bool = False
    _address: Address | None = None

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        # Python guarantees only for random() that it gives the same numbers in every version.
        return options[int(self.rng.random() * len(options))]

    def favoured(self, options: Sequence[T]) -> T:
        """One of the options, the first ones more often, as some words are more frequent."""
        return options[int(self.rng.random() ** 1.6 * len(options))]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options of (weight, option) pairs, with a probability by its weight."""
        rest = self.rng.random() * sum([weight for weight, _ in options])
        for weight, option in options:
            rest -= weight
            if rest < 0:
                return option
        return options[-1][1]

    @property
    def address(self) -> Address:
        """The person who is addressed in this sentence, chosen at the first call."""
        if self._address is None:
            self._address = self._new_address()
        return self._address

    def _new_address(self) -> Address:
        roll = self.rng.random()
        if roll < 0.3:
            return Address(None, Pronoun(6))
        if roll < 0.5:
            return Address(self.titled(), Pronoun(6))
        if roll < 0.62:
            return Address(self.couple(), Pronoun(4))
        return Address(self.first_name(), Pronoun(1))

    def you(self) -> Pronoun:
        """The pronoun `you` of this sentence."""
        self.addressed = True
        return self.address.pronoun

    def first_name(self) -> Name:
        """A first name."""
        if self.chance(0.5):
            return Name((self.pick(words.FEMALE),), "f")
        return Name((self.pick(words.MALE),), "m")

    def titled(self) -> Name:
        """Mr. or Mrs. with a surname."""
        return Name((self.pick(words.SURNAMES),), "f" if self.chance(0.5) else "m", titled=True)

    def couple(self) -> Name:
        """A woman's and a man's name."""
        return Name((self.pick(words.FEMALE), self.pick(words.MALE)), "p")

    def name(self) -> Name:
        """Any person's name."""
        roll = self.rng.random()
        if roll < 0.22:
            return self.titled()
        return self.couple() if roll < 0.32 else self.first_name()

    def city(self) -> Name:
        """A city, whose German name may be spelt differently."""
        en, de = self.pick(words.CITIES)
        return Name((en,), "n", de=de)

    def pronoun(self) -> Pronoun:
        """Any pronoun but `it`."""
        kind = self.weighted(((17, "you"), (32, "I"), (15, "he"), (15, "she"), (12, "we"), (9, "")))
        if kind == "you":
            return self.you()
        if kind in ("he", "she"):
            gender: Gender = "m" if kind == "he" else "f"
            return Pronoun(2, gender, gender)
        return Pronoun({"I": 0, "we": 3}.get(kind, 5))

    def noun(self, tags: str) -> Noun:
        """A noun with one of the tags, sometimes a compound."""
        plain, compounds = lexicon.nouns_tagged(tags)
        if compounds and self.chance(0.14):
            return self.pick(compounds)
        return self.favoured(plain)

    def noun_phrase(self, tags: str, determiners: Determiners = ()) -> NounPhrase:
        """A noun phrase; determiners: the allowed ones, none: all that fit."""
        return self.dress(self.noun(tags), determiners)

    def dress(self, noun: Noun, determiners: Determiners = ()) -> NounPhrase:
        """The noun with a determiner that fits, and sometimes an adjective."""
        determiner = self._determiner(noun, determiners)
        plural = determiner == "number" or self._is_plural(noun, determiner)
        adjective = None
        if self.chance(0.25):
            adjective = self.favoured(lexicon.fitting_adjectives(noun.look))
        return NounPhrase(
            noun,
            determiner,
            plural,
            adjective,
            owner=self._owner(noun) if determiner == "owner" else None,
            count=self.pick(words.NUMBERS) if determiner == "number" else ("", ""),
        )

    def _determiner(self, noun: Noun, allowed: Determiners) -> Determiner:
        options = _COMMON
        if "single" in noun.tags:
            return "owner"
        if "kin" in noun.tags:
            options = _RELATED
        elif "unowned" in noun.tags:
            # `seine Frau` would mean `his wife`.
            options = _UNOWNED
        elif "mass" in noun.tags:
            options = _MASS
        if not allowed:
            return self.weighted(options)
        fitting = [entry for entry in options if entry[1] in allowed]
        if fitting:
            return self.weighted(fitting)
        # My brother, not the brother; but one may have a brother.
        return "owner" if set(allowed) & {"owner", "the"} else allowed[0]

    def _is_plural(self, noun: Noun, determiner: Determiner) -> bool:
        if noun.tags & {"single", "mass"} or determiner == "a":
            return False
        return determiner == "bare" or self.chance(0.03 if "place" in noun.tags else 0.09)

    def _owner(self, noun: Noun) -> Pronoun | Name | NounPhrase:
        roll = self.rng.random()
        if roll < 0.62:
            return self.pronoun()
        if roll < 0.78 or "kin" in noun.tags:
            return self.first_name()
        if "opening" in noun.tags:
            return self.simple("home lodging", ("the",))
        owner = self.simple("adult", ("the", "owner"))
        return self.first_name() if owner.noun == noun else owner

    def simple(self, tags: str, determiners: Determiners) -> NounPhrase:
        """A short singular noun phrase, for owners and for people who are mentioned briefly."""
        noun = self.pick(lexicon.nouns_tagged(tags)[0])
        determiner = self._determiner(noun, determiners)
        owner = self.pronoun() if determiner == "owner" else None
        return NounPhrase(noun, determiner, owner=owner)

    def person(self, tags: str = "person", determiners: Determiners = ()) -> Nominal:
        """A person as a subject: a pronoun, a name, or a noun with one of the tags."""
        roll = self.rng.random()
        if roll < 0.26:
            return self.pronoun()
        if roll < 0.44:
            return self.name()
        return self.noun_phrase(tags, determiners or SUBJECT)

    def subject(self, tags: str, determiners: Determiners = ()) -> Nominal:
        """A subject for a verb that accepts these tags."""
        if {"person", "adult"} & set(tags.split()):
            return self.person(tags, determiners)
        return self.noun_phrase(tags, determiners or SUBJECT)

    def object(self, tags: str, subject: Nominal, determiners: Determiners = ()) -> Nominal:
        """An object that is not the subject itself."""
        phrase = self._object(tags, determiners)
        while clashes(phrase, subject):
            phrase = self._object(tags, determiners)
        return phrase

    def _object(self, tags: str, determiners: Determiners) -> Nominal:
        roll = self.rng.random()
        if "person" in tags and determiners != INDEFINITE:
            if roll < 0.22:
                return self.pronoun()
            if roll < 0.4:
                return self.name()
        if "town" in tags and roll > 0.85:
            return self.city()
        return self.noun_phrase(tags, determiners)

    def place(self, verb: Verb) -> PlacePhrase:
        """A place or a destination for the verb."""
        if verb.place == "to":
            return self._goal(verb.places)
        if "home" in verb.places and self.chance(0.2):
            return PlacePhrase("at home", "zu Hause", "dat")
        return self.place_at(verb.places)

    def place_at(self, tags: str) -> PlacePhrase:
        """A place, such as `in the garden`, `at the station`, `in Berlin`."""
        if "town" in tags and self.chance(0.4):
            return PlacePhrase("in", "in", "dat", self.city())
        phrase = self.dress_place(self.pick(lexicon.nouns_tagged(tags)[0]))
        if phrase.noun.en == "station":
            return PlacePhrase("at", "an", "dat", phrase)
        return PlacePhrase("in", "in", "dat", phrase)

    def dress_place(self, noun: Noun) -> NounPhrase:
        """A phrase for a place, in the singular."""
        adjective = None
        if self.chance(0.25):
            adjective = self.pick(lexicon.fitting_adjectives(noun.look))
        owned = bool(noun.tags & {"house", "garden", "kitchen", "office", "room"})
        determiner: Determiner = "owner" if owned and self.chance(0.2) else "the"
        if determiner == "the" and noun.tags & {"hotel", "city"} and adjective:
            determiner = self.pick(("the", "a"))
        owner = self.pronoun() if determiner == "owner" else None
        return NounPhrase(noun, determiner, adjective=adjective, owner=owner)

    def _goal(self, tags: str) -> PlacePhrase:
        if "trip" in tags and self.chance(0.35):
            return PlacePhrase("to", "nach", "dat", self.city())
        phrase = self.dress_place(self.pick(lexicon.nouns_tagged(tags)[0]))
        if phrase.noun.en in ("station", "school"):
            return PlacePhrase("to", "zu", "dat", phrase)
        inside = phrase.noun.tags & {"house", "garden", "kitchen", "room"}
        return PlacePhrase("into" if inside else "to", "in", "acc", phrase)


def clashes(phrase: Nominal, subject: Nominal) -> bool:
    """Whether subject and object would be the same person."""
    match phrase, subject:
        case Pronoun(), Pronoun():
            if phrase.index == subject.index == 2:
                return phrase.en_gender == subject.en_gender
            both_we = phrase.index in (0, 3) and subject.index in (0, 3)
            return both_we or phrase.index == subject.index
        case Name(), Name():
            return bool(set(phrase.names) & set(subject.names))
        case NounPhrase(), NounPhrase():
            return phrase.noun.en == subject.noun.en
    return False
