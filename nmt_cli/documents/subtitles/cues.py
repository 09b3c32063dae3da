"""The cues of .srt, .vtt and .ass files: where their texts stand, and when they are shown."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nmt_cli.documents.text import lines_of

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,:](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-{{1,3}}>\s*{_TIME}(?:\s.*)?")
_USUAL_TIME = r"(?:\d+:)?\d\d:\d\d[,.]\d{3}"
_USUAL_TIMES = re.compile(rf"\s*{_USUAL_TIME}\s+-->\s+{_USUAL_TIME}(?!\S)")
_ASS_TIME = re.compile(r"\s*(\d+):(\d{1,2}):(\d{1,2})[.:](\d{1,3})\s*")
# Drawings of .ass files are coordinates, not words.
_DRAWING = re.compile(r"\\p[1-9]")
# The columns of .ass files that have none of their own.
_ASS_COLUMNS = (
    *("Layer", "Start", "End", "Style", "Name"),
    *("MarginL", "MarginR", "MarginV", "Effect", "Text"),
)


class Cue(NamedTuple):
    """The text of a cue, or a part of it between empty lines.

    number: of the cue in the file, from 1. begin, end: where the text stands; start, stop: its
    time in seconds. speaker: its style and name, in .ass files; cues of different speakers are
    never joined.
    """

    number: int
    begin: int
    end: int
    start: float
    stop: float
    speaker: str = ""


def count_times(text: str) -> int:
    """How many lines of times an .srt or .vtt file has."""
    return sum(1 for line, _ in lines_of(text) if _TIMES.fullmatch(line))


def line_of_odd_times(text: str) -> int:
    """The first line of times, from 1, that is not written as usual; 0 if all are."""
    return next(
        (
            number
            for number, (line, _) in enumerate(lines_of(text), 1)
            if _TIMES.fullmatch(line) and not _USUAL_TIMES.match(line)
        ),
        0,
    )


def find_cues(text: str, kind: str) -> list[Cue]:
    """The cues of a file, in its order; those without text are left out.

    kind: `.srt`, `.vtt` or `.ass`. Raises ValueError for an arrow in a line that has no times.
    """
    cues = _ass_cues(text) if kind == ".ass" else _timed_cues(text, ends_at_blank=kind == ".vtt")
    return [cue for cue in cues if text[cue.begin : cue.end].strip()]


def _timed_cues(text: str, *, ends_at_blank: bool) -> Iterator[Cue]:
    """The cues of .srt and .vtt files.

    ends_at_blank: an empty line ends a cue; otherwise its text goes on to the next line of times.
    """
    position = number = 0
    times: re.Match[str] | None = None
    # The lines of a paragraph: where each begins and ends.
    lines: list[tuple[int, int]] = []
    for line, ending in [*lines_of(text), ("", "")]:
        match = _TIMES.fullmatch(line)
        if match and lines and text[slice(*lines[-1])].strip().isdecimal():
            # The index of the next cue.
            lines.pop()
        if (match or not line.strip()) and times and lines:
            yield Cue(number, lines[0][0], lines[-1][1], *_times_of(times))
        if match or not line.strip():
            lines = []
            times = match or (None if ends_at_blank else times)
            number += bool(match)
        elif "-->" in line:
            raise ValueError(f"line {text.count(chr(10), 0, position) + 1}: {line.strip()[:80]}")
        elif times:
            lines.append((position, position + len(line)))
        position += len(line) + len(ending)


def _times_of(match: re.Match[str]) -> tuple[float, float]:
    groups = match.groups()
    return _seconds(*groups[:4]), _seconds(*groups[4:])


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + float(f"0.{fraction}")


def _ass_cues(text: str) -> Iterator[Cue]:
    """The cues of .ass and .ssa files: the last field of the lines `Dialogue:`."""
    position = number = 0
    columns, is_events = list(_ASS_COLUMNS), False
    for line, ending in lines_of(text):
        key, colon, rest = line.partition(":")
        if line.startswith("["):
            is_events = line.strip().lower() == "[events]"
        elif is_events and colon and key.strip() == "Format":
            columns = [name.strip() for name in rest.split(",")]
        elif is_events and colon and key.strip() == "Dialogue":
            fields = rest.split(",", len(columns) - 1)
            number += 1
            if len(fields) == len(columns) and not _DRAWING.search(fields[-1]):
                named = dict(zip(columns, fields, strict=True))
                start, stop = (
                    _ASS_TIME.fullmatch(named.get(name, "")) for name in ("Start", "End")
                )
                end = position + len(line)
                yield Cue(
                    number, end - len(fields[-1]), end,
                    _seconds(*start.groups()) if start else 0.0,
                    _seconds(*stop.groups()) if stop else 0.0,
                    f"{named.get('Style')},{named.get('Name')}",
                )  # fmt: skip
        position += len(line) + len(ending)
