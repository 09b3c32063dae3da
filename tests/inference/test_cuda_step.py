"""The output layer and top-k of the GPU engine, run on the CPU, against a full sort."""

import pytest
import torch
from fake_graphs import NoWaiting
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nmt_cli.inference.cuda.step import WideHead, cuda_step
from nmt_cli.inference.logits_step import LogitsStep
from nmt_cli.inference.packed.head import BLOCK
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.arrays.torch_top_k import top_k, top_k_by_keys
from nmt_cli.search.decoder import Edits

WORDS = 3 * BLOCK + 7
NUMBERS = st.sampled_from([-torch.inf, -2.5, -1e-30, -0.0, 0.0, 1e-30, 1.0, 1.5, torch.inf])


@given(st.lists(st.lists(NUMBERS, min_size=6, max_size=6), min_size=1, max_size=4),
       st.integers(1, 8))  # fmt: skip
def test_top_k_by_keys_equals_top_k(rows: list[list[float]], k: int) -> None:
    scores = torch.tensor(rows, dtype=torch.float32)
    with NoWaiting():
        values, ids = top_k_by_keys(scores, k)
    expected = top_k(scores, k)
    assert torch.equal(values, expected[0])
    assert torch.equal(ids, expected[1])


def test_top_k_by_keys_takes_large_vocabularies() -> None:
    scores = torch.randn(3, 300_000, generator=torch.Generator().manual_seed(1)).round(decimals=2)
    for found, expected in zip(top_k_by_keys(scores, 9), top_k(scores, 9), strict=True):
        assert torch.equal(found, expected)


def step(values: Tensor, free: Tensor | None = None) -> LogitsStep:
    """A step whose logits are `values`."""
    head = WideHead(Affine(torch.eye(WORDS), None))
    none = torch.zeros(len(values), dtype=torch.bool)
    return cuda_step(head.logits(values), WORDS, none if free is None else free)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_output_layer_gives_whole_blocks_of_float32(dtype: torch.dtype, bias: bool) -> None:
    chooser = torch.Generator().manual_seed(1)
    weight, hidden, own = (torch.randn(*s, generator=chooser) for s in ((9, 8), (2, 8), (9,)))
    narrow = [tensor.to(dtype) for tensor in (weight, own)]
    head = WideHead(Affine(narrow[0], narrow[1] if bias else None))
    logits = head.logits(hidden.to(dtype))
    assert logits.dtype == torch.float32
    assert logits.shape == (2, BLOCK)
    assert logits[:, 9:].isneginf().all()
    expected = hidden @ weight.T + (own if bias else 0.0)
    torch.testing.assert_close(logits[:, :9], expected, atol=0.1, rtol=0.02)


@pytest.mark.parametrize("k", [1, 8, 70, 1000])
def test_top_k_includes_ties(k: int) -> None:
    values = torch.randint(9, (5, WORDS), generator=torch.Generator().manual_seed(k)).float()
    free = torch.tensor([False, True, False, False, False])
    edits = Edits.ban([], 5, TorchArrays("cpu"))
    with NoWaiting():
        found, ids = step(values, free).top(k, edits)
    expected = top_k(values.log_softmax(1), k)
    busy = ~free
    assert torch.equal(ids[busy], expected[1][busy])
    torch.testing.assert_close(found[busy], expected[0][busy])
    assert found[1].isneginf().all()


def test_edits_change_the_choice_and_are_restored() -> None:
    values = torch.randn(3, WORDS, generator=torch.Generator().manual_seed(1))
    logits = step(values)
    before = logits.full()
    torch.testing.assert_close(before, values.log_softmax(1))
    best = int(values[1].argmax())
    edits = Edits(
        torch.tensor([1, 1, 1, 0, 1]),
        torch.tensor([best, 5, 5, 7, best]),
        torch.tensor([-torch.inf, 20.0, 10.0, 40.0, -torch.inf]),
        torch.tensor([-1, -1, -1]),
    )
    expected = before.clone()
    expected[1, best] = -torch.inf
    expected[1, 5] += 30.0
    expected[0, 7] += 40.0
    # One block is looked at: that of the best as edited.
    assert torch.equal(logits.top(1, edits)[1], expected.argmax(1, keepdim=True))
    with NoWaiting():
        found, ids = logits.top(6, edits)
    assert torch.equal(ids, expected.topk(6).indices)
    torch.testing.assert_close(found, expected.topk(6).values)
    assert torch.equal(logits.full(), before)
    edits.forced[1] = 9
    found, ids = logits.top(6, edits)
    assert ids[1, 0] == 9
    assert found[1, 0] == pytest.approx(before[1, 9].item())
    assert found[1, 1:].isneginf().all()
    torch.testing.assert_close(found[0], expected[0].topk(6).values)


def test_nan_logits_give_valid_ids() -> None:
    values, ids = step(torch.full((1, WORDS), torch.nan)).top(
        WORDS, Edits.ban([], 1, TorchArrays("cpu"))
    )
    assert values.isnan().all()
    assert int(ids.max()) < WORDS
