"""Checks whether the first bytes of a file can be text."""

from pathlib import PurePath

# Bytes that text does not contain: C0 without tab, line ends, backspace, escape and Ctrl-Z.
_CONTROLS = bytes({*range(32)} - {*b"\t\n\x0b\x0c\r\x08\x1b\x1a"})
# A tenth of random bytes are such bytes. In a short text file a few of them prove nothing.
MAX_CONTROL_SHARE, MIN_BYTES = 0.05, 512
MAX_ZERO_SHARE, MIN_ZEROS = 0.25, 32
_CONTROL_LETTERS = frozenset(map(chr, _CONTROLS))
# At least so many of the high bytes of UTF-16 are zero, and hardly any of the low bytes.
MIN_HIGH_SHARE, MIN_HIGH_ZEROS, MAX_LOW_SHARE = 0.5, 8, 0.1
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

    Of text in Latin letters every second byte is zero, except for a few signs.

    >>> utf16_without_mark("Ein Größenwahn – ja".encode("utf-16-be"))
    'UTF-16BE'
    >>> utf16_without_mark(b"Yes\0No"), utf16_without_mark(bytes(64))
    ('', '')
    """
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
    return ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be incomplete.
        return len(data) - error.start < 4
    return True
