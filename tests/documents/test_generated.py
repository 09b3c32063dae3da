"""Generated documents of every kind: no word is lost, doubled, or translated where it is kept.

Each word of such a document occurs once, and says itself whether it is to be translated.
"""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from document_samples import each_text, opened, tags_last
from generated_documents.markdown import markdown
from generated_documents.pages import page
from generated_documents.reports import report, texts_of
from generated_documents.texts import (
    catalogue,
    cues,
    json_file,
    json_lines,
    lines,
    table,
    units,
)
from generated_documents.words import Words, expected_words, written_words

from nmt_cli.data.markup.marked_text import MarkedText, plain_text

GENERATORS: dict[str, Callable[[Words], str | bytes]] = {
    "text": lines, "html": page, "markdown": markdown, "subtitles": cues, "po": catalogue,
    "xliff": units, "docx": report, "jsonl": json_lines,
    "table": table, "json": json_file,
}  # fmt: skip
# Their documents keep the source beside the translation.
WITH_SOURCE = ("po", "xliff", "jsonl", "table")
# Every record gets new fields.
WITH_FIELDS = ("jsonl", "table")
# For thousands of documents, set it higher.
EXAMPLES = {"docx": 40, "markdown": 250}
OTHER_EXAMPLES = 120


def generated(kind: str) -> list[bytes]:
    documents = []
    for seed in range(EXAMPLES.get(kind, OTHER_EXAMPLES)):
        content = GENERATORS[kind](Words(seed))
        documents.append(content.encode() if isinstance(content, str) else content)
    return documents


def shown(data: bytes, kind: str) -> str:
    return texts_of(data) if kind == "docx" else data.decode()


def wanted(text: str, kind: str) -> Counter[str]:
    """How often each word must be in the document when all texts are in capitals."""
    words = expected_words(text)
    return words + written_words(text) if kind in WITH_SOURCE else words


def counted(text: str, kind: str) -> Counter[str]:
    """How often each word is in a document; kept ones once, if the source is beside them."""
    words = written_words(text)
    if kind in WITH_SOURCE:
        words = Counter({word: 2 if word[0] == "k" else words[word] for word in words})
    return words


@pytest.mark.parametrize("kind", GENERATORS)
def test_each_word_is_written_once(kind: str) -> None:
    for data in generated(kind):
        text = shown(data, kind)
        document = opened(data, kind)
        for translations in (
            each_text(document.segments, str.upper),
            [tags_last(segment) for segment in document.segments],
        ):
            written = shown(document.render(translations), kind)
            assert counted(written, kind) == wanted(text, kind), text


@pytest.mark.parametrize("kind", [kind for kind in GENERATORS if kind not in WITH_FIELDS])
def test_identity_gives_the_same_bytes(kind: str) -> None:
    for data in generated(kind):
        document = opened(data, kind)
        assert document.render(document.segments) == data


@pytest.mark.parametrize("kind", ["text", "html", "markdown", "docx"])
def test_a_translated_document_has_the_same_segments(kind: str) -> None:
    """So no block is joined with another one, and no word becomes a mark."""

    def words(segment: MarkedText) -> list[str]:
        return plain_text(segment).split()

    def change(text: str) -> str:
        # The first letters tell whether a line begins a sentence.
        return re.sub(r"(?<=[^\W_])[^\W_]+", lambda match: match[0].upper(), text)

    for data in generated(kind):
        document = opened(data, kind)
        translations = each_text(document.segments, change)
        again = opened(document.render(translations), kind)
        assert list(map(words, again.segments)) == list(map(words, translations)), shown(data, kind)


def test_cues_keep_their_lines() -> None:
    for data in generated("subtitles"):
        document = opened(data, "subtitles")
        written = document.render(each_text(document.segments, str.upper))
        assert written.splitlines()[:-1].count(b"") == data.splitlines()[:-1].count(b"")
        assert len(written.splitlines()) == len(data.splitlines())
