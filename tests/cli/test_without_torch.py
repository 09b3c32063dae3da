"""`nmt translate`, `nmt score` and `nmt info` where torch cannot be imported."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import without_torch
from byte_models import byte_config, byte_model, byte_subwords
from corpora import reversal_corpus

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.shortlist import Shortlist
from nmt_cli.model_dir import save_model

LINES = "ab cd\nthe <b>red</b> house\n\nxyz 123 abc. Who is there?\n"
# For each search setting: the arguments of commands that use it.
SETTINGS: dict[str, list[list[str]]] = {
    "beam": [["--beam", "1"], ["--beam", "5"]],
    "alpha": [["--alpha", "1.2"]],
    "max_extra_length": [["--set", "search.max_extra_length=1"]],
    "n_best": [["--n-best", "3", "--beam", "4"]],
    "sentences": [["--set", "search.sentences=line"], ["--set", "search.sentences=split"]],
    "markup": [["--set", "search.markup=off"]],
    "keep_numbers": [["--set", "search.keep_numbers=true"]],
    "retry": [["--set", "search.retry=true"]],
    "batch_tokens": [["--set", "search.batch_tokens=20"]],
    "length_penalty": [["--set", "search.length_penalty=power"]],
    "word_reward": [["--set", "search.word_reward=0.4"]],
    "coverage_penalty": [["--set", "search.coverage_penalty=0.2", "--n-best", "2"]],
    "patience": [["--patience", "1", "--n-best", "2"]],
    "min_length": [["--set", "search.min_length=5"]],
    "max_length": [["--set", "search.max_length=4"]],
    "no_repeat_ngram": [["--set", "search.no_repeat_ngram=2"]],
    "repetition_penalty": [["--set", "search.repetition_penalty=1.4"]],
    "sample": [["--sample", "--beam", "3", "--n-best", "3"]],
    "temperature": [["--sample", "--set", "search.temperature=0.6"]],
    "top_k": [["--sample", "--set", "search.top_k=7"]],
    "top_p": [["--sample", "--set", "search.top_p=0.7"]],
    "seed": [["--sample", "--set", "search.seed=9"]],
    "mbr": [
        ["--sample", "--beam", "4", "--set", f"search.mbr={name}"] for name in ("chrf", "bleu")
    ],
    "replace_unknown": [["--set", "search.replace_unknown=true"]],
    "alignment": [["--set", "search.alignment=true"]],
    "shortlist": [["--set", "search.shortlist=9"]],
}
OTHERS = [
    [],
    ["--precision", "int8"],
    ["--precision", "bf16"],
    ["--threads", "2", "--stats"],
    ["--prefix", "prefixes"],
    ["--ban", "banned"],
    ["--glossary", "terms.tsv"],
    ["--keep", "names"],
    ["--model", "other"],
]
# What the reference model is asked for, by an argument; its last digits are others in NumPy than in
# torch.
ASKING = {
    "search.coverage_penalty=0.2": "search.coverage_penalty",
    "search.alignment=true": "search.alignment",
    "search.replace_unknown=true": "search.replace_unknown",
    "terms.tsv": "the places of glossary terms",
    "other": "the mean of an ensemble",
}


def test_every_search_setting_has_a_case() -> None:
    assert list(SETTINGS) == [field.name for field in dataclasses.fields(SearchConfig)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_cache: Path) -> Path:
    """Two models, one with a shortlist, and the files that commands name."""
    config, subwords = byte_config(), byte_subwords()
    for seed, name in enumerate(("model", "other"), 1):
        weights = byte_model(config, seed).state_dict()
        save_model(tmp_path / name, weights, config, subwords, {"step": "1"})
    allowed = np.arange(100 * subwords.src_size, dtype=np.int32).reshape(subwords.src_size, 100)
    letters = np.arange(ord("a") + 4, ord("z") + 5, dtype=np.int32)
    Shortlist(allowed % subwords.tgt_size, allowed[:, 0] * 0 - 1, letters).save(
        tmp_path / "model", subwords
    )
    files = {
        "prefixes": "a\n\n\nb\n",
        "banned": "e\n",
        "names": "abc\nhouse\n",
        "terms.tsv": "red\tno\nhouse\tzq\n",
    }
    files |= {"a.src": "ab cd\nx\n", "a.tgt": "mn\nop q\n", "a.list": "0 ||| mn\n0 ||| o\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(kernel_cache.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers_without_torch(cases: list[without_torch.Case]) -> list[without_torch.Answer]:
    finished = subprocess.run(
        [sys.executable, without_torch.__file__], input=json.dumps(cases), check=True,
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    return json.loads(finished.stdout)


def near(left: object, right: object) -> bool:
    """Whether two answers in JSON are equal up to the last digits of numbers."""
    if isinstance(left, float | int) and isinstance(right, float | int):
        # A perplexity is the exponential of a score.
        return left == pytest.approx(right, rel=1e-5, abs=1e-4)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(near, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(near(left[key], right[key]) for key in left)
    return left == right


def test_translations_are_those_of_an_installation_with_torch(folder: Path) -> None:
    options = [arguments for of_setting in SETTINGS.values() for arguments in of_setting]
    cases = [
        (["translate", "--model", "model", *arguments, "--json"], LINES)
        for arguments in (*options, *OTHERS)
    ]
    expected = list(without_torch.run(cases))
    for case, actual, wanted in zip(cases, answers_without_torch(cases), expected, strict=True):
        assert (actual[0], wanted[0]) == (0, 0), (case, actual[2], wanted[2])
        rows = [[json.loads(line) for line in out.splitlines()] for out in (actual[1], wanted[1])]
        assert len(rows[0]) == 4
        asked = [ASKING[argument] for argument in case[0] if argument in ASKING]
        for feature in asked:
            assert f"PyTorch is not installed, so NumPy computes {feature}\n" in actual[2], case
        if asked:
            assert near(*rows), case
        else:
            assert actual[1] == wanted[1], case


def test_a_feature_for_which_torch_is_imported_is_named(folder: Path) -> None:
    command = [sys.executable, "-m", "nmt_cli", "translate", "--model", "model"]
    said = [
        subprocess.run(
            [*command, *options], input="ab\n", check=True, capture_output=True, text=True
        ).stderr
        for options in ([], ["--set", "search.alignment=true"])
    ]
    assert ["loading PyTorch" in text for text in said] == [False, True]
    message = "loading PyTorch for search.alignment, which the CPU kernels of nmt do not compute\n"
    assert message in said[1]


def test_scores_and_facts_are_those_of_an_installation_with_torch(folder: Path) -> None:
    cases = [
        (["score", "--model", "model", "--pairs", "a.src", "a.tgt", "--json"], ""),
        (["score", "--model", "model", "--n-best-list", "a.src", "a.list"], ""),
        (["info", "model", "--json"], ""),
    ]
    (pairs, ranked, info), wanted = answers_without_torch(cases), list(without_torch.run(cases))
    assert [each[0] for each in (pairs, ranked, info, *wanted)] == [0] * 6
    rows = [[json.loads(line) for line in out.splitlines()] for out in (pairs[1], wanted[0][1])]
    assert near(*rows)
    best = [
        [line.rpartition(" ||| ")[0] for line in each[1].splitlines()]
        for each in (ranked, wanted[1])
    ]
    assert best[0] == best[1]
    facts, others = json.loads(info[1]), json.loads(wanted[2][1])
    for export in facts.pop("export").values():
        assert "needs torch" in export["reasons"][0]["problem"]
    del others["export"]
    assert facts == others


def test_functions_that_need_torch_say_so(folder: Path) -> None:
    support = str(Path(without_torch.__file__).parent)
    script = (
        f"import sys; sys.path.append({support!r}); from without_torch import NoTorch\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "from nmt_cli import NmtError, average, load, train\n"
        "from nmt_cli.extras.attention_map.attention import sentence_attention\n"
        "for call in (lambda: train('text/corpus', 'new'), lambda: average('model', 'new'),\n"
        "             lambda: sentence_attention(load('model'), 'a')):\n"
        "    try: call()\n"
        "    except NmtError as error: print(error.exit_code, error.message)\n"
    )
    reversal_corpus(folder / "text", pairs=40)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    why = "needs torch, which is not installed\n"
    wanted = f"69 train() {why}69 average() {why}69 sentence_attention() {why}"
    assert done.stdout == wanted, done.stderr
    assert not (folder / "new").exists()


def test_what_needs_torch_says_so(folder: Path) -> None:
    reversal_corpus(folder / "text", pairs=40)
    cases = [
        (["translate", "--model", "model", "--device", "cuda"], "a\n"),
        (["train", "--out", "new"], ""),
        (["export", "model", "--to", "marian", "--out", "x"], ""),
        (["import", "marian", "--out", "x"], ""),
        (["average", "model", "--out", "x"], ""),
        (["shortlist", "--model", "model", "--corpus", "text/corpus"], ""),
        (["demo", "x"], ""),
    ]
    for (arguments, _), (code, out, err) in zip(cases, answers_without_torch(cases), strict=True):
        assert (code, out) == (69, ""), (arguments, err)
        name = arguments[0]
        subject = "the device `cuda`" if name == "translate" else f"`nmt {name}`"
        assert f"error: {subject} needs torch, which is not installed" in err
        assert "hint: install nmt-cli: pip install . (in a clone of nmt)" in err
