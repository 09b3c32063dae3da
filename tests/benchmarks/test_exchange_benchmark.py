"""The benchmark of imported models runs to its end, and its cases say which toolkit is faster."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from test_benchmarks import BENCHMARKS, run
from test_benchmarks import benchmarks_can_be_imported as benchmarks_can_be_imported


def script() -> ModuleType:
    """The script; tests/exchange has the name `exchange` too."""
    spec = importlib.util.spec_from_file_location("exchange_script", BENCHMARKS / "exchange.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.slow
def test_exchange_benchmark(tmp_path: Path) -> None:
    document = run(
        "exchange.py", "--peers", "transformers", "ctranslate2", out=tmp_path / "out.json"
    )
    names = [case["name"] for case in document["cases"]]
    assert names == [
        f"from {kind}, beam 1, {peer}{end}"
        for kind, peers in (
            ("huggingface", ("transformers", "ctranslate2")), ("marian", ("ctranslate2",)),
        )
        for peer in peers
        for end in ("", ": peak memory")
    ]  # fmt: skip
    assert all(case["ours"] > 0 and case["peer"] > 0 for case in document["cases"])
    # The same weights, and the same limit of translations that do not end.
    assert all(case["equal_outputs"] > 0.9 for case in document["cases"][::2])


def answer(seconds: float, texts: list[str], megabytes: float = 100.0) -> dict:
    return {"cpu": seconds, "wall": seconds / 2, "megabytes": megabytes, "texts": texts}


@pytest.mark.parametrize(("threads", "rate"), [(1, 10.0), (2, 20.0)])
def test_rates_count_the_subwords_of_each_toolkit(threads: int, rate: float) -> None:
    rounds = {
        "ours": [answer(2.0, ["a b", "c"])],
        "marian": [answer(4.0, ["a b", " c "]), answer(5.0, ["a b", "d"], 400.0)],
    }
    speed, memory = script().cases_of("x", rounds, [20, 40], {"threads": threads})
    assert speed["ours"] == rate
    assert speed["peer_spread"]["min"] == rate * 0.8
    assert speed["peer"] == rate * 0.9
    assert speed["equal_outputs"] == 0.5
    assert (memory["ours"], memory["peer"], memory["ratio"]) == (100.0, 400.0, 4.0)
    assert speed["settings"]["peer"] == "marian"


def test_lines_have_as_many_subwords_as_the_planted_model_copies() -> None:
    lines = script().make_lines(50, 61)
    assert all(1 <= len(line.split()) <= 20 for line in lines)
    assert len(set(lines)) == 50
