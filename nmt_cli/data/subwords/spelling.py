"""The spellings of subwords as bytes, and where words begin and end in them."""

from collections.abc import Sequence

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.subwords.byte_pieces import byte_of
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import SPACE
from nmt_cli.data.text.letters import has_letters

# Languages written without spaces between words.
WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my"})


def target_spellings(subwords: Subwords) -> list[bytes]:
    """Return UTF-8 of each target id, with a space where a word begins; b"" for special ids."""
    return _spellings(subwords.target_pieces(range(subwords.tgt_size)), subwords)


def source_spellings(subwords: Subwords) -> list[bytes]:
    """Return the same as `target_spellings` for the source ids."""
    return _spellings(subwords.source_pieces(range(subwords.src_size)), subwords)


def unwritable_hint(text: str, subwords: Subwords) -> str:
    """Return which letters of a target text the subwords lack, and what helps."""
    letters = list(dict.fromkeys(text.replace(" ", "")))
    encoded = subwords.encode_target(letters)
    missing = [
        letter for letter, ids in zip(letters, encoded, strict=True) if subwords.unk_id in ids
    ]
    listed = ", ".join(f"`{letter}`" for letter in missing)
    lack = f"its subwords lack {listed}" if listed else "its subwords cannot spell it"
    return (
        f"{lack}: remove the term or spell it in another way; a model that is prepared and trained "
        "with --set data.byte_fallback=true can write every letter"
    )


def knows_letters(subwords: Subwords) -> bool:
    """Return whether a source subword has a letter; a model of digits and signs has none."""
    if subwords.kind == "bytes":
        return True
    others = {*subwords.special, *subwords.tags.values()}
    pieces = subwords.source_pieces(range(subwords.src_size))
    return any(
        has_letters(piece) and byte_of(piece) is None
        for token_id, piece in enumerate(pieces)
        if token_id not in others
    )


def _spellings(pieces: Sequence[str], subwords: Subwords) -> list[bytes]:
    special = set(subwords.special)
    return [b"" if i in special else _spelling(piece) for i, piece in enumerate(pieces)]


def _spelling(piece: str) -> bytes:
    byte = byte_of(piece)
    if byte is not None:
        return bytes([byte])
    return piece.replace(SPACE, " ").encode("utf-8", errors="replace")


def begins_inside(spelling: bytes) -> bool:
    """Return whether a spelling continues the word before it, if there is one.

    >>> [begins_inside(spelling) for spelling in (b"ing", b" the", b",", "ß".encode()[1:])]
    [True, False, False, True]
    """
    try:
        return is_word_character(spelling.decode("utf-8")[:1])
    except UnicodeDecodeError:
        return True


def ends_inside(spelling: bytes) -> bool:
    """Return whether a word may continue after a spelling."""
    try:
        return is_word_character(spelling.decode("utf-8")[-1:])
    except UnicodeDecodeError:
        return True


def word_numbers(ids: Sequence[int], spellings: Sequence[bytes], unk_id: int) -> list[int]:
    """Return the index of the word to which each id belongs; -1 for ids without a character.

    >>> word_numbers([0, 1, 2, 3], [b" a", b"b", b" ", b" c"], 9)
    [0, 0, -1, 1]
    """
    indices, latest, inside = [], -1, False
    for token in ids:
        index = -1
        for byte in b"?" if token == unk_id else spellings[token]:
            latest += byte != ord(" ") and not inside
            inside = byte != ord(" ")
            index = latest if inside and index < 0 else index
        indices.append(index)
    return indices
