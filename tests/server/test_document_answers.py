"""What the answer to a document says of it, as the command does: warnings, segments that stay."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from servers import RunningServer, running_server

from nmt_cli.config.schema import LanguagesConfig
from nmt_cli.data.markup.marked_text import Placeholder
from nmt_cli.translation.translator import Translator

PO = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: {}\\n"\n\n'
    'msgid "abc"\nmsgstr ""\n'
)
PAGE = '<html lang="{}"><p>abc'
XLIFF = (
    '<xliff version="1.2"><file source-language="{}" target-language="{}"><trans-unit>'
    "<source>abc</source></trans-unit></file></xliff>"
)


def served(src: str, tgt: str) -> Translator:
    config = replace(byte_config(), languages=LanguagesConfig(src, tgt))
    return Translator(byte_model(config), config, byte_subwords())


def answer_to(server: RunningServer, kind: str, text: str) -> dict[str, object]:
    asked = {"document": {"kind": kind, "text": text}}
    answer: dict[str, object] = server.ask("POST", "/v1/translate", asked).json
    return answer


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(served("en", "fr")) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "text", "declared"),
    [
        ("html", PAGE.format("es"), ["es"]),
        ("po", PO.format("de"), ["de"]),
        ("xliff", XLIFF.format("es", "de"), ["es", "de"]),
    ],
)
def test_languages_of_a_document_are_warned_of(
    server: RunningServer, kind: str, text: str, declared: list[str]
) -> None:
    answer = answer_to(server, kind, text)
    warnings = answer["warnings"]
    assert isinstance(warnings, list)
    assert len(warnings) == len(declared)
    for code, warning in zip(declared, warnings, strict=True):
        assert warning.startswith("`document`, line ")
        assert f"`{code}`" in warning
    assert answer["document"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("html", PAGE.format("en-GB")),
        ("po", PO.format("fr")),
        ("xliff", XLIFF.format("en", "fr")),
        ("text", "abc"),
    ],
)
def test_other_documents_have_no_warnings(server: RunningServer, kind: str, text: str) -> None:
    assert answer_to(server, kind, text).keys() == {"translations", "document"}


def test_model_whose_languages_have_no_names_warns_of_nothing() -> None:
    with running_server(served("src", "tgt")) as server:
        assert "warnings" not in answer_to(server, "xliff", XLIFF.format("es", "de"))


def test_segment_that_keeps_its_source_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Translator.translate_marked

    def translate(self, texts, **options):  # type: ignore[no-untyped-def]
        first, *others = real(self, texts, **options)
        return [replace(first, pieces=(Placeholder("{name}"),)), *others]

    monkeypatch.setattr(Translator, "translate_marked", translate)
    with running_server() as server:
        answer = server.ask(
            "POST", "/v1/translate", {"document": {"kind": "text", "text": "abc {name}\nabc"}}
        ).json
        metrics = server.ask("GET", "/metrics").body.decode()
    assert ["source_kept" in each["flags"] for each in answer["translations"]] == [True, False]
    assert answer["document"]["text"].startswith("abc {name}\n")
    assert 'flag="source_kept"} 1.0' in metrics
