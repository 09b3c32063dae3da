"""Repairs tildes that were typed behind their letter: `man~ana` for `mañana`."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

TILDE_SIGN = re.compile("~")
# Of a word with another letter; `~` alone may be a sign.
_TYPED = re.compile(r"[AEINOUYaeinouy]~(?:(?=[^\W\d_])|(?<=[^\W\d_]..)(?!~))")
# So many letters with a tilde show that the language of a side has them, unless more are typed so.
MIN_COUNT = 5


def tilde_repair_of(text: str) -> Callable[[str], str]:
    """The repair of the lines of a side, whose whole text this is, in NFC.

    Only letters that the text also has with a tilde are repaired.

    >>> tilde_repair_of("año niño mañana señor ñame man~ana a~b")("man~ana, N~ame, a~b, 5~10, ~n")
    'mañana, Ñame, a~b, 5~10, ~n'
    >>> tilde_repair_of("mañana man~ana")("man~ana")
    'man~ana'
    """
    sequences = _TYPED.findall(text) if TILDE_SIGN.search(text) else []
    typed = Counter(sequence[0].lower() for sequence in sequences)
    lower = text.lower() if typed else ""
    letters = {
        letter
        for letter, count in typed.items()
        if lower.count(_with_tilde(letter)) >= max(MIN_COUNT, count)
    }

    def repair(line: str) -> str:
        return _TYPED.sub(
            lambda match: _with_tilde(match[0][0]) if match[0][0].lower() in letters else match[0],
            line,
        )

    return repair


def _with_tilde(letter: str) -> str:
    return unicodedata.normalize("NFC", f"{letter}\u0303")
