"""Words that the Ethiopic word separator ends are counted and learnt as those between spaces."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config.automatic import vocabulary_size
from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.sentences.learning import StopCounts
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.extras.advice import measure

SEPARATOR = "\u1361"
RANDOM = np.random.default_rng(1)
LETTERS = [chr(code) for code in range(0x1208, 0x1244)]
WORDS = ["".join(RANDOM.choice(LETTERS, size)) for size in RANDOM.integers(3, 6, 40)]
# Words that often stand together.
PAIRS = [SEPARATOR.join(WORDS[index : index + 2]) for index in range(0, 40, 2)]
# Each line is in the counts once, as one run of letters without spaces.
LINES = [SEPARATOR.join(RANDOM.choice(PAIRS, 4)) for _ in range(600)]


@pytest.mark.parametrize(("kind", "size"), [("bpe", 98), ("unigram", 83), ("wordpiece", 98)])
def test_no_subword_goes_on_behind_a_word_separator(kind: str, size: int) -> None:
    data = DataConfig(subwords=kind, vocab_size=size)  # type: ignore[arg-type]
    subwords = learn_subwords(data, Counter(LINES), Counter())
    pieces = subwords.source_pieces(range(subwords.src_size))
    assert [piece for piece in pieces if SEPARATOR in piece.rstrip(SEPARATOR)[1:]] == []
    assert any(len(piece.strip(f"▁{SEPARATOR}")) > 2 for piece in pieces[4:])
    assert subwords.decode_source(subwords.encode_source(LINES[:3])) == LINES[:3]
    assert not any(subwords.unk_id in ids for ids in subwords.encode_source(LINES))


@pytest.mark.parametrize("kind", ["chars", "bytes"])
def test_a_vocabulary_of_characters_has_the_word_separator(kind: str) -> None:
    data = DataConfig(subwords=kind, vocab_size=300)  # type: ignore[arg-type]
    subwords = learn_subwords(data, Counter(LINES), Counter())
    [ids] = subwords.encode_source(LINES[:1])
    assert subwords.unk_id not in ids
    assert subwords.decode_source([ids]) == LINES[:1]


def test_automatic_vocabulary_counts_words_that_no_space_ends() -> None:
    data = DataConfig(subwords="bpe", vocab_size="auto")
    words = 8 * len(LINES)
    assert learn_subwords(data, Counter(LINES), Counter()).src_size == vocabulary_size(words) == 200
    # Three letters of Chinese are taken for a word.
    han = Counter("".join(chr(0x4E00 + index) for index in row)
                  for row in RANDOM.integers(0, 60, (600, 24)))  # fmt: skip
    assert learn_subwords(data, han, Counter()).src_size == 200


def test_advice_counts_words_of_every_script(tmp_path: Path) -> None:
    paths = str(tmp_path / "train.xx"), str(tmp_path / "train.yy")
    for path, line in zip(paths, (LINES[0], "今天的天气非常好啊。"), strict=True):
        Path(path).write_text(f"{line}\n" * 10)
    size = measure([paths])
    assert (size.words, size.tgt_words) == (80 + 40, 40)


def test_a_word_that_is_repeated_between_separators_is_noise() -> None:
    repeated = SEPARATOR.join([*WORDS[:2], *[WORDS[2]] * 7])
    src = [LINES[0], repeated, LINES[1]]
    found = find_doubts(src, ["One.", "Two.", "Three."], ("am", "en"))
    assert found.tolist() == [0, kinds.REPEATED, 0]


def test_abbreviations_are_learnt_before_a_word_separator() -> None:
    counts = StopCounts()
    counts.add([f"{WORDS[0]}{SEPARATOR}ዓ.ም.{SEPARATOR}12"] * 3)
    assert counts.before_lower == {"ዓ.ም": 3}
