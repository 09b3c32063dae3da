"""Catalogues of gettext: which entries are translated, plurals, and how they are written."""

import polib
import pytest
from document_samples import changed, each_text, opened

from nmt_cli.data.markup.marked_text import plain_text
from nmt_cli.documents.document import ReadOptions, left_note, notes_of
from nmt_cli.documents.kinds import read_document
from nmt_cli.errors import DataError

HEAD = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals={0}; plural=0;\\n"\n\n'


def entries(text: str) -> list[polib.POEntry]:
    return list(polib.pofile(text))


def as_catalogue(text: str) -> str:
    """A catalogue with one entry."""
    return f"{polib.POEntry(msgid=text, msgstr='')}\n"


def test_only_entries_without_a_translation_are_translated() -> None:
    text = 'msgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr "c"\n\n#, fuzzy\nmsgid "d"\nmsgstr "e"\n'
    [first, second, third] = entries(changed(text, "po"))
    assert (first.msgstr, first.flags) == ("A", ["fuzzy"])
    assert (second.msgstr, second.flags) == ("c", [])
    assert (third.msgstr, third.flags) == ("e", ["fuzzy"])
    assert entries(changed(text, "po", fuzzy=True))[2].msgstr == "D"


def test_entries_need_no_empty_lines_between_them() -> None:
    text = (
        'msgid "a"\nmsgstr ""\nmsgctxt "x"\nmsgid "b"\nmsgstr ""\n'
        'msgid "c"\nmsgid_plural "d"\nmsgstr[0] ""\nmsgstr[1] ""\n#: e.c\nmsgid "f"\nmsgstr ""\n'
    )
    first, second, third, fourth = entries(changed(text, "po"))
    assert (first.msgstr, second.msgstr, second.msgctxt, fourth.msgstr) == ("A", "B", "x", "F")
    assert third.msgstr_plural == {0: "C", 1: "D"}
    assert {each.flags[0] for each in (first, second, third, fourth)} == {"fuzzy"}


def test_odd_line_ends_are_refused() -> None:
    """polib ends a line there: entries would not be where it says that they are."""
    for text in ('# a\u2028b\nmsgid "x"\nmsgstr ""\n', 'msgid "a\u2028b"\nmsgstr ""\n'):
        with pytest.raises(DataError):
            changed(text, "po")


def test_translation_that_is_the_source_is_not_written() -> None:
    text = 'msgid "OK"\nmsgstr ""\n'
    assert changed(text, "po", str.upper) == text


def test_entries_that_stay_without_a_translation_have_a_note() -> None:
    """What comes out empty is the segment itself; texts without words are no matter."""
    text = (
        'msgid "dog"\nmsgstr ""\n\nmsgid "OK"\nmsgstr ""\n\nmsgid "%d"\nmsgstr ""\n\n'
        'msgid "%d OK"\nmsgid_plural "%d OKS"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    )
    document = opened(text, "po")
    assert left_note("a.po", document) == ""
    document.render(each_text(document.segments, str.upper))
    assert left_note("a.po", document) == (
        "`a.po`: 2 entries stay without a translation, first line 4: what the model gave is empty, "
        "or the source itself"
    )
    document.render(each_text(document.segments, str.lower))
    assert left_note("a.po", document).startswith("`a.po`: 1 entry stays without")
    document.render(each_text(document.segments, str.title))
    assert left_note("a.po", document) == ""


def test_every_plural_form_gets_a_translation() -> None:
    plural = 'msgid "one %d"\nmsgid_plural "many %d"\n'
    for count, wanted in ((1, ["MANY %d"]), (2, ["ONE %d", "MANY %d"]),
                          (3, ["ONE %d", "MANY %d", "MANY %d"])):  # fmt: skip
        forms = "".join(f'msgstr[{form}] ""\n' for form in range(count))
        [entry] = entries(changed(HEAD.format(count) + plural + forms, "po"))
        assert list(entry.msgstr_plural.values()) == wanted
        assert entry.flags == ["fuzzy"]


def test_long_and_odd_texts_are_read_back_by_polib() -> None:
    source = 'a "quoted" back\\slash\ttab ' + "long words " * 20 + "\nanother line"
    entry = polib.POEntry(msgid=source, msgstr="")
    catalogue = polib.POFile()
    catalogue.append(entry)
    written = changed(str(catalogue), "po")
    assert entries(written)[0].msgstr == source.upper()
    assert max(map(len, written.rpartition("msgstr")[2].splitlines())) <= 80


def test_placeholders_are_no_words() -> None:
    text = 'msgid "%(name)s has {0} of %d ${x}"\nmsgstr ""\n'
    assert 'msgstr "%(name)s HAS {0} OF %d ${x}"' in changed(text, "po")


def test_part_of_an_entry_that_failed_keeps_the_source() -> None:
    text = 'msgid "a b\\n"\n"c d"\nmsgstr ""\n'
    document = opened(text, "po")
    first, second = document.segments
    [upper] = each_text([first], str.upper)
    [entry] = entries(document.render([upper, second]).decode())
    assert entry.msgstr == "A B\nc d"


def test_charset_of_the_header_is_kept() -> None:
    head = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    data = (head + 'msgid "grün"\nmsgstr ""\n').encode("latin-1")
    document = opened(data, "po")
    written = document.render(each_text(document.segments, str.upper))
    assert written.decode("latin-1").endswith('msgid "grün"\nmsgstr "GRÜN"\n')


def test_list_items_and_tabs_in_texts_are_kept() -> None:
    document = opened(as_catalogue("- a dog\n2) a cat\tand\t\ta bird\n"), "po")
    assert [plain_text(each) for each in document.segments] == ["a dog", "a cat", "and", "a bird"]
    [entry] = entries(document.render(each_text(document.segments, str.upper)).decode())
    assert entry.msgstr == "- A DOG\n2) A CAT\tAND\t\tA BIRD\n"
    assert changed('{"a": "* a\\tdog"}', "json") == '{"a": "* A\\tDOG"}'


def test_template_without_an_encoding_has_a_note() -> None:
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=CHARSET\\n"\n\n'
    data = (header + 'msgid "dog"\nmsgstr ""\n').encode()
    [note] = notes_of(read_document(data, "po", ReadOptions("my app.pot", "fr")))
    assert "(charset=CHARSET)" in note
    assert note.endswith("msginit -i 'my app.pot' -l fr -o fr.po --no-translator")
    named = data.replace(b"CHARSET", b"UTF-8")
    assert notes_of(read_document(named, "po", ReadOptions("my app.pot", "fr"))) == []
