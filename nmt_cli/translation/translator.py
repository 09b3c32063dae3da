"""The Translator, which translates lines; `nmt translate` and Python users call it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache as called_once
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.lexical.shortlist import Shortlist
from nmt_cli.data.markup.inline import with_placeholders
from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError
from nmt_cli.inference.engines import Engine, find_device, is_cpu, reference_engine
from nmt_cli.inference.forced_pairs import Forcer
from nmt_cli.installation import announce_torch, require_torch
from nmt_cli.machine import cache_folder
from nmt_cli.model_dir import read_model
from nmt_cli.translation.callers.exclusive_use import ExclusiveUse
from nmt_cli.translation.callers.line_translator import LineTranslator
from nmt_cli.translation.calls import SearchOptions, chosen_settings, require_precision
from nmt_cli.translation.constraints import (
    NO_CONSTRAINTS,
    BoundConstraints,
    Constraints,
    check_constraints,
)
from nmt_cli.translation.ensemble_members import EnsembleMember, check_members, joint_engine
from nmt_cli.translation.lines.inputs import max_subwords, no_shortlist, source_repair
from nmt_cli.translation.lines.line_search import LineSearch, Request
from nmt_cli.translation.lines.outputs import HypothesisSelector
from nmt_cli.translation.lines.searcher_cache import SearcherCache, Searchers
from nmt_cli.translation.lines.source_search import SourceSearch
from nmt_cli.translation.markup.marked_search import MarkedSearch
from nmt_cli.translation.markup.results import MarkedTranslation
from nmt_cli.translation.markup.window import markup_translator
from nmt_cli.translation.models import GivenModel, StoredCpuModel, gpu_model
from nmt_cli.translation.quality.checker import Confidence, QualityChecker
from nmt_cli.translation.quality.retry import OnProgress, with_retry
from nmt_cli.translation.result import Translation
from nmt_cli.translation.scoring import ScoredPair, force_members, score_pairs
from nmt_cli.translation.terms.placement import TermPlacer

if TYPE_CHECKING:
    import torch

    from nmt_cli.model.encoder_decoder import EncoderDecoder


def _ignore(_: float) -> None:
    """No progress is shown."""


class Translator(LineTranslator[SearchConfig]):
    """A model with its subwords and settings, or an ensemble of such models.

    Several threads may call it; one window of lines is translated at a time.
    """

    def __init__(
        self,
        model: "EncoderDecoder | GivenModel | StoredCpuModel",
        config: Config,
        subwords: Subwords,
        engine: "Callable[[EncoderDecoder], Engine]" = reference_engine,
        others: Sequence["Translator"] = (),
        shortlist: Callable[[], Shortlist] = no_shortlist,
        path: Path | None = None,
        text: TextStatistics | None = None,
        confidence: Confidence | None = None,
    ) -> None:
        """`model`, in torch, is put into evaluation mode and stays on its device.

        engine: makes the engine that runs a model in torch; the reference engine follows changes
        of its weights. others: the other members of an ensemble, with the same vocabularies; their
        probabilities and those of `model` are averaged. shortlist: loads the shortlist of the
        model, when the settings of a search ask for one. path: where the model was loaded from.
        text: what is usual in the training text, which decides whether lines are split into
        sentences, and with `confidence`, what is usual in the validation, which translations are
        flagged.
        """
        if not isinstance(model, GivenModel | StoredCpuModel):
            model = GivenModel(model.eval(), engine(model))
        self._model = model
        self._path = path
        self.config = config
        self.subwords = subwords
        self.quality = QualityChecker(
            (config.languages.src, config.languages.tgt), text, confidence
        )
        self.others = tuple(others)
        members = [EnsembleMember(member.config, member.subwords) for member in (self, *others)]
        check_members(members)
        own = model.engine
        self.engine: Engine = (
            joint_engine([own, *(other.engine for other in others)]) if others else own
        )
        self._shortlist = called_once(shortlist)
        self._line_search = self._make_line_search(SearcherCache(self.engine))
        self._markup = markup_translator(
            partial(self.forcer_for, "the word alignment that puts tags in their places"),
            subwords,
            config.languages.tgt,
            lambda lines, search: self.translate_window(lines, search=search),
        )
        unconstrained = BoundConstraints(NO_CONSTRAINTS, subwords, config.languages)
        self._kept = self._bound = NO_CONSTRAINTS, unconstrained
        self._place = model.device, model.precision
        self._use = ExclusiveUse(
            lambda: not self._place[0].startswith("cpu"),
            lambda: self.search_with(SearcherCache(self.engine)),
        )

    @classmethod
    def load(
        cls,
        path: Path | str,
        device: "torch.device | str" = "cpu",
        *,
        precision: str = "float32",
        cache: Path | Literal["auto"] | None = "auto",
        others: Sequence[Path | str] = (),
    ) -> "Translator":
        """Load the model in the directory `path`, or an ensemble of it and `others`.

        device: "cpu", "cuda" or "cuda:1". precision: "float32", "bf16", "int8" (CPU), "split"
        (CPU with AMX) or "fp16" (GPU). cache: the folder for nmt's compiled CPU kernels; "auto" is
        the user's cache folder, where compiling takes about 10 s once; with None, torch computes,
        which is slower. others: model directories with the same vocabularies. Raises NmtError for a
        missing, damaged or unsuitable model.
        """
        require_precision(precision)
        gpu = None if is_cpu(device) else find_device(device)
        if precision in ("int8", "split") and gpu is not None:
            hint = "use the device cpu, or the precision bf16"
            raise ConfigError(f"{precision} needs a CPU", hint)
        if precision == "fp16" and gpu is None:
            raise ConfigError("fp16 needs a GPU", "use the device cuda, or the precision bf16")
        if cache == "auto":
            cache = cache_folder()
        members = [cls.load(other, device, precision=precision, cache=cache) for other in others]
        model: GivenModel | StoredCpuModel
        if gpu is None:
            # The engine rounds the weights itself: the arithmetic is float32.
            model = StoredCpuModel(Path(path), cache, precision)
            stored = model.stored
        else:
            stored = read_model(Path(path))
            model = gpu_model(stored, gpu, precision)
        return cls(
            model, stored.config, stored.subwords, others=members,
            shortlist=partial(Shortlist.load, Path(path), stored.subwords),
            path=Path(path), text=stored.text,
            confidence=Confidence.parse(stored.metadata.get("confidence", "")),
        )  # fmt: skip

    def search_with(self, searchers: Searchers) -> None:
        """Search with these from now on, such as those of `translation.continuous`."""
        self._line_search = self._make_line_search(searchers)

    def _make_line_search(self, searchers: Searchers) -> LineSearch:
        """Make the search that turns lines into translations."""
        members = (self, *self.others)
        placer = TermPlacer(
            lambda pairs, *, attention=False: force_members(
                [member.forcer_for("the places of glossary terms") for member in members],
                pairs,
                attention=attention,
            ),
            self.subwords,
            self.config.languages.tgt,
        )
        source_search = SourceSearch(
            searchers, self.config.model.eos_id, self.subwords, self.shortlist_for, placer
        )
        return LineSearch(
            source_search,
            HypothesisSelector(self.forcer_for, self.subwords),
            self.subwords,
            self.quality,
            max_subwords(member.config for member in members),
            self.repair,
        )

    @property
    def repair(self) -> Callable[[str], str]:
        """The repair of cleaned source text, as the training text had it."""
        members = (self, *self.others)
        return source_repair(
            (member.config for member in members), (member.quality.text for member in members)
        )

    @property
    def name(self) -> str:
        """Its directory as messages name it; its languages if it was not loaded from one."""
        languages = self.config.languages
        return f"`{self._path}`" if self._path else f"the model {languages.src}-{languages.tgt}"

    @property
    def steps(self) -> tuple["Translator", ...]:
        """This translator alone."""
        return (self,)

    def close(self) -> None:
        """Free the memory of the models; to translate or score then raises ValueError."""
        self._use.close(self._free)
        for other in self.others:
            other.close()

    def _free(self) -> None:
        del self.engine, self._line_search, self._markup, self._model, self._shortlist

    def __repr__(self) -> str:
        """For example `Translator('model', en-fr, cpu, float32)`."""
        languages = self.config.languages
        parts = [f"{languages.src}-{languages.tgt}", *self._place]
        parts += [f"ensemble of {len(self.others) + 1}"] if self.others else []
        named = [] if self._path is None else [repr(str(self._path))]
        return f"Translator({', '.join([*named, *parts])})"

    @property
    def model(self) -> "EncoderDecoder":
        """The reference model in torch, loaded where the engine does not need it.

        Raises DataError where the weights in its directory have changed since, UnavailableError
        where torch is not installed.
        """
        require_torch("the reference model")
        announce_torch("the reference model")
        return self._model.reference

    @property
    def forcer(self) -> Forcer:
        """The reference model for scores and attention; raises DataError as `model` does."""
        return self.forcer_for("scores of given translations")

    def forcer_for(self, feature: str) -> Forcer:
        """The reference model; whoever listens is told if torch is imported for this feature."""
        announce_torch(feature)
        return self._model.forcer

    def _chosen(
        self, search: SearchConfig | None, options: SearchOptions, constraints: Constraints
    ) -> SearchConfig:
        chosen = chosen_settings(self.config, search, options)
        check_constraints(constraints, chosen)
        return chosen

    def _window(
        self,
        lines: Sequence[str],
        chosen: SearchConfig,
        constraints: Constraints,
        prefixes: Sequence[str] | None,
        first: int,
    ) -> list[Translation]:
        return self.translate_window(
            lines, search=chosen, constraints=constraints, prefixes=prefixes, first=first
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
        on_progress: OnProgress = _ignore,
    ) -> list[Translation]:
        """Translate some lines in one search; `first` is the index of the first line.

        every: the difference between the indices of two lines, where they are a part of a text;
        on_progress: called after each step of the search with the share of lines that are done.
        """
        config = search or self.config.search
        check_constraints(constraints, config)
        starts = prefixes or [""] * len(lines)
        requests = [
            Request(line, first + every * place, start)
            for place, (line, start) in enumerate(zip(lines, starts, strict=True))
        ]

        def translate(
            indices: Sequence[int], config: SearchConfig, progress: OnProgress
        ) -> list[Translation]:
            asked = [requests[index] for index in indices]
            search = self._search_with(config, constraints, progress)
            if config.markup == "off":
                return [searched.translation for searched in search.full(asked)]
            return self._markup.lines(asked, search)

        with self._use:
            return with_retry(
                len(lines), config, translate, lambda translation: translation, on_progress
            )

    def translate_marked(
        self,
        texts: Sequence[MarkedText],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        first: int = 0,
        on_progress: OnProgress = _ignore,
    ) -> list[MarkedTranslation]:
        """Translate texts with tags and placeholders in one search.

        The pieces of each translation have the tags and placeholders of its source. Placeholders
        in the words of a text are found by `search.markup=keep`. first: the index of the first
        text; on_progress: as for `translate_window`.
        """
        config = search or self.config.search
        check_constraints(constraints, config)

        def translate(
            indices: Sequence[int], config: SearchConfig, progress: OnProgress
        ) -> list[MarkedTranslation]:
            search = self._search_with(config, constraints, progress)
            chosen = [texts[index] for index in indices]
            if config.markup == "keep":
                chosen = [with_placeholders(text, search.kept) for text in chosen]
            return self._markup.texts(chosen, [first + index for index in indices], search)

        with self._use:
            return with_retry(
                len(texts), config, translate, lambda marked: marked.translation, on_progress
            )

    def _search_with(
        self, config: SearchConfig, constraints: Constraints, on_progress: OnProgress
    ) -> MarkedSearch:
        """The search with these settings and constraints."""
        return MarkedSearch(self._line_search, config, self.bind(constraints), on_progress)

    def bind(self, constraints: Constraints) -> BoundConstraints:
        """Encode constraints for this model; raises DataError for a term that it cannot spell."""
        for encoded, bound in (self._kept, self._bound):
            if encoded is constraints:
                return bound
        bound = BoundConstraints(
            constraints,
            self.subwords,
            self.config.languages,
            known=self._kept[1],
            repair=self.repair,
        )
        self._bound = constraints, bound
        return bound

    def keep_bound(self, constraints: Constraints) -> None:
        """Encode constraints once for all calls, as `bind` does for calls in a row."""
        self._kept = constraints, self.bind(constraints)

    def shortlist_for(self, search: SearchConfig) -> Shortlist | None:
        """The shortlist of a search with these settings; raises the errors of `Shortlist.load`.

        An ensemble uses that of its first member.
        """
        return self._shortlist() if search.shortlist else None

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[ScoredPair]:
        """Score given translations with the model, or with the mean of an ensemble, in order.

        Raises DataError for a pair that is longer than the learned positions of the model.
        """
        return self._use.each(score_pairs((self, *self.others), pairs))
