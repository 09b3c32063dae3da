"""Decoding on one GPU: gates, our engine in bulk and one by one, Hugging Face's generate."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from unittest import mock

import torch

from lib.decode_peers import marian_weights
from lib.gpu_setup import attempt
from lib.measure import Json, spread
from lib.peers import make_marian
from lib.planted import TINY as TINY_MODEL
from lib.planted import planted_model, planted_settings
from lib.sentences import LONGEST_SOURCE, make_sources
from lib.settings import make_config
from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.cuda import decoder as cuda_decoder
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.kernel_choice import find_step_kernels
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.cuda.self_test import find_fault
from nmt_cli.inference.engines import reference_engine
from nmt_cli.inference.packed.model import PackedModel
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import Searcher
from nmt_cli.search.decoder import Decoder, Source

ALPHA = 0.6
MOST_STEPS = 50
UNLIMITED = 1 << 30
Ids = list[list[int]]


@dataclass(frozen=True)
class Sizes:
    """How much is translated."""

    words: int
    longest: int
    gate: int
    bulk: int
    slots: Sequence[int]
    singles: int
    rounds: int
    peer: int
    peer_batches: Sequence[int]


FULL = Sizes(32_000, LONGEST_SOURCE, 64, 2_048, (128, 256, 512), 50, 3, 512, (64, 128, 256))
TINY = Sizes(100, 12, 4, 6, (2, 4), 2, 1, 4, (2, 4))


@dataclass(frozen=True)
class Decoding:
    """One run of the benchmark."""

    device: torch.device
    tiny: bool

    @property
    def sizes(self) -> Sizes:
        """Of this run."""
        return TINY if self.tiny else FULL

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights that are timed; a CPU without bf16 units would take for ever."""
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32

    @cached_property
    def settings(self) -> dict[str, object]:
        """The model's: base, or tiny."""
        words = self.sizes.words
        sizes = {"model.src_vocab_size": words, "model.tgt_vocab_size": words}
        return planted_settings({**(TINY_MODEL if self.tiny else {}), **sizes})

    @cached_property
    def config(self) -> Config:
        """The same, checked."""
        return make_config(self.settings)

    @cached_property
    def planted(self) -> Transformer:
        """The model that all run, float32, on the CPU."""
        return planted_model(self.config, self.sizes.longest).requires_grad_(False)

    @cached_property
    def sources(self) -> Ids:
        """The longest first, as `nmt translate` sorts them."""
        made = make_sources(self.sizes.bulk, self.sizes.longest, self.sizes.words)
        return sorted(made, key=len, reverse=True)

    def model(self, dtype: torch.dtype) -> Transformer:
        """A copy on the device."""
        copy = Transformer(self.config.model)
        copy.load_state_dict(self.planted.state_dict())
        return copy.requires_grad_(False).eval().to(self.device, dtype)

    def some(self, count: int) -> Ids:
        """Sources of all lengths."""
        return self.sources[:: max(1, len(self.sources) // count)][:count]

    def finish(self) -> None:
        """Wait until the device has done everything it was asked to."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """How long `work` takes, and what it gives."""
        self.finish()
        begun = time.perf_counter()
        result = work()
        self.finish()
        return time.perf_counter() - begun, result


def search_settings(beam: int) -> SearchConfig:
    """Those that generate has too."""
    return SearchConfig(
        beam=beam, alpha=ALPHA, length_penalty="power", max_extra_length=MOST_STEPS,
        batch_tokens=UNLIMITED,
    )  # fmt: skip


def translate(searcher: Searcher, sources: Ids) -> Ids:
    """The best translation of each."""
    found = dict(searcher.run(Source(ids) for ids in sources))
    return [list(found[index][0].ids) for index in range(len(sources))]


def machine(run: Decoding, facts: Json) -> None:
    """What it runs on."""
    if run.device.type == "cuda":
        facts["device"] = torch.cuda.get_device_name()
        facts["memory_bytes"] = torch.cuda.get_device_properties(0).total_memory
        facts["cuda"] = torch.version.cuda
    run.planted  # noqa: B018 (made here, so that no other phase pays for it)


def gates(run: Decoding, facts: Json) -> None:
    """The reference engine's words in float32, most lines in bf16; AssertionError otherwise."""
    sources = run.some(run.sizes.gate)
    wrong = []
    for dtype in dict.fromkeys((torch.float32, run.dtype)):
        fault = find_fault(run.device, dtype)
        facts[f"self-test, {dtype}"] = fault or "passed"
        wrong += [fault] if fault else []
    plain = run.model(torch.float32)
    for beam in (4, 1):
        slots = max(2, len(sources) // 4)
        config = search_settings(beam)
        by_reference = Searcher(reference_engine(plain).decoder(slots, beam), config)
        expected = translate(by_reference, sources)
        facts[f"tokens, beam {beam}"] = sum(map(len, expected))
        for dtype in dict.fromkeys((torch.float32, run.dtype)):
            fast = make_cuda_model(plain if dtype == torch.float32 else run.model(dtype))
            found = translate(Searcher(CudaDecoder(fast, slots, beam), config), sources)
            same = _equal(found, expected)
            facts[f"identical lines, beam {beam}, {dtype}"] = same
            if same < (1.0 if dtype == torch.float32 else 0.5):
                wrong.append(f"{dtype}, beam {beam}: {same:.3f} of the lines are the same")
    assert not wrong, "; ".join(wrong)


def _equal(found: Ids, expected: Ids) -> float:
    return statistics.mean(own == other for own, other in zip(found, expected, strict=True))


def bulk(run: Decoding, facts: Json, beam: int) -> None:
    """Tokens a second of many sentences, by how many are translated at a time.

    "step kernels": whether Triton's kernels are used; "torch's kernels": the rate without them.
    """
    fast = make_cuda_model(run.model(run.dtype))
    for slots in run.sizes.slots:
        facts[f"{slots} at once"] = attempt(lambda slots=slots: _rate(run, fast, slots, beam))
    widths = fast.d_k, fast.d_v
    facts["step kernels"] = find_step_kernels(run.device, run.dtype, beam, widths) is not None
    with mock.patch.object(cuda_decoder, "find_step_kernels", return_value=None):
        most = run.sizes.slots[-1]
        facts["torch's kernels"] = attempt(lambda: _rate(run, fast, most, beam))


def _rate(run: Decoding, fast: PackedModel, slots: int, beam: int) -> Json:
    decoder = CudaDecoder(fast, slots, beam)
    found = rate_of(run, decoder, beam, run.sources, run.sizes.rounds)
    if run.device.type == "cuda":
        found["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
    return found


def rate_of(run: Decoding, decoder: Decoder, beam: int, sources: Ids, rounds: int) -> Json:
    """After a first round, which records what the others replay."""
    searcher = Searcher(decoder, search_settings(beam))
    first, _ = run.seconds(lambda: translate(searcher, sources))
    rates, taken = [], []
    for _ in range(rounds):
        seconds, outputs = run.seconds(lambda: translate(searcher, sources))
        taken.append(seconds)
        rates.append(sum(map(len, outputs)) / seconds)
    return {
        "tokens_per_second": statistics.median(rates), "spread": spread(rates),
        "first_seconds": first, "seconds": statistics.median(taken), "sentences": len(sources),
    }  # fmt: skip


def plain(run: Decoding, facts: Json) -> None:
    """Tokens a second of the plain model, which is what is used where graphs fail."""
    model = run.model(run.dtype)
    slots = run.sizes.slots[0]
    decoder = reference_engine(model).decoder(slots, 4)
    facts[f"{slots} at once"] = rate_of(run, decoder, 4, run.some(run.sizes.peer), 1)


def single(run: Decoding, facts: Json) -> None:
    """Milliseconds of one sentence by itself."""
    fast = make_cuda_model(run.model(run.dtype))
    sources = run.some(run.sizes.singles)
    for beam in (4, 1):
        searcher = Searcher(CudaDecoder(fast, 1, beam), search_settings(beam))
        for ids in sources:
            translate(searcher, [ids])
        timed = [run.seconds(partial(translate, searcher, [ids])) for ids in sources]
        _tell_singles(facts, beam, timed)


def _tell_singles(facts: Json, beam: int, timed: Sequence[tuple[float, Ids]]) -> None:
    times = [1e3 * seconds for seconds, _ in timed]
    tokens = statistics.mean(len(output) for _, outputs in timed for output in outputs)
    facts[f"beam {beam}"] = {
        "milliseconds": statistics.median(times), "spread": spread(times), "tokens": tokens,
    }  # fmt: skip


def peer(run: Decoding, facts: Json) -> None:
    """MarianMTModel.generate with the same weights: batches of several sizes, and one by one."""
    generate = make_generate(run)
    sources = run.some(run.sizes.peer)
    expected = None
    for beam in (4, 1):
        for batch in run.sizes.peer_batches:
            generate(sources[:batch], beam, batch)
            seconds, outputs = run.seconds(lambda s=batch, b=beam: generate(sources, b, s))
            tokens = sum(map(len, outputs))
            facts[f"beam {beam}, {batch} at once"] = {
                "tokens_per_second": tokens / seconds, "seconds": seconds, "tokens": tokens,
            }  # fmt: skip
            expected = expected or outputs
        singles = run.some(max(2, run.sizes.singles // 5))
        generate(singles[:1], beam, 1)
        timed = [
            run.seconds(lambda source=source, b=beam: generate([source], b, 1))
            for source in singles
        ]
        _tell_singles(facts, beam, timed)
    fast = make_cuda_model(run.model(run.dtype))
    searcher = Searcher(CudaDecoder(fast, run.sizes.slots[0], 4), search_settings(4))
    facts["same lines as ours, beam 4"] = _equal(translate(searcher, sources), expected or [])


def make_generate(run: Decoding) -> Callable[[Ids, int, int], Ids]:
    """`generate` over sentences sorted by length: outputs of (sources, beam, batch)."""
    config = run.config
    pad, eos = config.model.pad_id, config.model.eos_id
    model = make_marian(config).eval()
    missing = model.load_state_dict(marian_weights(run.planted), strict=False)
    assert not missing.unexpected_keys, missing.unexpected_keys
    model = model.to(run.device, run.dtype)

    def generate(sources: Ids, beam: int, batch: int) -> Ids:
        outputs = []
        for first in range(0, len(sources), batch):
            given = sources[first : first + batch]
            longest = max(map(len, given))
            ids = torch.tensor([source + [pad] * (longest - len(source)) for source in given])
            ids = ids.to(run.device)
            found = model.generate(
                input_ids=ids, attention_mask=(ids != pad).long(), num_beams=beam, do_sample=False,
                max_new_tokens=longest + MOST_STEPS,
                **({"length_penalty": ALPHA} if beam > 1 else {}),
            )  # fmt: skip
            outputs += [
                row[: row.index(eos) + 1] if eos in row else row for row in found[:, 1:].tolist()
            ]
        return outputs

    return generate
