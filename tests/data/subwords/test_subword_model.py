"""Subwords: every kind restores text, and no text becomes a special id."""

import io
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords import segmenters
from nmt_cli.data.subwords.model import SpecialIds, Subwords, learn_subwords
from nmt_cli.data.subwords.segmenters import EOS, UNK, SentencePieces, sample_words
from nmt_cli.errors import DataError, NoInputError

KINDS = ("bpe", "unigram", "wordpiece", "bytes", "chars")
LOOK_ALIKES = [
    "</s>", "<s>", "<pad>", "<unk>", "<2de>", "<0x0A>", ">>de<<", "<s></s>", "a</s>b", "▁",
    "<pad> <pad>",
]  # fmt: skip


def made_up_text() -> list[str]:
    """Return sentences of made-up words, and texts that look like special symbols."""
    chooser = random.Random(3)
    syllables = ["".join(chooser.choices("abdeginorstuäßé", k=3)) for _ in range(150)]
    words = ["".join(chooser.choices(syllables, k=chooser.randint(1, 3))) for _ in range(900)]
    lines = [
        " ".join(chooser.choices(words, k=chooser.randint(1, 12))) + chooser.choice(".?!")
        for _ in range(600)
    ]
    return lines + LOOK_ALIKES * 20


TEXT = made_up_text()
WORDS = Counter(" ".join(TEXT).split())


def learn(kind: str, **settings: object) -> Subwords:
    data = DataConfig(**{"subwords": kind, "vocab_size": 300, **settings})  # type: ignore[arg-type]
    return learn_subwords(data, WORDS, Counter({"ziel": 20, "zielt": 10}))


def learn_all() -> Subwords:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segmenters, "MAX_UNIGRAM_CHARACTERS", 10**9)
        return learn("unigram", vocab_size=150)


LEARNT = {kind: learn(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_restores_text(kind):
    subwords = LEARNT[kind]
    ids = subwords.encode_source(TEXT)
    plain = [line.replace("▁", "_") for line in TEXT]
    if kind != "bytes":
        # U+2581 becomes an underscore, which this text does not contain.
        plain = [line.replace("_", "⁇") for line in plain]
    assert subwords.decode_source(ids) == plain
    assert subwords.decode_target(ids) == plain


@pytest.mark.parametrize("kind", KINDS)
@given(line=st.lists(st.text("abdeginorstuäßé.?!<>/", min_size=1)).map(" ".join))
def test_decoding_restores_any_text_of_known_characters(kind, line):
    subwords = LEARNT[kind]
    assert subwords.decode_target(subwords.encode_target([line])) == [line]


def test_byte_fallback_encodes_unknown_characters_and_gives_one_line():
    subwords = learn("bpe", byte_fallback=True, vocab_size=500)
    (ids,) = subwords.encode_source(["abd 中文 😀"])
    assert UNK not in ids
    assert subwords.decode_source([ids]) == ["abd 中文 😀"]
    pieces = subwords.source_pieces(range(subwords.src_size))
    ends = [pieces.index(f"<0x{byte:02X}>") for byte in b"a\nb\r\x1bc\x00\xc2\x85\xe2\x80\xa8d"]
    assert subwords.decode_target([ends]) == ["a b c  d"]
    (literal,) = subwords.encode_source(["<0x0A>"])
    assert pieces.index("<0x0A>") not in literal
    assert subwords.decode_source([literal]) == ["<0x0A>"]


def test_bytes_that_are_no_whole_character_are_left_out() -> None:
    subwords = learn("bpe", byte_fallback=True, vocab_size=500)
    pieces = subwords.target_pieces(range(subwords.tgt_size))
    for written, text in [
        (b"a\xc5\xa9b", "aũb"),
        (b"a\xc5b", "ab"),
        (b"a\xa9\xf0\x9f\x98", "a"),
        ("a\ufffd".encode(), "a\ufffd"),
    ]:
        ids = [pieces.index(f"<0x{byte:02X}>") for byte in written]
        assert subwords.decode_target([ids]) == [text]
        assert subwords.has_broken_characters(ids) == (text.encode() != written)
    # Bytes with a subword between them are no character together.
    apart = [pieces.index("<0xC5>"), pieces.index("a"), pieces.index("<0xA9>")]
    assert subwords.decode_target([apart]) == ["a"]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_vocabulary_has_exactly_the_requested_size(kind):
    for size in (120, 233):
        subwords = learn(kind, vocab_size=size)
        assert subwords.src_size == subwords.tgt_size == size
        assert len(set(subwords.source_pieces(range(size)))) == size


def test_sizes_of_byte_and_character_vocabularies():
    assert LEARNT["bytes"].src_size == 260
    characters = set("".join(TEXT)) - {" ", "▁"} | {"▁", "z", "l"}
    assert LEARNT["chars"].src_size == len(characters) + 4


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_vocabulary_too_large_is_refused_with_a_possible_size(kind):
    with pytest.raises(DataError, match="larger than this text supports") as caught:
        learn(kind, vocab_size=20_000)
    # The largest possible size, whose entries may occur once, is named but not recommended.
    largest = int(caught.value.message.split()[-1].replace(",", ""))
    assert str(largest) not in caught.value.hint
    chosen = learn(kind, vocab_size="auto").src_size
    assert f"--vocab-size auto, which chooses {chosen:,} " in caught.value.hint
    assert learn(kind, vocab_size=largest).src_size == largest
    with pytest.raises(DataError, match=f"the largest is {largest:,}"):
        learn(kind, vocab_size=largest + 1)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_vocabulary_too_small_is_refused_with_a_possible_size(kind):
    with pytest.raises(DataError, match="does not hold the characters") as caught:
        learn(kind, vocab_size=10)
    smallest = int(caught.value.hint.split()[2])
    assert learn(kind, vocab_size=smallest + 1).src_size == smallest + 1


def test_learning_without_words_is_refused():
    for kind in ("bpe", "unigram", "wordpiece", "chars"):
        with pytest.raises(DataError, match="no text"):
            learn_subwords(DataConfig(subwords=kind), {}, {})


def test_target_vocabulary_has_its_own_size():
    data = DataConfig(subwords="wordpiece", vocab_size=60, joint=False, tgt_vocab_size=14)
    both = learn_subwords(data, WORDS, Counter({"ziel": 20, "zielt": 10}))
    assert (both.src_size, both.tgt_size) == (60, 14)
    with pytest.raises(DataError, match="the target: a vocabulary of 60 is larger") as caught:
        learn_subwords(replace(data, tgt_vocab_size="auto"), WORDS, Counter({"ziel": 20}))
    assert caught.value.hint.startswith("use --set data.tgt_vocab_size=")
    size = int(caught.value.hint.partition("=")[2].partition(",")[0])
    fitting = learn_subwords(replace(data, tgt_vocab_size=size), WORDS, Counter({"ziel": 20}))
    assert fitting.tgt_size == size


def test_bpe_from_word_counts_equals_bpe_from_sentences():
    text = [line for line in TEXT if line not in LOOK_ALIKES]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model,
        model_type="bpe", vocab_size=300, character_coverage=1.0,
        normalization_rule_name="nmt_nfkc", pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=4,
    )  # fmt: skip
    ours = learn_subwords(DataConfig(vocab_size=300), Counter(" ".join(text).split()), {})
    theirs = SentencePieces("bpe", model.getvalue()).pieces()
    assert ours.source_pieces(range(300)) == theirs


@pytest.mark.parametrize("kind", KINDS)
def test_same_words_give_the_same_files(kind, tmp_path):
    shuffled = list(WORDS.items())
    random.Random(5).shuffle(shuffled)
    data = DataConfig(subwords=kind, vocab_size=300)  # type: ignore[arg-type]
    contents = []
    for name, words in (("sorted", WORDS), ("shuffled", dict(shuffled))):
        (tmp_path / name).mkdir()
        learn_subwords(data, words, {}).save(tmp_path / name)
        contents.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert contents[0] == contents[1]


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind, joint, tmp_path):
    data = DataConfig(subwords=kind, vocab_size=200, joint=joint)  # type: ignore[arg-type]
    other = Counter(word[::-1] for word in WORDS.elements())
    subwords = learn_subwords(data, WORDS, other)
    subwords.save(tmp_path)
    again = Subwords.load(tmp_path)
    assert again.kind == kind
    assert (again.src_size, again.tgt_size) == (subwords.src_size, subwords.tgt_size)
    assert again.encode_source(TEXT) == subwords.encode_source(TEXT)
    assert again.encode_target(TEXT) == subwords.encode_target(TEXT)
    assert again.joint == (joint or kind == "bytes")
    assert len(list(tmp_path.glob("target.*"))) == (not again.joint)
    vocabulary = json.loads((tmp_path / "vocabulary.json").read_text("utf-8"))
    assert vocabulary["source"]["</s>"] == EOS


def test_separate_vocabularies_contain_only_their_side():
    subwords = learn("chars", joint=False)
    assert subwords.tgt_size == 4 + len(set("▁zielt"))
    assert UNK in subwords.encode_source(["z"])[0]
    assert UNK not in subwords.encode_target(["z"])[0]


def test_an_imported_vocabulary_may_have_other_ids(tmp_path):
    """As in OPUS-MT: EOS 0, UNK 1, PAD last, pieces in another order, some without an id."""
    learnt = LEARNT["bpe"]
    learnt.save(tmp_path)
    segmenter = SentencePieces("bpe", (tmp_path / "source.spm").read_bytes())
    normal = segmenter.pieces()[4:]
    missing = normal[40]
    ids = {"</s>": 0, "<unk>": 1}
    for piece in reversed(normal):
        if piece != missing:
            ids[piece] = len(ids)
    ids["<pad>"] = len(ids)
    special = SpecialIds(pad=ids["<pad>"], unk=1, bos=0, eos=0)
    Subwords(segmenter, source_ids=ids, special=special).save(tmp_path)
    imported = Subwords.load(tmp_path)
    assert imported.src_size == len(ids)
    assert (imported.pad_id, imported.eos_id) == (len(ids) - 1, 0)
    lines = [line for line in TEXT[:50] if missing.replace("▁", " ") not in f" {line}"]
    encoded = imported.encode_source(lines)
    assert all(tokens[-1] == 0 and max(tokens) < len(ids) - 1 for tokens in encoded)
    names = [imported.source_pieces(tokens) for tokens in encoded]
    assert names == [learnt.source_pieces(tokens) for tokens in learnt.encode_source(lines)]
    assert imported.decode_target(encoded) == lines
    assert imported.decode_target([[imported.pad_id, *encoded[0], imported.pad_id]]) == lines[:1]
    assert imported.decode_target([[1, 0]]) == ["⁇"]


def test_missing_or_damaged_directory_is_refused(tmp_path):
    with pytest.raises(NoInputError):
        Subwords.load(tmp_path)
    LEARNT["bpe"].save(tmp_path)
    whole = (tmp_path / "vocabulary.json").read_text("utf-8")
    wrong = (
        "", "[]", "{", whole.replace('"bpe"', '"magic"'),
        whole.replace('"format": 1', '"format": 2'), whole.replace('"<unk>": 1', '"<unk>": "1"'),
        whole.replace('"<unk>": 1', '"<unk>": -1'),
        "[" * 100_000,
    )  # fmt: skip
    for text in wrong:
        (tmp_path / "vocabulary.json").write_text(text, "utf-8")
        with pytest.raises(DataError, match=r"vocabulary\.json"):
            Subwords.load(tmp_path)
    (tmp_path / "vocabulary.json").write_text(whole, "utf-8")
    (tmp_path / "source.spm").write_bytes(b"not a model")
    with pytest.raises(DataError, match="sentencepiece"):
        Subwords.load(tmp_path)


def test_learning_from_long_text_without_spaces():
    text = "中文字符" * 20_000
    subwords = learn_subwords(DataConfig(vocab_size=12), Counter({text: 1}), {})
    (ids,) = subwords.encode_source([text])
    assert UNK not in ids
    assert subwords.decode_source([ids]) == [text]


def test_rare_character_of_a_long_text_is_known():
    words = {"abcd" * 50: 10_000_000, "ı": 1}
    subwords = learn_subwords(DataConfig(vocab_size=14), words, {})
    assert UNK not in subwords.encode_source(["ı"])[0]


def test_unicode_variants_of_a_character_are_normalised():
    for kind in KINDS:
        composed, combining, wide = LEARNT[kind].encode_source(
            ["né ab", "ne\u0301 ab", "ｎé　ａｂ"]
        )
        assert composed == combining == wide


def test_unigram_learns_from_an_even_sample_of_a_long_text(monkeypatch):
    words = sorted(WORDS.items())
    size = sum(len(word) * count for word, count in words)
    for most in (size, size // 3, 50):
        sample = dict(sample_words(words, most))
        assert sum(len(word) * count for word, count in sample.items()) <= most * 1.2
        assert all(abs(sample.get(word, 0) - count * most / size) < 1 for word, count in words)
    monkeypatch.setattr(segmenters, "MAX_UNIGRAM_CHARACTERS", size // 3)
    subwords = learn("unigram", vocab_size=150)
    assert subwords.source_pieces(range(150)) != learn_all().source_pieces(range(150))
    # Rare characters are known nevertheless.
    plain = [line for line in TEXT if "▁" not in line]
    assert not any(UNK in ids for ids in subwords.encode_source(plain))


def test_saved_files_contain_no_path_of_this_machine(tmp_path):
    LEARNT["bpe"].save(tmp_path)
    for path in tmp_path.iterdir():
        assert str(Path.home()).encode() not in path.read_bytes()
