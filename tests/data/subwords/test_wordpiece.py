"""Word-pieces: deterministic learning, greedy longest match, and restored spaces."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.subwords.segmenters import SPECIAL, UNK
from nmt_cli.data.subwords.wordpiece import WordPieces, learn_word_pieces
from nmt_cli.errors import DataError

WORDS = [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)]


def spellings(pieces: WordPieces, line: str) -> list[str]:
    names = pieces.pieces()
    return [names[piece] for piece in pieces.encode([line])[0]]


def merge_by_recounting(words: list[tuple[str, int]], size: int) -> list[str]:
    """Merge without a queue: recount all pairs each time; the older symbols win ties."""
    known = sorted(set("".join(word for word, _ in words)) | {"▁"})
    split = [(["▁", *word], count) for word, count in sorted(words, key=lambda w: (-w[1], w[0]))]
    while len(known) < size - len(SPECIAL):
        pairs: Counter[tuple[int, int]] = Counter()
        for symbols, count in split:
            ids = [known.index(symbol) for symbol in symbols]
            for pair in itertools.pairwise(ids):
                pairs[pair] += count
        first, second = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merged = known[first] + known[second]
        if merged not in known:
            known.append(merged)
        for symbols, _ in split:
            index = 0
            while index < len(symbols) - 1:
                if symbols[index] == known[first] and symbols[index + 1] == known[second]:
                    symbols[index : index + 2] = [merged]
                index += 1
    return [*SPECIAL, *known]


def test_most_frequent_pair_is_merged_first():
    pieces = learn_word_pieces(WORDS, 21).pieces()
    # 4 special entries, 11 characters; then e-s and s-t occur 9 times, e being the older.
    assert pieces[15:17] == ["es", "est"]
    assert pieces == merge_by_recounting(WORDS, 21)


@pytest.mark.parametrize("seed", range(5))
def test_queue_gives_the_result_of_recounting(seed):
    chooser = random.Random(seed)
    words = {
        "".join(chooser.choices("abcd", k=chooser.randint(1, 8))): chooser.randint(1, 9)
        for _ in range(60)
    }
    expected = merge_by_recounting(list(words.items()), 60)
    assert learn_word_pieces(words.items(), 60).pieces() == expected


def test_order_of_the_words_does_not_matter():
    words = [(f"w{n * n}x{n % 7}", n % 5 + 1) for n in range(300)]
    expected = learn_word_pieces(words, 150).to_bytes()
    assert learn_word_pieces(reversed(words), 150).to_bytes() == expected
    random.Random(1).shuffle(words)
    assert learn_word_pieces(words, 150).to_bytes() == expected


def test_encode_takes_the_longest_piece_from_the_left():
    pieces = WordPieces([*SPECIAL, "▁", "a", "b", "c", "▁a", "ab", "abc", "▁ab", "bc"])
    assert spellings(pieces, "abc") == ["▁ab", "c"]
    assert spellings(pieces, "babc abcabc") == ["▁", "b", "abc", "▁ab", "c", "abc"]


def test_run_of_unknown_characters_is_one_unk():
    pieces = learn_word_pieces(WORDS, 21)
    ids = pieces.encode(["low 中文 lo中w"])[0]
    assert ids.count(UNK) == 2
    assert pieces.decode(ids) == "low ⁇ lo⁇w"


@given(st.lists(st.text("lowernstid", min_size=1), min_size=1).map(" ".join))
def test_decode_restores_text(line):
    pieces = learn_word_pieces(WORDS, 21)
    assert pieces.decode(pieces.encode([line])[0]) == line


def test_special_symbols_are_never_learnt_as_pieces():
    pieces = learn_word_pieces([("x<pad>", 50), ("x</s>", 50), ("y<s>", 50)], 24)
    assert len(set(pieces.pieces())) == 24
    assert not set(pieces.encode(["<pad> x<pad> </s>"])[0]) & {0, 1, 2, 3}


def test_impossible_size_is_refused_with_the_possible_one():
    with pytest.raises(DataError, match="larger than this text supports: the largest is 30"):
        learn_word_pieces(WORDS, 1_000)
    assert len(learn_word_pieces(WORDS, 30).pieces()) == 30
    with pytest.raises(DataError, match="the smallest that does has 15 entries"):
        learn_word_pieces(WORDS, 14)
    assert len(learn_word_pieces(WORDS, 15).pieces()) == 15


def test_to_bytes_and_from_bytes():
    pieces = learn_word_pieces([("naïve", 3), ("中文", 2)], 12)
    again = WordPieces.from_bytes(pieces.to_bytes())
    assert again.pieces() == pieces.pieces()
    assert again.encode(["naïve 中文"]) == pieces.encode(["naïve 中文"])
    for damaged in (b"", b"\xff\n", b"<pad>\n<unk>\n"):
        with pytest.raises(DataError):
            WordPieces.from_bytes(damaged)
