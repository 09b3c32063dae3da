"""Validation and test pairs with a side in another language are warned of."""

from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.preparation.prepare import prepare

Pair = tuple[str, str]
PAIRS = list(dict.fromkeys(two_languages(1_500, 4)))
TRAIN, HELD_OUT = PAIRS[:1_000], PAIRS[1_000:1_400]


def notes(tmp_path: Path, held_out: list[Pair], **settings: object) -> list[str]:
    config = tiny_config(
        data_train=[write_pairs(tmp_path, "train", TRAIN)],
        data_valid=write_pairs(tmp_path, "valid", held_out),
        data_test=write_pairs(tmp_path, "test", HELD_OUT), data_vocab_size=300, **settings,
    )  # fmt: skip
    result = prepare(config, tmp_path / "corpus", workers=1)
    return [note for note in result.notes if "scores on such pairs" in note]


def with_wrong(count: int, side: str) -> list[Pair]:
    """The pairs, of which every twentieth has the text of one side on both, or is swapped."""
    wrong = {
        "source": lambda src, tgt: (f"{tgt} {tgt}", f"{tgt} {tgt} so"),
        "target": lambda src, tgt: (f"{src} {src}", f"{src} {src} so"),
        "both": lambda src, tgt: (tgt, src),
    }[side]
    return [
        wrong(*pair) if n % 20 == 7 and n < 20 * count else pair for n, pair in enumerate(HELD_OUT)
    ]


@pytest.mark.parametrize(
    ("side", "kind"),
    [
        ("source", "source not in its language"),
        ("target", "target not in its language"),
        ("both", "sides swapped"),
    ],
)
def test_pairs_in_other_languages_are_warned_of(tmp_path: Path, side: str, kind: str) -> None:
    [note] = notes(tmp_path, with_wrong(12, side))
    lines = ", ".join(map(str, range(8, 240, 20)))
    assert note.startswith(f"400 validation pairs: {kind}: 12 (lines {lines}); ")


def test_few_pairs_and_text_without_cleaning_are_not_warned_of(tmp_path: Path) -> None:
    assert notes(tmp_path, with_wrong(11, "source")) == []
    (tmp_path / "off").mkdir()
    assert notes(tmp_path / "off", with_wrong(12, "source"), data_clean="off") == []
