"""The kind of noise of pairs within a block of lines that are shifted."""

from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.preparation.prepare import prepare

FIRST, LAST = 200, 420
PAIRS = [
    (f"{1 + line // 20}:{1 + line % 20} {src}", f"{1 + line // 20}:{1 + line % 20} {tgt}")
    for line, (src, tgt) in enumerate(dict.fromkeys(two_languages(800, 5)))
]


@pytest.mark.parametrize("level", ["safe", "strict"])
def test_what_differs_because_lines_are_shifted_is_listed_as_shifted(
    tmp_path: Path, level: str
) -> None:
    """Their numbers, such as those of verses; what is wrong elsewhere keeps its kind."""
    sources, targets = map(list, zip(*PAIRS, strict=True))
    targets[FIRST:LAST] = [targets[LAST - 1], *targets[FIRST : LAST - 1]]
    sources[10], targets[10] = "1:11 in 1989", "1:11 na 1998"
    train = write_pairs(tmp_path, "train", list(zip(sources, targets, strict=True)))
    config = tiny_config(data_train=[train], data_vocab_size=200, data_clean=level)
    result = prepare(config, tmp_path / "corpus", workers=1, dropped=tmp_path / "dropped.tsv")
    found = {finding.kind: finding for finding in result.findings}
    first, last = map(int, found["lines shifted"].lines[0].split("-"))
    assert first == pytest.approx(FIRST + 1, abs=3)
    assert last == pytest.approx(LAST, abs=3)
    assert found["lines shifted"].pairs == last - first + 1
    # Beside the block, whose beginning and end are found but for a line or two.
    assert found["numbers that differ"].pairs <= 1 + 2 * 3
    assert found["numbers that differ"].lines[0] == "11"
    dropped = sum(finding.pairs for finding in found.values()) if level == "strict" else 0
    assert sum(result.dropped.values()) == dropped
