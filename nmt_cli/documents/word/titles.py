"""Which paragraphs of a Word document may be titles, whose lines belong together."""

from nmt_cli.documents.word.package import Element
from nmt_cli.documents.word.ranges import WORD

_TITLES = ("title", "subtitle", "caption")
_OFF = ("0", "false", "off")
# A title has at most so many lines: by its style, centred in bold, or in bold alone.
_MOST_BY_STYLE, _MOST_CENTRED, _MOST_BOLD = 9, 3, 2


def has_heading_style(paragraph: Element) -> bool:
    """Whether the style of a paragraph is one of headings, by its usual name."""
    return _style(paragraph).startswith("heading")


def most_lines_of_title(paragraph: Element) -> int:
    """How many lines of a paragraph may be those of one title; 0: it does not look like a title.

    Its style says so, or all of it is bold. Signatures and letterheads are often centred as well,
    and so are all cells of many tables, whose headers are bold.
    """
    if _style(paragraph).startswith(_TITLES):
        return _MOST_BY_STYLE
    if not _is_bold(paragraph):
        return 0
    is_in_table = next(paragraph.iterancestors(f"{WORD}tc"), None) is not None
    return _MOST_CENTRED if _is_centred(paragraph) and not is_in_table else _MOST_BOLD


def _style(paragraph: Element) -> str:
    style = paragraph.find(f"{WORD}pPr/{WORD}pStyle")
    return "" if style is None else str(style.get(f"{WORD}val")).lower()


def _is_centred(paragraph: Element) -> bool:
    alignment = paragraph.find(f"{WORD}pPr/{WORD}jc")
    return alignment is not None and alignment.get(f"{WORD}val") == "center"


def _is_bold(paragraph: Element) -> bool:
    runs = [run for run in paragraph.iter(f"{WORD}r") if _has_words(run)]
    marks = [run.find(f"{WORD}rPr/{WORD}b") for run in runs]
    return bool(marks) and all(
        mark is not None and mark.get(f"{WORD}val") not in _OFF for mark in marks
    )


def _has_words(run: Element) -> bool:
    return any((text.text or "").strip() for text in run.iter(f"{WORD}t"))
