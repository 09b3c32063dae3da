"""The subwords of both languages (section 5.1): learn, encode, decode, save, load.

They are learnt from word counts: memory depends on the number of different words, not on the
length of the text. On disk they need nothing else::

    subwords/
      source.spm, .txt or .bytes     the segmenter's own file
      target.*                       where the sides have different ones
      vocabulary.json                kind, special ids, and piece -> id of each side
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.automatic import vocabulary_size
from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.bpe_dropout import BpeDropout
from nmt_cli.data.subwords.segmenters import (
    BOS,
    EOS,
    PAD,
    UNK,
    Bytes,
    Kind,
    Segmenter,
    SentencePieces,
    VocabularySizeError,
    learn_sentence_pieces,
)
from nmt_cli.data.subwords.wordpiece import WordPieces, learn_word_pieces
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.errors import DataError
from nmt_cli.storage.files import read_bytes, write_bytes

FORMAT = 1
VOCABULARY = "vocabulary.json"
MAX_BYTES = 1 << 28
# Text without spaces is learnt from in parts of so many characters.
LONGEST_WORD = 1_000
ENDINGS: Mapping[Kind, str] = {
    "bpe": "spm", "unigram": "spm", "chars": "spm", "wordpiece": "txt", "bytes": "bytes",
}  # fmt: skip


# Gives the bytes of a file by its name and what it is, if there are no more than so many.
Read = Callable[[Path, str, int], bytes]


class SpecialIds(NamedTuple):
    """Ids of the entries that no text has."""

    pad: int = PAD
    unk: int = UNK
    bos: int = BOS
    eos: int = EOS


class Subwords:
    """The subwords of both sides; an imported model may have other ids than the segmenter's.

    src_size, tgt_size: entries, special ones included; pad_id, unk_id, bos_id, eos_id.
    """

    def __init__(
        self,
        source: Segmenter,
        target: Segmenter | None = None,
        *,
        source_ids: Mapping[str, int] | None = None,
        target_ids: Mapping[str, int] | None = None,
        special: SpecialIds | None = None,
    ) -> None:
        """`target` None: both sides share `source`. Ids None: the segmenter's own."""
        self.joint = target is None
        self.kind = source.kind
        self.special = special or SpecialIds()
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = self.special
        self._source = _Side(source, source_ids, self.special)
        self._target = self._source if target is None else _Side(target, target_ids, self.special)
        self.src_size = self._source.size
        self.tgt_size = self._target.size

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, no BOS, each ends with EOS."""
        return self._source.encode(lines)

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, no BOS, each ends with EOS."""
        return self._target.encode(lines)

    def with_dropout(self, share: float) -> tuple[BpeDropout, BpeDropout]:
        """Encoders of source and target that leave out merges by chance; `kind` must be bpe."""
        source, target = (
            BpeDropout(side.segmenter, side.vocabulary, self.unk_id, self.eos_id, share)
            for side in (self._source, self._target)
        )
        return source, target

    def decode_source(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """The text of each list of source ids, like `decode_target`."""
        return [self._source.decode(one) for one in ids]

    def decode_target(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """The text of each list of ids, always one line; PAD, BOS and EOS leave no trace."""
        return [self._target.decode(one) for one in ids]

    def source_pieces(self, ids: Iterable[int]) -> list[str]:
        """The spelling of each source id."""
        return [self._source.names.get(int(one), "") for one in ids]

    def target_pieces(self, ids: Iterable[int]) -> list[str]:
        """The spelling of each target id."""
        return [self._target.names.get(int(one), "") for one in ids]

    def save(self, directory: Path) -> None:
        """Write the files into `directory`, which exists."""
        for name, data in self.contents():
            write_bytes(directory / name, data)

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """The name and the bytes of each file; vocabulary.json comes last."""
        document: dict[str, object] = {
            "format": FORMAT,
            "kind": self.kind,
            "special": self.special._asdict(),
            "source": self._source.vocabulary,
        }
        ending = ENDINGS[self.kind]
        yield f"source.{ending}", self._source.segmenter.to_bytes()
        if not self.joint:
            document["target"] = self._target.vocabulary
            yield f"target.{ending}", self._target.segmenter.to_bytes()
        text = json.dumps(document, ensure_ascii=False, indent=0)
        yield VOCABULARY, text.encode() + b"\n"

    @classmethod
    def load(cls, directory: Path, read: Read = read_bytes) -> "Subwords":
        """What `save` wrote, its files by `read`; raises NoInputError or DataError."""
        path = directory / VOCABULARY
        try:
            document = json.loads(read(path, "vocabulary", MAX_BYTES))
            if document["format"] != FORMAT:
                raise ValueError
            kind: Kind = document["kind"]
            ending = ENDINGS[kind]
            special = SpecialIds(**_checked_ids(document["special"]))
            source_ids = _checked_ids(document["source"])
            target_ids = _checked_ids(document["target"]) if "target" in document else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"`{path}` is not a vocabulary of format {FORMAT}") from error
        return cls(
            _load_segmenter(kind, directory / f"source.{ending}", read),
            None
            if target_ids is None
            else _load_segmenter(kind, directory / f"target.{ending}", read),
            source_ids=source_ids,
            target_ids=target_ids,
            special=special,
        )


def _checked_ids(ids: dict[str, int]) -> dict[str, int]:
    if not ids or not all(isinstance(one, int) and 0 <= one < MAX_BYTES for one in ids.values()):
        raise ValueError
    return ids


def _load_segmenter(kind: Kind, path: Path, read: Read) -> Segmenter:
    data = read(path, "subwords", MAX_BYTES)
    if kind == "bytes":
        return Bytes()
    return WordPieces.from_bytes(data) if kind == "wordpiece" else SentencePieces(kind, data)


class _Side:
    """One side: a segmenter, and the ids of its pieces where they are others."""

    def __init__(
        self, segmenter: Segmenter, ids: Mapping[str, int] | None, special: SpecialIds
    ) -> None:
        self.segmenter = segmenter
        pieces = segmenter.pieces()
        self.vocabulary = dict(ids) if ids else {piece: one for one, piece in enumerate(pieces)}
        self.names = {one: piece for piece, one in self.vocabulary.items()}
        self.size = max(self.vocabulary.values()) + 1
        forward = [self.vocabulary.get(piece, special.unk) for piece in pieces]
        same = forward == list(range(len(pieces)))
        self._forward = None if same else forward
        # Pieces that the vocabulary lacks share UNK's id: UNK's own comes first.
        self._backward = {one: piece for piece, one in reversed(list(enumerate(forward)))}
        self._backward[special.unk] = UNK
        self._eos = special.eos
        self._silent = {special.pad, special.bos, special.eos}

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        encoded = self.segmenter.encode([clean_line(line) for line in lines])
        if self._forward is not None:
            forward = self._forward
            encoded = [[forward[one] for one in ids] for ids in encoded]
        for ids in encoded:
            ids.append(self._eos)
        return encoded

    def decode(self, ids: Sequence[int]) -> str:
        pieces = (self._backward.get(int(one)) for one in ids if int(one) not in self._silent)
        return clean_line(self.segmenter.decode([one for one in pieces if one is not None]))


def learn_subwords(
    data: DataConfig, source_words: Mapping[str, int], target_words: Mapping[str, int]
) -> Subwords:
    """Subwords as `data` asks, learnt from how often each word occurs on each side.

    The same counts give the same subwords on every machine. Raises DataError where the text does
    not support the vocabulary, naming the size that it does support.
    """
    if data.joint or data.subwords == "bytes":
        both = Counter(source_words)
        both.update(target_words)
        return Subwords(learn_segmenter(data, both))
    size = data.vocab_size if data.tgt_vocab_size == "auto" else data.tgt_vocab_size
    source = learn_segmenter(data, source_words)
    try:
        target = learn_segmenter(replace(data, vocab_size=size), target_words)
    except DataError as error:
        suitable = vocabulary_size(sum(target_words.values()))
        hint = f"use --set data.tgt_vocab_size={suitable}, or add text"
        raise DataError(f"the target: {error.message}", hint) from error
    return Subwords(source, target)


def learn_segmenter(data: DataConfig, words: Mapping[str, int]) -> Segmenter:
    """One segmenter of the kind `data.subwords`; the order of `words` does not matter."""
    if data.subwords == "bytes":
        return Bytes()
    parts = sorted(
        (word[start : start + LONGEST_WORD], count)
        for word, count in words.items()
        for start in range(0, len(word), LONGEST_WORD)
    )
    if not parts:
        raise DataError("there is no text to learn subwords from")
    if data.vocab_size == "auto":
        return _learn_automatic_size(data, parts)
    try:
        return _learn_of_size(data, parts, data.vocab_size)
    except VocabularySizeError as error:
        if error.limit < data.vocab_size:
            size = len(_learn_automatic_size(data, parts).pieces())
            error.hint = (
                f"use --vocab-size auto, which chooses {size:,} by the number of words in this "
                "text, or add text"
            )
        raise


def _learn_automatic_size(data: DataConfig, parts: Sequence[tuple[str, int]]) -> Segmenter:
    size = vocabulary_size(sum(count for _, count in parts))
    try:
        return _learn_of_size(data, parts, size)
    except VocabularySizeError as error:
        # Little text, or many characters: the nearest size that is possible.
        return _learn_of_size(data, parts, error.limit)


def _learn_of_size(data: DataConfig, parts: Sequence[tuple[str, int]], size: int) -> Segmenter:
    if data.subwords == "wordpiece":
        return learn_word_pieces(parts, size)
    return learn_sentence_pieces(data.subwords, parts, size, byte_fallback=data.byte_fallback)
