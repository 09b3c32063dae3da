"""Checks whether validation and test texts are aligned: line n translates line n.

The word tables learnt from the training pairs tell it, or where there are none, the lengths and
last characters of the lines, if those of the training text tell it. Training text in no common
order teaches no word table; it is told by lengths, too, if those of other texts tell it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning.alignment.matching import Matcher
from nmt_cli.data.cleaning.alignment.misalignment import (
    SMALL_OFFSETS,
    Profile,
    find_shifts,
    fit,
)
from nmt_cli.data.cleaning.chunks import Cleaning
from nmt_cli.data.languages.text_files import TextFiles, head_of, texts_of
from nmt_cli.data.text.line_pairs import read_pairs

Sides = tuple[Sequence[str], Sequence[str]]
# Shorter texts tell too little: by their words, and by the lengths of their lines.
MIN_LINES, MIN_LINES_BY_LENGTH = 32, 128
# By lengths: the fit of training text that tells it, and a worse one than that of aligned text.
TELLING_FIT, WRONG_FIT = 0.6, 0.8
# The same for training text, which also has more lines: it may hold single words and phrases.
WRONG_TRAINING_FIT, MIN_TRAINING_LINES = 0.9, 1_000
# The lengths of lines tell nothing if they vary less, as in text that is sorted by length: the
# standard deviation of their logarithms.
LEAST_SPREAD = 0.25
# By words, in parts of the gap between training pairs and pairs at random: lines with a smaller
# mean gap are no translations. Pairs of another kind of text than the training text have 0.26 or
# more. A run of lines is reported if it costs so much more to take them as aligned.
UNRELATED_GAP, RUN_COST = 0.1, 4.0


class Unaligned(NamedTuple):
    """The lines from `first` to `last`, counted from 1, that do not translate each other.

    is_shift: whether they do at a distance of some lines.
    """

    first: int
    last: int
    is_shift: bool


def alignment_notes(config: Config, matcher: Matcher | None) -> list[str]:
    """Return a warning for each validation or test text that does not seem to be aligned.

    matcher: what was learnt from the training pairs, if it tells enough.
    """
    cleaning, data = Cleaning.of(config), config.data
    if matcher is None:
        return notes_by_lengths(data.train, data.valid, data.test)
    notes = []
    for text in _held_out(data.valid, data.test):
        pairs = list(read_pairs(text.paths, strict=data.strict))
        src = cleaning.clean("src", [src for src, _ in pairs])
        tgt = cleaning.clean("tgt", [tgt for _, tgt in pairs])
        found = find_unaligned(matcher, src, tgt)
        notes += [_note(text, found)] if found else []
    return notes


def notes_by_lengths(
    train: Sequence[Sequence[str]], valid: Sequence[str], test: Sequence[str]
) -> list[str]:
    """Return the same warnings for texts given as paths, of which the first lines are read.

    Training texts are looked at, too. Nothing is said of a text where the lengths of no training
    text, or for training text of no other text at all, tell whether the sides fit each other.
    """
    texts = [*texts_of(train, (), ()), *_held_out(valid, test)]
    heads = [head_of(text) for text in texts]
    fits = list(map(_fit, heads))
    trained_fits = [
        value for text, value in zip(texts, fits, strict=True) if text.role == "training"
    ]
    notes = []
    for text, sides, value in zip(texts, heads, fits, strict=True):
        lines = min(map(len, sides))
        if text.role == "training":
            is_wrong = value is not None and value > WRONG_TRAINING_FIT
            if is_wrong and lines >= MIN_TRAINING_LINES and _do_lengths_tell(fits):
                notes.append(_note(text, Unaligned(1, lines, is_shift=False)))
            continue
        if not _do_lengths_tell(trained_fits):
            continue
        shifts = find_shifts(*map(Profile.of, sides))
        if shifts:
            notes.append(_note(text, Unaligned(*shifts[0], is_shift=True)))
        elif value is not None and value > WRONG_FIT:
            notes.append(_note(text, Unaligned(1, lines, is_shift=False)))
    return notes


def find_unaligned(matcher: Matcher, src: Sequence[str], tgt: Sequence[str]) -> Unaligned | None:
    """Return the first lines of a cleaned text that are not aligned; None if all seem to be.

    The likeliest sequence of states is found by dynamic programming (Viterbi 1967): each line is
    aligned, unrelated, or shifted by some lines, and a change of the state has a cost.
    """
    if min(len(src), len(tgt)) < MIN_LINES or matcher.gap <= 0:
        return None
    words = matcher.words(src, tgt)
    # Sides that far apart have nothing to do with each other.
    apart = [max(SMALL_OFFSETS) + 1, len(src) // 3, len(src) // 2]
    usual = np.mean([matcher.scores(words, offset) for offset in apart], axis=0)
    # Neighbouring lines of one text may match better than any lines, but not as well as the right
    # ones, so that the distances are compared with each other, too.
    shifted = [matcher.scores(words, offset) - usual for offset in SMALL_OFFSETS[1:]]
    unrelated = np.full(len(src), UNRELATED_GAP * matcher.gap)
    states = _states(np.stack([matcher.scores(words) - usual, unrelated, *shifted]), matcher)
    others = np.flatnonzero(states)
    if not len(others):
        return None
    # At the start or the end of a shift, the lines without a counterpart are unrelated.
    end = others[0] + np.argmin(np.append(states[others[0] :] > 0, False))
    is_shift = bool(np.median(states[others[0] : end]) > 1)
    return Unaligned(int(others[0]) + 1, int(end), is_shift)


def _states(gaps: np.ndarray, matcher: Matcher) -> np.ndarray:
    """Return the likeliest state of each line, (lines,), for (states, lines) gaps."""
    cost = RUN_COST * matcher.gap
    best = gaps[:, 0].astype(np.float64)
    came_from = np.zeros(gaps.shape, np.int64)
    for line in range(1, gaps.shape[1]):
        other = int(best.argmax())
        changes = best[other] - cost > best
        came_from[:, line] = np.where(changes, other, np.arange(len(best)))
        best = np.where(changes, best[other] - cost, best) + gaps[:, line]
    states = np.zeros(gaps.shape[1], np.int64)
    states[-1] = int(best.argmax())
    for line in range(gaps.shape[1] - 1, 0, -1):
        states[line - 1] = came_from[states[line], line]
    return states


def _held_out(valid: Sequence[str], test: Sequence[str]) -> list[TextFiles]:
    """The validation text, and the test text with each of its references."""
    texts = []
    for text in texts_of((), valid, test):
        src, *references = text.paths
        texts += [TextFiles(text.role, (src, path)) for path in references] or [text]
    return texts


def _fit(sides: Sides) -> float | None:
    """How well the lengths of the sides fit each other; None if they cannot tell it."""
    lines = min(map(len, sides))
    if lines < MIN_LINES_BY_LENGTH:
        return None
    spreads = [np.std(np.log1p([len(line) for line in side])) for side in sides]
    if min(spreads) < LEAST_SPREAD:
        return None
    return fit(Profile.of(sides[0]), Profile.of(sides[1]), lines)


def _do_lengths_tell(fits: Sequence[float | None]) -> bool:
    """Whether the lengths of the sides fit each other well in one of the texts."""
    return any(value is not None and value <= TELLING_FIT for value in fits)


def _note(text: TextFiles, found: Unaligned) -> str:
    """The warning: what is wrong, where it is, and what is to be done."""
    sides = text.shown if len(text.paths) > 1 else f"the columns of {text.shown}"
    harm = "scores on this text say nothing about a model"
    if text.role == "training":
        harm = "no translation can be learnt from them"
    if found.is_shift:
        return (
            f"{text.role} text: {sides} seem shifted against each other near line "
            f"{found.first:,}: {harm}; look for a line there that one side lacks, or that is split "
            "in two, and put it right"
        )
    return (
        f"{text.role} text: {sides} do not seem to translate each other line by line, in lines "
        f"{found.first:,} to {found.last:,}: {harm}; write both sides anew from the same pairs, in "
        "the same order"
    )
