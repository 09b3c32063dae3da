"""Checks whether the first bytes of a file can be text."""

from pathlib import PurePath

# Bytes that text does not contain: C0 without tab, line ends, backspace, escape and Ctrl-Z.
_CONTROLS = bytes({*range(32)} - {*b"\t\n\x0b\x0c\r\x08\x1b\x1a"})
# A tenth of random bytes are such bytes. In a short text file a few of them prove nothing.
MAX_CONTROL_SHARE, MIN_BYTES = 0.05, 512
MAX_ZERO_SHARE, MIN_ZEROS = 0.25, 32
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


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be incomplete.
        return len(data) - error.start < 4
    return True
