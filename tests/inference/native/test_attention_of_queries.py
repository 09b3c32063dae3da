"""Attention of the hypotheses of a sentence, whose queries are computed in groups."""

import pytest
import torch
from native_cases import TorchSteps, native_model

from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS
from nmt_cli.search.decoder import Source

STEPS = 21
SOURCE = Source([*range(4, 26), 3])
WORDS = {"model.src_vocab_size": 30, "model.tgt_vocab_size": 30}
# Widths of heads that fill vectors and groups of vectors, and that do not.
WIDTHS = [{"model.d_model": 32, "model.heads": 2}, {"model.d_k": 21, "model.d_v": 70}]


@pytest.mark.parametrize("lanes", sorted(INSTRUCTION_SETS.values()))
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("beam", [2, 3, 4, 5, 7])
def test_a_hypothesis_gets_the_same_bits_alone_as_in_a_beam(
    kernels, make_model, beam: int, widths: dict[str, int], lanes: int
) -> None:
    """With all pasts apart, all shared but for the last steps, and any mixture."""
    if lanes > kernels.lanes:
        pytest.skip("this CPU lacks these instructions")
    kernels = kernels._replace(lanes=lanes)
    model = native_model(make_model({**WORDS, **widths}).float(), kernels)
    chooser = torch.Generator().manual_seed(beam)
    decoder = TorchSteps(NativeDecoder(model, 1, beam))
    decoder.admit([0], [SOURCE])
    histories: list[list[int]] = [[] for _ in range(beam)]
    for index in range(STEPS):
        parents = torch.arange(beam)
        if index >= 5:
            parents = torch.randint(beam, (beam,), generator=chooser)
        ids = torch.randint(4, model.words, (beam,), generator=chooser)
        histories = [
            [*histories[parent], token]
            for parent, token in zip(parents.tolist(), ids.tolist(), strict=True)
        ]
        together = decoder.step(parents, ids).full()
    for row, history in enumerate(histories):
        alone = TorchSteps(NativeDecoder(model, 1, 1))
        alone.admit([0], [SOURCE])
        for token in history:
            expected = alone.step(torch.zeros(1).long(), torch.tensor([token])).full()
        assert torch.equal(together[row], expected[0])


@pytest.mark.parametrize("lanes", sorted(INSTRUCTION_SETS.values()))
@pytest.mark.parametrize("beam", [1, 2, 3, 4])
def test_a_sentence_gets_the_same_bits_alone_as_among_others(
    kernels, make_model, beam: int, lanes: int
) -> None:
    """The sentences are shorter and longer than a vector; one ends before the others."""
    if lanes > kernels.lanes:
        pytest.skip("this CPU lacks these instructions")
    kernels = kernels._replace(lanes=lanes)
    sizes = {"model.d_model": 96, "model.heads": 6}
    model = native_model(make_model({**WORDS, **sizes}).float(), kernels)
    sources = [
        Source([*(4 + place % 22 for place in range(length)), 3]) for length in (5, 22, 40, 15)
    ]
    rows, chooser = len(sources) * beam, torch.Generator().manual_seed(beam)
    places = torch.arange(rows) // beam * beam
    choices = [
        (
            places + torch.randint(beam, (rows,), generator=chooser),
            torch.randint(4, model.words, (rows,), generator=chooser),
        )
        for _ in range(19)
    ]
    slots = range(len(sources))
    together = TorchSteps(NativeDecoder(model, len(sources), beam))
    together.admit([*slots], sources)
    alone = [TorchSteps(NativeDecoder(model, 1, beam)) for _ in slots]
    for decoder, source in zip(alone, sources, strict=True):
        decoder.admit([0], [source])
    for index, (parents, ids) in enumerate(choices):
        if index == 17:
            together.retire([1])
        found = together.step(parents, ids).full()
        for slot in slots:
            if index >= 17 and slot == 1:
                continue
            own = slice(slot * beam, (slot + 1) * beam)
            expected = alone[slot].step(parents[own] - slot * beam, ids[own]).full()
            assert torch.equal(found[own], expected)
