"""The marks of plain lines: what is one, what only looks like one, and that no byte is changed."""

# ruff: noqa: E501 (a table is read by its columns)

import random
import time
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest
from marked_lines import html_sentence, random_string

from nmt_cli.data.markup.inline import (
    is_marked,
    marks_of,
    parse_line,
    with_placeholders,
    without_marks,
    written_line,
)
from nmt_cli.data.markup.kept import MARKS_ONLY, Kept, KeptNames
from nmt_cli.data.markup.marked_text import MarkedPiece, Placeholder, Tag, Text, raw_text
from nmt_cli.data.markup.pairs import tag_pairs


def shown(line: str, *, numbers: bool = False) -> str:
    """The pieces of a line, as `written` shows them."""
    return written(parse_line(line, Kept(numbers=numbers)))


def written(pieces: Sequence[MarkedPiece]) -> str:
    """The pieces separated by |: o:<b> opening, c:</b> closing, e:<br> empty, P:{x} placeholder."""
    return "|".join(
        f"{piece.kind[0]}:{piece.raw}"
        if isinstance(piece, Tag)
        else f"P:{piece.raw}"
        if isinstance(piece, Placeholder)
        else piece.text
        for piece in pieces
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
        ("<0>a <1>dog</1></0> or <2/>", "o:<0>|a |o:<1>|dog|c:</1>|c:</0>| or |e:<2/>"),
        ("%n dogs of %1, %L2 (%12)", "P:%n| dogs of |P:%1|, |P:%L2| (|P:%12|)"),
        ("Hi <%= user.name %>, <%- x -%>!", "Hi |P:<%= user.name %>|, |P:<%- x -%>|!"),
        ("%s%s and %name%", "P:%s|P:%s| and |P:%name%"),
        ("%*d %.*s %-*s %0*x %p, %pB: %m.", "P:%*d| |P:%.*s| |P:%-*s| |P:%0*x| |P:%p|, |P:%pB|: |P:%m|."),
        ("%dkg, %.1fMB and %sms at %dx%d", "P:%dkg|, |P:%.1fMB| and |P:%sms| at |P:%d|x|P:%d"),
        ("%1$sbuilt, %(n)dkg, %.2fx", "P:%1$s|built, |P:%(n)dkg|, |P:%.2f|x"),
        ("%d%% of 100%% or 5.5%%, x%%", "P:%d%%| of |P:100%%| or |P:5.5%%|, x|P:%%"),
        ("{x} %, {y}% and {{ z }}\u00a0%.", "P:{x} %|, |P:{y}%| and |P:{{ z }}\u00a0%|."),
        ("{x}%{y}, {x}%b and {x}  %", "P:{x}|P:%{y}|, |P:{x}|%b and |P:{x}|  %"),
        ("%d %%, %d\u00a0%% and %d  %%", "P:%d %%|, |P:%d\u00a0%%| and |P:%d|  |P:%%"),
        ("{n, plural, one {# file} other {# files}} left", "P:{n, plural, one {# file} other {# files}}| left"),
        ("(see https://x.org/a_(b)).", "(see |P:https://x.org/a_(b)|)."),
        ("Mail me@x.co.uk, <a@b.org> or www.x.org!", "Mail |P:me@x.co.uk|, |P:<a@b.org>| or |P:www.x.org|!"),
        ("Go to x.org/a or (a.b.co.uk:80/c?d).", "Go to |P:x.org/a| or (|P:a.b.co.uk:80/c?d|)."),
        ("See [x.org](https://x.org) and <a href='http://www.x.org/'>x.org</a>.",
         "See |o:[|P:x.org|c:](https://x.org)| and |o:<a href='http://www.x.org/'>|P:x.org|c:</a>|."),
        ("<b>x.org</b> <a href='x.org'>see x.org</a> <a>x.org</a>",
         "o:<b>|x.org|c:</b>| |o:<a href='x.org'>|see x.org|c:</a>| |o:<a>|x.org|c:</a>"),
        ("**bold** *it* ***both*** _x_ ~~no~~", "o:**|bold|c:**| |o:*|it|c:*| |o:***|both|c:***| |o:_|x|c:_| |o:~~|no|c:~~"),
        ("**the *small* dog**", "o:**|the |o:*|small|c:*| dog|c:**"),
        ("__two words__", "o:__|two words|c:__"),
        ("[the dog](https://x.org \"t\") ![a](b.png)", "o:[|the dog|c:](https://x.org \"t\")| |o:![|a|c:](b.png)"),
        ("run `nmt train` now", "run |P:`nmt train`| now"),
        ("use --verbose, or (--keep-numbers)!", "use |P:--verbose|, or (|P:--keep-numbers|)!"),
        ("“--help” and --output=a/b.txt.", "“|P:--help|” and |P:--output=a/b.txt|."),
        ("die --verbose-Option", "die |P:--verbose|-Option"),
        ("Set $name, $user_id.", "Set |P:$name|, |P:$user_id|."),
        ("Set $HOME or $MY_VAR.", "Set |P:$HOME| or |P:$MY_VAR|."),
        ("v2.4.1, v2.4.x or v3.0-rc.1.", "|".join(("P:v2.4.1", ", ", "P:v2.4.x", " or ", "P:v3.0-rc.1", "."))),
        ("v2.4-Version", "P:v2.4|-Version"),
        (r"Sure?\nYes.\r\n\tNo\n", r"Sure?|e:\n|Yes.|e:\r\n\t|No|e:\n"),
        (r"Error:\n%s", r"Error:|e:\n|P:%s"),
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
        "100 %de, 5 %des, 5 %sur, 20 %im, 20 %um, %du, %discount, %dmark, %skills, 5\u00a0%dm, 5 %ss",
        "3 %p.a., 20%p, 20%m, 5%*d, a%20dog, %pre, %mail, %pBuild",
        "** bold ** and * it *",
        "end*of*word and under_score_d",
        "%%d is no format",
        "--Other, word --and so on-- word, word -- word, a--b, -- a, ---a, --a-",
        "I <123> you or <1 x>, 50%1, %123, % 1, <% >, a%n",
        "U.S./Canada, a.b/c, km/h, End.And/or, x.org, x.org/, ./a.sh/b, 1.5/2, p.m./a.m.",
        "$US 5, $CAD, $HOMEs, $DOGS$, US$bn, $5, $x$, $alpha$, \\$name, $$name",
        "v2, rev2.4.1, v.2.4, V2.4.1, 2.4.1, v2.4.1b",
        r"C:\new C:\n .\test a\red \\n \text \n_a \n\foo",
    ],
)
def test_what_looks_like_a_mark_is_text(line: str) -> None:
    assert parse_line(line) == (Text(line),)


def test_domain_as_the_text_of_a_link_is_kept_in_documents() -> None:
    link = Tag("<a>", "open", "a"), Text("x.org"), Tag("</a>", "close", "a")
    assert with_placeholders(link)[1] == Placeholder("x.org")
    for text in ("see x.org", "e.g.", "Of.all"):
        assert with_placeholders((link[0], Text(text), link[2]))[1] == Text(text)


def test_numbers_are_kept_where_asked() -> None:
    line = "I have 3 dogs, 1,200.50 in A4 at 12:30."
    assert shown(line) == line
    expected = "I have |P:3| dogs, |P:1,200.50| in A4 at |P:12:30|."
    assert shown(line, numbers=True) == expected
    assert shown("He&#39;s #40", numbers=True) == "He's #|P:40"
    assert shown("by 2026-03-31, 5-10", numbers=True) == "by |P:2026-03-31|, |P:5|-|P:10"
    assert shown("1-800-555-0199, 024-5551", numbers=True) == "P:1-800-555-0199|, |P:024-5551"
    assert shown("1-2-A, 024-55", numbers=True) == "P:1|-|P:2|-A, |P:024|-|P:55"


@pytest.mark.parametrize(
    ("names", "line", "expected"),
    [
        (["NordPad"], "NordPad, NordPads, myNordPad, NordPad2", "P:NordPad|, NordPads, myNordPad, NordPad2"),
        (["NordPad"], "nordpad _NordPad_ NordPad-App", "nordpad |o:_|P:NordPad|c:_| |P:NordPad|-App"),
        # An accent or a vowel sign may be a character of its own.
        (["Nord", "राम"], "Nord\u0301 रामायण राम", "Nord\u0301 रामायण |P:राम"),
        (["Pad", "Pad Pro", "Pad Pro 2"], "Pad Pro, Pad Pro 2, Pad Pro 2.5", "P:Pad Pro|, |P:Pad Pro 2|, |P:Pad Pro| 2.5"),
        (["a b", "b c d"], "a b c d", "P:a b| c d"),
        (["Nord Pad", "Pad 2"], "Nord Pads, Pad 25, a Pad 2", "Nord Pads, Pad 25, a |P:Pad 2"),
        (["C++", "--keep"], "C++s xC++ --keep --keeps", "P:C++|s xC++ |P:--keep| |P:--keeps"),
        # Names do not split what is kept anyway.
        (["name", "{name} x"], "{name} $name name {name} x", "P:{name}| |P:$name| |P:name| |P:{name} x"),
        (["--keep", "v2.4"], "--keep-numbers v2.4.1 v2.4.", "P:--keep-numbers| |P:v2.4.1| |P:v2.4|."),
        (["NordPad"], "`NordPad` <b id=NordPad> https://x.org/NordPad", "P:`NordPad`| |e:<b id=NordPad>| |P:https://x.org/NordPad"),
        (["AT&T"], "AT&T, AT&amp;T", "P:AT&T|, |P:AT&amp;T"),
        ([" NordPad "], "a NordPad.", "a |P:NordPad|."),
        (["Bor\u00e9al Transit"], "of Bor&eacute;al&nbsp;Transit.", "of |P:Bor&eacute;al&nbsp;Transit|."),
        (["AT&amp;T"], "AT&T, AT&#38;T, AT&#x26;Ts", "P:AT&T|, |P:AT&#38;T|, AT&Ts"),
        (["Nord\u00a0Pad", "Pad 2"], "Nord Pad of Pad&#160;2", "P:Nord Pad| of |P:Pad&#160;2"),
        (["O'Hara", "L\u2019Or"], "O\u2019Hara, O&rsquo;Hara, L'Or", "P:O\u2019Hara|, |P:O&rsquo;Hara|, |P:L'Or"),
    ],
)  # fmt: skip
def test_names_are_kept_where_asked(names: list[str], line: str, expected: str) -> None:
    kept = Kept(names=KeptNames(names))
    assert written(parse_line(line, kept)) == expected
    assert raw_text(parse_line(line, kept)) == line


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("फेम्‌मे", "फेम्‌मेस"),
        ("क्हि", "क्हिएं"),
        ("न्त", "साउतेन्त"),
        ("फेम्", "फेम्\u200cमे"),
        ("क", "कि"),
        ("ก", "กี"),
        ("ก", "ขีก"),
    ],
)
def test_names_are_not_found_beside_the_marks_of_a_longer_word(name: str, word: str) -> None:
    kept = Kept(names=KeptNames([name]))
    assert written(parse_line(f"a {word} b", kept)) == f"a {word} b"
    assert written(parse_line(f"a {name}. {name}\u200c", kept)) == f"a |P:{name}|. |P:{name}|\u200c"


@pytest.mark.parametrize(
    ("one", "other"),
    [("\u0958लम", "\u0915\u093cलम"), ("Caf\u00e9", "Cafe\u0301")],
)
def test_names_are_found_in_any_unicode_form(one: str, other: str) -> None:
    for name, word in [(one, other), (other, one)]:
        line = f"e\u0301 {word}, {word}s"
        pieces = parse_line(line, Kept(names=KeptNames([name])))
        assert written(pieces) == f"e\u0301 |P:{word}|, {word}s"
        assert raw_text(pieces) == line


def test_half_a_character_is_no_name() -> None:
    # U+0F43 has no composed form.
    assert not list(KeptNames(["\u0f42"], spaced=False).find("\u0f43"))


def test_names_are_found_within_words_where_no_spaces_separate_them() -> None:
    names = KeptNames(["NordPad", "好"], spaced=False)
    assert (
        written(parse_line("私はNordPadsが好き", Kept(names=names))) == "私は|P:NordPad|sが|P:好|き"
    )


def test_names_do_not_overlap() -> None:
    found = KeptNames(["a b", "b c d", "d"]).find("a b c d")
    assert [(mark.begin, mark.end) for mark in found] == [(0, 3), (6, 7)]


def test_names_precede_numbers() -> None:
    kept = Kept(numbers=True, names=KeptNames(["NordPad 2"]))
    assert written(parse_line("2 of NordPad 2", kept)) == "P:2| of |P:NordPad 2"


def test_marks_only_are_those_that_programs_fill_in() -> None:
    line = r"--verbose $name v2.4.1\n{x}"
    assert marks_of(parse_line(line, MARKS_ONLY)) == {"{x}": 1}


def test_many_names_take_no_longer_than_few() -> None:
    seconds = []
    for count in (10, 100_000):
        names = KeptNames([f"Nord{mark}{number}" for mark in ("", " ") for number in range(count)])
        begun = time.process_time()
        assert len(list(names.find("Nord 7 and Nord 77 the dog Nord " * 4_000))) >= 4_000
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 20 * seconds[0] + 0.5


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


def test_names_in_the_texts_of_a_document_are_found() -> None:
    kept = Kept(names=KeptNames(["NordPad", "NordPad v2.4.1", "AT&T"]))
    pieces = (
        Text("NordPad "), Placeholder("v2.4.1"), Text(" of AT&T", " of AT&amp;T"),
        Tag("<br/>", "empty", "br"), Text("5$ for NordPad.", "5\\$ for NordPad."), Placeholder("v2.4.1"),
    )  # fmt: skip
    split = with_placeholders(pieces, kept)
    assert raw_text(split) == raw_text(pieces)
    assert written(split) == (
        "P:NordPad v2.4.1| of |P:AT&amp;T|e:<br/>|5$ for |P:NordPad|.|P:v2.4.1"
    )
    page = Text("of NordPad ", "of NordPad&nbsp;"), Placeholder("v2.4.1")
    assert with_placeholders(page, kept)[-1] == Placeholder("NordPad&nbsp;v2.4.1")
    # A text that is written in another way than HTML, but has entities, too.
    other = (Text("5$ for AT&T of NordPad", "5\\$ for AT&amp;T&nbsp;of&nbsp;NordPad"),)
    assert raw_text(with_placeholders(other, kept)) == raw_text(other)
    assert written(with_placeholders(other, kept)) == "5$ for |P:AT&amp;T| of |P:NordPad"
    # A name that its document writes in another way.
    odd = (Text("my*pad", "my\\*pad"),)
    assert with_placeholders(odd, Kept(names=KeptNames(["my*pad"]))) == odd


def test_names_are_found_in_documents_as_in_lines() -> None:
    chooser = random.Random(3)
    names = ["NordPad v2.4.1", "{a} to {b}", "x", "name", "q{a}q"]
    kept = Kept(names=KeptNames(names))
    parts = ["{a}", " to ", "{b}", "q", "NordPad ", "v2.4.1", " ", "x", "name", "<b>", "</b>", "; "]
    for _ in range(2_000):
        line = "".join(chooser.choices(parts, k=chooser.randint(1, 10)))
        assert with_placeholders(parse_line(line), kept) == parse_line(line, kept), line


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
        names = KeptNames(
            chooser.sample(line.split(), chooser.randint(0, 1)) if line.strip() else []
        )
        pieces = parse_line(line, Kept(chooser.random() < 0.2, names))
        assert raw_text(pieces) == line
        marked += is_marked(pieces)
        sample += [line] if len(sample) < 500 else []
        tags = [piece for piece in pieces if isinstance(piece, Tag)]
        assert 2 * len(tag_pairs(pieces)) == sum(tag.kind != "empty" for tag in tags)
    for pieces in map(parse_line, sample):
        assert raw_text(with_placeholders(pieces)) == raw_text(pieces)
    assert marked > 5_000


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Copied to %s.", "Copied to."), ("To <b>%s</b>, {x}!", "To,!"), ("%s: here", ": here"),
        ("of %s :", "of  :"), ("The dog <b>.</b>", "The dog ."), ("a , %s b", "a ,  b"),
    ],
)  # fmt: skip
def test_placeholder_leaves_no_space_before_punctuation(line: str, words: str) -> None:
    """Such a space would be taken for that of tokenised text."""
    assert without_marks(line) == words


@pytest.mark.parametrize(
    "part",
    ["<", "<a ", "*a ", "[a", "{", "{a,b", "_a_ ", "`a ", "<b>", "<script>", "**a *b ", "a@", "<!--",
     "<a b=", "&", "{{", "](", "[a]((", "www.", "<code>", "<![CDATA[", "<?a", "<style></b>",
     "--a=b-", " --a", " --a=/-", "$a", "v1.", "v1", "\\n", "--a "],
)  # fmt: skip
def test_long_lines_take_linear_time(part: str) -> None:
    line = part * (40_000 // len(part))
    begun = time.process_time()
    assert raw_text(parse_line(line, Kept(names=KeptNames([part, part * 50, "a"])))) == line
    assert time.process_time() - begun < 3.0
