"""Whether training fits into the memory of a machine without a GPU, checked before it starts."""

from nmt_cli.config.schema import Config
from nmt_cli.errors import UnavailableError
from nmt_cli.model.kinds import count_parameters
from nmt_cli.plurals import counted

GB = 1_000_000_000
# Python and torch without a model (155 MB that are not shared with other processes, measured after
# the imports), and what a step needs for every model.
BASE_BYTES = 250_000_000
BYTES_PER_NUMBER = 4


def memory_needed(config: Config, processes: int) -> int:
    """Bytes that this many CPU processes need at least; `config` has the vocabulary sizes.

    Each process holds BASE_BYTES and, of each parameter, 4 bytes for the weight, 4 for the gradient
    and 8 for both moments of Adam (schedule_free keeps as many numbers; Muon one for a matrix, so
    it is counted with 4). The first process also holds the moving average, where there is one.
    Not counted are activations, the corpus, gradients of further threads, and copies that are made
    for checkpoints. So a run that by this estimate needs more than is available cannot fit; one
    that needs less may still not fit.
    """
    parameters = count_parameters(config.model)
    copies = 3 if config.train.optimizer == "muon" else 4
    each = BASE_BYTES + BYTES_PER_NUMBER * copies * parameters
    return processes * each + (BYTES_PER_NUMBER * parameters if config.train.ema else 0)


def require_memory(config: Config, processes: int, available: int | None) -> None:
    """Raises UnavailableError where this many CPU processes need more than `available` bytes.

    available: None if it is not known; then nothing is refused.
    """
    needed = memory_needed(config, processes)
    if available is None or needed <= available:
        return
    per_process = memory_needed(config, 1)
    each = f" ({per_process / GB:.1f} GB each)" if processes > 1 else ""
    hints = ["a smaller preset (`nmt config presets` compares them), such as `--preset small`"]
    if per_process <= available:
        fitting = max(
            count for count in range(1, processes) if memory_needed(config, count) <= available
        )
        hints.insert(0, f"fewer processes: `--gpus {fitting}` at most")
    raise UnavailableError(
        f"training preset {config.train.preset} in {counted(processes, 'CPU process')} needs at "
        f"least {needed / GB:.1f} GB of memory{each}, but {available / GB:.1f} GB are available",
        "; or ".join(hints),
    )
