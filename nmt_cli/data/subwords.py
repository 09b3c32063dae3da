"""Subwords of both languages (section 5.1): learn, encode, decode, save, load.

BPE, unigram and characters are sentencepiece's, word-pieces and bytes ours. They are learnt from
word counts, so that memory depends on the number of different words and not on the text's length.
Special symbols have ids but no spelling: no text, whatever it holds, becomes one of them.
"""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import sentencepiece

from nmt_cli.config import Data
from nmt_cli.data.lines import clean_line
from nmt_cli.data.wordpiece import WordPieces, learn_word_pieces
from nmt_cli.errors import DataError
from nmt_cli.files import read_bytes, write_bytes

FORMAT = 1
VOCABULARY = "vocabulary.json"
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
PAD, UNK, BOS, EOS = range(len(SPECIAL))
NORMALIZER = "nmt_nfkc"
# Longer words are not learnt from, only encoded: sentencepiece's own limit for a whole line.
LONGEST_WORD_BYTES = 4_192
MAX_BYTES = 1 << 28


class Segmenter(Protocol):
    """One language's subwords: text to piece ids and back."""

    kind: str

    def pieces(self) -> list[str]:
        """All pieces in the order of their ids, the special ones first."""
        ...

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line, without special ids but UNK."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of piece ids without special ids but UNK."""
        ...

    def to_bytes(self) -> bytes:
        """What `load_segmenter` reads back."""
        ...


class SentencePieces:
    """BPE, unigram or characters through sentencepiece."""

    def __init__(self, kind: str, model: bytes) -> None:
        """`model` is sentencepiece's file; raises DataError where it is not one."""
        self.kind = kind
        self._model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise DataError("a sentencepiece model is damaged", "copy it again") from error

    def pieces(self) -> list[str]:
        """All pieces in the order of their ids."""
        size = self._processor.get_piece_size()
        return [self._processor.id_to_piece(one) for one in range(size)]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line."""
        ids: list[list[int]] = self._processor.encode(list(lines), num_threads=1)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of piece ids."""
        return str(self._processor.decode(list(ids)))

    def to_bytes(self) -> bytes:
        """sentencepiece's file."""
        return self._model


class Bytes:
    """The 256 bytes of UTF-8 as pieces, after the special ones."""

    kind = "bytes"

    def __init__(self) -> None:
        """Nothing to learn."""
        self._normalizer = sentencepiece.SentencePieceNormalizer(
            rule_name=NORMALIZER, add_dummy_prefix=False, escape_whitespaces=False
        )

    def pieces(self) -> list[str]:
        """The special pieces and `<0x00>` to `<0xFF>`."""
        return [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of the bytes of each line's normalised text."""
        return [
            [byte + len(SPECIAL) for byte in text.encode("utf-8")]
            for text in map(self._normalizer.normalize, lines)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the bytes, U+FFFD where they are not UTF-8."""
        values = bytes(one - len(SPECIAL) for one in ids if one >= len(SPECIAL))
        return values.decode("utf-8", errors="replace")

    def to_bytes(self) -> bytes:
        """Nothing: all is known."""
        return b""


def load_segmenter(kind: str, data: bytes) -> Segmenter:
    """The segmenter that `to_bytes` gave."""
    if kind == "bytes":
        return Bytes()
    if kind == "wordpiece":
        return WordPieces.from_bytes(data)
    return SentencePieces(kind, data)


FILE_ENDINGS: Mapping[str, str] = {
    "bpe": "spm", "unigram": "spm", "chars": "spm", "wordpiece": "txt", "bytes": "bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """One side: its segmenter, and the ids of the segmenter's pieces where they are others.

    ids: id of each piece of the segmenter, or None where piece n has id n.
    """

    segmenter: Segmenter
    size: int
    unk_id: int
    ids: tuple[int, ...] | None = None


class Subwords:
    """The subwords of both sides; ids of special entries are fields, as models have different ones.

    src_size, tgt_size: entries, special ones included.
    """

    def __init__(
        self,
        source: Segmenter,
        target: Segmenter | None = None,
        *,
        source_ids: Mapping[str, int] | None = None,
        target_ids: Mapping[str, int] | None = None,
        special: tuple[int, int, int, int] = (PAD, UNK, BOS, EOS),
    ) -> None:
        """`target` None: both sides share `source`. Ids None: the segmenter's own."""
        self.joint = target is None
        self.pad_id, self.unk_id, self.bos_id, self.eos_id = special
        self._source = _Side(source, source_ids, self.unk_id)
        self._target = self._source if target is None else _Side(target, target_ids, self.unk_id)
        self.src_size = self._source.size
        self.tgt_size = self._target.size

    @property
    def kind(self) -> str:
        """BPE, unigram, wordpiece, bytes or chars."""
        return self._source.segmenter.kind

    def encode_source(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, no BOS, each ends with EOS."""
        return self._source.encode(lines, self.eos_id)

    def encode_target(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, no BOS, each ends with EOS."""
        return self._target.encode(lines, self.eos_id)

    def decode_source(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of source ids, like `decode_target`."""
        special = {self.pad_id, self.bos_id, self.eos_id}
        return [self._source.decode(one, special) for one in ids]

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids, always one line; PAD, BOS and EOS leave no trace."""
        special = {self.pad_id, self.bos_id, self.eos_id}
        return [self._target.decode(one, special) for one in ids]

    def pieces_of_source(self, ids: Sequence[int]) -> list[str]:
        """The spelling of each source id."""
        return [self._source.names.get(one, "") for one in ids]

    def pieces_of_target(self, ids: Sequence[int]) -> list[str]:
        """The spelling of each target id."""
        return [self._target.names.get(one, "") for one in ids]

    def save(self, directory: Path) -> None:
        """Write `source.*`, `target.*` where it differs, and `vocabulary.json` into a directory."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "kind": self.kind,
            "special": {
                "pad": self.pad_id, "unk": self.unk_id, "bos": self.bos_id, "eos": self.eos_id,
            },
            "source": self._source.vocabulary,
        }  # fmt: skip
        ending = FILE_ENDINGS[self.kind]
        write_bytes(directory / f"source.{ending}", self._source.segmenter.to_bytes())
        if not self.joint:
            document["target"] = self._target.vocabulary
            write_bytes(directory / f"target.{ending}", self._target.segmenter.to_bytes())
        text = json.dumps(document, ensure_ascii=False, indent=0)
        write_bytes(directory / VOCABULARY, text.encode("utf-8", errors="surrogatepass") + b"\n")

    @classmethod
    def load(cls, directory: Path) -> "Subwords":
        """Read what `save` wrote; raises NoInputError or DataError."""
        path = directory / VOCABULARY
        try:
            document = json.loads(read_bytes(path, "vocabulary", max_bytes=MAX_BYTES))
            kind = document["kind"]
            ending = FILE_ENDINGS[kind]
            special = tuple(int(document["special"][name]) for name in ("pad", "unk", "bos", "eos"))
            source_ids, target_ids = document["source"], document.get("target")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"`{path}` is not a vocabulary of nmt") from error
        source = _load_file(kind, directory / f"source.{ending}")
        target = None if target_ids is None else _load_file(kind, directory / f"target.{ending}")
        return cls(
            source,
            target,
            source_ids=source_ids,
            target_ids=target_ids,
            special=(special[0], special[1], special[2], special[3]),
        )


def _load_file(kind: str, path: Path) -> Segmenter:
    return load_segmenter(kind, read_bytes(path, "subwords", max_bytes=MAX_BYTES))


class _Side:
    """One side: a segmenter, and a map from its piece ids to the vocabulary's where they differ."""

    def __init__(self, segmenter: Segmenter, ids: Mapping[str, int] | None, unk_id: int) -> None:
        self.segmenter = segmenter
        pieces = segmenter.pieces()
        self.vocabulary = dict(ids) if ids else {piece: one for one, piece in enumerate(pieces)}
        self.names = {one: piece for piece, one in self.vocabulary.items()}
        self.size = max(self.vocabulary.values()) + 1
        forward = [self.vocabulary.get(piece, unk_id) for piece in pieces]
        same = forward == list(range(len(pieces)))
        self._forward = None if same else forward
        self._backward = {known: one for one, known in reversed(list(enumerate(forward)))}

    def encode(self, lines: Sequence[str], eos_id: int) -> list[list[int]]:
        encoded = self.segmenter.encode([clean_line(line) for line in lines])
        if self._forward is not None:
            encoded = [[self._forward[one] for one in ids] for ids in encoded]
        for ids in encoded:
            ids.append(eos_id)
        return encoded

    def decode(self, ids: Sequence[int], special: set[int]) -> str:
        known = (self._backward.get(int(one)) for one in ids if int(one) not in special)
        return clean_line(self.segmenter.decode([one for one in known if one is not None]))


def learn_subwords(
    data: Data, source_words: Mapping[str, int], target_words: Mapping[str, int]
) -> Subwords:
    """Subwords as `data` asks, learnt from how often each word occurs on each side.

    The same counts give the same subwords on every machine. Raises DataError where the text does
    not support the vocabulary, naming the size that it does support.
    """
    if data.joint or data.subwords == "bytes":
        words = dict(source_words)
        for word, count in target_words.items():
            words[word] = words.get(word, 0) + count
        return Subwords(learn_segmenter(data, words))
    return Subwords(learn_segmenter(data, source_words), learn_segmenter(data, target_words))


def learn_segmenter(data: Data, words: Mapping[str, int]) -> Segmenter:
    """One segmenter of `data.subwords`' kind; the order of `words` does not matter."""
    if data.subwords == "bytes":
        return Bytes()
    usable = sorted(
        (word, count) for word, count in words.items()
        if len(word) * 4 <= LONGEST_WORD_BYTES or len(word.encode("utf-8")) <= LONGEST_WORD_BYTES
    )  # fmt: skip
    if not usable:
        raise DataError("there is no text to learn subwords from")
    if data.subwords == "wordpiece":
        return learn_word_pieces(usable, data.vocab_size)
    return _learn_sentence_pieces(data, usable)


def _learn_sentence_pieces(data: Data, words: list[tuple[str, int]]) -> SentencePieces:
    kind = {"bpe": "bpe", "unigram": "unigram", "chars": "char"}[data.subwords]
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word}\t{count}" for word, count in words),
            input_format="tsv",
            model_writer=model,
            model_type=kind,
            vocab_size=data.vocab_size,
            hard_vocab_limit=data.subwords != "chars",
            character_coverage=1.0,
            byte_fallback=data.byte_fallback and data.subwords != "chars",
            normalization_rule_name=NORMALIZER,
            max_sentence_length=2 * LONGEST_WORD_BYTES,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface="⁇",
            # Another number of threads gives another unigram vocabulary.
            num_threads=1,
            minloglevel=4,
        )
    except RuntimeError as error:
        raise _learning_error(data.vocab_size, str(error)) from error
    return SentencePieces(data.subwords, model.getvalue())


def _learning_error(size: int, reason: str) -> DataError:
    """sentencepiece's reason in the user's words."""
    too_high = re.search(r"value <= (\d+)", reason)
    if too_high:
        return vocabulary_too_large(size, int(too_high.group(1)))
    too_low = re.search(r"required_chars\. \d+ vs (\d+)", reason)
    if too_low:
        return vocabulary_too_small(size, int(too_low.group(1)))
    return DataError(f"subwords cannot be learnt from this text: {reason}")


def vocabulary_too_large(size: int, largest: int) -> DataError:
    """The error for a vocabulary that the text cannot fill."""
    return DataError(
        f"a vocabulary of {size:,} is larger than this text supports: {largest:,} is the largest",
        f"use --vocab-size {largest}, or add text",
    )


def vocabulary_too_small(size: int, smallest: int) -> DataError:
    """The error for a vocabulary that does not hold the text's characters."""
    return DataError(
        f"a vocabulary of {size:,} does not hold the {smallest:,} characters of this text",
        f"use --vocab-size {smallest} or more (or --subwords bytes)",
    )
