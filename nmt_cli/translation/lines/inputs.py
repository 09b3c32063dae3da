"""Converts lines to sources: cleans them, splits long ones, and encodes them."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.cleaning.letters.combining_marks import without_repeated_marks
from nmt_cli.data.cleaning.letters.look_alikes import repair_look_alikes
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.lexical.shortlist import WITHOUT, Shortlist
from nmt_cli.data.sentences.splitter import Sentence, SentenceSplitter
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.punctuation import punctuation_normalizer
from nmt_cli.data.text.splitting import Piece, split_line
from nmt_cli.errors import NmtError, NoInputError
from nmt_cli.search.decoder import Source
from nmt_cli.translation.constraints import BoundConstraints

# Limits of the subwords of a sentence; longer ones are split.
MAX_SUBWORDS, MIN_SUBWORDS = 1_024, 16


class SourceLine(NamedTuple):
    """The segments of a line and the source of each, None for one that is copied.

    A segment is a sentence, or a part of a sentence that is too long for the model. sentences: the
    text of each sentence.
    """

    pieces: list[Piece]
    sources: list[Source | None]
    sentences: list[str]


class SourceFields(NamedTuple):
    """The fields of the sources of a window besides ids, prefix and constraints.

    indices: the index of each line in the whole text; sampled: whether translations are sampled, by
    the index of their line; keep_text: whether words are copied from the text.
    """

    indices: Sequence[int]
    sampled: bool = False
    keep_text: bool = False


def make_source_lines(
    lines: Sequence[str],
    prefixes: Sequence[str],
    subwords: Subwords,
    constraints: BoundConstraints,
    max_subwords: int,
    fields: SourceFields,
    splitter: SentenceSplitter | None = None,
    copies: Callable[[str], bool] = lambda _: False,
) -> list[SourceLine]:
    """The sources of each cleaned line; a blank line has none.

    With a `splitter` each sentence is a source, except in a line with a prefix, which may begin
    with several sentences. A sentence of more than `max_subwords` subwords is split; a prefix
    belongs to the first segment. A tag of the target language at the start of a line is put before
    each of its segments. copies: whether a text is copied instead of translated.
    """
    tags, texts = [], []
    for line in lines:
        tag, text = subwords.split_tag(line.strip())
        tags.append([subwords.tags[tag]] if tag else [])
        texts.append(text.strip())
    # Without EOS.
    forced = [ids[:-1] for ids in subwords.encode_target(prefixes)]
    sentences = [
        [Sentence(text, "")]
        if splitter is None or (forced and forced[index])
        else splitter.split(text) or [Sentence("", "")]
        for index, text in enumerate(texts)
    ]
    encoded = iter(
        subwords.encode_source([sentence.text for sentence in itertools.chain(*sentences)])
    )
    source_lines = []
    for index, line_sentences in enumerate(sentences):
        line_segments: list[Segment] = []
        sentence_texts = []
        for sentence in line_sentences:
            segments = _segments(sentence, next(encoded), subwords, max_subwords, copies)
            line_segments += segments
            sentence_texts += [sentence.text] if segments else []
        prefix = tuple(forced[index]) if forced else ()
        sources = [
            None
            if ids is None
            else Source(
                (*tags[index], *ids),
                () if segment else prefix,
                constraints.for_source(piece.text, tags[index] + ids),
                (fields.indices[index], segment) if fields.sampled else (),
                piece.text if fields.keep_text else "",
            )
            for segment, (piece, ids) in enumerate(line_segments)
        ]
        pieces = [piece for piece, _ in line_segments]
        source_lines.append(SourceLine(pieces, sources, sentence_texts))
    return source_lines


# A piece with its ids; None: it is copied.
Segment = tuple[Piece, list[int] | None]


def _segments(
    sentence: Sentence,
    ids: list[int],
    subwords: Subwords,
    max_subwords: int,
    copies: Callable[[str], bool],
) -> list[Segment]:
    """The segments of a sentence with their ids: itself, unless it is long; none if it is blank."""
    if copies(sentence.text):
        return [(Piece(sentence.text, sentence.gap, ends_sentence=True), None)]
    pieces, encoded = [Piece(sentence.text, "")], [ids]
    if len(ids) - 1 > max_subwords:
        pieces = split_line(sentence.text, lambda parts: _lengths(subwords, parts), max_subwords)
        encoded = subwords.encode_source([piece.text for piece in pieces])
    segments: list[Segment] = [
        (pair[0], None if copies(pair[0].text) else pair[1])
        for pair in zip(pieces, encoded, strict=True)
        if any(token != subwords.eos_id for token in pair[1])
    ]
    if segments:
        last, last_ids = segments[-1]
        segments[-1] = Piece(last.text, sentence.gap, ends_sentence=True), last_ids
    return segments


def source_repair(
    configs: Iterable[Config], texts: Iterable[TextStatistics | None] = ()
) -> Callable[[str], str]:
    """The repair of the letters and the punctuation that the training text of all models had.

    Punctuation is normalised for `data.normalize`. The repair is for cleaned text. texts: what is
    usual in their training texts, None where it is unknown.
    """
    configs = list(configs)
    repair = _letter_repair(configs, texts)
    if not all(config.data.normalize for config in configs):
        return repair
    normalize = punctuation_normalizer(configs[0].languages.src)
    return lambda text: normalize(repair(text))


def _letter_repair(
    configs: Iterable[Config], texts: Iterable[TextStatistics | None]
) -> Callable[[str], str]:
    if any(config.data.clean == "off" for config in configs):
        return lambda text: text
    known = list(texts)
    script = _only({text.src.script if text else "" for text in known})
    other = _only({text.tgt.script if text else "" for text in known})
    repair = partial(repair_look_alikes, script=script, other=other)
    return lambda text: repair(without_repeated_marks(text))


def _only(scripts: Collection[str]) -> str:
    """The script of all texts, or "" if they differ."""
    return next(iter(scripts)) if len(scripts) == 1 else ""


def max_subwords(configs: Iterable[Config]) -> int:
    """The most subwords of a sentence that all of these models can take."""
    limits = [MAX_SUBWORDS]
    for config in configs:
        limits.append(config.data.max_length)
        if config.model.positions == "learned":
            limits.append(config.model.max_positions - 1)
    return max(MIN_SUBWORDS, min(limits))


def _lengths(subwords: Subwords, texts: Sequence[str]) -> list[int]:
    return [len(ids) - 1 for ids in subwords.encode_source(texts)]


def no_shortlist() -> Shortlist:
    """Raise NoInputError: a model that was not loaded from a directory has no shortlist."""
    raise NoInputError("this model has no shortlist", WITHOUT)


def with_shortlist(
    sources: Iterable[Source], shortlist: Shortlist, config: SearchConfig, subwords: Subwords
) -> Iterator[Source]:
    """Each source with the ids it allows, which follow from its own ids, prefix and constraints."""
    always = [subwords.eos_id, *([subwords.unk_id] if config.replace_unknown else [])]
    for source in sources:
        terms = source.constraints.forms if source.constraints else ()
        constrained = [token_id for forms in terms for form in forms for token_id in form]
        needed = [*always, *source.prefix, *constrained]
        allowed = shortlist.allowed(source.ids, config.shortlist, needed)
        yield replace(source, allowed=allowed)


# A line, or a marked text.
Item = TypeVar("Item", bound=Sized)
# The first windows are small, so that the first translations come soon. Large windows are faster:
# at the end of each only a few lines are left to compute together.
FIRST_WINDOW, GROWTH, LARGEST_WINDOW = 64, 4, 2_048
WINDOW_CHARACTERS = 1 << 20


def windows(
    lines: Iterator[Item],
    must_wait: Callable[[], bool] = lambda: False,
    length: Callable[[Item], int] = len,
) -> Iterator[list[Item]]:
    """Windows of lines to translate together, which grow; a window ends where reading would block.

    When `lines` raises an error, the lines before it are yielded first. length: the characters of
    a line.
    """
    size = FIRST_WINDOW
    window: list[Item] = []
    characters = 0
    try:
        for line in lines:
            window.append(line)
            characters += length(line)
            full = len(window) >= size or characters >= WINDOW_CHARACTERS
            if full or must_wait():
                yield window
                size = min(GROWTH * size, LARGEST_WINDOW) if full else size
                window, characters = [], 0
    except NmtError:
        if window:
            yield window
        raise
    if window:
        yield window
