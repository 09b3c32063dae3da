"""Warnings about the apostrophes of words: torn words, and several ways to write them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from nmt_cli.data.languages.side_notes import Head
from nmt_cli.data.languages.text_files import side_of
from nmt_cli.data.text.apostrophes import (
    FEWEST,
    Apostrophes,
    are_different,
    are_mixed,
    joined_words_command,
    torn_words,
)
from nmt_cli.data.text.repair_commands import APOSTROPHE_REPAIRS, apostrophe_command
from nmt_cli.plurals import counted, enumerated

# Of source and target.
SIDES = (0, 1)
# So many of the words that begin with an apostrophe are named.
WORDS_NAMED = 3


def _torn_word_notes(head: Head) -> Iterator[str]:
    """Yield the warnings that spaces around apostrophes tear the words of a side apart."""
    for index, lines in enumerate(head.sides):
        torn = torn_words(lines)
        if torn is None:
            continue
        command = ""
        if len(head.text.paths) > 1:
            command = f": {joined_words_command(head.text.paths[index])}"
        yield (
            f"the first {counted(len(lines), 'line')} of the {side_of([head.text], index)} have "
            f"{torn.apostrophes:,} apostrophes with spaces around them between letters (first on "
            f"line {torn.line:,}: `{torn.example}`), as where a program has torn words apart; if "
            f"the language has no such spaces, join the words{command}"
        )


def apostrophe_notes(heads: Sequence[Head], is_normalized: bool) -> Iterator[str]:
    """Yield the warnings about torn words and about words with several kinds of apostrophes.

    A table has one warning for both columns, since a command changes them together. is_normalized:
    whether `'` is written in training text and in what is translated.
    """
    for head in heads:
        yield from _torn_word_notes(head)
    training = [head for head in heads if head.text.role == "training"]

    @cache
    def trained(indices: tuple[int, ...]) -> Apostrophes:
        found = _found(training, indices)
        return _with_straight_ones(found) if is_normalized else found

    for head in heads:
        # What is scored is never normalised.
        indices = SIDES if not is_normalized else SIDES[1:] if head.text.role != "training" else ()
        is_table = len(head.text.paths) == 1
        for group in [indices] if is_table and indices else [(index,) for index in indices]:
            yield from filter(None, [_apostrophe_note(head, group, trained(group))])


def _found(heads: Iterable[Head], indices: Iterable[int]) -> Apostrophes:
    """The apostrophes of these sides of the texts."""
    sides = [head.sides[index] for head in heads for index in indices]
    return Apostrophes.of([line for side in sides for line in side])


def _with_straight_ones(found: Apostrophes) -> Apostrophes:
    within, initial = (Counter({"'": counts.total()}) for counts in (found.within, found.initial))
    return found._replace(within=within, initial=initial)


class _PlaceCounts(NamedTuple):
    """How often a text, and the training text, have each apostrophe in one place of words."""

    name: str
    found: Counter[str]
    trained: Counter[str]


def _places(found: Apostrophes, trained: Apostrophes) -> list[_PlaceCounts]:
    words = [f"`{word}`" for word in found.words[:WORDS_NAMED]]
    words += ["other words"] if len(found.words) > WORDS_NAMED else []
    return [
        _PlaceCounts("between letters", found.within, trained.within),
        _PlaceCounts(f"before {enumerated(words or ['words'])}", found.initial, trained.initial),
    ]


def _apostrophe_note(head: Head, indices: Sequence[int], trained: Apostrophes) -> str:
    """The warning about one side, or both of a table, or ""; trained: those of training text."""
    found = _found([head], indices)
    places = _places(found, trained)
    mixed = [place for place in places if are_mixed(place.found)]
    if not mixed and are_different(found.within, found.initial):
        mixed = places
    other = [place for place in places if are_different(place.found, place.trained)]
    if not mixed and not other:
        return ""
    first = f"the first {counted(len(head.sides[0]), 'line')} of the "
    paths = head.text.paths
    usual = _usual_mark(trained.all if trained.all.total() >= FEWEST else found.all)
    if len(paths) > 1:
        first += side_of([head.text], indices[0])
        command = f": {apostrophe_command(paths[indices[0]], usual)}"
    else:
        first += f"{head.text.role} text `{paths[0]}`"
        command = f" (in both columns): {apostrophe_command(paths[0], usual)}"
    if mixed:
        kept = ""
        if head.text.role == "training":
            kept = (
                " (`nmt prepare --normalize` writes `'` in training text, and lets the model read "
                "the text to translate so)"
            )
        shown = ", and ".join(f"{place.name}: {_shown(place.found)}" for place in mixed)
        return (
            f"{first} have several apostrophes {shown}; the same "
            "word counts as several ones, so write all of them in one way, that of the text to "
            f"translate and to score{kept}{command}"
        )
    names = " and ".join(place.name for place in other)
    here = sum((place.found for place in other), Counter[str]())
    there = sum((place.trained for place in other), Counter[str]())
    return (
        f"{first} have other apostrophes {names} than most of the training text: "
        f"{_shown(here)}, there {_shown(there)}; the same word counts as another one, so write "
        f"all of them in one way{command}"
    )


def _usual_mark(counts: Counter[str]) -> str:
    """The most frequent apostrophe that there is a repair for."""
    return max(APOSTROPHE_REPAIRS, key=lambda mark: counts[mark])


def _shown(counts: Counter[str]) -> str:
    return ", ".join(
        f"{mark} (U+{ord(mark):04X}) {count:,} times" for mark, count in counts.most_common()
    )
