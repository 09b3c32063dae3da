"""Cleans a chunk of pairs, in one of several processes: repairs, and the pairs dropped at once."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.held_out.digests import digests_of, loose_digests
from nmt_cli.data.cleaning.letters.look_alikes import MIXED_WORD_SIGN, mixed_words
from nmt_cli.data.cleaning.line_numbers import without_first_numbers
from nmt_cli.data.cleaning.pair_lists import LETTERS_LEFT, cell
from nmt_cli.data.cleaning.repairs import Repaired, repair_lines
from nmt_cli.data.cleaning.signs import joined_lines, lines_with
from nmt_cli.data.text.punctuation import punctuation_normalizer
from nmt_cli.data.text.sanitize import SPACE_MARK, clean_line

# The number of lines that are reported for each kind of noise.
FIRST_LINES = 5


class Cleaning(NamedTuple):
    """How lines are cleaned.

    normalize: whether punctuation is normalised as Moses does; src, tgt: languages; level: how much
    is checked and repaired; keep_dropped: whether the text of dropped pairs is needed;
    keep_repaired: whether that of repaired pairs is.
    """

    normalize: bool
    src: str
    tgt: str
    level: kinds.Level = "safe"
    keep_dropped: bool = False
    keep_repaired: bool = False

    @classmethod
    def of(
        cls, config: Config, *, keep_dropped: bool = False, keep_repaired: bool = False
    ) -> "Cleaning":
        """Return the cleaning that `config` asks for."""
        data, languages = config.data, config.languages
        return cls(
            data.normalize, languages.src, languages.tgt, data.clean, keep_dropped, keep_repaired
        )

    def clean(self, side: str, lines: Sequence[str]) -> list[str]:
        """Return the cleaned lines of one side, without spaces at their ends, for subwords."""
        return self.finish(side, [clean_line(line) for line in lines])

    def repaired(self, src: Sequence[str], tgt: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return both sides of some pairs as they would be after cleaning in the training text."""
        src, tgt = list(src), list(tgt)
        if self.level != "off":
            src, tgt = repair_lines(src, tgt, Repaired(), (self.src, self.tgt))
        return self.clean("src", src), self.clean("tgt", tgt)

    def forms(
        self, src: Sequence[str], tgt: Sequence[str]
    ) -> tuple[tuple[list[str], list[str]], ...]:
        """Return both sides of some pairs in the forms in which copies of them are looked for.

        Cleaned, then `repaired`, then the latter without the numbers that their lines begin with.
        """
        repaired = self.repaired(src, tgt)
        numberless = list(repaired[0]), list(repaired[1])
        for index, pair in without_first_numbers(*repaired).items():
            numberless[0][index], numberless[1][index] = pair
        return (self.clean("src", src), self.clean("tgt", tgt)), repaired, numberless

    def finish(self, side: str, lines: Sequence[str]) -> list[str]:
        """Return the lines as `clean` does, for lines that `clean_line` has cleaned already."""
        if not self.normalize:
            return [line.strip() for line in lines]
        normalize = punctuation_normalizer(self.src if side == "src" else self.tgt)
        return [clean_line(normalize(line)).strip() for line in lines]


class RawChunk(NamedTuple):
    """Some pairs of one corpus as they were read.

    first_line: the line of the first pair; bad_rows: indices of lines of a TSV file that do not
    have two columns, whose whole text is in `src`; invalid: indices of pairs with bytes that are
    not UTF-8; is_table: whether it is a TSV file; header: the pair that names the columns.
    """

    cleaning: Cleaning
    corpus: int
    first_line: int
    src: list[str]
    tgt: list[str]
    bad_rows: list[int]
    invalid: list[int]
    is_table: bool = False
    header: int | None = None


class OtherForms(NamedTuple):
    """The digests of pairs of a chunk in other forms: without repairs, and without line numbers.

    indices: (forms,) uint32, of the pair of each form among the kept ones; digests: (forms,)
    PAIR_DIGEST, which differ from that of the pair; loose: (forms,) SENTENCE_DIGEST of the sources,
    as CleanChunk has them.
    """

    indices: np.ndarray
    digests: np.ndarray
    loose: np.ndarray


class MixedWords(NamedTuple):
    """Lines of a side with words of mixed scripts: how many, and a word of the first by index."""

    lines: int
    first: dict[int, str]


class CleanChunk(NamedTuple):
    """The pairs of a chunk after cleaning, without those that are dropped in this pass.

    read: the number of pairs before cleaning; src, tgt: the lines of each side with newlines;
    digests: of both sentences; loose: digests of the sources that ignore capital letters and
    punctuation; other_forms: the digests of pairs in other forms; doubts: the kind of noise of each
    pair, one byte a pair; early: indices and kinds of the pairs that are dropped in this
    pass; originals: rows of index, source and target as they were read, of the pairs that are
    dropped in this pass or that cleaning changed, if the texts of dropped pairs are needed;
    repaired: the number of repaired pairs and the first indices, by kind; repaired_rows: the rows
    of the list of repaired pairs without the file, if this list is needed; mixed: of each side, the
    words whose letters are of several scripts after the repairs.
    """

    corpus: int
    first_line: int
    read: int
    src: bytes
    tgt: bytes
    digests: bytes
    loose: bytes
    other_forms: OtherForms
    doubts: bytes
    early: tuple[np.ndarray, np.ndarray]
    originals: list[bytes]
    repaired: dict[int, tuple[int, list[int]]]
    repaired_rows: list[bytes]
    mixed: tuple[MixedWords, MixedWords]


def clean_chunk(chunk: RawChunk) -> CleanChunk:
    """Clean a chunk and drop bad rows, a header and pairs with an empty side.

    In a table, quotation marks without text are an empty side.
    """
    cleaning, src, tgt, repaired = chunk.cleaning, chunk.src, chunk.tgt, Repaired()
    if cleaning.level != "off":
        src, tgt = repair_lines(src, tgt, repaired, (cleaning.src, cleaning.tgt))
    src = cleaning.finish("src", _remove_controls(src, repaired))
    tgt = cleaning.finish("tgt", _remove_controls(tgt, repaired))
    mixed = [_mixed(lines, cleaning) for lines in (src, tgt)]
    # Before any pair is dropped, because those are listed, too.
    listed = _repaired_rows(chunk, (src, tgt), repaired, mixed) if cleaning.keep_repaired else []
    early = dict.fromkeys(chunk.bad_rows, kinds.COLUMNS)
    if chunk.header is not None and cleaning.level != "off":
        early[chunk.header] = kinds.HEADER
    empty = {"", '""'} if chunk.is_table and cleaning.level != "off" else {""}
    if not (empty.isdisjoint(src) and empty.isdisjoint(tgt)):
        for index, pair in enumerate(zip(src, tgt, strict=True)):
            if not empty.isdisjoint(pair):
                early.setdefault(index, kinds.EMPTY)
    dropped, invalid = sorted(early), chunk.invalid
    originals = _originals(chunk, src, tgt, early) if cleaning.keep_dropped else []
    kept = [index for index in range(len(src)) if index not in early]
    if dropped:
        src, tgt = [src[index] for index in kept], [tgt[index] for index in kept]
        invalid = [bisect_left(kept, index) for index in invalid if index not in early]
    if cleaning.level != "off" and src:
        languages = (cleaning.src, cleaning.tgt)
        doubts = find_doubts(src, tgt, languages, invalid=invalid)
    else:
        doubts = np.zeros(len(src), np.uint8)
    digests = digests_of(src, tgt)
    return CleanChunk(
        chunk.corpus,
        chunk.first_line,
        len(chunk.src),
        joined_lines(src).encode(),
        joined_lines(tgt).encode(),
        digests.tobytes(),
        loose_digests(src).tobytes(),
        _other_forms(chunk, kept, (src, tgt), digests, repaired),
        doubts.tobytes(),
        (np.array(dropped, np.uint32), np.array([early[index] for index in dropped], np.uint8)),
        originals,
        {kind: (len(lines), sorted(lines)[:FIRST_LINES]) for kind, lines in repaired.lines.items()},
        listed,
        (_first(mixed[0], early), _first(mixed[1], early)),
    )


def _mixed(lines: Sequence[str], cleaning: Cleaning) -> dict[int, str]:
    """Return a word of mixed scripts of each cleaned line that has one, by its index.

    There are none without repairs, since these would change some.
    """
    if cleaning.level == "off":
        return {}
    signs = lines_with(MIXED_WORD_SIGN, joined_lines(lines), lines)
    return {index: words[0] for index in signs if (words := mixed_words(lines[index]))}


def _first(mixed: Mapping[int, str], early: Collection[int]) -> MixedWords:
    """Return the lines that `_mixed` found, without those that are dropped in this pass."""
    kept = {index: word for index, word in mixed.items() if index not in early}
    return MixedWords(len(kept), dict(islice(kept.items(), FIRST_LINES)))


def _remove_controls(lines: Sequence[str], repaired: Repaired) -> list[str]:
    cleaned = [clean_line(line) for line in lines]
    if cleaned != lines:
        for index, (line, original) in enumerate(zip(cleaned, lines, strict=True)):
            # Without other repairs this mark is still here. It has an underscore in its place.
            if SPACE_MARK in original:
                repaired.add(kinds.SUBWORD_MARK, index)
            if line != original.replace(SPACE_MARK, "_"):
                repaired.add(kinds.CONTROL, index)
    return cleaned


def _originals(
    chunk: RawChunk, src: Sequence[str], tgt: Sequence[str], early: Collection[int]
) -> list[bytes]:
    """Return the rows of CleanChunk.originals; src, tgt: the cleaned lines."""
    rows = []
    for index, (raw_src, raw_tgt) in enumerate(zip(chunk.src, chunk.tgt, strict=True)):
        texts = cell(raw_src), cell(raw_tgt)
        if index in early or texts != (src[index], tgt[index]):
            rows.append(f"{index}\t{texts[0]}\t{texts[1]}\n".encode())
    return rows


def _other_forms(
    chunk: RawChunk,
    kept: Sequence[int],
    sides: tuple[Sequence[str], Sequence[str]],
    digests: np.ndarray,
    repaired: Repaired,
) -> OtherForms:
    """Return the digests of the other forms of kept pairs.

    kept: (kept,) the indices of these pairs in the chunk; sides: their cleaned lines; digests:
    (kept,) of these.
    """
    unrepaired, numberless = _unrepaired(chunk, kept, repaired), without_first_numbers(*sides)
    forms = [*unrepaired.items(), *numberless.items()]
    indices = np.array([index for index, _ in forms], np.uint32)
    src, tgt = [src for _, (src, _) in forms], [tgt for _, (_, tgt) in forms]
    others = digests_of(src, tgt)
    differ = others != digests[indices]
    return OtherForms(indices[differ], others[differ], loose_digests(src)[differ])


def _unrepaired(
    chunk: RawChunk, kept: Sequence[int], repaired: Repaired
) -> dict[int, tuple[str, str]]:
    """Return both sides of kept pairs as they would be without the repairs that change digests.

    By their index among the kept pairs; kept: (kept,) their indices in the chunk.
    """
    positions = {index: position for position, index in enumerate(kept)} if repaired.lines else {}
    changed = [
        index
        for index, repair_kinds in repaired.kinds_by_line().items()
        # Digests do not tell Unicode forms apart.
        if index in positions and repair_kinds != [kinds.UNICODE_FORM]
    ]
    src = chunk.cleaning.clean("src", [chunk.src[index] for index in changed])
    tgt = chunk.cleaning.clean("tgt", [chunk.tgt[index] for index in changed])
    before = zip(src, tgt, strict=True)
    return {positions[index]: pair for index, pair in zip(changed, before, strict=True)}


def _repaired_rows(
    chunk: RawChunk,
    sides: tuple[Sequence[str], Sequence[str]],
    repaired: Repaired,
    mixed: Sequence[Collection[int]],
) -> list[bytes]:
    """Return the rows of CleanChunk.repaired_rows.

    sides: the cleaned lines; mixed: of each side, the indices of those with words of mixed scripts.
    """
    rows, repair_kinds = [], repaired.kinds_by_line()
    left = {index for indices in mixed for index in indices}
    for index in sorted({*repair_kinds, *left}):
        names = [kinds.KINDS[kind].name for kind in repair_kinds.get(index, ())]
        names += [LETTERS_LEFT] if index in left else []
        texts = (chunk.src[index], chunk.tgt[index], *(lines[index] for lines in sides))
        cells = (str(chunk.first_line + index), "; ".join(names), *map(cell, texts))
        row = "\t".join(cells)
        rows.append(f"{row}\n".encode())
    return rows
