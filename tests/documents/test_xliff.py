"""XLIFF: which units are translated, what is written, and that all other bytes are kept."""

import random
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from document_samples import XLIFF, XLIFF_2, each_text, opened, tags_last

from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text, plain_text
from nmt_cli.documents.xliff.elements import MAX_DEPTH
from nmt_cli.errors import DataError

REVIEW = '<target state="needs-review-translation" state-qualifier="leveraged-mt">'
FILE = '<xliff version="1.2"><file target-language="de"><body>{}</body></file></xliff>'
FILE_2 = '<xliff version="2.1" trgLang="de"><file>{}</file></xliff>'


def unit(content: str, attributes: str = "") -> str:
    """A file of version 1.2 with one unit."""
    return FILE.format(f"<trans-unit{attributes}>{content}</trans-unit>")


def segment(content: str, attributes: str = "") -> str:
    """A file of version 2.1 with one segment."""
    return FILE_2.format(f"<unit><segment{attributes}>{content}</segment></unit>")


def target(
    source: str, change: Callable[[str], str] = str.upper, attributes: str = "",
    make: Callable[[str, str], str] = unit,
) -> str:  # fmt: skip
    """The content of the target that a source gets."""
    written = checked(make(f"<source>{source}</source>", attributes), change)
    found = re.search(r"<target[^>]*>(.*)</target>", written, re.DOTALL)
    return found[1] if found else ""


def target_2(source: str, change: Callable[[str], str] = str.upper, attributes: str = "") -> str:
    return target(source, change, attributes, segment)


def checked(text: str, change: Callable[[str], str] = str.upper, **options: object) -> str:
    """The file with its texts changed, which is XML, and the same when it is made again."""
    document = opened(text, "xliff", **options)
    translations = each_text(document.segments, change)
    written = document.render(translations)
    assert document.render(translations) == written
    assert document.render(document.segments) == text.encode()
    ElementTree.fromstring(written)
    return written.decode()


def pieces(text: str) -> MarkedText:
    [found] = opened(text, "xliff").segments
    return found


def kinds(text: str) -> list[str]:
    """The tags of a segment by their kinds."""
    return [piece.kind for piece in pieces(text) if isinstance(piece, Tag)]


def texts(text: str, **options: object) -> list[str]:
    return [plain_text(each) for each in opened(text, "xliff", **options).segments]


def test_targets_of_the_first_version() -> None:
    first = 'THE <g id="1">SMALL</g> DOG &amp; {name}<x id="2"/>.'
    marked = (
        '<mrk mtype="seg" mid="0">TWO SENTENCES.</mrk> <mrk\n'
        '          mtype="seg" mid="1">IN ONE UNIT.</mrk>'
    )
    expected = XLIFF.replace(
        '<x id="2"/>.</source>\n', f'<x id="2"/>.</source>\n        {REVIEW}{first}</target>\n'
    ).replace('<target state="new"/>', f"{REVIEW}{marked}</target>")
    assert checked(XLIFF) == expected
    assert opened(XLIFF, "xliff").places == ["line 6", "line 14", "line 14"]


def test_targets_of_the_second_version() -> None:
    content = 'THE <pc id="1">SMALL</pc> DOG<ph id="2"/> <sc id="3"/>SLEEPS<ec startRef="3"/>.'
    assert checked(XLIFF_2) == XLIFF_2.replace(
        ".</source>\n", f".</source>\n        <target>{content}</target>\n"
    ).replace('<segment id="s">', '<segment id="s" state="translated">')
    assert opened(XLIFF_2, "xliff").places == ["line 7"]


@pytest.mark.parametrize("text", [XLIFF, XLIFF_2])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_all_other_bytes_are_kept(text: str, ending: str, encoding: str) -> None:
    text = text.replace("\n", ending)
    document = opened(text.encode(encoding), "xliff", language="de")
    data = document.render(each_text(document.segments, lambda part: part + " äł"))
    assert data[:3] == text.encode(encoding)[:3]
    written = data.decode(encoding)
    ElementTree.fromstring(written)
    assert written.count("äł") > 3
    targets = rf"\s*(?:{REVIEW}|<target>(?=The)).*?</target>"
    written = re.sub(targets, "", written, flags=re.DOTALL)
    written = re.sub(r' (target-language|trgLang)="de"| state="translated"', "", written)
    assert written == re.sub(r'\s*<target state="new"/>', "", text)


@pytest.mark.parametrize(
    ("attributes", "plain", "fuzzy"),
    [
        ("", False, False), (' state="new"', True, True), (' state="final"', False, False),
        (' state="needs-translation"', True, True), (' state="translated"', False, False),
        (' state="needs-review-translation"', False, True), (' state="signed-off"', False, False),
        (' state="needs-adaptation"', False, False),
    ],
)  # fmt: skip
def test_states_of_targets_in_the_first_version(attributes: str, plain: bool, fuzzy: bool) -> None:
    text = unit(f"<source>a dog</source><target{attributes}>Katze</target>")
    assert (texts(text) == ["a dog"], texts(text, fuzzy=True) == ["a dog"]) == (plain, fuzzy)
    approved = text.replace("<trans-unit>", '<trans-unit approved="yes">')
    assert texts(approved, fuzzy=True) == []


@pytest.mark.parametrize(
    ("attributes", "fuzzy"),
    [
        ("", False), (' state="initial"', True), (' state="translated"', True),
        (' state="reviewed"', False), (' state="final"', False),
    ],
)  # fmt: skip
def test_states_of_segments_in_the_second_version(attributes: str, fuzzy: bool) -> None:
    text = segment("<source>a dog</source><target>Katze</target>", attributes)
    assert texts(text) == []
    assert (texts(text, fuzzy=True) == ["a dog"]) == fuzzy
    empty = segment("<source>a dog</source><target> </target>", attributes)
    assert texts(empty) == ["a dog"]


@pytest.mark.parametrize(
    "empty",
    ["<target/>", "<target></target>", "<target>\n </target>", "<target ><mrk mtype='seg'/> \n"
     "<mrk mtype='seg'> </mrk></target>"],
)  # fmt: skip
def test_empty_target_is_replaced(empty: str) -> None:
    text = unit(f"<source>a dog</source>{empty}")
    assert checked(text).count("<target") == 1
    assert ">A DOG</target></trans-unit>" in checked(text)


@pytest.mark.parametrize("full", ["x", "<x/>", "<mrk mtype='seg'>x</mrk>", "x<mrk/>", "<mrk/>x"])
def test_target_with_content_is_kept(full: str) -> None:
    text = unit(f"<source>a dog</source><target>{full}</target>")
    assert checked(text) == text


def test_attributes_of_targets_and_segments() -> None:
    old = """<target xml:lang='de' note="a state='x'" state='new' state-qualifier = "id-match" />"""
    assert (
        """<target xml:lang='de' note="a state='x'" state="needs-review-translation" """
        'state-qualifier = "leveraged-mt">A DOG</target>'
    ) in checked(unit("<source>a dog</source>" + old))
    text = segment("<source>a dog</source>", ' state="initial" subState="my:x" id="s"')
    assert '<segment state="translated" subState="my:x" id="s"><source>' in checked(text)


def test_language_is_added_where_it_is_missing() -> None:
    text = XLIFF.replace("</body>", '</body></file><file b="c"><body></body>')
    written = checked(text, language="de")
    assert 'datatype="plaintext" target-language="de">' in written
    assert '<file b="c">' in written
    assert 'xliff:document:2.0" trgLang="de">' in checked(XLIFF_2, language="de")
    for make, attribute in ((unit, "target-language"), (segment, "trgLang")):
        other = make("<source>a dog</source>").replace('"de"', '"de-AT"')
        assert checked(other, language="de").count(attribute) == 1
        assert f'{attribute}="de-AT"' in checked(other, language="de")
    assert "target-language" not in checked(XLIFF)


def test_translation_that_is_the_source_is_not_written() -> None:
    for make in (unit, segment):
        text = make("<source>OK <x/> {name}</source>")
        assert checked(text) == text
    prefilled = unit('<source>OK</source><target state="new">OK</target>')
    assert checked(prefilled, language="de") == prefilled


def test_failed_segment_of_a_unit_keeps_its_source() -> None:
    document = opened(XLIFF, "xliff")
    [upper] = each_text(document.segments[1:2], str.upper)
    data = document.render([document.segments[0], upper, document.segments[2]]).decode()
    assert 'mid="0">TWO SENTENCES.</mrk>' in data
    assert data.count('mid="1">In one unit.</mrk>') == 2
    assert data.count("<target") == XLIFF.count("<target")


def test_what_is_not_to_be_translated() -> None:
    group = (
        '<group translate="no"><trans-unit><source>a</source></trans-unit>'
        '<trans-unit translate="yes"><source>b</source></trans-unit>'
        '<group translate="yes"><trans-unit><source>c</source></trans-unit>'
        '<trans-unit translate="no"><source>d</source></trans-unit></group></group>'
        "<trans-unit><source>e</source></trans-unit>"
    )
    assert texts(FILE.format(group)) == ["b", "c", "e"]
    assert texts(FILE.format(group).replace("<file", '<file translate="no"')) == ["b", "c"]
    second = group.replace("trans-unit", "unit")
    second = second.replace("<source>", "<segment><source>")
    second = second.replace("</source>", "</source></segment>")
    assert texts(FILE_2.format(second)) == ["b", "c", "e"]


def test_other_elements_of_units_are_left() -> None:
    others = (
        '<unit xmlns:mtc="urn:matches" xmlns:gls="urn:glossary"><mtc:matches><mtc:match ref="#m">'
        "<source>m</source><target>n</target></mtc:match></mtc:matches>"
        "<gls:glossary><gls:glossEntry><gls:term>t</gls:term></gls:glossEntry></gls:glossary>"
        "<notes><note>o</note></notes><originalData><data id='d'>p</data></originalData>"
        "<mtc:segment><source>q</source></mtc:segment>"
        "<segment><mtc:source>q</mtc:source><source>a dog</source></segment>"
        "<ignorable><source>i</source></ignorable></unit>"
    )
    text = FILE_2.format(others)
    assert texts(text) == ["a dog"]
    assert checked(text).count("<target>") == 2
    first = unit(
        "<source>a dog</source><note>b</note><context-group><context>c</context></context-group>"
        "<alt-trans><source>d</source><target>e</target><seg-source>f</seg-source></alt-trans>"
    )
    assert texts(first) == ["a dog"]
    assert f"<source>a dog</source>{REVIEW}A DOG</target><note>" in checked(first)


def test_segments_of_a_source_within_other_elements() -> None:
    marked = (
        '<seg-source>1. <g id="1"><mrk mtype="seg" mid="0">A dog.</mrk> <mrk mtype="seg" mid="1">'
        'A <mrk mtype="term">cat</mrk>.</mrk></g><x/></seg-source>'
    )
    text = unit(f"<source>A dog. A cat.</source>{marked}")
    assert texts(text) == ["A dog.", "A cat."]
    content = marked.replace("seg-source>", "target>").replace("A dog", "A DOG")
    content = content.replace("A <", "A <").replace(">cat<", ">CAT<")
    assert content.replace("<target>", REVIEW) in checked(text)


def test_source_without_marked_segments_is_one_segment() -> None:
    text = unit("<source>A dog. A cat.</source><seg-source>A dog. A cat.</seg-source>")
    assert texts(text) == ["A dog. A cat."]
    assert f"</seg-source>{REVIEW}A DOG. A CAT.</target>" in checked(text)


def test_new_target_stands_as_its_source_does() -> None:
    for ending in ("\n", "\r\n"):
        text = unit(f"{ending}\t <source>a dog</source>{ending}")
        expected = f"</source>{ending}\t {REVIEW}A DOG</target>{ending}</trans"
        assert expected in checked(text)
    assert f"<source>a dog</source>{REVIEW}A DOG</target><" in checked(
        unit("\n<note/> <source>a dog</source>")
    )


@pytest.mark.parametrize("make", [unit, segment])
def test_prefix_of_the_source_is_that_of_the_target(make: Callable[[str], str]) -> None:
    text = re.sub(r"<(/?)(?=\w)", r"<\1x:", make("<source>a <g id='1'>dog</g> b</source>"))
    text = text.replace("<x:xliff", '<x:xliff xmlns:x="urn:x"')
    written = checked(text)
    assert written.count("<x:target") == written.count(">A <x:g id='1'>DOG</x:g> B</x:target>") == 1


def test_namespaces_that_the_source_declares_hold_in_the_target() -> None:
    source = "<source xmlns:m='urn:m?a&amp;b'>a <m:x/> dog</source>"
    for old in ("", "<target/>", '<target state="new" xmlns:m="urn:n">x</target>'):
        written = checked(unit(source + old))
        assert written.count('xmlns:m="urn:m?a&amp;b"') == 1
        assert "A <m:x/> DOG</target>" in written


def test_pairs_and_single_elements_of_the_first_version() -> None:
    assert kinds(unit("<source>a <g id='1'>b <g id='2'>c</g></g> d</source>")) == [
        "open", "open", "close", "close"]  # fmt: skip
    pair = "a <bpt id='1'>&lt;b></bpt>b<ept id='1'>x</ept> c"
    assert kinds(unit(f"<source>{pair}</source>")) == ["open", "close"]
    assert target(pair) == "A <bpt id='1'>&lt;b></bpt>B<ept id='1'>x</ept> C"
    rid = "a <bpt id='1' rid='7'/>b<ept id='2' rid='7'/> <bx id='3'/>c<ex id='3'/> d"
    assert kinds(unit(f"<source>{rid}</source>")) == ["open", "close"] * 2
    crossed = "a <bpt id='1'/>b<ept id='2'/> <bx id='1'/>c<ept id='1'/> d"
    assert kinds(unit(f"<source>{crossed}</source>")) == ["open", "empty", "empty", "close"]
    single = "a <x id='1'/> <ph id='2'>y<sub>z</sub></ph> <it pos='open'>w</it> <new>v</new> b"
    assert kinds(unit(f"<source>{single}</source>")) == ["empty"] * 4
    assert target(single) == single.replace("a <", "A <").replace("> b", "> B")


def test_pairs_and_single_elements_of_the_second_version() -> None:
    pairs = "a <pc id='1'>b</pc> <sc id='2'/>c<ec startRef='2'/> <mrk id='3'>d</mrk> e"
    assert kinds(segment(f"<source>{pairs}</source>")) == ["open", "close"] * 3
    isolated = "a <sc id='2' isolated='yes'/>c <ec id='4' isolated='yes'/> e <cp hex='0001'/> f"
    assert kinds(segment(f"<source>{isolated}</source>")) == ["empty"] * 3
    single = "a <ph id='1'/> b <pc id='2'/> c <ph id='3'></ph> d"
    assert kinds(segment(f"<source>{single}</source>")) == ["empty"] * 3
    assert target_2(single) == single.replace("a <", "A <").replace("> b ", "> B ").replace(
        "> c ", "> C ").replace("> d", "> D")  # fmt: skip


def test_protected_words_are_placeholders() -> None:
    for make, mark in (
        (unit, '<mrk mtype="protected">Anna <x/></mrk>'),
        (segment, '<mrk id="m" translate="no">Anna <pc id="1">b</pc></mrk>'),
    ):
        assert Placeholder(mark) in pieces(make(f"<source>a {mark} b</source>"))
        assert target(f"a {mark} b", make=make) == f"A {mark} B"
    other = '<mrk id="m" translate="yes">Anna</mrk>'
    assert target_2(f"a {other} b") == f"A {other.replace('Anna', 'ANNA')} B"


def test_line_break_ends_a_segment() -> None:
    assert texts(unit('<source>a dog<x ctype="lb"/>a cat</source>')) == ["a dog", "a cat"]
    text = segment('<source>a dog<ph type="fmt" subType="xlf:lb"/>a cat</source>')
    assert texts(text) == ["a dog", "a cat"]


def test_no_pair_begins_in_one_element_and_ends_in_another() -> None:
    for source in (
        "a &lt;b&gt;b <g id='1'>c&lt;/b&gt; d</g> e", "a <g id='1'>&lt;b&gt;b</g> c&lt;/b&gt; d",
        "a <bpt id='1'/>b <g id='1'>c <ept id='1'/> d</g> e",
        "a <g id='1'>&lt;g&gt;b</g> c&lt;/g&gt; d",
    ):  # fmt: skip
        text = unit(f"<source>{source}</source>")
        assert sorted(kinds(text)) == ["close", "empty", "empty", "open"]
        assert [
            piece.raw for piece in pieces(text) if isinstance(piece, Tag) and piece.kind != "empty"
        ] == ["<g id='1'>", "</g>"]
        checked(text)
    assert kinds(unit("<source>a &lt;b&gt;<x/>b <g>c</g>&lt;/b&gt; d</source>")) == [
        "open", "empty", "open", "close", "close"]  # fmt: skip


def test_elements_are_nested_whatever_the_translation_does() -> None:
    text = unit("<source>a <g id='1'>b</g> <g id='2'>c</g> <x/>d</source>")
    document = opened(text, "xliff")
    [found] = document.segments
    tags = [piece for piece in found if isinstance(piece, Tag)]
    for wrong in (
        tags_last(found), (*reversed(tags), Text("a")), (tags[0], Text("a")), (tags[1], Text("a")),
        (tags[0], tags[2], Text("a"), tags[1], tags[3]),
    ):  # fmt: skip
        ElementTree.fromstring(document.render([wrong]))
    assert b"<g id='1'><g id='2'>a</g></g></target>" in document.render(
        [(tags[0], tags[2], Text("a"), tags[1], tags[3])]
    )


def test_marks_in_the_text_are_recognised() -> None:
    source = "The &lt;b&gt;dog&lt;/b&gt; &amp;amp; %s of {name} &lt; 3 &#x26; &#228;"
    found = pieces(unit(f"<source>{source}</source>"))
    assert Placeholder("%s") in found
    assert Placeholder("{name}") in found
    assert plain_text(found) == "The dog & %s of {name} < 3 & ä"
    assert target(source) == (
        "THE &lt;b&gt;DOG&lt;/b&gt; &amp;amp; %s OF {name} &amp;lt; 3 &amp;amp; Ä"
    )
    assert target("Tom &amp; Ann &quot;&apos;&gt;") == "TOM &amp; ANN \"'&gt;"
    address = "see https://a.org/?b&amp;c now"
    assert target(address) == "SEE https://a.org/?b&amp;c NOW"


def test_escaped_html_that_ends_a_sentence_ends_a_segment() -> None:
    source = "&lt;p class='a'&gt;A dog.&lt;/p&gt;&lt;p&gt;A &lt;i&gt;cat&lt;/i&gt;&lt;br/&gt;b"
    assert texts(unit(f"<source>{source}</source>")) == ["A dog.", "A cat", "b"]
    assert target(source, lambda text: text + "!").count("!") == 4


def test_character_data_is_text() -> None:
    source = "<![CDATA[<b>A dog</b> &amp; {name}]]> <![CDATA[a < b]]>"
    assert texts(unit(f"<source>{source}</source>")) == ["A dog & {name} a < b"]
    assert target(source) == "&lt;b&gt;A DOG&lt;/b&gt; &amp;amp; {name} A &amp;lt; B"


def test_comments_and_instructions_are_kept() -> None:
    source = "a <!-- <g> no --> b <?pi <g> ?> c"
    assert target(source) == "A <!-- <g> no --> B <?pi <g> ?> C"


def test_characters_that_xml_cannot_hold() -> None:
    assert target("a dog", lambda _: "a\x07\ufffe]]> \ud800b") == "a\ufffd\ufffd]]&gt; \ufffdb"
    assert target("a \ufffc <x/>dog", str.upper) == "A \ufffc <x/>DOG"


def test_white_space_is_collapsed() -> None:
    source = "\n   A  small\n\tdog <g>of\n mine</g>.\n "
    assert texts(unit(f"<source>{source}</source>")) == ["A small dog of mine."]
    assert target(source) == "\n   A SMALL DOG <g>OF MINE</g>.\n "


@pytest.mark.parametrize("make", [unit, segment])
def test_white_space_is_kept_where_the_file_says_so(make: Callable[..., str]) -> None:
    source = "A  dog.\r\n\n  A <g>small\ncat</g>.&#10;b<![CDATA[\nc]]>"
    attributes = ' xml:space="preserve"'
    text = make(f"<source>{source}</source>", attributes)
    assert texts(text) == ["A  dog.", "A smallcat.", "b", "c"]
    assert target(source, attributes=attributes, make=make) == (
        "A  DOG.\r\n\n  A <g>SMALL\nCAT</g>.&#10;B\nC"
    )
    default = text.replace("<source>", '<source xml:space="default">')
    assert texts(default) == ["A dog. A small cat. b c"]
    own = make(f"<source{attributes}>{source}</source>")
    assert re.search(r'<target xml:space="preserve"[^>]*>A  DOG', checked(own))


def test_encoding_is_kept() -> None:
    text = f"<?xml version='1.0' encoding='ISO-8859-1'?>{unit('<source>Grün</source>')}"
    data = text.encode("latin-1")
    document = opened(data, "xliff")
    assert document.render(document.segments) == data
    written = document.render(each_text(document.segments, lambda part: part + " ł ü"))
    assert b"Gr\xfcn &#322; \xfc</target>" in written
    assert "".join(ElementTree.fromstring(written).itertext()) == "GrünGrün ł ü"
    # The text of a request is in the encoding of the request.
    served = opened(text, "xliff", encoding="utf-8")
    assert served.render(each_text(served.segments, lambda part: part + " ł")).count(
        "ł".encode()) == 1  # fmt: skip
    for name in ("utf-16", "no-such-code", "hex"):
        odd = text.replace("ISO-8859-1", name)
        assert texts(odd) == ["Grün"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: this is not well-formed XML: no element"),
        ("no XML", "line 1: this is not well-formed"),
        (XLIFF[:-20], "line 20: this is not well-formed"),
        (XLIFF.replace("</g>", ""), "line 6: this is not well-formed XML: mismatched tag"),
        (XLIFF.replace("&amp;", "&nbsp;"), "line 6: .*undefined entity"),
        (XLIFF.replace("&amp;", "&"), "line 6: this is not well-formed"),
        (XLIFF.replace("<x id", "<y:x id"), "line 6: this is not well-formed XML: unbound prefix"),
        ("\n<html/>", "line 2: the document is `<html>`, not `<xliff>`"),
        ("<?xml version='1.0'?>\n<!DOCTYPE xliff><xliff/>", "line 2, is refused: it declares a d"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///x">]><x>&e;</x>', "line 1, is refused: it decl"),
        ("<xliff version='3.0'/>", "line 1, is refused: its version is `3.0`"),
        ("<xliff>" + "<a>" * 300, "line 1, is refused: elements are nested more than 256 deep"),
        ("<?xml version='1.0' encoding='unicode_escape'?><xliff>\\ud800</xliff>", "line 1: this"),
    ],
)  # fmt: skip
def test_what_is_no_xliff_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DataError, match=f"`file`, {reason}") as caught:
        opened(text, "xliff")
    assert caught.value.hint or "deep" in reason


def test_version_follows_from_the_namespace_where_it_is_missing() -> None:
    for version in ("2.1", ""):
        text = segment("<source>a dog</source>").replace(
            'version="2.1"',
            'xmlns="urn:oasis:names:tc:xliff:document:2.0"' + (version and f' version="{version}"'),
        )
        assert texts(text) == ["a dog"]
    assert texts(unit("<source>a dog</source>").replace(' version="1.2"', "")) == ["a dog"]


def test_deep_elements_are_read() -> None:
    depth = MAX_DEPTH - 6
    source = "<g>a dog " * depth + "</g>" * depth
    assert target(source).count("A DOG") == depth


def test_files_thrown_together() -> None:
    """No translation makes a file that is not XML."""
    parts = [
        "a ", "dog", "<g id='1'>", "</g>", "<x/>", "<bpt id='1'>", "</bpt>", "<ept id='1'/>",
        "&lt;b&gt;", "&lt;/b&gt;", "&amp;", "\n", "<mrk translate='no'>", "</mrk>", "<![CDATA[",
        "]]>", "&lt;code&gt;", "&lt;/code&gt;", "&lt;br/&gt;", "{x}", "<!--", "-->", "&lt;p&gt;",
        "*", "`", "&#10;", "\ufffc", "<mrk mtype='seg'>", "&amp;amp;", "&lt;", "<g>a dog</g>",
        "<mrk translate='no'>a</mrk>", "<![CDATA[<b>a]]>", "<mrk mtype='seg'>dog", "<!-- -->",
    ]  # fmt: skip
    chosen = random.Random(5)
    read = 0
    for index in range(3_000):
        source = "".join(chosen.choices(parts, k=chosen.randrange(1, 14)))
        space = " xml:space='preserve'" if index % 3 == 0 else ""
        if index % 5 == 0:
            text = unit(f"<source>x</source><seg-source>{source}</seg-source>", space)
        else:
            text = unit(f"<source>{source}</source>", space)
        try:
            document = opened(text, "xliff")
        except DataError:
            continue
        read += len(document.segments)
        assert document.render(document.segments) == text.encode()
        for change in (lambda each: each_text([each], str.upper)[0], tags_last):
            ElementTree.fromstring(document.render([change(each) for each in document.segments]))
    assert read > 300


def plural(inner: str = "", quote: str = "&quot;") -> str:
    """A source with a message of ICU, with something at the end of its first form."""
    message = f'{{n, plural, =1 {{<x id="1"/>one{inner}}} other {{all {{n}} {quote}it{quote} }}}}'
    return f"Updated {message} ago"


@pytest.mark.parametrize("make", [unit, segment])
def test_messages_with_elements_within_them_are_placeholders(make: Callable[..., str]) -> None:
    for end in ("<x/>", "", " &amp;<g id='2'>b</g>"):
        [found] = opened(make(f"<source>{plural()}{end}</source>"), "xliff").segments
        [message] = [piece for piece in found if isinstance(piece, Placeholder)]
        assert f"Updated {message.raw} ago" == plural(quote='"')
    assert target(plural(), make=make) == (
        plural(quote='"').replace("Updated", "UPDATED").replace("ago", "AGO")
    )


def test_elements_stay_nested_around_messages() -> None:
    for inner in ("<g id='2'>x</g>", "<g id='2'><x/></g>"):
        found = pieces(unit(f"<source>{plural(inner)}</source>"))
        assert [type(piece).__name__ for piece in found] == ["Text", "Placeholder", "Text"]
    for crossed in (
        "<g id='2'>a {n, plural, one {</g>b} other {c}} d",
        "a {n, plural, one {<g id='2'>b} other {c}} d</g>",
        "<g id='2'>a {n, plural, one {</g>b<g id='3'>} other {c}} d</g>",
    ):
        text = unit(f"<source>{crossed}</source>")
        assert Placeholder("{c}") in pieces(text)
        checked(text)


def test_message_of_several_lines_that_are_kept_is_one_placeholder() -> None:
    message = "{n, plural,\n  one {a dog}\n  other {dogs}}"
    text = unit(f"<source>One line\nand {message} sleep</source>", ' xml:space="preserve"')
    found = opened(text, "xliff").segments
    assert [plain_text(each) for each in found] == ["One line", f"and {message} sleep"]
    assert Placeholder(message) in found[1]


def test_elements_that_stand_for_words_are_placeholders() -> None:
    for make, element in (
        (unit, '<x id="INTERPOLATION" equiv-text="{{ name }}"/>'),
        (unit, '<x id="INTERPOLATION_1"/>'),
        (unit, '<x id="1" equiv-text="{0}"/>'),
        (unit, '<ph id="1">%s</ph>'),
        (unit, '<ph id="1">&#37;s</ph>'),
        (unit, '<ph id="1">%1$s</ph>'),
        (segment, '<ph id="0" equiv="INTERPOLATION" disp="{{name}}"/>'),
        (segment, '<ph id="0" disp="%(count)d"/>'),
    ):
        found = pieces(make(f"<source>The dog of {element} sleeps</source>"))
        assert Placeholder(element) in found
    for element in (
        '<x id="1" equiv-text="&lt;br/&gt;"/>', '<x id="1" equiv-text="{0} of {1}"/>',
        '<ph id="1">&lt;img/&gt;</ph>', '<ph id="1"><sub>%s</sub></ph>',
    ):  # fmt: skip
        assert kinds(unit(f"<source>The dog of {element} sleeps</source>")) == ["empty"]


def test_tags_of_angular_are_pairs() -> None:
    bold = 'a <x id="START_BOLD_TEXT"/>b<x id="CLOSE_BOLD_TEXT"/> c'
    assert kinds(unit(f"<source>{bold}</source>")) == ["open", "close"]
    span = 'a <x id="START_TAG_SPAN_1"/>b <x id="START_TAG_SPAN"/>c<x id="CLOSE_TAG_SPAN"/>'
    span += '<x id="CLOSE_TAG_SPAN"/> d'
    assert kinds(unit(f"<source>{span}</source>")) == ["open", "open", "close", "close"]
    assert target(bold) == bold.replace("a <", "A <").replace(">b<", ">B<").replace("> c", "> C")
    link = 'a <ph id="0" equiv="START_LINK"/>b<ph id="1" equiv="CLOSE_LINK"/> c'
    assert kinds(segment(f"<source>{link}</source>")) == ["open", "close"]
    assert (
        kinds(unit('<source>a <x id="RESTART_X"/>b<x id="CLOSE_X"/> c</source>')) == ["empty"] * 2
    )
