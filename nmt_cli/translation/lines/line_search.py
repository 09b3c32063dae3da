"""The search for the translations of lines: splits them, searches their segments, joins those."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import NamedTuple

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.sentences.splitter import SentenceSplitter
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import knows_letters
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.sanitize import clean_source
from nmt_cli.search.decoder import Source
from nmt_cli.translation.constraints import BoundConstraints
from nmt_cli.translation.lines.inputs import SourceFields, SourceLine, make_source_lines
from nmt_cli.translation.lines.joining import line_translation
from nmt_cli.translation.lines.outputs import HypothesisSelector, LinePart, copied_part, distinct
from nmt_cli.translation.lines.source_search import SourceSearch
from nmt_cli.translation.quality.checker import QualityChecker
from nmt_cli.translation.result import Translation
from nmt_cli.translation.terms.term_stops import TermStops


class Request(NamedTuple):
    """A text to translate; line: the index of its line in the whole text; prefix: "" for none.

    is_repaired: whether look-alike letters were repaired in it already.
    """

    text: str
    line: int
    prefix: str = ""
    is_repaired: bool = False


class SearchedLine:
    """A translated line with the translations of its segments, each best first.

    The translation of the line is made of them when it is first asked for.
    """

    def __init__(
        self,
        source_line: SourceLine,
        parts: Sequence[Sequence[LinePart]],
        join: Callable[[], Translation],
        languages: tuple[str, str],
    ) -> None:
        """join: makes the translation of the line; languages: those of source and translation."""
        self.source_line = source_line
        self.parts = parts
        self.languages = languages
        self._join = join

    @cached_property
    def translation(self) -> Translation:
        """The translation of the line."""
        return self._join()

    @property
    def score(self) -> float:
        """The score of the best translation."""
        if len(self.parts) == 1 and self.parts[0]:
            return self.parts[0][0].hypothesis.score
        return self.translation.score


class LineSearch:
    """Searches the translations of lines with one model or ensemble."""

    def __init__(
        self,
        source_search: SourceSearch,
        selector: HypothesisSelector,
        subwords: Subwords,
        quality: QualityChecker,
        max_subwords: int,
        repair: Callable[[str], str],
    ) -> None:
        """max_subwords: a longer sentence is split; repair: of the letters of cleaned text."""
        self._source_search = source_search
        self._selector = selector
        self._subwords = subwords
        self._quality = quality
        self._max_subwords = max_subwords
        self.repair = repair

    def run(
        self,
        requests: Sequence[Request],
        config: SearchConfig,
        bound: BoundConstraints,
        on_progress: Callable[[float], None],
    ) -> list[SearchedLine]:
        """The translations of the requests, which are searched together."""
        indices = [request.line for request in requests]
        prefixes = [request.prefix for request in requests]
        source_lines = make_source_lines(
            [self._cleaned(request) for request in requests],
            prefixes if any(prefixes) else (),
            self._subwords,
            bound,
            self._max_subwords,
            SourceFields(indices, config.sample, config.replace_unknown),
            self._splitter(config),
            lambda text: self.copies(text, config, bound),
        )
        sources = {
            source for source_line in source_lines for source in source_line.sources if source
        }
        hypotheses = self._source_search.run(sources, config, bound, on_progress)
        parts = self._selector.parts(hypotheses, config)
        result = []
        for request, source_line in zip(requests, source_lines, strict=True):
            line_parts = [
                _without_second_stops(parts[source], source, piece.text, config, bound)
                if source
                else [copied_part(piece.text, config)]
                for piece, source in zip(source_line.pieces, source_line.sources, strict=True)
            ]
            join = partial(
                line_translation,
                request.text, source_line, line_parts, config, self._subwords, self._quality,
            )  # fmt: skip
            result.append(SearchedLine(source_line, line_parts, join, self._quality.languages))
        return result

    def _cleaned(self, request: Request) -> str:
        """The text of a request as the model reads it."""
        text = clean_source(request.text)
        return text if request.is_repaired else self.repair(text)

    def copies(self, text: str, config: SearchConfig, bound: BoundConstraints) -> bool:
        """Whether a text is copied: it has neither a letter nor a term of the glossary.

        For a model without letters, or with `search.markup=off`, all texts are words.
        """
        return (
            config.markup == "keep"
            and not has_letters(text)
            and self._knows_letters
            and not bound.has_term(text)
            and bool(text)
        )

    @cached_property
    def _knows_letters(self) -> bool:
        return knows_letters(self._subwords)

    def _splitter(self, search: SearchConfig) -> SentenceSplitter | None:
        """What splits lines into sentences; None where they are translated as they are."""
        text = self._quality.text
        several = text is not None and not text.has_single_sentences
        if search.sentences == "line" or (search.sentences == "auto" and several):
            return None
        return self._any_splitter

    @property
    def _any_splitter(self) -> SentenceSplitter:
        text = self._quality.text
        return text.src.splitter if text else SentenceSplitter(self._quality.languages[0])

    def sentence_ends(self, text: str) -> list[int]:
        """Where the sentences of a text end which others follow, also where lines are not split."""
        sentences = self._any_splitter.split(text)
        ends = accumulate(len(sentence.text) + len(sentence.gap) for sentence in sentences)
        return [
            end - len(sentence.gap) for end, sentence in zip(ends, sentences[:-1], strict=False)
        ]


def _without_second_stops(
    parts: Sequence[LinePart],
    source: Source,
    text: str,
    config: SearchConfig,
    bound: BoundConstraints,
) -> Sequence[LinePart]:
    """The translations of a source, each with one stop behind a term that ends with one.

    text: of the source. Two translations may become the same, which only samples may be.
    """
    stops = TermStops(text, bound.terms_in(text) if source.constraints else ())
    if not stops:
        return parts
    mended = [part._replace(text=stops.without_second(part.text)) for part in parts]
    return mended if config.sample else distinct(mended)
