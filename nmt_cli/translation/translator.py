"""Lines in, translations out, in order: what `nmt translate` and Python users call."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache as called_once
from functools import partial
from pathlib import Path
from typing import Unpack, overload

import torch

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.shortlist import Shortlist
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import WITHOUT_SPACES
from nmt_cli.errors import ConfigError, is_out_of_memory
from nmt_cli.inference.engines import Engine, fastest_engine, find_device, reference_engine
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.precision import use_fast_float32
from nmt_cli.model_dir import is_emptied, load_model, reload_model
from nmt_cli.search.constrained_beam import ConstrainedBeamSearch, rows_for
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.strategy import BeamStrategy
from nmt_cli.translation.calls import (
    SearchOptions,
    chosen_settings,
    each_line,
    one_line,
    require_lines,
    require_prefixes,
)
from nmt_cli.translation.constraints import FREE, BoundConstraints, Constraints, check_constraints
from nmt_cli.translation.ensemble_members import EnsembleMember, check_members, joint_engine
from nmt_cli.translation.inputs import (
    Needs,
    SourceLine,
    make_source_lines,
    narrowed,
    no_shortlist,
    windows,
)
from nmt_cli.translation.outputs import HypothesisSelector, LinePart, join_segments
from nmt_cli.translation.prefixes import Prefixes
from nmt_cli.translation.result import (
    ScoredPair,
    Translation,
    check_places,
    flags_of,
    mean_scores,
    without_words,
)
from nmt_cli.translation.searcher_cache import SearcherCache

SCORED_TOGETHER = 256
LONGEST_PIECE, SHORTEST_PIECE = 1_024, 16
# The numbers that a model is loaded in.
PRECISIONS = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Translator:
    """A model with its subwords and settings."""

    def __init__(
        self,
        model: EncoderDecoder,
        config: Config,
        subwords: Subwords,
        engine: Callable[[EncoderDecoder], Engine] = reference_engine,
        others: Sequence["Translator"] = (),
        shortlist: Callable[[], Shortlist] = no_shortlist,
        directory: Path | None = None,
    ) -> None:
        """`model` is put into evaluation mode and stays on its device.

        engine: makes what runs the model; the reference engine follows changes of its weights.
        others: an ensemble's further members, whose vocabulary must be the same; their
        probabilities and those of `model` are averaged. shortlist: gives that of the model, when
        the settings of a search ask for one. directory: where the model is read again once the
        engine has taken its weights.
        """
        self._model = model.eval()
        weight = next(model.parameters())
        self._device, self._precision = weight.device, str(weight.dtype).removeprefix("torch.")
        self._path = directory
        self._directory = directory
        self.config = config
        self.subwords = subwords
        self.others = tuple(others)
        members = [EnsembleMember(one.config, one.subwords) for one in (self, *others)]
        check_members(members)
        own = engine(self._model)
        self.engine: Engine = (
            joint_engine([own, *(one.engine for one in others)]) if others else own
        )
        self._searchers = SearcherCache(self.engine)
        self._shortlist = called_once(shortlist)
        self._chooser = HypothesisSelector(lambda: self.model, subwords)
        self._bound = FREE, BoundConstraints(FREE, subwords, config.languages)

    @classmethod
    def load(
        cls,
        path: Path | str,
        device: torch.device | str = "cpu",
        *,
        precision: str = "float32",
        cache: Path | None = None,
        others: Sequence[Path | str] = (),
    ) -> "Translator":
        """The translator of a model directory; raises as `model_dir.load_model` does.

        device: cpu, cuda, cuda:N; precision: float32, bf16, int8 (CPU), fp16 (GPU). The CPU's
        kernels are compiled into the folder `cache`; without one torch computes with the rounded
        weights.
        others: the further members of an ensemble, with the same vocabulary.
        """
        place = find_device(device)
        if precision == "int8" and place.type != "cpu":
            raise ConfigError("int8 is for the CPU", "`--device cpu`, or `--precision bf16`")
        if precision == "fp16" and place.type == "cpu":
            raise ConfigError("fp16 is for a GPU", "`--device cuda`, or `--precision bf16`")
        members = [cls.load(one, device, precision=precision, cache=cache) for one in others]
        loaded = load_model(Path(path), place)
        shortlist = partial(Shortlist.load, Path(path), loaded.subwords)
        use_fast_float32(place)
        if place.type == "cpu":
            # Narrow weights there are the engine's business: the arithmetic is float32.
            engine = partial(fastest_engine, cache=cache, precision=precision, consumes=True)
            made = cls(
                loaded.model, loaded.config, loaded.subwords, engine, members, shortlist, Path(path)
            )
        else:
            model = loaded.model.to(PRECISIONS[precision])
            made = cls(model, loaded.config, loaded.subwords, fastest_engine, members, shortlist)
        made._path, made._precision = Path(path), precision
        return made

    def __repr__(self) -> str:
        """Such as `Translator('model', en-fr, cpu, float32)`."""
        languages = self.config.languages
        parts = [f"{languages.src}-{languages.tgt}", str(self._device), self._precision]
        parts += [f"ensemble of {len(self.others) + 1}"] if self.others else []
        named = [] if self._path is None else [repr(str(self._path))]
        return f"Translator({', '.join([*named, *parts])})"

    @property
    def model(self) -> EncoderDecoder:
        """The plain model, read again where the engine has taken its weights.

        Raises DataError where its directory has got other weights since.
        """
        if self._directory is not None and is_emptied(self._model):
            self._model = reload_model(self._directory, self._model)
        return self._model

    @overload
    def translate(  # type: ignore[overload-overlap]  # A str is one line, and not its letters.
        self,
        lines: str,
        *,
        search: SearchConfig | None = None,
        wording: Constraints = FREE,
        prefixes: str | Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Translation: ...

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        lines: list[str] | tuple[str, ...],
        *,
        search: SearchConfig | None = None,
        wording: Constraints = FREE,
        prefixes: Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        lines: Iterable[str],
        *,
        search: SearchConfig | None = None,
        wording: Constraints = FREE,
        prefixes: Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Iterator[Translation]: ...

    def translate(
        self,
        lines: str | Iterable[str],
        *,
        search: SearchConfig | None = None,
        wording: Constraints = FREE,
        prefixes: str | Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Translation | list[Translation] | Iterator[Translation]:
        """One translation a line, in order.

        A str is one line and gives one Translation; a list or tuple gives a list; any other
        iterable gives an iterator, which reads and translates in windows that grow: neither lines
        nor translations are held as a whole.

        options: settings of search by name, such as `beam=2, n_best=2`, in place of those of
        `search`, which is in place of the model's own. wording: what words there must and must
        not be. prefixes: how the translation of each line begins, as many as lines.

        Raises TypeError for what is no line and for unknown options, ValueError for a str of
        several lines, ConfigError for a value that does not fit; at the call, but for elements of
        an iterator.
        """
        chosen = chosen_settings(self.config, search, options)
        check_constraints(wording, chosen)
        if isinstance(lines, str):
            begins = [prefixes] if isinstance(prefixes, str) else prefixes
            [translation] = self._translated([one_line(lines)], chosen, wording, begins)
            return translation
        require_lines(lines)
        if prefixes is not None:
            require_prefixes(prefixes)
        found = self._translated(each_line(lines), chosen, wording, prefixes)
        return list(found) if isinstance(lines, list | tuple) else found

    def _translated(
        self,
        lines: Iterable[str],
        search: SearchConfig,
        wording: Constraints,
        prefixes: Iterable[str] | None,
    ) -> Iterator[Translation]:
        """One translation a line, as they are asked for."""
        given = None if prefixes is None else Prefixes(iter(prefixes), "the list of prefixes")
        count = 0
        for window in windows(iter(lines)):
            starts = given.take(len(window)) if given else None
            yield from self.translate_window(
                window, search=search, wording=wording, prefixes=starts, first=count
            )
            count += len(window)

    def translate_window(
        self,
        lines: Sequence[str],
        *,
        search: SearchConfig | None = None,
        wording: Constraints = FREE,
        prefixes: Sequence[str] | None = None,
        first: int = 0,
        watch: Callable[[float], None] = lambda _: None,
    ) -> list[Translation]:
        """The translations of some lines, searched together; `first`: the number of the first.

        watch: is told at each step of the search what share of the lines has finished.
        """
        config = search or self.config.search
        check_constraints(wording, config)
        bound = self.bind(wording)
        needs = Needs(first, config.sample, config.replace_unknown)
        jobs = make_source_lines(lines, prefixes or (), self.subwords, bound, self._longest, needs)
        found = self._search({one for job in jobs for one in job.sources}, config, bound, watch)
        parts = self._chooser.parts(found, config)
        return [
            self._translation(line, job, [parts[one] for one in job.sources], config)
            for line, job in zip(lines, jobs, strict=True)
        ]

    def bind(self, wording: Constraints) -> BoundConstraints:
        """A wording in this model's ids; raises DataError for a term that it cannot write."""
        if self._bound[0] is not wording:
            self._bound = wording, BoundConstraints(wording, self.subwords, self.config.languages)
        return self._bound[1]

    def shortlist_for(self, search: SearchConfig) -> Shortlist | None:
        """What a search with these settings narrows its words by; raises as `Shortlist.load`.

        Of an ensemble, that of the first member.
        """
        return self._shortlist() if search.shortlist else None

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[ScoredPair]:
        """How likely the model finds given translations, in order; an ensemble: on average.

        Raises DataError for one that has more subwords than a model with learned positions takes.
        """
        window: list[tuple[str, str]] = []
        for pair in pairs:
            window.append(pair)
            if len(window) == SCORED_TOGETHER:
                yield from self._score_window(window)
                window = []
        yield from self._score_window(window)

    def _search(
        self,
        sources: set[Source],
        config: SearchConfig,
        bound: BoundConstraints,
        watch: Callable[[float], None],
    ) -> dict[Source, list[Hypothesis]]:
        """The finished hypotheses of each source; those with terms need more rows, by themselves.

        The longest first: padding is little among neighbours. Equal lines are translated once.
        Where memory ends, what is not found yet is searched half as much at a time.
        """
        by_rows: dict[tuple[int, bool], list[Source]] = {}
        for source in sources:
            rows = rows_for(source.terms, config.rows) if source.terms else config.rows
            by_rows.setdefault((rows, source.terms is not None), []).append(source)
        found: dict[Source, list[Hypothesis]] = {}

        def advanced() -> None:
            watch(len(found) / len(sources))

        for (rows, has_terms), some in sorted(by_rows.items()):
            some.sort(key=lambda one: (-len(one.ids), one.ids, one.prefix, one.draw, one.text))
            while some := [one for one in some if one not in found]:
                try:
                    found |= self._found(some, rows, config, bound, advanced, has_terms=has_terms)
                except (MemoryError, RuntimeError) as error:
                    if not (is_out_of_memory(error) and self._searchers.halve(len(some))):
                        raise
        return found

    def _found(
        self,
        some: list[Source],
        rows: int,
        config: SearchConfig,
        bound: BoundConstraints,
        advanced: Callable[[], None],
        *,
        has_terms: bool,
    ) -> Iterator[tuple[Source, list[Hypothesis]]]:
        """Sources with so many rows each, and their finished hypotheses, as they come."""
        strategy: BeamStrategy | None = None
        if has_terms:
            strategy = ConstrainedBeamSearch(rows, self.config.model.eos_id)
        allowed = {self.subwords.unk_id} if config.replace_unknown else set()
        given = iter(some)
        shortlist = self.shortlist_for(config)
        if shortlist is not None:
            given = narrowed(some, shortlist, config, self.subwords)
        searcher = self._searchers.searcher(len(some), rows, config, bound.rules, strategy, allowed)
        for number, hypotheses in searcher.run(given, advanced):
            yield some[number], hypotheses

    @property
    def _longest(self) -> int:
        """Subwords of a line that the models were made for; longer ones are split."""
        return max(SHORTEST_PIECE, min(_longest_of(one.config) for one in (self, *self.others)))

    def _translation(
        self, line: str, job: SourceLine, parts: list[list[LinePart]], config: SearchConfig
    ) -> Translation:
        if not job.sources:
            return without_words(line, "empty")
        if not all(parts):
            return without_words(line, "failed")
        spaced = self.config.languages.tgt not in WITHOUT_SPACES
        # The n-th translation of a line in pieces is made of the n-th ones of its pieces.
        alternatives = tuple(
            join_segments(
                job.pieces, [one[min(rank, len(one) - 1)] for one in parts], config, self.subwords,
                spaced=spaced,
            )
            for rank in range(max(map(len, parts)))
        )  # fmt: skip
        best = alternatives[0]
        flags = flags_of(job.sources, [one[0].hypothesis for one in parts], config)
        return Translation(line, best.text, best.score, alternatives, flags)

    def _score_window(self, pairs: Sequence[tuple[str, str]]) -> Iterator[ScoredPair]:
        sources = self.subwords.encode_source([src for src, _ in pairs])
        targets = self.subwords.encode_target([tgt for _, tgt in pairs])
        ids = list(zip(sources, targets, strict=True))
        for one in (self, *self.others):
            check_places(one.config, pairs, ids)
        scores = [
            [forced.token_scores for forced in force_pairs(one.model, ids)]
            for one in (self, *self.others)
        ]
        for number, (src, tgt) in enumerate(pairs):
            tokens = tuple(self.subwords.target_pieces(targets[number]))
            yield ScoredPair(src, tgt, tokens, mean_scores([one[number] for one in scores]))


def _longest_of(config: Config) -> int:
    model = config.model
    places = model.max_positions - 1 if model.positions == "learned" else LONGEST_PIECE
    return min(LONGEST_PIECE, places, config.data.max_length)
