"""What was found wrong with the training pairs: counts with line numbers, and the dropped pairs."""

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.clean import (
    EARLY_TEXT,
    FIRST_LINES,
    CleanText,
    LineRange,
    Stretch,
    read_stretch,
)
from nmt_cli.data.cleaning.kinds import KINDS
from nmt_cli.errors import CannotCreateError
from nmt_cli.storage.files import writing

# Fewer kept ones of a kind that is only likely may all be right: nobody is told.
LEAST_SHARE = 2e-4
_UNSURE = (*kinds.WRONG_SIDES, kinds.NOT_TRANSLATION)
HEADER = "file\tline\treason\tsource\ttarget\n"


@dataclass(frozen=True)
class Finding:
    """One kind of dirt: how many pairs, what was done with them, and where the first ones are.

    lines: `line` or `first-last`; `file:line` where there is more than one training corpus.
    """

    kind: str
    pairs: int
    action: str
    lines: tuple[str, ...] = field(default=())

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Finding":
        """From plain values, as `dataclasses.asdict` gives them."""
        return cls(**{**values, "lines": tuple(values["lines"])})


class Ledger:
    """Which kind of dirt each pair of the cleaned text is, and so whether it is kept.

    kinds: (pairs,) uint8, 0 for none; set_apart: (pairs,) bool, what became validation text.
    """

    def __init__(self, text: CleanText, data: DataConfig) -> None:
        """What the first pass found."""
        self._text = text
        self._data = data
        self._drops = kinds.dropped_kinds(data.clean, drop_wrong_language=data.drop_wrong_language)
        self.kinds = text.kinds.copy()
        self.set_apart = np.zeros(len(self.kinds), bool)

    @property
    def keep(self) -> np.ndarray:
        """(pairs,) bool, True for training pairs."""
        return self._kept(slice(None))

    def _kept(self, part: slice) -> np.ndarray:
        kept: np.ndarray = ~(self._drops[self.kinds[part]] | self.set_apart[part])
        return kept

    def mark(self, kind: int, pairs: np.ndarray) -> None:
        """Take down that `pairs`, (pairs,) bool, are of a kind.

        What is known of a pair stays, unless it is to be dropped now and was not before.
        """
        self.mark_each(pairs.astype(np.uint8) * np.uint8(kind))

    def mark_each(self, found: np.ndarray) -> None:
        """The same for (pairs,) uint8 kinds; 0: nothing new is known."""
        self._mark_part(slice(None), found)

    def _mark_part(self, part: slice, found: np.ndarray) -> None:
        before = self.kinds[part]
        # Of a copy it is worth more to know which side is wrong.
        unknown = (before == kinds.CLEAN) | (before == kinds.COPIED)
        news = (found > 0) & self._kept(part) & (unknown | self._drops[found])
        self.kinds[part] = np.where(news, found, before)

    def mark_lines(self, kind: int, place: LineRange) -> None:
        """Take down that the pairs of some lines are of a kind."""
        for stretch in self._text.stretches:
            after = stretch.first_line + stretch.read
            same = stretch.corpus == place.corpus
            if same and stretch.first_line <= place.last and place.line < after:
                lines = stretch.lines()
                found = (lines >= place.line) & (lines <= place.last)
                self._mark_part(_part(stretch), found.astype(np.uint8) * np.uint8(kind))

    def mark_encoded(self, stretch: Stretch, reasons: np.ndarray) -> None:
        """Take down why the kept pairs of a stretch are dropped after all; 0: they are not."""
        part = _part(stretch)
        places = stretch.first + np.flatnonzero(self._kept(part))
        self.kinds[places[reasons > 0]] = reasons[reasons > 0]

    def dropped(self) -> dict[str, int]:
        """How many pairs are dropped, by the name of the kind."""
        counts = np.bincount(self.kinds, minlength=len(KINDS)) + self._early_counts()
        return {
            kind.name: int(count)
            for kind, count, drop in zip(KINDS, counts, self._drops, strict=True)
            if drop and count
        }

    def _early_counts(self) -> np.ndarray:
        counts = np.zeros(len(KINDS), np.int64)
        for stretch in self._text.stretches:
            counts += np.bincount(stretch.early[1], minlength=len(KINDS))
        return counts

    def findings(self) -> list[Finding]:
        """All kinds of dirt that were found, in the order of KINDS."""
        counts = np.bincount(self.kinds, minlength=len(KINDS)) + self._early_counts()
        found = []
        for kind in range(1, len(KINDS)):
            if kind in self._text.repaired:
                count, places = self._text.repaired[kind]
                found.append(self._finding(kind, count, places))
            elif counts[kind] and (
                self._drops[kind]
                or kind not in _UNSURE
                or counts[kind] >= LEAST_SHARE * len(self.kinds)
            ):
                shown = self._text.shifts if kind == kinds.SHIFTED else self._first_places(kind)
                found.append(self._finding(kind, int(counts[kind]), shown))
        return found

    def _finding(self, kind: int, count: int, places: Sequence[LineRange]) -> Finding:
        done = kinds.action(
            kind, self._data.clean, drop_wrong_language=self._data.drop_wrong_language
        )
        lines = tuple(self._shown(one) for one in places[:FIRST_LINES])
        return Finding(KINDS[kind].name, count, done, lines)

    def _shown(self, place: LineRange) -> str:
        lines = f"{place.line}-{place.last}" if place.last > place.line else str(place.line)
        if len(self._data.train) == 1:
            return lines
        return f"{Path(self._data.train[place.corpus][0]).name}:{lines}"

    def _first_places(self, kind: int) -> list[LineRange]:
        places: list[LineRange] = []
        for stretch in self._text.stretches:
            part = self.kinds[_part(stretch)]
            lines = list(stretch.early[0][stretch.early[1] == kind] + stretch.first_line)
            if (part == kind).any():
                lines += list(stretch.lines()[part == kind])
            places += [LineRange(stretch.corpus, int(line)) for line in sorted(lines)]
            if len(places) >= FIRST_LINES:
                break
        return places[:FIRST_LINES]

    def write_dropped(self, path: Path) -> None:
        """Write all dropped pairs as TSV: file, line, reason, source, target."""
        with (
            writing(path) as file,
            (self._text.directory / EARLY_TEXT).open(encoding="utf-8", newline="\n") as early,
        ):
            file.write(HEADER.encode())
            for stretch in self._text.stretches:
                name = self._data.train[stretch.corpus][0]
                rows = sorted([*self._early_rows(stretch, early), *self._late_rows(stretch)])
                for line, kind, text in rows:
                    row = f"{_cell(name)}\t{line}\t{KINDS[kind].name}\t{text}\n"
                    file.write(row.encode("utf-8", errors="replace"))

    def _early_rows(self, stretch: Stretch, early: Iterator[str]) -> Iterator[tuple[int, int, str]]:
        for place, kind in zip(*stretch.early, strict=True):
            yield stretch.first_line + int(place), int(kind), next(early).removesuffix("\n")

    def _late_rows(self, stretch: Stretch) -> Iterator[tuple[int, int, str]]:
        part = self.kinds[_part(stretch)]
        places = np.flatnonzero(self._drops[part])
        if not len(places):
            return
        directory = self._text.directory
        src = read_stretch(directory, "src", stretch.src_start, stretch.src_end)
        tgt = read_stretch(directory, "tgt", stretch.tgt_start, stretch.tgt_end)
        lines = stretch.lines()
        for place in places.tolist():
            yield int(lines[place]), int(part[place]), f"{src[place]}\t{tgt[place]}"


def _part(stretch: Stretch) -> slice:
    return slice(stretch.first, stretch.first + stretch.pairs)


def _cell(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ")


def check_dropped_path(path: Path, inputs: Sequence[str], *, force: bool = False) -> None:
    """Refuse to write the dropped pairs over another file; raises CannotCreateError.

    force: a file that is not read may be replaced.
    """
    for name in inputs:
        if path.is_file() and Path(name).is_file() and path.samefile(name):
            raise CannotCreateError(
                f"`{path}` is a file that is read",
                f"such as: --dropped {shlex.quote('dropped.tsv')}",
            )
    if os.path.lexists(path) and not path.is_dir() and not force:
        raise CannotCreateError(
            f"`{path}` exists already", "name another file, or use --force to replace it"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise CannotCreateError(
            f"`{path}` cannot be written", "name a file in a directory that exists"
        )
