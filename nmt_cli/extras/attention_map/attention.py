"""The attention weights of every head for one sentence (the paper's Figures 3 to 5)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import SPACE
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.errors import DataError, UsageError, did_you_mean
from nmt_cli.installation import require_torch
from nmt_cli.plurals import counted
from nmt_cli.translation.translator import Translator

if TYPE_CHECKING:
    from torch import Tensor

    from nmt_cli.inference.attention_maps import AttentionMaps

KINDS = ("encoder", "decoder", "cross")
START, END, UNKNOWN = "[start]", "[end]", "[unknown]"
# Kinds of subwords of which nearly all are inside a word.
SINGLE = ("chars", "bytes")
SCHEMA = 1
_BYTE = re.compile("<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Attention:
    """The attention weights of a model for one sentence and its translation.

    src, tgt: the subwords as they are shown, an end mark last; maps: the weights of each
    kind in KINDS; flags: what makes the translation doubtful, see Translation; none for a given
    translation.
    """

    source: str
    translation: str
    src: tuple[str, ...]
    tgt: tuple[str, ...]
    maps: "AttentionMaps"
    flags: tuple[str, ...] = ()

    def rows(self, kind: str) -> tuple[str, ...]:
        """The queries: source subwords, or the target subwords that are being predicted."""
        return self.src if kind == "encoder" else self.tgt

    def columns(self, kind: str) -> tuple[str, ...]:
        """The keys: source subwords, or what the decoder has read so far."""
        return (START, *self.tgt[:-1]) if kind == "decoder" else self.src

    def weights(self, kind: str) -> "Tensor":
        """Return the weights of one of KINDS, (layers, heads, rows, columns)."""
        if kind not in KINDS:
            raise UsageError(f"there is no attention `{kind}`", did_you_mean(kind, KINDS))
        return self.maps[KINDS.index(kind)]


def sentence_attention(
    translator: Translator,
    line: str,
    *,
    target: str | None = None,
    search: SearchConfig | None = None,
) -> Attention:
    """The attention of the first model of `translator` while it writes its best translation.

    target: another translation to use instead. Raises DataError where there is none, or where the
    line is translated in segments; TypeError for a line or target that is no str; UnavailableError
    where torch is not installed.
    """
    for name, text in (("line", line), ("target", target or "")):
        if not isinstance(text, str):
            raise TypeError(f"`{name}` must be a str, one sentence, not {type(text).__name__}")
    require_torch("sentence_attention()")
    from nmt_cli.inference.attention_maps import attention_maps

    subwords = translator.subwords
    source = clean_line(line).strip()
    src = subwords.encode_source([source])[0]
    if len(src) == 1:
        raise DataError("there are no words to translate", "give a sentence")
    longest = translator.config.data.max_length
    flags: tuple[str, ...] = ()
    if target is None:
        translation = translator.translate(source, search=search, sentences="line", markup="off")
        if "split" in translation.flags:
            raise DataError(
                f"the line has {counted(len(src) - 1, 'subword')} and is translated in segments",
                "give one sentence of it",
            )
        if not translation.hypotheses[0].ids:
            raise DataError(
                "the model gives no translation of this line", "give a translation with --target"
            )
        text, tgt = translation.text, list(translation.hypotheses[0].ids)
        flags = translation.flags
    else:
        text = clean_line(target).strip()
        tgt = subwords.encode_target([text])[0]
        if max(len(src), len(tgt)) > longest + 1:
            raise DataError(
                f"the pair has {len(src):,} and {len(tgt):,} subwords, the model was made for "
                f"{longest:,}",
                "give one sentence of it",
            )
    maps = attention_maps(translator.model, src, tgt)
    shown = (
        labels(subwords.source_pieces(src), src, subwords),
        labels(subwords.target_pieces(tgt), tgt, subwords),
    )
    return Attention(source, text, *shown, maps, flags)


def labels(pieces: Sequence[str], ids: Sequence[int], subwords: Subwords) -> tuple[str, ...]:
    """Subwords as they are shown: `The`, `·re` inside a word, `[end]`; never empty."""
    special = {subwords.eos_id: END, subwords.unk_id: UNKNOWN, subwords.bos_id: START}
    single = subwords.kind in SINGLE
    return tuple(
        special.get(token) or _label(piece, token, single=single)
        for piece, token in zip(pieces, ids, strict=True)
    )


def _label(piece: str, token: int, *, single: bool) -> str:
    byte = _BYTE.fullmatch(piece)
    if byte:
        letter = chr(int(byte[1], 16))
        return (letter.strip() or "␣") if letter.isascii() and letter.isprintable() else byte[0]
    plain = piece.removeprefix(SPACE).replace(SPACE, " ")
    if not plain.strip():
        return "␣" if piece else f"#{token}"
    return plain if single or piece.startswith(SPACE) else f"·{plain}"


def chosen(attention: Attention, kind: str, layer: int | None, head: int | None) -> "Tensor":
    """The weights of one kind; `layer` and `head`, counted from 1, select one of each.

    The shape is (layers, heads, rows, columns), with 1 where a layer or head was selected. Raises
    UsageError for what the model does not have.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no kind of attention `{kind}`", did_you_mean(kind, KINDS))
    weights = attention.weights(kind)
    for dimension, (name, index) in enumerate((("layer", layer), ("head", head))):
        count = weights.shape[dimension]
        if not count:
            raise UsageError(
                f"the model has no {name} of the kind `{kind}`",
                f"choose another kind with --kind: {', '.join(KINDS)}",
            )
        if index is None:
            continue
        if not 1 <= index <= count:
            raise UsageError(
                f"there is no {name} {index}, only 1 to {count}",
                f"choose one of them, or leave out --{name} to see all",
            )
        weights = weights.narrow(dimension, index - 1, 1)
    return weights


def as_document(attention: Attention) -> dict[str, object]:
    """The document for JSON, with the weights rounded to four decimal places."""
    return {
        "schema": SCHEMA,
        "source": attention.source,
        "translation": attention.translation,
        "kinds": {
            kind: {
                "rows": attention.rows(kind),
                "columns": attention.columns(kind),
                "weights": [
                    [[[round(weight, 4) for weight in row] for row in head] for head in layer]
                    for layer in attention.weights(kind).tolist()
                ],
            }
            for kind in KINDS
        },
    }
