"""`nmt parse`, `nmt parse prepare`, `nmt parse score` as they are typed."""

import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli import main
from nmt_cli.cli.experiments import parse
from nmt_cli.config.schema import LanguagesConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.extras.parsing import parser
from nmt_cli.extras.parsing.linearize import from_line
from nmt_cli.extras.parsing.trees import leaves, tree_words, trees_of
from nmt_cli.model_dir import save_model
from nmt_cli.translation.translator import Translator

LINES = ["The dog sleeps .", "", "f(x) = y", " a\tb\u00a0c  ", "x"]
GOLD = [
    "(S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .))",
    "(S (NP (NN dogs)) (VP (VBP run)))",
    "(S (NP (NN dogs)))",
]
PARSED = [
    "(S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .))",
    "(S (NX (NN dogs)) (VP (VBP run)))",
    "(S (NP (NN cats)))",
]


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.removesuffix("\n").split("\n")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    config = byte_config({"search.beam": 3, "data.max_length": 400})
    weights = byte_model(config)
    for character in "()NPS":
        weights.output_bias.data[4 + ord(character)] += 5.0
    save_model(path, weights.state_dict(), config, byte_subwords(), {})
    return path


@pytest.fixture
def nmt(model: Path, tmp_path: Path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "some.words").write_bytes(("\n".join(LINES) + "\n").encode())
    for name, lines in (("gold", GOLD), ("parsed", PARSED)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["parse", *arguments])
        return Result(code, *capfd.readouterr())

    return run


SHORT = ("--beam", "2", "--max-extra-length", "12")


def test_each_line_becomes_a_tree_over_its_words(nmt) -> None:
    result = nmt("some.words", *SHORT)
    assert result.code == 0
    assert len(result.lines) == len(LINES)
    for line, shown in zip(LINES, result.lines, strict=True):
        (tree,) = trees_of(shown) or (None,)
        assert [leaf.word for leaf in leaves(tree)] == tree_words(line) if tree else line == ""
    rows = [json.loads(line) for line in nmt("some.words", *SHORT, "--json").lines]
    count = sum(row["repairs"] > 0 for row in rows)
    assert count >= 3
    assert f"repaired {count} of 5 parses, which were not valid trees" in result.err


def test_parse_without_subcommand_is_parse_text(nmt) -> None:
    result = nmt("text", "some.words", *SHORT)
    assert result.out == nmt(*SHORT, stdin=Path("some.words").read_bytes()).out
    assert nmt("some.words", "-o", "some.parsed", *SHORT, "--quiet") == (0, "", "")
    assert Path("some.parsed").read_bytes().decode() == result.out


def test_parse_json_lists_repairs(nmt) -> None:
    shown = nmt("some.words", *SHORT).lines
    rows = [json.loads(line) for line in nmt("some.words", *SHORT, "--json").lines]
    assert [row["tree"] for row in rows] == shown
    assert [row["line"] for row in rows] == list(range(5))
    assert rows[2]["words"] == ["f-LRB-x-RRB-", "=", "y"]
    assert rows[1] == {
        "schema": 1, "line": 1, "words": [], "tree": "", "output": "", "repairs": 0,
        "score": 0.0, "flags": ["empty"],
    }  # fmt: skip
    many = nmt("--json", "--beam", "1", "--max-extra-length", "1", stdin=b"x\n" * 40).lines
    assert [json.loads(line)["line"] for line in many] == list(range(40))
    assert rows[0]["repairs"] > 0
    assert rows[0]["score"] < 0
    # The output is repaired in the same way.
    for row in rows:
        if row["words"]:
            assert from_line(row["output"], row["words"]).repairs == row["repairs"]


@pytest.mark.parametrize(
    ("arguments", "project", "wanted"),
    [
        ((), "", (21, 0.3, 300)),
        (("--beam", "5", "--alpha", "0.5"), "", (5, 0.5, 300)),
        (("--max-extra-length", "9"), "[search]\nbeam = 7", (7, 0.3, 9)),
        (("--set", "search.beam=2"), "[search]\nalpha = 0.9", (2, 0.9, 300)),
    ],
)
def test_parse_search_defaults_to_the_papers_settings(
    nmt, monkeypatch, arguments, project, wanted
) -> None:
    Path("nmt.toml").write_text(project)
    seen: list[SearchConfig] = []

    def parse_window(translator, lines, search):
        seen.append(search)
        return []

    monkeypatch.setattr(parser, "parse_window", parse_window)
    assert nmt("some.words", *arguments).code == 0
    assert [(search.beam, search.alpha, search.max_extra_length) for search in seen] == [wanted]


def test_parse_uses_the_threads_that_are_asked_for(nmt, monkeypatch) -> None:
    used: list[int] = []
    monkeypatch.setattr("nmt_cli.cli.environment.use_threads", used.append)
    assert nmt("some.words", "--threads", "1", *SHORT).code == 0
    assert used == [1]


def test_parse_warns_of_lines_that_are_not_utf8(nmt) -> None:
    result = nmt(*SHORT, stdin=b"a b\nc \xff\n")
    assert result.code == 0
    assert "warning: `stdin`: 1 line is not UTF-8, first at line:byte 2:3" in result.err
    assert result.lines[1].count(" \ufffd)") == 1


def test_parse_function_from_python(model: Path, nmt) -> None:
    translator = Translator.load(model)
    search = byte_config({"search.max_extra_length": 12, "search.alpha": 0.3}).search
    results = list(parser.parse(translator, LINES, search))
    assert [result.words for result in results] == [tuple(tree_words(line)) for line in LINES]
    assert results[1].tree is None
    shown = nmt("some.words", *SHORT).lines
    assert [trees_of(line) for line in shown] == [
        (result.tree,) if result.tree else () for result in results
    ]
    config = parser.for_parsing(translator.config)
    assert (config.search.beam, config.search.alpha) == (21, 0.3)
    assert config.data == translator.config.data


def test_parse_prepare_writes_words_and_trees(nmt) -> None:
    Path("a.mrg").write_text("( (S (NP-SBJ (DT a)\n  (NN dog)) (VP (VBZ is) (-NONE- *)) (. .)) )")
    Path("b.mrg").write_text("( (NP (-NONE- *)) )\n( (NP (NN b)) )\n")
    result = nmt("prepare", "a.mrg", "b.mrg", "--out", "made/train")
    assert (result.code, result.out) == (0, "")
    assert "wrote 2 trees as made/train.words, made/train.brackets, made/train.trees" in result.err
    assert "left out 1 tree without words" in result.err
    made = {end: Path(f"made/train.{end}").read_text() for end in ("words", "brackets", "trees")}
    assert made == {
        "words": "a dog is .\nb\n",
        "brackets": "(S (NP DT NN )NP (VP VBZ )VP . )S\n(NP NN )NP\n",
        "trees": "(S (NP (DT a) (NN dog)) (VP (VBZ is)) (. .))\n(NP (NN b))\n",
    }
    assert nmt("prepare", "b.mrg", "--out", "xx", "--tags", "xx", "--quiet") == (0, "", "")
    assert Path("xx.brackets").read_text() == "(NP XX )NP\n"


def test_invalid_treebank_is_refused_without_output(nmt) -> None:
    Path("a.mrg").write_text("(NP (NN b))\n(NP (NN b)\n")
    result = nmt("prepare", "a.mrg", "--out", "train")
    assert result.code == 65
    assert "error: `a.mrg`, line 2: a bracket is opened here and never closed" in result.err
    assert "hint: a tree looks like this" in result.err
    assert nmt("prepare", "none.mrg", "--out", "train").code == 66
    for empty in ("", "(S (-NONE- *))\n"):
        Path("empty.mrg").write_text(empty)
        result = nmt("prepare", "empty.mrg", "--out", "train")
        assert result.code == 65
        assert "error: there is no tree with words in the files of trees" in result.err
    assert not list(Path().glob("*train*"))


def test_parse_scores_are_printed_like_evalb(nmt) -> None:
    result = nmt("score", "parsed", "gold")
    assert result.code == 0
    assert result.err == (
        "warning: line 3 is left out: the word `cats`, the gold tree has `dogs`\n"
    )
    assert result.lines[0] == "-- All --"
    assert "Number of Error sentence  =      1" in result.lines
    assert "Bracketing Recall         =  83.33" in result.lines
    assert "Complete match            =  50.00" in result.lines
    assert result.lines.index("-- len<=40 --") == 14
    assert len(result.lines) == 27
    assert nmt("score", "-", "gold", stdin=Path("parsed").read_bytes()).out == result.out


def test_parse_score_names_few_of_many_errors(nmt) -> None:
    Path("other").write_text("(S (NN b))\n" * 12)
    Path("right").write_text("(S (NN a))\n" * 12)
    result = nmt("score", "other", "right")
    assert result.code == 0
    assert result.err.count("is left out: the word `b`") == 10
    assert "warning: 2 more lines are left out" in result.err
    Path("strict.prm").write_text("MAX_ERROR 10\n")
    result = nmt("score", "other", "right", "--params", "strict.prm")
    assert result.code == 65
    assert "`other`, line 12: the word `b`, the gold tree has `a`" in result.err


def test_parse_score_names_the_first_word_of_lines_with_other_numbers_of_words(nmt) -> None:
    """Punctuation is not counted: here a hyphen that is punctuation in one tree alone."""
    Path("gold.mrg").write_text("(S (NN a) (: -) (NN b) (. .))\n(S (NN a))\n")
    Path("tagged.mrg").write_text("(S (NN a) (NN -) (NN b) (. .))\n(S (NN a) (NN c))\n")
    result = nmt("score", "tagged.mrg", "gold.mrg")
    assert result.err == (
        "warning: line 1 is left out: 3 words, the gold tree has 2 without punctuation; "
        "word 2 is `-`, in the gold tree `b`\n"
        "warning: line 2 is left out: 2 words, the gold tree has 1 without punctuation; "
        "only the parsed tree has word 2, `c`\n"
    )


def test_parse_score_each_and_by_length_add_tables(nmt) -> None:
    result = nmt("score", "parsed", "gold", "--each", "--by-length")
    row = "   1    4    0  100.00 100.00     3      3    3      0      3     3   100.00"
    assert result.lines[3] == row
    assert result.lines[-1].split() == ["1-10", "2", "83.33", "83.33", "83.33"]


def test_parse_score_json(nmt) -> None:
    Path("my.prm").write_text("CUTOFF_LEN 3\nDELETE_LABEL .\nEQ_LABEL NP NX\n")
    result = json.loads(nmt("score", "parsed", "gold", "--json", "--params", "my.prm").out)
    assert result["schema"] == 1
    assert result["all"]["f1"] == 100
    assert (result["all"]["sentences"], result["all"]["valid"], result["cutoff"]) == (3, 2, 3)
    assert result["up_to_cutoff"]["sentences"] == 2
    assert result["by_length"] == [{"longest": 10, **result["all"]}]
    assert result["errors"] == [{"line": 3, "reason": "the word `cats`, the gold tree has `dogs`"}]
    assert "each" not in result
    result = json.loads(nmt("score", "parsed", "gold", "--json", "--each").out)
    assert [row["status"] for row in result["each"]] == ["valid", "valid", "error"]
    assert [row["matched"] for row in result["each"]] == [3, 2, 0]


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("-", "-"), 2, "only one of the files can come from stdin"),
        (("parsed", "none"), 66, "none"),
        (("parsed", "some.words"), 65, "`parsed` has 3 lines, `some.words` has 5"),
        (("bad", "gold"), 65, "`bad`, line 2: a bracket is closed that was not opened"),
        (("parsed", "gold", "--params", "gold"), 65, "`gold`, line 1: unknown parameter `(S`"),
    ],
)
def test_parse_score_refuses_files_that_cannot_be_scored(nmt, arguments, code, what) -> None:
    Path("bad").write_text(f"{PARSED[0]}\n{PARSED[1]})\n\n")
    result = nmt("score", *arguments)
    assert (result.code, result.out) == (code, "")
    assert what in result.err


def test_outer_brackets_in_one_file_only_are_warned_of(nmt) -> None:
    Path("raw").write_text("".join(f"( {line} )\n" for line in GOLD))
    warning = "0 parsed trees and 3 gold trees have an outer bracket without a label"
    assert warning in nmt("score", "gold", "raw").err
    assert nmt("score", "raw", "raw").err == ""


def test_a_model_that_parses_nothing_is_doubted(nmt) -> None:
    """As one that translates: none of its lines is a tree."""
    one = nmt(*SHORT, stdin=b"f(x) = y\n")
    assert one.code == 0
    rows = [json.loads(line) for line in nmt("some.words", *SHORT, "--json").lines]
    assert (rows[2]["repairs"] > 0) == ("does `model`, which translates" in one.err)
    assert "does `model`, which translates" in one.err
    assert "does `model`" not in nmt("some.words", *SHORT).err


def test_a_parser_that_parses_nothing_needs_more_training(nmt) -> None:
    languages = LanguagesConfig("words", "brackets")
    assert parse._doubt("m", languages).endswith("`m` is not trained enough, or not on such text")
