"""The prefixes of `nmt translate --prefix`: the words with which each translation begins."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.cli.commands.translation.work import Work
    from nmt_cli.data.markup.kept import Kept
    from nmt_cli.data.subwords.model import Subwords
    from nmt_cli.translation.lines.prefixes import Prefixes


@contextlib.contextmanager
def open_prefixes(path: Path | None, work: "Work") -> Iterator["Prefixes | None"]:
    """The prefixes in a file; raises DataError if the file has more lines than the text.

    At the end it warns of prefixes with a banned phrase, since a prefix is kept as it is given, and
    with letters that the model cannot write.
    """
    from nmt_cli.data.text.lines import read_lines
    from nmt_cli.translation.lines.prefixes import Prefixes

    if path is None:
        yield None
        return
    last, kept = work.translator.steps[-1], work.kept
    banned: list[int] = []
    unwritable: list[int] = []
    with read_lines(path) as lines:
        part_lines = work.part.lines(lines)
        if work.constraints.ban:
            has_banned = _banned_finder(work.constraints.ban, last.config.languages.tgt)
            part_lines = _noting(part_lines, has_banned, banned)
        part_lines = _noting(
            part_lines, lambda prefix: _is_unwritable(prefix, kept, last.subwords), unwritable
        )
        prefixes = Prefixes(part_lines, f"`{lines.name}`")
        yield prefixes
        prefixes.end()
    for indices, what, ending in (
        (banned, "a phrase of --ban", "prefixes are kept as they are"),
        (unwritable, "letters that the model cannot write", "these become `⁇`"),
    ):
        if indices:
            work.console.warning(
                f"`{path}`: {counted(len(indices), 'prefix')} "
                f"{agreeing(len(indices), 'contains', 'contain')} {what}, first in line "
                f"{work.part.index(indices[0]) + 1:,}; {ending}"
            )


def _noting(
    prefixes: Iterable[str], is_noted: Callable[[str], bool], indices: list[int]
) -> Iterator[str]:
    """The prefixes; the index of each that `is_noted` is added to `indices`."""
    for index, prefix in enumerate(prefixes):
        if is_noted(prefix):
            indices.append(index)
        yield prefix


def _is_unwritable(prefix: str, kept: "Kept", subwords: "Subwords") -> bool:
    """Whether a prefix has letters or signs that the subwords lack, but in tags and kept names."""
    from nmt_cli.data.markup.inline import parse_line
    from nmt_cli.data.markup.marked_text import Text

    pieces = parse_line(prefix, kept)
    text = "".join(piece.text for piece in pieces if isinstance(piece, Text))
    return any(subwords.unk_id in ids for ids in subwords.encode_target([text]))


def _banned_finder(banned: Sequence[str], language: str) -> Callable[[str], bool]:
    """Return a function that tells whether a text contains a banned phrase."""
    from nmt_cli.data.languages.word_characters import borders
    from nmt_cli.data.subwords.spelling import WITHOUT_SPACES

    phrases = "|".join(map(re.escape, banned))
    # A phrase begins and ends with a word, where words are written apart.
    edges = ("", "") if language in WITHOUT_SPACES else borders(r"[^\W_]")
    pattern = re.compile(f"{edges[0]}(?:{phrases}){edges[1]}")
    return lambda text: pattern.search(text) is not None


def require_as_many_prefixes(text: Path | str, prefixes: Path | None) -> None:
    """Raise DataError before any work if two files have different numbers of lines.

    Streams can be read only once; for them this is known when one of the two ends.
    """
    from nmt_cli.data.text.lines import read_lines
    from nmt_cli.errors import DataError
    from nmt_cli.translation.lines.prefixes import require_as_many

    if prefixes is None or not (Path(text).is_file() and prefixes.is_file()):
        return
    try:
        with read_lines(text) as lines, read_lines(prefixes) as starts:
            counts = sum(1 for _ in lines), sum(1 for _ in starts)
    except DataError:
        return  # A damaged file is reported when the damage is reached.
    require_as_many(*counts, f"`{prefixes}`")
