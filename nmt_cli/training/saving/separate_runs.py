"""Tells whether models that are averaged are of one run, such as a run and a copy of it."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from nmt_cli.model_dir import load_config
from nmt_cli.storage.output_directory import LOG

# The cosine of the weights of two models from which on they are of one run. In small models it was
# 0.95 and more within the second half of a run, 0 between runs of other seeds, and 0.5 to 0.86
# between runs of one seed on other data, which began with the same weights.
CLOSE = 0.9
MOST_BYTES = 1 << 16


def separate_runs(
    members: Iterable[Path],
    model_of: Callable[[Path], Path],
    read: Callable[[Path], Mapping[str, Tensor]],
) -> list[Path]:
    """One model directory of each run that `members` are of; empty where this is a single run.

    Empty, too, for runs that all began with the weights of the same model (train.init_from): these
    may be averaged. model_of: the model directory of a checkpoint or model; read: its weights.
    """
    by_model = {model_of(member).resolve(): member for member in members}
    models = {member: model_of(member) for member in by_model.values()}
    beginnings = {load_config(model).train.init_sha256 for model in models.values()}
    if len(models) == 1 or (len(beginnings) == 1 and "" not in beginnings):
        return []
    runs: list[Path] = []
    for member in models:
        if not any(_is_one_run(member, other, model_of, read) for other in runs):
            runs.append(member)
    return [models[member] for member in runs] if len(runs) > 1 else []


def _is_one_run(
    member: Path,
    other: Path,
    model_of: Callable[[Path], Path],
    read: Callable[[Path], Mapping[str, Tensor]],
) -> bool:
    """By the logs, as the first report of a run has its times; without two logs by the weights."""
    first, second = (_first_report(model_of(path)) for path in (member, other))
    if first and second:
        return first == second
    return _cosine(read(member), read(other)) >= CLOSE


def _first_report(model: Path) -> bytes:
    """The first line of the log of a run; empty where the directory has none."""
    try:
        with (model / LOG).open("rb") as file:
            return file.readline(MOST_BYTES).strip()
    except OSError:
        return b""


def _cosine(weights: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> float:
    """The cosine of the matrices of two models of one shape, taken as one vector each.

    Gains and biases begin with the same values in every run.
    """
    product = length = other_length = 0.0
    for name, weight in weights.items():
        if weight.dim() > 1:
            product += _product(weight, others[name])
            length += _product(weight, weight)
            other_length += _product(others[name], others[name])
    return product / math.sqrt(length * other_length) if length and other_length else 0.0


def _product(weight: Tensor, other: Tensor) -> float:
    return float(torch.dot(weight.flatten().float(), other.flatten().float()))
