"""The subwords of a directory with the files of MarianTokenizer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_cli.data.subwords.model import MAX_BYTES, TAG_END, SpecialIds, Subwords
from nmt_cli.data.subwords.segmenters import SentencePieces
from nmt_cli.errors import ConfigError, DataError, NoInputError
from nmt_cli.exchange.formats.huggingface.json_files import read_json
from nmt_cli.exchange.requirements import SOURCE_SPM, TARGET_SPM
from nmt_cli.storage import files

VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
TAG_START = ">>"


def read_subwords(
    path: Path, tokenizer: Mapping[str, Any], settings: Mapping[str, Any], sizes: tuple[int, int]
) -> tuple[Subwords, tuple[Path, ...]]:
    """The subwords, and the files that were read.

    tokenizer, settings: the content of tokenizer_config.json and config.json; sizes: the rows of
    the embeddings of both sides, which may be more than the vocabulary has entries.
    """
    paths = [path / name for name in (SOURCE_SPM, TARGET_SPM, VOCABULARY)]
    source_ids = _vocabulary(path / VOCABULARY, sizes[0])
    target_ids = source_ids
    separate = bool(tokenizer.get("separate_vocabs"))
    if separate:
        paths.append(path / TARGET_VOCABULARY)
        target_ids = _vocabulary(path / TARGET_VOCABULARY, sizes[1])
    special = _special_ids(path, tokenizer, settings, source_ids)
    if separate and special != _special_ids(path, tokenizer, settings, target_ids):
        raise ConfigError(
            f"`{path}` cannot be imported: its two vocabularies have different ids of the end of "
            "a sentence, of padding or of unknown words"
        )
    contents = [
        files.read_bytes(path / name, "subwords", MAX_BYTES) for name in (SOURCE_SPM, TARGET_SPM)
    ]
    source, target = (SentencePieces.of_another_toolkit(content) for content in contents)
    tags = [name for name in source_ids if name.startswith(TAG_START) and name.endswith(TAG_END)]
    joint = not separate and contents[0] == contents[1] and sizes[0] == sizes[1]
    subwords = Subwords(
        source,
        None if joint else target,
        source_ids=source_ids,
        target_ids=None if joint else target_ids,
        special=special,
        tags=() if separate else tags,
    )
    return subwords, tuple(paths)


def _vocabulary(path: Path, size: int) -> dict[str, int]:
    """The ids of the pieces; ids without a piece get a name that no text has."""
    ids = read_json(path)
    if not ids or not all(type(token) is int and token >= 0 for token in ids.values()):
        raise DataError(f"`{path}` is not a vocabulary: it maps pieces to ids")
    if max(ids.values()) >= size:
        raise DataError(
            f"`{path}` has the id {max(ids.values())}, but the embeddings have {size} rows",
            "the files are of different models: copy them again",
        )
    used = set(ids.values())
    return ids | {f"<unused {token}>": token for token in range(size) if token not in used}


def _special_ids(
    path: Path,
    tokenizer: Mapping[str, Any],
    settings: Mapping[str, Any],
    vocabulary: Mapping[str, int],
) -> SpecialIds:
    names = {"unk": "<unk>", "eos": "</s>", "pad": "<pad>"}
    ids = {}
    for name, usual in names.items():
        entry = tokenizer.get(f"{name}_token", usual)
        text = str(entry.get("content", "") if isinstance(entry, dict) else entry)
        if text not in vocabulary:
            raise NoInputError(f"`{path / VOCABULARY}` has no entry `{text}`")
        ids[name] = vocabulary[text]
    bos = settings.get("bos_token_id")
    fits = type(bos) is int and 0 <= bos < len(vocabulary)
    return SpecialIds(**ids, bos=bos if fits and bos is not None else ids["pad"])
