"""Sums of trigram weights: those of one line are those of many."""

import numpy as np
import pytest

from nmt_cli.data.languages.trigrams import BUCKETS, verdict, verdicts


@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_verdict_of_a_line_is_that_among_others(scale: float) -> None:
    chooser = np.random.default_rng(3)
    odds = (chooser.normal(0.0, scale, BUCKETS)).astype(np.float32)
    letters = np.frombuffer("abcdeäXYZ ".encode(), np.uint8)
    lines = [bytes(chooser.choice(letters, size)) for size in range(300)]
    text = np.frombuffer(b"".join(line + b"\n" for line in lines), np.uint8)
    found = [verdict(line, odds) for line in lines]
    assert found == verdicts(text, odds).tolist()
    assert found[:3] == [0, 0, 0]
    assert set(found) == ({0} if scale < 0.1 else {-1, 0, 1})
