"""The search options of `nmt translate`, and `nmt score` by a model, as they are typed."""

import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli import main
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.errors import ConfigError
from nmt_cli.model_dir import save_model
from nmt_cli.translation.translator import Translator

LINES = ["the first line", "", "größer", "a dog, a cat"]


class Result(NamedTuple):
    code: int
    lines: list[str]
    err: str


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    config = byte_config({"search.beam": 3, "search.max_extra_length": 8})
    for seed, name in ((1, "model"), (2, "other")):
        save_model(
            folder / name, byte_model(config, seed).state_dict(), config, byte_subwords(), {}
        )
    return folder


@pytest.fixture
def nmt(models: Path, tmp_path: Path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    for name in ("model", "other"):
        (tmp_path / name).symlink_to(models / name)
    Path("text").write_text("\n".join(LINES) + "\n", "utf-8")

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(list(arguments))
        out, err = capfdbinary.readouterr()
        *lines, rest = out.decode().split("\n")
        assert rest == ""
        return Result(code, lines, err.decode())

    return run


def test_every_option_reaches_the_search(nmt) -> None:
    plain = nmt("translate", "text")
    assert plain.code == 0
    for options in (
        ["--min-length", "12"], ["--max-length", "2"], ["--no-repeat-ngram", "1"],
        ["--repetition-penalty", "50"], ["--word-reward", "9"], ["--sample", "--seed", "7"],
        ["--length-penalty", "power", "--alpha", "5"], ["--model", "model", "--model", "other"],
        ["--sample", "--temperature", "9"], ["--max-extra-length", "0"],
    ):  # fmt: skip
        found = nmt("translate", *options, "text")
        assert (found.code, found.err) == (0, ""), options
        assert len(found.lines) == 4
        assert found.lines[1] == ""
        assert found.lines != plain.lines, options
    default = ["--length-penalty", "gnmt", "--word-reward", "0", "--no-repeat-ngram", "0"]
    assert nmt("translate", *default, "text").lines == plain.lines


def test_sampling_is_the_same_for_the_same_seed(nmt) -> None:
    options = ["translate", "--sample", "--top-p", "0.95", "--top-k", "50", "text"]
    first = nmt(*options, "--seed", "3").lines
    assert nmt(*options, "--seed", "3").lines == first
    assert nmt(*options, "--seed", "3", "--batch-tokens", "1").lines == first
    assert nmt(*options, "--seed", "4").lines != first
    several = nmt(*options, "--n-best", "5").lines
    assert [line.split(" ||| ")[0] for line in several] == [*["0"] * 5, "1", *["2"] * 5, *["3"] * 5]


def test_scores_and_alignment_stand_behind_the_text(nmt) -> None:
    plain = nmt("translate", "text").lines
    for text, line in zip(plain, nmt("translate", "--scores", "text").lines, strict=True):
        shown, score, tokens = line.split(" ||| ")
        assert shown == text
        assert float(score) <= 0
        assert all(float(one) <= 0 for one in tokens.split())
        assert bool(tokens.split()) == bool(text)
    for text, line in zip(plain, nmt("translate", "--alignment", "text").lines, strict=True):
        shown, links = line.split(" ||| ")
        assert shown == text
        assert [link.split("-")[1] for link in links.split()] == [
            str(number) for number in range(len(text.split()))
        ]
    rows = nmt("translate", "--alignment", "--scores", "--n-best", "2", "text").lines
    assert {len(row.split(" ||| ")) for row in rows} == {5}
    documents = [
        json.loads(line) for line in nmt("translate", "--json", "--alignment", "text").lines
    ]
    assert documents[3]["hypotheses"][0]["alignment"]


def test_banned_words(nmt) -> None:
    letters = {one for one in "".join(nmt("translate", "text").lines) if one.isascii()}
    banned = sorted(one for one in letters if one.isalpha())[:3]
    assert len(banned) == 3
    Path("ban").write_text("\n\n".join(banned) + "\n", "utf-8")
    found = nmt("translate", "--ban", "ban", "text")
    assert found.code == 0
    for word in " ".join(found.lines).split():
        # Banned where a word begins, not inside of one.
        assert word[0] not in banned


def test_glossary(nmt) -> None:
    Path("terms.tsv").write_text("dog\tHund|Köter\nfirst line\tERSTE\n", "utf-8")
    plain = nmt("translate", "text").lines
    for beam in ("1", "3"):
        found = nmt("translate", "--glossary", "terms.tsv", "--beam", beam, "text")
        assert (found.code, found.err) == (0, "")
        assert "ERSTE" in found.lines[0]
        assert {"Hund", "Köter"} & set(found.lines[3].replace(",", " ").split())
    assert found.lines[1:3] == plain[1:3]
    found = nmt("translate", "--glossary", "terms.tsv", "--max-length", "2", "text")
    assert "2 lines lack a term" in found.err


def test_prefixes(nmt) -> None:
    Path("starts").write_text("Der\n\nÜb\n\n", "utf-8")
    plain = nmt("translate", "text").lines
    found = nmt("translate", "--prefix", "starts", "text")
    assert found.code == 0
    assert found.lines[0].startswith("Der")
    assert found.lines[2].startswith("Üb")
    assert found.lines[3] == plain[3]


@pytest.mark.parametrize(
    ("files", "arguments", "code", "words"),
    [
        ({"starts": "a\nb\n"}, ["--prefix", "starts"], 65, "`starts` ends before line 3"),
        ({"starts": "a\n" * 5}, ["--prefix", "starts"], 65, "has a line 5"),
        ({}, ["--prefix", "nothing"], 66, "nothing"),
        ({"t": "a\tb\nc d\n"}, ["--glossary", "t"], 65, "line 2: 1 column"),
        ({"t": "a\tb\n"}, ["--glossary", "t", "--sample"], 2, "--sample"),
        ({}, ["--glossary", "nothing"], 66, "nothing"),
        ({}, ["--ban", "nothing"], 66, "nothing"),
        ({}, ["--top-k", "3"], 78, "--top-k matters"),
        ({}, ["--temperature", "0"], 78, "--temperature = 0"),
        ({}, ["--min-length", "9", "--max-length", "3"], 78, "--min-length=9"),
        ({}, ["--repetition-penalty", "0.5"], 78, "--repetition-penalty = 0.5"),
        ({}, ["--mbr", "chrf", "--beam", "2"], 78, "--mbr chooses"),
        ({}, ["--mbr", "ter"], 2, "ter"),
        ({}, ["--n-best", "4"], 78, "--n-best=4"),
        ({}, ["--model", "model", "--model", "nothing"], 66, "nothing"),
    ],
)
def test_what_is_wrong_is_said(nmt, files, arguments, code: int, words: str) -> None:
    for name, text in files.items():
        Path(name).write_text(text, "utf-8")
    found = nmt("translate", *arguments, "text")
    assert found.code == code
    assert found.err.startswith("error: ")
    assert words in found.err
    # A prefix that is one too many is only known when all lines are done.
    assert found.lines == [] or "has a line 5" in words


def test_settings_in_the_project_file(nmt) -> None:
    Path("nmt.toml").write_text("[search]\nmin_length = 12\nlength_penalty = 'none'\n")
    options = ["--min-length", "12", "--length-penalty", "none"]
    from_file = nmt("translate", "text").lines
    Path("nmt.toml").unlink()
    assert nmt("translate", *options, "text").lines == from_file


def test_what_does_not_go_together_in_settings() -> None:
    for values, words in (
        ({"search.top_p": 0.5}, "search.top_p"),
        ({"search.mbr": "bleu", "search.beam": 1}, "search.beam is 1"),
        ({"search.n_best": 9, "search.sample": True, "search.mbr": "chrf"}, "search.beam=4"),
    ):
        with pytest.raises(ConfigError, match=words.replace(".", r"\.")):
            resolve([SettingsLayer("test", values)])
    many = resolve(
        [SettingsLayer("test", {"search.n_best": 9, "search.sample": True})]
    ).config.search
    assert (many.rows, many.finished) == (9, 9)


class TestScoring:
    @pytest.fixture(autouse=True)
    def texts(self, nmt) -> None:
        Path("target").write_text("die Zeile\n\ngrößer\nein Hund\n", "utf-8")

    def expected(self):
        targets = Path("target").read_text("utf-8").split("\n")[:-1]
        return list(Translator.load("model").score(zip(LINES, targets, strict=True)))

    def test_all_lines_together(self, nmt) -> None:
        found = nmt("score", "--pairs", "text", "target")
        pairs = self.expected()
        tokens = sum(len(pair.tokens) for pair in pairs)
        log_prob = sum(pair.log_prob for pair in pairs)
        assert found.code == 0
        (line,) = found.lines
        assert f"log-probability {log_prob:.4f} ({tokens} tokens, 4 lines)" in line
        assert line.startswith("perplexity ")

    def test_each_line(self, nmt) -> None:
        found = nmt("score", "--pairs", "text", "target", "--each")
        for line, pair in zip(found.lines, self.expected(), strict=True):
            log_prob, perplexity, tokens = line.split("\t")
            assert float(log_prob) == pytest.approx(pair.log_prob, abs=1e-5)
            assert float(perplexity) == pytest.approx(pair.perplexity, rel=1e-3)
            assert int(tokens) == len(pair.tokens)

    def test_json(self, nmt) -> None:
        found = nmt("score", "--pairs", "text", "target", "--json")
        *documents, total = map(json.loads, found.lines)
        for document, pair in zip(documents, self.expected(), strict=True):
            assert document["tokens"] == list(pair.tokens)
            assert document["token_scores"] == pytest.approx(pair.token_scores, abs=1e-5)
            assert document["log_prob"] == pytest.approx(sum(pair.token_scores), abs=1e-4)
        assert total["lines"] == 4
        assert total["tokens"] == sum(len(one["tokens"]) for one in documents)
        assert total["log_prob"] == pytest.approx(sum(one["log_prob"] for one in documents))

    def test_an_n_best_list_gets_the_scores_of_the_search(self, nmt) -> None:
        Path("list").write_text(
            "\n".join(nmt("translate", "--n-best", "3", "text").lines[::-1]) + "\n", "utf-8"
        )
        found = nmt("score", "--n-best-list", "text", "list")
        assert found.code == 0
        rows = [line.split(" ||| ") for line in found.lines]
        assert len(rows) == 10
        for number in ("0", "2", "3"):
            some = [row for row in rows if row[0] == number]
            scores = [float(row[-1]) for row in some]
            assert scores == sorted(scores, reverse=True)
            for row in some:
                (pair,) = Translator.load("model").score([(LINES[int(number)], row[1])])
                expected = pair.log_prob / ((5 + len(pair.tokens)) / 6) ** 0.6
                assert float(row[3]) == pytest.approx(expected, abs=1e-4)
        # Bytes that are no text do not come back as they were; the others have the same score.
        assert any(abs(float(row[2]) - float(row[3])) < 1e-3 for row in rows)

    @pytest.mark.parametrize(
        ("files", "arguments", "code", "words"),
        [
            ({}, ["--pairs", "text", "nothing"], 66, "nothing"),
            ({"short": "a\n"}, ["--pairs", "text", "short"], 65, "`short` has 1"),
            ({"none": ""}, ["--pairs", "none", "none"], 65, "no lines"),
            ({}, ["--pairs", "text", "text", "target"], 2, "without other files"),
            ({"l": "0 ||| a\nb\n"}, ["--n-best-list", "text", "l"], 65, "`l`, line 2"),
            ({"l": "9 ||| a\n"}, ["--n-best-list", "text", "l"], 65, "no source line 9"),
            ({"l": "0 ||| a\n"}, ["--n-best-list", "text", "l", "--pairs", "l", "l"], 2, "without"),
        ],
    )
    def test_what_is_wrong_is_said(self, nmt, files, arguments, code: int, words: str) -> None:
        for name, text in files.items():
            Path(name).write_text(text, "utf-8")
        found = nmt("score", *arguments)
        assert found.code == code
        assert words in found.err
