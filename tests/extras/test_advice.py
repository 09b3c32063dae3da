"""The preset that `nmt init` chooses by the size of the text and the machine."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config.automatic import training_steps
from nmt_cli.extras import advice
from nmt_cli.extras.advice import TextSize, advise, has_gpu, measure, plan, unsuitable


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "a.en").write_text("one two three\n" * 1_000)
    (tmp_path / "a.de").write_text("eins zwei\n" * 1_000)
    return str(tmp_path / "a.en"), str(tmp_path / "a.de")


def gpu_machine(root: Path) -> Path:
    (root / "proc/driver/nvidia/gpus/0000:00:1e.0").mkdir(parents=True)
    return root


def test_advice_counts_pairs_and_words(pair, tmp_path: Path) -> None:
    assert measure([pair]) == TextSize(pairs=1_000, words=5_000, tgt_words=2_000)
    table = tmp_path / "b.tsv"
    table.write_text("a b\tc\n" * 10)
    assert measure([pair, (str(table),)]) == TextSize(1_010, 5_030, 2_010)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_advice_estimates_long_files_from_their_beginning(tmp_path, monkeypatch, suffix) -> None:
    monkeypatch.setattr(advice, "MOST_COUNTED", 150_000)
    names = []
    for code in ("en", "de"):
        # Numbers that repeat late, so that a compressed file is long, too.
        numbers = np.random.default_rng(1).integers(10**8, 10**9, 300_000)
        text = "\n".join(map(str, numbers)).encode() + b"\n"
        names.append(str(tmp_path / f"a.{code}{suffix}"))
        Path(names[-1]).write_bytes(gzip.compress(text, 1) if suffix else text)
    size = measure([names])
    assert size.pairs == pytest.approx(300_000, rel=0.25)
    assert size.tgt_words == size.pairs
    assert abs(size.words - 2 * size.pairs) <= 1


@pytest.mark.parametrize("preset", ["base", "big", "modern"])
def test_large_preset_is_noted_for_little_text_or_a_cpu(tmp_path, monkeypatch, preset) -> None:
    monkeypatch.setattr(advice, "usable_cores", lambda: 2)
    little, much = TextSize(1_000, 5_000, 2_000), TextSize(2_000_000, 10**8, 5 * 10**7)
    note = unsuitable(preset, much, tmp_path)
    assert note.startswith(f"preset {preset} is made for millions of pairs and GPUs; here are ")
    assert "2,000,000 pairs and 2 CPU cores" in note
    assert (
        unsuitable("small", little, tmp_path) == unsuitable("paper-small", little, tmp_path) == ""
    )
    gpu = gpu_machine(tmp_path)
    assert "1,000 pairs and a GPU" in unsuitable(preset, little, gpu)
    assert unsuitable(preset, much, gpu) == ""


def test_advice_for_cpu_is_small_preset(pair, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(advice, "usable_cores", lambda: 1)
    preset, reason = advise(measure([pair]), tmp_path)
    assert preset == "small"
    assert reason == (
        "preset small for 1,000 training pairs on 1 CPU core: a vocabulary of about 200, about 400 "
        "steps, early stopping"
    )
    monkeypatch.setattr(advice, "PAIRS_FOR_BASE", 1_000)
    assert advise(measure([pair]), tmp_path).preset == "small"


def test_advice_for_gpu_and_much_text_is_base_preset(pair, tmp_path: Path, monkeypatch) -> None:
    root = gpu_machine(tmp_path)
    assert has_gpu(root)
    assert advise(measure([pair]), root).preset == "small"
    monkeypatch.setattr(advice, "PAIRS_FOR_BASE", 1_000)
    preset, reason = advise(measure([pair]), root)
    assert preset == "base"
    assert "on a GPU: a vocabulary of about 37,000, about 100,000 steps" in reason
    assert "early stopping" not in reason


def test_advised_settings_equal_those_of_training() -> None:
    """The same rules as for the prepared corpus, whose tokens are estimated here."""
    size = TextSize(pairs=29_000, words=700_000, tgt_words=360_000)
    assert plan("small", size) == ("a vocabulary of about 8,100, about 1,950 steps, early stopping")


@pytest.mark.parametrize(
    ("words", "vocabulary", "tokens"),
    [
        (241_376, 500, 631_280),
        (241_376, 2_000, 462_670),
        (241_376, 8_000, 355_584),
        (362_021, 1_000, 688_562),
        (362_021, 4_000, 527_989),
        (362_021, 8_000, 490_097),
    ],
)
def test_advised_steps_equal_those_of_prepared_corpora(
    words: int, vocabulary: int, tokens: int
) -> None:
    """Target words and subwords of European laws and of captions, both French."""
    announced = training_steps(round(words * advice.subwords_per_word(vocabulary)))
    assert announced == pytest.approx(training_steps(tokens), rel=0.06)
