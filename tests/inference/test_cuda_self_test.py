"""The self-test of the GPU engine: where CUDA graphs fail, the reference engine is used."""

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from fake_graphs import FakeGraph, graphs
from torch import Tensor

from nmt_cli.errors import ConfigError
from nmt_cli.inference.cuda import decoder as cuda_decoder
from nmt_cli.inference.cuda import self_test
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.engines import Engine, cuda_engine
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.translation.translator import Translator

__all__ = ["graphs"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_self_test_passes_in_every_precision(dtype: torch.dtype, graphs) -> None:
    assert self_test.find_fault(torch.device("cpu"), dtype) == ""


def test_wrong_numbers_are_reported(monkeypatch) -> None:
    right = cuda_decoder.attend_cached
    monkeypatch.setattr(cuda_decoder, "attend_cached", lambda *given: 1.05 * right(*given))
    fault = self_test.find_fault(torch.device("cpu"), torch.float32)
    assert fault == "they give wrong numbers"


def test_a_failure_falls_back_to_the_reference_engine(make_model, monkeypatch) -> None:
    def broken(*given: object) -> Tensor:
        raise RuntimeError("no kernel\nand more")

    model = make_model({}).float()
    assert cuda_engine(model).name == "cuda"
    assert not cuda_engine(model).notice
    monkeypatch.setattr(cuda_decoder, "attend_cached", broken)
    engine = cuda_engine(model)
    assert engine.name == "reference"
    assert engine.notice.endswith("fail here: RuntimeError: no kernel")
    assert engine.about == engine.notice
    assert isinstance(engine.decoder(2, 2), ReferenceDecoder)


def test_unsupported_dtypes_fall_back_to_the_reference_engine(make_model) -> None:
    assert "not made for torch.float64" in cuda_engine(make_model({})).notice


def test_fp16_is_for_a_gpu(tmp_path) -> None:
    with pytest.raises(ConfigError, match="fp16 needs a GPU"):
        Translator.load(tmp_path, precision="fp16")


def test_a_translator_gives_the_same_translations(graphs: type[FakeGraph]) -> None:
    made: list[tuple[int, int]] = []

    def engine(model: Transformer) -> Engine:
        fast = make_cuda_model(model)

        def decoder(slots: int, beam: int) -> CudaDecoder:
            made.append((slots, beam))
            return CudaDecoder(fast, slots, beam)

        return Engine("cuda", "", decoder, slots=4, batch_tokens=100, reusable=True)

    config = byte_config({"search.beam": 2, "search.max_extra_length": 5})
    model = byte_model(config, 1)
    lines = ["one", "two words", "", "a third line", "four", "five is here", "six"]
    plain = Translator(model, config, byte_subwords())
    fast = Translator(model, config, byte_subwords(), engine)
    expected = [translation.text for translation in plain.translate(lines)]
    for part in (lines, lines[:3], lines):
        assert [translation.text for translation in fast.translate(part)] == expected[: len(part)]
    # As many slots as a power of two, and each size only once.
    assert made == [(4, 2), (2, 2)]
    assert graphs.replays > 0
