"""Are the files in the languages that are said? By their names, and by the first of their lines.

Where two files have each other's place that is an error; what is only odd is a warning.
"""

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.languages.names import are_swapped
from nmt_cli.data.languages.trigrams import trigram_counts
from nmt_cli.data.languages.words import other_language
from nmt_cli.data.languages.wrong_sides import LEAST_LINES, LEAST_TOLD_APART, verdicts
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError, NmtError, UsageError

LINES_LOOKED_AT = 2_000
# Of a held-out file so many lines look like the other side of the training text.
LEAST_WRONG = 0.6


class TextFiles(NamedTuple):
    """Parallel files, or one TSV file, and what for: training, validation or test."""

    role: str
    paths: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The files, for a message."""
        return " and ".join(f"`{path}`" for path in self.paths[:2])

    @property
    def turned(self) -> str:
        """The option that gives the files the other way round; "" for a TSV file."""
        if len(self.paths) < 2:
            return ""
        option = {"training": "--train", "validation": "--valid", "test": "--test"}[self.role]
        return f"{option} {shlex.quote(self.paths[1])} {shlex.quote(self.paths[0])}"


def texts_of(
    train: Sequence[Sequence[str]], valid: Sequence[str], test: Sequence[str]
) -> list[TextFiles]:
    """All files of a project, by what they are for."""
    named = [("training", paths) for paths in train]
    named += [(role, one) for role, one in (("validation", valid), ("test", test)) if one]
    return [TextFiles(role, tuple(paths)) for role, paths in named]


def check_languages(config: Config) -> list[str]:
    """Warnings about the files of a configuration; raises UsageError or DataError where swapped.

    With `data.clean` off the text is not judged.
    """
    data = config.data
    texts = texts_of(data.train, data.valid, data.test)
    src, tgt = config.languages.src, config.languages.tgt
    check_names(texts, src, tgt)
    if data.clean == "off":
        return []
    return check_texts(texts, src, tgt, "; if they are right: --no-clean")


def check_names(texts: Sequence[TextFiles], src: str, tgt: str) -> None:
    """Raise UsageError where two files carry each other's language in their names."""
    swapped = [one for one in texts if are_swapped(one.paths, src, tgt)]
    if not swapped:
        return
    named = "; ".join(f"{one.role} files {one.shown}" for one in swapped)
    hint = " ".join(one.turned for one in swapped)
    if len(swapped) == len(texts):
        hint += f"; or, to translate from {tgt} to {src}: --src-lang {tgt} --tgt-lang {src}"
    raise UsageError(
        f"the source is {src}, the target {tgt}, but not by their names: {named}", hint
    )


def check_texts(texts: Sequence[TextFiles], src: str, tgt: str, more_hint: str = "") -> list[str]:
    """Warnings about texts in other languages; raises DataError where two files are swapped."""
    heads = [(one, _head(one)) for one in texts]
    swapped: list[tuple[TextFiles, str]] = []
    warnings: list[str] = []
    for one, (src_lines, tgt_lines) in heads:
        others = other_language(src_lines, src), other_language(tgt_lines, tgt)
        if others == (tgt, src):
            swapped.append((one, f"the {one.role} text {one.shown} is in {tgt} and {src}"))
        else:
            warnings += [
                f"the {one.role} {side} {_file_of(one, place)} looks like {other}, not {stated}"
                for place, (side, other, stated) in enumerate(
                    zip(("source", "target"), others, (src, tgt), strict=True)
                )
                if other is not None
            ]
    odds = _odds([head for one, head in heads if one.role == "training"])
    for one, head in heads:
        if odds is None or one.role == "training" or one in [text for text, _ in swapped]:
            continue
        wrong = [
            _wrong_share(lines, odds * sign) for lines, sign in zip(head, (1, -1), strict=True)
        ]
        if min(wrong) >= LEAST_WRONG:
            swapped.append(
                (one, f"the sides of the {one.role} text {one.shown} look like each other's side "
                 "of the training text")
            )  # fmt: skip
        elif max(wrong) >= LEAST_WRONG and not warnings:
            side = "source" if wrong[0] > wrong[1] else "target"
            warnings.append(f"the {one.role} {side} looks like the other side of the training text")
    if swapped:
        message = "; ".join(said for _, said in swapped)
        turned = " ".join(one.turned or f"swap the columns of {one.shown}" for one, _ in swapped)
        raise DataError(f"source and target are swapped: {message}", turned + more_hint)
    return warnings


def _file_of(text: TextFiles, place: int) -> str:
    return f"`{text.paths[place]}`" if len(text.paths) > 1 else f"column of `{text.paths[0]}`"


def _head(text: TextFiles) -> tuple[list[str], list[str]]:
    """The first lines of both sides; nothing of what cannot be read twice, or not at all."""
    if not text.paths or not all(Path(path).is_file() for path in text.paths[:2]):
        return [], []
    try:
        if len(text.paths) == 1:
            rows = [line.split("\t") for line in _first_lines(text.paths[0])]
            pairs = [row for row in rows if len(row) == 2]
            return [row[0] for row in pairs], [row[1] for row in pairs]
        return list(_first_lines(text.paths[0])), list(_first_lines(text.paths[1]))
    except NmtError:
        # It is told when all is read.
        return [], []


def _first_lines(path: str) -> Iterator[str]:
    with read_lines(path) as lines:
        yield from islice(lines, LINES_LOOKED_AT)


def _bytes(lines: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(errors="replace"), np.uint8)


def _odds(heads: Sequence[tuple[list[str], list[str]]]) -> np.ndarray | None:
    """By how much each trigram is likelier on the training source; None: too few, or too alike."""
    sides = [_bytes([line for head in heads for line in head[place]]) for place in (0, 1)]
    if min(sum(len(head[0]) for head in heads), *map(len, sides)) < LEAST_LINES:
        return None
    counts = np.stack([trigram_counts(side) for side in sides]) + 1.0
    shares = np.log(counts / counts.sum(1, keepdims=True))
    odds: np.ndarray = shares[0] - shares[1]
    right = [
        (verdicts(side, odds * sign) > 0).mean() for side, sign in zip(sides, (1, -1), strict=True)
    ]
    return odds if min(right) >= LEAST_TOLD_APART else None


def _wrong_share(lines: Sequence[str], odds: np.ndarray) -> float:
    """The share of lines that are clearly on the other side than the one that `odds` favour."""
    if len(lines) < LEAST_LINES // 5:
        return 0.0
    return float((verdicts(_bytes(lines), odds) < 0).mean())
