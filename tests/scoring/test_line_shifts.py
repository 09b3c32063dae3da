"""Hypotheses that are shifted against the references from some line on."""

import random
from pathlib import Path

import pytest
from noisy_lines import LINES, noisy

from nmt_cli.cli import main
from nmt_cli.scoring.line_shifts import find_line_shift


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_lines_in_their_places_are_not_shifted(share: float) -> None:
    assert find_line_shift(noisy(share), LINES) is None


@pytest.mark.parametrize("share", [0.4, 1.0])
@pytest.mark.parametrize(("missing", "doubled"), [(100, 180), (180, 100), (220, 299)])
def test_a_run_between_a_missing_and_a_doubled_line_is_found(
    missing: int, doubled: int, share: float
) -> None:
    lines = noisy(share)
    shifted = [line for n, line in enumerate(lines) for _ in range(1 + (n == doubled))]
    del shifted[missing + (missing > doubled)]
    found = find_line_shift(shifted, LINES)
    assert found is not None
    assert found.offset == (1 if missing < doubled else -1)
    assert abs(found.first - (min(missing, doubled) + 1)) <= 3
    assert abs(found.last - max(missing, doubled)) <= 3


@pytest.mark.parametrize("position", [30, 77, 120, 203, 260])
@pytest.mark.parametrize("share", [0.7, 1.0])
def test_the_first_line_is_the_first_that_fits_its_neighbour_alone(
    position: int, share: float
) -> None:
    lines, at = noisy(share), position - 1

    def strange(neighbour: str) -> str:
        """A line without a reference, which by chance shares a word with a neighbour's."""
        shared = max(neighbour.split(), key=" ".join(LINES).count)
        return " ".join(
            [shared, *(word for word in LINES[at - 9].split() if word not in neighbour)]
        )

    found = find_line_shift([*lines[:at], strange(LINES[at - 1]), *lines[at:-1]], LINES)
    assert found is not None
    assert (found.first, found.last, found.offset) == (position + 1, len(LINES), -1)
    found = find_line_shift([*lines[1:at], strange(LINES[at]), *lines[at:]], LINES)
    assert found is not None
    assert (found.first, found.last, found.offset) == (1, position - 2, 1)


@pytest.mark.parametrize("position", [30, 77, 120, 203, 260])
def test_a_line_that_is_equal_to_its_neighbour_is_not_shifted(position: int) -> None:
    doubled = [*LINES[:position], LINES[position - 1], *LINES[position:-1]]
    for sides in ((doubled, LINES), (LINES, doubled)):
        found = find_line_shift(*sides)
        assert found is not None
        assert found.first == position + 1


def test_text_without_spaces_is_compared_by_characters() -> None:
    letters = random.Random(3)
    lines = ["".join(chr(letters.randrange(0x4E00, 0x4F00)) for _ in range(20)) for _ in range(200)]
    assert find_line_shift(lines, lines) is None
    found = find_line_shift([*lines[:80], *lines[81:], lines[-1]], lines)
    assert found is not None
    assert (found.first, found.offset) == (81, 1)


def test_equal_or_few_lines_prove_nothing() -> None:
    assert find_line_shift(LINES[:1] * 300, LINES) is None
    assert find_line_shift(LINES[1:6], LINES[:5]) is None
    assert find_line_shift([], []) is None
    assert find_line_shift([""] * 300, LINES) is None


def test_the_command_names_the_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ref").write_text("".join(f"{line}\n" for line in LINES))
    shifted = [*LINES[:200], *LINES[201:240], LINES[239], *LINES[240:]]
    Path("hyp").write_text("".join(f"{line}\n" for line in shifted))
    assert main(["score", "hyp", "ref"]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "the reference `ref` seem shifted against each other from line 201 to 239, by 1" in err
    assert "line 201 of the hypotheses resembles line 202 of the reference" in err
