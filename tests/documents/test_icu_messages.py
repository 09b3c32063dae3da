"""Messages of ICU in documents: they stay as they are, and a note counts their texts."""

import json

import pytest
from document_samples import each_text, opened

from nmt_cli.documents.document import notes_of

MESSAGE = "{n, plural, one {# dog} other {# dogs}}"
LINES = MESSAGE.replace("} ", "}\n  ")
TEXTS = ("a dog", f"a {MESSAGE}", f"b {LINES} c", LINES)


def as_po(*texts: str) -> str:
    return "".join(f'msgid {json.dumps(text)}\nmsgstr ""\n\n' for text in texts)


def as_units(*texts: str) -> str:
    units = "".join(
        f"<trans-unit xml:space='preserve'>\n<source>{text}</source></trans-unit>" for text in texts
    )
    return f"<xliff version='1.2'><file><body>{units}</body></file></xliff>"


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("po", as_po(*TEXTS), "line 4"),
        ("xliff", as_units(*TEXTS), "line 3"),
        ("html", "<p>".join(TEXTS), "line 1"),
        ("table", "text,b\n" + "".join(f'"{text}",c\n' for text in TEXTS), "line 3"),
        ("jsonl", "".join(json.dumps({"text": text}) + "\n" for text in TEXTS), "line 2"),
        ("json", json.dumps(TEXTS), "`[1]`"),
    ],
)
def test_texts_with_messages_are_counted_and_their_messages_stay(
    kind: str, text: str, place: str
) -> None:
    document = opened(text, kind)
    assert list(notes_of(document)) == [
        f"`file`: 3 texts have a plural or select message of ICU, first {place}; the texts in "
        "these messages are not translated"
    ]
    written = document.render(each_text(document.segments, str.upper)).decode()
    assert "A DOG" in written
    for message in (MESSAGE, LINES):
        shown = json.dumps(message)[1:-1] if kind in ("jsonl", "json") else message
        assert written.count(shown) >= text.count(shown) or kind == "po"
    assert "DOGS" not in written
    assert notes_of(opened(text.replace("plural", "date"), kind)) == []


def test_one_text_with_messages_on_two_lines_counts_once() -> None:
    [note] = notes_of(opened(as_po(f"{MESSAGE}\n{MESSAGE}", MESSAGE), "po"))
    assert "2 texts have" in note
    [note] = notes_of(opened(as_po(MESSAGE), "po"))
    assert "1 text has" in note
