"""Numbers of things in a sentence: `1 line`, `2,000 lines`."""


def counted(number: int, singular: str, plural: str = "") -> str:
    """`number` and what it counts, in the right form; `plural` is `singular` + s unless given.

    >>> counted(1, "line"), counted(2_000, "line"), counted(0, "entry", "entries")
    ('1 line', '2,000 lines', '0 entries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
