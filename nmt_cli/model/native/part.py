"""What the parts of a layer that have kernels in C share."""

from nmt_cli.machine import cache_folder
from nmt_cli.model.native.dropout import dropout_kernels
from nmt_cli.model.native.rows import row_kernels


class NativePart:
    """A module of torch that can compute in C on a CPU; native: do so while there are gradients."""

    native = False


def has_native_parts() -> bool:
    """Whether all kernels of NativeParts give correct numbers here; compiles them if needed."""
    return all(find(cache_folder()) is not None for find in (dropout_kernels, row_kernels))
