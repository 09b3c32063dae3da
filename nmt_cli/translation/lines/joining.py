"""Joins the translations of segments to the translation of their line."""

from collections.abc import Sequence

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import WITHOUT_SPACES
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.data.text.splitting import Piece
from nmt_cli.search.ranking import HypothesisRanker
from nmt_cli.translation.lines.inputs import SourceLine
from nmt_cli.translation.lines.outputs import LinePart
from nmt_cli.translation.quality.checker import CheckedSentence, QualityChecker
from nmt_cli.translation.quality.chosen_tokens import chosen_scores
from nmt_cli.translation.quality.flags import in_order
from nmt_cli.translation.result import (
    Alternative,
    SentenceTranslation,
    Translation,
    copied_translation,
    empty_translation,
    search_flags,
)


def line_translation(
    line: str,
    source_line: SourceLine,
    parts: Sequence[Sequence[LinePart]],
    config: SearchConfig,
    subwords: Subwords,
    quality: QualityChecker,
) -> Translation:
    """The translation of a line; parts: the translations of each segment, best first."""
    if not source_line.sources:
        return empty_translation(line, "empty")
    if not any(source_line.sources):
        return copied_translation(line, _copied_text(line, subwords))
    if not all(parts):
        return empty_translation(line, "failed")
    spaced = quality.languages[1] not in WITHOUT_SPACES
    pieces = source_line.pieces
    # The n-th translation of a line consists of the n-th ones of its segments.
    alternatives = tuple(
        join_segments(
            pieces,
            [segment_parts[min(rank, len(segment_parts) - 1)] for segment_parts in parts],
            config, subwords, spaced=spaced,
        )
        for rank in range(max(map(len, parts)))
    )  # fmt: skip
    best, best_parts = alternatives[0], [segment_parts[0] for segment_parts in parts]
    hypotheses = [part.hypothesis for part in best_parts]
    texts, _ = _sentence_texts(pieces, best_parts, spaced=spaced)
    sentences = tuple(map(SentenceTranslation, source_line.sentences, texts))
    # What the user demands is no doubt of the model.
    chosen = [
        chosen_scores(source, hypothesis, subwords, spaced=spaced)
        for source, hypothesis in zip(source_line.sources, hypotheses, strict=True)
    ]
    scores = _sentence_scores(pieces, chosen)
    flags_of_search = search_flags(pieces, source_line.sources, hypotheses, config, subwords)
    # Sentences that are copied have no scores.
    checked = map(CheckedSentence, source_line.sentences, texts, scores)
    doubts = quality.flags([sentence for sentence in checked if sentence.token_scores])
    if any(subwords.has_broken_characters(hypothesis.ids) for hypothesis in hypotheses):
        doubts.add("unknown_words")
    is_broken = "unknown_words" in doubts
    flags = in_order(flags_of_search | doubts)
    return Translation(
        line, best.text, best.score, alternatives, flags, sentences, is_broken=is_broken
    )


def _copied_text(line: str, subwords: Subwords) -> str:
    """A line that is copied, without the tag of its target language."""
    cleaned = clean_line(line)
    tag, rest = subwords.split_tag(cleaned.strip())
    return rest.strip() if tag else cleaned


def _sentence_scores(
    pieces: Sequence[Piece], piece_scores: Sequence[Sequence[float]]
) -> list[list[float]]:
    """The token scores of each sentence from those of each piece."""
    scores: list[list[float]] = [[]]
    for piece, token_scores in zip(pieces, piece_scores, strict=True):
        scores[-1] += token_scores
        if piece.ends_sentence:
            scores.append([])
    return scores[:-1]


def _sentence_texts(
    pieces: Sequence[Piece], parts: Sequence[LinePart], *, spaced: bool
) -> tuple[list[str], list[str]]:
    """The translation of each sentence, and what follows each.

    Sentences get a space between them where the source has none. spaced: whether the target
    language has spaces between words.
    """
    texts, gaps = [""], []
    for piece, part in zip(pieces, parts, strict=True):
        texts[-1] += part.text
        if piece.ends_sentence:
            texts[-1] = texts[-1].strip()
            gaps.append((piece.glue or " ") if spaced else "")
            texts.append("")
        else:
            texts[-1] += piece.glue if spaced else ""
    return texts[:-1], gaps


def join_segments(
    pieces: Sequence[Piece],
    parts: Sequence[LinePart],
    config: SearchConfig,
    subwords: Subwords,
    *,
    spaced: bool,
) -> Alternative:
    """One translation of a line; spaced: whether the target language has spaces between words."""
    sentences = zip(*_sentence_texts(pieces, parts, spaced=spaced), strict=True)
    text = "".join(sentence + gap for sentence, gap in sentences).strip()
    hypotheses = [part.hypothesis for part in parts]
    ids = [token_id for hypothesis in hypotheses for token_id in hypothesis.ids]
    log_prob = sum(hypothesis.log_prob for hypothesis in hypotheses)
    score = hypotheses[0].score
    if len(parts) > 1:
        score = HypothesisRanker(config).score_of(log_prob, len(ids))
    links, src_words, tgt_words = [], 0, 0
    for piece, part in zip(pieces, parts, strict=True):
        links += [(src_words + src, tgt_words + tgt) for src, tgt in part.links]
        # Without a space between them, the last word and the first of the next piece are one word.
        src_words += max(0, part.src_words - (not piece.glue))
        is_joined = not spaced or not (piece.glue or piece.ends_sentence)
        tgt_words += max(0, part.tgt_words - is_joined)
    return Alternative(
        text,
        score,
        log_prob,
        tuple(subwords.target_pieces(ids)),
        tuple(score for hypothesis in hypotheses for score in hypothesis.token_scores),
        tuple(links),
        tuple(ids),
        sum(hypothesis.missing for hypothesis in hypotheses),
        sum(hypothesis.term_faults for hypothesis in hypotheses),
    )
