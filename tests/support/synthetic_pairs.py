"""Sentence pairs in two made-up languages."""

import random


def two_languages(count: int, seed: int) -> list[tuple[str, str]]:
    """Return sentences of made-up words with their translations word by word."""
    generator = random.Random(seed)
    letters = (("kmnrty", "aou"), ("bdfgls", "eiü"))
    syllables = [[a + b for a in first for b in second] for first, second in letters]
    words = [["".join(generator.choices(side, k=3)) for _ in range(900)] for side in syllables]
    pairs = []
    for _ in range(count):
        src = [int(900 * generator.random() ** 2) for _ in range(generator.randint(5, 12))]
        tgt = [src[1], src[0], *src[2:]]
        sides = [
            " ".join(words[side][index] for index in order) + "."
            for side, order in enumerate((src, tgt))
        ]
        pairs.append((sides[0], sides[1]))
    return pairs
