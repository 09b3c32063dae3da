"""Finds letters that an encoding conversion has lost: other characters stand in their place."""

import re

# One that ends its line ends a question.
QUESTION_MARK = re.compile(r"\?(?!\n)")
# A zero and the sign of another code page, as in `por0Òve` for `porãve` in Guarani.
DIGIT_FOR_LETTER = re.compile(r"0(?<=[^\W\d_]0)(?:[À-ÖØ-Þ§¤¬¦]|[\u2500-\u259f])")
# What is left of a dash or quotation mark that was read in another encoding if its first letter,
# `â`, was removed: `€“` and `€™`, but not `500 €“` at the end of a quotation.
REST_OF_MARK = re.compile(r"€(?<!â€)(?:[™œ¦˜\x9d]|(?<!\d€)(?<!\d[ \u00a0]€)[“”](?= ?[^\W\d_]))")
_LETTER, _SMALL = r"[^\W\d_]", "[a-zß-ÿ\u0250-\u02af]"
# Question marks before a small letter of a word, and as words.
_LOST = re.compile(
    rf"(?<={_LETTER})\?{{1,3}}(?={_SMALL})"
    r"|(?<!\S)\?{2,} \?{2,}"
)
# Those that may end a question, unless the translation is none: `caf? noir`, `?cole`, `M?NCHEN`,
# `l'?le`, `wei?-blau`, `du ??? noir`.
_MAYBE_LOST = re.compile(
    rf"(?<={_LETTER})\?{{1,3}} (?={_SMALL})"
    r"|[A-ZÀ-Þ]{2}\?[A-ZÀ-Þ]|[A-ZÀ-Þ]\?[A-ZÀ-Þ]{2}"
    rf"|(?<!\S)[(\"'«“„]?\?+(?=\w)|(?<=[-'’])\?+(?={_SMALL})|(?<={_LETTER})\?+(?=-{_SMALL})"
    rf"|(?<!\S)\?{{2,}}(?= {_LETTER})"
)
# `caf?, th?;`, in lines that have lost all letters of other alphabets and with accents.
_BEFORE_COMMA = re.compile(rf"(?<={_LETTER})\?{{1,3}}[,;]")
# `il est ? Paris`. In tokenised text, this mark ends a question, and others have spaces before
# them, too.
_LOST_WORD = re.compile(r"(?<=[\w),] )\?+(?= \w)")
_TOKENISED = re.compile(r"\w [,.!](?: |$)|\w \?$")
# In Greek, a semicolon ends a question.
_QUESTION = re.compile(r"[?？؟፧՞¿⸮]|(?<=[Α-Ωά-ώ]);")
# The mark that ends a question with a mark at its beginning, as in Spanish, is none of a letter.
_MARKED_QUESTION = re.compile(r"¿[^?]*\?(?!\w)")
_LIKE_ADDRESS = re.compile(r"://|www\.|\w\.\w+/|[?&]\w+=")


def has_lost_letters(src: str, tgt: str) -> bool:
    """Return whether question marks stand in place of letters on one of two sides.

    >>> has_lost_letters("M?nchen?", "Munich?"), has_lost_letters("un caf? noir", "black coffee")
    (True, True)
    >>> has_lost_letters("Why? he asked", "Warum? fragte er"), has_lost_letters("a.org/?q=x", "")
    (False, False)
    >>> has_lost_letters("Il est ? Paris.", "In Paris."), has_lost_letters("So ? Ja , ja .", "Yes")
    (True, False)
    >>> has_lost_letters("¿Vienes?. ¿Y tú? pues sí", "Eju"), has_lost_letters("¿A M?nchen? no", "")
    (False, True)
    """
    return any(
        _is_lost(_MARKED_QUESTION.sub("¿", side), other) and not _LIKE_ADDRESS.search(side)
        for side, other in ((src, tgt), (tgt, src))
    )


def _is_lost(side: str, other: str) -> bool:
    return bool(_LOST.search(side) or (_is_maybe_lost(side) and not _QUESTION.search(other)))


def _is_maybe_lost(side: str) -> bool:
    is_word_lost = _LOST_WORD.search(side) and not _TOKENISED.search(side)
    is_lost_before_comma = side.isascii() and _BEFORE_COMMA.search(side)
    return bool(_MAYBE_LOST.search(side) or is_word_lost or is_lost_before_comma)
