"""The model directory: saving, loading and checking it.

::

    config.toml          complete settings, format = 1
    subwords/            source.*, target.* where they differ, vocabulary.json
    model.safetensors    weights, float32, tied ones once; its header holds their metadata
    text.safetensors     what is usual in the training text, see data/corpus/text_statistics.py
    shortlist.safetensors   after `nmt shortlist`: the words that may translate each word
    manifest.json        size and SHA-256 of the files above
    checkpoints/, log.jsonl   of training; not in the manifest, not needed to translate

Loading executes no code from the directory: nothing is unpickled.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import safetensors

from nmt_cli.config.schema import MAX_BYTES, Config, dump, parse_layer, resolve
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.corpus.text_statistics import TEXT, TextStatistics
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError, DataError, ModelChangedError, NoInputError
from nmt_cli.model_weights import (
    LazyWeights,
    ReplacedError,
    model_of,
    open_weights,
    read_weights,
    weight_bytes,
)
from nmt_cli.storage import files, locks, manifest
from nmt_cli.storage.model_check import CONFIG as CONFIG
from nmt_cli.storage.model_check import CORPUS as CORPUS
from nmt_cli.storage.model_check import WEIGHTS as WEIGHTS
from nmt_cli.storage.model_check import is_model_directory as is_model_directory
from nmt_cli.storage.model_check import no_weights_error, require_model_directory

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from nmt_cli.model.encoder_decoder import EncoderDecoder

SUBWORDS = "subwords"
# While another process publishes new weights, loading is tried this often and for this long.
ATTEMPTS = 5
MAX_RETRY_SECONDS = 10.0


@dataclass(frozen=True)
class StoredModel:
    """The content of a model directory, which is read without torch.

    weights: by name, float32; digest: the SHA-256 of their file; otherwise as in `LoadedModel`.
    """

    directory: Path
    config: Config
    subwords: Subwords
    weights: MutableMapping[str, np.ndarray]
    metadata: dict[str, str]
    digest: str
    text: TextStatistics | None = None

    def make_model(self) -> "EncoderDecoder":
        """The model in torch, in evaluation mode; it shares the memory of the weights."""
        return model_of(self.config.model, self.weights).eval()

    def loaded(self, device: "torch.device | str" = "cpu") -> "LoadedModel":
        """The same with the model in torch."""
        model = self.make_model().to(device)
        return LoadedModel(
            model, self.config, self.subwords, self.metadata, self.text, self.directory
        )

    def without_weights(self) -> "StoredModel":
        """The same, without the weights, which take memory."""
        return replace(self, weights={})

    def again(self) -> "StoredModel":
        """The same model, read again.

        Raises ModelChangedError if it has other weights now, or cannot be read any more.
        """
        if not self.directory.is_dir():
            raise ModelChangedError(
                f"`{self.directory}` was there when it was loaded, and is not any more",
                "put it back, or load another model",
            )
        try:
            stored = read_model(self.directory)
        except (DataError, NoInputError, ConfigError) as error:
            raise ModelChangedError(error.message, error.hint) from error
        if stored.digest != self.digest:
            raise ModelChangedError(
                f"`{self.directory}` has other weights now than when it was loaded: "
                "`nmt train` has published better ones",
                "run the command again (in Python: load the model again)",
            )
        return stored


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model directory.

    metadata: step, validation score and signature, as texts. text: what is usual in its training
    text; None where that was not measured, as by older versions. directory: where it was loaded
    from; None for a model that was not loaded.
    """

    model: "EncoderDecoder"
    config: Config
    subwords: Subwords
    metadata: dict[str, str]
    text: TextStatistics | None = None
    directory: Path | None = None


def save_model(
    directory: Path,
    weights: "Mapping[str, Tensor]",
    config: Config,
    subwords: Subwords,
    metadata: Mapping[str, str],
    *,
    text: TextStatistics | None = None,
) -> None:
    """Write a model directory; if `weights` is empty, `refresh_weights` adds them later.

    text: what is usual in the training text, where that is known.

    A new directory appears completely or not at all. Into an existing directory the files are
    written one by one, config.toml last, which makes it a model directory.
    """
    contents = _contents(weights, config, subwords, metadata, text)
    if directory.exists():
        files.make_directory(directory / SUBWORDS)
        for name, data in contents:
            manifest.add_to_manifest(directory, name, data)
        return
    with manifest.replacing(directory, if_exists=False) as new:
        files.make_directory(new / SUBWORDS)
        for name, data in contents:
            files.write_bytes(new / name, data)


def _contents(
    weights: "Mapping[str, Tensor]",
    config: Config,
    subwords: Subwords,
    metadata: Mapping[str, str],
    text: TextStatistics | None,
) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each file, one file at a time."""
    for name, data in subwords.contents():
        yield f"{SUBWORDS}/{name}", data
    if weights:
        yield WEIGHTS, weight_bytes(weights, metadata)
    if text is not None:
        yield TEXT, text.to_bytes()
    yield CONFIG, dump(config).encode("utf-8")


def read_metadata(directory: Path) -> dict[str, str]:
    """The metadata of the weights of a model directory; empty where it has no weights yet."""
    path = directory / WEIGHTS
    if not path.is_file():
        return {}
    try:
        with safetensors.safe_open(path, framework="np") as tensors:
            return dict(tensors.metadata() or {})
    except safetensors.SafetensorError as error:
        raise DataError(f"`{path}` is damaged: {error}", "copy the directory again") from error


def save_search(directory: Path, search: SearchConfig) -> None:
    """Replace the search settings of a model directory; its other files stay as they are.

    Raises the errors of `load_config`, TryAgainError while `nmt train` writes the directory, and
    CannotCreateError if it cannot be written.
    """
    with locks.locked(directory, "wait for it, or interrupt it: the training can be resumed"):
        config = replace(load_config(directory), search=search)
        manifest.add_to_manifest(directory, CONFIG, dump(config).encode("utf-8"))


def refresh_weights(
    directory: Path, weights: "Mapping[str, Tensor]", metadata: Mapping[str, str]
) -> None:
    """Replace the weights of a model directory, which stays valid at every moment."""
    manifest.add_to_manifest(directory, WEIGHTS, weight_bytes(weights, metadata))


def load_model(directory: Path, device: "torch.device | str" = "cpu") -> LoadedModel:
    """Check and load a model directory; the model is in evaluation mode.

    Raises the errors of `read_model`.
    """
    return read_model(directory).loaded(device)


def _nowhere(_: str) -> bool:
    return False


def read_model(
    directory: Path, is_known: Callable[[str], bool] = _nowhere, *, lazily: bool = False
) -> StoredModel:
    """Check and read a model directory.

    is_known: gets the SHA-256 of the file of weights, which need not be read if it returns true:
    they are checked, and the result has no `weights`. lazily: to save memory, each weight is read
    when it is first asked for, which may raise the errors below.

    Raises NoInputError (missing, or no weights yet), DataError (damaged) and ConfigError (not a
    model directory, of a newer version, or weights that do not fit the settings).
    """
    with _report_unreadable(directory):
        start, attempts = time.monotonic(), 0
        while True:
            attempts += 1
            is_last = attempts >= ATTEMPTS and time.monotonic() - start > MAX_RETRY_SECONDS
            before = _manifest_bytes(directory)
            try:
                return _read(directory, is_known, lazily)
            except DataError as error:
                # Training may have published new weights between the manifest and the file.
                replaced = isinstance(error, ReplacedError)
                if is_last or not (replaced or _manifest_bytes(directory) != before):
                    raise


@contextlib.contextmanager
def _report_unreadable(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        name = error.filename or directory
        raise NoInputError(f"`{name}` cannot be read: {error.strerror or error}") from error


def _manifest_bytes(directory: Path) -> bytes:
    path = directory / manifest.MANIFEST
    return path.read_bytes() if path.is_file() else b""


def _read(directory: Path, is_known: Callable[[str], bool], lazily: bool) -> StoredModel:
    config = _load_config(directory)
    entries = manifest.read_manifest(directory)
    if WEIGHTS not in entries:
        raise no_weights_error(directory)
    # Hashing the weights takes as long as everything else: both run at the same time.
    listed = str(entries[WEIGHTS]["sha256"])
    known = is_known(listed)
    with open_weights(directory / WEIGHTS) as weights, ThreadPoolExecutor(1) as executor:
        checked = executor.submit(manifest.check_open_file, directory, WEIGHTS, weights)
        try:
            subwords = _load_subwords(directory, config)
            arrays: MutableMapping[str, np.ndarray]
            if lazily and not known:
                arrays = lazy = LazyWeights(weights, config)
                metadata = lazy.metadata
            else:
                arrays, metadata = read_weights(weights, config, checks_only=known)
            text = TextStatistics.load(directory)
        finally:
            # Damage of the file is reported rather than the error it caused.
            digest = checked.result()
    if known and digest != listed:
        # Training replaces the weights: the manifest lists two contents.
        return _read(directory, _nowhere, lazily)
    return StoredModel(directory, config, subwords, arrays, metadata, digest, text)


def has_weights(directory: Path) -> bool:
    """Whether a model directory has weights: training adds them at its first validation."""
    return WEIGHTS in manifest.read_manifest(directory)


def load_subwords(directory: Path) -> Subwords:
    """The subwords of a model directory, checked; raises as `load_model` does."""
    with _report_unreadable(directory):
        return _load_subwords(directory, _load_config(directory))


def _load_subwords(directory: Path, config: Config) -> Subwords:
    def read(path: Path, _: str, max_bytes: int) -> bytes:
        return manifest.read_checked(directory, f"{SUBWORDS}/{path.name}", max_bytes)

    subwords = Subwords.load(directory / SUBWORDS, read)
    _check_vocabulary(directory, config, subwords)
    return subwords


def load_config(directory: Path) -> Config:
    """The settings of a model directory, checked; raises as `load_model` does."""
    with _report_unreadable(directory):
        return _load_config(directory)


def _load_config(directory: Path) -> Config:
    require_model_directory(directory)
    data = manifest.read_checked(directory, CONFIG, MAX_BYTES)
    return resolve([parse_layer(data, directory / CONFIG)]).config


def _check_vocabulary(directory: Path, config: Config, subwords: Subwords) -> None:
    """Raise ConfigError unless settings and subwords have the same ids."""
    model = config.model
    pairs = {
        "src_vocab_size": (model.src_vocab_size, subwords.src_size),
        "tgt_vocab_size": (model.tgt_vocab_size, subwords.tgt_size),
        "unk_id": (model.unk_id, subwords.unk_id),
        "eos_id": (model.eos_id, subwords.eos_id),
    }
    wrong = [
        f"model.{name}={configured}, but the subwords have {actual}"
        for name, (configured, actual) in pairs.items()
        if configured != actual
    ]
    special = {
        "pad_id": model.pad_id, "unk_id": model.unk_id, "bos_id": model.bos_id,
        "eos_id": model.eos_id, "start_id": model.start_id, "banned_ids": model.banned_ids,
    }  # fmt: skip
    for name, ids in special.items():
        largest = max(ids, default=0) if isinstance(ids, tuple) else ids
        if isinstance(largest, int) and largest >= subwords.tgt_size:
            wrong.append(f"model.{name}={largest} is beyond the vocabulary of {subwords.tgt_size}")
    if wrong:
        raise ConfigError(
            f"`{directory}`: {'; '.join(wrong)}", "its files are of different models: copy it again"
        )
