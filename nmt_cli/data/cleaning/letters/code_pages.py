"""Repairs UTF-8 that was read in an encoding of one byte a letter, such as Windows-1251.

Latin-1 and Windows-1252, whose letters are also those of correct text in many languages, have rules
of their own in `mojibake.py`.
"""

import re
from collections.abc import Collection

from nmt_cli.data.cleaning.letters.mojibake import CLOSING, WINDOWS_BYTE_OF

# These may follow a letter at the end of a word, or a single letter in quotation marks: »ß«.
_CLOSING = f"{CLOSING}«№،؛؟"
# Characters that correct text lacks, and misread text has only where it was misread twice.
_CONTROL = re.compile("[\x80-\x9f]")
_SPACED = re.compile("[^ \t]+")
_LATIN_1 = "".join(map(chr, range(0xC0, 0x100)))
_LOST_BYTE = "?\ufffd"


def _class_of(characters: Collection[str]) -> str:
    return f"[{re.escape(''.join(sorted(characters)))}]"


class _CodePage:
    """An encoding of one byte a letter, and what UTF-8 looks like that was read in it."""

    def __init__(self, encoding: str, others: str | None = None) -> None:
        """encoding: the name of Python's codec. Bytes that it lacks are control characters.

        others: the letters beyond its own that are expected in repaired text; None: any.
        """
        self._byte_of = {}
        lacking = []
        for byte in range(0x80, 0x100):
            character = bytes([byte]).decode(encoding, "replace")
            if character == "\ufffd":
                lacking.append(byte)
                character = chr(byte)
            self._byte_of[character] = byte
        self.leads = self._between(0xC2, 0xF5)
        self._pair_leads = self._between(0xC2, 0xE0)
        self.follows = self._between(0x80, 0xC0)
        pairs, triples, fours = (
            _class_of(self._between(*bounds))
            for bounds in ((0xC2, 0xE0), (0xE0, 0xF0), (0xF0, 0xF5))
        )
        follows = _class_of(self.follows)
        last = follows
        if len(lacking) == 1:
            # Other programs write these for this byte, and they can stand for no other.
            self._byte_of |= dict.fromkeys(_LOST_BYTE, lacking[0])
            last = _class_of({*self.follows, *_LOST_BYTE})
        # A character of UTF-8: its bytes as characters.
        self._expected = None if others is None else {*self._byte_of, *others}
        self._sequence = re.compile(
            f"{pairs}{last}|{triples}{follows}{last}|{fours}{follows}{{2}}{last}"
        )

    def _between(self, first: int, end: int) -> set[str]:
        return {character for character, byte in self._byte_of.items() if first <= byte < end}

    def repaired(self, text: str) -> str:
        """The repaired text; see `undo_code_pages`."""
        odd = self._count_odd(text)
        if not odd or self._is_cut(text):
            return text
        if not self._letters_beside(text):
            repaired = self._decoded(text)
        elif odd > 1:
            repaired = _SPACED.sub(lambda word: self._decoded_word(word[0]), text)
        else:
            return text
        return repaired if self._is_expected(repaired) else text

    def _is_expected(self, text: str) -> bool:
        """Whether all letters beyond ASCII are those that such text has, in a Latin encoding."""
        letters = {letter for letter in text if letter.isalpha() and not letter.isascii()}
        return self._expected is None or letters <= self._expected

    def has_cut_letters(self, text: str) -> bool:
        """Whether the text is such UTF-8, some of whose letters have lost bytes."""
        return self._count_odd(text) > 1 and self._is_cut(text)

    def _is_cut(self, text: str) -> bool:
        """Whether bytes that begin a character are all that is left of some."""
        letters = self._letters_beside(text)
        if not letters or not self._pair_leads.issuperset(letters):
            return False
        # More of them are those of other words.
        return len(letters) <= sum(map(self._is_utf8, self._sequence.findall(text)))

    def _letters_beside(self, text: str) -> str:
        """The letters beyond ASCII that are no bytes of a character of UTF-8."""
        rest = self._sequence.sub(lambda match: "" if self._is_utf8(match[0]) else match[0], text)
        return "".join(letter for letter in rest if letter.isalpha() and not letter.isascii())

    def _decoded_word(self, word: str) -> str:
        """The repaired word of a line that has other text, too."""
        is_right = not self._count_odd(word) or self._letters_beside(word)
        return word if is_right else self._decoded(word)

    def _decoded(self, text: str) -> str:
        return self._sequence.sub(lambda match: self._as_utf8(match[0]) or match[0], text)

    def _is_utf8(self, characters: str) -> bool:
        return self._as_utf8(characters) is not None

    def _as_utf8(self, characters: str) -> str | None:
        try:
            return bytes(map(self._byte_of.__getitem__, characters)).decode("utf-8")
        except UnicodeDecodeError:
            return None

    def _count_odd(self, text: str) -> int:
        """How many characters of UTF-8 the text has that correct text would not have."""
        return sum(
            _is_odd(match, text) and self._is_letter(match[0]) and not self._is_windows(match[0])
            for match in self._sequence.finditer(text)
        )

    def _is_letter(self, characters: str) -> bool:
        """Whether they are UTF-8, and not a control character (`Ā’` of Samoan `VAEGĀ’AU`)."""
        decoded = self._as_utf8(characters)
        return decoded is not None and _CONTROL.match(decoded) is None

    def _is_windows(self, characters: str) -> bool:
        """Whether Windows-1252 has the same bytes for them."""
        return all(WINDOWS_BYTE_OF.get(each) == self._byte_of[each] for each in characters)


def _is_odd(match: re.Match[str], text: str) -> bool:
    """Whether the characters of a match are letters or signs that no correct word has in a row."""
    characters = match[0]
    if characters[-1] in _LOST_BYTE:
        return False
    if characters[0].isupper() and text[: match.start()][-1:].islower():
        return True
    following = characters[1:] + text[match.end() : match.end() + 1]
    for index, character in enumerate(characters[1:]):
        if character.isalpha():
            if character.isupper() and characters[index].islower():
                return True
        elif character not in _CLOSING or following[index + 1 : index + 2].isalpha():
            return True
    return False


# Two encodings of Latin letters are told apart by the letters that their languages have.
_CODE_PAGES = (
    _CodePage("cp1251"),
    _CodePage("koi8-r"),
    _CodePage("cp1250", f"{_LATIN_1}ȘșȚțŒœŸ"),
    _CodePage("cp1253"),
    _CodePage("cp1254"),
    _CodePage("cp1255"),
    _CodePage("cp1256"),
    _CodePage("cp1257", _LATIN_1),
)
CODE_PAGE_SIGN = re.compile(
    _class_of(set().union(*(page.leads for page in _CODE_PAGES)))
    + _class_of(set().union(*(page.follows for page in _CODE_PAGES)))
)


def undo_code_pages(text: str) -> str:
    """Repair UTF-8 that was read as Windows-1251, KOI8-R, or another of Windows' code pages.

    Where all letters beyond ASCII are such UTF-8, all of the text is repaired, otherwise single
    words are, if at least two characters cannot be correct text. A text some of whose letters have
    lost bytes is not repaired, as in `undo_mojibake`.

    >>> undo_code_pages("РџС– Р±Т±Р», 5 В°C"), undo_code_pages("п╢п╟")
    ('Пі бұл, 5 °C', 'да')
    >>> undo_code_pages("Р?РіСЂР°, Р\\ufffdРІР°РЅ"), undo_code_pages("нет РїСЂР°РІРґС‹")
    ('Игра, Иван', 'нет правды')
    >>> undo_code_pages("«СССР», НІ!"), undo_code_pages("РџСЂР°РІРґР° Рё Р СѓСЃСЊ")
    ('«СССР», НІ!', 'РџСЂР°РІРґР° Рё Р СѓСЃСЊ')
    """
    for _ in range(2):
        repaired = text
        for page in _CODE_PAGES:
            if not CODE_PAGE_SIGN.search(repaired):
                break
            repaired = page.repaired(repaired)
        if repaired == text:
            break
        text = repaired
    return text


def has_cut_code_page_letters(text: str) -> bool:
    """Whether some letters of UTF-8 that `undo_code_pages` would repair have lost bytes.

    >>> has_cut_code_page_letters("РџСЂР°РІРґР° Рё Р СѓСЃСЊ"), has_cut_code_page_letters("«СССР»")
    (True, False)
    """
    return any(page.has_cut_letters(text) for page in _CODE_PAGES)
