"""Engines by name, sources for them, and whether their translations are the same."""

import random
import shutil
from pathlib import Path

import pytest

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.cuda import decoder as cuda_decoder
from nmt_cli.inference.cuda import kv_cache
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.engines import Engine, fastest_engine, kernels_of, reference_engine
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Decoder, Hypothesis, Source

EOS = 3
ENGINES = ("reference", "packed", "native", "cuda")


def engine_of(name: str, model: Transformer, cache: Path, precision: str = "float32") -> Engine:
    """One of ENGINES; cache: the folder of the kernels. Skips where there is no C compiler."""
    if name == "reference":
        return reference_engine(model)
    if name == "cuda":
        # What a GPU runs, without its graphs unless the fixture `graphs` is used.
        fast = make_cuda_model(model)
        return reference_engine(model)._replace(
            name="cuda", decoder=lambda *size: CudaDecoder(fast, *size)
        )
    if name == "native" and shutil.which("cc") is None:
        pytest.skip(kernels_of(cache)[1])
    return fastest_engine(model, cache if name == "native" else None, precision)


def use_small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have short sentences outgrow the buckets of the GPU engine."""
    monkeypatch.setattr(cuda_decoder, "bucket", lambda length: -(-length // 4) * 4)
    monkeypatch.setattr(kv_cache, "bucket", lambda length: -(-length // 4) * 4)
    monkeypatch.setattr(cuda_decoder, "MORE_STEPS", 0)


def random_sources(count: int, seed: int = 1, longest: int = 9, words: int = 11) -> list[Source]:
    """Sources of up to `longest` tokens with EOS, whose ids are below `words`."""
    chooser = random.Random(seed)
    return [
        Source((*(chooser.randrange(4, words) for _ in range(chooser.randrange(longest))), EOS))
        for _ in range(count)
    ]


def translations(
    decoder: Decoder, sources: list[Source], config: SearchConfig
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, in the order of the sources."""
    results = dict(search(decoder, iter(sources), config))
    return [results[index] for index in range(len(sources))]


def assert_same(actual: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    """The same ids, and the same scores up to rounding errors."""
    for hypotheses, others in zip(actual, expected, strict=True):
        assert [hypothesis.ids for hypothesis in hypotheses] == [other.ids for other in others]
        for hypothesis, other in zip(hypotheses, others, strict=True):
            assert hypothesis.score == pytest.approx(other.score, abs=1e-4)
            assert hypothesis.token_scores == pytest.approx(other.token_scores, abs=1e-4)
