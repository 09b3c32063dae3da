"""Ways to damage a file as a bad copy or a hostile author does, most of all its header."""

import random
import re
import struct

HEADER = 2_000
HUGE = (2**31 - 1, 2**32 - 2, 2**62, 10**18, 30_000_000)
NUMBER = re.compile(rb"\d+")
# What structures of text and of binary files begin and end with.
BYTES = b'\0\xff\x80{}[]":,-19ae. \x93('


def truncated(content: bytes, chooser: random.Random) -> bytes:
    """A part from the beginning, more often a short one."""
    return content[: int(len(content) * chooser.random() ** 3)]


def oversized(content: bytes, chooser: random.Random) -> bytes:
    """A number in the header, in digits or in bytes, becomes a huge one."""
    places = [found.span() for found in NUMBER.finditer(content[:HEADER])]
    if places and chooser.random() < 0.7:
        start, end = chooser.choice(places)
        return content[:start] + str(chooser.choice(HUGE)).encode() + content[end:]
    form = chooser.choice(("<I", "<Q", ">I", ">Q"))
    number = chooser.choice(HUGE) % (1 << 8 * struct.calcsize(form))
    place = _place(content, chooser)
    return content[:place] + struct.pack(form, number) + content[place + struct.calcsize(form) :]


def noisy(content: bytes, chooser: random.Random) -> bytes:
    """Some bytes of the header are others."""
    damaged = bytearray(content)
    for _ in range(chooser.randint(1, 6)):
        if damaged:
            damaged[min(_place(content, chooser), len(damaged) - 1)] = chooser.choice(BYTES)
    return bytes(damaged)


def _place(content: bytes, chooser: random.Random) -> int:
    """A place in the header, or at the end, where zip files have their directory."""
    size = min(len(content), HEADER)
    place = chooser.randrange(size) if size else 0
    return place if chooser.random() < 0.7 else max(len(content) - 1 - place, 0)


DAMAGES = {"truncated": truncated, "oversized": oversized, "noisy": noisy}
