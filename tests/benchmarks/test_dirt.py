"""Planted dirt is found: 30 kinds, 200 pairs of each, and hardly anything else."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from synthetic_pairs import two_languages

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
# What nobody can tell of a single pair for sure. A quarter of the line numbers are like `12.`, and
# may be ordinals before small letters; this text has no others. A placeholder that is a sentence
# itself is only told from ten lines beside it, and `not translated yet` is planted ten times here.
LEAST_FOUND = {"pairs shuffled": 0.8, "line number on one side": 0.7, "placeholder": 0.9}


@pytest.fixture
def dirt(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark that plants it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("dirt")


@pytest.mark.slow
def test_noise_of_every_kind_is_dropped_and_clean_pairs_stay(
    dirt: ModuleType, tmp_path: Path
) -> None:
    planted = dirt.plant(two_languages(20_000, 1), each=200)
    safe, strict = (
        dirt.measure(planted, ("xx", "yy"), tmp_path, level, 600) for level in ("safe", "strict")
    )
    result = {kind: strict.found(kind) / 200 for kind in dirt.PLANTED}
    assert {
        kind: share for kind, share in result.items() if share < LEAST_FOUND.get(kind, 0.95)
    } == {}
    assert len(result) >= 30
    assert strict.dropped[""] < 0.01 * strict.planted[""]
    assert safe.dropped[""] == 0
    # What is only likely is counted, and stays.
    for kind, (_, names) in dirt.PLANTED.items():
        if dirt.ACTIONS[names[0]] == "kept" and kind != "pairs shuffled":
            assert sum(safe.findings.get(name, 0) for name in names) >= 190, kind


def test_clean_text_has_no_noise_warnings(dirt: ModuleType, tmp_path: Path) -> None:
    pairs = list(dict.fromkeys(two_languages(4_000, 2)))
    alone = dirt.measure(
        dirt.Planted(pairs, [""] * len(pairs)), ("xx", "yy"), tmp_path, "strict", 600
    )
    assert alone.dropped[""] <= 4


def test_without_planted_noise_only_the_dropped_pairs_are_counted(
    dirt: ModuleType, tmp_path: Path
) -> None:
    pairs = list(dict.fromkeys(two_languages(500, 2)))
    planted = dirt.plant(pairs, each=0)
    assert planted.pairs == pairs
    measured = dirt.measure(planted, ("xx", "yy"), tmp_path, "strict", 200)
    assert measured.planted[""] == len(pairs)
    assert [kind for kind in dirt.PLANTED if measured.found(kind)] == []
