"""Whether the first bytes of a file can be text at all."""

from pathlib import PurePath

# Bytes that no text has: C0 without tab, the ends of lines, backspace, escape and Ctrl-Z.
_CONTROLS = bytes({*range(32)} - {*b"\t\n\x0b\x0c\r\x08\x1b\x1a"})
# Random bytes have a tenth of them; a short file of text may have as many strays.
MOST_CONTROLS, ENOUGH_BYTES = 0.05, 512
MOST_ZEROS, ENOUGH_ZEROS = 0.25, 32
COMPRESSED = {".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".bz2": "bzip2"}


def why_no_text(head: bytes, name: str) -> str:
    r"""What is wrong with a file that begins with `head`, or "" where that may be text.

    >>> why_no_text(bytes(range(256)) * 2, "a.gz"), why_no_text(b"Caf\xe9\n" * 200, "a.gz")
    ('it is neither gzip, as its name says, nor text', '')
    """
    controls = sum(head.count(one) for one in _CONTROLS)
    zeros = head.count(0)
    is_binary = len(head) >= ENOUGH_BYTES and controls > MOST_CONTROLS * len(head)
    if is_binary and not _is_utf8(head):
        kind = COMPRESSED.get(PurePath(name).suffix.lower())
        return f"it is neither {kind}, as its name says, nor text" if kind else "it is not text"
    if zeros >= ENOUGH_ZEROS and zeros > MOST_ZEROS * len(head):
        return "it has as many zero bytes as UTF-16 has, or a file that is not text"
    return ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut off.
        return len(data) - error.start < 4
    return True
