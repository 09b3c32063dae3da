"""The translation of a line, its alternatives and its flags."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.splitting import Piece
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.ranking import max_target_length

# This many copies of the same few subwords in a row count as a model that repeats itself.
REPEATS, LONGEST_REPEATED = 5, 8

# What stands for bytes that were not UTF-8.
WRONG_BYTES = "\N{REPLACEMENT CHARACTER}"

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Alternative:
    """One of the n best translations of a line.

    score: as `search.ranking.HypothesisRanker` defines it; tokens: its subwords, EOS included;
    token_scores: the log-probability of each; alignment: (source word, target word) pairs, counted
    from 0, where it was asked for; ids: of the tokens; missing_terms: how many of the terms that a
    glossary demands it lacks; term_faults: what else is wrong with its terms, a number. Both decide
    the order before the score does.
    """

    text: str
    score: float
    log_prob: float
    tokens: tuple[str, ...] = ()
    token_scores: tuple[float, ...] = ()
    alignment: Links = ()
    ids: tuple[int, ...] = ()
    missing_terms: int = 0
    term_faults: int = 0


@dataclass(frozen=True)
class SentenceTranslation:
    """A sentence of a line, `source`, and its best translation, `text`."""

    source: str
    text: str


@dataclass(frozen=True)
class PivotText:
    """The translation of a line into a language on the way, with the score and flags it has."""

    text: str
    score: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Translation:
    """The translation of a line, always a single line.

    source: the line as it was given; hypotheses: best first, the first is `text` and `score`;
    sentences: the sentences that were translated on their own; flags: what makes the translation
    doubtful, see quality.flags.FLAGS; pivots: the texts between the models, where several
    translate one after another; is_broken: whether the model wrote only some bytes of a character,
    or U+FFFD, which the source lacks (the flag `unknown_words` may be due to the source).
    """

    source: str
    text: str
    score: float
    hypotheses: tuple[Alternative, ...]
    flags: tuple[str, ...] = ()
    sentences: tuple[SentenceTranslation, ...] = ()
    pivots: tuple[PivotText, ...] = ()
    is_broken: bool = False


def empty_translation(line: str, flag: str) -> Translation:
    """A translation without words; `flag` says why."""
    return Translation(line, "", 0.0, (Alternative("", 0.0, 0.0),), (flag,))


def copied_translation(line: str, text: str) -> Translation:
    """The translation of a line that has nothing to translate: `text`, which is the line itself."""
    flags = ("unknown_words",) if WRONG_BYTES in text else ()
    return Translation(line, text, 0.0, (Alternative(text, 0.0, 0.0),), flags)


def search_flags(
    pieces: Sequence[Piece],
    sources: Sequence[Source | None],
    best: Sequence[Hypothesis],
    config: SearchConfig,
    subwords: Subwords,
) -> set[str]:
    """The flags of a translation of these segments, which has these best hypotheses.

    sources: None for segments that are copied.
    """
    searched = [source for source in sources if source]
    flags = {
        "split": not all(piece.ends_sentence for piece in pieces),
        "at_limit": any(
            len(hypothesis.ids) - 1 >= max_target_length(source, config)
            for hypothesis, source in zip(best, sources, strict=True)
            if source
        ),
        "repetition": any(has_repetition(hypothesis.ids) for hypothesis in best),
        "term_missing": any(hypothesis.missing for hypothesis in best),
        "term_moved": any(hypothesis.term_inserted for hypothesis in best),
        "unknown_words": any(subwords.unk_id in source.ids for source in searched)
        or any(WRONG_BYTES in piece.text for piece in pieces),
    }
    return {name for name, is_set in flags.items() if is_set}


def has_repetition(ids: Sequence[int]) -> bool:
    """Whether the same few ids occur again and again with nothing between.

    >>> has_repetition([7, 8] * 5), has_repetition([7, 8] * 4)
    (True, False)
    """
    for period in range(1, LONGEST_REPEATED + 1):
        run = 0
        for token_id, earlier in zip(ids[period:], ids, strict=False):
            run = run + 1 if token_id == earlier else 0
            if run >= period * (REPEATS - 1):
                return True
    return False
