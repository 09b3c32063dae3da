"""Fine-tuning: training that begins with the published weights of a finished model.

The model is only read. Nothing here loads torch at import.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.layout import SUBWORDS as CORPUS_SUBWORDS
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError, TryAgainError
from nmt_cli.model_dir import WEIGHTS, load_subwords, read_model
from nmt_cli.storage import files, manifest
from nmt_cli.storage.model_check import (
    is_model_directory,
    no_weights_error,
    require_model_directory,
)

if TYPE_CHECKING:
    from nmt_cli.model.encoder_decoder import EncoderDecoder

# Hexadecimal digits of a SHA-256 that fit into a signed integer of 64 bits.
DIGITS = 15
# Entries that an imported model never generates have a bias of -1e9. Label smoothing would add a
# multiple of it to the loss; this one excludes them as well.
LOWEST_BIAS = -100.0


def published_digest(model: Path) -> str:
    """The SHA-256 of a model's published weights, as its manifest lists it.

    Raises NoInputError or ConfigError if it is no model, or has no weights yet.
    """
    require_model_directory(model)
    entries = manifest.read_manifest(model)
    if WEIGHTS not in entries:
        raise no_weights_error(model, ", with which training could begin")
    if "next" in entries[WEIGHTS]:
        # A training is replacing them, or was killed while it did.
        return files.sha256_of(model / WEIGHTS)
    return str(entries[WEIGHTS]["sha256"])


def require_same_subwords(corpus: Path, model: Path) -> None:
    """Raise ConfigError if the corpus was not prepared with the vocabulary of the model."""
    own = dict(Subwords.load(corpus / CORPUS_SUBWORDS).contents())
    if own != dict(load_subwords(model).contents()):
        command = f"`nmt prepare --subwords-from {shlex.quote(str(model))} --out NEW`"
        raise ConfigError(
            f"`{corpus}` was prepared with another vocabulary than that of `{model}`, so training "
            "on it cannot begin with the weights of this model",
            f"prepare the text with that one: {command}, and train with --corpus NEW",
        )


def sentences_note(config: Config, corpus: Corpus) -> str:
    """A warning if the training text has lines of several sentences and the model's had none.

    Such lines are no longer split, which changes their translations; "" otherwise.
    """
    model = Path(config.train.init_from)
    if config.search.sentences != "auto" or not config.train.init_from or corpus.text is None:
        return ""
    earlier = TextStatistics.load(model) if is_model_directory(model) else None
    if earlier is None or not earlier.has_single_sentences or corpus.text.has_single_sentences:
        return ""
    return (
        f"{corpus.text.src.several_sentences:.0%} of the training lines have several sentences, "
        f"unlike those of `{config.train.init_from}`: such lines are translated as they are, "
        "before training, too, while that model translates each sentence on its own; "
        "--set search.sentences=split goes on with this"
    )


def load_starting_weights(
    model: "EncoderDecoder", train: TrainConfig, agree: Callable[[int], int]
) -> None:
    """Copy the weights of the model directory `train.init_from` into `model`.

    Biases below `LOWEST_BIAS` are raised to it.
    agree: the largest value that any rank passes to it; all ranks must read the same weights.
    Raises the errors of `read_model`, DataError if the weights do not fit, and TryAgainError if
    they are not those of `train.init_sha256`.
    """
    import torch

    from nmt_cli.training.saving.tensor_files import copy_weights

    source = Path(train.init_from)
    stored = read_model(source)
    expected = train.init_sha256 or stored.digest
    number = int(stored.digest[:DIGITS], 16)
    same_everywhere = agree(number) == number
    # Every rank raises, or none.
    if agree(int(stored.digest != expected or not same_everywhere)):
        raise TryAgainError(
            f"`{source}` has other weights now than when this run began",
            "wait until no training writes to it, and use another --out for a new run",
        )
    copy_weights(model, {name: torch.from_numpy(array) for name, array in stored.weights.items()})
    if model.output_bias is not None:
        with torch.no_grad():
            model.output_bias.clamp_(min=LOWEST_BIAS)
