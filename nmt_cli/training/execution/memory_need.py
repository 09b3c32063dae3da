"""Whether training fits into the memory of a machine without a GPU, checked before it starts."""

from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.errors import UnavailableError
from nmt_cli.model.kinds import count_parameters
from nmt_cli.model.shapes import stack_depths
from nmt_cli.plurals import counted
from nmt_cli.training.execution.plan import MICRO_BATCH_TOKENS

GB = 1_000_000_000
# Python and torch without a model (155 MB that are not shared with other processes, measured after
# the imports), and what a step needs for every model.
BASE_BYTES = 250_000_000
BYTES_PER_NUMBER = 4
# Streams of a layer that are kept for the backward pass, of the width d_model: inputs of the
# sublayers, queries, keys, values, and the output of attention. One more has the width d_ff.
ENCODER_STREAMS = 6
DECODER_STREAMS = 11
# Batches are fuller than this, but for the last ones.
FILLED = 0.8


class CorpusTokens(NamedTuple):
    """Tokens of all training pairs on each side."""

    src: int
    tgt: int


def memory_needed(config: Config, processes: int, corpus: CorpusTokens) -> int:
    """Bytes that this many CPU processes need at least; `config` has the vocabulary sizes.

    Each process holds BASE_BYTES and, of each parameter, 4 bytes for the weight, 4 for the gradient
    and 8 for both moments of Adam (schedule_free keeps as many numbers; Muon one for a matrix, so
    it is counted with 4), and what the layers of a Transformer keep for the backward pass. The
    first process also holds the moving average, where there is one. Not counted are the loss, the
    corpus, gradients of further threads, and copies that are made for checkpoints. So a run that by
    this estimate needs more than is available cannot fit; one that needs less may still not fit.
    """
    parameters = count_parameters(config.model)
    copies = 3 if config.train.optimizer == "muon" else 4
    per_process = BASE_BYTES + BYTES_PER_NUMBER * copies * parameters
    per_process += _kept_for_backward(config, processes, corpus)
    return processes * per_process + (BYTES_PER_NUMBER * parameters if config.train.ema else 0)


def _kept_for_backward(config: Config, processes: int, corpus: CorpusTokens) -> int:
    """Bytes that the layers keep of a micro-batch from the forward to the backward pass."""
    model, train = config.model, config.train
    if model.kind != "transformer":
        return 0
    micro_batch = train.micro_batch_tokens
    limit = MICRO_BATCH_TOKENS["cpu"] if micro_batch == "auto" else micro_batch
    capacity = min(limit, train.batch_tokens // processes)
    # Batches are as long as their longer side: the other one has fewer tokens.
    longer_side = max(1, *corpus)
    src, tgt = (FILLED * min(capacity, longer_side) * tokens / longer_side for tokens in corpus)
    encoder_layers, decoder_layers = stack_depths(model)
    numbers = src * encoder_layers * (ENCODER_STREAMS * model.d_model + model.d_ff)
    numbers += tgt * decoder_layers * (DECODER_STREAMS * model.d_model + model.d_ff)
    # `fast` may be bf16.
    return int(numbers * (BYTES_PER_NUMBER if train.precision in ("float32", "split") else 2))


def require_memory(
    config: Config, processes: int, corpus: CorpusTokens, available: int | None
) -> None:
    """Raises UnavailableError where this many CPU processes need more than `available` bytes.

    available: None if it is not known; then nothing is refused.
    """
    needed = memory_needed(config, processes, corpus)
    if available is None or needed <= available:
        return
    single = memory_needed(config, 1, corpus)
    share = f" ({needed / processes / GB:.1f} GB each)" if processes > 1 else ""
    hints = ["a smaller preset (`nmt config presets` compares them), such as `--preset small`"]
    without_activations = single - _kept_for_backward(config, 1, corpus)
    if config.train.micro_batch_tokens == "auto" and without_activations <= available < single:
        hints.append("smaller passes: `--set train.micro_batch_tokens=1000`")
    if single <= available:
        fitting = max(
            count
            for count in range(1, processes)
            if memory_needed(config, count, corpus) <= available
        )
        hints.insert(0, f"fewer processes: `--gpus {fitting}` at most")
    raise UnavailableError(
        f"training preset {config.train.preset} in {counted(processes, 'CPU process')} needs at "
        f"least {needed / GB:.1f} GB of memory{share}, but {available / GB:.1f} GB are available",
        "; or ".join(hints),
    )
