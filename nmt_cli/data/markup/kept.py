"""What is kept like a placeholder because the user asks for it: numbers and names."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nmt_cli.data.languages.word_characters import goes_on
from nmt_cli.data.markup.html_tags import Mark, resolved, unescaped
from nmt_cli.data.markup.marked_text import Placeholder
from nmt_cli.data.text.composed import composed
from nmt_cli.data.text.letters import is_combining
from nmt_cli.data.text.sanitize import clean_source

# What a name may begin with: letters and digits side by side, or any other character.
_STARTS = re.compile(r"[^\W_]+|\S")
_CHARACTERS = re.compile(r"\S")
_SPACE = re.compile(r"\s")
_DIGIT = re.compile(r"\d")
# Typographic apostrophes, which programs put in the place of the plain one.
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc]")


class KeptNames:
    """Names that are found by their first letters, however many there are."""

    def __init__(self, names: Iterable[str] = (), *, spaced: bool = True) -> None:
        """Index the names; spaced: whether they are whole words only, as in most languages."""
        self._spaced = spaced
        self._starts = _STARTS if spaced else _CHARACTERS
        # Lines are cleaned before they are searched.
        forms = (form for name in names for form in (name, clean_source(name)))
        self._names = frozenset(filter(None, (compared(form).strip() for form in forms)))
        lengths: dict[str, set[int]] = defaultdict(set)
        for name in self._names:
            lengths[self._first(name)].add(len(name))
        # First letters -> the lengths of the names that begin so, the longest first.
        self._lengths = {first: sorted(of, reverse=True) for first, of in lengths.items()}

    def __bool__(self) -> bool:
        """Whether there is any name."""
        return bool(self._names)

    def __contains__(self, name: str) -> bool:
        return compared(name) in self._names

    def find(self, line: str) -> Iterator[Mark]:
        """Each name in a line; of those that begin at the same place the longest.

        >>> [mark.piece.raw for mark in KeptNames(["C++", "C"]).find("C++ and C, not Cs")]
        ['C++', 'C']
        """
        if not self._names:
            return
        plain, places = resolved(line)
        form = composed(_comparable(plain))
        text = form.text
        end = 0
        for start in self._starts.finditer(text):
            begin = start.start()
            if begin < end:
                continue
            for length in self._lengths.get(start[0], ()):
                name = text[begin : begin + length]
                after = begin + len(name)
                if (
                    name in self._names
                    and form.is_whole(begin, after)
                    and self._is_whole(text, begin, after)
                ):
                    end = after
                    span = places[form.places[begin]], places[form.places[end]]
                    yield Mark(*span, Placeholder(line[slice(*span)]))
                    break

    def _first(self, name: str) -> str:
        match = self._starts.match(name)
        assert match is not None
        return match[0]

    def _is_whole(self, line: str, begin: int, end: int) -> bool:
        """Whether neither a word nor a number goes on beside these characters."""
        if not self._spaced:
            return True
        return not (
            goes_on(line, begin)
            or goes_on(line, end)
            # Scripts without spaces between words, of which `goes_on` knows no marks.
            or (line[end - 1].isalnum() and is_combining(line[end : end + 1]))
            or (line[begin].isalnum() and is_combining(line[begin - 1 : begin]))
            or _number_goes_on(line[begin], line[max(0, begin - 2) : begin][::-1])
            or _number_goes_on(line[end - 1], line[end : end + 2])
        )


def compared(name: str) -> str:
    """A name as it is compared: NFC without entities, with plain spaces and apostrophes.

    >>> compared("O\u2019Hara&nbsp;&amp; Sons")
    "O'Hara & Sons"
    """
    return composed(_comparable(unescaped(name))).text


def _comparable(text: str) -> str:
    # A name may be broken over two lines of a document.
    return _APOSTROPHE.sub("'", _SPACE.sub(" ", text))


def _number_goes_on(edge: str, beside: str) -> bool:
    """Whether the number at the edge of a name goes on: 2.4 in `2.4.1`.

    beside: the two characters next to the edge, the nearest one first.
    """
    return edge.isdigit() and beside[:1] in (".", ",") and beside[1:].isdigit()


NO_NAMES = KeptNames()


@dataclass(frozen=True)
class Kept:
    """What is kept besides tags, addresses, and what programs fill in.

    numbers: in digits, and part numbers with letters; typed: what users of programs write as it
    is, such as `--verbose`, and domains that are the text of a link.
    """

    numbers: bool = False
    names: KeptNames = NO_NAMES
    typed: bool = True

    def may_be_in(self, line: str) -> bool:
        """Whether a line may have a number or name that is kept."""
        return bool(self.names) or (self.numbers and bool(_DIGIT.search(line)))


# What is kept where nobody asks for more, and what a reader of any line sees as marks.
USUAL, MARKS_ONLY = Kept(), Kept(typed=False)
