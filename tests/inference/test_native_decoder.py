"""Steps of the kernels: top-k, threads, and the precisions of weights."""

import os
import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from engine_cases import EOS, translations
from native_cases import VECTOR_PRECISIONS, TorchStep, TorchSteps, native_model
from torch import Tensor

from nmt_cli import machine
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine, fastest_engine, reference_engine
from nmt_cli.inference.logits_step import BusyRows, LogitsStep
from nmt_cli.inference.native import self_test
from nmt_cli.inference.native.decoder import NativeDecoder, NativeStep
from nmt_cli.inference.native.linear import Kernels
from nmt_cli.inference.native.model import EncodedSources, NativeModel
from nmt_cli.inference.native.self_test import find_kernels
from nmt_cli.inference.packed.head import block_step
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.decoder import Edits, Hypothesis, Source


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests that set the number of threads, on any number of cores."""
    monkeypatch.setattr(machine, "affine_cores", lambda: 8)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def some_model(make_model, **settings: object) -> Transformer:
    """Wide enough for several threads and tiles; its EOS is not likely."""
    sizes = {"model.src_vocab_size": 330, "model.tgt_vocab_size": 330, "model.output_bias": True}
    model = make_model({**sizes, **settings}).float()
    with torch.no_grad():
        model.output_bias[EOS] -= 4.0
    return model


def some_sources(count: int) -> list[Source]:
    chooser = random.Random(count)
    return [
        Source([*(chooser.randrange(4, 330) for _ in range(chooser.randrange(1, 20))), EOS])
        for _ in range(count)
    ]


def native_decoder(model: NativeModel, slots: int, beam: int) -> TorchSteps:
    return TorchSteps(NativeDecoder(model, slots, beam))


def random_step(kernels: Kernels, make_model, rows: int) -> tuple[TorchStep, LogitsStep, Tensor]:
    """A step of some rows, the same in torch, and which of all rows they are."""
    decoder = native_decoder(native_model(some_model(make_model), kernels), rows + 3, 1)
    busy = [slot for slot in range(rows + 3) if slot not in (0, 4, 5)]
    decoder.admit(busy, some_sources(rows))
    # So that `full` takes the logits below for those of the step.
    decoder.decoder._state.all_logits = True
    step = decoder.step(torch.arange(rows + 3), torch.full((rows + 3,), 2))
    # Few different values: many are equal.
    values = torch.randint(9, (rows, 384), generator=torch.Generator().manual_seed(rows)).float()
    values[:, 330:] = -torch.inf
    buffers = step.step._buffers
    buffers["logits"][:] = values.flatten()
    by_block = values.view(rows, -1, 64)
    buffers["written"].view(np.uint8)[...] = 1
    buffers["maxima"][:] = by_block.amax(2).flatten()
    buffers["totals"][:] = values.logsumexp(1)
    places = torch.tensor(busy)
    return step, block_step(values.clone(), 330, BusyRows(places, rows + 3)), places


@pytest.mark.parametrize("k", [1, 8, 70, 1000])
@torch.inference_mode()
def test_top_k_equals_that_of_torch(kernels, make_model, k: int) -> None:
    step, plain, busy = random_step(kernels, make_model, 6)
    buffers = step.step._buffers
    before = buffers["logits"].copy(), buffers["maxima"].copy()
    edits = Edits(
        torch.tensor([1, 1, 1, 2, 0, 8, 8]),
        torch.tensor([5, 70, 5, 329, 7, 9, 64]),
        torch.tensor([2.0, -torch.inf, 40.0, 30.0, 99.0, -torch.inf, 1e4]),
        torch.full((9,), -1),
    )
    for forced in (-1, 77):
        edits.forced[3] = forced
        result, expected = step.top(k, edits), plain.top(k, edits)
        torch.testing.assert_close(result[0], expected[0])
        kept = result[0].isfinite()
        assert torch.equal(kept, expected[0].isfinite())
        assert torch.equal(result[1][kept], expected[1][kept])
        assert result[0][[0, 4, 5]].isneginf().all()
    assert int(result[1][busy].max()) < 330
    torch.testing.assert_close(step.full(), plain.full())
    assert np.array_equal(buffers["logits"], before[0])
    assert np.array_equal(buffers["maxima"], before[1])


def test_nan_logits_give_valid_ids(kernels, make_model) -> None:
    model = some_model(make_model)
    with torch.no_grad():
        model.output_bias[7] = torch.nan
    decoder = native_decoder(native_model(model, kernels), 1, 1)
    decoder.admit([0], some_sources(1))
    values, ids = decoder.step(torch.zeros(1).long(), torch.full((1,), 2)).top(
        330, Edits.ban([0], 1, TorchArrays("cpu"))
    )
    assert values.isnan().all()
    assert 0 <= int(ids.min()) <= int(ids.max()) < 330


@pytest.mark.parametrize("slots", [8, 40, 200])
def test_steps_are_bitwise_equal_for_any_number_of_threads(
    kernels, make_model, threads, slots: int
) -> None:
    """Of few rows, of which threads share the last product only, and of many.

    Of 80 rows, three threads share all products; two have rows of their own.
    """
    native = wide_model(kernels, make_model)
    logits: list[list[Tensor]] = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        decoder = native_decoder(native, slots, 2)
        decoder.admit(range(slots), some_sources(slots))
        parents = torch.arange(2 * slots)
        logits.append([])
        for index in range(3):
            ids = torch.arange(2 * slots) % 300 + 4 if index else torch.full((2 * slots,), 2)
            step = decoder.step(parents, ids)
            logits[-1].append(step.full())
            parents = parents // 2 * 2 + 1
    for others in logits[1:]:
        assert all(torch.equal(*pair) for pair in zip(logits[0], others, strict=True))


def test_more_threads_than_cores_are_not_used(kernels, make_model, threads, monkeypatch) -> None:
    torch.set_num_threads(8)
    monkeypatch.setattr(machine, "affine_cores", lambda: 2)
    decoder = NativeDecoder(native_model(some_model(make_model), kernels), 1, 1)
    decoder.admit([0], some_sources(1))
    decoder.step(np.zeros(1, np.int64), np.full(1, 2))
    assert decoder._state.threads == 2


def paces(kernels, together: int, alone: int, lost: int, count: int) -> list[int]:
    """Whether each of `count` tasks is run alone, if one takes so many nanoseconds by two threads
    that sleep for `lost` of them, or by one.
    """
    state, modes = np.zeros(4, np.int64), [0]
    for _ in range(count - 1):
        duration, workers = (alone, 1) if modes[-1] else (together, 2)
        modes.append(
            kernels.library.nmt_next_alone(
                state.ctypes.data, workers, duration, lost * workers // 2
            )
        )
    return modes


def test_threads_that_wait_for_each_other_are_tried_against_one(kernels) -> None:
    trial = [*[1] * 32, *[0] * 32]
    slower = paces(kernels, together=10_000, alone=6_000, lost=9_000, count=1 + 2 * (64 + 512))
    assert slower == [0, *trial, *[1] * 512, *trial, *[1] * 512]
    faster = paces(kernels, together=10_000, alone=12_000, lost=9_000, count=1 + 2 * (64 + 513))
    assert faster == [0, *trial, *[0] * 513, *trial, *[0] * 513]


def test_threads_that_seldom_wait_stay_together(kernels) -> None:
    assert not any(paces(kernels, together=10_000, alone=1, lost=7_000, count=2000))


@pytest.mark.parametrize("order", ["post", "pre"])
def test_steps_beyond_the_last_learned_position_reuse_it(kernels, make_model, order: str) -> None:
    settings = {"model.positions": "learned", "model.max_positions": 4, "model.norm_order": order}
    model = some_model(make_model, **settings)
    # What lies behind the table in memory must not be read.
    room = torch.full((16, model.config.d_model), 1e3)
    room[:4] = model.tgt_positions.weight.detach()
    model.tgt_positions.weight = torch.nn.Parameter(room[:4])
    rows = 3
    native = native_decoder(native_model(model, kernels), rows, 1)
    decoders = native, ReferenceDecoder(model, rows, 1)
    for decoder in decoders:
        decoder.admit(range(rows), some_sources(rows))
    for index in range(8):
        ids = torch.arange(rows) + 10 * index + 4
        result, expected = (decoder.step(torch.arange(rows), ids).full() for decoder in decoders)
        torch.testing.assert_close(result, expected, rtol=0.0, atol=1e-4)


def two_steps(native: NativeModel, slots: int) -> list[Tensor]:
    """The scores after the first step and the second."""
    decoder = native_decoder(native, slots, 2)
    decoder.admit(range(slots), some_sources(slots))
    rows = torch.arange(2 * slots)
    return [decoder.step(rows, rows % 300 + 4).full() for _ in range(2)]


def wide_model(kernels: Kernels, make_model) -> NativeModel:
    """Threads are worth while for it."""
    wide = {"model.d_model": 64, "model.d_ff": 4096, "model.heads": 4}
    return native_model(some_model(make_model, **wide), kernels)


def test_decoders_run_in_parallel_threads(kernels, make_model, threads) -> None:
    """One of them has the library's threads, the others none."""
    native = wide_model(kernels, make_model)
    torch.set_num_threads(1)
    alone = two_steps(native, 40)
    torch.set_num_threads(2)
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: two_steps(native, 40), range(9)))
    assert all(torch.equal(*pair) for result in results for pair in zip(alone, result, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_forked_process_has_its_own_thread_pool(kernels, make_model, threads) -> None:
    native = wide_model(kernels, make_model)
    torch.set_num_threads(2)
    before = two_steps(native, 40)
    decoder = native_decoder(native, 40, 2)
    decoder.admit(range(40), some_sources(40))
    child = os.fork()
    if not child:
        # Instead of waiting forever for threads that are not there.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        step = decoder.step(torch.arange(80), torch.arange(80) % 300 + 4)
        # Those of torch are not there either.
        torch.set_num_threads(1)
        os._exit(0 if torch.equal(step.full(), before[0]) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert all(torch.equal(*pair) for pair in zip(before, two_steps(native, 40), strict=True))


def run_engine(engine: Engine, sources, slots: int, tokens: int = 10_000) -> list[list[Hypothesis]]:
    config = SearchConfig(beam=3, n_best=2, max_extra_length=6, batch_tokens=tokens)
    return translations(engine.decoder(slots, 3), sources, config)


@pytest.mark.parametrize("precision", VECTOR_PRECISIONS)
def test_steps_are_bitwise_equal_in_any_batch(
    kernels, kernel_cache, make_model, precision: str
) -> None:
    engine = fastest_engine(some_model(make_model), kernel_cache, precision)
    assert engine.name == ("native" if precision == "float32" else precision)
    sources = some_sources(12)
    together, few = run_engine(engine, sources, 12), run_engine(engine, sources, 3, tokens=90)
    assert len({len(hypotheses[0].ids) for hypotheses in together}) > 3
    assert together == few
    assert together == [run_engine(engine, [source], 1)[0] for source in sources]


@pytest.mark.parametrize(("precision", "error"), [("bf16", 0.2), ("int8", 0.3)])
def test_narrow_weights_give_nearly_equal_scores(
    kernels, kernel_cache, make_model, precision: str, error: float
) -> None:
    model = some_model(make_model)
    sources = some_sources(8)
    plain = run_engine(reference_engine(model), sources, 8)
    native = run_engine(fastest_engine(model, kernel_cache, precision), sources, 8)
    rounded = run_engine(fastest_engine(model, None, precision), sources, 8)
    for expected, *others in zip(plain, native, rounded, strict=True):
        for found in others:
            assert found[0].score == pytest.approx(expected[0].score, abs=error)
    assert fastest_engine(model, None, precision).notice
    assert not fastest_engine(model, kernel_cache, "int8").notice


@pytest.mark.parametrize("count", [1, 2])
def test_sentences_are_encoded_in_groups_as_alone(kernels, make_model, threads, count) -> None:
    """Groups have up to 512 tokens, or one longer sentence."""
    model = native_model(some_model(make_model), kernels)
    lengths = np.array([600, 300, 212, 1, 5, 511, 2, 40])
    ids = np.random.default_rng(3).integers(4, 330, lengths.sum())
    together = views(model, model.encode(ids, lengths, count), len(ids))
    begin = 0
    for length in lengths.tolist():
        own = np.ascontiguousarray(ids[begin : begin + length])
        alone = views(model, model.encode(own, np.array([length]), count), length)
        for found, expected in zip(together, alone, strict=True):
            assert np.array_equal(found[:, :, begin : begin + length], expected)
        begin += length


def views(model: NativeModel, sources: EncodedSources, tokens: int) -> list[np.ndarray]:
    """Keys and values, (decoder layers, heads, tokens, width)."""
    layers, heads = len(model.decoder_stack.memory), model.config.heads
    shapes = [(layers, heads, tokens, width) for width in (model.d_k, model.d_v)]
    parts = np.split(sources.memory, [np.prod(shapes[0])])
    return [
        part[: np.prod(shape)].reshape(shape) for part, shape in zip(parts, shapes, strict=True)
    ]


def test_long_sentences_equal_the_reference(kernels, make_model) -> None:
    """Keys and values of many blocks, and room that grows while sentences are under way."""
    model = some_model(make_model, **{"model.positions": "rotary", "model.d_k": 6})
    first = native_decoder(native_model(model, kernels), 2, 2)
    other = reference_engine(model).decoder(2, 2)
    chooser = torch.Generator().manual_seed(2)
    for decoder in (first, other):
        decoder.admit([1], [Source([*range(4, 200), EOS])])
    for index in range(60):
        if index == 35:
            for decoder in (first, other):
                decoder.admit([0], [Source([*range(4, 300), EOS])])
        parents = torch.randint(2, (4,), generator=chooser) + torch.tensor([0, 0, 2, 2])
        ids = torch.randint(4, 330, (4,), generator=chooser)
        steps = [decoder.step(parents, ids).full() for decoder in (first, other)]
        torch.testing.assert_close(*steps, atol=1e-4, rtol=1e-4)


def test_kernels_with_wrong_steps_are_not_used(kernels, kernel_cache, monkeypatch) -> None:
    right = NativeStep.top

    def wrong(self, k, edits):
        values, ids = right(self, k, edits)
        return values, (ids + 1 if self._model.kernels.lanes != 4 else ids)

    monkeypatch.setattr(NativeStep, "top", wrong)
    loaded, _ = find_kernels(kernel_cache)
    assert loaded is not None
    assert loaded.lanes == 4
    monkeypatch.setattr(self_test, "wanted_lanes", lambda: [32, 16, 8])
    assert find_kernels(kernel_cache) == (None, "the kernels give wrong numbers here")


@torch.inference_mode()
def test_blocks_of_words_that_were_not_written_are_computed_when_needed(
    kernels, make_model
) -> None:
    """Of 40 blocks a step writes 16: more words, edits of others and the full distribution."""
    sizes = {"model.src_vocab_size": 2550, "model.tgt_vocab_size": 2550}
    native = native_model(some_model(make_model, **sizes), kernels)
    rows, k = 5, 2000
    decoders = [native_decoder(native, rows, 1) for _ in range(3)]
    steps = []
    for decoder in decoders:
        decoder.admit(range(rows), some_sources(rows))
        steps.append(decoder.step(torch.arange(rows), torch.arange(rows) + 4))
    written = steps[0].step._buffers["written"].view(np.uint8).flatten()[: rows * 40]
    assert 16 * rows <= int(written.sum()) < 40 * rows
    expected = steps[1].full()
    edits = Edits(
        torch.arange(rows),
        torch.arange(rows) * 500 + 7,
        torch.full((rows,), 50.0),
        torch.full((rows,), -1),
    )
    values, ids = steps[0].top(k, edits)
    edited = expected.clone()
    edited[edits.rows, edits.ids] += 50.0
    torch.testing.assert_close(values, edited.sort(dim=1, descending=True).values[:, :k])
    torch.testing.assert_close(edited.gather(1, ids), values)
    assert torch.equal(steps[0].full(), expected)
    few, few_ids = steps[2].top(8, edits)
    assert torch.equal(few, values[:, :8])
    assert torch.equal(few_ids, ids[:, :8])
    # From then on, all are written.
    later = decoders[0].step(torch.arange(rows), torch.arange(rows) + 9)
    assert int(later.step._buffers["written"].view(np.uint8).flatten()[: rows * 40].sum()) == 200
