"""How products are computed: float32 by the faster library, or bf16 over float32 weights."""

import torch

# Rounding of float32 products of this length stays near 1e-6; bf16 products would show 1e-3.
PROBE_SIZE = 256
LARGEST_ERROR = 1e-5


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """bf16 arithmetic where `precision` says so; `auto` means on a GPU."""
    wanted = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted)


def use_fast_float32(device: torch.device) -> bool:
    """Send float32 products on a CPU to oneDNN where that keeps float32 accuracy; whether it did.

    torch's default library there does not use wide vectors on every CPU (1.1 to 2.3 times slower).
    The switch that reaches oneDNN also permits bf16 products on CPUs with matrix units, so the
    result is checked, and the default is kept where it is not float32's.
    """
    if device.type != "cpu" or torch.get_float32_matmul_precision() == "medium":
        return device.type == "cpu"
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(2, PROBE_SIZE, PROBE_SIZE, generator=generator)
    exact = left.double() @ right.double()
    error = ((left @ right).double() - exact).abs().max() / exact.abs().max()
    if error > LARGEST_ERROR:
        torch.set_float32_matmul_precision(before)
        return False
    return True
