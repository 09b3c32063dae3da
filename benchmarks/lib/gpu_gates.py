"""Correctness before speed: what is about to be timed computes what the paper's formulas say."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from lib.gpu_parts import KINDS_OF_ATTENTION, Streams, make_streams
from lib.gpu_setup import NEVER, Setup, attempt, relative_error, training
from lib.measure import Json
from lib.sentences import random_corpus
from lib.settings import make_config
from nmt_cli.batch import Segments
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.model.attention import scaled_dot_product_attention
from nmt_cli.model.backends.dispatch import BACKENDS, choose_backend, use_backend
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.shapes import head_widths
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy, linear_cross_entropy
from nmt_cli.training.setup import complete
from nmt_cli.training.step import shard_loss, start_id

# Relative errors allowed, by the precision that is computed in.
LIMITS = {torch.bfloat16: 1e-2, torch.float32: 1e-4}
CURVE_STEPS = 20
SMALL_VOCABULARY = 1_000
SMALL = {
    "model.layers": 2, "model.d_model": 128, "model.d_ff": 256, "model.heads": 2,
    "model.dropout": 0.0, "train.batch_tokens": 2_000, "train.learning_rate": 1e-3,
    "train.warmup_steps": 10, "train.log_every": 1, "train.max_steps": NEVER,
    "train.checkpoint_every": NEVER,
    # The CPU's batches would be sorted by length, and so be other ones than the GPU's.
    "train.packing": "packed",
}  # fmt: skip
TINY = {"model.layers": 1, "model.d_model": 32, "model.heads": 2, "train.batch_tokens": 400}


def gates(setup: Setup, facts: Json) -> None:
    """Every gate, each with its error and limit; raises AssertionError naming those that failed."""
    limit = LIMITS[setup.dtype]
    for kind in KINDS_OF_ATTENTION:
        for name in BACKENDS:
            found = attempt(partial(attention_gate, setup, name, kind))
            facts[f"attention {name}, {kind}"] = {**found, "limit": limit}
    facts["loss"] = {**attempt(partial(loss_gate, setup)), "limit": limit}
    facts["packed as alone"] = {**attempt(partial(packing_gate, setup)), "limit": limit}
    facts["losses of 20 steps"] = {**attempt(partial(curve_gate, setup)), "limit": limit}
    # A backend that cannot run here is not used here; one that is wrong is a failure.
    wrong = [
        name
        for name, gate in facts.items()
        if ("error" in gate and not name.startswith("attention"))
        or gate.get("relative_error", 0) > gate["limit"]
    ]
    assert not wrong, f"wrong: {', '.join(wrong)}"


def attention_gate(setup: Setup, name: str, kind: str) -> Json:
    """One backend against the plain formula in float64, output and gradients."""
    random = np.random.default_rng()
    lengths = random.integers(1, 9 if setup.tiny else 70, 8 if setup.tiny else 40)
    streams = make_streams(setup, lengths, random.permutation(lengths), kind, heads=2, d_k=64)
    setup.poison()
    found = _with_gradients(streams, BACKENDS[name])
    expected = _with_gradients(_exact(streams), plain_attention)
    errors = [relative_error(*pair) for pair in zip(found, expected, strict=True)]
    return {"relative_error": max(errors), "errors": errors, "dtype": str(setup.dtype)}


def _exact(streams: Streams) -> Streams:
    """The same numbers in float64 on the CPU."""
    query, key, value, slope = (stream.double().cpu() for stream in streams[:4])
    query_segments, key_segments = (stream.to("cpu") for stream in streams[4:6])
    return Streams(query, key, value, slope, query_segments, key_segments, streams.causal)


def _with_gradients(streams: Streams, attention: Callable[..., Tensor]) -> list[Tensor]:
    inputs = [stream.detach().clone().requires_grad_() for stream in streams[:3]]
    output = attention(*inputs, streams.query_segments, streams.key_segments, causal=streams.causal)
    return [output, *torch.autograd.grad(output, inputs, streams.slope)]


def plain_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
) -> Tensor:
    """Equation 1, sentence by sentence."""
    outputs = []
    bounds = zip(query_segments.offsets.tolist(), key_segments.offsets.tolist(), strict=True)
    for (q_start, k_start), (q_end, k_end) in itertools.pairwise(bounds):
        q, k, v = (
            stream[start:end].transpose(0, 1)
            for stream, start, end in (
                (query, q_start, q_end), (key, k_start, k_end), (value, k_start, k_end)
            )
        )  # fmt: skip
        mask = torch.ones(q_end - q_start, k_end - k_start, dtype=torch.bool).tril()
        outputs.append(scaled_dot_product_attention(q, k, v, mask if causal else None))
    return torch.cat(outputs, dim=1).transpose(0, 1)


def loss_gate(setup: Setup) -> Json:
    """The loss head against the plain formula in float64, loss and gradients."""
    size, width = setup.sizes.vocab_size, 64
    rows = 40 if setup.tiny else 3_000
    hidden, weight = torch.randn(rows, width), torch.randn(size, width) * width**-0.5
    targets = torch.randint(size, (rows,))
    inputs = [tensor.to(setup.device).to(setup.dtype).float() for tensor in (hidden, weight)]
    own = [tensor.clone().requires_grad_() for tensor in inputs]
    setup.poison()
    with torch.autocast(setup.device.type, setup.dtype, enabled=setup.dtype != torch.float32):
        loss = linear_cross_entropy(own[0], own[1], None, targets.to(setup.device), 0.1)
    found = [loss.total, *torch.autograd.grad(loss.total, own)]
    exact = [tensor.double().cpu().requires_grad_() for tensor in inputs]
    plain = label_smoothed_cross_entropy(exact[0] @ exact[1].T, targets, 0.1)
    expected = [plain.total, *torch.autograd.grad(plain.total, exact)]
    errors = [relative_error(*pair) for pair in zip(found, expected, strict=True)]
    return {"relative_error": max(errors), "errors": errors}


def small_run(setup: Setup, precision: str) -> tuple[Corpus, Config]:
    """Sentences and settings for the gates that train."""
    pairs = 300 if setup.tiny else 3_000
    corpus = random_corpus(pairs, SMALL_VOCABULARY, 2, setup.folder / "small")
    values = {**SMALL, **(TINY if setup.tiny else {}), "train.precision": precision}
    return corpus, complete(make_config(values), corpus)


def packing_gate(setup: Setup) -> Json:
    """Loss of sentences in one stream on the device, and of each alone on the CPU in float32."""
    corpus, config = small_run(setup, "auto")
    plain = small_run(setup, "float32")[1]
    model = initialise(Transformer(config.model), 3).eval()
    ids = np.arange(10 if setup.tiny else 100)
    first = start_id(config.model)
    with torch.no_grad():
        cpu = torch.device("cpu")
        alone = [
            shard_loss(model, plain, corpus.train.batch(ids[row : row + 1], first), cpu).total
            for row in ids
        ]
        model.to(setup.device)
        use_backend(model, choose_backend(setup.device, *head_widths(config.model)))
        packed = shard_loss(model, config, corpus.train.batch(ids, first), setup.device).total
    return {"relative_error": relative_error(packed, torch.stack(alone).sum())}


def curve_gate(setup: Setup) -> Json:
    """Losses of a short training on the device as it comes, and on the CPU in float32."""
    curves = []
    cpu = Setup(torch.device("cpu"), setup.tiny, setup.folder, {})
    for place, precision in ((setup, "auto"), (cpu, "float32")):
        corpus, config = small_run(setup, precision)
        with training(place, config, corpus) as run:
            curves.append(run.advance(CURVE_STEPS)["losses"])
    found, expected = (torch.tensor(curve, dtype=torch.float64) for curve in curves)
    worst = float(((found - expected).abs() / expected).max())
    return {"relative_error": worst, "found": curves[0], "expected": curves[1]}
