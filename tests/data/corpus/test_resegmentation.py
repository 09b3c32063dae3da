"""Text is segmented anew for each epoch, reproducibly, and the batch plan fits it."""

import itertools

import numpy as np
import pytest
import torch
from corpora import reversal_corpus, tiny_config, word_corpus, write_pairs

from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus import resegmentation
from nmt_cli.data.corpus.batch_plan import BatchPlan
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.resegmentation import SampledPairs
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.storage.manifest import add_to_manifest
from nmt_cli.training.loop import train
from nmt_cli.training.saving.checkpoints import Checkpoints


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return word_corpus(tmp_path_factory.mktemp("sampling"))[1]


def ids_of(pairs: SampledPairs) -> list[list[list[int]]]:
    return [[side[i].tolist() for i in range(len(pairs))] for side in (pairs.src, pairs.tgt)]


def test_segment_changes_segmentation_but_not_text(corpus):
    """Each sentence decodes to the same text and ends with EOS; many have another segmentation."""
    pairs = SampledPairs(corpus, 0.3, seed=1, workers=1)
    plain = ids_of(pairs)
    pairs.segment(0)
    drawn = ids_of(pairs)
    decoders = corpus.subwords.decode_source, corpus.subwords.decode_target
    for before, after, decode in zip(plain, drawn, decoders, strict=True):
        assert decode(after) == decode(before)
        assert all(ids[-1] == corpus.subwords.eos_id for ids in after)
        changed = sum(old != new for old, new in zip(before, after, strict=True))
        assert changed > 0.3 * len(before)
    assert [len(ids) for ids in drawn[0]] == pairs.src_lengths.tolist()
    assert [len(ids) for ids in drawn[1]] == pairs.tgt_lengths.tolist()


def test_segmentation_is_a_function_of_seed_and_epoch(corpus, monkeypatch):
    def drawn(seed: int, *epochs: int) -> list[list[list[int]]]:
        pairs = SampledPairs(corpus, 0.3, seed, workers=1)
        for epoch in epochs:
            pairs.segment(epoch)
        return ids_of(pairs)

    reference = drawn(1, 5)
    assert drawn(1, 2, 5) == reference
    assert drawn(1, 6) != reference
    assert drawn(2, 5) != reference
    # Each chunk of lines has its own random numbers.
    monkeypatch.setattr(resegmentation, "CHUNK_LINES", 100)
    pieces = drawn(1, 5)
    assert pieces != reference
    assert [ids[:100] for ids in pieces] == [ids[:100] for ids in reference]


def test_equal_lines_differ_within_an_epoch(tmp_path, monkeypatch):
    """Each occurrence of a pair, each side and each chunk is segmented independently."""
    monkeypatch.setattr(resegmentation, "CHUNK_LINES", 25)
    # A longer line allows the others to become longer.
    lines = ["bano kilu remo"] * 50 + ["bano kilu remo " * 4]
    files = write_pairs(tmp_path, "train", list(zip(lines, lines, strict=True)))
    config = tiny_config(
        data_train=[files], data_subwords="bpe", data_vocab_size=24, data_drop_duplicates=False
    )
    prepare(config, tmp_path / "corpus", workers=1)
    pairs = SampledPairs(Corpus.open(tmp_path / "corpus"), 0.5, 1, workers=1)
    pairs.segment(0)
    src, tgt = ids_of(pairs)
    assert len({tuple(ids) for ids in src}) > 5
    assert src != tgt
    assert src[:25] != src[25:50]


def test_sentence_that_would_be_too_long_keeps_its_segmentation(corpus):
    pairs = SampledPairs(corpus, 0.9, 1, workers=1)
    plain = ids_of(pairs)
    pairs.segment(0)
    for before, after in zip(plain, ids_of(pairs), strict=True):
        longest = max(map(len, before))
        assert max(map(len, after)) <= longest
        unchanged = [old for old, new in zip(before, after, strict=True) if old == new]
        assert max(map(len, unchanged)) == longest
        # A new segmentation may be as long as the longest one.
        changed = [new for old, new in zip(before, after, strict=True) if old != new]
        assert max(map(len, changed)) == longest


def test_plan_uses_every_pair_once_with_the_lengths_of_its_epoch(corpus):
    pairs = SampledPairs(corpus, 0.3, 1, workers=1)
    plan = BatchPlan(pairs.src_lengths, pairs.tgt_lengths, 400, 2, 7)
    plan.lengths_of = pairs.segment
    sizes = []
    for index in (0, 1, 0):
        first = plan.tokens(index, 0)
        epoch = plan.epoch(index)
        assert first == pairs.tgt_lengths[epoch.pairs(0)].sum()
        used = np.concatenate([epoch.pairs(batch) for batch in range(epoch.batches)])
        assert sorted(used) == list(range(len(pairs)))
        for batch, shard in itertools.product(range(epoch.batches), range(2)):
            ids = epoch.shard(batch, shard)
            lengths = [pairs.tgt.gather(ids)[1].sum(), pairs.src.gather(ids)[1].sum()]
            assert max(lengths) <= 200 or len(ids) == 1
        sizes.append([plan.tokens(index, batch) for batch in range(epoch.batches)])
        assert sum(sizes[-1]) == pairs.tgt_lengths.sum()
    assert sizes[0] == sizes[2] != sizes[1]


def test_damaged_text_is_refused(tmp_path):
    _, corpus = word_corpus(tmp_path)
    text = corpus.path / "train.tgt.txt"
    text.write_bytes(text.read_bytes().swapcase())
    with pytest.raises(DataError, match=r"train\.tgt\.txt"):
        SampledPairs(corpus, 0.1, 1, workers=1)


def test_text_with_another_number_of_lines_is_refused(tmp_path):
    _, corpus = word_corpus(tmp_path)
    lines = (corpus.path / "train.src.txt").read_bytes().splitlines(keepends=True)
    add_to_manifest(corpus.path, "train.src.txt", b"".join(lines[:-1]))
    pairs = SampledPairs(corpus, 0.1, 1, workers=1)
    message = rf"train\.src\.txt` has {len(lines) - 1} lines, not {len(lines)}"
    with pytest.raises(DataError, match=message):
        pairs.segment(0)


def test_subwords_without_merges_are_refused(tmp_path):
    config, corpus = reversal_corpus(tmp_path)
    with pytest.raises(ConfigError, match="has subwords of the kind chars"):
        next(train(with_values(config, {"train.subword_dropout": 0.1}), corpus, tmp_path / "m"))


@pytest.mark.slow
def test_resumed_training_uses_the_segmentation_of_its_epoch(tmp_path, monkeypatch):
    """After a stop in the second epoch weights are bit-equal; each epoch is segmented once."""
    config, corpus = word_corpus(
        tmp_path, train_subword_dropout=0.2, train_batch_tokens=2_000, train_max_steps=10,
        train_checkpoint_every=100, model_dropout=0.1, train_log_every=1,
    )  # fmt: skip
    drawn: list[int] = []
    segment = SampledPairs.segment
    monkeypatch.setattr(
        SampledPairs, "segment", lambda self, epoch: drawn.append(epoch) or segment(self, epoch)
    )
    list(train(config, corpus, tmp_path / "straight"))
    assert drawn == list(range(drawn[-1] + 1))
    assert drawn[-1] >= 2
    for report in train(config, corpus, tmp_path / "resumed"):
        if (report.epoch, report.step) >= (1, 3):
            break
    list(train(config, corpus, tmp_path / "resumed"))
    resumed, expected = (
        Checkpoints(tmp_path / name / "checkpoints", 5, 1).all()[-1].weights()
        for name in ("resumed", "straight")
    )
    for name, weight in resumed.items():
        assert torch.equal(weight, expected[name]), name
