"""The search options of `nmt translate`, and `nmt score` by a model, as they are typed."""

import io
import json
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from byte_models import byte_config, byte_model, byte_subwords, save_word_model

from nmt_cli.cli import main
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.languages.words import FUNCTION_WORDS
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


def test_every_search_option_reaches_the_search(nmt) -> None:
    plain = nmt("translate", "text")
    assert plain.code == 0
    for options in (
        ["--min-length", "12"], ["--max-length", "2"], ["--no-repeat-ngram", "1"],
        ["--repetition-penalty", "50"], ["--word-reward", "9"], ["--sample", "--seed", "7"],
        ["--length-penalty", "power", "--alpha", "5"], ["--model", "model", "--model", "other"],
        ["--sample", "--temperature", "9"], ["--max-extra-length", "0"],
    ):  # fmt: skip
        result = nmt("translate", *options, "text")
        assert (result.code, result.err) == (0, ""), options
        assert len(result.lines) == 4
        assert result.lines[1] == ""
        assert result.lines != plain.lines, options
    default = ["--length-penalty", "gnmt", "--word-reward", "0", "--no-repeat-ngram", "0"]
    assert nmt("translate", *default, "text").lines == plain.lines


def test_sampling_is_repeatable_with_a_seed(nmt) -> None:
    options = ["translate", "--sample", "--top-p", "0.95", "--top-k", "50", "text"]
    first = nmt(*options, "--seed", "3").lines
    assert nmt(*options, "--seed", "3").lines == first
    assert nmt(*options, "--seed", "3", "--batch-tokens", "1").lines == first
    assert nmt(*options, "--seed", "4").lines != first
    several = nmt(*options, "--n-best", "5").lines
    assert [line.split(" ||| ")[0] for line in several] == [*["0"] * 5, "1", *["2"] * 5, *["3"] * 5]


def test_scores_and_alignment_are_printed_after_the_text(nmt) -> None:
    plain = nmt("translate", "text").lines
    for text, line in zip(plain, nmt("translate", "--scores", "text").lines, strict=True):
        shown, score, tokens = line.split(" ||| ")
        assert shown == text
        assert float(score) <= 0
        assert all(float(log_prob) <= 0 for log_prob in tokens.split())
        assert bool(tokens.split()) == bool(text)
    for text, line in zip(plain, nmt("translate", "--alignment", "text").lines, strict=True):
        shown, links = line.split(" ||| ")
        assert shown == text
        assert [link.split("-")[1] for link in links.split()] == [
            str(index) for index in range(len(text.split()))
        ]
    rows = nmt("translate", "--alignment", "--scores", "--n-best", "2", "text").lines
    assert {len(row.split(" ||| ")) for row in rows} == {5}
    documents = [
        json.loads(line) for line in nmt("translate", "--json", "--alignment", "text").lines
    ]
    assert documents[3]["hypotheses"][0]["alignment"]


def test_banned_words_do_not_occur_in_translations(nmt) -> None:
    characters = set("".join(nmt("translate", "text").lines))
    letters = (character for character in characters if character.isascii())
    banned = sorted(letter for letter in letters if letter.isalpha())[:3]
    assert len(banned) == 3
    Path("ban").write_text("\n\n".join(banned) + "\n", "utf-8")
    result = nmt("translate", "--ban", "ban", "text")
    assert result.code == 0
    for word in " ".join(result.lines).split():
        # Banned where a word begins, not inside of one.
        assert word[0] not in banned


def test_glossary_terms_are_in_the_translations(nmt) -> None:
    Path("terms.tsv").write_text("dog\tHund|Köter\nfirst line\tERSTE\n", "utf-8")
    plain = nmt("translate", "text").lines
    for beam in ("1", "3"):
        result = nmt("translate", "--glossary", "terms.tsv", "--beam", beam, "text")
        assert (result.code, result.err) == (0, "")
        assert "ERSTE" in result.lines[0]
        assert {"Hund", "Köter"} & set(result.lines[3].replace(",", " ").split())
    assert result.lines[1:3] == plain[1:3]
    result = nmt("translate", "--glossary", "terms.tsv", "--max-length", "2", "text")
    assert "2 lines lack a term" in result.err


def test_names_are_copied(nmt) -> None:
    Path("names").write_text("first\n\n  dog \n", "utf-8")
    Path("more").write_text("NordPad v2\nfirst\n", "utf-8")
    Path("named").write_text("the first dog of NordPad v2\nDogs\nfirst\n", "utf-8")
    result = nmt("translate", "--keep", "names", "--keep", "more", "named")
    assert (result.code, result.err) == (0, "")
    words = result.lines[0].split()
    assert {"first", "dog", "v2"} <= {word.strip(",.") for word in words}
    assert "NordPad v2" in result.lines[0]
    assert result.lines[1:] == [nmt("translate", "named").lines[1], "first"]
    sampled = nmt("translate", "--keep", "names", "--sample", "--seed", "3", "named")
    assert (sampled.code, "dog" in sampled.lines[0], "first" in sampled.lines[0]) == (0, True, True)


def test_names_that_the_text_lacks_have_a_note(nmt) -> None:
    Path("names").write_text("dog\nO'Hara\nNordPad\nfirst\n", "utf-8")
    Path("named").write_text("the dog of O\u2019Hara\nNordPads\n", "utf-8")
    result = nmt("translate", "--keep", "names", "named")
    assert result.err == (
        "2 of 4 names of --keep do not occur in the text as whole words: `NordPad`, `first`\n"
    )
    document = nmt("translate", "--keep", "names", "--document", "named", "--kind", "text")
    assert document.err.endswith(result.err)
    assert nmt("translate", "--keep", "names", "--quiet", "named").err == ""
    Path("names").write_text("dog\n")
    assert nmt("translate", "--keep", "names", "named").err == ""


def test_names_are_not_taken_for_another_language(nmt, monkeypatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(
        "nmt_cli.cli.commands.translate.warn_of_misfit", lambda texts, *_: checked.extend(texts)
    )
    Path("names").write_text("Qux\n")
    Path("named").write_text("A Qux dog\n")
    assert nmt("translate", "--keep", "names", "named").code == 0
    assert checked == ["A  dog"]


def test_prefixes_begin_the_translations(nmt) -> None:
    Path("starts").write_text("Der\n\nÜb\n\n", "utf-8")
    plain = nmt("translate", "text").lines
    result = nmt("translate", "--prefix", "starts", "text")
    assert result.code == 0
    assert result.lines[0].startswith("Der")
    assert result.lines[2].startswith("Üb")
    assert result.lines[3] == plain[3]


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
        ({}, ["--keep", "nothing"], 66, "nothing"),
        ({"t": "a\n\nb\tc\n"}, ["--keep", "t"], 65, "`t`, line 3: the name has a tab"),
        ({"t": "a\n"}, ["--keep", "t", "--markup", "off"], 2, "leave out --markup off, or --keep"),
        ({}, ["--top-k", "3"], 2, "--top-k needs --sample"),
        ({}, ["--temperature", "0"], 2, "--temperature must be at least 0.01, not 0.0"),
        (
            {},
            ["--min-length", "9", "--max-length", "3"],
            2,
            "--min-length 9 is more than --max-length 3",
        ),
        (
            {},
            ["--repetition-penalty", "0.5"],
            2,
            "--repetition-penalty must be at least",
        ),
        ({}, ["--mbr", "chrf", "--beam", "2"], 2, "--mbr compares at least 3 hypotheses"),
        ({}, ["--mbr", "ter"], 2, "ter"),
        ({}, ["--patience", "1", "--sample"], 2, "--patience ends a beam search, and --sample"),
        ({}, ["--n-best", "4"], 2, "--n-best 4 is more than search.beam=3"),
        ({}, ["--model", "model", "--model", "nothing"], 66, "nothing"),
    ],
)
def test_wrong_arguments_are_refused(nmt, files, arguments, code: int, words: str) -> None:
    for name, text in files.items():
        Path(name).write_text(text, "utf-8")
    result = nmt("translate", *arguments, "text")
    assert result.code == code
    assert result.err.startswith("error: ")
    assert words in result.err
    # A prefix that is one too many is only known when all lines are done.
    assert result.lines == [] or "has a line 5" in words


def test_settings_of_the_project_file_are_the_same_as_options(nmt) -> None:
    Path("nmt.toml").write_text("[search]\nmin_length = 12\nlength_penalty = 'none'\n")
    options = ["--min-length", "12", "--length-penalty", "none"]
    from_file = nmt("translate", "text").lines
    Path("nmt.toml").unlink()
    assert nmt("translate", *options, "text").lines == from_file


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--temperature", "2", "--top-p", "0.5"], "--temperature and --top-p need --sample"),
        (["--seed", "1"], "--seed needs --sample\n\nhint: add --sample"),
        (["--n-best", "9", "--beam", "8"], "--n-best 9 is more than --beam 8"),
        (["--beam", "0", "--top-p", "2"], "not 0; --top-p must be at most 1.0, not 2.0"),
        (["--mbr", "chrf", "--beam", "2"], "but --beam is 2"),
    ],
)
def test_errors_of_options_name_the_options(nmt, arguments, words: str) -> None:
    result = nmt("translate", *arguments, "text")
    assert (result.code, result.lines) == (2, [])
    assert words in result.err
    assert "search." not in result.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (
            ["--markup", "off", "--set", "search.keep_numbers=true"],
            "add `--set search.keep_numbers=false`, or leave out --markup",
        ),
        (["--markup", "off", "--keep-numbers"], "leave out --keep-numbers, or leave out --markup"),
        (
            ["--set", "search.markup=off", "--set", "search.keep_numbers=true"],
            "set search.keep_numbers=false, or set search.markup=keep",
        ),
    ],
)
def test_hint_of_a_conflict_names_only_options_that_were_given(nmt, arguments, hint: str) -> None:
    """A setting may be that of the model, which `nmt config save` has written."""
    result = nmt("translate", *arguments, "text")
    assert result.lines == []
    assert f"hint: {hint}\n" in result.err


def test_errors_of_other_settings_name_the_settings(nmt, monkeypatch) -> None:
    message = "error: search.top_p needs search.sample=true\n"
    results = [
        nmt("translate", "--set", "search.top_p=0.5", "text"),
        # `--set` replaces the value of the option.
        nmt("translate", "--top-p", "0.7", "--set", "search.top_p=0.5", "text"),
    ]
    monkeypatch.setenv("NMT_SEARCH_TOP_P", "0.5")
    results.append(nmt("translate", "--beam", "2", "text"))
    monkeypatch.delenv("NMT_SEARCH_TOP_P")
    Path("nmt.toml").write_text("[search]\ntop_p = 0.5\n")
    results.append(nmt("translate", "text"))
    assert [(result.code, result.lines) for result in results] == [(78, [])] * 4
    assert [result.err.startswith(message) for result in results] == [True] * 4


def test_an_option_and_another_setting_in_conflict_have_their_own_names(nmt) -> None:
    Path("nmt.toml").write_text("[search]\nn_best = 3\n")
    result = nmt("translate", "--beam", "2", "text")
    assert result.code == 2
    assert "search.n_best=3 is more than --beam 2" in result.err
    assert "raise --beam\n" in result.err


def test_conflicts_of_settings_name_the_settings() -> None:
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
        result = nmt("score", "--pairs", "text", "target")
        pairs = self.expected()
        tokens = sum(len(pair.tokens) for pair in pairs)
        log_prob = sum(pair.log_prob for pair in pairs)
        assert result.code == 0
        (line,) = result.lines
        assert f"log-probability {log_prob:.4f} ({tokens} tokens, 4 lines)" in line
        assert line.startswith("perplexity ")

    def test_files_in_each_others_language_are_warned_of(self, nmt) -> None:
        """By their names, or by the commonest words of their first lines."""
        config = byte_config({"languages.src": "en", "languages.tgt": "de"})
        save_model(Path("en-de"), byte_model(config).state_dict(), config, byte_subwords(), {})
        texts = {code: f"{FUNCTION_WORDS[code]}\n" * 12 for code in ("en", "de")}
        for code, text in texts.items():
            Path(f"a.{code}").write_text("7\n", "utf-8")
            Path(f"text-{code}").write_text(text, "utf-8")
        score = partial(nmt, "score", "--model", "en-de", "--pairs")
        for first, second in (("a.de", "a.en"), ("text-de", "text-en")):
            assert f"--pairs {second} {first}" in score(first, second).err
            assert "seems to be in" not in score(second, first).err

    def test_each_line(self, nmt) -> None:
        result = nmt("score", "--pairs", "text", "target", "--each")
        for line, pair in zip(result.lines, self.expected(), strict=True):
            log_prob, perplexity, tokens = line.split("\t")
            assert float(log_prob) == pytest.approx(pair.log_prob, abs=1e-5)
            assert float(perplexity) == pytest.approx(pair.perplexity, rel=1e-3)
            assert int(tokens) == len(pair.tokens)

    def test_json(self, nmt) -> None:
        result = nmt("score", "--pairs", "text", "target", "--json")
        *documents, total = map(json.loads, result.lines)
        for document, pair in zip(documents, self.expected(), strict=True):
            assert document["tokens"] == list(pair.tokens)
            assert document["token_scores"] == pytest.approx(pair.token_scores, abs=1e-5)
            assert document["log_prob"] == pytest.approx(sum(pair.token_scores), abs=1e-4)
        assert total["lines"] == 4
        assert total["tokens"] == sum(len(document["tokens"]) for document in documents)
        assert total["log_prob"] == pytest.approx(
            sum(document["log_prob"] for document in documents)
        )

    def test_an_n_best_list_gets_the_scores_of_the_search(self, nmt) -> None:
        Path("list").write_text(
            "\n".join(nmt("translate", "--n-best", "3", "text").lines[::-1]) + "\n", "utf-8"
        )
        result = nmt("score", "--n-best-list", "text", "list")
        assert result.code == 0
        rows = [line.split(" ||| ") for line in result.lines]
        assert len(rows) == 10
        for index in ("0", "2", "3"):
            rows_of_line = [row for row in rows if row[0] == index]
            scores = [float(row[-1]) for row in rows_of_line]
            assert scores == sorted(scores, reverse=True)
            for row in rows_of_line:
                (pair,) = Translator.load("model").score([(LINES[int(index)], row[1])])
                expected = pair.log_prob / ((5 + len(pair.tokens)) / 6) ** 0.6
                assert float(row[3]) == pytest.approx(expected, abs=1e-4)
        # Bytes that are no text do not come back as they were; the others have the same score.
        assert any(abs(float(row[2]) - float(row[3])) < 1e-3 for row in rows)
        sums = nmt("score", "--n-best-list", "text", "list", "--set", "search.alpha=0")
        for line in sums.lines:
            index, text, _, score = line.split(" ||| ")
            (pair,) = Translator.load("model").score([(LINES[int(index)], text)])
            assert float(score) == pytest.approx(pair.log_prob, abs=1e-4)

    def test_joined_n_best_lists_are_sorted_as_one(self, nmt) -> None:
        Path("list").write_text("2 ||| a\n0 ||| bcd\n2 ||| hgf\n0 ||| a\n", "utf-8")
        result = nmt("score", "--n-best-list", "text", "list")
        assert result.code == 0
        rows = [line.split(" ||| ") for line in result.lines]
        assert [row[0] for row in rows] == ["2", "2", "0", "0"]
        for first, second in (rows[:2], rows[2:]):
            assert float(first[-1]) > float(second[-1])
        Path("list").write_text("2 ||| a\n0 ||| bcd\n2 ||| hgf\nx\n", "utf-8")
        result = nmt("score", "--n-best-list", "text", "list")
        # Before anything is written.
        assert (result.code, result.lines) == (65, [])

    @pytest.mark.parametrize(
        ("files", "arguments", "code", "words"),
        [
            ({}, ["--pairs", "text", "nothing"], 66, "nothing"),
            ({"short": "a\n"}, ["--pairs", "text", "short"], 65, "`short` has 1"),
            ({"none": ""}, ["--pairs", "none", "none"], 65, "no lines"),
            ({}, ["--pairs", "text", "text", "target"], 2, "are used without other files"),
            ({"l": "0 ||| a\nb\n"}, ["--n-best-list", "text", "l"], 65, "`l`, line 2"),
            ({"l": "x ||| a\n"}, ["--n-best-list", "text", "l"], 65, "`l`, line 1: not of an"),
            ({"l": "4 ||| a\n"}, ["--n-best-list", "text", "l"], 65, "no source line 4"),
            (
                {"l": "0 ||| a\n"},
                ["--n-best-list", "text", "l", "--pairs", "l", "l"],
                2,
                "be combined",
            ),
        ],
    )
    def test_wrong_arguments_are_refused(
        self, nmt, files, arguments, code: int, words: str
    ) -> None:
        for name, text in files.items():
            Path(name).write_text(text, "utf-8")
        result = nmt("score", *arguments)
        assert result.code == code
        assert words in result.err


def test_seed_is_accepted_where_settings_sample_and_as_a_setting(nmt) -> None:
    sampling = ["translate", "--set", "search.sample=true", "text"]
    first, again, other = (nmt(*sampling, "--seed", seed) for seed in ("1", "1", "2"))
    assert first.code == 0, first.err
    assert first.lines == again.lines != other.lines
    assert nmt("translate", "--set", "search.seed=2", "text").code == 0


@pytest.mark.parametrize(
    ("banned", "prefixes", "warning"),
    [
        (
            "cat\n",
            ["", "a cat", "", "cat!"],
            "2 prefixes contain a phrase of --ban, first in line 2",
        ),
        (
            "a.c\na cat",
            ["", "", "", "a cat"],
            "1 prefix contains a phrase of --ban, first in line 4",
        ),
        ("cat\n", ["cats", "Cat", "concat", ""], ""),
        ("cat\n", ["cat\u0301", "e\u0301cat", "cat\u200ds", ""], ""),
        ("", ["a cat", "", "", ""], ""),
    ],
)
def test_prefixes_with_banned_phrases_are_warned_of(nmt, banned, prefixes, warning) -> None:
    Path("ban").write_text(banned)
    Path("starts").write_text("".join(f"{prefix}\n" for prefix in prefixes))
    result = nmt("translate", "--ban", "ban", "--prefix", "starts", "text")
    assert result.code == 0, result.err
    starts = [prefix for prefix, line in zip(prefixes, LINES, strict=True) if line]
    kept = [line for line in result.lines if line]
    assert all(line.startswith(start) for line, start in zip(kept, starts, strict=True))
    assert ("--ban" in result.err) == bool(warning)
    assert warning in " ".join(result.err.split())


def test_prefixes_with_letters_that_the_model_cannot_write_are_warned_of(nmt) -> None:
    """Those of tags, which are left out, do not count."""
    save_word_model(Path("words"))
    Path("starts").write_text("\nthe 漢 cat\n<i>the cat</i>\n\n", "utf-8")
    command = ["translate", "--model", "words", "--prefix", "starts", "text"]
    result = nmt(*command)
    assert result.code == 0, result.err
    said = " ".join(result.err.split())
    assert "1 prefix contains letters that the model cannot write, first in line 2; these" in said
    Path("starts").write_text("\nthe cat\n<i>the cat</i>\n\n")
    assert "prefix" not in nmt(*command).err


def test_prefix_warning_of_a_part_names_the_line_of_the_file(nmt) -> None:
    Path("ban").write_text("cat\n")
    Path("starts").write_text("\n\n\ncat\n")
    result = nmt("translate", "--ban", "ban", "--prefix", "starts", "--part", "2/2", "text")
    assert "first in line 4;" in " ".join(result.err.split())
