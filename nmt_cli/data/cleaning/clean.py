"""The first pass of `nmt prepare`: reads and cleans the text and stores it for the later passes.

Pairs with an empty side are dropped here; duplicates are found later, when the digests of all pairs
are known. This pass also notes where files seem misaligned and which held-out sentences occur.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning.alignment.misalignment import Profile, find_shifts
from nmt_cli.data.cleaning.chunks import (
    FIRST_LINES,
    CleanChunk,
    Cleaning,
    MixedWords,
    RawChunk,
    clean_chunk,
)
from nmt_cli.data.cleaning.held_out.copies import HeldOut, HeldOutSearch
from nmt_cli.data.cleaning.held_out.digests import PAIR_DIGEST, SENTENCE_DIGEST
from nmt_cli.data.cleaning.pair_lists import REPAIRED_ROWS, cell
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.text.encoding import repair_hint
from nmt_cli.data.text.formats.separated_values import unquote_command
from nmt_cli.data.text.line_pairs import LinePairs, read_pairs
from nmt_cli.data.text.tables.columns import TableColumns
from nmt_cli.data.text.tables.header_rows import BrokenCells, is_header
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage.files import writing

CHUNK_PAIRS = 8_192
# A warning says that a larger share of the lines of a table is in quotation marks.
LEAST_QUOTED = 0.1
ORIGINALS = "originals.tsv"

Progress = Callable[[str, int, int | None], None]


class Span(NamedTuple):
    """A span of the cleaned text: the bytes of each side, the first pair and the number of pairs.

    first_line, read: the lines of the files that the pairs come from; early: two arrays (dropped,),
    the indices of pairs dropped in the first pass among these lines, and their kinds of noise;
    originals: how many pairs of these lines are in the file ORIGINALS.
    """

    corpus: int
    src_start: int
    src_end: int
    tgt_start: int
    tgt_end: int
    first: int
    pairs: int
    first_line: int
    read: int
    early: tuple[np.ndarray, np.ndarray]
    originals: int

    def lines(self) -> np.ndarray:
        """Return the line of each pair, (pairs,), counted from 1."""
        kept = np.ones(self.read, bool)
        kept[self.early[0]] = False
        return self.first_line + np.flatnonzero(kept)


class LineRange(NamedTuple):
    """A line of a corpus, or the lines from `line` to `last`."""

    corpus: int
    line: int
    last: int = 0


@dataclass
class CleanText:
    """The cleaned text of all training pairs: `clean.src` and `clean.tgt` in `directory`.

    digests: (pairs,) of both sentences; other_forms: (forms,) int64, pairs that have other forms,
    as those without the repairs, and (forms,) PAIR_DIGEST of these; repeats: (pairs,) bool,
    whether the pair has a held-out sentence in one of its forms; kinds: (pairs,) uint8, the kind of
    noise of each pair; repaired: by kind, the number of repaired pairs and the first of
    them; repaired_rows: the number of pairs in the list of them; mixed: by corpus and side (0 or
    1), the lines with words of mixed scripts that are left, with their numbers; shifts: lines that
    seem shifted; notes: warnings for the user.
    """

    directory: Path
    spans: list[Span] = field(default_factory=list)
    read: int = 0
    pairs: int = 0
    digests: np.ndarray = field(default_factory=lambda: np.zeros(0, PAIR_DIGEST))
    other_forms: tuple[np.ndarray, np.ndarray] = field(
        default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, PAIR_DIGEST))
    )
    repeats: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    repaired: dict[int, tuple[int, list[LineRange]]] = field(default_factory=dict)
    repaired_rows: int = 0
    mixed: dict[tuple[int, int], MixedWords] = field(default_factory=dict)
    shifts: list[LineRange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def is_shifted(self) -> np.ndarray:
        """Return whether each pair is of lines that seem shifted: (pairs,) bool."""
        shifted = np.zeros(self.pairs, bool)
        for shift in self.shifts:
            for span in self.spans:
                if span.corpus == shift.corpus:
                    lines = span.lines()
                    inside = (lines >= shift.line) & (lines <= shift.last)
                    shifted[span.first : span.first + span.pairs] |= inside
        return shifted

    def add(self, chunk: CleanChunk) -> None:
        """Record the span of a chunk after it was written."""
        pairs = len(chunk.doubts)
        src_start, tgt_start = (
            (self.spans[-1].src_end, self.spans[-1].tgt_end) if self.spans else (0, 0)
        )
        src_end, tgt_end = src_start + len(chunk.src), tgt_start + len(chunk.tgt)
        self.spans.append(
            Span(chunk.corpus, src_start, src_end, tgt_start, tgt_end, self.pairs, pairs,
                    chunk.first_line, chunk.read, chunk.early, len(chunk.originals))
        )  # fmt: skip
        self.read += chunk.read
        self.pairs += pairs
        self.repaired_rows += len(chunk.repaired_rows)
        for kind, (count, lines) in chunk.repaired.items():
            earlier, ranges = self.repaired.get(kind, (0, []))
            more = [LineRange(chunk.corpus, chunk.first_line + line) for line in lines]
            self.repaired[kind] = earlier + count, (ranges + more)[:FIRST_LINES]
        for side, mixed in enumerate(chunk.mixed):
            before = self.mixed.get((chunk.corpus, side), MixedWords(0, {}))
            words = {chunk.first_line + index: word for index, word in mixed.first.items()}
            first = dict(islice((before.first | words).items(), FIRST_LINES))
            self.mixed[chunk.corpus, side] = MixedWords(before.lines + mixed.lines, first)


def clean_training_text(
    config: Config,
    directory: Path,
    pool: ProcessPool,
    held_out: Sequence[HeldOut],
    progress: Progress,
    *,
    keep_dropped: bool = False,
    keep_repaired: bool = False,
) -> CleanText:
    """Read all of `data.train` once and write the cleaned text into `directory`.

    keep_dropped, keep_repaired: whether the text of such pairs is written there, too.
    """
    text = CleanText(directory)
    digests, doubts, repeats = bytearray(), bytearray(), bytearray()
    others, other_digests = bytearray(), bytearray()
    search = HeldOutSearch(held_out)
    cleaning = Cleaning.of(config, keep_dropped=keep_dropped, keep_repaired=keep_repaired)
    reader = _Reader(config, cleaning)
    with ExitStack() as files:
        src_file = files.enter_context(writing(directory / "clean.src"))
        tgt_file = files.enter_context(writing(directory / "clean.tgt"))
        originals_file = files.enter_context(writing(directory / ORIGINALS))
        if keep_repaired:
            repaired_file = files.enter_context(writing(directory / REPAIRED_ROWS))
        for chunk in pool.map(clean_chunk, reader.chunks()):
            src_file.write(chunk.src)
            tgt_file.write(chunk.tgt)
            originals_file.writelines(chunk.originals)
            if keep_repaired:
                file = cell(config.data.train[chunk.corpus][0]).encode("utf-8", errors="replace")
                repaired_file.writelines(file + b"\t" + row for row in chunk.repaired_rows)
            others += (text.pairs + chunk.other_forms.indices.astype(np.int64)).tobytes()
            other_digests += chunk.other_forms.digests.tobytes()
            repeats += _repeats(chunk, search).tobytes()
            text.add(chunk)
            digests += chunk.digests
            doubts += chunk.doubts
            progress("read", text.read, reader.estimate(text.read))
    text.digests = np.frombuffer(digests, PAIR_DIGEST)
    text.other_forms = np.frombuffer(others, np.int64), np.frombuffer(other_digests, PAIR_DIGEST)
    text.repeats = np.frombuffer(repeats, bool)
    text.kinds = np.frombuffer(doubts, np.uint8)
    text.notes, text.shifts = reader.notes, reader.shifts
    return text


def _repeats(chunk: CleanChunk, search: HeldOutSearch) -> np.ndarray:
    """Return whether each pair has a held-out sentence in one of its forms: (pairs,) bool."""
    loose = np.frombuffer(chunk.loose, SENTENCE_DIGEST)
    repeats = search.find(np.frombuffer(chunk.digests, PAIR_DIGEST), loose)
    others = chunk.other_forms
    if len(others.indices):
        repeats[others.indices[search.find(others.digests, others.loose)]] = True
    return repeats


class _Reader:
    """Reads the training files one after the other, and checks their encoding and alignment."""

    def __init__(self, config: Config, cleaning: Cleaning) -> None:
        self._cleaning = cleaning
        self._train = config.data.train
        self._columns = TableColumns.of_training(config.data.tsv_columns, self._train)
        self._strict = config.data.strict
        files = [Path(paths[0]) for paths in self._train]
        known = all(file.is_file() for file in files)
        self._size = sum(file.stat().st_size for file in files) if known else 0
        self._finished = 0
        self._pairs: LinePairs | None = None
        self.notes: list[str] = []
        self.shifts: list[LineRange] = []

    def estimate(self, done: int) -> int | None:
        """Estimate the number of all pairs after `done` pairs were read; None if it is unknown."""
        if not self._size or self._pairs is None:
            return None
        read = self._finished + self._pairs.src.bytes_read
        return max(done, round(done * self._size / read)) if read else None

    def chunks(self) -> Iterator[RawChunk]:
        """Yield the pairs of all training files in chunks."""
        for corpus, paths in enumerate(self._train):
            # Cleaning removes quotation marks, so that the repaired pairs can be listed.
            self._pairs = pairs = read_pairs(
                paths, self._columns, strict=self._strict, keep_bad_rows=True, unquote=False
            )
            profiles = (Profile(), Profile())
            broken = BrokenCells()
            is_table = len(paths) == 1
            chunk = RawChunk(self._cleaning, corpus, 1, [], [], [], [], is_table)
            invalid, has_row = 0, False
            codes = (self._cleaning.src, self._cleaning.tgt)
            for src, tgt in pairs:
                if pairs.is_bad_row:
                    chunk.bad_rows.append(len(chunk.src))
                if pairs.invalid > invalid:
                    chunk.invalid.append(len(chunk.src))
                    invalid = pairs.invalid
                chunk.src.append(src)
                chunk.tgt.append(tgt)
                if is_table:
                    # Rows of an earlier chunk stay as they are.
                    rows = broken.add(pairs.row, is_bad=pairs.is_bad_row)
                    chunk.bad_rows.extend(range(max(0, len(chunk.src) - rows), len(chunk.src)))
                # Lines above a table, such as its caption, have other columns or an empty side.
                if (
                    is_table
                    and not has_row
                    and not pairs.is_bad_row
                    and src.strip()
                    and tgt.strip()
                ):
                    has_row = True
                    if is_header(src, tgt, codes):
                        chunk = chunk._replace(header=len(chunk.src) - 1)
                profiles[0].add(src)
                profiles[1].add(tgt)
                if len(chunk.src) == CHUNK_PAIRS:
                    yield chunk
                    first_line = pairs.count + 1
                    chunk = RawChunk(self._cleaning, corpus, first_line, [], [], [], [], is_table)
            if chunk.src:
                yield chunk
            self._finished += pairs.src.size
            self._note(corpus, pairs, profiles, broken.records)

    def _note(
        self, corpus: int, pairs: LinePairs, profiles: tuple[Profile, Profile], broken: int
    ) -> None:
        """Note what is wrong with a corpus that was read; broken: pairs on several lines.

        Raises DataError if it is not UTF-8 at all.
        """
        # The sides of a table are one file.
        for lines in dict.fromkeys((pairs.src, pairs.tgt)):
            lines.refuse_other_encoding()
            if lines.invalid:
                self.notes.append(
                    f"`{lines.name}`: {counted(lines.invalid, 'line')} "
                    f"{agreeing(lines.invalid, 'is', 'are')} not UTF-8, the first at line:byte"
                    f" {lines.first_invalid}; the wrong bytes became U+FFFD; "
                    f"{repair_hint(lines.name, lines.invalid, has_utf8=lines.has_utf8)}"
                )
        if broken:
            self.notes.append(
                f"`{pairs.src.name}`: line breaks in cells in quotation marks spread "
                f"{counted(broken, 'pair')} over several lines, which are dropped; to keep them, "
                f"remove the line breaks and marks: {unquote_command(pairs.src.name)}"
            )
        if pairs.speech_rows > LEAST_QUOTED * pairs.count:
            self.notes.append(
                f"`{pairs.src.name}`: both columns of {pairs.speech_rows:,} of "
                f"{counted(pairs.count, 'line')} are in quotation marks, which count as text; if a "
                f"spreadsheet wrote them, remove them: {unquote_command(pairs.src.name)}"
            )
        # Line breaks in cells make such rows, too, and are named already.
        if not broken:
            self.notes += pairs.wide_rows.notes(pairs.src.name, pairs.count)
        shifts = find_shifts(*profiles)
        self.shifts += [LineRange(corpus, shift.first, shift.last) for shift in shifts]
        if shifts:
            files = dict.fromkeys(f"`{lines.name}`" for lines in (pairs.src, pairs.tgt))
            sides = " and ".join(files) if len(files) > 1 else f"the columns of {next(iter(files))}"
            self.notes.append(
                f"{sides} seem shifted against each other near line {shifts[0].first:,}: is a line "
                "missing there?"
            )


def read_span(directory: Path, side: str, start: int, end: int) -> list[str]:
    """Return the cleaned lines between two byte offsets of one side."""
    return _read_bytes(directory, side, start, end).decode("utf-8").split("\n")[:-1]


def lines_at(text: CleanText, indices: np.ndarray) -> dict[int, tuple[str, str]]:
    """Return both sides of some pairs, whose indices ascend, by index."""
    found = {}
    for span in text.spans:
        start, end = np.searchsorted(indices, [span.first, span.first + span.pairs])
        if start == end:
            continue
        src = read_span(text.directory, "src", span.src_start, span.src_end)
        tgt = read_span(text.directory, "tgt", span.tgt_start, span.tgt_end)
        for index in indices[start:end].tolist():
            found[index] = src[index - span.first], tgt[index - span.first]
    return found


def read_side(directory: Path, side: str, span: Span) -> bytes:
    """Return the cleaned text of one side of a span."""
    if side == "src":
        return _read_bytes(directory, side, span.src_start, span.src_end)
    return _read_bytes(directory, side, span.tgt_start, span.tgt_end)


def _read_bytes(directory: Path, side: str, start: int, end: int) -> bytes:
    with (directory / f"clean.{side}").open("rb") as file:
        file.seek(start)
        return file.read(end - start)
