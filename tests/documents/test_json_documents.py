"""JSON files: strings are translated where they stand, and every other byte stays."""

import json
import time
from collections.abc import Iterator

import pytest
from document_samples import JSON, changed, each_text, opened
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.data.markup.marked_text import Placeholder, plain_text
from nmt_cli.documents.document import ReadOptions, notes_of
from nmt_cli.documents.json_document import JsonDocument
from nmt_cli.documents.json_strings import MAX_DEPTH
from nmt_cli.documents.kinds import kind_of, read_document
from nmt_cli.errors import DataError

HALF = "half of a surrogate pair"
MANY = "1" * 4_301


def refused(text: str | bytes, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        opened(text, "json", **options)
    return caught.value


def texts(text: str, **options: object) -> dict[str, str]:
    """The texts of a file by their places."""
    document = opened(text, "json", **options)
    return dict(zip(document.places, map(plain_text, document.segments), strict=True))


def test_texts_of_an_app() -> None:
    assert changed(JSON, "json") == (
        JSON.replace("A dog", "A DOG").replace("Hello ", "HELLO ").replace("Open", "OPEN")
        .replace("Two", "TWO").replace("lines", "LINES").replace("Last", "LAST")
    )  # fmt: skip


def test_places_are_paths() -> None:
    text = (
        '{"menu": {"open": "a", "items": ["b", ["c", {"x.y": "d"}]]}, "Open it!": "e",'
        ' "": {"\\t": "f"}, "last": [{"a": 1, "b": "g"}, "h"]}'
    )
    assert list(opened(text, "json").places) == [
        "menu.open", "menu.items[0]", "menu.items[1][0]", "menu.items[1][1].x.y", '["Open it!"]',
        '[""]["\\t"]', "last[0].b", "last[1]",
    ]  # fmt: skip
    assert list(opened('[{"a": "x"}, ["y"], "z"]', "json").places) == ["[0].a", "[1][0]", "[2]"]
    assert list(opened(' "word" ', "json").places) == ["text"]
    assert list(opened('{"a": "two\\nlines<br>here"}', "json").places) == ["a"] * 3
    assert list(opened('{"\u2028": "x"}', "json").places) == ['["\\u2028"]']


def test_long_paths_are_shortened() -> None:
    [place] = opened(f'{{"{"k" * 61}": "x"}}', "json").places
    assert place == f'["{"k" * 60}..."]'.replace('["', "").replace('"]', "")
    deep = '{"key": ' * 100 + '"x"' + "}" * 100
    [place] = opened(deep, "json").places
    assert place.startswith("...")
    assert place.endswith(".key.key")
    assert len(place) <= 203


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encoding_and_endings_are_kept(ending: str, encoding: str) -> None:
    source = '{\n\t"a" :"Gr\u00fcn",\n\n "b":[ 1 ]}\n'.replace("\n", ending)
    document = opened(source.encode(encoding), "json")
    written = document.render(each_text(document.segments, str.upper))
    assert written == source.replace("Gr\u00fcn", "GR\u00dcN").encode(encoding)


@pytest.mark.parametrize(
    "value",
    [
        '""', '" "', '"12 %"', '"..."', '"{{name}}"', '"{count}"', '"%s"', '"$t(menu.open)"',
        '"@:menu.open"', '"$USER$"', '"https://example.org/dogs"', "1.50", "-0", "1E+2", "true",
        "false", "null", "{}", "[ ]", '"\\u00e9\\/"', '{"a": 1, "a": 2}',
        "123456789012345678901234567890", "1e999",
    ],
)  # fmt: skip
def test_what_has_no_words_stays(value: str) -> None:
    text = f'{{"a": {value}, "b": [ {value},"word" ], "a" : {value}}}'
    written = changed(text, "json", lambda words: f"<{words}>")
    if value == '"\\u00e9\\/"':
        assert written == text.replace(value, '"<\\u00e9/>"').replace("word", "<word>")
    else:
        assert written == text.replace("word", "<word>")


def test_a_key_that_occurs_twice_is_translated_twice() -> None:
    assert changed('{"a": "x", "a": "y"}', "json") == '{"a": "X", "a": "Y"}'


def test_strings_that_are_their_own_translation_stay_as_they_are_written() -> None:
    text = '["Gr\\u00fcn \\/ \\u0061", "\\uD83D\\uDE00 Gr\u00fcn", "a\\u000ab", "\\u007f w"]'
    document = opened(text, "json")
    assert document.render(document.segments) == text.encode()
    first, *others = document.segments
    [new] = each_text([first], str.upper)
    assert document.render([new, *others]).decode() == text.replace(
        "Gr\\u00fcn \\/ \\u0061", "GR\u00dcN / A"
    )


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ('["word"]', '["\u00fc \U0001f600"]'),
        ('["word", "\\u0041"]', '["\u00fc \U0001f600", "\u00fc \U0001f600"]'),
        ('["word", "\\u00e9"]', '["\\u00fc \\ud83d\\ude00", "\\u00fc \\ud83d\\ude00"]'),
        ('{"\\u00e9": "word"}', '{"\\u00e9": "\\u00fc \\ud83d\\ude00"}'),
        ('{"@\\u00e9": "word", "a": "b"}', '{"@\\u00e9": "word", "a": "\\u00fc \\ud83d\\ude00"}'),
        ('{"\\u00e9": 1, "\u00e9": "word"}', '{"\\u00e9": 1, "\u00e9": "\u00fc \U0001f600"}'),
        ('["word", "\\\\u00e9"]', '["\u00fc \U0001f600", "\u00fc \U0001f600"]'),
    ],
)
def test_new_texts_have_escapes_where_the_file_has_only_escapes(source: str, written: str) -> None:
    assert changed(source, "json", lambda _: "\u00fc \U0001f600") == written


@pytest.mark.parametrize(
    ("translation", "written"),
    [
        ('a "b"', '"a \\"b\\""'), ("a\\b", '"a\\\\b"'), ("a\tb", '"a\\tb"'),
        ("a\nb", '"a\\nb"'), ("a\u2028b", '"a\\u2028b"'), ("a\x85b", '"a\\u0085b"'),
        ("a\0b", '"a\\u0000b"'), ("a/b", '"a/b"'),
    ],
)  # fmt: skip
def test_translations_are_escaped(translation: str, written: str) -> None:
    assert changed('["word"]', "json", lambda _: translation) == f"[{written}]"


@pytest.mark.parametrize(
    ("line", "placeholders"),
    [
        ("Hello {{name}}, {name} of %s.", ["{{name}}", "{name}", "%s"]),
        ("See $t(menu.open) and $t(common:dog).", ["$t(menu.open)", "$t(common:dog)"]),
        ('Of $t(dogs, {"count": {{n}} }) here', ['$t(dogs, {"count": {{n}} })']),
        ("See @:menu.open. Or @.upper:a-b", ["@:menu.open", "@.upper:a-b"]),
        ("See @:(menu.open)s or @:{'dog'}.", ["@:(menu.open)", "@:{'dog'}"]),
        ("Hello $USER$, you owe $5 or $6$.", ["$USER$"]),
        ("Me &amp; you: $t(a) &lt; @:b", ["$t(a)", "@:b"]),
        ("$t(a)$t(b) word", ["$t(a)", "$t(b)"]),
        ("Write a@b.de or @: here, @ home", ["a@b.de"]),
        ("A $t(<b>) bold</b> word", []),
        ("$t({x} a", ["{x}"]),
        ("At https://a.b/$USER$ now", ["https://a.b/$USER$"]),
        ("Me@:home or you@@:home", []),
        ("It costs $US$5 and $t is", []),
        ("Hello :name, :other_one (:count)", [":name", ":other_one", ":count"]),
        ("Smile :dog: at 5:am, a:b or ::c : d", []),
        ("You have __count__ dogs, __a b__ or a__b__", ["__count__"]),
    ],
)
def test_placeholders_of_apps(line: str, placeholders: list[str]) -> None:
    document = opened(json.dumps([line]), "json")
    [segment] = document.segments
    found = [piece.raw for piece in segment if isinstance(piece, Placeholder)]
    # At the ends, a placeholder stays in its sentence.
    assert found == placeholders
    assert document.render(document.segments).decode() == json.dumps([line])


def test_entity_that_stands_for_a_letter_is_translated() -> None:
    assert changed('["&#228; 1", "&#49;"]', "json", lambda _: "x") == '["x", "&#49;"]'


def test_references_are_kept_beside_translated_words() -> None:
    assert changed('["Me &amp; $t(a) &lt; b @:c."]', "json") == '["ME &amp; $t(a) &lt; B @:c."]'


MESSAGE = "{n, plural, one {# dog} other {# dogs}}"


def test_messages_of_icu_stay_and_are_counted() -> None:
    lines = MESSAGE.replace(", one", ",\\n  one").replace(" other", "\\n  other")
    text = (
        f'{{"a": {{"b": ["x", "{MESSAGE}"]}}, "c": "You see {MESSAGE}.", "d": "On {{d, date}}",'
        f' "e": "See\\n{lines}"}}'
    )
    document = opened(text, "json")
    assert document.render(each_text(document.segments, str.upper)).decode() == (
        text.replace('"x"', '"X"').replace("You see", "YOU SEE").replace("On ", "ON ")
    )
    assert list(notes_of(document)) == [
        "`file`: 3 texts have a plural or select message of ICU, first `a.b[1]`; the texts in "
        "these messages are not translated"
    ]
    [note] = notes_of(opened(f'["{MESSAGE}"]', "json"))
    assert "1 text has a plural or select message of ICU, first `[0]`" in note
    # A brace that is never closed begins no message.
    assert notes_of(opened('["{n, plural, one {# dog"]', "json")) == []
    assert notes_of(opened("a", "text")) == ()


CHROME = """{
  "name": {"message": "A dog", "description": "The name"},
  "hello": {"description": "x", "message": "Hello $USER$",
            "placeholders": {"user": {"content": "$1", "example": "Anna", "message": "b"}}},
  "plain": {"message": "Plain"}
}"""


def test_messages_of_chrome() -> None:
    assert changed(CHROME, "json") == (
        CHROME.replace("A dog", "A DOG").replace("Hello", "HELLO").replace("Plain", "PLAIN")
    )
    assert texts(CHROME, field="description") == {
        "name.description": "The name", "hello.description": "x",
    }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        '{"message": "b", "description": "c", "title": "d"}', '{"description": "c"}', '"text"',
        '{"message": ["b"]}', '{"message": 5, "description": "c"}',
        '{"message": "b", "description": ["c"]}',
        '{"message": "b", "placeholders": "c"}', "[]",
    ],
)  # fmt: skip
def test_other_files_with_messages_are_translated_as_a_whole(other: str) -> None:
    text = f'{{"a": {{"message": "x", "description": "y"}}, "b": {other}}}'
    assert texts(text).items() >= {"a.message": "x", "a.description": "y"}.items()
    assert changed(text, "json", lambda _: "1").count('"1"') == len(texts(text))


def test_empty_file_is_not_one_of_chrome() -> None:
    for text in ("{}", "[]", "1", "null", ' {"a": {}} '):
        document = opened(text, "json")
        assert (document.segments, document.render([])) == ([], text.encode())


def test_metadata_of_flutter() -> None:
    text = (
        '{"@@locale": "en", "@@x": {"a": "b"}, "title": "A dog", "@title": {"description": "c",'
        ' "placeholders": {"n": {"type": "String"}}}, "list": [{"@id": "d", "e": "f"}], "g@": "h"}'
    )
    assert texts(text) == {"title": "A dog", "list[0].e": "f", "g@": "h"}


FIELDS = """[
 {"type": "button", "label": "Save", "item": {"title": "One", "label": ["Two", {"type": "x"}]}},
 {"title": "Three", "item.title": "Four", "other": {"item": [{"title": "Five"}], "label": 5}}
]"""


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("label", ["Save", "Two", "x"]),
        ("title", ["One", "Three", "Five"]),
        ("item.title", ["One", "Four", "Five"]),
        ("other.item.title", ["Five"]),
        ("item", ["One", "Two", "x", "Five"]),
        ("type", ["button", "x"]),
    ],
)
def test_field(field: str, found: list[str]) -> None:
    assert list(texts(FIELDS, field=field).values()) == found


@pytest.mark.parametrize("field", ["Title", "titl", "a.title", "item.", ".title", "other.title"])
def test_field_that_has_no_text_is_refused(field: str) -> None:
    error = refused(FIELDS, field=field)
    assert error.message == f"`file`: no text in a field `{field}`"
    assert error.hint.startswith("--field names a key as it is written")
    assert refused(FIELDS, field=field, is_served=True).hint.startswith("`field` names a key")
    assert changed('{"title": "12"}', "json", field="title") == '{"title": "12"}'


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", (1, 1), "not JSON: Expecting value"),
        ("words", (1, 1), "not JSON: Expecting value"),
        ('{"a": "b"', (1, 10), "not JSON: Expecting ',' delimiter"),
        ('{\n "a": "b"\n "c": 1}', (3, 2), "not JSON: Expecting ',' delimiter"),
        ('{\r"a": \r\n 1,\n\n  b}', (5, 3), "not JSON: Expecting property name"),
        ('["a\nb"]', (1, 4), "not JSON: Invalid control character"),
        ('[\n"a]', (2, 1), "not JSON: Unterminated string"),
        ('["\\x"]', (1, 3), "not JSON: Invalid \\escape"),
        ("[1] // no", (1, 5), "more text behind the end of the value"),
        ("{'a': 1}", (1, 2), "not JSON: Expecting property name"),
        ("\ufeff\ufeff[]", (1, 1), "not JSON: "),
        ('\ufeff{"a":\nNaN}', (2, 1), "NaN is no value of JSON"),
        ("[Infinity]", (1, 2), "Infinity is no value of JSON"),
        ("[\n1, -Infinity]", (2, 4), "-Infinity is no value of JSON"),
        (f"[1,\n -{MANY}]", (2, 2), "a number of more than 4,300 digits"),
        ('{"a": ["\\ud83d"]}', (1, 8), HALF),
        ('{"a": ["\\ude00\\ud83d"]}', (1, 8), HALF),
        ('{"@a": ["\\ud83d x"]}', (1, 9), HALF),
        ('{\n"\\ud83d": 1}', (2, 1), HALF),
        ("\n" + "[" * 257 + "]" * 257, (2, 257), "nested more than 256 deep"),
        ('[\n{"a":' * 200, (129, 6), "nested more than 256 deep"),
        ("[" * 1_000_000, (1, 257), "nested more than 256 deep"),
    ],
    ids=range(22),
)
def test_what_is_not_json_is_refused_with_its_place(
    text: str, place: tuple[int, int], reason: str
) -> None:
    error = refused(text)
    line, column = place
    assert error.message.startswith(f"`file`, line {line}, column {column}: ")
    assert reason in error.message
    assert error.hint


def test_what_python_reads_with_care_is_read() -> None:
    text = f"[{'1' * 4_300}, 1{'0' * 5_000}.0, {MANY}e1, -1]"
    assert changed(text, "json") == text
    for brackets in ("[" * MAX_DEPTH + "]" * MAX_DEPTH, '{"a":' * 255 + "[]" + "}" * 255):
        assert changed(brackets, "json") == brackets
    siblings = "[" + ", ".join(["[{}]"] * 300) + "]"
    assert changed(siblings, "json") == siblings
    # Brackets in strings are none, and neither is what an escaped mark seems to end.
    strings = json.dumps(["[" * 300, '"' + "{" * 300, "\\"] * 3)
    assert changed(strings, "json") == strings


def test_json_lines_are_named() -> None:
    lines = '\n{"a": "b"}\n{"a": "c"}\n'
    error = refused(lines)
    assert "line 3, column 1: not JSON: more text behind" in error.message
    assert error.hint == "each line is an object of its own, so these are JSON lines: --kind jsonl"
    assert refused(lines, is_served=True).hint.endswith("JSON lines: `kind` jsonl")
    for other in ("[1]\n[2]\n", '{"a": 1} {"b": 2}\n', '{"a": 1}\n}', "1 2", "{\n}\n{\n}"):
        assert refused(other).hint == "a JSON file has one value; put several into a list"


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    error = refused(b'{"a":\n "Gr\xfcn"}')
    assert "line 2: not UTF-8" in error.message
    assert "iconv" in error.hint


@pytest.mark.parametrize("name", ["a.json", "A.JSON", "app_en.arb", "x.ARB"])
def test_suffixes(name: str) -> None:
    assert kind_of(name) == "json"
    assert isinstance(read_document(b"{}", kind_of(name), ReadOptions(name)), JsonDocument)


def test_number_of_translations_must_be_that_of_segments() -> None:
    document = opened('["a", "b"]', "json")
    with pytest.raises(ValueError, match="1 translations of 2"):
        document.render(document.segments[:1])


@pytest.mark.parametrize(
    "part", ['"', '"\\', "[", '{"a":', '\\"', '"$t(', "1" * 99 + ".", '["@:a.', "[,", "$A$ &amp;"]
)
def test_work_grows_with_the_length_of_broken_files(part: str) -> None:
    began = time.process_time()
    for text in (part * (400_000 // len(part)), json.dumps([part * (400_000 // len(part))])):
        try:
            opened(text, "json")
        except DataError:
            continue
    assert time.process_time() - began < 10


def test_paths_of_many_texts_take_little_memory() -> None:
    """A long key is not part of the place of each text below it."""
    text = json.dumps({"k" * 1_000_000: ["a"] * 1_000})
    assert all(len(place) < 100 for place in opened(text, "json").places)


WORDS = st.text(st.sampled_from('ab\u00e9"\\/\n\r\t <>&{}[]$@:,.1\u2028\U0001f600'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def strings_of(value: object) -> Iterator[str]:
    """The strings of a value, without those at keys of metadata."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from strings_of(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if not key.startswith("@"):
                yield from strings_of(each)


@settings(max_examples=400, deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2, "\t"]))
def test_any_file_keeps_its_bytes_and_its_structure(
    value: object, ensure_ascii: bool, indent: int | str | None
) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    document = opened(text, "json")
    assert document.render(document.segments) == text.encode()
    written = document.render(each_text(document.segments, lambda words: words + "\u00fc"))
    again = json.loads(written)
    assert list(strings_of(again)) != list(strings_of(value)) or not document.segments

    def shape(of: object) -> object:
        if isinstance(of, list):
            return [shape(each) for each in of]
        if isinstance(of, dict):
            return {key: shape(each) for key, each in of.items()}
        return "" if isinstance(of, str) else of

    assert shape(again) == shape(value)


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from('{}[]",:\\ \n1e-.uad8t@'), max_size=24))
def test_any_text_is_json_or_refused(text: str) -> None:
    try:
        document = opened(text, "json")
    except DataError:
        return
    json.loads(text)
    assert document.render(document.segments) == text.encode()
    json.loads(document.render(each_text(document.segments, str.upper)))
