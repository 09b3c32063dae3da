"""How a run is executed, decided from settings, device and ranks; no GPU is needed to ask."""

import pytest
import torch

from nmt_cli.config.schema import Config, with_values
from nmt_cli.errors import ConfigError
from nmt_cli.training.execution import plan as execution_plan
from nmt_cli.training.execution.plan import ExecutionPlan
from nmt_cli.training.state import TrainState

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six cores, of which torch uses four; a GPU on which no faster attention works."""
    monkeypatch.setattr(execution_plan, "usable_cores", lambda: 6)
    monkeypatch.setattr("torch.get_num_threads", lambda: 4)
    set_gpu_backend(monkeypatch, "fused")
    set_free_bytes(monkeypatch, 39 << 30)


def set_free_bytes(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda _: (count, 2 * count))


def set_gpu_backend(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    monkeypatch.setattr(
        execution_plan,
        "choose_backend",
        lambda device, *_: "native" if device == CPU else backend,
    )


def plan_of(
    device: torch.device = CPU,
    world_size: int = 1,
    resumed: TrainState | None = None,
    **values: object,
) -> ExecutionPlan:
    settings = {key.replace("__", "."): value for key, value in values.items()}
    return ExecutionPlan.of(with_values(Config(), settings), device, world_size, resumed)


def test_plan_on_a_cpu_computes_shards_in_threads() -> None:
    """25,000 tokens in passes of 4,096 / 4 are 25 shards, and a multiple of 4 threads 28."""
    assert plan_of(train__batch_tokens=25_000) == ExecutionPlan(
        backend="native", replicas=4, threads=4, micro_batch_tokens=1_024, shards=28, packed=False,
        compiled=False, separate_graphs=False, prefetched=False, subword_workers=6,
    )  # fmt: skip


def test_compiling_is_refused_where_attention_cannot_be_compiled(monkeypatch) -> None:
    compiled = with_values(Config(), {"train.compile": "on"})
    with pytest.raises(ConfigError, match=r"train\.compile=on cannot be used here.* a CPU"):
        execution_plan.check_compile(compiled, CPU)
    with pytest.raises(ConfigError, match="this GPU"):
        execution_plan.check_compile(compiled, CUDA)
    set_gpu_backend(monkeypatch, "tiles")
    execution_plan.check_compile(compiled, CUDA)
    execution_plan.check_compile(Config(), CPU)


def test_plan_on_gpus_packs_compiles_and_prefetches(monkeypatch) -> None:
    """25,000 tokens in passes of 8,192 are four shards, and a multiple of 3 ranks 6."""
    set_gpu_backend(monkeypatch, "tiles")
    assert plan_of(CUDA, world_size=3, train__batch_tokens=25_000) == ExecutionPlan(
        backend="tiles", replicas=1, threads=4, micro_batch_tokens=8_192, shards=6, packed=True,
        compiled=True, separate_graphs=True, prefetched=True, subword_workers=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("backend", "packed", "compiled"),
    [("fused", False, False), ("varlen", True, False), ("tiles", True, True)],
)
def test_attention_backend_decides_packing_and_compiling_unless_set(
    monkeypatch, backend: str, packed: bool, compiled: bool
) -> None:
    set_gpu_backend(monkeypatch, backend)
    for packing, compiling, expected in (
        ("auto", "auto", (packed, compiled)),
        ("packed", "on", (True, True)),
        ("packed", "off", (True, False)),
        ("sorted", "off", (False, False)),
        # Only packed batches are compiled.
        ("sorted", "auto", (False, False)),
    ):
        plan = plan_of(CUDA, train__packing=packing, train__compile=compiling)
        assert (plan.packed, plan.compiled) == expected, (packing, compiling)


@pytest.mark.parametrize("kind", ["rnn", "conv"])
def test_backends_of_the_transformer_are_not_asked_for_other_models(monkeypatch, kind: str) -> None:
    set_gpu_backend(monkeypatch, "tiles")
    plan = plan_of(CUDA, model__kind=kind)
    assert (plan.backend, plan.packed, plan.compiled) == ("fused", False, False)


@pytest.mark.parametrize(
    ("values", "replicas"),
    [
        ({}, 4),
        ({"train__parallel_shards": 2}, 2),
        ({"train__parallel_shards": 9}, 4),
        ({"train__batch_tokens": 600}, 2),
        ({"train__deterministic": True}, 1),
        ({"train__compile": "on"}, 1),
    ],
)
def test_replicas_follow_threads_settings_and_batch(values: dict, replicas: int) -> None:
    assert plan_of(**values).replicas == replicas
    assert plan_of(CUDA, **values).replicas == 1


def test_ranks_share_the_batch_between_their_replicas() -> None:
    assert plan_of(train__batch_tokens=1_200).replicas == 4
    assert plan_of(world_size=2, train__batch_tokens=1_200).replicas == 2


@pytest.mark.parametrize(
    ("device", "values", "expected"),
    [
        (CPU, {"train__parallel_shards": 1}, (4_096, 7)),
        # Two replicas together need the memory of one pass.
        (CPU, {"train__parallel_shards": 2}, (2_048, 14)),
        (CPU, {"train__parallel_shards": 2, "train__micro_batch_tokens": 5_000}, (5_000, 6)),
        (CUDA, {"train__micro_batch_tokens": 5_000}, (5_000, 5)),
        (CUDA, {"train__micro_batch_tokens": 5_000, "train__deterministic": True}, (5_000, 8)),
        (torch.device("meta"), {}, (4_096, 7)),
    ],
)
def test_shards_follow_from_micro_batches(device, values: dict, expected: tuple[int, int]) -> None:
    plan = plan_of(device, train__batch_tokens=25_000, **values)
    assert (plan.micro_batch_tokens, plan.shards) == expected


def test_passes_are_larger_on_gpus_with_much_free_memory(monkeypatch) -> None:
    """One pass of 25,000 tokens; the rank with the least memory decides for all."""
    set_free_bytes(monkeypatch, 41 << 30)
    plan = plan_of(CUDA, train__batch_tokens=25_000)
    assert (plan.micro_batch_tokens, plan.shards) == (32_768, 1)
    config = with_values(Config(), {"train.batch_tokens": 25_000})
    plan = ExecutionPlan.of(config, CUDA, 3, None, lambda value: min(value, 20 << 30))
    assert (plan.micro_batch_tokens, plan.shards) == (8_192, 6)
    plan = plan_of(CUDA, train__batch_tokens=25_000, train__micro_batch_tokens=5_000)
    assert (plan.micro_batch_tokens, plan.shards) == (5_000, 5)
    # With one pass, several ranks could not give the bits of one.
    plan = plan_of(CUDA, train__batch_tokens=25_000, train__deterministic=True)
    assert (plan.micro_batch_tokens, plan.shards) == (8_192, 4)


def test_resumed_run_keeps_its_shards_and_its_packing(monkeypatch) -> None:
    """Its batches stay the same on another machine; everything else follows from that machine."""
    begun_on_gpus = TrainState(shards=5, packed=True)
    plan = plan_of(CPU, 2, begun_on_gpus, train__batch_tokens=25_000, train__compile="on")
    assert (plan.shards, plan.packed, plan.compiled) == (5, True, True)
    assert (plan.backend, plan.prefetched) == ("native", False)
    set_gpu_backend(monkeypatch, "tiles")
    plan = plan_of(CUDA, 1, TrainState(shards=3, packed=False), train__batch_tokens=25_000)
    assert (plan.shards, plan.packed, plan.compiled) == (3, False, False)
    assert (plan.backend, plan.prefetched) == ("tiles", True)


@pytest.mark.parametrize(
    ("device", "deterministic", "prefetched"),
    [(CPU, False, False), (CUDA, False, True), (CUDA, True, False)],
)
def test_prefetching_is_used_on_gpus_only(device, deterministic: bool, prefetched: bool) -> None:
    assert plan_of(device, train__deterministic=deterministic).prefetched is prefetched


@pytest.mark.parametrize(("world_size", "workers"), [(1, 6), (4, 1), (8, 1)])
def test_ranks_share_the_cores_that_segment_sentences(world_size: int, workers: int) -> None:
    assert plan_of(world_size=world_size).subword_workers == workers


def test_plan_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        plan_of().shards = 2  # type: ignore[misc]
