"""Steps of whole decoders with bf16 and split weights on AMX: layers, output layer, shortlists."""

import numpy as np
import pytest
import torch
from amx_cases import Emulation, tile_product
from native_cases import arrays_of_model, native_model

from nmt_cli.inference.native.decoder import NativeDecoder, NativeStep
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.decoder import Edits, Source

WORDS, BEAM = 1500, 2
SIZES = {
    "model.src_vocab_size": WORDS, "model.tgt_vocab_size": WORDS, "model.d_model": 64,
    "model.d_ff": 128, "model.heads": 4, "model.output_bias": True,
}  # fmt: skip


@pytest.fixture
def model(make_model) -> Transformer:
    return make_model(SIZES).float()


def first_steps(
    native: NativeModel, slots: int, allowed: np.ndarray | None = None, count: int = 2
) -> NativeStep:
    decoder = NativeDecoder(native, slots, BEAM)
    decoder.admit(
        range(slots), [Source([4 + slot, 9, 3], allowed=allowed) for slot in range(slots)]
    )
    rows = np.arange(BEAM * slots)
    for index in range(count):
        step = decoder.step(rows, rows + 10 * index + 4)
    return step


def logits_of(step: NativeStep, slots: int, width: int) -> np.ndarray:
    """(rows, words) as the library has written them."""
    rows = BEAM * slots
    return step._buffers["logits"][: rows * width].reshape(rows, width)


def head_logits(step: NativeStep, model: Transformer, slots: int, precision: str) -> np.ndarray:
    """The output layer in NumPy, in the order of additions of AMX."""
    output = arrays_of_model(model).output
    rows = BEAM * slots
    hidden = step._buffers["normed"][: rows * 64].reshape(rows, 64)
    return tile_product(hidden, output.weight, precision) + output.bias


@pytest.mark.parametrize("slots", [1, 9, 30])
@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_logits_of_the_output_layer_have_the_bits_of_numpy(
    emulated: Emulation, model: Transformer, precision: str, slots: int
) -> None:
    """Of 2 rows of each slot: fewer than a tile has, and more than two."""
    native = native_model(model, emulated.amx, precision)
    step = first_steps(native, slots)
    log_probs = step.full()
    logits = logits_of(step, slots, native.padded_words)
    assert np.array_equal(logits[:, :WORDS], head_logits(step, model, slots, precision))
    assert np.isneginf(logits[:, WORDS:]).all()
    totals = np.log(np.exp(logits[:, :WORDS].astype(np.float64)).sum(axis=1, keepdims=True))
    assert np.abs(logits[:, :WORDS] - log_probs - totals).max() < 1e-5


@pytest.mark.parametrize("slots", [1, 30])
@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_the_best_words_are_those_of_all_logits(
    emulated: Emulation, model: Transformer, precision: str, slots: int
) -> None:
    """A step keeps 16 of 24 blocks; 1,000 words need the others, computed by themselves."""
    native = native_model(model, emulated.amx, precision)
    edits = Edits.ban([0, 700, WORDS - 1], BEAM * slots, NUMPY)
    step = first_steps(native, slots)
    values, ids = step.top(1000, edits)
    log_probs = first_steps(native, slots).full()
    assert np.array_equal(np.take_along_axis(log_probs, ids, axis=1), values)
    log_probs[:, [0, 700, WORDS - 1]] = -np.inf
    assert np.array_equal(-np.sort(-log_probs, axis=1)[:, :1000], values)


@pytest.mark.parametrize("slots", [1, 5])
@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_shortlists_have_the_logits_of_all_words(
    emulated: Emulation, model: Transformer, precision: str, slots: int
) -> None:
    native = native_model(model, emulated.amx, precision)
    allowed = np.arange(3, WORDS, 7)
    step = first_steps(native, slots, allowed)
    step.full()
    width = -(-len(allowed) // 64) * 64
    logits = logits_of(step, slots, width)[:, : len(allowed)]
    assert np.array_equal(logits, head_logits(step, model, slots, precision)[:, allowed])


@pytest.mark.parametrize("slots", [1, 20])
def test_steps_differ_from_float32_as_the_rounding_explains(
    emulated: Emulation, model: Transformer, slots: int
) -> None:
    """bf16 on AMX rounds rows as well, which about doubles the square of the errors.

    Of a split number, one part in 2^8 of what bf16 loses is lost; a factor of 4 for each.
    """

    def log_probs(precision: str, *, amx: bool) -> np.ndarray:
        kernels = emulated.amx if amx else emulated.vectors
        return first_steps(native_model(model, kernels, precision), slots).full()

    exact = log_probs("float32", amx=False)
    weights_only = np.abs(log_probs("bf16", amx=False) - exact).max()
    both = np.abs(log_probs("bf16", amx=True) - exact).max()
    assert weights_only / 4 < both < 4 * weights_only
    split = np.abs(log_probs("split", amx=True) - exact).max()
    assert split < 4 * weights_only / 2**8


@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_steps_do_not_depend_on_the_other_sentences(
    emulated: Emulation, model: Transformer, precision: str
) -> None:
    native = native_model(model, emulated.amx, precision)
    together, few = (first_steps(native, slots).full() for slots in (30, 3))
    assert np.array_equal(together[: BEAM * 3], few)


@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_encoders_of_many_tokens(emulated: Emulation, model: Transformer, precision: str) -> None:
    """Sources of 600 tokens, in two groups, as alone."""
    native = native_model(model, emulated.amx, precision)
    generator = np.random.default_rng(1)
    sources = [Source([*generator.integers(4, WORDS, 299).tolist(), 3]) for _ in range(2)]

    def full(chosen: list[Source]) -> np.ndarray:
        decoder = NativeDecoder(native, len(chosen), BEAM)
        decoder.admit(range(len(chosen)), chosen)
        rows = np.arange(BEAM * len(chosen))
        return decoder.step(rows, np.full(len(rows), 2)).full()

    together = full(sources)
    assert torch.isfinite(torch.from_numpy(together)).all()
    for index, source in enumerate(sources):
        assert np.array_equal(full([source]), together[BEAM * index :][:BEAM])
