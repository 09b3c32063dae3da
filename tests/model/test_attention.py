"""Attention over streams against the paper's formula, one sentence at a time."""

import inspect
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from variants import every_variant, model_config

from nmt_cli.batch import Segments
from nmt_cli.machine import cache_folder
from nmt_cli.model.attention import (
    FORMULAS,
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    dot_product_attention,
    fused_attention,
    head_widths,
    joins_projections,
    scaled_dot_product_attention,
)
from nmt_cli.model.backends.dispatch import BACKENDS, attend, choose_backend, use_backend
from nmt_cli.model.backends.native import attention_kernels
from nmt_cli.model.layers import cross_attend, self_attend
from nmt_cli.model.positions import Positions
from nmt_cli.model.transformer import Transformer

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def random_heads(tokens: int, heads: int, width: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(tokens, heads, width, dtype=torch.float64, generator=generator)


def paper_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool
) -> torch.Tensor:
    """Equation 1 with plain loops; (tokens, heads, width) of one sentence."""
    out = torch.zeros(len(query), query.shape[1], value.shape[2], dtype=query.dtype)
    for head in range(query.shape[1]):
        for i in range(len(query)):
            seen = range(i + 1) if causal else range(len(key))
            scores = [float(query[i, head] @ key[j, head]) / math.sqrt(key.shape[2]) for j in seen]
            total = sum(math.exp(score) for score in scores)
            for j, score in zip(seen, scores, strict=True):
                out[i, head] += math.exp(score) / total * value[j, head]
    return out


@given(lengths=LENGTHS)
def test_causal_attention_equals_the_paper_within_each_sentence(lengths: list[int]) -> None:
    segments = Segments.from_lengths(lengths)
    query, key = (random_heads(segments.tokens, 2, 3, seed) for seed in (1, 2))
    value = random_heads(segments.tokens, 2, 5, 3)
    expected = torch.cat(
        [
            paper_attention(*parts, causal=True)
            for parts in zip(*(entry.split(lengths) for entry in (query, key, value)), strict=True)
        ]
    )
    result = attend(query, key, value, segments, segments, causal=True)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)


@given(pairs=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=4))
def test_cross_attention_equals_the_paper_within_each_pair(pairs: list[tuple[int, int]]) -> None:
    tgt, src = ([pair[side] for pair in pairs] for side in (0, 1))
    query = random_heads(sum(tgt), 2, 3, 1)
    key, value = random_heads(sum(src), 2, 3, 2), random_heads(sum(src), 2, 5, 3)
    parts = zip(query.split(tgt), key.split(src), value.split(src), strict=True)
    expected = torch.cat([paper_attention(*part, causal=False) for part in parts])
    segments = Segments.from_lengths(tgt), Segments.from_lengths(src)
    result = attend(query, key, value, *segments, causal=False)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_reference_attention_equals_the_paper(causal: bool) -> None:
    query, key, value = random_heads(4, 2, 3, 1), random_heads(4, 2, 3, 2), random_heads(4, 2, 5, 3)
    result = scaled_dot_product_attention(
        *(entry.transpose(0, 1) for entry in (query, key, value)),
        causal_mask(4) if causal else None,
    )
    expected = paper_attention(query, key, value, causal=causal)
    torch.testing.assert_close(result.transpose(0, 1), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", [scaled_dot_product_attention, fused_attention])
@pytest.mark.parametrize("shape", [None, (4, 4), (2, 1, 1, 4)])
def test_attention_backends_agree_with_the_formula(backend, shape) -> None:
    generator = torch.Generator().manual_seed(1)
    query, key, value = torch.randn(3, 2, 5, 4, 3, dtype=torch.float64, generator=generator)
    mask = None if shape is None else torch.rand(shape, generator=generator) < 0.6
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / 3**0.5
    if mask is not None:
        mask[..., 0] = True
        scores = scores + torch.where(mask, 0.0, -1e30)
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    torch.testing.assert_close(backend(query, key, value, mask), weights @ value)


def test_attention_weights_sum_to_one_and_respect_the_mask() -> None:
    heads = random_heads(2, 4, 3, 1)
    weights = attention_weights(heads, heads, causal_mask(4))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, dtype=torch.float64))
    assert torch.equal(weights > 0, causal_mask(4).expand(2, 4, 4))


def test_head_width_is_d_model_over_heads_unless_set() -> None:
    assert head_widths(model_config({})) == (4, 4)
    assert head_widths(model_config({"model.d_k": 2})) == (2, 4)
    assert head_widths(model_config({"model.d_v": 7})) == (4, 7)


@pytest.fixture
def attention() -> MultiHeadAttention:
    settings = {"model.d_k": 2, "model.d_v": 5, "model.attention_bias": True}
    module = MultiHeadAttention(model_config(settings)).double()
    generator = torch.Generator().manual_seed(3)
    for weight in module.parameters():
        torch.nn.init.normal_(weight, generator=generator)
    return module


def paper_multi_head(
    module: MultiHeadAttention, x: torch.Tensor, y: torch.Tensor, *, causal: bool
) -> torch.Tensor:
    """Section 3.2.2: Concat(head_1, ..., head_h) W^O, each head with its own slice of weights."""
    heads = []
    for head in range(module.heads):
        projected = []
        for stream, linear in ((x, module.query), (y, module.key), (y, module.value)):
            width = len(linear.weight) // module.heads
            rows = slice(head * width, (head + 1) * width)
            projected.append(stream @ linear.weight[rows].T + linear.bias[rows])
        heads.append(paper_attention(*(value[:, None] for value in projected), causal=causal)[:, 0])
    return torch.cat(heads, dim=-1) @ module.output.weight.T + module.output.bias


@pytest.mark.parametrize("causal", [False, True])
def test_multi_head_self_attention_equals_the_paper(
    attention: MultiHeadAttention, causal: bool
) -> None:
    x = random_heads(4, 1, 12, 1)[:, 0]
    segments = Segments.from_lengths([4])
    with torch.no_grad():
        result = self_attend(attention, x, segments, Positions(), causal=causal)
        expected = paper_multi_head(attention, x, x, causal=causal)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-10)


def test_multi_head_cross_attention_equals_the_paper(attention: MultiHeadAttention) -> None:
    x, memory = random_heads(3, 1, 12, 1)[:, 0], random_heads(5, 1, 12, 2)[:, 0]
    segments = Segments.from_lengths([3]), Segments.from_lengths([5])
    with torch.no_grad():
        result = cross_attend(attention, x, segments[0], memory, segments[1])
        expected = paper_multi_head(attention, x, memory, causal=False)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("bias", [False, True])
def test_projections_have_biases_only_when_configured(bias: bool) -> None:
    module = MultiHeadAttention(model_config({"model.attention_bias": bias}))
    names = {name for name, _ in module.named_parameters()}
    assert {f"{value}.weight" for value in ("query", "key", "value", "output")} <= names
    assert len(names) == (8 if bias else 4)


@pytest.mark.parametrize("backend", ["plain", "fused", "varlen", "tiles", "native"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_backends_agree_with_each_other(backend: str, causal: bool) -> None:
    if backend == "tiles":
        pytest.importorskip("triton")
    if backend == "native" and attention_kernels(cache_folder()) is None:
        pytest.skip("no C compiler, or neither AVX2 nor AVX-512")
    lengths = ([3, 1, 18], [3, 1, 18]) if causal else ([3, 1, 18], [2, 20, 1])
    segments = [
        Segments.from_lengths(length, sum(length) + 2, other=other)
        for length, other in zip(lengths, reversed(lengths), strict=True)
    ]
    tokens = [segment.tokens for segment in segments]
    query, key = random_heads(tokens[0], 2, 4, 1), random_heads(tokens[1], 2, 4, 2)
    value = random_heads(tokens[1], 2, 4, 3)
    expected = attend(query, key, value, *segments, causal=causal)
    streams = (entry.float() for entry in (query, key, value))
    result = attend(*streams, *segments, causal=causal, backend=backend)
    used = segments[0].used
    torch.testing.assert_close(result[:used].double(), expected[:used], rtol=0, atol=1e-6)
    assert result[used:].isfinite().all()


def test_plain_attention_ignores_autocast_on_the_cpu() -> None:
    segments = Segments.from_lengths([3, 3])
    query, key, value = (random_heads(6, 2, 4, seed).float() for seed in (1, 2, 3))
    exact = attend(query, key, value, segments, segments, causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        attended = attend(query, key, value, segments, segments, causal=True)
        narrow = attend(*(stream.bfloat16() for stream in (query, key, value)),
                        segments, segments, causal=True)  # fmt: skip
    assert torch.equal(attended, exact)
    # Narrow inputs lose their own digits, and nothing more.
    assert narrow.dtype == torch.bfloat16
    torch.testing.assert_close(narrow.float(), exact, rtol=0, atol=0.05)


def long_sentences(causal: bool) -> tuple[torch.Tensor, list[torch.Tensor], list[int]]:
    """Attention over two long sentences on a CPU, its gradients, and the sizes that it kept."""
    lengths = ([131, 150], [131, 150]) if causal else ([131, 150], [120, 140])
    segments = [Segments.from_lengths(length) for length in lengths]
    seeds = zip((segments[0], segments[1], segments[1]), (1, 2, 3), strict=True)
    streams = [random_heads(side.tokens, 2, 8, seed).float() for side, seed in seeds]
    kept: list[int] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    for stream in streams:
        stream.requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        attended = attend(*streams, *segments, causal=causal, backend="plain")
    gradient = random_heads(segments[0].tokens, 2, 8, 4).float()
    return attended, list(torch.autograd.grad(attended, streams, gradient)), kept


@pytest.mark.parametrize("causal", [False, True])
def test_weights_of_long_sentences_are_not_kept_and_change_no_bit(causal, monkeypatch) -> None:
    attended, gradients, kept = long_sentences(causal)
    monkeypatch.setattr("nmt_cli.model.attention.MAX_KEYS_KEPT", 1_000)
    same, same_gradients, all_kept = long_sentences(causal)
    assert torch.equal(attended, same)
    assert all(map(torch.equal, gradients, same_gradients))
    # Two sentences, two heads, padded to 150 positions or a few more.
    weights = 2 * 2 * 150 * 140
    assert max(kept) < weights <= max(all_kept)


@pytest.mark.parametrize("causal", [False, True])
def test_weights_of_long_sentences_are_computed_for_a_few_sentences(causal, monkeypatch) -> None:
    attended, gradients, _ = long_sentences(causal)
    sizes: list[int] = []

    def weights(query: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        computed = attention_weights(query, *others)
        sizes.append(len(computed))
        return computed

    monkeypatch.setattr("nmt_cli.model.attention.attention_weights", weights)
    # Too small for even one sentence: they are computed one by one.
    monkeypatch.setattr("nmt_cli.model.attention.GROUP_WEIGHTS", 1)
    by_sentence, sentence_gradients, _ = long_sentences(causal)
    # Both passes compute the weights of both sentences.
    assert sizes == [1, 1, 1, 1]
    torch.testing.assert_close(by_sentence, attended)
    torch.testing.assert_close(sentence_gradients, gradients)


def test_varlen_backend_uses_torch_kernel_for_half_precision_only(monkeypatch) -> None:
    kernel = "nmt_cli.model.backends.dispatch.varlen_attention"
    monkeypatch.setattr(kernel, lambda query, *_, causal: query + 1)
    segments = Segments.from_lengths([2])
    for dtype in (torch.bfloat16, torch.float16):
        ones = torch.ones(2, 1, 8, dtype=dtype)
        assert (
            attend(ones, ones, ones, segments, segments, causal=True, backend="varlen") == 2
        ).all()


def test_dot_product_attention_uses_formula_of_device(monkeypatch) -> None:
    for name in FORMULAS:
        monkeypatch.setitem(FORMULAS, name, lambda *_, name=name: name)
    for device, name in (("cpu", "plain"), ("meta", "fused")):
        ones = torch.ones(1, 1, 1, device=device)
        assert inspect.unwrap(dot_product_attention)(ones, ones, ones) == name


def test_choose_backend_on_cpu_is_native_where_there_are_kernels(monkeypatch) -> None:
    for kernels, backend in ((object(), "native"), (None, "plain")):
        monkeypatch.setattr(
            "nmt_cli.model.backends.dispatch.attention_kernels", lambda _, kernels=kernels: kernels
        )
        assert choose_backend(torch.device("cpu"), 64, 64) == backend
    assert choose_backend(torch.device("meta"), 64, 64) == "fused"


def test_choose_backend_on_gpu_prefers_tiles_then_varlen_then_fused(monkeypatch) -> None:
    gpu = torch.device("cuda")
    capability, known = (8, 0), {"triton"}
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: capability)
    dispatch = "nmt_cli.model.backends.dispatch"
    monkeypatch.setattr(f"{dispatch}.find_spec", lambda name: name in known or None)
    assert choose_backend(gpu, 64, 128) == "tiles"
    assert choose_backend(gpu, 64, 136) == "fused"
    assert choose_backend(gpu, 136, 136) == "varlen"
    known.clear()
    assert choose_backend(gpu, 64, 64) == "varlen"
    assert choose_backend(gpu, 64, 128) == "fused"
    monkeypatch.setattr(f"{dispatch}.has_varlen", lambda: False)
    assert choose_backend(gpu, 64, 64) == "fused"
    capability, known = (7, 5), {"triton"}
    assert choose_backend(gpu, 64, 64) == "fused"


def test_use_backend_sets_every_attention_of_a_model(monkeypatch) -> None:
    model = Transformer(model_config({}))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert [attention.backend for attention in attentions] == ["auto"] * 6
    with pytest.raises(ValueError, match="plain, fused, varlen, tiles, native"):
        use_backend(model, "flash")
    use_backend(model, "fused")
    assert [attention.backend for attention in attentions] == ["fused"] * 6
    asked = []
    monkeypatch.setitem(BACKENDS, "fused", lambda *_, causal: asked.append(causal) or _[0])
    segments = Segments.from_lengths([2])
    ids = torch.tensor([4, 3])
    memory = model.encode(ids, segments)
    model.decode(ids, segments, memory, segments)
    assert asked == [False] * 2 + [True, False] * 2


def join_projections(monkeypatch, yes: bool) -> list[int]:
    """The widths of all products of projections from here on."""
    widths: list[int] = []
    real = torch.nn.functional.linear

    def linear(x, weight, bias=None):
        widths.append(len(weight))
        return real(x, weight, bias)

    monkeypatch.setattr("nmt_cli.model.attention.joins_projections", lambda device: yes)
    monkeypatch.setattr("torch.nn.functional.linear", linear)
    return widths


@every_variant
def test_joined_projections_equal_separate_projections(
    settings, make_model, random_batch, monkeypatch
) -> None:
    """Logits, all gradients, and logits of a step of the search."""
    model = make_model(settings)
    batch = random_batch(model.config, [3, 1, 5], [2, 4, 3])
    result = []
    for joined in (False, True):
        with monkeypatch.context() as patch:
            join_projections(patch, joined)
            logits = model(batch)
            gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()))
            with torch.no_grad():
                state = model.start(model.encode(batch.src, batch.src_segments), batch.src_segments)
                stepped, state = model.step(state, torch.tensor([2, 2, 2]))
                stepped, _ = model.step(state, torch.tensor([5, 6, 7]))
        result.append([logits.detach(), *gradients, stepped])
    for first, other in zip(*result, strict=True):
        torch.testing.assert_close(other, first, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("joined", [False, True])
def test_joined_projections_use_one_product_each(
    attention: MultiHeadAttention, monkeypatch, joined: bool
) -> None:
    """Three heads of width 2, 2 and 5."""
    widths = join_projections(monkeypatch, joined)
    x = random_heads(4, 1, 12, 1)[:, 0]
    segments = Segments.from_lengths([4])
    self_attend(attention, x, segments, Positions(), causal=True)
    assert sorted(widths[:-1]) == ([27] if joined else [6, 6, 15])
    widths.clear()
    cross_attend(attention, x, segments, x, segments)
    assert sorted(widths[:-1]) == ([6, 21] if joined else [6, 6, 15])


def test_joined_projections_follow_autocast(monkeypatch) -> None:
    """And their weights are so before they are joined: half as much is copied."""
    module = MultiHeadAttention(model_config({"model.attention_bias": True}))
    x = torch.randn(5, 12, generator=torch.Generator().manual_seed(1))
    joined_dtypes = []
    real = torch.cat
    monkeypatch.setattr(
        "torch.cat", lambda parts: joined_dtypes.extend(part.dtype for part in parts) or real(parts)
    )
    result = []
    for joined in (False, True):
        monkeypatch.setattr(
            "nmt_cli.model.attention.joins_projections", lambda device, yes=joined: yes
        )
        with torch.autocast("cpu", torch.bfloat16):
            query, seen = module.project_self(x)
        result.append([query, seen.key, seen.value])
    for first, other in zip(*result, strict=True):
        assert first.dtype == other.dtype == torch.bfloat16
        torch.testing.assert_close(other, first, rtol=1e-2, atol=1e-2)
    assert joined_dtypes == [torch.bfloat16] * 6


def test_projections_are_joined_on_a_gpu_only() -> None:
    assert joins_projections(torch.device("cuda"))
    assert not joins_projections(torch.device("cpu"))
