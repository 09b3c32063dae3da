"""Parallel text of two made-up languages."""

import random


def two_languages(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of made-up words, and their translations: word by word, the first two exchanged."""
    chooser = random.Random(seed)
    letters = (("kmnrty", "aou"), ("bdfgls", "eiü"))
    syllables = [[a + b for a in first for b in second] for first, second in letters]
    vocabularies = [["".join(chooser.choices(side, k=3)) for _ in range(900)] for side in syllables]
    pairs = []
    for _ in range(count):
        source = [int(900 * chooser.random() ** 2) for _ in range(chooser.randint(5, 12))]
        target = [source[1], source[0], *source[2:]]
        sentences = [
            " ".join(vocabulary[index] for index in order) + "."
            for vocabulary, order in zip(vocabularies, (source, target), strict=True)
        ]
        pairs.append((sentences[0], sentences[1]))
    return pairs
