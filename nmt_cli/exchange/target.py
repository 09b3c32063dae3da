"""The interface of the formats that a model can be exported to."""

import importlib.metadata
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from nmt_cli.errors import UnavailableError
from nmt_cli.installation import install_command
from nmt_cli.model_dir import LoadedModel


class Reason(NamedTuple):
    """Why a format cannot hold a model, and what would have to be trained for it."""

    problem: str
    remedy: str


class SearchAdvice(NamedTuple):
    """How to search with the exported model in the other toolkit.

    options: that toolkit's own names and values. notes: search settings of the model that the
    toolkit does not have, in whole sentences.
    """

    options: dict[str, object]
    notes: tuple[str, ...]


class ForeignTranslator(Protocol):
    """An exported model, run by the library that it was exported for."""

    def source_ids(self, line: str) -> list[int]:
        """The ids of a line with EOS, made by the exported segmenter and vocabulary."""
        ...

    def log_prob(self, source: list[int], target: list[int]) -> float:
        """The log-probability of target ids given source ids; both end with EOS."""
        ...

    def translate(self, line: str, *, beam: int, length_penalty: float, max_length: int) -> str:
        """The translation of a line.

        length_penalty: the exponent of the length that divides the log-probability; max_length:
        the most subwords of the translation, without EOS.
        """
        ...


@runtime_checkable
class BatchTranslator(ForeignTranslator, Protocol):
    """A library that takes long to start: it does all lines at once."""

    def log_probs(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """The log-probability of each pair of source and target ids, like `log_prob`."""
        ...

    def translations(
        self, lines: Sequence[str], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[str]:
        """The translation of each line, like `translate`; limits: `max_length` of each."""
        ...


@runtime_checkable
class WordsTranslator(Protocol):
    """An engine that gives greedy translations, and no probabilities of given words."""

    def source_ids(self, line: str) -> list[int]:
        """The ids of a line with EOS, made by the exported segmenter and vocabulary."""
        ...

    def greedy_translations(self, lines: Sequence[str]) -> list[str]:
        """The greedy translation of each line."""
        ...


@runtime_checkable
class NeedsEngine(Protocol):
    """A format whose engine is no Python package."""

    def require_engine(self, hint: str) -> dict[str, str]:
        """The version of the engine; raises UnavailableError, with `hint` behind its own."""
        ...


class Target(Protocol):
    """A format that models are exported to."""

    @property
    def title(self) -> str:
        """The name of the toolkit, for messages."""
        ...

    @property
    def libraries(self) -> tuple[str, ...]:
        """The packages that write and run the format."""
        ...

    @property
    def extra(self) -> str:
        """The extra of nmt-cli that installs them."""
        ...

    @property
    def only_checks(self) -> bool:
        """Whether the packages only run the format, so that --no-check needs none of them."""
        ...

    @property
    def precisions(self) -> tuple[str, ...]:
        """The precisions of the exported weights, the default first."""
        ...

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """Every reason why the format cannot hold the model; empty if it can."""
        ...

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write the exported model into an existing, empty directory."""
        ...

    def open(self, directory: Path) -> ForeignTranslator | WordsTranslator:
        """Load what `write` wrote, with the library that it is for."""
        ...

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """How to search there as this model does here."""
        ...


class NeedsLibraries(Protocol):
    """A format whose models are run by packages that an extra of nmt-cli installs."""

    @property
    def title(self) -> str:
        """The name of the toolkit."""
        ...

    @property
    def libraries(self) -> tuple[str, ...]:
        """The names of the packages."""
        ...

    @property
    def extra(self) -> str:
        """The extra."""
        ...


def require_libraries(
    toolkit: NeedsLibraries, doing: str = "exporting to", hint: str = ""
) -> dict[str, str]:
    """The versions of the packages of a toolkit; raises UnavailableError if a library is missing.

    hint: what else the user can do.
    """
    if isinstance(toolkit, NeedsEngine):
        return toolkit.require_engine(hint)
    missing = [name for name in toolkit.libraries if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"{doing} {toolkit.title} needs the package {' and '.join(missing)}",
            f"{install_command(toolkit.extra)}{hint}",
        )
    return {name: version for module in toolkit.libraries for name, version in _versions(module)}


def _versions(module: str) -> list[tuple[str, str]]:
    """The names and versions of the packages that install a module.

    The module `onnxruntime` may come from the package onnxruntime-gpu, among others.
    """
    try:
        return [(module, importlib.metadata.version(module))]
    except importlib.metadata.PackageNotFoundError:
        names = sorted(set(importlib.metadata.packages_distributions().get(module, ())))
    if not names:
        return [(module, "unknown")]
    return [(name, importlib.metadata.version(name)) for name in names]
