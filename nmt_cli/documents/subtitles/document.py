"""Subtitles (.srt, .vtt, .ass): sentences are translated whole and cut into their cues again."""

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, plain_text, raw_text
from nmt_cli.data.markup.pairs import with_pairs_only
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.encoding import decode, encode
from nmt_cli.documents.labels import parts_of
from nmt_cli.documents.libraries import require_library
from nmt_cli.documents.list_marks import ITEM, first_mark, items_behind
from nmt_cli.documents.subtitles.cue_text import CUT, SPACE, CueFormat, cut, with_own_tags
from nmt_cli.documents.subtitles.cues import Cue, count_times, find_cues, line_of_odd_times
from nmt_cli.documents.subtitles.speakers import (
    cues_of_lists,
    has_usual_letters,
    label_spans,
    parts_at_labels,
)
from nmt_cli.documents.template import Template, trimmed
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

# Cues further apart than this, in seconds, are not of one sentence; nor are more than this many.
MAX_PAUSE, MAX_JOINED = 2.0, 5
# What kind of file it is stands in its first letters.
MAX_HEAD = 4_096
# Lines of subtitles are short; pysubs2 takes very long for very long ones.
LONGEST_LINE = 10_000
_FINAL = re.compile(r"[.!?…。！？؟:;♪\])\"»”]['’\"»”)]*$")
_OPEN_END = re.compile(r"(?:,|\.\.\.|…|[-–—])$")
# The dashes at the starts of lines, with the ends of the lines and the tags before these.
_DASHES = re.compile(r"((?:\A|\\N|[\r\n]+)[ \t]*(?:<[^<>/][^<>]*>|\{[^{}]*\})*[ \t]*[-–—‐]\s?)")
_SPEAKER_LINE = re.compile(r"\s*(?:<[^<>]*>|\{[^{}]*\})*\s*[-–—‐]\s?\S")
# A break before a line or the start of the cue, and the tags at the start of the line.
_LINE_START = re.compile(r"(\A|\\N|[\r\n]+)[ \t]*(?:<[^<>/][^<>]*>|\{[^{}]*\})*[ \t]*")


class SubtitleDocument:
    """Cues of a file; their number, order, indices and times are kept."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if there is no cue, UnavailableError without pysubs2."""
        require_library("pysubs2", "subtitles")
        self._name = options.name
        self._text, self._encoding = decode(data, options.name)
        self._kind = _kind_of(self._text)
        self._format = CueFormat(self._kind)
        if max(map(len, self._text.split("\n")), default=0) > LONGEST_LINE:
            raise DataError(
                f"`{options.name}`: a line has more than {LONGEST_LINE:,} characters",
                "divide it into several lines, or check whether these are subtitles",
            )
        try:
            cues = find_cues(self._text, self._kind)
        except ValueError as error:
            raise DataError(
                f"`{options.name}`, the times of a subtitle cannot be read: {error}",
                "times are written as 00:01:02,345 --> 00:01:04,000",
            ) from error
        self._times = self._event_times(self._text)
        if self._kind != ".ass" and count_times(self._text) != len(self._times):
            odd_line = line_of_odd_times(self._text)
            raise DataError(
                f"`{options.name}`: {count_times(self._text):,} lines of times, but pysubs2 finds "
                f"{counted(len(self._times), 'cue')}",
                f"line {odd_line:,} is not written as 00:01:02,345 --> 00:01:04,000"
                if odd_line
                else "a line of a text may not have two times in it",
            )
        if not self._times:
            raise DataError(
                f"`{options.name}` has no subtitles", "it must be an .srt, .vtt or .ass file"
            )
        self._has_labels = has_usual_letters([self._text[cue.begin : cue.end] for cue in cues])
        self._template = Template()
        end = 0
        for group in self._groups(cues):
            self._template.keep(self._text[end : group[0].begin])
            self._add_group(group)
            end = group[-1].end
        self._template.keep(self._text[end:])
        self.segments, self.places = self._template.segments, self._template.places

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The file with a translation for each segment; raises DataError if a cue got lost."""
        text = self._template.fill(translated)
        if self._event_times(text) != self._times:
            raise DataError(
                f"`{self._name}`: the cues would not have the same times after the translation",
                "check the file with another program, and save it again",
            )
        return encode(text, self._encoding, self._name)

    def _event_times(self, text: str) -> list[tuple[int, int]]:
        """The times of all cues, as pysubs2 reads them."""
        import pysubs2

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                subtitles = pysubs2.SSAFile.from_string(text.lstrip("\ufeff"), self._kind[1:])
        except (pysubs2.Pysubs2Error, ValueError, AssertionError, IndexError, KeyError) as error:
            raise DataError(
                f"`{self._name}`: these subtitles cannot be read: {error}",
                "check the file with a program for subtitles, and save it again",
            ) from error
        return [(event.start, event.end) for event in subtitles]

    def _groups(self, cues: Sequence[Cue]) -> Iterator[list[Cue]]:
        """Neighbouring cues, those of one sentence together."""
        group: list[Cue] = []
        items = cues_of_lists([[mark for _, mark in self._marks(cue)] for cue in cues])
        for index, cue in enumerate(cues):
            is_full = len(group) == MAX_JOINED or index in items
            if group and (is_full or not self._is_continued(group[-1], cue)):
                yield group
                group = []
            group.append(cue)
        if group:
            yield group

    def _is_continued(self, cue: Cue, following: Cue) -> bool:
        """Whether a sentence goes on in the following cue."""
        pause = following.start - cue.stop
        if cue.speaker != following.speaker or not -0.1 <= pause <= MAX_PAUSE:
            return False
        if any(self._has_speakers(one) or self._items(one) for one in (cue, following)):
            return False
        labels = self._labels(cue)
        if self._labels(following) or any(begin > 0 for begin, _ in labels):
            return False
        first, second = (plain_text(self._pieces(one)).strip() for one in (cue, following))
        if labels:
            rest = self._text[cue.begin + labels[0][1] : cue.end]
            first = plain_text(self._format.parse(rest)).strip()
        start = second.lstrip(".… ")[:1]
        if not first or not start or (ITEM.match(first) and ITEM.match(second)):
            return False
        if _OPEN_END.search(first):
            return start.islower()
        return not _FINAL.search(first) and (start.islower() or not start.isupper())

    def _labels(self, cue: Cue) -> list[tuple[int, int]]:
        return label_spans(self._text[cue.begin : cue.end]) if self._has_labels else []

    def _pieces(self, cue: Cue) -> list[MarkedPiece]:
        return self._format.parse(self._text[cue.begin : cue.end])

    def _has_speakers(self, cue: Cue) -> bool:
        """Whether the lines of a cue are said by different people: some begin with dashes."""
        raw = self._text[cue.begin : cue.end]
        lines = re.split(r"\\N|[\r\n]+", raw)
        return any(map(_SPEAKER_LINE.match, lines[1:]))

    def _items(self, cue: Cue) -> list[str]:
        """The items of a list and the breaks of lines before them; empty: the cue is no list.

        Each begins a line with its mark. Before the first one may stand the words that the list
        belongs to.
        """
        raw = self._text[cue.begin : cue.end]
        marks = [(span, mark) for span, mark in self._marks(cue) if mark]
        if not marks:
            return []
        (first_begin, _), _ = marks[0]
        if first_begin > 0:
            words = plain_text(self._format.parse(raw[:first_begin]))
            marks = [marks[index] for index in items_behind(words, [mark for _, mark in marks])]
        elif len(marks) < 2:
            return []
        if not marks:
            return []
        cuts = [0, *(position for span, _ in marks for position in span), len(raw)]
        return [raw[begin:end] for begin, end in pairwise(cuts)]

    def _marks(self, cue: Cue) -> list[tuple[tuple[int, int], str]]:
        """The break before each line of a cue, and the mark of an item that begins it, or ""."""
        raw = self._text[cue.begin : cue.end]
        starts = list(_LINE_START.finditer(raw))
        return [
            (start.span(1), self._mark(raw[start.end() :], line))
            for start, line in zip(starts, _with_next_lines(raw, starts), strict=True)
        ]

    def _mark(self, words: str, line: str) -> str:
        """The mark of an item at the beginning of a line; words: the line without its tags."""
        found = ITEM.match(words)
        return found[0].strip() if found else first_mark(with_pairs_only(self._format.parse(line)))

    def _add_group(self, group: Sequence[Cue]) -> None:
        place = f"cue {group[0].number}"
        if len(group) > 1:
            raws = [self._text[cue.begin : cue.end] for cue in group]
            gaps = [self._text[cue.end : following.begin] for cue, following in pairwise(group)]
            if labels := self._labels(group[0]):
                end = labels[0][1]
                self._template.keep(raws[0][:end])
                raws[0] = raws[0][end:]
            self._add_joined(raws, gaps, place)
            return
        raw = self._text[group[0].begin : group[0].end]
        if self._has_speakers(group[0]) or _SPEAKER_LINE.match(raw):
            parts = _DASHES.split(raw)
        else:
            parts = self._items(group[0]) or [raw]
        for part in parts:
            self._add(part, place)

    def _add(self, raw: str, place: str) -> None:
        """Add a cue, or what one person says in it, or an item of a list, as a segment.

        Labels of speakers are kept.
        """
        for text, is_kept in parts_at_labels(raw) if self._has_labels else [(raw, False)]:
            if is_kept:
                self._template.keep(text)
            else:
                self._add_words(text, place)

    def _add_words(self, raw: str, place: str) -> None:
        for part in parts_of(with_pairs_only(self._format.parse(raw))):
            # The breaks of lines before and after the words are kept, not made again.
            words = raw_text(trimmed(part)[1])
            self._template.add(part, place, partial(self._format.write, raw=words))

    def _add_joined(self, raws: Sequence[str], gaps: Sequence[str], place: str) -> None:
        """Add the cues of one sentence as one segment."""
        parsed = [trimmed(self._format.parse(raw)) for raw in raws]
        inners = [inner for _, inner, _ in parsed]
        lengths = [len(plain_text(pieces)) for pieces in inners]
        shares = [length / max(1, sum(lengths)) for length in lengths]
        pieces: list[MarkedPiece] = []
        for index, inner in enumerate(inners):
            pieces += [*((SPACE, CUT) if index else ()), *inner]

        def write(translation: MarkedText) -> str:
            parts = with_own_tags(cut(translation, shares))
            texts = [
                raw_text(before) + self._format.write(part, raw_text(inner)) + raw_text(after)
                for (before, inner, after), part in zip(parsed, parts, strict=True)
            ]
            return _interleaved(texts, gaps)

        slot = self._template.slot(with_pairs_only(pieces), place, write)
        self._template.parts.append(replace(slot, raw=_interleaved(raws, gaps)))


def _with_next_lines(raw: str, starts: Sequence[re.Match[str]]) -> list[str]:
    """Each line of a cue with the next one, in which its words may be."""
    ends = [*(start.start() for start in starts[2:]), len(raw), len(raw)]
    return [raw[start.end(1) : end] for start, end in zip(starts, ends, strict=False)]


def _interleaved(texts: Sequence[str], gaps: Sequence[str]) -> str:
    return "".join(text + gap for text, gap in zip(texts, [*gaps, ""], strict=True))


def _kind_of(text: str) -> str:
    """The kind of subtitles by their content: `.srt`, `.vtt` or `.ass`."""
    start = text[:MAX_HEAD].lstrip("\ufeff").lstrip()
    if start.startswith("WEBVTT"):
        return ".vtt"
    return ".ass" if "[script info]" in start.lower() or start.startswith("[") else ".srt"
