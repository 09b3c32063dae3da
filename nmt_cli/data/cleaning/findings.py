"""Records the noise in the training pairs, reports it with line numbers, lists dropped pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.chunks import FIRST_LINES
from nmt_cli.data.cleaning.clean import ORIGINALS, CleanText, LineRange, Span, read_span
from nmt_cli.data.cleaning.kinds import KINDS
from nmt_cli.data.cleaning.pair_lists import DROPPED, cell
from nmt_cli.storage.files import writing

# A smaller share of kept pairs of an uncertain kind may all be right and is not reported.
MIN_SHARE = 2e-4
_UNCERTAIN = (
    *kinds.WRONG_SIDES,
    kinds.THIRD_LANGUAGE,
    kinds.NOT_TRANSLATION,
    kinds.CUT_SHORT,
)
# What one side has and the other lacks.
_DIFFERENCES = (kinds.ONE_ADDRESS, kinds.ONE_PLACEHOLDER, kinds.ONE_COMMENT, kinds.NUMBERS)


@dataclass(frozen=True)
class Finding:
    """One kind of noise: how many pairs, what was done with them, and the lines of the first ones.

    lines: `line` or `first-last`; `file:line` if there is more than one training corpus, with the
    path of the file if names are equal.
    """

    kind: str
    pairs: int
    action: str
    lines: tuple[str, ...] = field(default=())

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Finding":
        """Build a finding from plain values, as `dataclasses.asdict` returns them."""
        return cls(**{**values, "lines": tuple(values["lines"])})


class Ledger:
    """The kind of noise of each pair of the cleaned text, which decides whether it is kept.

    kinds: (pairs,) uint8, 0 for none; set_apart: (pairs,) bool, True for validation pairs.
    """

    def __init__(self, text: CleanText, data: DataConfig) -> None:
        """Start from the findings of the first pass."""
        self._text = text
        self._data = data
        self._drops = kinds.dropped_kinds(data)
        self.kinds = text.kinds.copy()
        self.set_apart = np.zeros(len(self.kinds), bool)
        paths = [files[0] for files in data.train]
        names = [Path(path).name for path in paths]
        # Where files in different folders have the same name, their paths tell them apart.
        self._names = names if len(set(names)) == len(names) else paths

    @property
    def keep(self) -> np.ndarray:
        """(pairs,) bool, True for training pairs."""
        return self._kept(slice(None))

    def _kept(self, pairs: slice) -> np.ndarray:
        kept: np.ndarray = ~(self._drops[self.kinds[pairs]] | self.set_apart[pairs])
        return kept

    def mark(self, kind: int, pairs: np.ndarray) -> None:
        """Mark `pairs`, (pairs,) bool, with a kind.

        A pair keeps an earlier kind unless the new kind drops it and the earlier one does not, or
        explains it.
        """
        self.mark_each(pairs.astype(np.uint8) * np.uint8(kind))

    def mark_each(self, new: np.ndarray) -> None:
        """Mark each pair with its kind in `new`, (pairs,) uint8; 0 changes nothing."""
        # For a copy it is more useful to know which side is wrong, dropped or not. Where lines are
        # shifted, the sides of a pair differ because they do not belong together.
        is_copy = np.isin(self.kinds, (kinds.COPIED, kinds.PASSAGE))
        is_shifted = (new == kinds.SHIFTED) & np.isin(self.kinds, _DIFFERENCES)
        is_explained = (is_copy | is_shifted | self._is_other_side(new)) & ~self.set_apart
        replaceable = (self.kinds == kinds.CLEAN) | is_explained
        open_to_change = self.keep | is_explained
        changed = (new > 0) & open_to_change & (replaceable | self._drops[new])
        self.kinds = np.where(changed, new, self.kinds)

    def _is_other_side(self, new: np.ndarray) -> np.ndarray:
        """Which pairs are in another script because they have the text of the other side.

        Of few of a kind in `new`, nothing would be reported.
        """
        counts = np.bincount(new, minlength=len(KINDS)).tolist()
        listed = [kind for kind, count in enumerate(counts) if self._is_listed(kind, count)]
        copies = self._text.digests["src"] == self._text.digests["tgt"]
        is_named = (new == kinds.SWAPPED) | (copies & np.isin(new, kinds.WRONG_SIDES))
        result: np.ndarray = is_named & np.isin(new, listed) & (self.kinds == kinds.OTHER_SCRIPT)
        return result

    def mark_encoded(self, span: Span, reasons: np.ndarray) -> None:
        """Mark the kept pairs of a span with the reasons to drop them after encoding; 0: none."""
        indices = span.first + np.flatnonzero(self._kept(_pairs_of(span)))
        self.kinds[indices[reasons > 0]] = reasons[reasons > 0]

    def counts_by_file(self, kind: int) -> list[tuple[int, int]]:
        """Return for each training corpus how many pairs are of this kind, and how many it has."""
        counts = np.zeros((len(self._data.train), 2), np.int64)
        for span in self._text.spans:
            marked = int((self.kinds[_pairs_of(span)] == kind).sum())
            counts[span.corpus] += marked, span.pairs
        return [(marked, pairs) for marked, pairs in counts.tolist()]

    def dropped(self) -> dict[str, int]:
        """Count the dropped pairs by the name of the kind."""
        counts = self._counts()
        return {
            kind.name: int(count)
            for kind, count, drop in zip(KINDS, counts, self._drops, strict=True)
            if drop and count
        }

    def _early_counts(self) -> np.ndarray:
        counts = np.zeros(len(KINDS), np.int64)
        for span in self._text.spans:
            counts += np.bincount(span.early[1], minlength=len(KINDS))
        return counts

    def findings(self) -> list[Finding]:
        """Return all kinds of noise that were found, in the order of KINDS."""
        counts = self._counts()
        findings = []
        for kind in range(1, len(KINDS)):
            if kind in self._text.repaired:
                count, ranges = self._text.repaired[kind]
                findings.append(self._finding(kind, count, ranges))
            elif self._is_listed(kind, counts[kind]):
                ranges = self._text.shifts if kind == kinds.SHIFTED else self._first_lines(kind)
                findings.append(self._finding(kind, int(counts[kind]), ranges))
        return findings

    def doubtful(self, pairs: np.ndarray) -> int:
        """Return how many of some kept pairs, (pairs,) indices, are of kinds that are listed."""
        counts, found = self._counts(), np.bincount(self.kinds[pairs], minlength=len(KINDS))
        listed = [kind for kind in range(1, len(KINDS)) if self._is_listed(kind, counts[kind])]
        return int(found[listed].sum())

    def _counts(self) -> np.ndarray:
        """Return the number of pairs of each kind: (kinds,)."""
        counts: np.ndarray = np.bincount(self.kinds, minlength=len(KINDS)) + self._early_counts()
        return counts

    def _is_listed(self, kind: int, count: int) -> bool:
        """Whether so many pairs of a kind are reported."""
        is_certain = self._drops[kind] or kind not in _UNCERTAIN
        return bool(count and (is_certain or count >= MIN_SHARE * len(self.kinds)))

    def _finding(self, kind: int, count: int, ranges: Sequence[LineRange]) -> Finding:
        action = kinds.action(kind, self._data.clean, kinds.also_dropped(self._data))
        lines = tuple(self._format_lines(lines) for lines in ranges[:FIRST_LINES])
        return Finding(KINDS[kind].name, count, action, lines)

    def _format_lines(self, lines: LineRange) -> str:
        shown = f"{lines.line}-{lines.last}" if lines.last > lines.line else str(lines.line)
        if len(self._data.train) == 1:
            return shown
        return f"{self._names[lines.corpus]}:{shown}"

    def _first_lines(self, kind: int) -> list[LineRange]:
        ranges: list[LineRange] = []
        for span in self._text.spans:
            pair_kinds = self.kinds[_pairs_of(span)]
            lines = list(span.early[0][span.early[1] == kind] + span.first_line)
            if (pair_kinds == kind).any():
                lines += list(span.lines()[pair_kinds == kind])
            ranges += [LineRange(span.corpus, int(line)) for line in sorted(lines)]
            if len(ranges) >= FIRST_LINES:
                break
        return ranges[:FIRST_LINES]

    def write_dropped(self, path: Path) -> None:
        """Write all dropped pairs as TSV: file, line, reason, source, target.

        Their text is that of the file, before cleaning, so that it can be searched for there.
        """
        with (
            writing(path, replaces=DROPPED.is_at(path)) as file,
            (self._text.directory / ORIGINALS).open(encoding="utf-8", newline="\n") as rows_read,
        ):
            file.write(DROPPED.header.encode())
            for span in self._text.spans:
                name = self._data.train[span.corpus][0]
                originals = dict(map(_split_row, islice(rows_read, span.originals)))
                dropped = sorted([*self._early_rows(span), *self._late_rows(span)])
                for line, kind, cleaned in dropped:
                    text = originals.get(line - span.first_line, cleaned)
                    row = f"{cell(name)}\t{line}\t{KINDS[kind].name}\t{text}\n"
                    file.write(row.encode("utf-8", errors="replace"))

    def _early_rows(self, span: Span) -> Iterator[tuple[int, int, str]]:
        """Yield line and kind of the pairs that the first pass drops, and no text."""
        for index, kind in zip(*span.early, strict=True):
            yield span.first_line + int(index), int(kind), ""

    def _late_rows(self, span: Span) -> Iterator[tuple[int, int, str]]:
        """Yield line, kind and cleaned text of the pairs that a later pass drops."""
        pair_kinds = self.kinds[_pairs_of(span)]
        indices = np.flatnonzero(self._drops[pair_kinds])
        if not len(indices):
            return
        directory = self._text.directory
        src = read_span(directory, "src", span.src_start, span.src_end)
        tgt = read_span(directory, "tgt", span.tgt_start, span.tgt_end)
        lines = span.lines()
        for index in indices.tolist():
            yield int(lines[index]), int(pair_kinds[index]), f"{src[index]}\t{tgt[index]}"


def _split_row(row: str) -> tuple[int, str]:
    """Return the index and the text of a row of ORIGINALS."""
    index, _, text = row.removesuffix("\n").partition("\t")
    return int(index), text


def _pairs_of(span: Span) -> slice:
    return slice(span.first, span.first + span.pairs)
