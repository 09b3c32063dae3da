"""The fuzzers, a little of each at every commit; and that they find what there is to find.

`python tests/faults/fuzz.py` runs them for as long as one likes.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.fuzz import Finding, fuzz, main, try_one
from faults.support.mutation import mutated
from faults.support.parsers import NAMES, Parser, make_parsers
from faults.tally import fault

from nmt_cli.errors import DataError

Checks = Callable[..., None]
SEED = 2017
COUNTS = {"model": 40, "pieces": 40, "words": 40, "corpus": 60, "manifest": 100}
OTHERS = 250


@pytest.fixture(scope="module")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parser]:
    return make_parsers(tmp_path_factory.mktemp("good"))


def fuzz_some(name: str, parsers: dict[str, Parser], folder: Path, checks: Checks) -> None:
    count = COUNTS.get(name, OTHERS)
    tried, result = fuzz(name, parsers[name], SEED, 0, lambda done: done < count, folder)
    assert result == [], "\n".join(map(str, result))
    assert tried == count
    checks(count)


@pytest.mark.slow
@fault("U5", "U3")
@pytest.mark.parametrize("name", ["config", "overrides", "model", "pieces", "words", "manifest"])
def test_fuzzed_models_and_settings_are_refused_or_read(
    name: str, parsers: dict[str, Parser], tmp_path: Path, checks: Checks
) -> None:
    fuzz_some(name, parsers, tmp_path, checks)


@pytest.mark.slow
@fault("T18")
@pytest.mark.parametrize("name", ["lines", "pairs", "json", "glossary", "trees", "parameters"])
def test_fuzzed_text_is_refused_or_read(
    name: str, parsers: dict[str, Parser], tmp_path: Path, checks: Checks
) -> None:
    fuzz_some(name, parsers, tmp_path, checks)


@pytest.mark.slow
@fault("P10")
def test_fuzzed_corpora_are_refused_or_read(
    parsers: dict[str, Parser], tmp_path: Path, checks: Checks
) -> None:
    fuzz_some("corpus", parsers, tmp_path, checks)


def test_fuzzer_covers_all_parsers(parsers: dict[str, Parser]) -> None:
    assert tuple(parsers) == NAMES


def tried(read: Callable[[Path], object], folder: Path, **limits: float) -> str:
    return try_one(Parser(lambda chance, where: None, read), 1, 1, folder / "tried", **limits)


def test_fuzzer_reports_crashes_but_not_user_errors(tmp_path: Path) -> None:
    def refuse(folder: Path) -> None:
        raise DataError("line 3: wrong")

    def say_nothing(folder: Path) -> None:
        raise DataError("")

    assert tried(lambda folder: 7, tmp_path) == ""
    assert tried(refuse, tmp_path) == ""
    assert "says nothing" in tried(say_nothing, tmp_path)
    assert "ZeroDivisionError: division by zero (test_fuzz.py:" in tried(lambda _: 1 / 0, tmp_path)
    hung = tried(lambda _: time.sleep(9), tmp_path, seconds=0.05)
    assert hung.startswith("Hang: more than 0.05 seconds")
    memory = tried(lambda _: bytearray(b"x") * (700 << 20), tmp_path)
    assert memory.startswith("memory grew by ")


def test_fuzzer_continues_after_an_input_that_kills_the_process(tmp_path: Path) -> None:
    def make(chance: random.Random, folder: Path) -> None:
        (folder / "input").write_text(f"{chance.random()}")

    def read(folder: Path) -> None:
        if float((folder / "input").read_text()) > 0.9:
            os.kill(os.getpid(), signal.SIGKILL)

    deadly = [n for n in range(40) if random.Random(f"1/{n}").random() > 0.9]
    assert deadly
    tried, result = fuzz("x", Parser(make, read), 1, 0, lambda done: done < 40, tmp_path)
    assert tried == 40
    assert result == [Finding("x", 1, n, "the process ended with -9") for n in deadly]
    assert f"--seed 1 --start {deadly[0]} --count 1 x" in str(result[0])


def test_fuzzed_input_depends_on_its_seed_only() -> None:
    first, again, other = (
        mutated(b"some words of text", random.Random(seed)) for seed in ("1/5", "1/5", "1/6")
    )
    assert first == again != other


@pytest.mark.slow
def test_fuzz_command_counts_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "20", "glossary", "trees"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "glossary: 20 inputs, 0 findings", "trees: 20 inputs, 0 findings",
    ]  # fmt: skip
