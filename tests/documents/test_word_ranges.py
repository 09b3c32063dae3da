"""Bookmarks, comments and other ranges of a Word document go around their words."""

from collections.abc import Sequence

import pytest
from projections import aligned_by, job

from nmt_cli.data.markup.marked_text import MarkedText, Tag, Text, plain_text
from nmt_cli.documents.template import trimmed
from nmt_cli.documents.word.paragraph import WORD, Paragraph
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.ranges import in_order

etree = pytest.importorskip("lxml.etree")

LINKS = [
    ("a", "une"), ("person", "personne"), ("whose", "dont"), ("name", "nom"), ("is", "figure"),
    ("list", "liste"),
]  # fmt: skip


def paragraph_of(written: str) -> Paragraph:
    """A paragraph in which `[name]` is a run or an element: `[bookmarkStart 1]`, `[tab]`."""
    content = ""
    for part in written.replace("]", "[").split("["):
        name, _, number = part.partition(" ")
        if name.endswith(("Start", "End")):
            content += f"<w:{name} w:id='{number}'/>"
        elif name.endswith("Reference"):
            content += f"<w:r><w:{name} w:id='{number}'/></w:r>"
        elif part == "tab":
            content += "<w:r><w:tab/></w:r>"
        elif part in ("link", "/link"):
            content += f"<{part.replace('link', 'w:hyperlink')}>"
        elif part:
            content += f"<w:r><w:t xml:space='preserve'>{part}</w:t></w:r>"
    return Paragraph(etree.fromstring(f"<w:p xmlns:w='{WORD.strip('{}')}'>{content}</w:p>"))


def shown(paragraph: Paragraph, pieces: MarkedText) -> str:
    """The content of a paragraph with these pieces, as `paragraph_of` reads it."""
    paragraph.write(pieces)
    result = ""
    for element in paragraph._element.iter():
        name = element.tag.removeprefix(WORD)
        if element.get(f"{WORD}id"):
            result += f"[{name} {element.get(f'{WORD}id')}]"
        elif name in ("t", "tab"):
            result += element.text or f"[{name}]"
    return result


def translated(
    written: str, target: str, links: Sequence[tuple[str, str]] = LINKS
) -> tuple[str, bool]:
    paragraph = paragraph_of(written)
    [source] = paragraph.columns()
    before, inner, after = trimmed(source)
    projector = aligned_by(links, "fr")
    [result] = projector.project([job(inner, carry(inner), [target])])
    return shown(paragraph, (*before, *result.pieces, *after)), result.moved


@pytest.mark.parametrize("kind", ["bookmark", "commentRange", "perm", "moveFromRange"])
def test_ranges_go_around_their_words(kind: str) -> None:
    begin, end = f"[{kind}Start 1]", f"[{kind}End 1]"
    written, moved = translated(
        f"a person {begin}whose name{end} is on a list", "sur liste figure nom dont personne une"
    )
    assert written == f"sur liste figure {begin}nom dont{end} personne une"
    assert not moved


def test_mark_of_a_comment_stays_behind_its_words() -> None:
    begin, end = "[commentRangeStart 1]", "[commentRangeEnd 1][commentReference 1]"
    written, _ = translated(f"a {begin}person {end}whose name", "dont nom personne une")
    assert written == f"dont nom {begin}personne {end}une"


def test_ranges_that_end_side_by_side_are_nested() -> None:
    written, moved = translated(
        "a [bookmarkStart 1]person whose [bookmarkStart 2]name[bookmarkEnd 1][bookmarkEnd 2] is on",
        "sur figure dont nom personne une",
    )
    assert written == (
        "sur figure [bookmarkStart 1]dont [bookmarkStart 2]nom[bookmarkEnd 2] "
        "personne[bookmarkEnd 1] une"
    )
    assert not moved


def test_ranges_that_begin_side_by_side_are_nested() -> None:
    (segment,) = paragraph_of(
        "a [bookmarkStart 1][bookmarkStart 2]person[bookmarkEnd 1] name[bookmarkEnd 2] is"
    ).columns()
    kinds = [piece.kind for piece in segment if isinstance(piece, Tag)]
    assert kinds == ["open", "open", "close", "close"]


def test_crossing_ranges_are_never_inverted() -> None:
    written, moved = translated(
        "a [bookmarkStart 1]person [bookmarkStart 2]whose[bookmarkEnd 1] name[bookmarkEnd 2] is",
        "figure nom dont personne une",
    )
    places = [written.index(f"[bookmark{end} 2]") for end in ("Start", "End")]
    assert places == sorted(places)
    assert moved


def test_ranges_that_have_lost_their_words_are_flagged() -> None:
    begin, end = (Tag(f"<{name} id='1'/>", "empty", "sc#1") for name in ("sc", "ec"))
    source = begin, Text("whose "), end, Text("name")
    assert in_order(source, (begin, end, Text("nom"))) == ((begin, end, Text("nom")), True)
    assert in_order(source, (begin, Text("nom"), end)) == ((begin, Text("nom"), end), False)
    assert in_order((begin, end, source[1]), (begin, end, Text("nom")))[1] is False


def test_ranges_go_on_behind_a_tab() -> None:
    columns = [*paragraph_of("a [bookmarkStart 1]list[tab]is[bookmarkEnd 1] on").columns()]
    assert list(map(plain_text, columns)) == ["a list", "", "is on"]
    assert all(each.kind == "empty" for column in columns for each in column if type(each) is Tag)


def test_no_range_divides_a_link() -> None:
    (segment,) = paragraph_of("a [bookmarkStart 1]list [link]is[bookmarkEnd 1] on[/link]").columns()
    kinds = [piece.kind for piece in segment if isinstance(piece, Tag)]
    assert kinds == ["empty", "open", "empty", "close"]


@pytest.mark.parametrize(
    "source",
    ["[bookmarkStart 1](a) the name[bookmarkEnd 1] is on", "[bookmarkStart 1](a) the name"],
)
def test_marks_of_items_are_kept_where_a_range_begins_before_them(source: str) -> None:
    [column] = paragraph_of(source).columns()
    before, inner, _ = trimmed(column)
    assert plain_text(before) == "(a) "
    assert inner[0] == Text("the name")


def test_empty_bookmarks_stay_single() -> None:
    (segment,) = paragraph_of("a [bookmarkStart 1][bookmarkEnd 1]list").columns()
    written, moved = translated("a [bookmarkStart 1][bookmarkEnd 1]list", "une liste")
    assert plain_text(segment) == "a list"
    assert written == "une [bookmarkStart 1][bookmarkEnd 1]liste"
    assert not moved


@pytest.mark.parametrize("kind", ["footnoteReference", "endnoteReference"])
def test_marks_of_footnotes_stay_at_their_word(kind: str) -> None:
    written, _ = translated(f"whose[{kind} 1], name is", "dont nom figure")
    assert written == f"dont[{kind} 1] nom figure"
