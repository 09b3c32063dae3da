"""Links never stand within links, and emphasis of Markdown stands where CommonMark finds it."""

import re

import pytest
from projections import aligned_by, job, project

from nmt_cli.data.markup.emphasis import has_valid_emphasis
from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text, raw_text
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.projection import at_ends, is_kept

LINKS = [
    ("of", "l’"), ("of", "l'"), ("enforcement", "application"), ("the", "le"), ("law", "droit"),
    ("and", "et"), ("one", "un"), ("two", "deux"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        # Behind an apostrophe, no emphasis ends before a letter, but it may begin there.
        ("**of** enforcement", "l’application", "**l’application**"),
        ("_of_ enforcement", "l'application", "_l'application_"),
        ("~~of~~ enforcement", "l'application", "~~l'application~~"),
        ("of **enforcement**", "l’application", "l’**application**"),
        ("<b>of</b> enforcement", "l’application", "<b>l’</b>application"),
        ("[of](a) enforcement", "l’application", "[l’](a)application"),
        ("the law **(one)**", "le droit(un)", "le **droit(un)**"),
        # Beside a tag of another kind it may end anywhere.
        ("**of** _enforcement_", "l’application", "**l’**_application_"),
        ("**of** [enforcement](a)", "l’application", "**l’**[application](a)"),
        ("**[of](a)** enforcement", "l’application", "**[l’](a)application**"),
    ],
)
def test_emphasis_stands_where_it_is_found(line: str, target: str, expected: str) -> None:
    result = project(line, target, LINKS, language="fr")
    assert raw_text(result.pieces) == expected
    assert not result.moved


@pytest.mark.parametrize("mark", ["**", "*", "_", "~~"])
def test_two_spans_of_one_word_stay_two_spans(mark: str) -> None:
    line = f"the law {mark}of{mark} {mark}enforcement{mark} and"
    result = project(line, "le droit l’application et", LINKS, language="fr")
    assert raw_text(result.pieces) == f"le droit {mark}l’application{mark} {mark}et{mark}"
    assert result.moved


def test_emphasis_without_a_second_word_is_flagged() -> None:
    result = project("**of** **enforcement**", "l’application", LINKS, language="fr")
    assert result.moved
    assert is_kept(parse_line("**of** **enforcement**"), result.pieces)


@pytest.mark.parametrize(
    ("line", "target", "expected", "moved"),
    [
        ("[one](a) [two](b) law", "un deux droit", "[un](a) [deux](b) droit", False),
        ("[one](a) [law](b)", "droit un", "[droit](b) [un](a)", False),
        # The second link has no word of its own, and is beside the first.
        (
            "The [kitchen](a) [table](b) law.",
            "Der Tisch droit.",
            "Der [Tisch](a) [droit](b).",
            True,
        ),
        ("The [kitchen](a) [table](b).", "Der Tisch.", "[Der](a) [Tisch](b).", True),
        ("<a>kitchen</a> <a>table</a> law", "Tisch droit", "<a>Tisch</a> <a>droit</a>", True),
        # There is one word only.
        ("<a>kitchen</a> <a>table</a>.", "Tisch.", "<a>Tisch</a><a> </a>.", True),
        # A link gets out of emphasis that would be in the other link.
        ("[kitchen](a) <b>[table](b)</b>.", "Tisch.", "<b>[Tisch](a)[ ](b)</b>.", True),
        # An image holds no tags.
        ("![kitchen](a) <b>table</b>", "Tisch", "<b>![Tisch](a)</b>", False),
    ],
)
def test_no_link_stands_within_a_link(line: str, target: str, expected: str, moved: bool) -> None:
    links = [("The", "Der"), ("kitchen", "Tisch"), ("table", "Tisch"), *LINKS]
    result = project(line, target, links)
    assert (raw_text(result.pieces), result.moved) == (expected, moved)


def projected(source: MarkedText, target: str, words: list[str]) -> tuple[str, bool]:
    links = [("kitchen", "Tisch"), ("table", "Tisch"), ("one", "un"), ("two", "deux"),
             ("Anna", "Anna")]  # fmt: skip
    [result] = aligned_by(links).project([job(source, carry(source, words), [target])])
    assert is_kept(source, result.pieces)
    return raw_text(result.pieces), result.moved


@pytest.mark.parametrize(
    ("opening", "closing", "name"),
    [
        ('<g id="1" ctype="link">', "</g>", "g"),
        ('<pc id="1" type="link">', "</pc>", "pc"),
        ("<c0>", "</c0>", "w:hyperlink"),
    ],
)
def test_links_of_other_documents_are_not_nested(opening: str, closing: str, name: str) -> None:
    pair = Tag(opening, "open", name), Tag(closing, "close", name)
    source = pair[0], Text("kitchen"), pair[1], Text(" "), pair[0], Text("table"), pair[1]
    expected = f"{opening}Tisch{closing}{opening} {closing}"
    assert projected(source, "Tisch", []) == (expected, True)


def test_kept_link_gets_into_no_other_link() -> None:
    pair = Tag("[", "open", "["), Tag("](a)", "close", "[")
    source = (Placeholder("[ref]"), Text(" and "), pair[0], Text("one two"), pair[1])
    expected = "un [ref] [deux](a)"
    assert projected(source, "un Anna deux", ["Anna"]) == (expected, False)
    # Other placeholders may.
    source = (Placeholder("{x}"), *source[1:])
    assert projected(source, "un Anna deux", ["Anna"]) == ("[un {x} deux](a)", False)
    # There is no other word.
    source = (Placeholder("[ref]"), *source[1:])
    assert projected(source, "Anna", ["Anna"]) == ("[ref][ ](a)", True)


def test_kept_link_gets_into_no_other_link_with_its_emphasis() -> None:
    link = Tag("[", "open", "["), Text("of"), Tag("](a)", "close", "[")
    bold = Tag("**", "open", "**"), Tag("**", "close", "**")
    # The best word of both pairs is the same.
    links = [("of", "Tisch"), ("table", "Tisch"), ("table", "Ei"), ("the", "Ei"), ("the", "Bau")]

    def written(source: MarkedText, target: str, word: str | None) -> str:
        [result] = aligned_by(links).project([job(source, carry(source, [word]), [target])])
        return raw_text(result.pieces)

    source: MarkedText = (
        *link, Text(" "), bold[0], Text("table "), Placeholder("[ref]"), bold[1],
    )  # fmt: skip
    assert written(source, "Tisch", None) == "**[Tisch](a) [ref]**"
    source = (
        *link, Text(" "), bold[0], Text("table"), bold[1], Text(" "), Placeholder("[ref]"),
        Text(" the"),
    )  # fmt: skip
    assert written(source, "Tisch Anna Ei Bau", "Anna") == "**[Tisch](a) [ref] Ei** Bau"


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        ("[a](x) [b](y) c", "A B C", "[A B](x) [C](y)"),
        ("[a](x) <i>b</i> c", "A B C", "[<i>A B C</i>](x)"),
        ("[a](x) [b](y)", "A", "[A](x)[ ](y)"),
        ("[_a_](x) [_b_](y)", "A", "[_A_](x)_[ ](y)_"),
        ("**a** **b** [c](y)", "A B C", "**[A B](y)** **C**"),
        ("<a>a</a> <a>b</a> <a>c</a>", "", "<a></a><a> </a><a> </a>"),
    ],
)
def test_marks_at_the_ends_are_nested_where_they_may_be(
    line: str, text: str, expected: str
) -> None:
    source = parse_line(line)
    moved = at_ends(source, text)
    assert raw_text(moved) == expected
    assert is_kept(source, moved)


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("l’{**eau**}", True),
        ("{**l’**}eau", False),
        ("{**l’**} eau", True),
        ("{**l’**}{_eau_}", True),
        ("a{**b**}c", True),
        ("a{_b_}c", False),
        ("{**a**}{**b**}", False),
        ("{**a {*b*}**}", True),
        ("{**{*a*} b**}", True),
        ("{*a {*b*} c*}", False),
        # The second mark would end the first pair.
        ("{**a ({*«b»*}) c**}", True),
        ("{**{*a*} ({*«b»*}) c**}", False),
    ],
)
def test_emphasis_is_valid_where_its_tags_are_found(text: str, is_valid: bool) -> None:
    pieces = [
        Tag(part.strip("{}"), "open" if part[0] == "{" else "close", part.strip("{}"))
        if part[0] == "{" or part[-1] == "}"
        else Text(part)
        for part in re.split(r"(\{[*_]+|[*_]+\})", text)
        if part
    ]
    assert has_valid_emphasis(pieces) == is_valid


def test_no_format_of_word_gets_into_another_one() -> None:
    """Its words would have the inner format alone."""
    links = [("home", "Startseite"), ("page", "Startseite"), ("opens", "öffnet")]
    line = "<f1>home</f1> <f2>page</f2> opens"
    result = project(line, "Startseite öffnet", links)
    assert raw_text(result.pieces) == "<f1>Startseite</f1> <f2>öffnet</f2>"
    assert result.moved
    result = project(line.replace("f2", "b"), "Startseite öffnet", links)
    assert raw_text(result.pieces) == "<f1><b>Startseite</b></f1> öffnet"
    assert not result.moved
