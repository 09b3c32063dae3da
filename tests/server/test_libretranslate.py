"""LibreTranslate's own client and requests as its documentation describes them."""

import asyncio
import json
import urllib.error
import urllib.parse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from libretranslatepy import LibreTranslateAPI
from servers import RunningServer, byte_translator, running_server

from nmt_cli.data.languages.trigrams import BUCKETS, log_odds, trigram_counts
from nmt_cli.server.bodies import Tokens
from nmt_cli.server.libretranslate.handlers import LibreTranslate
from nmt_cli.server.limits import Limits
from nmt_cli.server.service import Service


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as made:
        yield made


@pytest.fixture(scope="module")
def languages() -> tuple[str, str]:
    config = byte_translator().config.languages
    return config.src, config.tgt


def client_of(server: RunningServer, key: str | None = None) -> LibreTranslateAPI:
    return LibreTranslateAPI(f"http://127.0.0.1:{server.port}", key)


def posted(server: RunningServer, path: str, **fields: object) -> object:
    answer = server.ask("POST", path, fields, {"content-type": "application/json"})
    assert answer.status == 200, answer.body
    return answer.json


def test_client_translates(server: RunningServer, languages: tuple[str, str]) -> None:
    text = "abc de\n\nfgh <b>de</b>"
    expected = [each.text for each in byte_translator().translate(text.split("\n"))]
    translated = client_of(server).translate(text, *languages, timeout=60)
    assert translated == "\n".join(expected)


def test_client_lists_languages(server: RunningServer, languages: tuple[str, str]) -> None:
    src, tgt = languages
    found = {each["code"]: each["targets"] for each in client_of(server).languages(timeout=60)}
    assert found == {src: [tgt], tgt: []}


def test_client_detects_one_of_the_two_languages(
    server: RunningServer, languages: tuple[str, str]
) -> None:
    [found] = client_of(server).detect("abc", timeout=60)
    assert found == {"confidence": 0, "language": languages[0]}, "the model has no statistics"


def test_client_needs_the_right_key(languages: tuple[str, str]) -> None:
    with running_server(tokens=("right",)) as server:
        assert isinstance(client_of(server, "right").translate("a", *languages), str)
        for key in ("wrong", None):
            with pytest.raises(urllib.error.HTTPError) as refused:
                client_of(server, key).translate("a", *languages)
            assert (refused.value.code, b"api_key" in refused.value.read()) == (403, True)
        assert server.ask("GET", "/frontend/settings").json["keyRequired"] is True


def test_texts_of_a_list_stay_in_order(server: RunningServer, languages: tuple[str, str]) -> None:
    texts = ["abc", "", "de fgh", "a\nb"]
    src, tgt = languages
    many = posted(server, "/translate", q=texts, source="auto", target=tgt)
    assert many["translatedText"] == [
        posted(server, "/translate", q=text, source=src, target=tgt)["translatedText"]
        for text in texts
    ]
    assert many["detectedLanguage"] == [{"confidence": 0, "language": src}] * 4


def test_texts_of_a_list_share_one_search(
    server: RunningServer, languages: tuple[str, str]
) -> None:
    source, target = languages
    fields = {"source": source, "target": target, "alternatives": 1}
    worker = server.service.worker
    texts = ["abc de", "abc\nfgh de", "", *(letter * 30 for letter in "abcdefgh")]
    begun = worker.steps
    alone = [posted(server, "/translate", q=text, **fields) for text in texts]
    steps, begun = worker.steps - begun, worker.steps
    together = posted(server, "/translate", q=texts, **fields)
    assert isinstance(together, dict)
    for name in ("translatedText", "alternatives"):
        assert together[name] == [each[name] for each in alone]  # type: ignore[index]
    assert worker.steps - begun < steps / 2, "the texts were searched one after another"


def test_alternatives_are_other_translations(
    server: RunningServer, languages: tuple[str, str]
) -> None:
    src, tgt = languages
    found = posted(server, "/translate", q="abc de", source=src, target=tgt, alternatives=3)
    expected = byte_translator().translate("abc de", n_best=4, beam=4)
    texts = [hypothesis.text for hypothesis in expected.hypotheses]
    assert [found["translatedText"], *found["alternatives"]] == texts
    assert len(texts) == 4


def test_html_keeps_its_tags(server: RunningServer, languages: tuple[str, str]) -> None:
    src, tgt = languages
    page = "<p>abc <a href='x'>de</a></p><code>abc</code>"
    found = posted(server, "/translate", q=page, source=src, target=tgt, format="html")
    text = found["translatedText"]
    assert text.startswith("<p>")
    assert text.count("<a href='x'>") == 1
    assert text.endswith("</p><code>abc</code>")


class Statistics:
    """Of a training text of two lines."""

    language_odds = log_odds(
        np.stack([np.ones(BUCKETS) + trigram_counts(np.frombuffer(side, np.uint8))
                  for side in (b"the dog sleeps in the house\n", b"der hund im haus\n")])
    )  # fmt: skip


def test_texts_in_html_have_one_deadline_together(
    monkeypatch: pytest.MonkeyPatch, languages: tuple[str, str]
) -> None:
    """Each of the texts is translated in time, but not all of them."""
    src, tgt = languages
    real = Service.translate_document

    async def translate(self: Service, *given: Any) -> Any:
        await asyncio.sleep(0.1)
        return await real(self, *given)

    monkeypatch.setattr(Service, "translate_document", translate)
    fields = {"q": ["<p>1</p>"] * 50, "source": src, "target": tgt, "format": "html"}
    with running_server(limits=Limits(seconds=1.0)) as server:
        answer = server.ask("POST", "/translate", fields, {"content-type": "application/json"})
    assert (answer.status, answer.json["error"]) == (503, "not translated within 1 s")
    assert "`nmt serve --deadline` sets the limit" in answer.json["hint"]


def test_html_text_is_text_whatever_it_declares(
    server: RunningServer, languages: tuple[str, str]
) -> None:
    src, tgt = languages
    page = '<meta charset="latin-1"><p translate=no>Á</p><p>abc</p>'
    found = posted(server, "/translate", q=page, source=src, target=tgt, format="html")
    assert isinstance(found, dict)
    assert "Á" in found["translatedText"]


@pytest.mark.parametrize("html", [False, True])
def test_text_in_the_target_language_stays_where_the_source_is_detected(
    monkeypatch: pytest.MonkeyPatch, languages: tuple[str, str], html: bool
) -> None:
    src, tgt = languages
    texts = ["der Hund\nim Haus", "the dog sleeps in the house", "zzz"]
    asked = {"q": texts, "target": tgt, "format": "html" if html else "text", "alternatives": 1}
    monkeypatch.setattr(
        "nmt_cli.server.app.LibreTranslate",
        lambda service, tokens, _, url: LibreTranslate(service, tokens, Statistics(), url),  # type: ignore[arg-type]
    )
    with running_server() as server:
        chosen = posted(server, "/translate", source=src, **asked)
        found = posted(server, "/translate", source="auto", **asked)
    # The last is neither: it is translated, since nothing is certain.
    assert [each["language"] for each in found["detectedLanguage"]] == [tgt, src, tgt]
    assert found["translatedText"][0] == texts[0]
    assert found["alternatives"][0] == []
    assert found["translatedText"][1:] == chosen["translatedText"][1:]
    assert chosen["translatedText"][0] != texts[0]


def test_detection_tells_the_languages_of_a_model_apart(server: RunningServer) -> None:
    handlers = LibreTranslate(server.service, Tokens(()), Statistics())  # type: ignore[arg-type]
    src, tgt = handlers._languages
    english, german = map(handlers._detected, ("The dog\nsleeps", "Der Hund"))
    assert (english["language"], german["language"]) == (src, tgt)
    assert min(english["confidence"], german["confidence"]) > 90
    assert handlers._detected("zzz")["confidence"] == 50
    assert handlers._detected("a")["confidence"] == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"q": "a", "source": "{src}"}, 400),
        ({"q": "a", "target": "{tgt}"}, 400),
        ({"source": "{src}", "target": "{tgt}"}, 400),
        ({"q": "a", "source": "xx", "target": "{tgt}"}, 400),
        ({"q": "a", "source": "{src}", "target": "xx"}, 400),
        ({"q": "a", "source": "{src}", "target": "{tgt}", "format": "pdf"}, 400),
        ({"q": "a", "source": "{src}", "target": "{tgt}", "alternatives": "-1"}, 400),
        ({"q": "a", "source": "{src}", "target": "{tgt}", "alternatives": "99"}, 400),
        ({"q": "a" * 5_000, "source": "{src}", "target": "{tgt}"}, 413),
    ],
)
def test_wrong_requests_are_refused_as_json_and_as_form(
    server: RunningServer, languages: tuple[str, str], fields: dict[str, str], status: int
) -> None:
    src, tgt = languages
    filled = {name: value.format(src=src, tgt=tgt) for name, value in fields.items()}
    for kind, body in (
        ("application/json", json.dumps(filled)),
        ("application/x-www-form-urlencoded", urllib.parse.urlencode(filled)),
    ):
        answer = server.ask("POST", "/translate", body.encode(), {"content-type": kind})
        assert (answer.status, bool(answer.json["error"])) == (status, True)


def test_json_without_its_content_type_is_taken(
    server: RunningServer, languages: tuple[str, str]
) -> None:
    """As curl sends it: as a form."""
    src, tgt = languages
    body = json.dumps({"q": "a", "source": src, "target": tgt}).encode()
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = server.ask("POST", "/translate", body, kind)
    assert answer.status == 200
    assert isinstance(answer.json["translatedText"], str)


def in_parts(fields: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """A body and its header, as `curl -F` and browsers send a form."""
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    return f"{parts}--x--\r\n".encode(), {"content-type": "multipart/form-data; boundary=x"}


def test_forms_are_taken_in_parts_and_with_letters_that_are_not_encoded(
    server: RunningServer, languages: tuple[str, str]
) -> None:
    """As `curl -F`, `curl -d` and FormData send them."""
    src, tgt = languages
    fields = {"q": "ab\n\nc é", "source": src, "target": tgt, "format": "text"}
    expected = server.ask("POST", "/translate", fields).json["translatedText"]
    assert expected.count("\n") == 2
    raw = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
    encoded = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    for body, header in ((raw, encoded), in_parts(fields)):
        answer = server.ask("POST", "/translate", body, header)
        assert (answer.status, answer.json.get("translatedText")) == (200, expected)
    body, header = in_parts({"q": "Größe"})
    assert server.ask("POST", "/detect", body, header).status == 200
    wrong = [(b"q=\xff", encoded), (b"--x\r\n\r\n", header)]
    wrong.append((body.replace("ß".encode(), b"\xff"), header))
    for body, header in wrong:
        answer = server.ask("POST", "/translate", body, header)
        assert (answer.status, "not a form in UTF-8" in answer.json["error"]) == (400, True)


def test_other_paths_answer(server: RunningServer) -> None:
    assert server.ask("GET", "/health").json == {"status": "ok"}
    assert server.ask("GET", "/frontend/settings").json["charLimit"] == 5_000
    assert server.ask("POST", "/suggest", {}).status == 403
    assert "/translate" in server.ask("GET", "/spec").json["paths"]
