"""Projections of marked lines with a given alignment in the place of a model's attention."""

from collections.abc import Sequence

import numpy as np
from byte_models import byte_subwords

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.data.text.splitting import Piece
from nmt_cli.translation.markup.boundaries import TargetWords
from nmt_cli.translation.markup.carrier import Carrier, carry
from nmt_cli.translation.markup.projection import Job, Projected, Projector, is_kept
from nmt_cli.translation.markup.segments import Segment, locate
from nmt_cli.translation.markup.tokens import Matrix

SUBWORDS = byte_subwords()


def encoded(text: str) -> tuple[int, ...]:
    return tuple(SUBWORDS.encode_target([text])[0])


def aligned_by(links: Sequence[tuple[str, str]], language: str = "de") -> "Projector":
    """A projector whose attention links these (source, target) words."""

    def attend(pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Matrix]:
        result = []
        for source_ids, target_ids in pairs:
            source, target = SUBWORDS.decode_target([source_ids, target_ids])
            matrix = np.full((len(target_ids), len(source_ids)), 0.001)
            spans = [
                (source.encode().find(src.encode()), target.encode().find(tgt.encode()), src, tgt)
                for src, tgt in links
            ]
            for src_at, tgt_at, src, tgt in spans:
                if src_at >= 0 and tgt_at >= 0:
                    rows = slice(tgt_at, tgt_at + len(tgt.encode()))
                    matrix[rows, src_at : src_at + len(src.encode())] = 1.0
            result.append(matrix)
        return result

    return Projector(SUBWORDS, attend, TargetWords(language))


def job(source: MarkedText, carrier: Carrier, texts: Sequence[str], glue: str = " ") -> Job:
    """The translations `texts` of the segments of a carrier, which ` | ` separates."""
    parts = carrier.text.split(" | ")
    pieces = [
        Piece(part, " | " if n + 1 < len(parts) else "", True) for n, part in enumerate(parts)
    ]
    spans = locate(carrier.text, pieces)
    segments = [
        Segment(Piece(piece.text, glue if piece.glue else "", True), *span,
                (encoded(piece.text), encoded(text)), text)
        for piece, span, text in zip(pieces, spans, texts, strict=True)
    ]  # fmt: skip
    return Job(source, carrier, segments)


def project(
    line: str,
    texts: str,
    links: Sequence[tuple[str, str]],
    words: Sequence[str | None] = (),
    language: str = "de",
) -> Projected:
    source = parse_line(line)
    projector = aligned_by(links, language)
    [result] = projector.project([job(source, carry(source, words), texts.split(" | "))])
    assert is_kept(source, result.pieces)
    return result
