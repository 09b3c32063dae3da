"""Checks whether the first bytes of a file can be text."""

import codecs
from pathlib import PurePath
from unicodedata import category

# Bytes that text does not contain: C0 without tab, line ends, backspace, escape and Ctrl-Z.
_CONTROLS = bytes({*range(32)} - {*b"\t\n\x0b\x0c\r\x08\x1b\x1a"})
# A tenth of random bytes are such bytes. In a short text file a few of them prove nothing.
MAX_CONTROL_SHARE, MIN_BYTES = 0.05, 512
MAX_ZERO_SHARE, MIN_ZEROS = 0.25, 32
_CONTROL_LETTERS = frozenset(map(chr, _CONTROLS))
# At least so many of the high bytes of UTF-16 are zero, and hardly any of the low bytes.
MIN_HIGH_SHARE, MIN_HIGH_ZEROS, MAX_LOW_SHARE = 0.5, 8, 0.1
# Text in other scripts: so much is looked at, and has at least so many characters and letters.
CHECKED_BYTES, MIN_LETTERS, MIN_LETTER_SHARE = 1 << 13, 16, 0.5
# Read as UTF-8, such text has many broken and control characters; UTF-8 text has fewer.
MAX_BROKEN_SHARE = 0.125
_BREAKS = frozenset(" \n")
# What is between words, with characters that join letters or set the direction of writing.
_BLANKS = _BREAKS | frozenset("\t\r\u00a0\u00ad\u3000\u200b\u200c\u200d\u200e\u200f\u2060")
ZIP = b"PK\x03\x04"
COMPRESSED = {".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".bz2": "bzip2"}


def why_no_text(head: bytes, name: str) -> str:
    r"""Return why a file that begins with `head` is not text, or "" if it may be text.

    >>> why_no_text(bytes(range(256)) * 2, "a.gz"), why_no_text(b"Caf\xe9\n" * 200, "a.gz")
    ('it is neither gzip, as its name says, nor text', '')
    """
    if head.startswith(ZIP):
        return "it is a zip archive, as spreadsheets (.xlsx, .ods) and word processor documents are"
    controls = sum(head.count(byte) for byte in _CONTROLS)
    zeros = head.count(0)
    is_binary = len(head) >= MIN_BYTES and controls > MAX_CONTROL_SHARE * len(head)
    if is_binary and not _is_utf8(head):
        suffix_format = COMPRESSED.get(PurePath(name).suffix.lower())
        if suffix_format:
            return f"it is neither {suffix_format}, as its name says, nor text"
        return "it is not text"
    if zeros >= MIN_ZEROS and zeros > MAX_ZERO_SHARE * len(head):
        return "it has as many zero bytes as UTF-16 text or a binary file"
    return ""


def utf16_without_mark(head: bytes) -> str:
    r"""The form of UTF-16 in which a file that begins with `head` is without a mark, or "".

    Of text in Latin letters every second byte is zero, except for a few signs. Text in another
    script has zeros in its spaces and line ends, and nothing in it but letters and usual signs.

    >>> utf16_without_mark("Ein Größenwahn – ja".encode("utf-16-be"))
    'UTF-16BE'
    >>> utf16_without_mark("Ο σκύλος κοιμάται.".encode("utf-16-le"))
    'UTF-16LE'
    >>> utf16_without_mark(b"Yes\0No"), utf16_without_mark(bytes(64))
    ('', '')
    """
    if 0 not in head:
        return ""
    whole = head[: len(head) // 2 * 2]
    for name, high, low in (("UTF-16LE", whole[1::2], whole[::2]),
                            ("UTF-16BE", whole[::2], whole[1::2])):  # fmt: skip
        zeros = high.count(0)
        if zeros < max(MIN_HIGH_ZEROS, MIN_HIGH_SHARE * len(high)):
            continue
        # Of letters such as the Latvian U+0100 it is the low byte.
        if low.count(0) > MAX_LOW_SHARE * len(low):
            continue
        # The last character may be incomplete.
        text = whole.decode(name, errors="ignore")
        if not _CONTROL_LETTERS.intersection(text):
            return name
    if _is_mostly_utf8(head):
        return ""
    return next((name for name in ("UTF-16LE", "UTF-16BE") if _is_utf16(head, name)), "")


def _is_utf16(head: bytes, encoding: str) -> bool:
    """Whether the first bytes are words of any script in this form of UTF-16.

    In the other order of bytes, a space is U+2000 and a line end U+0A00, which no text has.
    """
    try:
        # The last character may be incomplete.
        text = codecs.getincrementaldecoder(encoding)().decode(head[:CHECKED_BYTES])
    except UnicodeDecodeError:
        return False
    letters = sum(category(letter)[0] in "LM" for letter in text)
    return (
        len(text) >= MIN_LETTERS
        and letters >= MIN_LETTER_SHARE * len(text)
        and not _BREAKS.isdisjoint(text)
        and all(category(letter)[0] in "LMNPS" or letter in _BLANKS for letter in text)
    )


def _is_mostly_utf8(head: bytes) -> bool:
    """Whether the first bytes are UTF-8 but for a few characters, such as a zero byte."""
    text = head[:CHECKED_BYTES].decode("utf-8", errors="replace")
    broken = sum(letter == "\ufffd" or letter in _CONTROL_LETTERS for letter in text)
    return broken <= MAX_BROKEN_SHARE * len(text)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be incomplete.
        return len(data) - error.start < 4
    return True
