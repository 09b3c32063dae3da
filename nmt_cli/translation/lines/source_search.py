"""The search for the translations of many sources, in groups that fit into memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.shortlist import Shortlist
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import is_out_of_memory
from nmt_cli.search.constrained_beam import ConstrainedBeamSearch, required_rows
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.strategy import BeamStrategy
from nmt_cli.translation.constraints import BoundConstraints
from nmt_cli.translation.lines.inputs import with_shortlist
from nmt_cli.translation.lines.searcher_cache import Searchers
from nmt_cli.translation.terms.placement import TermPlacer, is_whole_term


class SourceSearch:
    """Searches the translations of sources with one engine."""

    def __init__(
        self,
        searchers: Searchers,
        eos_id: int,
        subwords: Subwords,
        shortlist_for: Callable[[SearchConfig], Shortlist | None],
        placer: TermPlacer,
    ) -> None:
        """shortlist_for: the shortlist that settings of a search ask for, if they do.

        placer: chooses translations of sources whose constraints a plain search does not meet.
        """
        self._placer = placer
        self._searchers = searchers
        self._eos_id = eos_id
        self._subwords = subwords
        self._shortlist_for = shortlist_for

    def run(
        self,
        sources: set[Source],
        config: SearchConfig,
        bound: BoundConstraints,
        on_progress: Callable[[float], None],
    ) -> dict[Source, list[Hypothesis]]:
        """The finished hypotheses of each source.

        Sources with constraints are searched without them first. What meets them by itself is
        taken; for the others, `TermPlacer` chooses among several translations.
        """
        plain = {
            source: replace(source, constraints=None) if source.constraints else source
            for source in sources
        }
        constrained = [source for source in sources if source.constraints]
        share = len(sources) / max(1, len(sources) + len(constrained))
        hypotheses = self._run(
            set(plain.values()), config, bound, lambda done: on_progress(done * share)
        )
        result = {source: hypotheses[plain[source]] for source in sources}
        unmet = {}
        for source in constrained:
            meeting = self._meeting(source, result[source])
            if (
                not is_whole_term(source)
                and meeting[:1] == result[source][:1]
                and len(meeting) >= min(config.n_best, len(result[source]))
            ):
                result[source] = meeting
            else:
                unmet[source] = result[source]
        if unmet:
            result |= self._placer.place(
                unmet, lambda rest: self._run(rest, config, bound, lambda _: None), config
            )
        on_progress(1.0)
        return result

    def _meeting(self, source: Source, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses that meet all constraints of the source."""
        constraints = source.constraints
        assert constraints is not None
        return [
            hypothesis
            for hypothesis in hypotheses
            if not self._placer.missing(constraints, hypothesis.ids[:-1])
        ]

    def _run(
        self,
        sources: set[Source],
        config: SearchConfig,
        bound: BoundConstraints,
        on_progress: Callable[[float], None],
    ) -> dict[Source, list[Hypothesis]]:
        """The finished hypotheses of each source; those with constraints need more rows.

        The longest come first, so that neighbours need little padding; equal lines are translated
        once. When memory runs out, the rest is searched with half as many slots.
        """
        by_rows: dict[tuple[int, bool], list[Source]] = {}
        for source in sources:
            constraints, rows = source.constraints, config.rows
            if constraints:
                rows = required_rows(constraints, rows)
            by_rows.setdefault((rows, constraints is not None), []).append(source)
        result: dict[Source, list[Hypothesis]] = {}

        def on_step() -> None:
            on_progress(len(result) / len(sources))

        for (rows, constrained), group in sorted(by_rows.items()):
            group.sort(key=_search_order)
            while group := [source for source in group if source not in result]:
                try:
                    result |= self._search_group(
                        group, rows, config, bound, on_step, constrained=constrained
                    )
                except (MemoryError, RuntimeError) as error:
                    if not (is_out_of_memory(error) and self._searchers.halve(len(group))):
                        raise
        return result

    def _search_group(
        self,
        sources: list[Source],
        rows: int,
        config: SearchConfig,
        bound: BoundConstraints,
        on_step: Callable[[], None],
        *,
        constrained: bool,
    ) -> Iterator[tuple[Source, list[Hypothesis]]]:
        """Sources that need this many rows each with their finished hypotheses, as they finish."""
        strategy: BeamStrategy | None = None
        if constrained:
            strategy = ConstrainedBeamSearch(rows, self._eos_id)
        unbanned_ids = {self._subwords.unk_id} if config.replace_unknown else set()
        stream = iter(sources)
        shortlist = self._shortlist_for(config)
        if shortlist is not None:
            stream = with_shortlist(sources, shortlist, config, self._subwords)
        searcher = self._searchers.searcher(
            len(sources), rows, config, bound.processors, strategy, unbanned_ids
        )
        for index, hypotheses in searcher.run(stream, on_step):
            yield sources[index], hypotheses


def _search_order(source: Source) -> tuple[object, ...]:
    """Sorts the longest sources first, and equal lengths in a fixed order."""
    return -len(source.ids), source.ids, source.prefix, source.sample_key, source.text
