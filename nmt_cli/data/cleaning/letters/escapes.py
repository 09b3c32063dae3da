r"""Letters written as escapes, such as `=C3=A4`, `%C3%A4`, `\u00e4` and `{\"a}`.

Only escapes that nothing else looks like are undone. Single bytes (`=C3`), words without a letter
beyond ASCII (`a%20b`), addresses, and what may be an escaped quotation mark or apostrophe stay.
"""

import re
import unicodedata
from collections.abc import Callable

# LaTeX's accents, and the letters that it has commands for.
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323",
    "c": "\u0327", "k": "\u0328",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
    "AA": "Å", "l": "ł", "L": "Ł", "i": "ı", "dh": "ð", "th": "þ",
}  # fmt: skip
_BYTES = re.compile(r"(?:=[0-9A-F]{2}){2,}|(?:%[0-9A-Fa-f]{2}){2,}")
_ANY_BYTES = {"=": re.compile(r"(?:=[0-9A-F]{2})+"), "%": re.compile(r"(?:%[0-9A-Fa-f]{2})+")}
_WORD = re.compile(r"[^ \t]+")
# An address keeps its escapes: they belong to its spelling.
_LIKE_ADDRESS = re.compile(r"://|www\.|[\w-]\.\w+/|/\w|[?&]\w+=", re.IGNORECASE)
_UNICODE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
# Windows names folders like this.
_LIKE_PATH = re.compile(r"\b[A-Za-z]:\\|\\\\\w")
_MARKS, _COMMANDS = r"""[`'^~=."]""", "[uvHdckr]"
_LATEX = re.compile(
    # {\"a}, {\"{a}}, {\c c} and {\ss}
    rf"\{{\\(?:({_MARKS}) ?\{{?(\\i|[A-Za-z])\}}?|({_COMMANDS})(?: |\{{)(\\i|[A-Za-z])\}}?"
    rf"|({'|'.join(_LETTERS)}))\}}"
    # \"{a}, \c{c} and \ss{}
    rf"|\\({_MARKS}|{_COMMANDS})\{{(\\i|[A-Za-z])\}}|\\({'|'.join(_LETTERS)})\{{\}}"
    # \"a within a word. Before a word or behind it, it may be an escaped quotation mark, and an
    # apostrophe may be one anywhere (l\'eau).
    r'|(?<=[^\W\d_])\\(["^~`])([A-Za-z])'
)
# What a line with escapes has. It begins with one set of characters, so that it is searched fast.
ESCAPE_SIGN = re.compile(
    r"[=%\\](?:(?<==)[C-F][0-9A-F]=[89AB][0-9A-F]|(?<=%)[C-Fc-f][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|(?<=\\)u[0-9a-fA-F]{4}|(?<=\{\\)"
    rf"|(?<=\\)(?:{_MARKS}|{_COMMANDS}|{'|'.join(_LETTERS)})\{{"
    r'|(?<=[^\W\d_]\\)["^~`][A-Za-z])'
)


def undo_escapes(text: str) -> str:
    r"""Replace the escapes of letters with the letters.

    >>> undo_escapes("M=C3=BCnchen, Stra%C3%9Fe, M\\u00fcnchen, M{\\\"u}nchen, Gar\\c{c}on")
    'München, Straße, München, München, Garçon'
    >>> undo_escapes('x=C3, 100%, https://a.org/M%C3%BC, \\"also\\", l\\\'eau')
    'x=C3, 100%, https://a.org/M%C3%BC, \\"also\\", l\\\'eau'
    """
    if _BYTES.search(text):
        text = _WORD.sub(lambda word: _decoded_word(word[0]), text)
    if "\\u" in text and not _LIKE_PATH.search(text):
        text = _UNICODE.sub(lambda match: _as_text(match[0], _utf16), text)
    return _LATEX.sub(_latex_letter, text) if "\\" in text else text


def _decoded_word(word: str) -> str:
    """A word with the escapes of its bytes undone, if some of them are of letters beyond ASCII."""
    for sign, escapes in _ANY_BYTES.items():
        decoded = [_as_text(run, _utf8) for run in escapes.findall(word)]
        is_address = sign == "%" and _LIKE_ADDRESS.search(word) is not None
        if not is_address and any(not run.isascii() for run in decoded):
            word = escapes.sub(lambda run: _as_text(run[0], _utf8), word)
    return word


def _utf8(escapes: str) -> str:
    return bytes.fromhex(escapes.replace(escapes[0], "")).decode("utf-8")


def _utf16(escapes: str) -> str:
    return bytes.fromhex(escapes.replace("\\u", "")).decode("utf-16-be")


def _as_text(escapes: str, decode: Callable[[str], str]) -> str:
    """The decoded escapes; unchanged escapes if they are not valid, or of hidden characters."""
    try:
        text = decode(escapes)
    except ValueError:
        return escapes
    hidden = {unicodedata.category(letter) for letter in text} & {"Cc", "Cn", "Co", "Zl", "Zp"}
    return escapes if hidden else text


def _latex_letter(match: re.Match[str]) -> str:
    groups = [group for group in match.groups() if group]
    if len(groups) == 1:
        return _LETTERS[groups[0]]
    accent, letter = groups
    composed = unicodedata.normalize("NFC", letter.removeprefix("\\") + _ACCENTS[accent])
    return composed if len(composed) == 1 else match[0]
