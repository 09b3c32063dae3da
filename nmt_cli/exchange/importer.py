"""The interface of the formats that models are imported from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from torch import Tensor

from nmt_cli.config.schema import Config
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.exchange.target import ForeignTranslator


@dataclass(frozen=True)
class ImportOptions:
    """What the files of some toolkits do not say.

    src_lang, tgt_lang: language codes; None: as the files say. vocabularies: vocabulary or
    sentencepiece files, one for both languages or one for each.
    """

    src_lang: str | None = None
    tgt_lang: str | None = None
    vocabularies: tuple[Path, ...] = field(default=())


class ForeignModel(NamedTuple):
    """A model read from files of another toolkit.

    weights: float32, under our names; notes: what of its settings is left out here, in whole
    sentences; files: the files that were read.
    """

    config: Config
    subwords: Subwords
    weights: Mapping[str, Tensor]
    notes: tuple[str, ...]
    files: tuple[Path, ...]


class Importer(Protocol):
    """A format that models are imported from."""

    @property
    def title(self) -> str:
        """The name of the toolkit, for messages."""
        ...

    @property
    def libraries(self) -> tuple[str, ...]:
        """The packages that run the format, for the comparison."""
        ...

    @property
    def extra(self) -> str:
        """The extra of nmt-cli that installs them."""
        ...

    def matches(self, path: Path) -> bool:
        """Whether `path` looks like a model in this format."""
        ...

    def read(self, path: Path, options: ImportOptions) -> ForeignModel:
        """Read a model. Runs no code of it.

        Raises DataError (damaged files), NoInputError (missing files) and ConfigError (a model
        that cannot be represented here, with every reason).
        """
        ...

    def open(self, path: Path, options: ImportOptions) -> ForeignTranslator | None:
        """Load the model with its own toolkit; None if no library can run it here."""
        ...
