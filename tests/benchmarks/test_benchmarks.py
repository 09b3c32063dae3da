"""The benchmarks run to their last line in a tiny form, and their ratios point the right way."""

import contextlib
import dataclasses
import doctest
import importlib
import itertools
import json
import math
import os
import random
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import tomli_w
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.data.corpus.corpus import CorpusSide, Pairs
from nmt_cli.data.subwords.segmenters import EOS
from nmt_cli.model.backends import dispatch
from nmt_cli.model_dir import save_model

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
KEYS = {"name", "unit", "better", "ours", "peer", "ratio", "settings"}


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


def run(script: str, *arguments: str, out: Path) -> dict:
    """A benchmark as its users start it; what it prints is what it wrote."""
    # Interpreted GPU kernels have tests of their own.
    env = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, BENCHMARKS / script, "--tiny", "--json", "--out", out, *arguments],
        capture_output=True, text=True, check=False, env={**env, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    document = json.loads(out.read_text())
    assert json.loads(done.stdout) == document
    assert document["complete"]
    assert document["benchmark"] == script.removesuffix(".py")
    assert document["environment"]["torch"]
    for case in document["cases"]:
        assert set(case) >= KEYS
        if case["ratio"] not in (None, 1.0):
            above = case["ours"] > case["peer"]
            assert (case["ratio"] > 1) == (above == (case["better"] == "higher"))
    return document


@pytest.mark.slow
def test_decode_cpu_benchmark(tmp_path: Path, kernel_cache: Path) -> None:
    document = run(
        "decode_cpu.py", "--cache", str(kernel_cache), "--peers", "transformers",
        "--precision", "float32", out=tmp_path / "out.json",
    )  # fmt: skip
    names = [case["name"] for case in document["cases"]]
    assert names == [
        f"beam 2, {count} at once, float32, transformers{end}"
        for count in (64, 1)
        for end in ("", ": peak memory")
    ]
    assert all(case["ours"] > 0 and case["peer"] > 0 for case in document["cases"])
    # The same weights and nearly the same search: most sentences come out alike.
    assert document["cases"][0]["equal_outputs"] > 0.5


@pytest.mark.slow
def test_decode_cpu_benchmark_beside_a_load(tmp_path: Path, kernel_cache: Path) -> None:
    document = run(
        "decode_cpu.py", "--cache", str(kernel_cache), "--peers", "--beside-load",
        "--precision", "float32", out=tmp_path / "out.json",
    )  # fmt: skip
    names = [case["name"] for case in document["cases"]]
    assert names == [f"beam 2, {count} at once, float32, ours beside a load" for count in (64, 1)]
    assert all(case["ours"] > 0 and case["peer"] > 0 for case in document["cases"])


def test_busy_cores_have_a_process_each_until_the_end() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = set(children.read_text().split())
    cores = os.sched_getaffinity(0)
    with module("lib.load").busy_cores():
        busy = set(children.read_text().split()) - before
        assert sorted(map(os.sched_getaffinity, map(int, busy)), key=min) == [
            {core} for core in sorted(cores)
        ]
    assert set(children.read_text().split()) == before


@pytest.mark.slow
def test_decode_cpu_benchmark_of_a_trained_model(tmp_path: Path, kernel_cache: Path) -> None:
    pytest.importorskip("ctranslate2")
    (tmp_path / "test.en").write_text("a b c\nb c\n")
    golden = Path(__file__).resolve().parents[1] / "golden" / "model-v1"
    document = run(
        "decode_cpu.py", "--cache", str(kernel_cache), "--peers", "ctranslate2", "--precision",
        "float32", "--model", str(golden), "--test", str(tmp_path / "test.en"),
        out=tmp_path / "out.json",
    )  # fmt: skip
    assert document["cases"][0]["equal_outputs"] == 1.0
    assert document["cases"][0]["settings"]["sentences"] == 2


@pytest.mark.slow
def test_serve_benchmark(tmp_path: Path, kernel_cache: Path) -> None:
    pytest.importorskip("ctranslate2")
    (tmp_path / "test.en").write_text("a b c\nb c\n")
    golden = Path(__file__).resolve().parents[1] / "golden" / "model-v1"
    document = run(
        "serve.py", "--model", str(golden), "--test", str(tmp_path / "test.en"),
        out=tmp_path / "out.json",
    )  # fmt: skip
    names = [case["name"] for case in document["cases"]]
    kinds = ("ctranslate2", "ctranslate2, collected", "one at a time")
    figures = ("lines / s", "p50, ms", "p99, ms")
    assert names[:-1] == [
        f"{clients} clients, {kind}: {figure}"
        for clients in (1, 4)
        for kind in kinds
        for figure in figures
    ]
    assert all(case["ours"] > 0 and case["peer"] > 0 for case in document["cases"])
    assert all(case.get("equal_outputs", 1) == 1 for case in document["cases"][6:9])


@pytest.mark.slow
def test_soak_of_the_serve_benchmark(tmp_path: Path, kernel_cache: Path) -> None:
    pytest.importorskip("ctranslate2")
    (tmp_path / "test.en").write_text("a b c\nb c\na\nb\n")
    golden = Path(__file__).resolve().parents[1] / "golden" / "model-v1"
    document = run(
        "serve.py", "--model", str(golden), "--test", str(tmp_path / "test.en"), "--soak", "100",
        out=tmp_path / "out.json",
    )  # fmt: skip
    memory, files, threads = document["cases"]
    assert memory["unit"] == "MB"
    assert [sample["requests"] for sample in memory["samples"]] == list(range(2, 101, 2))
    assert memory["ours"] == memory["samples"][-1]["resident"] > 50
    assert memory["peer"] == memory["samples"][4]["resident"]
    assert memory["largest"] >= memory["ours"]
    assert files["ours"] == files["peer"]
    assert threads["ours"] == threads["peer"]


@pytest.mark.slow
def test_decode_gpu_benchmark(tmp_path: Path) -> None:
    document = run("decode_gpu.py", "--device", "cpu", out=tmp_path / "out.json")
    phases = document["phases"]
    assert list(phases) == [phase.name for phase in module("decode_gpu").PHASES]
    names = [case["name"] for case in document["cases"]]
    for beam in (4, 1):
        assert f"one sentence, beam {beam}" in names
        assert f"bulk, beam {beam}; generate 2 at once" in names
    assert all(case["ours"] > 0 and case["peer"] > 0 for case in document["cases"])
    assert document["settings"]["targets"]["tokens / s, beam 4"] == 200_000
    gates = phases["gates"]
    assert gates["self-test, torch.float32"] == "passed"
    assert gates["identical lines, beam 4, torch.float32"] == 1.0
    assert phases["peer"]["same lines as ours, beam 4"] > 0.5


def test_gates_refuse_translations_unlike_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    decoding = module("lib.gpu_decoding")
    right = decoding.translate
    result = iter((False, True, False, False))

    def changed(searcher: object, sources: list) -> list:
        outputs = right(searcher, sources)
        return [[4, *output] for output in outputs] if next(result) else outputs

    monkeypatch.setattr(decoding, "translate", changed)
    facts: dict = {}
    with pytest.raises(AssertionError, match=r"torch.float32, beam 4: 0.000 of the lines"):
        decoding.gates(decoding.Decoding(torch.device("cpu"), True), facts)
    assert facts["identical lines, beam 1, torch.float32"] == 1.0


def test_decoding_cases_take_the_best_rate_of_each_engine() -> None:
    def rate(tokens: float) -> dict:
        return {"tokens_per_second": tokens, "spread": {}, "sentences": 9}

    phases = {
        "beam 4": {"128 at once": rate(100), "256 at once": rate(300), "512": {"error": ""}},
        "beam 1": {"128 at once": rate(7)},
        "single": {"beam 4": {"milliseconds": 10, "spread": {}, "tokens": 3}},
        "peer": {
            "beam 4, 64 at once": rate(10), "beam 4, 128 at once": rate(30),
            "beam 4": {"milliseconds": 50},
        },
    }  # fmt: skip
    ratios = {case["name"]: case["ratio"] for case in module("decode_gpu").make_cases(phases)}
    assert ratios == {
        "bulk, beam 4; generate 64 at once": 30.0,
        "bulk, beam 4; generate 128 at once": 10.0,
        "one sentence, beam 4": 5.0,
        "bulk, beam 1; generate not measured": None,
    }


@pytest.mark.slow
def test_train_cpu_benchmark(tmp_path: Path) -> None:
    document = run("train_cpu.py", out=tmp_path / "out.json")
    names = [case["name"].split(",")[0] for case in document["cases"]]
    assert names == [
        "training", "training (wall)", "share of the product peak", "first update (wall)",
        "first update (CPU)", "peak memory",
    ]  # fmt: skip
    assert all(case["ours"] > 0 and case["peer"] > 0 for case in document["cases"])
    assert 0 <= document["cases"][0]["peer_padding"] < 0.5
    assert all(case["name"].endswith(", float32, marian") for case in document["cases"])
    # One core gives one CPU second a second.
    by_cpu, by_wall = document["cases"][:2]
    assert by_wall["ours"] <= by_cpu["ours"] * 1.05


EOLE = """#!{python}
import json, sys
configuration = json.load(open(sys.argv[-1]))
lines = open(configuration["data"]["corpus"]["path_tgt"]).read().splitlines()
for step in range(1, 100_000):
    for _ in range(200_000):
        pass
    words = len(lines[step % len(lines)].split())
    report = f"[now INFO] Step  {{step}}/1000; acc: 0.0; bsz: 3504/{{words:4d}}/292; 1 tok/s"
    print(report, file=sys.stderr)
    sys.stderr.flush()
"""


def test_eole_process_is_stopped_between_steps(tmp_path: Path) -> None:
    """In its place a program that reports each line of the target text as a step."""
    eole, pairs = module("lib.eole_peer"), pairs_of([3, 1, 4], [2, 5, 6])
    interpreter = tmp_path / "python"
    config = dataclasses.replace(Config(), train=TrainConfig(precision="float32"))
    interpreter.write_text(EOLE.format(python=sys.executable))
    interpreter.chmod(0o755)
    path = eole.write_project(config, pairs, 100, tmp_path)
    loop = eole.EoleLoop(str(interpreter), path)
    try:
        # Lines 1, 2 and 0; EOS is not among the words.
        assert [loop.steps(1)["tokens"] for _ in range(3)] == [4, 5, 1]
        assert loop.steps(2)["tokens"] == 9
        used = loop.cpu()
        time.sleep(0.2)
        assert loop.cpu() == used
        facts = loop.steps(60)
        assert 0 < facts["cpu"] <= facts["process_cpu"]
        assert facts["megabytes"] > 1
    finally:
        loop.close()


def test_eole_error_contains_its_output(tmp_path: Path) -> None:
    eole = module("lib.eole_peer")
    interpreter = tmp_path / "python"
    interpreter.write_text("#!/bin/sh\necho 'no such option' >&2\n")
    interpreter.chmod(0o755)
    loop = eole.EoleLoop(str(interpreter), tmp_path / "eole.yaml")
    with pytest.raises(RuntimeError, match="no such option"):
        loop.steps(1)
    loop.close()


@pytest.mark.slow
def test_train_gpu_benchmark(tmp_path: Path) -> None:
    document = run("train_gpu.py", "--device", "cpu", out=tmp_path / "out.json")
    phases = document["phases"]
    assert list(phases) == [phase.name for phase in module("train_gpu").PHASES]
    assert {phase["status"] for phase in phases.values()} == {"done"}
    assert phases["gates"]["attention plain, decoder"]["relative_error"] < 1e-5
    # In float32 on one device both curves are the same training.
    assert phases["gates"]["losses of 20 steps"]["relative_error"] < 1e-4
    losses = phases["gates"]["losses of 20 steps"]["found"]
    assert len(losses) == 20
    assert losses[-1] < losses[0]
    assert phases["base"]["graphs_compiled_in_windows"] == 0
    named = {case["name"] for case in document["cases"]}
    assert {"base against MarianMTModel, eager", "big against MarianMTModel, compiled"} <= named
    assert {"decode base, beam 4, 1 at once", "loss head"} <= named


@pytest.mark.slow
def test_gpu_quality_benchmark(tmp_path: Path) -> None:
    document = run("gpu_quality.py", "--device", "cpu", out=tmp_path / "out.json")
    assert list(document["phases"]) == ["fast, seed 1", "reference, seed 1"]
    # On a CPU both paths compute the same.
    fast, reference = (phase["validation_nll"] for phase in document["phases"].values())
    assert math.isclose(fast, reference, rel_tol=1e-5)


@pytest.mark.slow
def test_scaling_benchmark(tmp_path: Path) -> None:
    document = run("scaling.py", out=tmp_path / "out.json")
    assert [case["name"] for case in document["cases"]] == [
        "training with 2 processes", "first update with 2 processes", "first update, 200 pairs",
        "memory of training, 200 pairs", "memory of prepare, 200 pairs",
        "CPU time of prepare, 200 pairs",
    ]  # fmt: skip
    assert document["phases"]["2 processes"]["steps"] == 4
    # A rank holds torch: were only the launcher's memory counted, it would be less.
    assert document["phases"]["2 processes"]["megabytes"] > 200


@pytest.mark.slow
def test_same_words_benchmark(tmp_path: Path, kernel_cache: Path) -> None:
    document = run(
        "same_words.py", "--cache", str(kernel_cache), "--beams", "2", out=tmp_path / "out.json"
    )
    cases = {case["name"]: case for case in document["cases"]}
    exact = [case for name, case in cases.items() if ", float32, " in name]
    result = {tuple(case["settings"][key] for key in ("batch", "threads", "shuffled"))
             for case in exact}  # fmt: skip
    assert result == {
        ("default", 1, False), (7, 1, False), (1, 1, False), ("default", 1, True),
        ("default", 2, False), ("default", 3, False),
    }  # fmt: skip
    assert all(case["ours"] == case["peer"] == 12 for case in exact)
    for precision in ("bf16", "int8"):
        assert f"beam 2, {precision}: BLEU" in cases
        assert cases[f"beam 2, {precision}: words alone"]["share"] == 1
        assert cases[f"beam 2, {precision}: words in another order"]["share"] == 1


def test_differing_translation_is_reported_with_exact_scores() -> None:
    same_words = module("same_words")
    lab = same_words.tiny_lab()
    search = dataclasses.replace(lab.config.search, beam=2)
    right = lab.translate(lab.translator("reference", None), search, None)
    wrong = [right[0], right[1]._replace(text="no", tokens=right[0].tokens), *right[2:]]
    case = same_words.words_case(lab, "name", wrong, right, search, {})
    assert (case["ours"], case["peer"]) == (11, 12)
    [line] = case["different"]
    assert (line["line"], line["ours"], line["peer"]) == (2, "no", right[1].text)
    assert line["peer_exact_score"] == pytest.approx(right[1].score, abs=1e-5)
    assert line["gap"] == line["exact_score"] - line["peer_exact_score"] == -case["largest_gap"] < 0
    same = lab.translate(lab.translator("reference", None), search, 5, shuffled=True)
    assert same_words.equal(same, right) == 12


@pytest.mark.slow
def test_cold_start_benchmark(tmp_path: Path) -> None:
    document = run("cold_start.py", "--threads", "1", out=tmp_path / "out.json")
    wall, cpu, *parts = document["cases"]
    assert [case["name"] for case in parts] == [
        "base: import", "base: load", "base: first output",
    ]  # fmt: skip
    assert cpu["times_import_torch"] == pytest.approx(1 / cpu["ratio"], abs=0.01)
    assert all(case["ours"] > 0 for case in (wall, cpu, *parts))


def test_cold_start_is_compared_with_torch_alone() -> None:
    """Told by made-up times, as real ones differ from run to run."""
    times = "import 0.5\nload 0.75\nfirst output 1.75"
    rounds = {
        "ours": [{"wall": wall, "cpu": 2 * wall} for wall in (3.0, 2.0, 9.0)],
        "peer": [{"wall": wall, "cpu": wall} for wall in (2.0, 1.0, 3.0)],
        "parts": [{"err": times}],
    }
    cases = module("cold_start").cases_of("base", rounds, {})
    assert [(case["name"], case["ours"], case["peer"]) for case in cases] == [
        ("base: a line translated, on the wall", 3.0, 2.0),
        ("base: a line translated, of the processor", 6.0, 2.0),
        ("base: import", 0.5, None), ("base: load", 0.25, None), ("base: first output", 1.0, None),
    ]  # fmt: skip
    assert [case.get("times_import_torch") for case in cases[:2]] == [1.5, 3.0]
    assert all(case["better"] == "lower" for case in cases)


@pytest.mark.slow
def test_work_benchmark(tmp_path: Path) -> None:
    document = run("work.py", out=tmp_path / "out.json")
    assert [case["name"] for case in document["cases"]] == [
        "40 lines: rate", "40 lines: memory",
        "300 characters in a line: rate", "300 characters in a line: memory",
    ]  # fmt: skip
    assert document["phases"]["costs"]["lines"]["40"]["megabytes"] > 100


def test_generated_text_has_the_requested_size() -> None:
    text = module("work").Text(["ab", "cde", "f"])
    lines = text.lines(50).splitlines()
    assert len(lines) == 50
    assert text.lines(20).splitlines() == lines[:20]
    assert set(" ".join(lines).split()) == {"ab", "cde", "f"}
    long = text.line(5_000)
    assert len(long) == 5_001
    assert long.count("\n") == 1


def test_loader_benchmark(tmp_path: Path) -> None:
    document = run("loader.py", out=tmp_path / "out.json")
    names = [case["name"] for case in document["cases"]]
    assert names == ["loading, pairs of one length", "loading, packed"]
    for case in document["cases"]:
        assert min(case["ours"], case["peer"]) > 0
        # An epoch's plan is part of the price.
        phase = document["phases"][case["name"].removeprefix("loading, ")]
        assert case["ours"] < phase["ours"]["batches"]["max"]


def test_shortlist_benchmark(tmp_path: Path, kernel_cache: Path) -> None:
    out = tmp_path / "out.json"
    document = run("shortlist.py", "--cache", str(kernel_cache), "--precision", "float32", out=out)
    quality, *rates = document["cases"]
    assert quality["words_allowed"]["max"] <= quality["words"]
    assert 0 <= quality["equal_lines"] <= 1
    assert quality["pairs"] > 0
    assert [case["name"] for case in rates] == [
        f"beam 4, {count} at once, float32" for count in (64, 1)
    ]
    for case in rates:
        assert case["ours"] > 0
        assert case["words_allowed"]["max"] < 120 < case["settings"]["words"]
        # The words that the model copies are all there.
        assert case["equal_outputs"] > 0.5


@pytest.mark.slow
def test_defaults_benchmark(tmp_path: Path) -> None:
    document = run("defaults.py", out=tmp_path / "out.json")
    ((key, runs),) = document["runs"].items()
    assert key == "5 s"
    (facts,) = runs.values()
    assert facts["steps"] >= 1
    assert 1 < facts["cpu_seconds"] < 60
    cost = document["costs"]["basis"]
    assert facts["cost_seconds"] == pytest.approx(
        cost["start"] + facts["steps"] * cost["step"], abs=0.1
    )
    assert facts["signature"].startswith("nrefs:1|")
    # A finished run is not done again.
    assert run("defaults.py", out=tmp_path / "out.json")["runs"] == document["runs"]


def test_default_preset_is_compared_with_the_best() -> None:
    table = module("defaults").table
    runs = {
        "default": {"steps": 7, "cost_seconds": 10, "bleu": 19.0},
        "a": {"steps": 5, "cost_seconds": 10, "bleu": 20.0},
        "b": {"steps": 6, "cost_seconds": 10, "bleu": 18.0},
    }
    lines = table(runs).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["a", "default", "b"]
    assert lines[-1] == "default / best tuned: 0.950"


def test_settings_that_do_the_same_work_share_a_cost(tmp_path: Path) -> None:
    defaults = module("defaults")
    options = defaults.parse(["--tiny", "--out", str(tmp_path / "out.json")])
    options.work = tmp_path
    bench = defaults.Bench(options)
    bench.document["costs"] = {
        name: {"start": 1.0, "step": step}
        for name, step in (("basis", 3.0), ("dropout-0.3", 2.0), ("wide", 1.0), ("default", 4.0))
    }
    shared = {name: bench._shared_cost(name)["step"] for name in bench.document["costs"]}
    assert shared == {"basis": 2.0, "dropout-0.3": 2.0, "wide": 1.0, "default": 4.0}


@pytest.mark.slow
def test_train_memory_benchmark(tmp_path: Path) -> None:
    document = run("train_memory.py", out=tmp_path / "out.json")
    growth, peak = document["cases"]
    curve = document["phases"]["memory"]
    assert len(curve["samples"]) > 100
    assert curve["steps"] > 1
    # A process that holds torch; the peer holds transformers as well.
    assert 150 < max(sample["megabytes"] for sample in curve["samples"]) <= peak["ours"]
    assert peak["ours"] < peak["peer"]
    assert growth["ours"] < 100


def test_saving_benchmark(tmp_path: Path) -> None:
    document = run("saving.py", out=tmp_path / "out.json")
    (case,), facts = document["cases"], document["phases"]["saving"]
    # Two of ours, each with optimiser and checksums, and a plain one.
    assert facts["megabytes"] > 3 * 12 * 0.4
    assert 0 < case["ours"] < facts["until_written"]["median"]
    assert facts["shortest_step_for_1_percent"] == pytest.approx(case["ours"] / 0.25)


def test_both_loaders_deliver_every_target_token() -> None:
    loader = module("loader")
    random = np.random.default_rng(1)
    pairs = pairs_of(*random.integers(1, 30, (2, 500)).tolist())
    plan = loader.BatchPlan(pairs.src_lengths, pairs.tgt_lengths, 600, 2, 1)
    shards = sum(len(plan.epoch(0).shard(*index)) > 0 for index in np.ndindex(99, 2))
    ours = list(itertools.islice(loader.our_batches(pairs, plan, 0), shards))
    assert sum(ours) == pairs.tgt_lengths.sum()
    theirs, delivered = loader.their_batches(pairs, 300, 1), 0
    while delivered < pairs.tgt_lengths.sum():
        delivered += next(theirs)
    assert delivered == pairs.tgt_lengths.sum()


def test_the_plain_loader_pads_and_shifts() -> None:
    loader = module("loader")
    sentences = loader.Sentences(pairs_of([3, 1], [2, 4]))
    results = [tensor.tolist() for tensor in loader.padded([sentences[0], sentences[1]])]
    assert results == [
        [[4, 5, 6], [7, 0, 0]],
        [[True, True, True], [True, False, False]],
        [[2, 4, 5, 0], [2, 6, 7, 8]],
        [[4, 5, -100, -100], [6, 7, 8, 9]],
    ]


def test_loader_rate_includes_planning_of_batches() -> None:
    """Of an epoch of 1,000 tokens whose plan takes 10 s, 100 tokens have 1 s of it."""
    turn = module("loader").Turn(tokens=100, plan_seconds=10.0, seconds=4.0)
    assert turn.rate(1_000) == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("better", "ours", "peer", "ratio"),
    [("higher", 300, 100, 3.0), ("higher", 100, 300, 0.3333), ("lower", 2, 8, 4.0)],
)
def test_ratio_above_one_means_faster_than_peer(
    better: str, ours: float, peer: float, ratio: float
) -> None:
    case = module("lib.measure").make_case("x", "u", ours, peer, better=better, settings={"a": 1})
    assert set(case) == KEYS
    assert (case["ours"], case["peer"], case["ratio"]) == (ours, peer, ratio)


@pytest.mark.parametrize(("ours", "peer"), [(5, None), (5, 0)])
def test_ratio_needs_a_peer(ours: float, peer: float | None) -> None:
    case = module("lib.measure").make_case("x", "u", ours, peer, better="higher", settings={})
    assert case["ratio"] is None


@pytest.mark.parametrize("name", ["lib.measure", "lib.vocabulary", "lib.gpu_runs"])
def test_benchmark_doctests(name: str) -> None:
    result = doctest.testmod(module(name))
    assert result.attempted > 0
    assert result.failed == 0


def setup(tmp_path: Path) -> SimpleNamespace:
    return SimpleNamespace(device=torch.device("cpu"), folder=tmp_path)


def test_failing_phase_keeps_results_of_other_phases(tmp_path: Path) -> None:
    phases, measure = module("lib.phases"), module("lib.measure")
    out = tmp_path / "out.json"
    results = measure.Results("x", {}, out)
    seen = []

    def good(setup: object, facts: dict) -> None:
        seen.append(json.loads(out.read_text())["phases"] if out.exists() else {})
        facts["number"] = 1

    def bad(setup: object, facts: dict) -> None:
        facts["half"] = 2
        raise ValueError("no")

    def endless(setup: object, facts: dict) -> None:
        time.sleep(60)

    steps = [("a", 9, good), ("b", 9, bad), ("c", 0.05, endless), ("d", 9, good)]
    chosen = [phases.Phase(*step) for step in steps]
    phases.run_phases(setup(tmp_path), results, chosen, 60, lambda facts: [])
    status = {name: phase["status"] for name, phase in results.phases.items()}
    assert status == {"a": "done", "b": "failed", "c": "cut", "d": "done"}
    assert results.phases["b"]["half"] == 2
    assert results.phases["b"]["error"] == "ValueError: no"
    assert results.phases["c"]["error"].startswith("TimeoutError")
    # The last phase finds on disk what the others gave.
    assert list(seen[-1]) == ["a", "b", "c"]
    assert results.finish(as_json=False) == 1
    assert not json.loads(out.read_text())["complete"]


def test_phases_beyond_the_budget_are_skipped(tmp_path: Path) -> None:
    phases, measure = module("lib.phases"), module("lib.measure")
    results = measure.Results("x", {})
    phase = phases.Phase("a", 9, lambda setup, facts: pytest.fail("was run"))
    reserve = phases.RESERVE_SECONDS
    phases.run_phases(setup(tmp_path), results, [phase], reserve, lambda facts: [])
    assert results.phases["a"]["status"] == "skipped"


@pytest.mark.parametrize(("name", "part"), [("train_gpu", "base"), ("decode_gpu", "speed")])
def test_each_part_of_a_gpu_benchmark_fits_into_one_call(name: str, part: str) -> None:
    script = module(name)
    seconds = {phase.name: phase.seconds for phase in script.PHASES}
    assert {name for names in script.PARTS.values() for name in names} == set(seconds)
    budget = script.parse([]).budget - module("lib.phases").RESERVE_SECONDS
    for names in script.PARTS.values():
        assert sum(seconds[name] for name in names) <= budget
    assert script.parse(["--part", part]).part == part


@pytest.mark.parametrize("name", ["train_gpu", "decode_gpu", "gpu_quality"])
def test_gpu_benchmarks_refuse_a_machine_without_a_gpu(name: str, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no GPU here"):
        module(name).main(["--data", "x"] if name == "gpu_quality" else [])


def test_the_loss_head_is_timed_for_the_tokens_of_a_pass(tmp_path: Path) -> None:
    overrides = {"train.micro_batch_tokens": 100, "train.parallel_shards": 1}
    smaller = dataclasses.replace(gate_setup(tmp_path), overrides=overrides)
    assert smaller.config("base").train.batch_tokens == 300
    assert smaller.pass_tokens("base") == 100
    facts: dict[str, object] = {}
    module("lib.gpu_parts").loss_head(smaller, facts)
    assert facts["tokens"] == 100


def test_the_gate_of_losses_compares_the_same_batches(tmp_path: Path) -> None:
    """On a GPU batches are packed; a CPU would sort them by length."""
    config = module("lib.gpu_gates").small_run(gate_setup(tmp_path), "float32")[1]
    assert config.train.packing == "packed"


def test_the_reference_path_of_gpu_quality_is_not_compiled() -> None:
    paths = module("gpu_quality").PATHS
    assert paths["reference"]["train.compile"] == "off"
    assert "train.compile" not in paths["fast"]


def test_gpu_cases_do_not_swap_ours_and_peer() -> None:
    run = {"settings": {}, "spread": {}, "share_of_datasheet_peak": 0.3}
    phases = {
        "base": {**run, "tokens_per_second": 900.0},
        "base, marian eager": {"tokens_per_second": 300.0},
        "decode": {
            "ours, beam 4, 8 at once": {"tokens_per_second": 50.0},
            "marian, beam 4": {"tokens_per_second": 10.0},
            "status": "done",
        },
        "loss head": {
            "ours": {"forward_backward_ms": 2.0}, "float32 logits": {"forward_backward_ms": 8.0},
        },
        "attention": {
            "cross": {
                "tiles": {"forward_backward_ms": 1.0}, "fused": {"forward_backward_ms": 5.0}
            },
            "status": "done",
        },
    }  # fmt: skip
    ratios = {case["name"]: case["ratio"] for case in module("train_gpu").make_cases(phases)}
    assert ratios == {
        "base against MarianMTModel, eager": 3.0,
        "base against MarianMTModel, compiled": None,
        "decode base, beam 4, 8 at once": 5.0,
        "loss head": 4.0,
        "attention, cross": 5.0,
    }


def gate_setup(tmp_path: Path) -> object:
    return module("lib.gpu_setup").Setup(torch.device("cpu"), True, tmp_path, {})


def test_gates_refuse_a_wrong_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = module("lib.gpu_gates")
    right = dispatch.BACKENDS["fused"]
    monkeypatch.delitem(dispatch.BACKENDS, "tiles")
    monkeypatch.setitem(dispatch.BACKENDS, "fused", lambda *a, **k: right(*a, **k) * 1.001)
    for name in ("loss_gate", "packing_gate", "curve_gate"):
        monkeypatch.setattr(gates, name, lambda setup: {"relative_error": 0.0})
    facts: dict = {}
    with pytest.raises(AssertionError, match="attention fused, encoder, attention fused, decoder"):
        gates.gates(gate_setup(tmp_path), facts)
    assert facts["attention plain, cross"]["relative_error"] < 1e-5


def test_gates_refuse_attention_across_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences in one stream that see each other: the packed loss is another one then."""
    gates = module("lib.gpu_gates")
    setup = gate_setup(tmp_path)
    assert gates.packing_gate(setup)["relative_error"] < 1e-6

    def leaking(right, query, key, value, *rest, **options):
        attended = right(query, key, value, *rest, **options)
        return attended + 0.5 * value.mean() if len(query) > 200 else attended

    for name in ("plain", "native"):
        monkeypatch.setitem(dispatch.BACKENDS, name, partial(leaking, dispatch.BACKENDS[name]))
    assert gates.packing_gate(setup)["relative_error"] > 1e-4


def test_gates_refuse_a_wrong_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gates = module("lib.gpu_gates")
    assert gates.loss_gate(gate_setup(tmp_path))["relative_error"] < 1e-5
    right = gates.linear_cross_entropy
    monkeypatch.setattr(gates, "linear_cross_entropy", lambda *a: right(*a[:-1], 0.11))
    assert gates.loss_gate(gate_setup(tmp_path))["relative_error"] > 1e-4


def test_relative_error_of_nan_is_infinite() -> None:
    error = module("lib.gpu_setup").relative_error
    assert error(torch.tensor([math.nan, 1.0]), torch.ones(2)) == math.inf
    assert error(torch.tensor([3.0, 4.5]), torch.tensor([3.0, 4.0])) == pytest.approx(0.1)


def pairs_of(src_lengths: list[int], tgt_lengths: list[int]) -> Pairs:
    sides = []
    for lengths in (src_lengths, tgt_lengths):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        sides.append(CorpusSide(np.arange(4, 4 + offsets[-1]), offsets))
    return Pairs(*sides, np.zeros(len(src_lengths), np.uint16))


def test_peer_batches_hold_each_pair_once_within_budget() -> None:
    peers = module("lib.peers")
    random = np.random.default_rng(1)
    src, tgt = random.integers(1, 30, (2, 2_000))
    buckets = peers.Buckets(pairs_of(src.tolist(), tgt.tolist()), 300, seed=1)
    batches, seen = [], 0
    for batch in buckets:
        batches.append(batch)
        seen += len(batch)
        if seen == len(src):
            break
    assert sorted(np.concatenate(batches)) == list(range(2_000))
    sizes = [
        (len(batch) * max(src[batch].max(), tgt[batch].max()), len(batch)) for batch in batches
    ]
    assert all(size <= 300 or rows == 1 for size, rows in sizes)
    places = sum(len(batch) * int(tgt[batch].max()) for batch in batches)
    assert buckets.padding == pytest.approx(1 - tgt.sum() / places)
    assert buckets.padding < 0.1


def test_peer_trains_on_whole_sentences() -> None:
    peers, sentences = module("lib.peers"), module("lib.sentences")
    sizes = {"model.src_vocab_size": 40, "model.tgt_vocab_size": 40, "train.preset": "paper-small"}
    config = sentences.make_config(
        {**sizes, "model.d_model": 16, "model.d_ff": 16, "model.heads": 2, "model.layers": 1}
    )
    pairs = pairs_of([3, 1], [2, 4])
    loop = peers.MarianLoop(config, pairs, torch.device("cpu"), precision="float32")
    src, mask, shifted, labels = (tensor.tolist() for tensor in loop.padded(np.arange(2)))
    assert src == [[4, 5, 6], [7, 0, 0]]
    assert mask == [[1, 1, 1], [1, 0, 0]]
    assert shifted == [[2, 4, 0, 0], [2, 6, 7, 8]]
    assert labels == [[4, 5, -100, -100], [6, 7, 8, 9]]
    before = [weight.clone() for weight in loop.model.parameters()]
    assert loop.steps(2) == 12
    after = list(loop.model.parameters())
    assert sum(not torch.equal(*both) for both in zip(before, after, strict=True)) > 20


def test_random_sentences_are_like_news_text(tmp_path: Path) -> None:
    sentences = module("lib.sentences")
    corpus = sentences.random_corpus(20_000, 1_000, 3, tmp_path)
    src, tgt = corpus.train.src_lengths, corpus.train.tgt_lengths
    assert 28 < src.mean() < 30
    assert 28 < tgt.mean() < 30
    assert src.min() >= 2
    assert tgt.max() <= 128
    assert np.corrcoef(np.log(src), np.log(tgt))[0, 1] > 0.9
    ids = corpus.train.src.ids
    assert ids.min() >= EOS
    assert ids.max() < 1_000
    assert (corpus.train.src[7][:-1] != EOS).all()
    assert corpus.train.src[7][-1] == EOS
    counts = np.sort(np.bincount(ids, minlength=1_000)[4:])[::-1]
    assert counts[0] > 3 * counts[9] > 0
    assert corpus.subwords.src_size == 1_000


def test_settings_are_written_without_tomli_w(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_setup = module("lib.gpu_setup")
    document = {"format": 1, **dataclasses.asdict(Config())}
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tomli_w", None)
        gpu_setup.stand_in_for_tomli_w()
        text = sys.modules["tomli_w"].dumps(document)
    assert tomllib.loads(text) == tomllib.loads(tomli_w.dumps(document))


def test_reference_path_uses_the_plain_formula() -> None:
    gpu_quality = module("gpu_quality")
    before = dict(dispatch.BACKENDS)
    with gpu_quality.attention_of("fast"):
        assert before == dispatch.BACKENDS
    with contextlib.suppress(KeyError), gpu_quality.attention_of("reference"):
        assert set(dispatch.BACKENDS.values()) == {before["plain"]}
        raise KeyError
    assert before == dispatch.BACKENDS


def test_quality_outside_the_band_is_named() -> None:
    gpu_quality = module("gpu_quality")
    runs = {"fast, seed 1": {"bleu": 37.0}, "reference, seed 1": {"bleu": 30.0}}
    assert gpu_quality.missed(runs, [36, 39]) == [
        "reference, seed 1: 30.00 BLEU is outside 36 to 39"
    ]


def test_quality_flags_damages_pairs_and_counts_flags(tmp_path: Path) -> None:
    quality_flags = module("quality_flags")
    chooser = random.Random(1)
    pair = "In 1990 he left, as I said.", "1990 ging er, wie ich sagte."
    damaged = {name: damage(pair, chooser) for name, damage in quality_flags.DAMAGES.items()}
    assert damaged["dropped clause"] in ((pair[0], "1990 ging er."), (pair[0], "wie ich sagte."))
    assert damaged["changed number"][1].endswith(" ging er, wie ich sagte.")
    assert "1990" not in damaged["changed number"][1]
    assert (damaged["copied source"], damaged["empty"]) == ((pair[0], pair[0]), (pair[0], ""))
    assert len(damaged["loop"][1].split()) >= 8
    assert quality_flags.with_other_number(("A dog.", "Ein Hund."), chooser) is None
    assert quality_flags.without_clause(("A dog.", "Ein Hund."), chooser) is None

    config = byte_config()
    save_model(tmp_path / "model", byte_model(config).state_dict(), config, byte_subwords(), {})
    for side, text in zip(("src", "tgt"), pair, strict=True):
        (tmp_path / side).write_text(f"{text}\n" * 3)
    out = tmp_path / "out.json"
    files = [str(tmp_path / side) for side in ("src", "tgt")]
    arguments = ["--model", str(tmp_path / "model"), "--test", *files, "--pairs", "2"]
    assert quality_flags.main([*arguments, "--out", str(out)]) == 0
    cases = {case["name"]: case for case in json.loads(out.read_text())["cases"]}
    assert cases["damaged: changed number"]["flags"] == {"number_mismatch": 2}
    assert cases["damaged: copied source"]["flags"]["copied"] == 2
    assert cases["damaged: loop"]["flags"]["repetition"] == 2
    assert cases["damaged: empty"]["ours"] == 100.0
    assert (cases["references"]["lines"], cases["references"]["flagged"]) == (3, 0)
    assert cases["right translations"]["lines"] == 0


def test_markup_knows_where_tags_belong_and_counts_what_is_kept(tmp_path: Path) -> None:
    markup = module("markup")
    pair = "The small dog sees Anna.", "Der kleine Hund sieht Anna."
    cases = list(markup.tagged_cases(*pair, markup.word_forms()))
    assert (
        "The <b>small</b> dog sees Anna.",
        "Der <b>kleine</b> Hund sieht Anna.",
        "word",
    ) in cases
    assert [case.right for case in cases if case.kind == "phrase"] == [
        "Der <b>kleine Hund</b> sieht Anna."
    ]
    chooser = random.Random(1)
    lines = [markup.random_html(pair[0], chooser) for _ in range(50)]
    assert all(len(markup.pairs_of(line)) > 1 for line in lines)
    assert {markup.without_marks(line).replace(" ", "") for line in lines} == {
        pair[0].replace(" ", "")
    }

    config = byte_config()
    save_model(tmp_path / "model", byte_model(config).state_dict(), config, byte_subwords(), {})
    for side, text in zip(("src", "tgt"), pair, strict=True):
        (tmp_path / side).write_text(f"{text}\n" * 2)
    out = tmp_path / "out.json"
    files = [str(tmp_path / side) for side in ("src", "tgt")]
    arguments = ["--model", str(tmp_path / "model"), "--test", *files]
    arguments += ["--lines", "2", "--html", "5", "--timed", "2", "--turns", "1"]
    assert markup.main([*arguments, "--out", str(out)]) == 0
    found = {case["name"]: case for case in json.loads(out.read_text())["cases"]}
    assert found["random HTML: same marks, well-formed"]["right"] == 5
    assert found["{name} for a name: kept"]["ours"] == 100.0
    assert found["speed with a tag pair, beside plain lines"]["ratio"] > 0


def test_glossary_counts_faults_of_terms() -> None:
    glossary = module("glossary")
    terms = {term.source: term for term in glossary.noun_terms() if term.kind == "synonym"}
    source, reference = "The dog sees a cat.", "Der Hund sieht eine Katze."
    (line, other) = glossary.choose_lines([(source, reference)], 9, 1)[-2:]
    assert {source} == {line.source, other.source}
    expected = glossary.Line(source, reference, (terms["dog"], terms["cat"])).expected
    assert expected == "Der Köter sieht eine Mieze."
    for text, faults in (
        ("Der Köter sieht eine Mieze.", set()),
        ("Der Hund sieht eine Mieze.", {"missing"}),
        ("Der Köter Hund sieht eine Mieze.", {"doubled"}),
        ("Sieht eine Mieze Köter Katze?", {"detached"}),
    ):
        assert glossary.faults_of(terms["dog"], text, reference, expected) == faults
