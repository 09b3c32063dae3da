"""What a translated paragraph of Markdown is rendered as has the tags of its source."""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from projections import SUBWORDS, aligned_by, job

from nmt_cli.data.markup.marked_text import MarkedPiece, Placeholder, Tag, Text
from nmt_cli.documents.markdown.inline import parse_marks, write_marks
from nmt_cli.translation.markup.boundaries import TargetWords
from nmt_cli.translation.markup.carrier import carry, placeholders_of
from nmt_cli.translation.markup.projection import Projector
from nmt_cli.translation.markup.tokens import Matrix

markdown_it = pytest.importorskip("markdown_it")
WORDS = ("the", "of", "permit", "(a)", "section", "8(1)", "it's,", "person;")
KEPT = ("{x}", "`c`")
LABEL = "[ref]"
TRANSLATED = {
    "fr": ("l’avis", "d’une", "qu'elle", "(a)", "8(1)b)", "loi,", "«avis»", "ci-après", "a+b"),
    "zh": ("许可", "证明", "(a)", "8(1)b)", "，", "《法》", "。"),
}  # fmt: skip
MARKS = (
    ("*", "*"), ("**", "**"), ("_", "_"), ("__", "__"), ("~~", "~~"), ("<b>", "</b>"),
    ("[", "](a.md)"), ("[", "](b.md)"), ("![", "](i.png)"),
)  # fmt: skip
COMMENT = Tag("<!-- c -->", "empty", "comment")
BOLD = (Tag("**", "open", "**"), Text("dog"), Tag("**", "close", "**"))
LABELS = {"REF": {"href": "u", "title": ""}}


def tags_of(text: str) -> Counter[tuple[str, str]]:
    """The tags that markdown-it finds, with the address of a link or an image."""
    parser = markdown_it.MarkdownIt("commonmark").enable("strikethrough")
    [line] = parser.parseInline(text, {"references": LABELS})
    return Counter(
        (token.type, token.attrs.get("href") or token.attrs.get("src") or token.content)
        for token in line.children
        if token.type not in ("text", "text_special")
    )


def random_words(chooser: random.Random, around: tuple[str, ...] = ()) -> list[str]:
    """Words and marked words; no link is in a link, no emphasis in the same one.

    What is kept in an image would be lost.
    """
    result = []
    for _ in range(chooser.randint(1, 4)):
        opening, closing = chooser.choice(MARKS)
        is_link = any(mark[-1] == "[" for mark in around)
        may_open = opening not in around and not (is_link and closing[0] == "]")
        if chooser.random() < 0.4 and len(around) < 2 and may_open:
            inside = " ".join(random_words(chooser, (*around, opening)))
            result.append(f"{opening}{inside}{closing}")
        else:
            kept = () if "![" in around else KEPT if is_link else (*KEPT, LABEL)
            result.append(chooser.choice((*WORDS, *kept)))
    return result


def random_projector(chooser: random.Random, language: str) -> Projector:
    def attend(pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Matrix]:
        generator = np.random.default_rng(chooser.randrange(1 << 30))
        return [generator.random((len(tgt), len(src))) ** 6 for src, tgt in pairs]

    return Projector(SUBWORDS, attend, TargetWords(language))


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_any_alignment_keeps_the_rendered_tags(language: str) -> None:
    chooser = random.Random(7)
    checked = flagged = 0
    while checked < 400:
        line = " ".join(random_words(chooser))
        source = parse_marks(line, {"ref"})
        emphasis = [
            piece.raw for piece in source if isinstance(piece, Tag) and piece.raw in "*__~~"
        ]
        found = [name for name, _ in tags_of(line).elements() if name[:2] in ("em", "st", "s_")]
        if len(emphasis) != len(found):
            # It has marks side by side that are read in another way.
            continue
        words = [chooser.choice(["Anna", "Paul", None]) for _ in placeholders_of(source)]
        carrier = carry(source, words)
        words = [*TRANSLATED[language], *carrier.text.split()]
        target = chooser.sample(words, chooser.randint(1, min(12, len(words))))
        text = ("" if language == "zh" else " ").join(target)
        projector = random_projector(chooser, language)
        [result] = projector.project([job(source, carrier, [text])])
        written = write_marks(result.pieces)
        checked += 1
        flagged += result.moved
        assert result.moved or tags_of(written) == tags_of(line), (line, text, written)
    # A random alignment also leaves pairs without words of their own.
    assert flagged < 0.25 * checked


def test_emphasis_with_emphasis_in_it_does_not_end_before_a_letter() -> None:
    source = parse_marks("**~~one~~** law")
    projector = aligned_by([("one", "一"), ("law", "法")], "zh")
    [result] = projector.project([job(source, carry(source), ["一法"])])
    assert (write_marks(result.pieces), result.moved) == ("**~~一法~~**", False)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Anna(1)", "[ref]\\(1)"),
        ("Anna: un", "[ref]\\: un"),
        ("Anna un", "[ref] un"),
    ],
)
def test_nothing_goes_on_with_a_kept_label(target: str, expected: str) -> None:
    source = (Placeholder("[ref]"), Text(" one"))
    [result] = aligned_by([]).project([job(source, carry(source, ["Anna"]), [target])])
    assert write_marks(result.pieces) == expected


def test_marks_side_by_side_are_kept_apart() -> None:
    link = Tag("[", "open", "["), Text("un"), Tag("](a)", "close", "[")
    assert write_marks((Placeholder("[ref]"), *link)) == "[ref] [un](a)"
    assert write_marks((Placeholder("`a`"), Placeholder("`b`"))) == "`a` `b`"


@pytest.mark.parametrize(
    "first",
    [
        [COMMENT], [Text(" "), COMMENT], [Placeholder("<?= $name ?>")], [Tag("<!A>", "empty")],
        [Placeholder("<script>x()</script>")], [Tag('<link href="x">', "empty")],
        [Tag("<pre>", "open"), Text("a"), Tag("</pre>", "close")],
        [Tag("<OPTION selected>", "open"), Text("a"), Tag("</OPTION>", "close")],
        [Tag("<span>", "open"), Tag("  \n", "empty", "hard"), Tag("</span>", "close")],
        [Text("a"), Tag("\\\n", "empty", "hard"), Tag("<iframe src=x>", "empty")],
    ],
)  # fmt: skip
def test_no_line_becomes_a_block_of_html(first: list[MarkedPiece]) -> None:
    """Markdown is read in no such block."""
    written = write_marks((*first, Text(" small "), *BOLD))
    tokens = markdown_it.MarkdownIt("commonmark").parse(written)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    found = [token.type for token in tokens[1].children]
    assert found[-4:-2] == ["strong_open", "text"]
    assert "html_inline" in found


def test_other_tags_at_the_start_have_nothing_before_them() -> None:
    for tag in (Tag("<span>", "empty"), Tag("<preface>", "empty"), Tag("<b>", "empty")):
        assert write_marks((tag, Text("a"))) == f"{tag.raw}a"
