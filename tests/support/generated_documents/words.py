"""Words of generated documents, each once: those to translate, and those that are kept."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

_LETTERS = "abcdefghijklmnop"
_WORD = re.compile(r"(?i)(?:word|kept)[a-p]{3}")


def expected_words(text: str) -> Counter[str]:
    """How often each word must be in the document when all texts are in capitals."""
    return Counter(
        word.upper() if word.startswith("word") else word for word in _WORD.findall(text)
    )


def written_words(text: str) -> Counter[str]:
    """How often each word is in a document."""
    return Counter(_WORD.findall(text))


class Words:
    """Gives new words; `wordaab` is to be translated, `keptaab` stays."""

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)
        self._count = 0

    def word(self) -> str:
        """A new word that is translated."""
        return "word" + self._number()

    def keep(self) -> str:
        """A new word that stays as it is."""
        return "kept" + self._number()

    def words(self, most: int = 4) -> str:
        """Some new words with spaces between them."""
        return " ".join(self.word() for _ in range(self.random.randint(1, most)))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, makers: Sequence[Callable[[], str]]) -> str:
        """What one of these functions makes."""
        return self.random.choice(makers)()

    def _number(self) -> str:
        """Three letters; no word is a part of another one."""
        self._count += 1
        return "".join(_LETTERS[self._count >> shift & 15] for shift in (8, 4, 0))
