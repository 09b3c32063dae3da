"""Segmenters convert text of one language to piece ids and back: those of sentencepiece, and bytes.

Special symbols have ids but no spelling, so no text is ever encoded as one of them.
"""

import io
import re
from collections.abc import Sequence
from typing import Literal, Protocol

import sentencepiece

from nmt_cli.data.languages.unspaced import separated_words
from nmt_cli.data.subwords.normalization import (
    UNKNOWN_SHOWN,
    Normalizer,
    are_kept_characters,
    kept_characters,
    learning_options,
)
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

Kind = Literal["bpe", "unigram", "wordpiece", "bytes", "chars"]
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
PAD, UNK, BOS, EOS = range(len(SPECIAL))
SPACE = "\u2581"
RESERVED = f"{SPACE}\u2585 \t"
# sentencepiece would silently skip longer sentences.
MAX_SENTENCE_BYTES = 8_192
# Unigram needs 13 bytes of memory per character of text; more text hardly changes the vocabulary.
MAX_UNIGRAM_CHARACTERS = 32_000_000
# It tells sentencepiece where a word ends without a space; no piece is learnt across it.
_WORD_END = "\U0010ffff"


class Segmenter(Protocol):
    """The subwords of one language. Piece ids are PAD 0, UNK 1, BOS 2, EOS 3, then the pieces.

    Segmenters of imported models may have other special ids.
    """

    @property
    def kind(self) -> Kind:
        """The method by which it was learnt."""
        ...

    @property
    def unk_id(self) -> int:
        """The piece id of unknown characters."""
        ...

    def pieces(self) -> list[str]:
        """Return all pieces in the order of their ids, with the special ones."""
        ...

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the piece ids of each line, without special ids except UNK."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of piece ids without special ids except UNK."""
        ...

    def to_bytes(self) -> bytes:
        """Return the content of its file."""
        ...


# For a list, sentencepiece starts a thread, which takes longer than a few lines.
LINES_FOR_THREAD = 16


class SentencePieces:
    """BPE, unigram or characters with sentencepiece."""

    def __init__(self, kind: Kind, model: bytes) -> None:
        """Load the content of a sentencepiece file; raises DataError if it is damaged."""
        self.kind: Kind = kind
        self._model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise DataError("the sentencepiece model is damaged", "copy it again") from error
        self.unk_id: int = self._processor.unk_id()

    @classmethod
    def of_another_toolkit(cls, model: bytes) -> "SentencePieces":
        """Load a sentencepiece file whose kind is not known; raises DataError if it is damaged.

        The scores of BPE pieces are whole numbers, their negative ranks; those of unigram pieces
        are log-probabilities.
        """
        segmenter = cls("unigram", model)
        processor = segmenter._processor
        scores = [processor.get_score(index) for index in range(len(processor))]
        if not scores:
            raise DataError("the sentencepiece model has no pieces", "copy it again")
        if all(score == round(score) for score in scores):
            segmenter.kind = "bpe"
        return segmenter

    def pieces(self) -> list[str]:
        """Return all pieces in the order of their ids."""
        try:
            pieces: list[str] = self._processor.id_to_piece(list(range(len(self._processor))))
        except UnicodeDecodeError as error:
            raise DataError(
                "the sentencepiece model is damaged: a piece is not UTF-8", "copy it again"
            ) from error
        return pieces

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the piece ids of each line."""
        if len(lines) < LINES_FOR_THREAD:
            return [self._processor.encode(line) for line in lines]
        ids: list[list[int]] = self._processor.encode(list(lines), num_threads=1)
        return ids

    def normalize(self, line: str) -> str:
        """Return the text that `encode` splits: normalised, with SPACE before each word."""
        return str(self._processor.normalize(line))

    def merges(self) -> dict[str, float]:
        """Return the results of BPE merges with their rank; merges of a lower rank come first."""
        processor = self._processor
        special = (processor.is_control, processor.is_unknown, processor.is_byte)
        return {
            piece: -processor.get_score(index)
            for index, piece in enumerate(self.pieces())
            if not any(is_special(index) for is_special in special)
        }

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of piece ids."""
        return str(self._processor.decode(list(ids)))

    def decode_pieces(self, pieces: Sequence[str]) -> str:
        """Return the text of spelled pieces, which may be pieces of another segmenter."""
        # sentencepiece leaves the mark of a space in pieces that it does not know.
        text: str = self._processor.decode_pieces(list(pieces))
        return text.replace(SPACE, " ").strip()

    def to_bytes(self) -> bytes:
        """Return the content of the sentencepiece file."""
        return self._model


class Bytes:
    """The 256 bytes of UTF-8 as pieces, after the special ones."""

    kind: Kind = "bytes"
    unk_id = UNK

    def __init__(self, kept: str = "") -> None:
        """kept: the characters that are not normalised."""
        self._kept = kept
        self._normalizer = Normalizer(kept)

    def pieces(self) -> list[str]:
        """Return the special pieces and `<0x00>` to `<0xFF>`."""
        return [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of the bytes of the normalised text of each line."""
        return [
            [byte + len(SPECIAL) for byte in self._normalizer.normalize(line).encode("utf-8")]
            for line in lines
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the bytes, with U+FFFD for bytes that are not UTF-8."""
        values = bytes(piece - len(SPECIAL) for piece in ids if piece >= len(SPECIAL))
        return values.decode("utf-8", errors="replace")

    def to_bytes(self) -> bytes:
        """Return the characters that are not normalised."""
        return self._kept.encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bytes":
        """Load the result of `to_bytes`; raises DataError if it is damaged."""
        try:
            kept = data.decode("utf-8")
        except UnicodeDecodeError:
            kept = ""
        if kept.encode() != data or not are_kept_characters(kept):
            raise DataError("the list of characters is damaged", "copy it again")
        return cls(kept)


def learn_sentence_pieces(
    kind: Kind, words: Sequence[tuple[str, int]], size: int, *, byte_fallback: bool
) -> SentencePieces:
    """Learn from (word, count) pairs; the same words in the same order give the same bytes.

    BPE gives the same result as from whole sentences. A vocabulary of characters may be smaller
    than `size`. Raises DataError if `size` does not fit the text.
    """
    names: dict[Kind, str] = {"bpe": "bpe", "unigram": "unigram", "chars": "char"}
    chars = kind == "chars"
    model = io.BytesIO()
    sample = sample_words(words, MAX_UNIGRAM_CHARACTERS) if kind == "unigram" else words
    # Without a text that needs them, the model is the same as ever; characters need none.
    has_ends = not chars and any(map(_has_several, sample))
    kept = kept_characters(word for word, _ in words)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(
                f"{_with_word_ends(word) if has_ends else word}\t{count}" for word, count in sample
            ),
            input_format="tsv",
            pretokenization_delimiter=_WORD_END if has_ends else "",
            model_writer=model,
            model_type=names[kind],
            vocab_size=size,
            hard_vocab_limit=not chars,
            byte_fallback=byte_fallback and not chars,
            character_coverage=1.0,
            # Coverage is compared in single precision, which would drop rare characters of long
            # texts.
            required_chars=_characters(words, kept),
            **learning_options(kept),
            max_sentence_length=MAX_SENTENCE_BYTES,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface=UNKNOWN_SHOWN,
            # The unigram vocabulary depends on the number of threads.
            num_threads=1,
            minloglevel=4,
        )
    except RuntimeError as error:
        raise _learning_error(size, str(error)) from error
    return SentencePieces(kind, model.getvalue())


def _has_several(word: tuple[str, int]) -> bool:
    return len(separated_words(word[0])) > 1


def _with_word_ends(word: str) -> str:
    return _WORD_END.join(separated_words(word))


def sample_words(words: Sequence[tuple[str, int]], characters: int) -> list[tuple[str, int]]:
    """Return an even sample of a text, as word counts, with at most this many characters.

    >>> sample_words([("ab", 10), ("cd", 1), ("ef", 1)], 12)
    [('ab', 5), ('ef', 1)]
    """
    total = sum(len(word) * count for word, count in words)
    if total <= characters:
        return list(words)
    sample = []
    seen = 0
    for word, count in words:
        taken = (seen + count) * characters // total - seen * characters // total
        seen += count
        if taken:
            sample.append((word, taken))
    return sample


def _characters(words: Sequence[tuple[str, int]], kept: str) -> str:
    """Return all characters of the normalised words except those sentencepiece reserves."""
    normalizer = Normalizer(kept)
    characters = set().union(*(normalizer.normalize(word) for word, _ in words))
    return "".join(sorted(characters - set(RESERVED)))


def _learning_error(size: int, reason: str) -> DataError:
    """Return the error for a message of sentencepiece."""
    too_large = re.search(r"value <= (\d+)", reason)
    if too_large:
        return vocabulary_too_large(size, int(too_large.group(1)))
    too_small = re.search(r"required_chars\. \d+ vs (\d+)", reason)
    if too_small:
        return vocabulary_too_small(size, int(too_small.group(1)))
    return DataError(f"subwords cannot be learnt from this text: {reason}")


class VocabularySizeError(DataError):
    """The text does not support a vocabulary of this size; `limit` is the nearest possible one."""

    def __init__(self, message: str, hint: str, limit: int) -> None:
        super().__init__(message, hint)
        self.limit = limit


def vocabulary_too_large(size: int, largest: int) -> VocabularySizeError:
    """Return the error for a vocabulary that is too large for the text.

    The hint does not recommend the largest possible size, whose entries may occur only once.
    """
    return VocabularySizeError(
        f"a vocabulary of {size:,} is larger than this text supports: the largest is {largest:,}",
        "use --vocab-size auto, which chooses a size by the number of words, or add text",
        largest,
    )


def vocabulary_too_small(size: int, smallest: int) -> VocabularySizeError:
    """Return the error for a vocabulary that cannot contain all characters."""
    return VocabularySizeError(
        f"a vocabulary of {size:,} does not hold the characters of this text: the smallest that "
        f"does has {counted(smallest, 'entry')}",
        f"use --vocab-size {smallest} or more, or --subwords bytes",
        smallest,
    )
