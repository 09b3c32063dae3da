"""Changes that make a good input a bad one, by chance."""

import random
from collections.abc import Sequence

# What parsers have tripped over: ends, signs, sizes, brackets, encodings.
TOKENS = [
    b"", b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf",
    b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1b[31m",
    b"-1", b"0", b"1e999", b"nan", b"-inf", b"9" * 30, b"9" * 5_000, b"1.5", b"true", b"null",
    b"[", b"]", b"{", b"}", b"(", b")", b'"', b"'", b'"""', b"\\", b"\\u0000", b"\\ud800", b"=",
    b".", b",", b":", b"|", b"#", b"[" * 2_000, b"(" * 2_000, b"a." * 300, b"\xf0\x9f\x91\xa9",
    b"\xe2\x96\x81", b"</s>", b"..", b"/", b"%s", b"auto", b"\x80\x04", b"PK\x03\x04",
    b"\x1f\x8b", b"\x00" * 64, b"\xff" * 64, b"\x7f\xff\xff\xff", b"\xff" * 7 + b"\x7f",
]  # fmt: skip


def mutated(data: bytes, chance: random.Random, tokens: Sequence[bytes] = ()) -> bytes:
    """`data` with one to eight changes; tokens: words of the format at hand."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        _change(changed, chance, [*TOKENS, *tokens])
    return bytes(changed)


def _change(data: bytearray, chance: random.Random, tokens: Sequence[bytes]) -> None:
    position = chance.randrange(len(data) + 1)
    end = min(len(data), position + chance.choice((1, 1, 2, 4, 16, 200)))
    kind = chance.randrange(7)
    if kind == 0 and position < len(data):
        data[position] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[position:end] = chance.randbytes(end - position)
    elif kind == 2:
        data[position:position] = chance.choice(tokens)
    elif kind == 3:
        data[position:end] = chance.choice(tokens)
    elif kind == 4:
        del data[position : chance.choice((end, len(data)))]
    elif kind == 5:
        data[position:position] = bytes(data[position:end]) * chance.choice((1, 2, 50))
    else:
        other = chance.randrange(len(data) + 1)
        data[other:other] = data[position:end]


def random_text(chance: random.Random, tokens: Sequence[bytes] = ()) -> bytes:
    """Bytes by chance, tokens by chance, or both."""
    words = [*TOKENS, *tokens]
    parts = [
        chance.choice(words) if chance.random() < 0.6 else chance.randbytes(chance.randrange(20))
        for _ in range(chance.choice((0, 1, 3, 10, 60)))
    ]
    return chance.choice((b"", b" ", b"\n")).join(parts)
