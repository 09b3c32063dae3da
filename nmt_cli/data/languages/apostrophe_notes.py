"""Warnings about apostrophes within words: torn words, and several ways to write them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nmt_cli.data.languages.side_notes import Head
from nmt_cli.data.languages.text_files import side_of
from nmt_cli.data.text.apostrophes import (
    FEWEST,
    apostrophe_counts,
    are_mixed,
    joined_words_command,
    torn_words,
)
from nmt_cli.data.text.repair_commands import APOSTROPHE_REPAIRS, apostrophe_command
from nmt_cli.plurals import counted

# Of source and target.
SIDES = (0, 1)


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
    trained = [_counts(training, (index,)) for index in SIDES]
    if is_normalized:
        trained = [Counter({"'": found.total()}) for found in trained]
    for head in heads:
        # What is scored is never normalised.
        indices = SIDES if not is_normalized else SIDES[1:] if head.text.role != "training" else ()
        is_table = len(head.text.paths) == 1
        for group in [indices] if is_table and indices else [(index,) for index in indices]:
            usual = sum((trained[index] for index in group), Counter[str]())
            yield from filter(None, [_apostrophe_note(head, group, usual)])


def _counts(heads: Iterable[Head], indices: Iterable[int]) -> Counter[str]:
    """How often these sides of the texts have each apostrophe."""
    sides = [head.sides[index] for head in heads for index in indices]
    return sum(map(apostrophe_counts, sides), Counter())


def _apostrophe_note(head: Head, indices: Sequence[int], trained: Counter[str]) -> str:
    """The warning about one side, or both of a table, or ""; trained: those of training text."""
    found = _counts([head], indices)
    usual = _usual_mark(trained if trained.total() >= FEWEST else found)
    are_many = min(found.total(), trained.total()) >= FEWEST
    is_other = are_many and _most_frequent(found) != _most_frequent(trained)
    if not is_other and not are_mixed(found):
        return ""
    first = f"the first {counted(len(head.sides[0]), 'line')} of the "
    paths = head.text.paths
    if len(paths) > 1:
        first += side_of([head.text], indices[0])
        command = f": {apostrophe_command(paths[indices[0]], usual)}"
    else:
        first += f"{head.text.role} text `{paths[0]}`"
        command = f" (in both columns): {apostrophe_command(paths[0], usual)}"
    if are_mixed(found):
        kept = ""
        if head.text.role == "training":
            kept = (
                " (`nmt prepare --normalize` writes `'` in training text, and lets the model read "
                "the text to translate so)"
            )
        return (
            f"{first} have several apostrophes between letters: {_shown(found)}; the same "
            "word counts as several ones, so write all of them in one way, that of the text to "
            f"translate and to score{kept}{command}"
        )
    return (
        f"{first} have other apostrophes between letters than most of the training text: "
        f"{_shown(found)}, there {_shown(trained)}; the same word counts as another one, so write "
        f"all of them in one way{command}"
    )


def _most_frequent(counts: Counter[str]) -> str:
    ((mark, _),) = counts.most_common(1)
    return mark


def _usual_mark(counts: Counter[str]) -> str:
    """The most frequent apostrophe that there is a repair for."""
    return max(APOSTROPHE_REPAIRS, key=lambda mark: counts[mark])


def _shown(counts: Counter[str]) -> str:
    return ", ".join(
        f"{mark} (U+{ord(mark):04X}) {count:,} times" for mark, count in counts.most_common()
    )
