"""The prepared corpus is read as it was written, and a damaged one is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from corpora import reversal_corpus, reversal_pairs

from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.layout import id_type, read_description
from nmt_cli.errors import DataError, NoInputError
from nmt_cli.storage.manifest import write_manifest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("corpus")
    reversal_corpus(folder, pairs=50)
    return folder / "corpus"


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A corpus that a test may damage."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_corpus_is_read_as_it_was_written(folder):
    corpus = Corpus.open(folder)
    pairs = reversal_pairs(50, seed=1)
    pairs = [pair for index, pair in enumerate(pairs) if pair not in pairs[:index]]
    assert len(corpus.train) == len(pairs)
    assert corpus.subwords.decode_source([src for src, _ in corpus.train]) == [a for a, _ in pairs]
    assert corpus.subwords.decode_target([tgt for _, tgt in corpus.train]) == [b for _, b in pairs]
    for index, (src, tgt) in enumerate(corpus.train):
        assert src[-1] == tgt[-1] == corpus.subwords.eos_id
        assert (len(src), len(tgt)) == (
            corpus.train.src_lengths[index],
            corpus.train.tgt_lengths[index],
        )
    assert corpus.train.src_lengths.dtype == np.int32
    assert corpus.train.origin.tolist() == [0] * len(pairs)
    assert corpus.config.data.subwords == "chars"
    assert corpus.valid is not None
    assert corpus.valid_text is not None
    assert corpus.valid_text[0] == [src for src, _ in reversal_pairs(20, seed=2)]
    for index in (-1, len(pairs)):
        with pytest.raises(IndexError):
            corpus.train[index]


def test_ids_are_memory_mapped_and_read_only(folder):
    ids = Corpus.open(folder).train.src.ids
    assert isinstance(ids, np.memmap)
    assert ids.dtype == np.dtype("<u2")
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 1


def test_id_type_depends_on_the_vocabulary_size():
    assert [id_type(size).itemsize for size in (5, 65_536, 65_537)] == [2, 2, 4]


def test_corpus_without_validation_text(tmp_path):
    _, corpus = reversal_corpus(tmp_path, pairs=20, data_valid=[])
    assert corpus.valid is None
    assert corpus.valid_text is None


def test_digest_depends_on_ids_and_subwords_but_not_on_training(tmp_path, folder):
    digest = Corpus.open(folder).digest
    _, same = reversal_corpus(tmp_path / "same", pairs=50, train_max_steps=7)
    _, other = reversal_corpus(tmp_path / "other", pairs=49)
    assert same.digest == digest
    assert other.digest != digest


def test_damaged_manifest_is_refused(copy):
    for text in ("", "{}", '{"files": 3}', '{"format": 1, "files": {}}'):
        (copy / "manifest.json").write_text(text)
        with pytest.raises(DataError):
            Corpus.open(copy)


def test_sizes_are_checked_without_verification(copy):
    ids = copy / "train.src.ids"
    whole = ids.read_bytes()
    ids.write_bytes(whole[:-4] + b"\4\0\3\0")
    Corpus.open(copy, verify=False)
    ids.write_bytes(whole[:-2])
    with pytest.raises(DataError, match=r"train\.src\.ids"):
        Corpus.open(copy, verify=False)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("train.src.ids", np.dtype("<u2").type(999), "beyond the vocabulary"),
        ("train.tgt.offsets", np.dtype("<i8").type(10**6), "does not fit"),
    ],
)
def test_wrong_ids_and_offsets_are_refused_with_a_valid_checksum(copy, name, value, message):
    data = bytearray((copy / name).read_bytes())
    data[8 : 8 + value.itemsize] = value.tobytes()
    (copy / name).write_bytes(data)
    write_manifest(copy)
    with pytest.raises(DataError, match=message):
        Corpus.open(copy)


def test_directory_that_is_not_a_corpus_is_refused(copy, tmp_path):
    with pytest.raises(NoInputError):
        Corpus.open(tmp_path / "none")
    for text in ("", "[]", '{"format": 2}', '{"format": 1}', '{"format": 1, "train": "3"}'):
        (copy / "corpus.json").write_text(text)
        write_manifest(copy)
        with pytest.raises(DataError, match="not a corpus of format 1"):
            Corpus.open(copy)


def test_description_contains_the_table(folder):
    description = read_description(folder)
    assert description["prepared"]["kept"] == description["train"]
    assert json.dumps(description)
