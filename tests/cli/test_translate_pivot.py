"""`nmt translate --then`: the same as two commands, with what the options say of each."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli import main
from nmt_cli.model_dir import save_model
from nmt_cli.translation.translator import Translator

LINES = ["abc", "", "b a <b>dd</b>", "cccc cc. Abb a.", "a"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    for seed, (src, tgt) in enumerate([("en", "de"), ("de", "fr"), ("fr", "it")], 1):
        config = byte_config({"languages.src": src, "languages.tgt": tgt, "search.beam": seed + 1})
        weights = byte_model(config, seed).state_dict()
        save_model(tmp_path / f"{src}-{tgt}", weights, config, byte_subwords(), {})
    Path("test.en").write_text("\n".join(LINES) + "\n", "utf-8")


def nmt(*arguments: str) -> int:
    return main(["translate", "-q", *arguments])


def test_then_gives_what_one_command_after_the_other_gives() -> None:
    assert nmt("test.en", "--model", "en-de", "-o", "one") == 0
    assert nmt("one", "--model", "de-fr", "-o", "two") == 0
    assert nmt("two", "--model", "fr-it", "-o", "three") == 0
    options = ["--model", "en-de", "--then", "de-fr"]
    assert nmt("test.en", *options, "-o", "pivot") == 0
    assert Path("pivot").read_bytes() == Path("two").read_bytes()
    assert nmt("test.en", *options, "--then", "fr-it", "-o", "pivot-3") == 0
    assert Path("pivot-3").read_bytes() == Path("three").read_bytes()


def test_json_has_the_text_between() -> None:
    assert nmt("test.en", "--model", "en-de", "-o", "one") == 0
    options = ["--model", "en-de", "--then", "de-fr", "--n-best", "2", "--json"]
    assert nmt("test.en", *options, "-o", "out") == 0
    documents = [json.loads(line) for line in Path("out").read_text("utf-8").splitlines()]
    between = Path("one").read_text("utf-8").splitlines()
    assert [each["pivots"][0]["text"] for each in documents] == between
    assert [each["source"] for each in documents] == LINES
    assert max(len(each["hypotheses"]) for each in documents) == 2


def test_columns_of_a_glossary_are_not_compared_with_the_text_of_the_first_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("terms.tsv").write_text("zz\tcccc\n")
    options = ["test.en", "--glossary", "terms.tsv", "--force", "-o", "out", "--model", "en-de"]
    assert main(["translate", *options]) == 0
    assert "columns swapped" in capsys.readouterr().err
    assert main(["translate", *options, "--then", "de-fr"]) == 0
    assert "columns swapped" not in capsys.readouterr().err


def test_parts_and_prefixes_are_of_the_last_model() -> None:
    Path("starts").write_text("u\nv\n\nw\n\n")
    options = ["--model", "en-de", "--then", "de-fr", "--prefix", "starts"]
    assert nmt("test.en", *options, "-o", "whole") == 0
    assert [line[:1] for line in Path("whole").read_text("utf-8").splitlines()][:2] == ["u", ""]
    for number in (1, 2):
        part = ["--part", f"{number}/2", "-o", "out.{part}"]
        assert nmt("test.en", *options, *part) == 0
    assert nmt("--join", "out.{part}", "-o", "joined") == 0
    assert Path("joined").read_bytes() == Path("whole").read_bytes()


def test_some_options_are_for_all_models() -> None:
    first = Translator.load("en-de", cache=None)
    last = Translator.load("de-fr", cache=None)
    options = ["--model", "en-de", "--then", "de-fr", "--beam", "1", "--alpha", "2"]
    assert nmt("test.en", *options, "-o", "out") == 0
    between = [each.text for each in first.translate(LINES, beam=1)]
    expected = [each.text for each in last.translate(between, beam=1, alpha=2.0)]
    assert Path("out").read_text("utf-8").splitlines() == expected


def test_names_are_kept_by_all_models() -> None:
    Path("names").write_text("Nord Pad\nbb\n")
    Path("named").write_text("a Nord Pad cc\n<b>bb</b> dd\n")
    options = ["--model", "en-de", "--then", "de-fr", "--then", "fr-it", "--keep", "names"]
    assert nmt("named", *options, "--json", "-o", "out") == 0
    first, second = (json.loads(line) for line in Path("out").read_text("utf-8").splitlines())
    assert all("Nord Pad" in each["text"] for each in (first, *first["pivots"]))
    assert all("bb" in each["text"] for each in (second, *second["pivots"]))
    assert nmt("--document", "named", "--kind", "text", *options, "-o", "document") == 0
    lines = Path("document").read_text("utf-8").splitlines()
    assert ["Nord Pad" in lines[0], "bb" in lines[1]] == [True, True]
    assert nmt("named", *options, "--markup", "off") == 2


def test_documents_are_translated_by_all_models() -> None:
    text = '<html lang="en"><body><p>abc <b>de</b></p></body></html>'
    Path("page.html").write_text(text, "utf-8")
    options = ["--document", "page.html", "--model", "en-de", "--then", "de-fr"]
    assert nmt(*options, "-o", "page.fr.html") == 0
    page = Path("page.fr.html").read_text("utf-8")
    assert page.count("<b>") == page.count("</b>") == 1
    assert '<html lang="fr">' in page
    assert nmt(*options, "--json", "-o", "page.json") == 0
    assert json.loads(Path("page.json").read_text("utf-8"))["pivots"][0]["text"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--verify"], 2, "--verify: not with --then"),
        (["--alignment"], 2, "--alignment: not with --then"),
        (["--set", "search.alignment=true"], 78, "no word alignment"),
        (["--then", "none"], 66, "none"),
        (
            ["--then", "en-de"],
            78,
            "`de-fr` translates to `fr`, and `en-de`, which comes after it, from `en`",
        ),
        (["-o", "de-fr/model.safetensors", "--force"], 73, "de-fr"),
    ],
)
def test_what_does_not_fit_is_refused(
    options: list[str], code: int, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert nmt("test.en", "--model", "en-de", "--then", "de-fr", *options) == code
    assert message in capfd.readouterr().err


def test_stats_name_the_engine_of_each(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc\n")))
    assert nmt("--model", "en-de", "--then", "de-fr", "--stats") == 0
    assert capfd.readouterr().err.count("engine ") == 2
