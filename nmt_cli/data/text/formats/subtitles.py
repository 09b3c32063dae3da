"""Recognises subtitles (SubRip, WebVTT), and reads the text of their cues."""

import re
from collections.abc import Iterator, Sequence

from nmt_cli.data.text.formats.conversion import (
    Columns,
    Conversion,
    Row,
    SourceFile,
    convert_command,
)
from nmt_cli.data.text.shell_commands import name_beside, without_compression
from nmt_cli.errors import DataError

_TIME = re.compile(r"\s*(?:\d+:)?\d\d:\d\d[.,]\d{3} +--> +(?:\d+:)?\d\d:\d\d[.,]\d{3}")


def is_subtitle_time(line: str) -> bool:
    """Whether a line is the time of a subtitle, in SubRip or WebVTT.

    >>> is_subtitle_time("00:00:01,000 --> 00:00:03,500"), is_subtitle_time("a --> b")
    (True, False)
    """
    return _TIME.match(line) is not None


def subtitles_error(names: Sequence[str]) -> DataError:
    """The error for subtitles in place of sentences; names: of the files of both sides."""
    return DataError(
        f"`{names[0]}` looks like subtitles; nmt learns from lines, of which line n of one file is "
        "the translation of line n of the other",
        "write the text of each cue to a line; only if both files have the same cues, and so as "
        f"many lines, do they belong together: {'; '.join(map(_command, names))}",
    )


def _command(name: str) -> str:
    """The command that writes each cue of a file to a line.

    >>> _command("film.en.srt")
    'nmt convert film.en.srt -o film.cues.en'
    """
    plain = without_compression(name)
    stem = plain.removesuffix(".srt").removesuffix(".vtt")
    return convert_command(name, name_beside(stem, "cues"))


def _cue_rows(source: SourceFile, _: Columns) -> Iterator[Row]:
    """Yield the text of each cue: the lines behind its time, up to an empty one."""
    cue: list[str] | None = None
    with source.text() as text:
        for line in text:
            if not line.strip():
                if cue is not None:
                    yield ["\n".join(cue)]
                cue = None
            elif cue is not None:
                cue.append(line)
            elif is_subtitle_time(line):
                cue = []
    if cue is not None:
        yield ["\n".join(cue)]


SUBTITLES = Conversion("subtitles", _cue_rows, suffix=".txt")
