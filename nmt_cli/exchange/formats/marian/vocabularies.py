"""The vocabularies of a Marian model: sentencepiece files, or YAML with separate segmenters."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from nmt_cli.data.subwords.model import MAX_BYTES, TAG_END, SpecialIds, Subwords
from nmt_cli.data.subwords.segmenters import SentencePieces
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.exchange.formats.marian.yaml_files import read_yaml_object
from nmt_cli.exchange.requirements import SOURCE_SPM, TARGET_SPM
from nmt_cli.storage import files

SPM = ".spm"
YAML = (".yml", ".yaml")
BPE = "source.bpe"
EOS, UNK = "</s>", "<unk>"
START = "<start>"
# What an imported model of byte pieces never writes, as in Marian.
NEWLINE = "<0x0A>"
TAG_START = ">>"


class Vocabulary(NamedTuple):
    """One side: the sentencepiece file, the ids of the pieces, and the files that were read."""

    segmenter: bytes
    ids: Mapping[str, int]
    eos: int
    unk: int
    files: tuple[Path, ...]


class Vocabularies(NamedTuple):
    """Both sides."""

    source: Vocabulary
    target: Vocabulary


def vocabulary_reasons(paths: tuple[Path, ...]) -> list[str]:
    """Why nmt cannot use vocabulary files, by their names and those beside them."""
    reasons = []
    for path in dict.fromkeys(paths):
        if path.suffix == SPM:
            continue
        if path.suffix not in YAML:
            reasons.append(f"its vocabulary `{path.name}` is neither sentencepiece (.spm) nor YAML")
        elif (path.parent / BPE).exists():
            reasons.append(f"it splits words with `{BPE}` (subword-nmt), not with sentencepiece")
        elif not (path.parent / SOURCE_SPM).exists() or not (path.parent / TARGET_SPM).exists():
            reasons.append(
                f"its vocabulary `{path.name}` lists subwords without a segmenter, and beside it "
                f"are no `{SOURCE_SPM}` and `{TARGET_SPM}`"
            )
    return reasons


def read_vocabularies(paths: tuple[Path, ...]) -> Vocabularies:
    """The vocabularies of both sides; one path is for both. Raises DataError and NoInputError."""
    source, target = _read_side(paths[0], SOURCE_SPM), _read_side(paths[-1], TARGET_SPM)
    if (source.eos, source.unk) != (target.eos, target.unk):
        raise ConfigError(
            "its two vocabularies have different ids of the end of a sentence or of unknown words"
        )
    return Vocabularies(source, target)


def _read_side(path: Path, segmenter_name: str) -> Vocabulary:
    content = files.read_bytes(path, "vocabulary", MAX_BYTES)
    if path.suffix == SPM:
        pieces = SentencePieces.of_another_toolkit(content).pieces()
        processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        eos, unk = processor.eos_id(), processor.unk_id()
        if eos < 0:
            raise DataError(f"`{path}` has no piece for the end of a sentence")
        ids = {piece: index for index, piece in enumerate(pieces)}
        return Vocabulary(content, ids, eos, unk, (path,))
    ids = read_yaml_object(content, f"the vocabulary `{path}`")
    if not all(
        isinstance(piece, str) and type(index) is int and 0 <= index < MAX_BYTES
        for piece, index in ids.items()
    ):
        raise DataError(f"`{path}` is not a vocabulary: it maps subwords to their ids")
    segmenter_path = path.parent / segmenter_name
    segmenter = files.read_bytes(segmenter_path, "segmenter", MAX_BYTES)
    return Vocabulary(segmenter, ids, ids.get(EOS, 0), ids.get(UNK, 1), (path, segmenter_path))


class Imported(NamedTuple):
    """The subwords with a further entry, by which the decoder starts, and what is never written."""

    subwords: Subwords
    start_id: int
    banned_ids: list[int]


def make_subwords(
    vocabularies: Vocabularies, rows: tuple[int, int], *, is_shared: bool, allow_unk: bool
) -> Imported:
    """The subwords of an imported model.

    rows: of the model's source and target embeddings; is_shared: whether both are one matrix.
    """
    source, target = vocabularies
    for side, vocabulary, size in zip(("source", "target"), vocabularies, rows, strict=True):
        largest = max(vocabulary.ids.values(), default=-1)
        if largest >= size:
            raise DataError(
                f"its {side} vocabulary has the id {largest}, but the embeddings have {size} rows",
                "name the vocabularies that the model was trained with",
            )
    # An id that is no word of either side.
    start = max(rows)
    joint = source.ids == target.ids and rows[0] == rows[1]
    has_start = joint or is_shared
    source_ids = _without_gaps(source.ids, start + 1 if has_start else rows[0], has_start)
    target_ids = _without_gaps(target.ids, start + 1, True)
    special = SpecialIds(pad=source.eos, unk=source.unk, bos=start, eos=source.eos)
    joint = joint and source.segmenter == target.segmenter
    tags = [piece for piece in source.ids if is_tag(piece)] if len(source.files) > 1 else []
    subwords = Subwords(
        SentencePieces.of_another_toolkit(source.segmenter),
        None if joint else SentencePieces.of_another_toolkit(target.segmenter),
        source_ids=source_ids,
        target_ids=None if joint else target_ids,
        special=special,
        tags=tags,
    )
    banned = {*range(rows[1], start + 1)}
    if not allow_unk:
        banned.add(target.unk)
    if NEWLINE in target.ids:
        banned.add(target.ids[NEWLINE])
    return Imported(subwords, start, sorted(banned))


def is_tag(piece: str) -> bool:
    """Whether a piece chooses a target language."""
    return piece.startswith(TAG_START) and piece.endswith(TAG_END)


def _without_gaps(ids: Mapping[str, int], size: int, has_start: bool) -> dict[str, int]:
    """The ids, with names that no text has for rows without a piece; the last may be START."""
    used = set(ids.values())
    unused = {f"<unused {index}>": index for index in range(size) if index not in used}
    result = {**ids, **unused}
    if has_start:
        result.pop(f"<unused {size - 1}>", None)
        name = START
        while name in result:
            name = f"<{name}>"
        result[name] = size - 1
    return result
