"""The subwords of both languages (section 5.1): learn, encode, decode, save, load.

They are learnt from word counts, so memory depends on the number of distinct words, not on the
length of the text. They are stored in these files::

    subwords/
      source.spm, .txt or .bytes     the segmenter's own file
      target.*                       if the sides have different segmenters
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
from nmt_cli.data.languages.unspaced import length_in_words
from nmt_cli.data.subwords.bpe_dropout import BpeDropout
from nmt_cli.data.subwords.byte_pieces import BytePieces
from nmt_cli.data.subwords.normalization import kept_characters
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
from nmt_cli.data.text.sanitize import clean_line, clean_words
from nmt_cli.errors import DataError
from nmt_cli.storage.files import read_bytes, write_bytes

FORMAT = 1
VOCABULARY = "vocabulary.json"
TAG_END = "<<"
MAX_BYTES = 1 << 28
# Words longer than this, as in text without spaces, are split into parts to learn from.
LONGEST_WORD = 1_000
ENDINGS: Mapping[Kind, str] = {
    "bpe": "spm", "unigram": "spm", "chars": "spm", "wordpiece": "txt", "bytes": "bytes",
}  # fmt: skip


# Returns the bytes of a file; called with its path, what it is, and the most bytes allowed.
Read = Callable[[Path, str, int], bytes]


class SpecialIds(NamedTuple):
    """The ids of the special entries, which do not occur in text."""

    pad: int = PAD
    unk: int = UNK
    bos: int = BOS
    eos: int = EOS


class Subwords:
    """The subwords of both sides.

    src_size, tgt_size: vocabulary entries with the special ones; pad_id, unk_id, bos_id, eos_id:
    ids of the special entries. The ids of an imported model may differ from those of its segmenter.
    tags: the entries, such as `>>deu<<`, that a source line may begin with to choose the target
    language of an imported model.
    """

    def __init__(
        self,
        source: Segmenter,
        target: Segmenter | None = None,
        *,
        source_ids: Mapping[str, int] | None = None,
        target_ids: Mapping[str, int] | None = None,
        special: SpecialIds | None = None,
        tags: Iterable[str] = (),
        source_eos: bool = True,
    ) -> None:
        """Without `target` both sides share `source`; without ids the segmenter's ids are used.

        tags: entries of `source_ids`; source_eos: whether source ids end with EOS, as those of all
        models do that nmt trains.
        """
        self.source_eos = source_eos
        self.joint = target is None
        self.kind = source.kind
        self.special = special or SpecialIds()
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = self.special
        self._source = _Side(source, source_ids, self.special)
        self._target = self._source if target is None else _Side(target, target_ids, self.special)
        self.src_size = self._source.size
        self.tgt_size = self._target.size
        self.tags = {tag: self._source.vocabulary[tag] for tag in tags}

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each source line, without BOS, with EOS.

        Imported models may have been trained without EOS; only empty lines get one there.
        """
        if not self.source_eos:
            return [ids[:-1] or ids for ids in self._source.encode(lines)]
        if not self.tags:
            return self._source.encode(lines)
        split = [self.split_tag(line) for line in lines]
        encoded = self._source.encode([line for _, line in split])
        return [
            [self.tags[tag], *ids] if tag else ids
            for (tag, _), ids in zip(split, encoded, strict=True)
        ]

    def split_tag(self, line: str) -> tuple[str, str]:
        """Return the tag that a source line begins with, or an empty text, and the rest."""
        tag = line[: line.find(TAG_END) + len(TAG_END)] if self.tags else ""
        return (tag, line[len(tag) :]) if tag in self.tags else ("", line)

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each target line, without BOS, with EOS."""
        return self._target.encode(lines)

    def with_dropout(self, share: float) -> tuple[BpeDropout, BpeDropout]:
        """Return encoders of both sides that skip merges at random; `kind` must be bpe."""
        source, target = (
            BpeDropout(side.segmenter, side.vocabulary, self.unk_id, self.eos_id, share)
            for side in (self._source, self._target)
        )
        return source, target

    def decode_source(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """Return the text of each list of source ids, like `decode_target`."""
        return [self._source.decode(sentence) for sentence in ids]

    def decode_target(self, ids: Iterable[Sequence[int]]) -> list[str]:
        """Return the text of each list of ids, always one line, without PAD, BOS and EOS.

        Bytes that are no whole character in UTF-8 are left out.
        """
        return [self._target.decode(sentence) for sentence in ids]

    def has_broken_characters(self, ids: Sequence[int]) -> bool:
        """Return whether `decode_target` leaves out bytes of these ids."""
        visible = self._target.visible(ids)
        return len(self._target.byte_pieces.whole_characters(visible)) < len(visible)

    def source_pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the spelling of each source id."""
        return [self._source.names.get(int(token), "") for token in ids]

    def target_pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the spelling of each target id."""
        return [self._target.names.get(int(token), "") for token in ids]

    def save(self, directory: Path) -> None:
        """Write the files into an existing directory."""
        for name, data in self.contents():
            write_bytes(directory / name, data)

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the bytes of each file, with vocabulary.json last."""
        document: dict[str, object] = {
            "format": FORMAT,
            "kind": self.kind,
            "special": self.special._asdict(),
            "source": self._source.vocabulary,
        }
        ending = ENDINGS[self.kind]
        yield f"source.{ending}", self._source.segmenter.to_bytes()
        if self.tags:
            document["tags"] = list(self.tags)
        if not self.source_eos:
            document["source_eos"] = False
        if not self.joint:
            document["target"] = self._target.vocabulary
            yield f"target.{ending}", self._target.segmenter.to_bytes()
        text = json.dumps(document, ensure_ascii=False, indent=0)
        yield VOCABULARY, text.encode() + b"\n"

    @property
    def same_ids(self) -> bool:
        """Whether an id means the same entry on both sides, so that embeddings can be shared."""
        return self._source.vocabulary == self._target.vocabulary

    @classmethod
    def load(cls, directory: Path, read: Read = read_bytes) -> "Subwords":
        """Load what `save` wrote, reading files with `read`; raises NoInputError or DataError."""
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
            tags = document.get("tags", [])
            source_eos = document.get("source_eos", True)
            if not all(tag in source_ids for tag in tags) or type(source_eos) is not bool:
                raise ValueError
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
            tags=tags,
            source_eos=source_eos,
        )


def _checked_ids(ids: dict[str, int]) -> dict[str, int]:
    if not ids or not all(
        isinstance(token, int) and 0 <= token < MAX_BYTES for token in ids.values()
    ):
        raise ValueError
    return ids


def _load_segmenter(kind: Kind, path: Path, read: Read) -> Segmenter:
    data = read(path, "subwords", MAX_BYTES)
    if kind == "bytes":
        return Bytes.from_bytes(data)
    return WordPieces.from_bytes(data) if kind == "wordpiece" else SentencePieces(kind, data)


class _Side:
    """One side: a segmenter, and the ids of its pieces if they differ from the segmenter's."""

    def __init__(
        self, segmenter: Segmenter, ids: Mapping[str, int] | None, special: SpecialIds
    ) -> None:
        self.segmenter = segmenter
        pieces = segmenter.pieces()
        self.vocabulary = dict(ids) if ids else {piece: i for i, piece in enumerate(pieces)}
        self.names = {token: piece for piece, token in self.vocabulary.items()}
        self.size = max(self.vocabulary.values()) + 1
        id_of_piece = [self.vocabulary.get(piece, special.unk) for piece in pieces]
        same = id_of_piece == list(range(len(pieces)))
        self._id_of_piece = None if same else id_of_piece
        # Pieces that are not in the vocabulary share the id of UNK, which must decode as UNK.
        self._piece_of_id = {
            token: piece for piece, token in reversed(list(enumerate(id_of_piece)))
        }
        self._piece_of_id[special.unk] = segmenter.unk_id
        self._eos, self._unk = special.eos, special.unk
        self._invisible = {special.pad, special.bos, special.eos}
        self.byte_pieces = BytePieces(self.names)
        # In an imported model both sides may have all pieces of the two segmenters.
        self._has_foreign_pieces = not set(self.vocabulary) <= set(pieces)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        encoded = self.segmenter.encode([clean_words(line) for line in lines])
        if self._id_of_piece is not None:
            id_of_piece = self._id_of_piece
            encoded = [[id_of_piece[piece] for piece in ids] for ids in encoded]
        for ids in encoded:
            ids.append(self._eos)
        return encoded

    def visible(self, ids: Sequence[int]) -> list[int]:
        return [int(token) for token in ids if int(token) not in self._invisible]

    def decode(self, ids: Sequence[int]) -> str:
        visible = self.byte_pieces.whole_characters(self.visible(ids))
        if self._has_foreign_pieces and isinstance(self.segmenter, SentencePieces):
            text = self._decode_spellings(self.segmenter, visible)
            return clean_line(text)
        pieces = (self._piece_of_id.get(token) for token in visible)
        return clean_line(self.segmenter.decode([piece for piece in pieces if piece is not None]))

    def _decode_spellings(self, segmenter: SentencePieces, ids: Sequence[int]) -> str:
        unknown = segmenter.pieces()[segmenter.unk_id]
        names = (unknown if token == self._unk else self.names.get(token, "") for token in ids)
        return segmenter.decode_pieces(list(names))


def learn_subwords(
    data: DataConfig, source_words: Mapping[str, int], target_words: Mapping[str, int]
) -> Subwords:
    """Learn the subwords that `data` asks for from the word counts of each side.

    The same counts give the same subwords on every machine. Raises DataError if the text does not
    support the vocabulary; the error names the size that it supports.
    """
    if data.joint or data.subwords == "bytes":
        both = Counter(source_words)
        both.update(target_words)
        return Subwords(learn_segmenter(data, both))
    size = data.vocab_size if data.tgt_vocab_size == "auto" else data.tgt_vocab_size
    source = learn_segmenter(data, source_words)
    try:
        target = learn_segmenter(replace(data, vocab_size=size), target_words)
    except VocabularySizeError as error:
        # The largest size that a text supports has entries that occur only once.
        suitable = vocabulary_size(_count_words(target_words.items()))
        is_too_large = isinstance(size, int) and error.limit < size
        nearest = min(suitable, error.limit) if is_too_large else error.limit
        hint = f"use --set data.tgt_vocab_size={nearest}, or add text"
        raise DataError(f"the target: {error.message}", hint) from error
    except DataError as error:
        raise DataError(f"the target: {error.message}", error.hint) from error
    return Subwords(source, target)


def learn_segmenter(data: DataConfig, words: Mapping[str, int]) -> Segmenter:
    """Learn a segmenter of the kind `data.subwords`; the order of `words` does not matter."""
    if data.subwords == "bytes":
        return Bytes(kept_characters(words))
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
        return _learn_with_size(data, parts, data.vocab_size)
    except VocabularySizeError as error:
        if error.limit < data.vocab_size:
            size = len(_learn_automatic_size(data, parts).pieces())
            error.hint = (
                f"use --vocab-size auto, which chooses {size:,} by the number of words in this "
                "text, or add text"
            )
        raise


def _count_words(words: Iterable[tuple[str, int]]) -> int:
    """How many words there are; what stands between spaces may be several of them."""
    return sum(max(1, length_in_words(word)) * count for word, count in words)


def _learn_automatic_size(data: DataConfig, parts: Sequence[tuple[str, int]]) -> Segmenter:
    size = vocabulary_size(_count_words(parts))
    try:
        return _learn_with_size(data, parts, size)
    except VocabularySizeError as error:
        # With little text or many characters, use the nearest possible size.
        return _learn_with_size(data, parts, error.limit)


def _learn_with_size(data: DataConfig, parts: Sequence[tuple[str, int]], size: int) -> Segmenter:
    if data.subwords == "wordpiece":
        return learn_word_pieces(parts, size)
    return learn_sentence_pieces(data.subwords, parts, size, byte_fallback=data.byte_fallback)
