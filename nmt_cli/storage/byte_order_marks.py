"""Byte order marks of text that is not UTF-8."""

# Longer marks come first, because the mark of UTF-32 begins with that of UTF-16.
OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def other_encoding(head: bytes) -> str:
    """The encoding other than UTF-8 that the byte order mark at the start of `head` names, or "".

    >>> other_encoding("[data]".encode("utf-16")), other_encoding(b"[data]")
    ('UTF-16', '')
    """
    return next((name for mark, name in OTHER_BOMS.items() if head.startswith(mark)), "")
