"""The file of the text statistics."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from nmt_cli.data.corpus.text_statistics import (
    FORMAT,
    LENGTH_BOUNDS,
    TEXT,
    SideStatistics,
    TextStatistics,
)
from nmt_cli.data.languages.trigrams import BUCKETS
from nmt_cli.data.sentences.splitter import SentenceSplitter
from nmt_cli.errors import DataError
from nmt_cli.storage import manifest

STATISTICS = TextStatistics(
    SideStatistics("en"),
    SideStatistics("de"),
    80,
    ((0.5, 2.0),) * len(LENGTH_BOUNDS),
    np.linspace(-3, 3, BUCKETS).astype(np.float32),
)


def stored(
    folder: Path, odds: Any = None, side: Any = None, **numbers: Any
) -> TextStatistics | None:
    """What is read from a file with these numbers, and these values of the source side."""
    src = dataclasses.asdict(STATISTICS.src) | (side or {})
    values = {
        "src": src, "tgt": dataclasses.asdict(STATISTICS.tgt), "lines": 80,
        "length_ratios": STATISTICS.length_ratios, **numbers,
    }  # fmt: skip
    header = {"format": str(FORMAT), "numbers": json.dumps(values)}
    tensors = {"language_odds": np.zeros(BUCKETS, np.float16)} if odds is None else odds
    manifest.add_to_manifest(folder, TEXT, safetensors.numpy.save(tensors, header))
    return TextStatistics.load(folder)


def test_statistics_come_back_from_their_file(tmp_path: Path) -> None:
    side = SideStatistics("fr", ("déc", "art"), ("mme",), True, 0.02, 0.25, 0.125, 0.001, "LATIN")
    hashes = np.arange(3, dtype=np.uint64)
    kept = dataclasses.replace(STATISTICS, src=side, pair_hashes=hashes, test_digest="ab")
    content = kept.to_bytes()
    manifest.add_to_manifest(tmp_path, TEXT, content)
    loaded = TextStatistics.load(tmp_path)
    assert loaded is not None
    assert (loaded.src, loaded.tgt, loaded.lines) == (side, kept.tgt, 80)
    assert loaded.length_ratios == kept.length_ratios
    assert (loaded.pair_hashes.tolist(), loaded.test_digest) == ([0, 1, 2], "ab")
    assert loaded.language_odds.shape == (BUCKETS,)
    assert loaded.language_odds.dtype == np.float32
    assert np.abs(loaded.language_odds - kept.language_odds).max() < 0.01
    manifest.add_to_manifest(tmp_path, "other", b"")
    for damaged in (b"", content[:1000], content.replace(b'"format":"1"', b'"format":"9"')):
        manifest.add_to_manifest(tmp_path, TEXT, damaged)
        with pytest.raises(DataError, match=r"text\.safetensors"):
            TextStatistics.load(tmp_path)


def test_statistics_of_an_older_version_have_no_hashes(tmp_path: Path) -> None:
    loaded = stored(tmp_path)
    assert loaded is not None
    assert (len(loaded.pair_hashes), loaded.test_digest) == (0, "")
    assert loaded.seen_share(np.arange(4, dtype=np.uint64)) == 0.0


def test_directory_without_statistics_has_none(tmp_path: Path) -> None:
    manifest.add_to_manifest(tmp_path, "other", b"")
    assert TextStatistics.load(tmp_path) is None


def test_statistics_of_similar_languages_come_back(tmp_path: Path) -> None:
    similar = dataclasses.replace(STATISTICS, language_odds=np.zeros(0, np.float32))
    manifest.add_to_manifest(tmp_path, TEXT, similar.to_bytes())
    loaded = TextStatistics.load(tmp_path)
    assert loaded is not None
    assert len(loaded.language_odds) == 0


@pytest.mark.parametrize(
    "damage",
    [
        {"odds": {"language_odds": np.zeros(5, np.float16)}},
        {"odds": {"other": np.zeros(BUCKETS, np.float16)}},
        {"odds": {"language_odds": np.zeros(0, np.float16), "pair_hashes": np.zeros(3)}},
        {"length_ratios": [[0.5, 2.0]]},
        {"lines": "many"},
        {"lines": None},
        {"src": {"language": "en"}},
        {"side": {"titles": "abc"}},
        {"side": {"abbreviations": [1]}},
        {"side": {"script": "RUNES"}},
    ],
)
def test_values_that_cannot_be_are_refused(tmp_path: Path, damage: dict[str, Any]) -> None:
    assert stored(tmp_path) is not None
    with pytest.raises(DataError, match=r"text\.safetensors` is damaged"):
        stored(tmp_path, **damage)


def test_same_statistics_are_the_same_bytes() -> None:
    assert len({STATISTICS.to_bytes() for _ in range(20)}) == 1


def test_splitter_of_a_side_has_what_was_learnt() -> None:
    side = SideStatistics("de", ("rd",), ("abg",), False)
    assert side.splitter == SentenceSplitter("de", frozenset({"rd"}), frozenset({"abg"}), False)


@pytest.mark.parametrize(
    ("script", "earlier", "both"),
    [("CYRILLIC", "CYRILLIC", "CYRILLIC"), ("CYRILLIC", "LATIN", ""), ("CYRILLIC", "", "")],
)
def test_a_tuned_model_has_a_script_if_both_texts_have_it(
    script: str, earlier: str, both: str
) -> None:
    text, before = (
        dataclasses.replace(
            STATISTICS,
            src=SideStatistics("xx", script=each),
            tgt=SideStatistics("yy", script=each and "LATIN"),
        )
        for each in (script, earlier)
    )
    joined = text.joined_to(before)
    assert (joined.src.script, joined.tgt.script) == (both, earlier and "LATIN")


def test_older_files_name_no_script(tmp_path: Path) -> None:
    src = dataclasses.asdict(STATISTICS.src)
    del src["script"]
    statistics = stored(tmp_path, src=src)
    assert statistics is not None
    assert statistics.src.script == ""
