"""`nmt serve --glossary`: its terms are used in every request, whatever path it comes through."""

import json
import urllib.parse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords, save_word_model
from servers import Answer, RunningServer, byte_translator, running_server

from nmt_cli.cli import main
from nmt_cli.cli.commands import serve
from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import UsageError
from nmt_cli.model_dir import save_model
from nmt_cli.server import run as run_
from nmt_cli.server.limits import Limits
from nmt_cli.server.service import Service
from nmt_cli.translation import translator as translators
from nmt_cli.translation.constraints import NO_CONSTRAINTS, BoundConstraints, Constraints
from nmt_cli.translation.translator import Translator

TERMS = {"abc": ["xyz", "uvw"], "fgh": "rst"}
LINES = ["abc de", "fgh, abc", "hello bed"]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(glossary=TERMS) as made:
        yield made


def expected(*lines: str, **terms: str | list[str]) -> list[str]:
    constraints = Constraints(glossary=terms) if terms else NO_CONSTRAINTS
    return [each.text for each in byte_translator().translate(list(lines), constraints=constraints)]


def posted(server: RunningServer, path: str, **fields: object) -> Answer:
    languages = byte_config().languages
    given = {"source": languages.src, "target": languages.tgt, **fields}
    answer = server.ask("POST", path, given, {"content-type": "application/json"})
    assert answer.status == 200, answer.body
    return answer


def test_lines_and_documents_have_the_terms_of_the_server(server: RunningServer) -> None:
    texts = expected(*LINES, **TERMS)
    assert texts[:2] != expected(*LINES)[:2]
    assert texts[2] == expected(*LINES)[2]
    assert server.translate(*LINES).texts == texts
    document = {"kind": "text", "text": "abc de\n\nhello bed\n"}
    answer = server.ask("POST", "/v1/translate", {"document": document})
    assert answer.json["document"]["text"] == f"{texts[0]}\n\n{texts[2]}\n"


def test_paths_of_libretranslate_have_the_terms_of_the_server(server: RunningServer) -> None:
    texts = expected(*LINES, **TERMS)
    assert posted(server, "/translate", q=LINES).json["translatedText"] == texts
    page = posted(server, "/translate", q="<p>abc de</p>", format="html").json
    assert page["translatedText"] == f"<p>{texts[0]}</p>"
    languages = byte_config().languages
    fields = {"source": languages.src, "target": languages.tgt}
    parts = [f'name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
    parts.append('name="file"; filename="a.txt"\r\n\r\nabc de\n')
    body = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts)
    answer = server.ask(
        "POST", "/translate_file", f"{body}--x--\r\n".encode(),
        {"content-type": "multipart/form-data; boundary=x"},
    )  # fmt: skip
    path = urllib.parse.urlsplit(answer.json["translatedFileUrl"]).path
    assert server.ask("GET", path).body.decode() == f"{texts[0]}\n"


def test_terms_of_a_request_are_added_and_replace_those_of_the_server(
    server: RunningServer,
) -> None:
    own = {"abc": "opq", "de": ["lmn", "ijk"]}
    answer = server.translate("abc de", "fgh", glossary=own)
    assert answer.texts == expected("abc de", "fgh", **own, fgh="rst")
    assert "opq" in answer.texts[0]
    assert "rst" in answer.texts[1]
    # The next request has the terms of the server again.
    assert server.translate("abc de").texts == expected("abc de", **TERMS)
    assert server.translate("abc de", glossary={}).texts == expected("abc de", **TERMS)


def test_own_terms_come_before_general_ones_that_match_the_same_words() -> None:
    general = Constraints(["bad"], {"dog": "A", "hot dog": "B", "Cat": "C", "bird": "D"})
    own = Constraints(["worse"], {"Dog": "E", "cat": ["F", "G"], "bird": "H"}, ["Pad"])
    both = own.over(replace(general, keep=("Nord",)))
    assert both.ban == ("worse", "bad")
    assert both.keep == ("Pad", "Nord")
    assert Constraints(keep=["Pad"]).over(general).entries == general.entries
    assert own.over(Constraints(keep=["Nord"])).keep == ("Pad", "Nord")
    model = byte_translator()
    bound = BoundConstraints(both, model.subwords, model.config.languages)
    found = {
        text: [match.entry.forms[0] for match in bound.terms_in(text)]
        for text in ("dog", "Dog", "DOG", "cat", "Cat", "bird", "a Hot dog")
    }
    assert found == {
        "dog": ["A"], "Dog": ["E"], "DOG": ["A"], "cat": ["F"], "Cat": ["F"], "bird": ["H"],
        "a Hot dog": ["B"],
    }  # fmt: skip
    assert NO_CONSTRAINTS.over(general) is general
    assert Constraints().over(general) is general
    assert own.over(NO_CONSTRAINTS) is own


def test_terms_of_the_server_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request with its own encodes these alone; those before and after it encode nothing."""
    bound: list[Constraints] = []
    encoded: list[str] = []

    def bind(constraints: Constraints, *others: object, **known: object) -> BoundConstraints:
        if constraints.glossary:
            bound.append(constraints)
        return BoundConstraints(constraints, *others, **known)

    encode_target = Subwords.encode_target

    def encode(subwords: Subwords, texts) -> list[list[int]]:
        encoded.extend(texts)
        return encode_target(subwords, texts)

    monkeypatch.setattr(translators, "BoundConstraints", bind)
    monkeypatch.setattr(Subwords, "encode_target", encode)
    with running_server(glossary=TERMS) as server:
        assert len(bound) == 1
        assert "xyz" in encoded
        encoded.clear()
        plain = server.translate(*LINES)
        for number in range(2):
            own = server.translate(*LINES, glossary={"abc": "opq"})
            assert server.translate(*LINES).texts == plain.texts != own.texts
            assert posted(server, "/translate", q=LINES).json["translatedText"] == plain.texts
            assert len(bound) == 2 + number
        assert "opq" in encoded
        assert not {"xyz", "uvw", "rst", "Xyz", "Rst"}.intersection(encoded)


def test_terms_of_the_server_do_not_count_for_the_size_of_requests() -> None:
    with running_server(glossary=TERMS, limits=Limits(characters=8)) as server:
        assert server.translate("abc de").status == 200
        refused = server.translate("abc", glossary={"a": "bc"})
        assert (refused.status, "9 characters" in refused.json["error"]) == (413, True)
        languages = byte_config().languages
        fields = {"q": "abc de", "source": languages.src, "target": languages.tgt}
        assert server.ask("POST", "/translate", fields).status == 200


def test_sampling_and_a_glossary_exclude_each_other() -> None:
    translator = byte_translator()
    sampling = byte_config({"search.sample": True}).search
    with pytest.raises(UsageError, match="a glossary needs beam search") as refused:
        Service(translator, sampling, Limits(), constraints=Constraints(glossary=TERMS))
    assert "search.sample=true" in refused.value.hint
    with running_server(search={"sample": True}) as server:
        assert server.translate("abc de").status == 200
        answer = server.translate("abc de", glossary={"abc": "xyz"})
        assert answer.status == 400
        assert answer.json["error"].startswith("this server samples translations")
        assert answer.json["hint"] == "leave out `glossary`"


def test_number_of_terms_is_in_the_metrics_and_on_the_page(server: RunningServer) -> None:
    assert "\nnmt_glossary_terms 2.0\n" in server.ask("GET", "/metrics").body.decode()
    page = server.ask("GET", "/").body.decode()
    data = page.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data)["terms"] == 2


@pytest.mark.parametrize(
    ("terms", "markup", "is_loaded"), [({}, "off", False), (TERMS, "off", True), ({}, "keep", True)]
)
def test_reference_model_is_loaded_before_a_server_that_may_need_it_is_ready(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    terms: dict[str, str],
    markup: str,
    is_loaded: bool,
) -> None:
    # The first lines need it for some models only, those that lose the placeholder.
    monkeypatch.setattr("nmt_cli.server.service.WARM_UP", ["One."])
    config = byte_config()
    save_model(tmp_path / "m", byte_model(config).state_dict(), config, byte_subwords(), {})
    translator = Translator.load(tmp_path / "m", cache=None)
    with running_server(translator, search={"markup": markup}, glossary=terms):
        assert ("forcer" in vars(translator._model)) is is_loaded


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Runs `nmt serve` up to where it would listen; gives its code, its words and its service."""
    config = byte_config()
    save_model(tmp_path / "model", byte_model(config).state_dict(), config, byte_subwords(), {})
    monkeypatch.chdir(tmp_path)
    made: list[Service] = []

    def answer(_server: object, service: Service, *_: object) -> None:
        made.append(service)
        service.close(10)

    monkeypatch.setattr(run_, "listening_socket", lambda *_: None)
    monkeypatch.setattr(serve, "_answer", answer)

    def run(*arguments: str) -> tuple[int, str, list[Service]]:
        made.clear()
        code = main(["serve", "--port", "0", *arguments])
        return code, capsys.readouterr().err, made

    return run


def test_command_reads_all_files_before_it_listens(command) -> None:
    Path("terms.tsv").write_text("dog\tHund|Hunde\n")
    Path("more.tsv").write_text("cat\tKatze\n")
    Path("names.txt").write_text("NordPad\n")
    files = ["--glossary", "terms.tsv", "--glossary", "more.tsv", "--keep", "names.txt"]
    code, err, [service] = command(*files)
    assert code == 0
    assert "warning" not in err
    assert service.constraints.entries == (
        Entry("dog", ("Hund", "Hunde"), 1, "terms.tsv"), Entry("cat", ("Katze",), 1, "more.tsv"),
    )  # fmt: skip
    assert service.constraints.keep == ("NordPad",)
    code, _, [service] = command()
    assert service.constraints == NO_CONSTRAINTS


def test_command_warns_of_a_file_without_terms(command) -> None:
    Path("empty.tsv").write_text("\n")
    code, err, made = command("--glossary", "empty.tsv")
    assert (code, len(made)) == (0, 1)
    assert "warning: `empty.tsv` has no term" in err


def test_command_refuses_files_as_translate_does(
    command, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("terms.tsv").write_text("dog\tHund\n")
    Path("same.tsv").write_text("cat\tKatze\ndog\tHündin\n")
    Path("bad.tsv").write_text("dog\tHund\nno columns\n")
    Path("text").write_text("dog\n")
    save_word_model(Path("words"))
    for arguments, code, message in (
        (["nosuch.tsv"], 66, "`nosuch.tsv` cannot be read"),
        (["bad.tsv"], 65, "`bad.tsv`, line 2: 1 column, 2 are needed"),
        (["terms.tsv", "--glossary", "same.tsv"], 65, "`same.tsv`, line 2: `dog` is in line 1"),
        (["terms.tsv", "--set", "search.sample=true"], 2, "a glossary needs beam search"),
        (["terms.tsv", "words"], 65, "`terms.tsv`, line 1: the model cannot write `Hund`"),
    ):
        given, err, made = command("--glossary", *arguments)
        assert (given, message in err, made) == (code, True, []), err
        typed = [each if each != "words" else "--model=words" for each in arguments]
        assert main(["translate", "text", "--glossary", *typed]) == code
        assert capsys.readouterr().err == err
