"""Lines of random words, and what is left of them in hypotheses that are more or less right."""

import random

_LETTERS = random.Random(5)
WORDS = ["".join(_LETTERS.choices("aeioubdgklmnrst", k=6)) for _ in range(400)]
LINES = [" ".join(_LETTERS.choices(WORDS, k=8)) for _ in range(300)]


def noisy(share: float) -> list[str]:
    """The lines with only this share of their words, and others in place of the rest."""
    choice = random.Random(9)
    return [
        " ".join(word if choice.random() < share else choice.choice(WORDS) for word in line.split())
        for line in LINES
    ]
