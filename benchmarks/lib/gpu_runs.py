"""Whole runs: this trainer and Hugging Face's Marian end to end on the same sentences; decoding."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.utils import counters

from lib.gpu_setup import DATASHEET_PEAK, NEVER, Setup, Training, training
from lib.measure import Json, spread
from lib.peers import MarianLoop, make_marian
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.flops import training_flops
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Source
from nmt_cli.training.setup import complete

BEAMS = (4, 1)
PEER_SENTENCES = 256


def ours(setup: Setup, facts: Json, preset: str) -> None:
    """This trainer end to end: data, optimiser and reports are in the time; nothing is saved."""
    sizes = setup.sizes
    steps = sizes.window_steps[preset]
    log_every = min(sizes.warmup, steps)
    config = setup.config(
        preset, train_max_steps=NEVER, train_checkpoint_every=NEVER, train_log_every=log_every
    )
    facts["settings"] = _shown(config, setup)
    _forget_memory(setup)
    # A silent fall back to eager execution would be timed as if it were the compiled program.
    strict = torch._dynamo.config.patch(fail_on_recompile_limit_hit=True)
    with strict, training(setup, config) as run:
        first = run.advance(sizes.warmup)
        facts["warmup"] = {"steps": sizes.warmup, **first}
        graphs = compiled_graphs()
        windows = [run.advance(steps) for _ in range(sizes.windows)]
        facts["graphs_compiled_before"] = graphs
        facts["graphs_compiled_in_windows"] = compiled_graphs() - graphs
        _rates(setup, facts, preset, windows)
        facts |= gpu_use(setup, run, log_every)
    facts["peak_memory_bytes"] = _peak_memory(setup)


def peer(setup: Setup, facts: Json, preset: str, *, compiled: bool) -> None:
    """MarianMTModel of the same sizes in a plain loop, bf16 autocast, fused Adam."""
    config = complete(setup.config(preset), setup.corpus)
    facts["settings"] = _shown(config, setup) | {"compiled": compiled, "attention": "sdpa"}
    _forget_memory(setup)
    backend = ("eager" if setup.tiny else "inductor") if compiled else ""
    loop = MarianLoop(
        config, setup.corpus.train, setup.device, precision=setup.precision, compiled=backend
    )
    loop.steps(max(1, setup.sizes.warmup // 2))
    windows = []
    for _ in range(setup.sizes.windows):
        loop.make_ready(setup.sizes.peer_steps)
        seconds, tokens = _timed(setup, lambda: loop.steps(setup.sizes.peer_steps))
        windows.append({"tokens": tokens, "seconds": seconds})
        # What there is counts, should time run out in a later window.
        _rates(setup, facts, preset, windows)
    facts["padding"] = loop.buckets.padding
    facts["peak_memory_bytes"] = _peak_memory(setup)


def decode(setup: Setup, facts: Json) -> None:
    """Target tokens a second of beam search and greedy search with random weights, base model."""
    config = complete(setup.config("base"), setup.corpus)
    model = initialise(Transformer(config.model), 1).to(setup.device).to(setup.dtype).eval()
    pairs = setup.corpus.train
    for beam in BEAMS:
        for slots in setup.sizes.decode_slots:
            count = 4 if slots == 1 else max(2 * slots, 0 if setup.tiny else PEER_SENTENCES)
            sources = sorted((pairs[index][0].tolist() for index in range(count)), key=len)
            settings = SearchConfig(beam=beam, max_extra_length=0, batch_tokens=NEVER)

            def ours(
                sources: list[list[int]] = sources,
                settings: SearchConfig = settings,
                slots: int = slots,
            ) -> int:
                decoder = ReferenceDecoder(model, slots, settings.beam)
                found = search(decoder, (Source(ids) for ids in sources), settings)
                return sum(len(best[0].ids) for _, best in found)

            facts[f"ours, beam {beam}, {slots} at once"] = _decoding_rate(setup, ours)
        facts[f"marian, beam {beam}"] = _decoding_rate(setup, _marian_decoding(setup, beam))


def _marian_decoding(setup: Setup, beam: int) -> Callable[[], int]:
    """`generate` over sentences sorted by length, in batches of 128, as many tokens as ours."""
    config = complete(setup.config("base"), setup.corpus)
    model = make_marian(config).to(setup.device).to(setup.dtype).eval()
    pairs = setup.corpus.train
    count = min(4 if setup.tiny else PEER_SENTENCES, len(pairs))
    sources = sorted((torch.tensor(pairs[index][0].tolist()) for index in range(count)), key=len)

    def generate() -> int:
        tokens = 0
        for start in range(0, count, 128):
            part = sources[start : start + 128]
            ids = torch.nn.utils.rnn.pad_sequence(part, batch_first=True).to(setup.device)
            length = sum(map(len, part)) // len(part)
            model.generate(
                input_ids=ids, attention_mask=(ids != config.model.pad_id).long(),
                num_beams=beam, do_sample=False, min_new_tokens=length, max_new_tokens=length,
                **({"length_penalty": 0.6} if beam > 1 else {}),
            )  # fmt: skip
            tokens += length * len(part)
        return tokens

    return generate


def _decoding_rate(setup: Setup, work: Callable[[], int]) -> Json:
    work()
    seconds, tokens = _timed(setup, work)
    return {"tokens": tokens, "seconds": seconds, "tokens_per_second": tokens / seconds}


def _timed(setup: Setup, work: Callable[[], int]) -> tuple[float, int]:
    setup.finish()
    begun = time.perf_counter()
    tokens = work()
    setup.finish()
    return time.perf_counter() - begun, tokens


def _rates(setup: Setup, facts: Json, preset: str, windows: list[Json]) -> None:
    """Target tokens a second of the windows, and the share of the peak that this is."""
    config = complete(setup.config(preset), setup.corpus)
    pairs = setup.corpus.train
    work = training_flops(config.model, pairs.src_lengths, pairs.tgt_lengths)
    per_token = work / float(pairs.tgt_lengths.sum())
    found = spread([window["tokens"] / window["seconds"] for window in windows])
    facts["tokens_per_second"] = found["median"]
    facts["spread"] = found
    facts["flops_per_token"] = per_token
    facts["share_of_datasheet_peak"] = found["median"] * per_token / DATASHEET_PEAK
    facts["windows"] = windows


def gpu_use(setup: Setup, run: Training, steps: int) -> Json:
    """The share of some more steps in which the GPU had nothing to do, and the longest pauses.

    idle_share: None on a CPU. pauses: between which kernels, how often, and microseconds in all.
    """
    if setup.device.type != "cuda":
        run.advance(steps)
        return {"idle_share": None}
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        run.advance(steps)
    kernels = [
        (event.time_range.start, event.time_range.end, event.name[:80])
        for event in profiler.events()
        if str(event.device_type).endswith("CUDA")
    ]
    return {
        "idle_share": idle([(start, end) for start, end, _ in kernels]),
        "pauses": pauses(kernels)[:20],
    }


def pauses(kernels: list[tuple[float, float, str]]) -> list[Json]:
    """The pauses between kernels, summed up by the names before and after, the longest first.

    kernels: start, end and name of each.

    >>> pauses([(0, 4, "a"), (1, 2, "b"), (6, 7, "c"), (9, 10, "a"), (15, 16, "c")])[0]
    {'before': 'a', 'after': 'c', 'count': 2, 'microseconds': 7.0}
    """
    found: dict[tuple[str, str], Json] = {}
    reached, last = None, ""
    for start, end, name in sorted(kernels):
        if reached is not None and start > reached:
            empty = {"before": last, "after": name, "count": 0, "microseconds": 0.0}
            pause = found.setdefault((last, name), empty)
            pause["count"] += 1
            pause["microseconds"] += start - reached
        if reached is None or end > reached:
            reached, last = end, name
    return sorted(found.values(), key=lambda pause: -pause["microseconds"])


def idle(spans: list[tuple[float, float]]) -> float:
    """The share of the time from the first start to the last end that no span covers.

    >>> idle([(0, 4), (3, 6), (8, 10)])
    0.2
    """
    spans = sorted(spans)
    busy, reached = 0.0, spans[0][0]
    for start, end in spans:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    whole = reached - spans[0][0]
    return (whole - busy) / whole


def compiled_graphs() -> int:
    """Graphs that torch.compile has made so far."""
    return int(counters["stats"]["unique_graphs"])


def _forget_memory(setup: Setup) -> None:
    if setup.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _peak_memory(setup: Setup) -> int | None:
    return torch.cuda.max_memory_allocated() if setup.device.type == "cuda" else None


def _shown(config: Any, setup: Setup) -> Json:
    model, train = config.model, config.train
    return {
        "layers": model.layers, "d_model": model.d_model, "d_ff": model.d_ff,
        "heads": model.heads, "dropout": model.dropout, "vocabulary": setup.sizes.vocab_size,
        "batch_tokens": train.batch_tokens, "precision": setup.precision,
        "sentences": "random ids, lengths as newstest2014", **setup.overrides,
    }  # fmt: skip
