"""The paths of the server: what they answer, and to whom."""

import asyncio
import base64
import gzip
import json
import shutil
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from servers import RunningServer, byte_translator, is_true_soon, running_server

from nmt_cli.config.schema import Config
from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.documents.kinds import KINDS
from nmt_cli.model_dir import save_model
from nmt_cli.search.beam import BeamSearch
from nmt_cli.server.limits import Limits
from nmt_cli.server.refusals import RefusedError
from nmt_cli.server.service import Service
from nmt_cli.translation.calls import chosen_settings
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.translator import Translator

LINES = ("abc de", "", "a <b>bold</b> {name} word", "fgh abc fgh " * 8)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as made:
        yield made


def test_translations_are_the_documents_of_the_command(server: RunningServer) -> None:
    translator = byte_translator()
    expected = [as_json_line(*pair) for pair in enumerate(translator.translate(list(LINES)))]
    answer = server.ask(
        "POST", "/v1/translate", {"lines": LINES}, {"accept": "application/x-ndjson"}
    )
    assert answer.body.decode() == "".join(expected)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert server.translate(*LINES).json == {"translations": [json.loads(e) for e in expected]}


def test_options_of_a_request_are_those_of_the_translator(server: RunningServer) -> None:
    options = {"beam": 4, "n_best": 3, "alignment": True, "markup": "off"}
    expected = byte_translator().translate(list(LINES), **options)
    answers = server.translate(*LINES, **options).json["translations"]
    assert answers == [json.loads(as_json_line(*pair)) for pair in enumerate(expected)]
    assert any(len(answer["hypotheses"]) == 3 for answer in answers)


def test_beam_of_a_request_limits_the_number_of_translations_of_the_server() -> None:
    with running_server(search={"beam": 4, "n_best": 3}) as server:
        for fields, count in (({}, 3), ({"beam": 1}, 1), ({"beam": 2}, 2), ({"beam": 6}, 3)):
            [translation] = server.translate("abc de", **fields).json["translations"]
            assert len(translation["hypotheses"]) == count, fields
        assert server.translate("abc", n_best=3, beam=1).status == 400
    with running_server(search={"n_best": 3, "sample": True}) as server:
        [translation] = server.translate("abc de", beam=1).json["translations"]
        assert len(translation["hypotheses"]) == 3


def test_glossary_of_a_request_is_used(server: RunningServer) -> None:
    lines = ["abc de", "fgh"]
    entries = (Entry("abc", ("xyz", "uvw"), 1),)
    expected = byte_translator().translate(lines, constraints=Constraints((), entries))
    assert "xyz" in expected[0].text or "uvw" in expected[0].text
    answer = server.translate(*lines, glossary={"abc": ["xyz", "uvw"]})
    assert answer.texts == [translation.text for translation in expected]


def test_names_of_a_request_are_kept(server: RunningServer) -> None:
    lines, names = ["abc de fgh", "<b>fgh</b> a"], ["fgh", "de"]
    constraints = Constraints(keep=names)
    expected = byte_translator().translate(lines, constraints=constraints)
    answer = server.translate(*lines, keep=names)
    assert answer.texts == [translation.text for translation in expected]
    assert "fgh" in answer.texts[1]
    document = {"kind": "markdown", "text": "# fgh a\n\n2\\* abc de"}
    written = server.ask("POST", "/v1/translate", {"document": document, "keep": names}).json
    heading, paragraph = written["document"]["text"].split("\n\n")
    assert ("fgh" in heading, "de" in paragraph.split()) == (True, True)
    assert server.translate(*lines, keep=[]).texts == server.translate(*lines).texts


def test_document_is_translated_and_keeps_its_form(server: RunningServer) -> None:
    page = "<h1>abc</h1>\n<p>fgh <i>de</i></p><script>abc</script>"
    answer = server.ask("POST", "/v1/translate", {"document": {"kind": "html", "text": page}}).json
    first, second = (translation["text"] for translation in answer["translations"])
    assert answer["document"]["text"] == f"<h1>{first}</h1>\n<p>{second}</p><script>abc</script>"
    assert [each["place"] for each in answer["translations"]] == ["line 1", "line 2"]


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("html", '<meta charset="iso-8859-1"><!-- \u0142 --><p>abc \u0142</p>'),
        (
            "po",
            '# \u0142\nmsgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
            'msgid "abc \u0142"\nmsgstr ""\n',
        ),
        (
            "xliff",
            '<?xml version="1.0" encoding="iso-8859-1"?><xliff version="1.2"><!-- \u0142 -->'
            '<file target-language="de"><trans-unit><source>abc \u0142</source></trans-unit>'
            "</file></xliff>",
        ),
    ],
)
def test_document_in_json_is_text_whatever_encoding_it_declares(
    server: RunningServer, kind: str, document: str
) -> None:
    asked = {"document": {"kind": kind, "text": document}}
    answer = server.ask("POST", "/v1/translate", asked).json
    [translation] = answer["translations"]
    assert translation["text"] == server.translate("abc \u0142").texts[0]
    kept, _, _ = document.partition("abc")
    assert answer["document"]["text"].startswith(kept.removesuffix('msgid "'))
    assert translation["text"] in answer["document"]["text"]


def test_word_document_is_taken_and_given_as_base64(server: RunningServer) -> None:
    import io

    docx = pytest.importorskip("docx")
    made, buffer = docx.Document(), io.BytesIO()
    made.add_paragraph("abc de")
    made.save(buffer)
    content = base64.b64encode(buffer.getvalue()).decode()
    answer = server.ask(
        "POST", "/v1/translate", {"document": {"kind": "docx", "base64": content}}
    ).json
    written = docx.Document(io.BytesIO(base64.b64decode(answer["document"]["base64"])))
    assert [each.text for each in written.paragraphs] == [answer["translations"][0]["text"]]


def test_health_and_readiness(server: RunningServer) -> None:
    assert (server.ask("GET", "/healthz").status, server.ask("GET", "/readyz").status) == (200, 200)
    server.service.draining = True
    try:
        assert server.ask("GET", "/readyz").status == 503
        assert server.ask("GET", "/healthz").status == 200
    finally:
        server.service.draining = False


def test_a_library_that_the_server_lacks_is_not_the_fault_of_the_request(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt_cli.documents.libraries.find_spec", lambda _: None)
    document = {"kind": "markdown", "text": "abc"}
    answer = server.ask("POST", "/v1/translate", {"document": document})
    assert answer.status == 501
    assert answer.json["error"] == "Markdown documents need the library markdown-it-py"
    assert answer.json["hint"].startswith("on the server: ")
    assert "documents" in answer.json["hint"]


def test_a_model_that_was_replaced_is_the_fault_of_the_server(tmp_path) -> None:
    """What needs the model again is refused, and the server is ready no more; lines still work."""
    config = byte_config()
    save_model(tmp_path / "m", byte_model(config).state_dict(), config, byte_subwords(), {})
    translator = Translator.load(tmp_path / "m")
    with running_server(translator) as server:
        assert server.translate("abc").status == 200
        for change in ("damaged", "incomplete", "replaced", "gone"):
            server.service.model_changed = False
            if change == "damaged":
                (tmp_path / "m" / "model.safetensors").write_bytes(b"half of a copy")
            elif change == "incomplete":
                (tmp_path / "m" / "model.safetensors").unlink()
            else:
                shutil.rmtree(tmp_path / "m")
            if change == "replaced":
                weights = byte_model(config, 5).state_dict()
                save_model(tmp_path / "m", weights, config, byte_subwords(), {})
            assert server.ask("GET", "/readyz").status == 200
            # As before the first request that needs the model in torch.
            translator._model._reference = None
            vars(translator._model).pop("forcer", None)
            answer = server.translate("abc", alignment=True)
            assert answer.status == 503
            assert str(tmp_path) not in answer.body.decode()
            hint = "restart the server, so that it loads the model that is there now"
            assert answer.json["hint"] == hint
            assert server.ask("GET", "/readyz").status == 503
            assert server.ask("GET", "/healthz").status == 200
            assert server.translate("abc").status == 200


def test_the_time_without_requests_says_nothing_about_the_rate(server, monkeypatch) -> None:
    service = server.service
    now = time.monotonic()
    monkeypatch.setattr(service, "_finished", deque([now - 50.0, now - 40.0], maxlen=9))
    monkeypatch.setattr(service, "_count", 6)
    assert 40 <= service._seconds_until_free() <= 60
    monkeypatch.setattr(service, "_count", 0)
    service._enter()
    assert service._count == 1
    assert service._seconds_until_free() == 1


@pytest.mark.parametrize(("count", "seconds"), [(1, 1), (40, 20), (900, 60)])
def test_retry_after_is_when_half_of_the_requests_are_done(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, count: int, seconds: int
) -> None:
    """Ten answers followed the first of the last ten seconds: one a second."""
    service = server.service
    monkeypatch.setattr("nmt_cli.server.service.time", SimpleNamespace(monotonic=lambda: 60.0))
    monkeypatch.setattr(service, "_finished", deque(range(50, 61)))
    monkeypatch.setattr(service, "_count", count)
    monkeypatch.setattr(service, "limits", replace(service.limits, requests=count))
    answer = server.translate("abc")
    assert answer.status == 429
    assert answer.headers["retry-after"] == str(seconds)
    assert answer.json["hint"] == f"try again in {seconds} s"


def test_requests_whose_bodies_are_read_at_once_are_no_more_than_the_limit() -> None:
    """Each of them was admitted before its body was read, when there was room."""
    translator = byte_translator()
    search = chosen_settings(translator.config, None, {})
    service = Service(translator, search, Limits(requests=2))
    held = threading.Event()

    async def answers() -> list[object]:
        request = SimpleNamespace(receive=asyncio.Event().wait)
        running = [asyncio.ensure_future(service.run(lambda _: held.wait(60), request))]
        running += [asyncio.ensure_future(service.run(lambda _: True, request)) for _ in range(2)]
        await asyncio.sleep(0)
        held.set()
        return await asyncio.gather(*running, return_exceptions=True)

    first, second, third = asyncio.run(answers())
    service.close(60)
    assert (first, second) == (True, True)
    assert isinstance(third, RefusedError)
    assert third.status == 429


def test_a_server_is_ready_once_it_has_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, translator = threading.Event(), byte_translator()
    search = chosen_settings(translator.config, None, {})
    monkeypatch.setattr(Service, "_warm_up", lambda *_: goes_on.wait(60))
    service = Service(translator, search, Limits())
    try:
        assert service.is_alive
        assert not service.is_ready
        goes_on.set()
        assert is_true_soon(lambda: service.is_ready)
    finally:
        goes_on.set()
        service.close(60.0)
    monkeypatch.setattr(Service, "_warm_up", lambda *_: 1 / 0)
    service = Service(translator, search, Limits())
    try:
        assert is_true_soon(service._ready.done)
        assert not service.is_ready
    finally:
        service.close(60.0)


def test_metrics_are_those_of_the_work() -> None:
    with running_server() as server:
        server.translate("abc", "de")

        def measured() -> dict[str, str]:
            text = server.ask("GET", "/metrics").body.decode()
            return dict(
                line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")
            )

        values = measured()
        assert (values["nmt_lines_total"], values["nmt_restarts_total"]) == ("2.0", "0.0")
        assert values["nmt_requests_in_work"] == "0.0"
        # What was counted already is not counted again.
        worker = server.service.worker
        assert is_true_soon(lambda: float(measured()["nmt_steps_total"]) == worker.steps, 5)
        server.service._count += 3
        values = measured()
        server.service._count -= 3
        assert values["nmt_requests_in_work"] == "3.0"


def test_metrics_count_and_hold_no_text(server: RunningServer) -> None:
    server.translate("secretword", "zweitgeheim")
    server.ask("GET", "/secretpath")
    text = server.ask("GET", "/metrics").body.decode()
    assert 'nmt_requests_total{path="/v1/translate",status="200"}' in text
    assert "nmt_steps_total" in text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["nmt_lines_total"]) >= 2
    assert float(values["nmt_tokens_total"]) > 2
    for word in ("secret", "zweit", "127.0.0.1"):
        assert word not in text


def test_description_names_every_path(server: RunningServer) -> None:
    description = server.ask("GET", "/openapi.json").json
    paths = {
        (method.upper(), path)
        for path, methods in description["paths"].items()
        for method in methods
    }
    routes = server.http_server.config.loaded_app.routes
    assert paths == {(m, route.path) for route in routes for m in route.methods if m != "HEAD"}


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({}, 400, "give either"),
        ({"lines": ["a"], "document": {}}, 400, "give either"),
        ({"lines": "a"}, 400, "list of texts"),
        ({"lines": ["a", 1]}, 400, "list of texts"),
        ({"lines": ["a"], "beams": 2}, 400, "no field `beams`"),
        ({"lines": ["a"], "beam": "2"}, 400, "`beam` must be a whole number"),
        ({"lines": ["a"], "beam": True}, 400, "`beam` must be a whole number"),
        ({"lines": ["a"], "beam": 17}, 400, "16 at most"),
        ({"lines": ["a"], "beam": 0}, 400, "beam"),
        ({"lines": ["a"], "n_best": 17}, 400, "n_best=17 is more than beam="),
        ({"lines": ["a"], "sentences": "many"}, 400, "sentences"),
        ({"lines": ["a"], "glossary": ["a"]}, 400, "glossary"),
        ({"lines": ["a"], "glossary": {"a": 1}}, 400, "must be texts"),
        ({"lines": ["a"], "glossary": {"a": "x|y"}}, 400, "`|`"),
        ({"lines": ["a"], "glossary": {"": "x"}}, 400, "empty"),
        ({"lines": ["a"], "keep": "a"}, 400, "`keep` must be a list of texts"),
        ({"lines": ["a"], "keep": [1]}, 400, "`keep` must be a list of texts"),
        ({"lines": ["a"], "keep": [" "]}, 400, "`keep`: the kept name ' ' is blank"),
        ({"lines": ["a"], "keep": ["a\tb"]}, 400, "has a tab"),
        ({"lines": ["a"], "keep": ["a"], "markup": "off"}, 400, "like placeholders"),
        ({"lines": ["a" * 100], "keep": ["b" * 4_899]}, 413, "5,001 characters"),
        ({"lines": ["a" * 100], "glossary": {"b": "c" * 4_899}}, 413, "5,003 characters"),
        ({"lines": ["a" * 100], "glossary": {"b" * 4_899: "c"}}, 413, "5,003 characters"),
        ({"document": {"kind": "pdf", "text": "a"}}, 400, "kind"),
        ({"document": {"kind": "docx", "text": "a"}}, 400, "base64"),
        ({"document": {"kind": "docx", "base64": "%"}}, 400, "base64"),
        ({"document": {"kind": "docx", "base64": "aaaa"}}, 400, "document"),
        ({"document": {"kind": "text", "text": "a"}, "n_best": 2}, 400, "`n_best`: not for doc"),
        (
            {"document": {"kind": "text", "text": "a"}, "n_best": 2, "alignment": True}, 400,
            "`n_best`, `alignment`: not for documents",
        ),
        (
            {"document": {"kind": "jsonl", "text": '{"text": "a", "flags": []}'}}, 400,
            "line 1: has the field `flags` already",
        ),
        ({"document": {"kind": "jsonl", "text": '{"a": "b"}'}}, 400, "no field `text`"),
        ({"document": {"kind": "jsonl", "text": "{}", "field": 1}}, 400, "`document.field`"),
        ({"document": {"kind": "text", "text": "a", "field": "b"}}, 400, "`document.field`"),
        (
            {"document": {"kind": "html", "text": "a", "field": "b"}}, 400,
            "only for documents of the kinds json, jsonl and table",
        ),
        ({"document": {"kind": "json", "text": "[1", "field": 1}}, 400, "`document.field`"),
        ({"document": {"kind": "json", "text": "[1\n"}}, 400, "line 2, column 1: not JSON: "),
        ({"document": {"kind": "json", "text": "[" * 999}}, 400, "more than 256 deep"),
        (
            {"document": {"kind": "json", "text": '["a"]', "field": "b"}}, 400,
            "no text in a field `b`",
        ),
        ({"document": {"kind": "table", "text": "a,b", "field": 1}}, 400, "`document.field`"),
        ({"document": {"kind": "table", "text": "a,b"}}, 400, "the columns are `a`, `b`"),
        ({"document": {"kind": "table", "text": 'text,b\n"a'}}, 400, "line 2: a quotation mark"),
        (
            {"document": {"kind": "table", "text": "text,flags\na,b"}}, 400,
            "line 1: has the column `flags` already",
        ),
        ({"document": {"kind": "text", "text": "a", "base64": "b"}}, 400,
            "has its content in `document.text`, not in `document.base64`",
        ),
        ({"document": {"kind": "docx", "base64": 5}}, 400,
            "`document.base64` of a document of kind docx is a number; it must be a string",
        ),
        ({"document": {"kind": "text", "text": None}}, 400, "`document.text` of a document of kind "
            "text is null; it must be a string",
        ),
        ({"document": {"kind": "docx"}}, 400, "`document.base64` of a document of kind docx is "
            "missing; it must be a string",
        ),
        ({"lines": ["a" * 5_000]}, 413, "5,001 characters"),
        ({"lines": [""] * 5_001}, 413, "5,001 characters"),
        ({"document": {"kind": "text", "text": "a" * 5_000}}, 413, "5,001 characters"),
    ],
)  # fmt: skip
def test_wrong_request_is_refused_with_the_reason(
    server: RunningServer, fields: dict[str, object], status: int, reason: str
) -> None:
    answer = server.ask("POST", "/v1/translate", fields)
    assert (answer.status, reason in answer.json["error"]) == (status, True), answer.body


def test_what_is_as_large_as_a_limit_is_accepted() -> None:
    text = json.dumps({"lines": ["abc"], "keep": ["de"], "beam": 2}).encode()
    with running_server(limits=Limits(characters=7, body_bytes=len(text), beam=2)) as server:
        assert server.ask("POST", "/v1/translate", text).status == 200
        answer = server.ask("POST", "/v1/translate", text + b" ")
        assert (answer.status, "larger than" in answer.json["error"]) == (413, True)


def test_a_long_path_counts_as_the_headers_do() -> None:
    with running_server(limits=Limits(head_bytes=1_000)) as server:
        statuses = [
            server.ask("GET", f"/download_file/{'a' * length}").status for length in (300, 999)
        ]
    assert statuses == [404, 431]


@pytest.mark.parametrize(
    ("suffix", "kind"), [("srt", "subtitles"), ("csv", "table"), ("arb", "json")]
)
def test_suffix_in_place_of_a_kind_gets_the_kind(
    server: RunningServer, suffix: str, kind: str
) -> None:
    answer = server.ask("POST", "/v1/translate", {"document": {"kind": suffix, "text": "a"}})
    assert (answer.status, answer.json["hint"]) == (400, f"did you mean `{kind}`?")


def test_another_field_of_json_lines_is_translated(server: RunningServer) -> None:
    """The hint names the field of requests, as there is no option here."""
    document = {"kind": "jsonl", "text": '{"text": 1, "a": {"b": "abc"}}\n'}
    answer = server.ask("POST", "/v1/translate", {"document": document})
    assert "`field` (beside `kind` or `file`) names another" in answer.json["hint"]
    answer = server.ask("POST", "/v1/translate", {"document": {**document, "field": "a.b"}})
    [translation] = answer.json["translations"]
    assert translation["source"] == "abc"
    assert json.loads(answer.json["document"]["text"])["translation"] == translation["text"]


def test_a_column_of_a_table_is_translated(server: RunningServer) -> None:
    document = {"kind": "table", "text": "id;en\r\n1;abc\r\n2;\r\n"}
    answer = server.ask("POST", "/v1/translate", {"document": document})
    assert "`field` (beside `kind` or `file`)" in answer.json["hint"]
    answer = server.ask("POST", "/v1/translate", {"document": {**document, "field": "en"}})
    [translation] = answer.json["translations"]
    assert (translation["source"], translation["place"]) == ("abc", "line 2")
    cell = translation["text"]
    if set(cell) & set(';"\r\n'):
        cell = '"' + cell.replace('"', '""') + '"'
    flags = " ".join(translation["flags"])
    assert answer.json["document"] == {
        "kind": "table",
        "text": f"id;en;translation;flags\r\n1;abc;{cell};{flags}\r\n2;;;empty\r\n",
    }


def test_strings_of_json_are_translated(server: RunningServer) -> None:
    text = '{"menu": ["abc", 1.0], "\\u00e4": "x", "text": "de"}'
    document = {"kind": "json", "text": text}
    answer = server.ask("POST", "/v1/translate", {"document": document})
    first, last = (row for row in answer.json["translations"] if row["source"] != "x")
    assert (first["place"], last["place"]) == ("menu[0]", "text")
    written = json.loads(answer.json["document"]["text"])
    assert written["menu"] == [first["text"], 1]
    assert written["text"] == last["text"]
    assert answer.json["document"]["text"].startswith('{"menu": ["')
    assert '", 1.0], "\\u00e4": "' in answer.json["document"]["text"]
    answer = server.ask("POST", "/v1/translate", {"document": {**document, "field": "menu"}})
    [translation] = answer.json["translations"]
    assert (translation["source"], translation["text"]) == ("abc", first["text"])
    assert answer.json["document"]["text"].endswith('"\\u00e4": "x", "text": "de"}')


def test_kinds_of_the_description_are_those_of_documents(server: RunningServer) -> None:
    schemas = server.ask("GET", "/openapi.json").json["components"]["schemas"]
    assert schemas["Document"]["properties"]["kind"]["enum"] == list(KINDS)


def test_document_may_have_the_defaults_of_what_it_may_not_choose(server: RunningServer) -> None:
    fields = {"document": {"kind": "text", "text": "a"}, "n_best": 1, "alignment": False}
    assert server.ask("POST", "/v1/translate", fields).status == 200


@pytest.mark.parametrize("path", ["/v1/translate", "/translate", "/translate_file"])
@pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("GZIP, br", 415), ("identity", 0)])
def test_compressed_body_is_refused(
    server: RunningServer, path: str, coding: str, status: int
) -> None:
    answer = server.ask("POST", path, gzip.compress(b"{}"), {"content-encoding": coding})
    assert (answer.status == 415) is (status == 415)
    assert ("compressed bodies are not accepted" in answer.json["error"]) is (status == 415)


def test_token_is_needed_where_there_are_tokens() -> None:
    with running_server(tokens=("first", "sécond")) as server:

        def status(path: str, token: str | None) -> int:
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            body = {"lines": ["a"]} if path == "/v1/translate" else None
            return server.ask("POST" if body else "GET", path, body, headers).status

        for path in ("/v1/translate", "/metrics"):
            assert [status(path, token) for token in ("first", None, "firs", "")] == [
                200, 401, 401, 401,
            ]  # fmt: skip
        for header, expected in (("bearer  first", 200), ("Basic first", 401), ("first", 401)):
            answer = server.ask("GET", "/metrics", None, {"authorization": header})
            assert answer.status == expected
        assert [status(path, None) for path in ("/healthz", "/readyz", "/openapi.json")] == [
            200
        ] * 3


def test_deadline_of_a_request_drops_its_work() -> None:
    with running_server(limits=Limits(seconds=0.001)) as server:
        answer = server.translate("abc " * 1_000)
        assert (answer.status, "within 0.001 s" in answer.json["error"]) == (503, True)
        assert server.service.worker.is_alive


def test_request_that_fails_since_nmt_was_installed_again_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(self: BeamSearch) -> None:
        raise ModuleNotFoundError("No module named 'nmt_cli.x'", name="nmt_cli.x")

    with running_server() as server:
        monkeypatch.setattr(BeamSearch, "advance", missing)
        answer = server.translate("abc")
    assert (answer.status, answer.json["error"]) == (503, "nmt was changed while it ran")
    assert "start `nmt serve` again" in answer.json["hint"]


def test_settings_of_the_server_are_the_defaults(server: RunningServer) -> None:
    config: Config = server.service.config
    assert server.service.search == config.search
