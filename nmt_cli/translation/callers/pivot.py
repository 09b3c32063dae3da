"""Translation by way of another language: models that translate one after another."""

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.errors import ConfigError
from nmt_cli.translation.callers.line_translator import LineTranslator
from nmt_cli.translation.calls import SearchOptions, chosen_settings
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints, check_constraints
from nmt_cli.translation.markup.results import MarkedTranslation
from nmt_cli.translation.quality.flags import in_order
from nmt_cli.translation.quality.retry import OnProgress
from nmt_cli.translation.result import PivotText, SentenceTranslation, Translation
from nmt_cli.translation.translator import Translator

# A model that nobody has told its languages calls them so.
UNNAMED = frozenset({"src", "tgt"})
# Options that are meant for all models; the others concern the last translation only.
FOR_ALL = (
    "beam", "sentences", "markup", "keep_numbers", "retry", "batch_tokens", "replace_unknown",
    "shortlist",
)  # fmt: skip


class PivotTranslator(LineTranslator[Sequence[SearchConfig]]):
    """Translators of which each translates the best translation of the one before.

    A translation has the source of the first, and the text, score and alternatives of the last. Its
    flags are those of all; `pivots` has the texts between.
    """

    def __init__(
        self, steps: Sequence[Translator], searches: Sequence[SearchConfig] | None = None
    ) -> None:
        """searches: the settings of all steps but the last [default: those of their models].

        Raises ConfigError where the target language of one is not the source language of the next.
        """
        _check_languages(steps)
        self._steps = tuple(steps)
        chosen = searches or [step.config.search for step in steps[:-1]]
        self._searches = [_without_alternatives(search) for search in chosen]

    @property
    def steps(self) -> tuple[Translator, ...]:
        """The translators, in the order in which they work."""
        return self._steps

    @property
    def last(self) -> Translator:
        """The translator into the target language."""
        return self._steps[-1]

    def __repr__(self) -> str:
        """The translators in turn."""
        return f"PivotTranslator({', '.join(map(repr, self._steps))})"

    def close(self) -> None:
        """Close all translators; to translate then raises ValueError."""
        for step in self._steps:
            step.close()

    def _chosen(
        self, search: SearchConfig | None, options: SearchOptions, constraints: Constraints
    ) -> Sequence[SearchConfig]:
        last = chosen_settings(self.last.config, search, options)
        check_pivot(last)
        check_constraints(constraints, last)
        given = FOR_ALL if search else tuple(options)
        earlier = zip(self._steps, self._searches, strict=False)
        chosen = [shared_settings(step.config, own, last, given) for step, own in earlier]
        for settings in chosen:
            check_constraints(constraints.only_kept, settings)
        return [*chosen, last]

    def _window(
        self,
        lines: Sequence[str],
        chosen: Sequence[SearchConfig],
        constraints: Constraints,
        prefixes: Sequence[str] | None,
        first: int,
    ) -> list[Translation]:
        return self._translated(
            lines, chosen, constraints=constraints, prefixes=prefixes, first=first
        )

    def translate_window(
        self,
        lines: Sequence[str],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: Sequence[str] | None = None,
        first: int = 0,
        every: int = 1,
        on_progress: OnProgress = lambda _: None,
    ) -> list[Translation]:
        """As `Translator.translate_window`; search, constraints and prefixes are for the last.

        Names are kept by all of them.
        """
        return self._translated(
            lines, [*self._searches, search or self.last.config.search], constraints=constraints,
            prefixes=prefixes, first=first, every=every, on_progress=on_progress,
        )  # fmt: skip

    def _translated(
        self,
        lines: Sequence[str],
        searches: Sequence[SearchConfig],
        *,
        constraints: Constraints,
        prefixes: Sequence[str] | None,
        first: int,
        every: int = 1,
        on_progress: OnProgress = lambda _: None,
    ) -> list[Translation]:
        """As `translate_window`; searches: the settings of each step."""
        results: list[Translation] = []
        texts = list(lines)
        for number, (step, search) in enumerate(zip(self._steps, searches, strict=True)):
            is_last = number == len(searches) - 1
            translations = step.translate_window(
                texts,
                search=search,
                constraints=constraints if is_last else constraints.only_kept,
                prefixes=prefixes if is_last else None,
                first=first,
                every=every,
                on_progress=self._share(number, on_progress),
            )
            results = list(map(joined, results, translations)) if results else translations
            texts = [translation.text for translation in translations]
        return results

    def translate_marked(
        self,
        texts: Sequence[MarkedText],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        first: int = 0,
        on_progress: OnProgress = lambda _: None,
    ) -> list[MarkedTranslation]:
        """As `Translator.translate_marked`; search and constraints are for the last.

        Names are kept by all of them.
        """
        searches = [*self._searches, search or self.last.config.search]
        results: list[MarkedTranslation] = []
        for number, (step, chosen) in enumerate(zip(self._steps, searches, strict=True)):
            is_last = number == len(searches) - 1
            translations = step.translate_marked(
                texts,
                search=chosen,
                constraints=constraints if is_last else constraints.only_kept,
                first=first,
                on_progress=self._share(number, on_progress),
            )
            texts = [translation.pieces for translation in translations]
            results = list(map(_joined_marked, results, translations)) if results else translations
        return results

    def _share(self, number: int, on_progress: OnProgress) -> Callable[[float], None]:
        """The progress of a step as a share of that of all steps."""
        count = len(self._steps)
        return lambda share: on_progress((number + share) / count)


def joined(before: Translation, after: Translation) -> Translation:
    """The translation of the source of `before`, whose text `after` has translated."""
    pivot = PivotText(before.text, before.score, before.flags)
    pairs = [(before.source, after.text)]
    if len(before.sentences) == len(after.sentences):
        pairs = [
            (first.source, second.text)
            for first, second in zip(before.sentences, after.sentences, strict=True)
        ]
    return replace(
        after,
        source=before.source,
        flags=in_order({*before.flags, *after.flags}),
        sentences=tuple(SentenceTranslation(*pair) for pair in pairs),
        pivots=(*before.pivots, pivot),
    )


def _joined_marked(before: MarkedTranslation, after: MarkedTranslation) -> MarkedTranslation:
    return MarkedTranslation(after.pieces, joined(before.translation, after.translation))


def shared_settings(
    config: Config, own: SearchConfig, asked: SearchConfig, given: Collection[str] = FOR_ALL
) -> SearchConfig:
    """The settings of a model before the last: `own` with those of `asked` that are for all.

    config: of the model; given: the names of the settings that were asked for. Raises ConfigError
    where the settings of the model do not fit them.
    """
    shared = {name: getattr(asked, name) for name in FOR_ALL if name in given}
    return chosen_settings(config, _without_alternatives(own), shared)


def check_pivot(search: SearchConfig) -> None:
    """Raise ConfigError for settings of the last model that need the text of the first."""
    if search.alignment:
        raise ConfigError(
            "there is no word alignment of translations by way of another language",
            "leave out the alignment, or translate with one model",
        )


def _without_alternatives(search: SearchConfig) -> SearchConfig:
    """Only the best translation is handed on."""
    return replace(search, n_best=1, alignment=False)


def _check_languages(steps: Sequence[Translator]) -> None:
    for before, after in itertools.pairwise(steps):
        written, read = before.config.languages.tgt, after.config.languages.src
        if UNNAMED & {written, read} or base_code(written) == base_code(read):
            continue
        raise ConfigError(
            f"{before.name} translates to `{written}`, and {after.name}, which comes after it, "
            f"from `{read}`",
            "give the models in the order in which they work",
        )
