"""The place where two files stop being translations of each other is found."""

import random
from pathlib import Path

import pytest

from nmt_cli.data.alignment import Profile, find_misalignment
from nmt_cli.data.lines import read_lines, read_pairs
from nmt_cli.errors import DataError

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def made_up_text(lines: int, seed: int) -> tuple[list[str], list[str]]:
    """Sides whose lengths go together as those of translations do."""
    chooser = random.Random(seed)
    src, tgt = [], []
    for _ in range(lines):
        length = chooser.lognormvariate(4.0, 0.5)
        end = chooser.choice("....?!")
        src.append("x" * round(length) + end)
        tgt.append("y" * round(length * 1.15 * chooser.lognormvariate(0, 0.15)) + end)
    return src, tgt


def place_of(src: list[str], tgt: list[str]) -> int | None:
    return find_misalignment(Profile.of(src), Profile.of(tgt))


def test_aligned_files_raise_no_suspicion():
    for seed in range(20):
        assert place_of(*made_up_text(3_000, seed)) is None


def test_unrelated_files_of_one_length_are_not_called_shifted():
    for seed in range(20):
        src, _ = made_up_text(3_000, seed)
        _, tgt = made_up_text(3_000, seed + 100)
        assert place_of(src, tgt) is None


@pytest.mark.parametrize("padding", [[], ["y."]], ids=["counts differ", "counts equal"])
def test_a_missing_line_is_found_within_three_lines(padding):
    for seed in range(20):
        src, tgt = made_up_text(1_000, seed)
        missing = random.Random(seed).randrange(150, 850)
        del tgt[missing]
        place = place_of(src, tgt + padding)
        assert place is not None
        assert abs(place - (missing + 1)) <= 3


def test_an_added_line_is_found_too():
    src, tgt = made_up_text(1_000, 1)
    tgt[400:400] = ["y" * 70 + "."] * 2
    place = place_of(src, tgt)
    assert place is not None
    assert abs(place - 401) <= 3


def test_of_a_file_cut_short_the_end_is_named():
    src, tgt = made_up_text(1_000, 1)
    assert place_of(src, tgt[:600]) in (600, 601)


@pytest.mark.parametrize(("src", "tgt"), [(0, 0), (0, 3), (3, 0), (1, 2)])
def test_tiny_files(src, tgt):
    place = place_of(["a"] * src, ["b"] * tgt)
    assert (place is None) == (src == tgt)


@pytest.mark.skipif(not (DATA / "wmt").is_dir(), reason="the shared data is not here")
def test_on_real_text_the_place_is_found_and_told(tmp_path):
    src = list(read_lines(DATA / "wmt/newstest2013/newstest2013.en"))
    tgt = list(read_lines(DATA / "wmt/newstest2013/newstest2013.de"))
    assert place_of(src, tgt) is None
    errors = []
    for seed in range(20):
        missing = random.Random(seed).randrange(200, 2_800)
        place = place_of(src, tgt[:missing] + tgt[missing + 1 :])
        assert place is not None
        errors.append(abs(place - (missing + 1)))
    assert max(errors) <= 3
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in src), "utf-8")
    (tmp_path / "tgt").write_text("".join(f"{line}\n" for line in tgt[:9] + tgt[10:]), "utf-8")
    with pytest.raises(DataError) as caught:
        list(read_pairs((str(tmp_path / "src"), str(tmp_path / "tgt"))))
    assert "3,000 lines" in caught.value.message
    assert "2,999" in caught.value.message
    assert caught.value.hint.endswith(tuple(f"near line {line}" for line in range(7, 14)))
