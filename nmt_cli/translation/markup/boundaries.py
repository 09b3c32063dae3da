"""Where marks may stand in a translation: between its words, and never within one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.elision import APOSTROPHES, ELIDING_LANGUAGES, begins_with_vowel
from nmt_cli.data.subwords.spelling import WITHOUT_SPACES
from nmt_cli.data.text.letters import is_combining, is_wordlike
from nmt_cli.translation.markup.tokens import Token, tokens_of

HYPHENS = "-‐‑"
# Signs that join letters: `don't`, `U.S.`, `col·lecció`, `צה״ל`, the soft hyphen, and the joiners
# of Persian and of scripts of India. They are those of Unicode's word boundaries (UAX #29), without
# the colon.
_JOINING = APOSTROPHES + ".·‧׳״\u00ad\u200c\u200d"
# What stands before the apostrophe of single words: `aujourd'hui`, `quelqu'un`, `presqu'île`.
_SINGLE_WORDS = ("aujourd", "quelqu", "presqu")
_NUMBER_IN_BRACKETS = re.compile(r"\(\d+\)")


@dataclass(frozen=True)
class TargetWords:
    """Cuts the translations into a language into the words between which marks may stand."""

    language: str

    @property
    def spaced(self) -> bool:
        """Whether the language has spaces between words."""
        return self.language not in WITHOUT_SPACES

    def tokens(self, text: str, spans: Sequence[tuple[int, int]] = ()) -> list[Token]:
        """The words and the punctuation of a text; each of `spans` is one word.

        >>> [token[:2] for token in TargetWords("en").tokens("I don't.")]
        [(0, 1), (2, 7), (7, 8)]
        >>> [token[:2] for token in TargetWords("fr").tokens("l'homme")]
        [(0, 2), (2, 7)]
        """
        given = set(spans)
        result: list[Token] = []
        for token in tokens_with(text, spans):
            if result and not given & {token[:2], result[-1][:2]}:
                last = result[-1]
                if last.end == token.begin and self._are_joined(text, last, token):
                    result[-1] = Token(last.begin, token.end, last.is_word)
                    continue
            result.append(token)
        return result

    def _are_joined(self, text: str, left: Token, right: Token) -> bool:
        """Whether two neighbours without a space between them are parts of one word."""
        before, sign = text[right.begin - 1], text[right.begin]
        if is_combining(sign):
            return True
        if not text[left.begin : left.begin + 1].isalnum():
            return False
        if sign in _JOINING:
            return is_wordlike(before) and is_wordlike(text[right.end : right.end + 1])
        if not right.is_word:
            return False
        if is_combining(before):
            return self.spaced
        return before in _JOINING and not self._is_elided(text[left.begin : left.end], sign)

    def _is_elided(self, before: str, letter: str) -> bool:
        """Whether a word begins with `letter` after the apostrophe at the end of `before`."""
        if before[-1] not in APOSTROPHES or base_code(self.language) not in ELIDING_LANGUAGES:
            return False
        begins = begins_with_vowel(letter) or letter.isdigit()
        return begins and not before[:-1].lower().endswith(_SINGLE_WORDS)


def compound_of(text: str, tokens: Sequence[Token], index: int) -> tuple[int, int]:
    """The tokens, from and to, that hyphens and apostrophes join with the one at `index`.

    >>> text = "tandis qu'elle est au-dessus -"
    >>> tokens = TargetWords("fr").tokens(text)
    >>> [compound_of(text, tokens, index) for index in (0, 1, 2, 4, 7)]
    [(0, 1), (1, 3), (1, 3), (4, 7), (7, 8)]
    """
    first, last = index, index + 1
    while first and _is_within_compound(text, tokens[first - 1].end, tokens[first].begin):
        first -= 1
    while last < len(tokens) and _is_within_compound(
        text, tokens[last - 1].end, tokens[last].begin
    ):
        last += 1
    return first, last


def _is_within_compound(text: str, end: int, begin: int) -> bool:
    """Whether the gap between two tokens is beside a sign that joins the words around it."""
    if end != begin:
        return False
    signs = HYPHENS + APOSTROPHES
    if text[end - 1] in signs:
        return is_wordlike(text[end - 2 : end - 1]) and is_wordlike(text[begin : begin + 1])
    joins = text[begin] in signs and is_wordlike(text[begin + 1 : begin + 2])
    return joins and is_wordlike(text[end - 1])


def is_elided(text: str, tokens: Sequence[Token], gap: int) -> bool:
    """Whether a gap is behind a word that ends with an apostrophe, right before the next word.

    >>> text = "l'emploi 'public'"
    >>> tokens = TargetWords("fr").tokens(text)
    >>> [is_elided(text, tokens, gap) for gap in range(len(tokens) + 1)]
    [False, True, False, False, False, False]
    """
    if not 0 < gap < len(tokens):
        return False
    end, begin = tokens[gap - 1].end, tokens[gap].begin
    return end == begin and text[end - 1] in APOSTROPHES and _is_within_compound(text, end, begin)


def tokens_with(text: str, spans: Sequence[tuple[int, int]]) -> list[Token]:
    """The tokens of a text, where each of these spans is one word."""
    tokens: list[Token] = []
    end = 0
    for begin, after in [*sorted(spans), (len(text), len(text))]:
        tokens += [
            Token(end + token.begin, end + token.end, token.is_word)
            for token in tokens_of(text[end:begin])
        ]
        if after > begin:
            tokens.append(Token(begin, after, is_word=True))
        end = after
    return tokens


def is_in_brackets(text: str, tokens: Sequence[Token], gap: int) -> bool:
    """Whether a bracket stands before a gap of tokens, and behind it a number that it encloses.

    >>> [is_in_brackets(text, tokens_of(text), 2) for text in ("5(1)", "5(a)", "5[1]")]
    [True, False, False]
    """
    around = tokens[gap - 1 : gap + 2]
    return bool(around and _NUMBER_IN_BRACKETS.fullmatch(text, around[0].begin, around[-1].end))
