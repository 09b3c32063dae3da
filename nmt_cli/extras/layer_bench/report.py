"""Table 1 as rows for a terminal, as JSON and as a picture."""

import math
from collections.abc import Sequence

from nmt_cli.drawing.charts import Axis, Box, Curve, curves
from nmt_cli.drawing.svg import document, label
from nmt_cli.extras.layer_bench.kinds import KINDS
from nmt_cli.extras.layer_bench.measure import Chain, Crossing, Timing, crossing
from nmt_cli.plurals import enumerated

SCHEMA = 1
TIMING_HEADER = ("layer", "n", "d", "ms", "multiply-adds", "kept for backward")
CHAIN_HEADER = ("layer", "per layer", "n", "sequential operations", "paper", "path", "paper")
RIVALS = ("restricted", "recurrent", "convolutional")


def timing_rows(timings: Sequence[Timing]) -> list[tuple[object, ...]]:
    """The rows of the table of timings, in the columns of TIMING_HEADER."""
    return [
        (timing.kind, timing.n, timing.d, f"{timing.milliseconds:.3f}",
         f"{timing.work:,}", f"{timing.saved_bytes / 1e6:,.2f} MB")
        for timing in timings
    ]  # fmt: skip


def chain_rows(chains: Sequence[Chain]) -> list[tuple[object, ...]]:
    """The rows of the table of chains, in the columns of CHAIN_HEADER; O() is the paper's."""
    kinds = {kind.name: kind for kind in KINDS}
    return [
        (chain.kind, f"O({kinds[chain.kind].complexity})", chain.n, chain.sequential_operations,
         f"O({kinds[chain.kind].sequential})", chain.path_length, f"O({kinds[chain.kind].path})")
        for chain in chains
    ]  # fmt: skip


def sizes_line(neighbours: int, kernel: int) -> str:
    """The sizes r and k of the complexities, which are the same in all rows of the tables."""
    return (
        f"r = {neighbours:,}: positions that restricted self-attention covers (--neighbours); "
        f"k = {kernel:,}: kernel width of the convolution (--kernel)"
    )


def crossings(timings: Sequence[Timing]) -> list[Crossing]:
    """Where self-attention takes longer than a layer of each other kind, for each width."""
    widths = dict.fromkeys(timing.d for timing in timings)
    return [crossing(timings, "self-attention", rival, d) for d in widths for rival in RIVALS]


def crossing_lines(timings: Sequence[Timing]) -> list[str]:
    """The results of `crossings`, one sentence for each."""
    return [
        f"d = {crossed.d:,}: self-attention takes longer than the {crossed.rival} layer "
        f"{_where(crossed)}"
        for crossed in crossings(timings)
    ]


def _where(crossed: Crossing) -> str:
    """
    >>> _where(Crossing("recurrent", 64, (8, 16), (8, 16), None))
    'at all these lengths'
    >>> _where(Crossing("recurrent", 64, (8, 16, 32), (8,), None))
    'only at n = 8'
    >>> _where(Crossing("recurrent", 64, (8, 16, 32), (8, 32), None))
    'only at n = 8 and 32: the times vary, more --rounds even them out'
    """
    if crossed.n is not None:
        return f"from n = {crossed.n:,.0f}"
    if crossed.longer_at == crossed.lengths:
        return "at all these lengths"
    if not crossed.longer_at:
        return "at none of these lengths"
    only = f"only at n = {enumerated([f'{n:,}' for n in crossed.longer_at])}"
    first = crossed.lengths.index(crossed.longer_at[0])
    in_a_row = crossed.lengths[first : first + len(crossed.longer_at)]
    if crossed.longer_at == in_a_row:
        return only
    return f"{only}: the times vary, more --rounds even them out"


def as_document(
    timings: Sequence[Timing], chains: Sequence[Chain], *, neighbours: int, kernel: int
) -> dict[str, object]:
    """The document for JSON; neighbours: r, kernel: k of the complexities."""
    return {
        "schema": SCHEMA,
        "neighbours": neighbours,
        "kernel": kernel,
        "timings": [timing._asdict() for timing in timings],
        "chains": [chain._asdict() for chain in chains],
        "crossings": [
            {"than": crossed.rival, "d": crossed.d, "n": crossed.n, "longer_at": crossed.longer_at}
            for crossed in crossings(timings)
        ],
    }  # fmt: skip


def picture(timings: Sequence[Timing]) -> str:
    """SVG: time over n for each width, both in equal ratios; self-attention is bold."""
    widths = list(dict.fromkeys(timing.d for timing in timings))
    lengths = sorted({timing.n for timing in timings})
    times = [max(timing.milliseconds, 1e-6) for timing in timings]
    # The axis begins and ends at powers of ten.
    y = Axis(10 ** math.floor(math.log10(min(times))), 10 ** math.ceil(math.log10(max(times))),
             "milliseconds", logarithmic=True)  # fmt: skip
    x = Axis(lengths[0], lengths[-1], "n: positions", logarithmic=True)
    inside = [label(20, 28, "Table 1, measured: one layer, forward", kind="title")]
    for index, d in enumerate(widths):
        top = 90.0 + 400 * index
        shown = [
            Curve(
                kind.name,
                [(timing.n, max(timing.milliseconds, 1e-6)) for timing in timings
                 if (timing.kind, timing.d) == (kind.name, d)],
                bold=kind.name == "self-attention",
            )
            for kind in KINDS
        ]  # fmt: skip
        inside.append(label(20, top - 36, f"d = {d:,}"))
        inside += curves(Box(84, top, 640, 260), x, y, shown)
    about = "Milliseconds of a layer of each kind over the length of the sequence."
    return document(760, 90 + 400 * len(widths), "Table 1, measured", about, inside)
