"""The cost of a run: counted work, and its share of the stated peak of the GPUs."""

import numpy as np
import torch

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.flops import training_flops
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.state import TrainState

# Dense bf16 products with float32 sums, in TFLOP/s as the vendor states them, by torch's device
# name: half of what data sheets give "with sparsity"; docs/training.md names the sources.
PEAK_TFLOPS = {
    "NVIDIA B200": 2_250.0,
    "NVIDIA GH200 480GB": 989.4,
    "NVIDIA H200": 989.4,
    "NVIDIA H100 80GB HBM3": 989.4,
    "NVIDIA H100 NVL": 835.0,
    "NVIDIA H100 PCIe": 756.0,
    "NVIDIA A100-SXM4-80GB": 312.0,
    "NVIDIA A100-SXM4-40GB": 312.0,
    "NVIDIA A100 80GB PCIe": 312.0,
    "NVIDIA A100-PCIE-40GB": 312.0,
    "NVIDIA A40": 149.7,
    "NVIDIA L40S": 362.0,
    "NVIDIA L4": 121.0,
    "NVIDIA RTX A6000": 154.8,
    "NVIDIA GeForce RTX 4090": 165.2,
    "NVIDIA GeForce RTX 3090": 71.0,
}


def peak_flops(device: torch.device) -> float | None:
    """The peak operations per second of `device`; None if it is not known, as for every CPU."""
    if device.type != "cuda":
        return None
    tera = PEAK_TFLOPS.get(torch.cuda.get_device_name(device))
    return None if tera is None else tera * 1e12


def devices(ranks: Ranks) -> str:
    """The devices of a run, such as `8 x NVIDIA H200`; `CPU` for any number of CPU processes."""
    if ranks.device.type != "cuda":
        return ranks.device.type.upper()
    return f"{ranks.world_size} x {torch.cuda.get_device_name(ranks.device)}"


def step_flops(config: Config, plan: BatchPlan, position: Position) -> float:
    """Counted work of the global batch at `position`, on all ranks together."""
    return pairs_flops(config, plan, plan.epoch(position.epoch).pairs(position.batch))


def pairs_flops(config: Config, plan: BatchPlan, pairs: np.ndarray) -> float:
    """Counted work of these pairs, (n,) ids, in the epoch that the plan was last asked for."""
    work = training_flops(config.model, plan.src_lengths[pairs], plan.tgt_lengths[pairs])
    return work * (2 if config.train.r_drop else 1)


def add_cost(run: Run, position: Position, seconds: float) -> None:
    """Add the cost of the step just taken on `position`, which took so long, to `run.state`."""
    peak = peak_flops(run.ranks.device)
    run.state.add_cost(
        seconds,
        step_flops(run.config, run.plan, position),
        None if peak is None else seconds * run.ranks.world_size * peak,
    )


def peak_share(state: TrainState) -> float | None:
    """Counted work as a share of what the GPUs could have done in the time of the steps."""
    return state.flops / state.peak_flops if state.peak_flops else None
