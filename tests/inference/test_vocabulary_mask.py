"""Vocabulary masks: every engine makes the same choice among the allowed ids."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from engine_cases import ENGINES, EOS, engine_of, translations
from native_cases import TorchSteps
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine, fastest_engine, reference_engine
from nmt_cli.inference.ensemble import Ensemble
from nmt_cli.inference.vocabulary_mask import VocabularyMask
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source
from nmt_cli.search.full_distribution import edited_log_probs

WORDS = 330


@pytest.fixture
def model(make_model) -> Transformer:
    sizes = {"model.src_vocab_size": WORDS, "model.tgt_vocab_size": WORDS}
    made = make_model({**sizes, "model.output_bias": True}).float()
    with torch.no_grad():
        made.output_bias[EOS] -= 3.0
    return made


@pytest.fixture
def engine(request, model, kernel_cache: Path) -> Engine:
    return engine_of(request.param, model, kernel_cache)


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def sources_of(count: int, *, largest: int = 150) -> list[Source]:
    """Each allows other words; some fewer than a block of 64, some more, one in seven all."""
    chooser = random.Random(count)
    sources = []
    for index in range(count):
        ids = [*(chooser.randrange(4, WORDS) for _ in range(chooser.randrange(1, 15))), EOS]
        chosen = chooser.sample(range(4, WORDS), chooser.randrange(20, largest))
        allowed = np.array(sorted([EOS, *chosen]))
        sources.append(Source(ids, allowed=None if index % 7 == 6 else allowed))
    return sources


def run(
    engine: Engine, sources: list[Source], slots: int, tokens: int = 10_000, **settings: object
) -> list[list[Hypothesis]]:
    config = replace(
        SearchConfig(beam=3, n_best=2, max_extra_length=6, batch_tokens=tokens), **settings
    )
    decoder = engine.decoder(slots, config.rows)
    return translations(decoder, sources, config)


def mask_of(source: Source) -> Tensor:
    allowed = torch.zeros(WORDS, dtype=torch.bool)
    allowed[slice(None) if source.allowed is None else source.allowed] = True
    return allowed


def edits_of(sources: list[Source], beam: int) -> Edits:
    """In each row changes of ids that its source forbids and of those it allows; two are forced."""
    rows, ids, bias = [], [], []
    masks = [mask_of(source) for source in sources]
    forced = torch.full((len(sources) * beam,), -1)
    for row in range(len(forced)):
        allowed = masks[row // beam].nonzero()[:, 0].tolist()
        others = (~masks[row // beam]).nonzero()[:, 0].tolist()
        rows += [row] * 5
        ids += [others[row], others[-1], allowed[row], allowed[-1], allowed[-1]]
        bias += [9.0, -torch.inf, -torch.inf if row % 2 else 1.5, 2.0, 3.0]
        if row // beam == 2:
            forced[row] = allowed[5] if row % beam else others[5]
    return Edits(torch.tensor(rows), torch.tensor(ids), torch.tensor(bias), forced)


def steps_of(
    decoder: Decoder, beam: int, sources: list[Source], edits: Edits
) -> Iterator[tuple[Tensor, ...]]:
    """What a decoder says of sources that come and go."""
    decoder, rows = TorchSteps(decoder), decoder.slots * beam
    chooser = torch.Generator().manual_seed(5)
    decoder.admit([0, 2, 3], [sources[0], sources[2], sources[3]])
    for index in range(4):
        if index == 1:
            decoder.admit([1], [sources[1]])
        if index == 3:
            decoder.retire([3])
        parents = torch.randint(beam, (rows,), generator=chooser)
        parents += torch.arange(rows) // beam * beam
        step = decoder.step(parents, torch.randint(4, WORDS, (rows,), generator=chooser))
        full = step.full()
        changed = edited_log_probs(full, edits)
        # Some rows, in any order, also of a free slot.
        chosen = torch.tensor([6, 0, 3, 5])
        assert torch.equal(step.full(chosen), full[chosen])
        assert torch.equal(edited_log_probs(full[chosen], edits.of_rows(chosen)), changed[chosen])
        yield full, *step.top(6, edits), changed


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_log_probabilities_are_normalised_over_allowed_ids(engine, model) -> None:
    """Against the engine with all words: the same, normalised over fewer."""
    sources = sources_of(4)
    # Several blocks before others, and a whole block, which nothing fills up.
    sources[0] = replace(sources[0], allowed=np.arange(3, 300, 2))
    sources[2] = replace(sources[2], allowed=np.arange(3, 67))
    plain = [replace(source, allowed=None) for source in sources]
    edits = edits_of(sources, 2)
    result = steps_of(engine.decoder(4, 2), 2, sources, edits)
    expected = steps_of(reference_engine(model).decoder(4, 2), 2, plain, edits)
    masks = torch.stack([mask_of(source) for source in sources]).repeat_interleave(2, 0)
    assert not masks.all(dim=1).any()
    for (full, values, ids, changed), (plain_full, *_) in zip(result, expected, strict=True):
        wanted = plain_full.masked_fill(~masks, -torch.inf).log_softmax(1)
        wanted = wanted.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        torch.testing.assert_close(full, wanted, atol=1e-4, rtol=1e-4)
        best = changed.topk(6).values
        torch.testing.assert_close(values, best, atol=1e-5, rtol=1e-5)
        kept = values.isfinite()
        torch.testing.assert_close(changed.gather(1, ids)[kept], values[kept])


@pytest.mark.parametrize("engine", ENGINES[1:], indirect=True)
@pytest.mark.parametrize("beam", [1, 3])
def test_engines_give_the_same_translations(engine, model, beam: int) -> None:
    sources = sources_of(15)
    results = run(engine, sources, 8, beam=beam, n_best=1)
    expected = run(reference_engine(model), sources, 8, beam=beam, n_best=1)
    for source, result, other in zip(sources, results, expected, strict=True):
        assert result[0].ids == other[0].ids
        assert result[0].score == pytest.approx(other[0].score, abs=1e-4)
        assert mask_of(source)[list(result[0].ids)].all()


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_masked_steps_are_bitwise_equal_in_any_batch(model, kernel_cache, precision: str) -> None:
    engine = engine_of("native", model, kernel_cache, precision)
    sources = sources_of(14)
    together, few = run(engine, sources, 14), run(engine, sources, 3, tokens=70)
    assert together == few
    assert together == [run(engine, [source], 1)[0] for source in sources]


def test_masked_steps_without_kernels_in_any_batch(model) -> None:
    engine = fastest_engine(model)
    sources = sources_of(14)
    one_by_one = [run(engine, [source], 1)[0][0].ids for source in sources]
    assert [result[0].ids for result in run(engine, sources, 14)] == one_by_one


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_allowing_all_ids_changes_nothing(model, kernel_cache, precision: str) -> None:
    engine = engine_of("native", model, kernel_cache, precision)
    sources = [replace(source, allowed=None) for source in sources_of(9)]
    all_words = [replace(source, allowed=np.arange(WORDS)) for source in sources]
    assert run(engine, sources, 9) == run(engine, all_words, 9)


@pytest.mark.parametrize("slots", [1, 2, 3, 24])
def test_masked_steps_are_bitwise_equal_for_any_number_of_threads(
    make_model, kernel_cache, threads, slots: int
) -> None:
    """Few sources share their words among threads, many are shared themselves."""
    wide = {"model.d_model": 64, "model.d_ff": 4096, "model.heads": 4}
    sizes = {"model.src_vocab_size": WORDS, "model.tgt_vocab_size": WORDS}
    model = make_model({**sizes, **wide}).float()
    logits = []
    for count in (1, 2):
        torch.set_num_threads(count)
        decoder = TorchSteps(engine_of("native", model, kernel_cache).decoder(slots, 8))
        decoder.admit(range(slots), sources_of(slots))
        rows = torch.arange(8 * slots)
        steps = [decoder.step(rows, rows % 300 + 4).full() for _ in range(2)]
        logits.append(torch.stack(steps))
    assert torch.equal(*logits)


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_samples_are_drawn_from_allowed_ids(engine) -> None:
    sources = [replace(source, sample_key=(n,)) for n, source in enumerate(sources_of(6))]
    for settings in ({}, {"top_k": 9}, {"top_p": 0.9}):
        result = run(engine, sources, 4, sample=True, temperature=3.0, **settings)
        for source, some in zip(sources, result, strict=True):
            assert all(mask_of(source)[list(hypothesis.ids)].all() for hypothesis in some)


def test_an_ensemble_allows_the_same_ids_as_its_members(model, make_model, kernel_cache) -> None:
    sizes = {"model.src_vocab_size": WORDS, "model.tgt_vocab_size": WORDS}
    other = make_model({**sizes, "model.d_ff": 20}).float()
    sources = sources_of(6)
    config = SearchConfig(beam=3, max_extra_length=6)
    actual = []
    for name in ("native", "reference"):
        members = [engine_of(name, member, kernel_cache).decoder(6, 3) for member in (model, other)]
        results = dict(search(Ensemble(members), iter(sources), config))
        actual.append([results[index][0].ids for index in range(6)])
    assert actual[0] == actual[1]
    for source, ids in zip(sources, actual[0], strict=True):
        assert mask_of(source)[list(ids)].all()


def test_a_refilled_slot_drops_the_mask_of_its_last_source() -> None:
    words = VocabularyMask(5, torch.device("cpu"))
    words.admit([2], [Source([4, EOS], allowed=np.array([1, 3]))])
    hidden = words.hide_others(torch.zeros(4, 6), [0, 2])
    assert hidden.isneginf().nonzero().tolist() == [[r, c] for r in (2, 3) for c in (0, 2, 4)]
    words.retire([2])
    words.admit([2], [Source([4, EOS])])
    assert not words.hide_others(torch.zeros(4, 6), [0, 2]).any()
