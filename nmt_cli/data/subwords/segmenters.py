"""Segmenters: text of one language to piece ids and back; sentencepiece's kinds, and bytes.

Special symbols have ids but no spelling: no text, whatever it holds, becomes one of them.
"""

import io
import re
from collections.abc import Sequence
from typing import Literal, Protocol

import sentencepiece

from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

Kind = Literal["bpe", "unigram", "wordpiece", "bytes", "chars"]
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
PAD, UNK, BOS, EOS = range(len(SPECIAL))
UNKNOWN_SHOWN = "⁇"
NORMALIZER = "nmt_nfkc"
SPACE = "\u2581"
RESERVED = f"{SPACE}\u2585 \t"
# sentencepiece would skip longer ones without a word.
MAX_SENTENCE_BYTES = 8_192
# Unigram takes 13 bytes of memory for each character of text; more text hardly changes it.
MOST_UNIGRAM_CHARACTERS = 32_000_000


class Segmenter(Protocol):
    """One language's subwords. Piece ids are PAD 0, UNK 1, BOS 2, EOS 3, then the pieces."""

    @property
    def kind(self) -> Kind:
        """How it was learnt."""
        ...

    def pieces(self) -> list[str]:
        """All pieces in the order of their ids, the special ones among them."""
        ...

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line, without special ids but UNK."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of piece ids without special ids but UNK."""
        ...

    def to_bytes(self) -> bytes:
        """The content of its file."""
        ...


class SentencePieces:
    """BPE, unigram or characters through sentencepiece."""

    def __init__(self, kind: Kind, model: bytes) -> None:
        """`model` is sentencepiece's file; raises DataError where it is not one."""
        self.kind = kind
        self._model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise DataError("the sentencepiece model is damaged", "copy it again") from error

    def pieces(self) -> list[str]:
        """All pieces in the order of their ids."""
        pieces: list[str] = self._processor.id_to_piece(list(range(len(self._processor))))
        return pieces

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Piece ids of each line."""
        ids: list[list[int]] = self._processor.encode(list(lines), num_threads=1)
        return ids

    def normalize(self, line: str) -> str:
        """What `encode` cuts into pieces: normalised text with SPACE before each word."""
        return str(self._processor.normalize(line))

    def merges(self) -> dict[str, float]:
        """The pieces that BPE may merge two others into; those of a lower number come first."""
        one = self._processor
        special = (one.is_control, one.is_unknown, one.is_byte)
        return {
            piece: -one.get_score(number)
            for number, piece in enumerate(self.pieces())
            if not any(is_special(number) for is_special in special)
        }

    def decode(self, ids: Sequence[int]) -> str:
        """The text of piece ids."""
        return str(self._processor.decode(list(ids)))

    def to_bytes(self) -> bytes:
        """sentencepiece's file."""
        return self._model


class Bytes:
    """The 256 bytes of UTF-8 as pieces, after the special ones."""

    kind: Kind = "bytes"

    def __init__(self) -> None:
        """There is nothing to learn."""
        self._normalizer = sentencepiece.SentencePieceNormalizer(
            rule_name=NORMALIZER, add_dummy_prefix=False, escape_whitespaces=False
        )

    def pieces(self) -> list[str]:
        """The special pieces and `<0x00>` to `<0xFF>`."""
        return [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of the bytes of each line's normalised text."""
        return [
            [byte + len(SPECIAL) for byte in self._normalizer.normalize(line).encode("utf-8")]
            for line in lines
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the bytes, U+FFFD where they are not UTF-8."""
        values = bytes(one - len(SPECIAL) for one in ids if one >= len(SPECIAL))
        return values.decode("utf-8", errors="replace")

    def to_bytes(self) -> bytes:
        """Empty: all is known."""
        return b""


def learn_sentence_pieces(
    kind: Kind, words: Sequence[tuple[str, int]], size: int, *, byte_fallback: bool
) -> SentencePieces:
    """Learn from (word, count); the same words in the same order give the same bytes.

    BPE gives what it would give from the whole sentences. Raises DataError where `size` does not
    fit the text; characters are as many as there are, `size` at most.
    """
    names: dict[Kind, str] = {"bpe": "bpe", "unigram": "unigram", "chars": "char"}
    chars = kind == "chars"
    model = io.BytesIO()
    used = thinned(words, MOST_UNIGRAM_CHARACTERS) if kind == "unigram" else words
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word}\t{count}" for word, count in used),
            input_format="tsv",
            model_writer=model,
            model_type=names[kind],
            vocab_size=size,
            hard_vocab_limit=not chars,
            byte_fallback=byte_fallback and not chars,
            character_coverage=1.0,
            # Full coverage is compared in single precision: of a long text the rarest would go.
            required_chars=_characters(words),
            normalization_rule_name=NORMALIZER,
            max_sentence_length=MAX_SENTENCE_BYTES,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface=UNKNOWN_SHOWN,
            # Another number of threads gives another unigram vocabulary.
            num_threads=1,
            minloglevel=4,
        )
    except RuntimeError as error:
        raise _learning_error(size, str(error)) from error
    return SentencePieces(kind, model.getvalue())


def thinned(words: Sequence[tuple[str, int]], characters: int) -> list[tuple[str, int]]:
    """An even sample of a text of so many characters at most, given and returned as word counts.

    >>> thinned([("ab", 10), ("cd", 1), ("ef", 1)], 12)
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


def _characters(words: Sequence[tuple[str, int]]) -> str:
    """All characters of the normalised words, but those that sentencepiece keeps for itself."""
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name=NORMALIZER)
    characters = set().union(*(normalizer.normalize(word) for word, _ in words))
    return "".join(sorted(characters - set(RESERVED)))


def _learning_error(size: int, reason: str) -> DataError:
    """sentencepiece's reason in the user's words."""
    too_large = re.search(r"value <= (\d+)", reason)
    if too_large:
        return vocabulary_too_large(size, int(too_large.group(1)))
    too_small = re.search(r"required_chars\. \d+ vs (\d+)", reason)
    if too_small:
        return vocabulary_too_small(size, int(too_small.group(1)))
    return DataError(f"subwords cannot be learnt from this text: {reason}")


class VocabularySizeError(DataError):
    """The text does not support a vocabulary of this size; `limit` is the nearest that it does."""

    def __init__(self, message: str, hint: str, limit: int) -> None:
        super().__init__(message, hint)
        self.limit = limit


def vocabulary_too_large(size: int, largest: int) -> VocabularySizeError:
    """The error for a vocabulary that the text cannot fill.

    The largest that it can fill would have entries that occur once: the hint does not name it.
    """
    return VocabularySizeError(
        f"a vocabulary of {size:,} is larger than this text supports: the largest is {largest:,}",
        "use --vocab-size auto, which chooses a size by the number of words, or add text",
        largest,
    )


def vocabulary_too_small(size: int, smallest: int) -> VocabularySizeError:
    """The error for a vocabulary that does not even hold the characters."""
    return VocabularySizeError(
        f"a vocabulary of {size:,} does not hold the characters of this text: the smallest that "
        f"does has {counted(smallest, 'entry')}",
        f"use --vocab-size {smallest} or more, or --subwords bytes",
        smallest,
    )
