"""Subwords normalise text by NFKC, but keep characters of the training text that it changes."""

from collections import Counter
from pathlib import Path

import pytest
import sentencepiece

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning.held_out.digests import digest
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.normalization import Normalizer, kept_characters, learning_options
from nmt_cli.data.subwords.segmenters import SentencePieces
from nmt_cli.errors import DataError

KINDS = ("bpe", "unigram", "chars", "wordpiece", "bytes")
# Superscripts, a fraction, a zero-width non-joiner, an accent alone, and full-width letters;
# signs and punctuation of Russian, Armenian, Korean and Chinese.
SIGNS = "№ 5 մարդ և 5℃ ㅋㅋ 你好，吗？"
TEXT = f"65 m² 3½ kʷa tʰa kwa ①x می\u200cخواهم don´t …ﬁnd ＡＢ cafe\u0301 ﷺ {SIGNS}"
KEPT = f"65 m² 3½ kʷa tʰa kwa ①x می\u200cخواهم don´t …find AB café ﷺ {SIGNS}"
# Letters of Thai and Lao, and spaces of Khmer that are not seen.
ASIAN = "น้ำ ทำ ດຳ ໜ ໝາ ទៅ\u200bខ្ញុំ\u200bខ្មែរ"


def learn(kind: str, text: str = TEXT) -> Subwords:
    data = DataConfig(subwords=kind, vocab_size="auto")  # type: ignore[arg-type]
    return learn_subwords(data, Counter(dict.fromkeys(text.split(), 5)), {})


def round_trip(subwords: Subwords, text: str) -> str:
    return subwords.decode_target(subwords.encode_target([text]))[0]


@pytest.mark.parametrize("kind", KINDS)
def test_characters_of_the_training_text_survive(kind: str, tmp_path: Path) -> None:
    subwords = learn(kind)
    assert round_trip(subwords, TEXT) == KEPT
    assert subwords.encode_source(["kʷa"]) != subwords.encode_source(["kwa"])
    subwords.save(tmp_path)
    assert round_trip(Subwords.load(tmp_path), TEXT) == KEPT
    asian = learn(kind, ASIAN)
    assert round_trip(asian, ASIAN) == ASIAN
    asian.save(tmp_path)
    assert round_trip(Subwords.load(tmp_path), ASIAN) == ASIAN


@pytest.mark.parametrize("kind", KINDS)
def test_characters_that_the_training_text_lacks_are_read_as_plain_ones(
    kind: str, tmp_path: Path
) -> None:
    subwords = learn(kind, "65 m2 kwa 1⁄2 tha the find ... AB")
    assert round_trip(subwords, "m² kʷa ½ tʰ …ﬁnd ＡＢ") == "m2 kwa 1⁄2 th ...find AB"
    assert round_trip(subwords, "m\u200bkwa") == "m kwa"
    subwords.save(tmp_path)
    assert round_trip(Subwords.load(tmp_path), "m²") == "m2"


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_files(kind: str) -> None:
    assert dict(learn(kind).contents()) == dict(learn(kind).contents())


def test_nothing_but_the_kept_characters_differs_from_nfkc() -> None:
    """The model that is learnt, and what stands in for it where there is no such model."""
    kept = "²´ªʷ\u200b\u200cำ№，…"
    model = learning_options(kept)["normalizer"]
    ours, plain = Normalizer(kept, marks_words=True), Normalizer(marks_words=True)
    for code in range(1, 0x11_0000):
        character = chr(code)
        if 0xD800 <= code < 0xE000:
            continue
        text = f"a{character}b"
        expected = text if character in kept else plain.normalize(text).removeprefix("▁")
        assert model.normalize(text).removeprefix("▁") == expected, hex(code)
        assert ours.normalize(text).removeprefix("▁") == expected, hex(code)
    assert ours.normalize("a² \U00100000") == "▁a²▁\U00100000"
    assert model.normalize("cafe\u0301 ｶﾞ") == ours.normalize("cafe\u0301 ｶﾞ") == "▁café▁ガ"


def test_a_model_without_kept_characters_is_that_of_the_plain_rule() -> None:
    assert learning_options("") == {"normalization_rule_name": "nmt_nfkc"}
    assert kept_characters(["café ﬁnd １２ Å \u00a0 \u2009 \u200b ～ straße ĳ ǆ ⼀ ﻿ﻼ ｱ"]) == ""


def test_learning_writes_nothing_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    learn("bpe")
    assert capfd.readouterr().err == ""


def test_other_programs_read_the_same_text() -> None:
    """The rules are in the file of sentencepiece."""
    segmenter = SentencePieces("bpe", dict(learn("bpe").contents())["source.spm"])
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter.to_bytes())
    assert processor.decode(processor.encode(TEXT)) == KEPT


@pytest.mark.parametrize("content", [b"\xff", "²a".encode(), "½²".encode(), "é".encode()])
def test_a_damaged_list_of_kept_characters_is_refused(content: bytes, tmp_path: Path) -> None:
    learn("bytes").save(tmp_path)
    (tmp_path / "source.bytes").write_bytes(content)
    with pytest.raises(DataError, match="the list of characters is damaged"):
        Subwords.load(tmp_path)
    (tmp_path / "source.bytes").write_bytes(b"")
    assert round_trip(Subwords.load(tmp_path), "m²") == "m2"


def test_pairs_that_differ_in_such_characters_are_not_the_same() -> None:
    assert digest("kʷa") != digest("kwa")
    assert digest("cafe\u0301") == digest("café")
