"""The place where two files stop being translations of each other is found."""

import random
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import tiny_config
from faults.tally import fault

from nmt_cli.data.cleaning.alignment.misalignment import Profile, find_misalignment, find_shifts
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

Checks = Callable[..., None]
DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


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


@fault("P2")
def test_aligned_files_are_not_called_misaligned(checks: Checks) -> None:
    for seed in range(20):
        assert place_of(*made_up_text(3_000, seed)) is None
        checks()


@fault("P2")
def test_unrelated_files_of_equal_length_are_not_called_shifted(checks: Checks) -> None:
    for seed in range(20):
        src, _ = made_up_text(3_000, seed)
        _, tgt = made_up_text(3_000, seed + 100)
        assert place_of(src, tgt) is None
        checks()


@pytest.mark.parametrize("offset", [9, -31, 64])
def test_blocks_that_are_shifted_by_many_lines_are_found(offset: int) -> None:
    for seed in range(5):
        src, tgt = made_up_text(3_000, seed)
        _, others = made_up_text(abs(offset), seed + 100)
        block = tgt[1_000:1_260]
        block = [*others, *block][: len(block)] if offset > 0 else [*block, *others][-len(block) :]
        tgt[1_000:1_260] = block
        [shift] = find_shifts(Profile.of(src), Profile.of(tgt))
        assert abs(shift.first - 1_001) <= 3
        assert abs(shift.last - 1_260) <= 3


def lines_missing_or_added(padding: list[str], checks: Checks) -> None:
    """20 cases: one line of one side is missing, or two are added."""
    for seed in range(20):
        src, tgt = made_up_text(1_000, seed)
        position = random.Random(seed).randrange(150, 850)
        if seed % 2:
            del tgt[position]
        else:
            tgt[position:position] = ["y" * 70 + "."] * 2
        if padding and seed % 2 == 0:
            del tgt[-2:]
        location = place_of(src, tgt + (padding if seed % 2 else []))
        assert location is not None
        assert abs(location - (position + 1)) <= 3
        checks()


@fault("P1")
def test_misalignment_with_different_line_counts_is_located(checks: Checks) -> None:
    lines_missing_or_added([], checks)


@fault("P2")
def test_misalignment_with_equal_line_counts_is_located(checks: Checks) -> None:
    lines_missing_or_added(["y."], checks)


def written(folder: Path, src: list[str], tgt: list[str]) -> tuple[str, str]:
    for name, lines in (("src", src), ("tgt", tgt)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(folder / "src"), str(folder / "tgt")


@fault("P1")
def test_misalignment_error_has_line_counts_and_location(tmp_path: Path) -> None:
    src, tgt = made_up_text(1_000, 3)
    with pytest.raises(DataError) as caught:
        list(read_pairs(written(tmp_path, src, tgt[:400] + tgt[405:])))
    assert caught.value.message.endswith("has 1,000 lines, `" + str(tmp_path / "tgt") + "` has 995")
    said = caught.value.hint.partition(" they probably diverge near line ")[2]
    number, _, shown = said.partition(": ")
    line = int(number)
    assert abs(line - 401) <= 3
    there = src[line - 1], [*tgt[:400], *tgt[405:]][line - 1]
    assert shown == " and ".join(f"`{text[:50]}{'...' * (len(text) > 50)}`" for text in there)


@fault("P1")
@pytest.mark.parametrize(("lines", "missing"), [(60, 1), (200, 5), (1_000, 1)])
def test_the_first_of_several_places_is_located(lines: int, missing: int, checks: Checks) -> None:
    """Lines are left out of the target at three places."""
    for seed in range(20):
        src, tgt = made_up_text(lines, seed)
        places = sorted(random.Random(seed).sample(range(2, lines - 2 * missing, 2 * missing), 3))
        for place in reversed(places):
            del tgt[place : place + missing]
        location = place_of(src, tgt)
        assert location is not None
        assert abs(location - (places[0] + 1)) <= 5
        checks()


@pytest.mark.parametrize("missing", [1, 12, 100])
@pytest.mark.parametrize("longer", ["src", "tgt"])
def test_a_file_that_is_cut_off_is_said_to_end(tmp_path: Path, longer: str, missing: int) -> None:
    src, tgt = made_up_text(500, 3)
    end = 500 - missing
    sides = (src, tgt[:end]) if longer == "src" else (src[:end], tgt)
    paths = written(tmp_path, *sides)
    with pytest.raises(DataError) as caught:
        list(read_pairs(paths))
    assert "diverge" not in caught.value.hint
    shorter = paths[longer == "src"]
    assert caught.value.hint.endswith(f"; they seem to fit until `{shorter}` ends: is it cut off?")


@pytest.mark.parametrize("empty", [1, 3])
@pytest.mark.parametrize("lines", [40, 500])
def test_empty_lines_at_the_end_are_named_and_removed(
    tmp_path: Path, lines: int, empty: int
) -> None:
    src, tgt = made_up_text(lines, 3)
    paths = written(tmp_path, src, [*tgt, *[""] * empty])
    with pytest.raises(DataError) as caught:
        list(read_pairs(paths))
    named = "line" if empty == 1 else f"{empty} lines"
    assert f"; the last {named} of `{paths[1]}` {'is' if empty == 1 else 'are'} empty, and" in (
        caught.value.hint
    )
    command = caught.value.hint.rpartition(": ")[2]
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    written_file = shlex.split(command)[-1]
    assert [tgt for _, tgt in read_pairs((paths[0], written_file))] == tgt


@fault("P1")
def test_files_of_other_texts_are_said_not_to_belong_together(
    tmp_path: Path, checks: Checks
) -> None:
    """No line of them is where they begin to differ."""
    for seed in range(5):
        src, _ = made_up_text(1_000, seed)
        _, tgt = made_up_text(900, seed + 100)
        with pytest.raises(DataError) as caught:
            list(read_pairs(written(tmp_path, src, tgt)))
        assert caught.value.hint.endswith("; they do not seem to belong together")
        checks()


@fault("P2")
def test_shift_with_equal_line_counts_is_noted_with_location(tmp_path: Path) -> None:
    src, tgt = made_up_text(2_000, 3)
    paths = written(tmp_path, src, [*tgt[:900], *tgt[901:], "y."])
    done = prepare(tiny_config(data_train=[paths], data_max_length=2_000), tmp_path / "out")
    (note,) = [note for note in done.notes if "shifted" in note]
    line = int(note.partition(" near line ")[2].partition(":")[0])
    assert abs(line - 901) <= 3


def test_misalignment_of_truncated_file_names_its_end() -> None:
    src, tgt = made_up_text(1_000, 1)
    assert place_of(src, tgt[:600]) in (600, 601)


@pytest.mark.parametrize(("src", "tgt"), [(0, 0), (0, 3), (3, 0), (1, 2)])
def test_misalignment_of_tiny_files(src: int, tgt: int) -> None:
    location = place_of(["a"] * src, ["b"] * tgt)
    assert (location is None) == (src == tgt)


@pytest.mark.skipif(not (DATA / "wmt").is_dir(), reason="the shared data is not here")
def test_misalignment_of_real_text_is_located() -> None:
    src = list(read_lines(DATA / "wmt/newstest2013/newstest2013.en"))
    tgt = list(read_lines(DATA / "wmt/newstest2013/newstest2013.de"))
    assert place_of(src, tgt) is None
    for seed in range(20):
        missing = random.Random(seed).randrange(200, 2_800)
        location = place_of(src, tgt[:missing] + tgt[missing + 1 :])
        assert location is not None
        assert abs(location - (missing + 1)) <= 3
