"""The CPU engine in torch: its output layer, its packed weights, and when it is not used."""

import pytest
import torch
from engine_cases import assert_same, random_sources, translations
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import fastest_engine, reference_engine
from nmt_cli.inference.logits_step import BusyRows, LogitsStep
from nmt_cli.inference.packed import head, linear
from nmt_cli.inference.packed.head import BLOCK, PackedHead, block_step
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.arrays.torch_top_k import top_k
from nmt_cli.search.decoder import Edits


class TestHead:
    WORDS = 3 * BLOCK + 7

    def step(self, values: Tensor, rows: Tensor, all_rows: int) -> LogitsStep:
        """A step whose logits are `values`."""
        head = PackedHead(Affine(torch.eye(self.WORDS), None))
        return block_step(head.logits(values), self.WORDS, BusyRows(rows, all_rows))

    @pytest.mark.parametrize("k", [1, 8, 70, 1000])
    def test_top_k_includes_ties(self, k: int, monkeypatch) -> None:
        monkeypatch.setattr(head, "CHUNK", 2)
        values = torch.randint(9, (5, self.WORDS), generator=torch.Generator().manual_seed(k))
        rows = torch.tensor([0, 2, 3, 4, 6])
        found, ids = self.step(values.float(), rows, 7).top(k, Edits.ban([], 7, TorchArrays("cpu")))
        expected = top_k(values.float().log_softmax(1), k)
        assert torch.equal(ids[rows], expected[1])
        torch.testing.assert_close(found[rows], expected[0])
        assert found[[1, 5]].isneginf().all()

    def test_edits_change_the_choice_and_are_restored(self) -> None:
        values = torch.randn(2, self.WORDS, generator=torch.Generator().manual_seed(1))
        step = self.step(values, torch.tensor([1, 0]), 3)
        before = step.full()
        torch.testing.assert_close(before[[1, 0]], values.log_softmax(1))
        best = int(values[0].argmax())
        edits = Edits(
            torch.tensor([1, 1, 2, 0]),
            torch.tensor([best, 5, 6, 7]),
            torch.tensor([-torch.inf, 30.0, 99.0, 40.0]),
            torch.tensor([-1, -1, -1]),
        )
        expected = before.clone()
        expected[1, best] = -torch.inf
        expected[1, 5] += 30.0
        expected[0, 7] += 40.0
        assert torch.equal(step.top(1, edits)[1][:2], expected[:2].argmax(1, keepdim=True))
        found, ids = step.top(6, edits)
        assert torch.equal(ids[:2], expected[:2].topk(6).indices)
        torch.testing.assert_close(found[:2], expected[:2].topk(6).values)
        assert torch.equal(step.full(), before)
        edits.forced[1] = 9
        found, ids = step.top(6, edits)
        assert ids[1, 0] == 9
        assert found[1, 0] == pytest.approx(before[1, 9].item())
        assert found[1, 1:].isneginf().all()
        torch.testing.assert_close(found[0], expected[0].topk(6).values)

    def test_nan_logits_give_valid_ids(self) -> None:
        step = self.step(torch.full((1, self.WORDS), torch.nan), torch.tensor([0]), 1)
        values, ids = step.top(self.WORDS, Edits.ban([], 1, TorchArrays("cpu")))
        assert values.isnan().all()
        assert int(ids.max()) < self.WORDS


class TestPacking:
    @pytest.fixture(autouse=True)
    def forget(self):
        linear.packing_works.cache_clear()
        yield
        linear.packing_works.cache_clear()

    def broken(self, *arguments: object) -> linear.Product:
        raise RuntimeError("no such operator")

    def wrong(self, weight: Tensor, bias: Tensor | None, rows: int) -> linear.Product:
        return lambda x: torch.nn.functional.linear(x, weight, bias) * 1.001

    @pytest.mark.parametrize("kind", ["broken", "wrong"])
    def test_the_plain_product_is_used_where_packing_fails(
        self, kind: str, late_model, monkeypatch
    ) -> None:
        monkeypatch.setattr(linear, "pack_linear", getattr(self, kind))
        assert not linear.packing_works()
        model = late_model({})
        engine = fastest_engine(model)
        assert "do not work" in engine.about
        sources, config = random_sources(3), SearchConfig(beam=2, max_extra_length=3)
        actual, expected = (
            translations(decoder(4, 2), sources, config)
            for decoder in (engine.decoder, reference_engine(model).decoder)
        )
        assert_same(actual, expected)

    def test_packing_works_here(self) -> None:
        assert linear.packing_works() == torch.backends.mkldnn.is_available()


def test_unsupported_dtypes_fall_back_to_the_reference_engine(make_model) -> None:
    engine = fastest_engine(make_model({}))
    assert engine.name == "reference"
    assert "float64" in engine.about
