"""The characters of the training text that a vocabulary does not know, and where they are."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning.chunks import FIRST_LINES
from nmt_cli.data.corpus.layout import SIDES
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.plurals import counted

# A text of another script has thousands; those of most lines are listed, fewer are named in a note.
MOST_LISTED, MOST_NAMED = 1_000, 8

# By side and character: the number of lines, and the first of them.
Places = dict[tuple[str, str], tuple[int, list[int]]]


class UnknownCharacter(NamedTuple):
    """A character that the vocabulary does not know, in one file.

    code: as `U+0294`; side: `src` or `tgt`; lines: how many lines of pairs that are kept to train
    on have it; first_lines: the numbers of the first ones, from 1.
    """

    character: str
    code: str
    side: str
    file: str
    lines: int
    first_lines: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**self._asdict(), "first_lines": list(self.first_lines)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "UnknownCharacter":
        """Build it from `to_json`."""
        return cls(**{**values, "first_lines": tuple(values["first_lines"])})


def find_unknown(
    subwords: Subwords,
    side: str,
    lines: Sequence[str],
    ids: Sequence[Sequence[int]],
    numbers: np.ndarray,
) -> Places:
    """Return the unknown characters of one side, and where they are.

    ids: of each line; numbers: of the lines in the file, (lines,).
    """
    encode = subwords.encode_source if side == "src" else subwords.encode_target
    is_known: dict[str, bool] = {}
    places: Places = {}
    for line, line_ids, number in zip(lines, ids, numbers.tolist(), strict=True):
        if subwords.unk_id not in line_ids:
            continue
        # Subwords compose accents before they look for characters.
        for character in sorted(set(unicodedata.normalize("NFC", line)) - {" "}):
            if character not in is_known:
                # Within a word, its subword may be another one than at the start.
                encoded = encode([character, character * 2])
                is_known[character] = not any(subwords.unk_id in found for found in encoded)
            if not is_known[character]:
                count, first = places.get((side, character), (0, []))
                places[side, character] = count + 1, [*first, number][:FIRST_LINES]
    return places


class UnknownCharacters:
    """The unknown characters of all training files."""

    def __init__(self, data: DataConfig) -> None:
        """Start with none."""
        self._files = [(files[0], files[-1]) for files in data.train]
        self._places: dict[tuple[int, str, str], tuple[int, list[int]]] = {}

    def add(self, corpus: int, places: Places) -> None:
        """Add those of further lines of a training corpus, given by its number."""
        for (side, character), (count, first) in places.items():
            key = corpus, side, character
            before, earlier = self._places.get(key, (0, []))
            self._places[key] = before + count, (earlier + first)[:FIRST_LINES]

    def listed(self) -> tuple[UnknownCharacter, ...]:
        """Return those of the source before those of the target, those of most lines first."""
        found = [
            UnknownCharacter(
                character,
                f"U+{ord(character):04X}",
                side,
                self._files[corpus][SIDES.index(side)],
                lines,
                tuple(first),
            )
            for (corpus, side, character), (lines, first) in self._places.items()
        ]
        found.sort(key=lambda each: (-each.lines, each.character, each.file))
        sides = ([each for each in found if each.side == side] for side in SIDES)
        return tuple(chain.from_iterable(side[:MOST_LISTED] for side in sides))


def named(found: Sequence[UnknownCharacter]) -> str:
    """Return the characters with their places, to be put behind a message; "" for none.

    >>> named([UnknownCharacter("ʔ", "U+0294", "src", "new.src", 12, (3, 4, 9))])
    ': ʔ (U+0294, 12 kept lines of `new.src`: 3, 4, 9, …)'
    """
    texts = []
    for each in found[:MOST_NAMED]:
        # An accent or an invisible character is not shown by itself.
        shown = f"{each.character} " if unicodedata.category(each.character)[0] in "LNPS" else ""
        places = ", ".join(map(str, each.first_lines))
        more = ", …" if each.lines > len(each.first_lines) else ""
        lines = f"{each.code}, {counted(each.lines, 'kept line')} of `{each.file}`: {places}{more}"
        texts.append(f"{shown}({lines})")
    if len(found) > MOST_NAMED:
        texts.append(f"{len(found) - MOST_NAMED:,} more, which --json lists")
    return f": {', '.join(texts)}" if texts else ""
