"""The marks of plain lines: what is one, what only looks like one, and that no byte is changed."""

# ruff: noqa: E501 (a table is read by its columns)

import random
import time
from html.parser import HTMLParser

import pytest
from marked_lines import html_sentence, random_string

from nmt_cli.data.markup.inline import (
    is_marked,
    marks_of,
    parse_line,
    with_placeholders,
    written_line,
)
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import Placeholder, Tag, Text, raw_text
from nmt_cli.data.markup.pairs import tag_pairs


def shown(line: str, *, numbers: bool = False) -> str:
    """The pieces separated by |: o:<b> opening, c:</b> closing, e:<br> empty, P:{x} placeholder."""
    return "|".join(
        f"{piece.kind[0]}:{piece.raw}"
        if isinstance(piece, Tag)
        else f"P:{piece.raw}"
        if isinstance(piece, Placeholder)
        else piece.text
        for piece in parse_line(line, Kept(numbers=numbers))
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "The <b>small</b> dog sleeps in {place} at https://x.org/a?b=1.",
            "The |o:<b>|small|c:</b>| dog sleeps in |P:{place}| at |P:https://x.org/a?b=1|.",
        ),
        ("<A HREF='x' hidden>y</a >", "o:<A HREF='x' hidden>|y|c:</a >"),
        ("one<br>two<br/>three<x id=1/>", "one|e:<br>|two|e:<br/>|three|e:<x id=1/>"),
        ("<i><b>dog</i></b>", "o:<i>|e:<b>|dog|c:</i>|e:</b>"),
        ("dog</u> <name>", "dog|e:</u>| |e:<name>"),
        ("<!-- a --> <?xml v?> <![CDATA[<b>]]>", "e:<!-- a -->| |e:<?xml v?>| |P:<![CDATA[<b>]]>"),
        ("<code>x <b>y</b></code>!", "P:<code>x <b>y</b></code>|!"),
        ("<script>if (a<b) {'</b>'}</script>", "P:<script>if (a<b) {'</b>'}</script>"),
        (
            '<b translate="no">a <b>c</b> d</b> e',
            'P:<b translate="no">a <b>c</b> d</b>| e',
        ),
        ('<i class="x notranslate">a</i>', 'P:<i class="x notranslate">a</i>'),
        ("<i translate='yes'>a</i>", "o:<i translate='yes'>|a|c:</i>"),
        ("Tom &amp; Ann&nbsp;&lt;3", "Tom & Ann <3"),
        ("{} {0} {{ a.b }} ${home} #{x} %{y}", "P:{}| |P:{0}| |P:{{ a.b }}| |P:${home}| |P:#{x}| |P:%{y}"),
        ("%s %d %1$s %5.2f %(name)s %@ %ld", "P:%s| |P:%d| |P:%1$s| |P:%5.2f| |P:%(name)s| |P:%@| |P:%ld"),
        ("%s%s and %name%", "P:%s|P:%s| and |P:%name%"),
        ("%d%% of 100%% or 5.5%%, x%%", "P:%d%%| of |P:100%%| or |P:5.5%%|, x|P:%%"),
        ("{n, plural, one {# file} other {# files}} left", "P:{n, plural, one {# file} other {# files}}| left"),
        ("(see https://x.org/a_(b)).", "(see |P:https://x.org/a_(b)|)."),
        ("Mail me@x.co.uk, <a@b.org> or www.x.org!", "Mail |P:me@x.co.uk|, |P:<a@b.org>| or |P:www.x.org|!"),
        ("**bold** *it* ***both*** _x_ ~~no~~", "o:**|bold|c:**| |o:*|it|c:*| |o:***|both|c:***| |o:_|x|c:_| |o:~~|no|c:~~"),
        ("**the *small* dog**", "o:**|the |o:*|small|c:*| dog|c:**"),
        ("__two words__", "o:__|two words|c:__"),
        ("[the dog](https://x.org \"t\") ![a](b.png)", "o:[|the dog|c:](https://x.org \"t\")| |o:![|a|c:](b.png)"),
        ("run `nmt train` now", "run |P:`nmt train`| now"),
    ],
)  # fmt: skip
def test_marks_are_found(line: str, expected: str) -> None:
    assert shown(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "a < b and c > d",
        "if x <y and z> w",
        "I <3 you, x<5 and 1<2>0",
        "<-- arrow -->",
        "5 * 3 * 2, 2**3**4, 2 ** 3 ** 4",
        "5 % sugar, 100 % sure, 50% discount, 20%",
        "snake_case_name and _private and __init__",
        "*.txt and *.md, f(*args, **kwargs)",
        "a footnote* and another*",
        "{like this} and { } { a b }",
        "`a' and `b'",
        "it costs $5 or $x, ${",
        "AT&T & Co; &nothing here",
        "@user and a@b, tel: 5, mailto: x",
        "C:\\_x_y and [1] [2] (3)",
        "a [link] (not one)",
        'He said: "why?" -- and left... [...]',
        "100%sure? 10%a%",
        "** bold ** and * it *",
        "end*of*word and under_score_d",
        "%%d is no format",
    ],
)
def test_what_looks_like_a_mark_is_text(line: str) -> None:
    assert parse_line(line) == (Text(line),)


def test_numbers_are_kept_where_asked() -> None:
    line = "I have 3 dogs, 1,200.50 in A4 at 12:30."
    assert shown(line) == line
    expected = "I have |P:3| dogs, |P:1,200.50| in A4 at |P:12:30|."
    assert shown(line, numbers=True) == expected


def test_text_with_entities_is_written_with_entities() -> None:
    source = parse_line("Tom &amp; Ann <b>sleep</b>")
    target = (Text("A & B < "), Tag("<b>", "open", "b"), Text("c"), Tag("</b>", "close", "b"))
    assert written_line(target, source) == "A &amp; B &lt; <b>c</b>"
    assert written_line(target, parse_line("Tom <b>sleeps</b>")) == "A & B < <b>c</b>"


def test_placeholders_in_the_texts_of_a_document_are_found() -> None:
    pieces = (Text("{a} & b {c}", "{a} &amp; b {c}"), Tag("<br/>", "empty", "br"), Text("<b> %s"))
    split = with_placeholders(pieces)
    assert raw_text(split) == raw_text(pieces)
    assert marks_of(split) == {"{a}": 1, "{c}": 1, "<br/>": 1, "%s": 1}
    # A text that is written in another way than HTML is left as it is.
    odd = (Text("a {b}", "a \\{b\\} {b}"),)
    assert with_placeholders(odd) == odd


class WellFormed(HTMLParser):
    """Whether every element is closed in order."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.fine = True
        self.feed(line)
        self.close()
        self.fine &= not self.opened

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("br", "img", "x"):
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        self.fine &= bool(self.opened) and self.opened.pop() == tag


def test_tags_of_html_are_those_that_an_html_parser_finds() -> None:
    chooser = random.Random(1)
    for _ in range(500):
        line = html_sentence(chooser)
        pieces = parse_line(line)
        assert raw_text(pieces) == line
        assert WellFormed(line).fine
        tags = [piece for piece in pieces if isinstance(piece, Tag)]
        assert 2 * len(tag_pairs(pieces)) == sum(tag.kind != "empty" for tag in tags)


def test_ten_thousand_random_strings_keep_every_character() -> None:
    chooser = random.Random(2)
    marked = 0
    sample: list[str] = []
    for _ in range(10_000):
        line = random_string(chooser)
        pieces = parse_line(line, Kept(numbers=chooser.random() < 0.2))
        assert raw_text(pieces) == line
        marked += is_marked(pieces)
        sample += [line] if len(sample) < 500 else []
        tags = [piece for piece in pieces if isinstance(piece, Tag)]
        assert 2 * len(tag_pairs(pieces)) == sum(tag.kind != "empty" for tag in tags)
    for pieces in map(parse_line, sample):
        assert raw_text(with_placeholders(pieces)) == raw_text(pieces)
    assert marked > 5_000


@pytest.mark.parametrize(
    "part",
    ["<", "<a ", "*a ", "[a", "{", "{a,b", "_a_ ", "`a ", "<b>", "<script>", "**a *b ", "a@", "<!--",
     "<a b=", "&", "{{", "](", "[a]((", "www.", "<code>", "<![CDATA[", "<?a", "<style></b>"],
)  # fmt: skip
def test_long_lines_take_linear_time(part: str) -> None:
    line = part * (40_000 // len(part))
    begun = time.process_time()
    assert raw_text(parse_line(line)) == line
    assert time.process_time() - begun < 3.0
