"""The demo's corpus: any number of English sentences, each with its only German translation.

English and German are written from the same tree, so the German is right by construction. The
sentence shows who is called `you`: one first name makes it `du`, two make it `ihr`, Mr. and Mrs.
or no name make it `Sie`. So every English sentence has exactly one translation.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal

from nmt_cli.extras.demo.grammar import measures, occasions, references, sentences, subordinate
from nmt_cli.extras.demo.grammar.chooser import Chooser
from nmt_cli.extras.demo.grammar.sentences import Text
from nmt_cli.extras.demo.vocabulary import lexicon, words

Split = Literal["train", "valid", "test", "held_out"]

PHENOMENA: dict[str, str] = {
    "accusative": "den Hund: the object in the accusative",
    "dative": "der Frau, im Garten: objects and places in the dative",
    "genitive": "das Auto des Lehrers, Annas Hund: the owner in the genitive",
    "adjective": "ein kleiner Hund, dem kleinen Hund: the ending of an adjective before its noun",
    "weak_masculine": "den Studenten, Herrn Weber: nouns that change outside the nominative",
    "plural": "zwei Hunde, mit den Hunden: nouns in the plural",
    "compound": "Küchentisch: two English nouns become one German word",
    "name": "Anna, Herr Weber, München: names, mostly copied",
    "pronoun": "ich, ihn, ihr: personal pronouns and their cases",
    "possessive": "mein, seine, unserem: possessives agree with what is owned",
    "address": "you is du, ihr or Sie, depending on who is spoken to",
    "anaphora": "it is er, sie or es, depending on the gender of the noun it stands for",
    "past": "schlief, machte: the simple past",
    "perfect": "hat geschlafen: the perfect, participle at the end",
    "perfect_sein": "ist gekommen: the perfect with sein",
    "future": "wird schlafen: the future",
    "modal": "kann schlafen: modal verbs, infinitive at the end",
    "passive": "wird repariert: the passive with werden",
    "separable": "ruft an, angerufen: verbs whose prefix leaves them",
    "inversion": "Heute schläft der Hund: the verb stays second behind a time or a clause",
    "subordinate": "weil der Hund schläft: the verb at the end of a subordinate clause",
    "relative": "der Mann, dem ich helfe: relative clauses",
    "nicht": "negation with nicht, in its place",
    "kein": "keinen Hund: negation of an indefinite noun",
    "yes_no_question": "Schläft der Hund? without the English do",
    "wh_question": "wer, wen, wem, was, wo, wohin, wann, warum, welche",
    "imperative": "Öffne das Fenster, Anna! requests to du, ihr and Sie",
    "comparative": "schneller als, der schnellste: degrees of adjectives",
    "number": "numbers, hours and ages",
    "price": "12.50 euros is 12,50 Euro",
    "date": "on May 3 is am 3. Mai: dates and weekdays",
    "greeting": "greetings, thanks and wishes",
    "held_out_dative": "nouns in the dative that training never showed in the dative",
    "held_out_separable": "separable verbs that training never showed in a subordinate clause",
}
HELD_OUT = frozenset({"held_out_dative", "held_out_separable"})

_KINDS: tuple[tuple[int, Callable[[Chooser], Text]], ...] = (
    (27, sentences.statement),
    (5, sentences.short_statement),
    (9, sentences.description),
    (8, sentences.yes_no_question),
    (8, sentences.wh_question),
    (6, subordinate.that_clause),
    (8, subordinate.joined_clauses),
    (6, references.relative_sentence),
    (5, references.reference_back),
    (7, occasions.passive),
    (5, measures.comparison),
    (6, measures.number_talk),
    (3, measures.dates),
    (4, occasions.greeting),
    (6, occasions.request),
)


@dataclass(frozen=True)
class LabelledPair:
    """An English sentence, its German translation, and the phenomena that the pair shows."""

    src: str
    tgt: str
    labels: frozenset[str]


def make_pairs(
    count: int, *, seed: int, split: Split = "train", first: int = 0
) -> Iterator[LabelledPair]:
    """`count` pairs of a split from pair `first` on.

    Pair i depends on (seed, split, i) only, on every machine.

    A sentence belongs to exactly one split: to `held_out` if it has a combination that does not
    occur in the other splits, otherwise to the one that a hash of its text says.
    """
    for index in range(first, first + count):
        digest = hashlib.sha256(f"{seed}/{split}/{index}".encode()).digest()
        rng = Random(int.from_bytes(digest[:8], "big"))
        pair = _make_pair(rng)
        while pair is None or split_of(pair) != split:
            pair = _make_pair(rng)
        yield pair


def split_of(pair: LabelledPair) -> Split:
    """The only split in which the pair may occur: 80 % train, 10 % valid, 10 % test."""
    if pair.labels & HELD_OUT:
        return "held_out"
    bucket = hashlib.sha256(pair.src.encode()).digest()[0] % 10
    return "valid" if bucket == 8 else "test" if bucket == 9 else "train"


def _make_pair(rng: Random) -> LabelledPair | None:
    """Make one pair; None if the sentence is ambiguous."""
    chooser = Chooser(rng)
    kind = chooser.weighted(_KINDS)
    en, de = kind(chooser)
    asks = kind in (sentences.yes_no_question, sentences.wh_question) or en.startswith("how ")
    if en[-1] not in ".!?":
        mark = "?" if asks else "."
        en, de = en + mark, de.removesuffix(",") + mark
    if " on on " in en or _repeats_a_name(en):
        return None
    if "girl" in en and re.search(r"\b(she|her)\b", en):
        return None  # `das Mädchen` can be `es` or `sie`.
    if chooser.addressed and chooser.address.name is not None:
        name = chooser.address.name
        if any(word in en for word in name.names) or _starts_with_name(en):
            return None
        called, gerufen = name.english("object"), name.german("nom", chooser.labels)
        if en[-1] in "?!" and chooser.chance(0.5):
            en, de = f"{en[:-1]}, {called}{en[-1]}", f"{de[:-1]}, {gerufen}{de[-1]}"
        else:
            en, de = f"{called}, {en}", f"{gerufen}, {de}"
    return LabelledPair(_capital(en), _capital(de), frozenset(chooser.labels))


def _repeats_a_name(text: str) -> bool:
    # `Ben helps Ben's doctor` would be another Ben.
    names = [word for word in re.findall(r"\w+", text) if word in _names()]
    return len(set(names)) < len(names)


def _starts_with_name(text: str) -> bool:
    # `Laura, Maria is singing` would read as a list.
    first = re.split(r"\W", text, maxsplit=1)[0]
    return first in _names() or first in ("Mr", "Mrs")


@cache
def _names() -> frozenset[str]:
    return frozenset((*words.FEMALE, *words.MALE, *words.SURNAMES))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def known_words() -> set[str]:
    """Every English word form of the grammar, in lower case, without numbers in digits."""
    return set(lexicon.english_forms())
