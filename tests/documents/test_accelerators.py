"""Accelerators of labels in catalogues and XLIFF are kept."""

import polib
import pytest
from document_samples import changed, opened

from nmt_cli.data.markup.marked_text import plain_text
from nmt_cli.documents.accelerators import find_accelerator, label_with


def po(text: str) -> str:
    return f"{polib.POEntry(msgid=text, msgstr='')}\n"


def xliff(source: str) -> str:
    return (
        '<xliff version="1.2"><file original="a" source-language="en" datatype="x"><body>'
        f'<trans-unit id="1"><source>{source}</source></trans-unit></body></file></xliff>'
    )


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("Cancel the &notice", "&CANCEL THE NOTICE"),
        ("&Notice to all", "&NOTICE TO ALL"),
        ("'%s' &view", "'%s' &VIEW"),
        ("the <b>&view</b> of {x}", "&THE <b>VIEW</b> OF {x}"),
        ("save _as...", "_SAVE AS..."),
        ("_open", "_OPEN"),
        # Within a word.
        ("E&xit", "&EXIT"),
        ("select a&ll", "&SELECT ALL"),
        ("the <b>vie&w</b> of {x}", "&THE <b>VIEW</b> OF {x}"),
        ("Sa_ve as...", "_SAVE AS..."),
        ("Select A_ll", "_SELECT ALL"),
        # No accelerators, or not clear.
        ("AT&T && more", "AT&T && MORE"),
        ("one &a, one &b", "ONE &A, ONE &B"),
        ("a &amp; the &file", "A &amp; THE &amp;FILE"),
        ("the variable _name is lost.", "THE VARIABLE _NAME IS LOST."),
        ("call _init()", "CALL _INIT()"),
        ("_a and _b", "_A AND _B"),
        ("R&D, Q&a", "R&D, Q&A"),
        ("drag&drop", "DRAG&DROP"),
        ("The rock&roll of Tom&jerry.", "THE ROCK&ROLL OF TOM&JERRY."),
        ("fo&rmat, sa&ve", "FO&RMAT, SA&VE"),
        ("the file_name", "THE FILE_NAME"),
        ("The File_name.txt", "THE FILE_NAME.TXT"),
        ("see ?user=x&page=3", "SEE ?USER=X&PAGE=3"),
    ],
)
def test_accelerators_of_catalogues_are_before_the_first_letter(
    source: str, translation: str
) -> None:
    [entry] = polib.pofile(changed(po(source), "po"))
    assert entry.msgstr == translation


def test_accelerator_is_no_part_of_the_text_that_is_translated() -> None:
    for text, kind in ((po("Cancel the &notice"), "po"),
                       (xliff("Cancel the &amp;notice"), "xliff")):  # fmt: skip
        [segment] = opened(text, kind).segments
        assert plain_text(segment) == "Cancel the notice"


def test_each_form_of_a_plural_has_its_accelerator() -> None:
    plural = 'msgid "&one"\nmsgid_plural "many"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    [entry] = polib.pofile(changed(plural, "po"))
    assert entry.msgstr_plural == {0: "&ONE", 1: "MANY"}


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("the &amp;view", "&amp;THE VIEW"),
        ("&lt;b>the&lt;/b> &amp;view", "&lt;b&gt;&amp;THE&lt;/b&gt; VIEW"),
        ("AT&amp;T", "AT&amp;T"),
        ("e&amp;xit", "&amp;EXIT"),
        ("a _view", "A _VIEW"),
        ("(a) the &amp;x; or (b) the y", "(a) THE &amp;X; OR (b) THE Y"),
        ('the <x id="1"/> &amp;view', 'THE <x id="1"/> &amp;VIEW'),
    ],
)
def test_accelerators_of_xliff_are_before_the_first_letter(source: str, translation: str) -> None:
    assert f">{translation}</target>" in changed(xliff(source), "xliff")


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("ファイル...", "ファイル(&F)..."),
        ("保存：", "保存(&F)："),
        ("<b>保存</b>", "<b>保存</b>(&F)"),
        ("&quot;Akte&quot;", "&quot;&Akte&quot;"),
        ("%s", "%s"),
    ],
)
def test_where_an_accelerator_is_written(translation: str, expected: str) -> None:
    assert label_with(translation, find_accelerator("&file")) == expected
