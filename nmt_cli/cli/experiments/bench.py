"""`nmt bench`: measure Table 1 of the paper, and compare models with Tables 2 and 3."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.app import CommandWithExamples, GroupWithExamples, make_app
from nmt_cli.cli.environment import make_console
from nmt_cli.cli.experiments import bench_table2, bench_table3
from nmt_cli.cli.options.declarations import AsJson, ForcePicture, Quiet
from nmt_cli.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nmt_cli.cli.options.click_adapter import Command, Context
    from nmt_cli.extras.layer_bench.measure import Chain, Timing

LENGTHS, WIDTHS, CHAINED = "64,128,256,512,1024,2048", "256,512", (8, 16, 32, 64)
TINY_LENGTHS, TINY_WIDTHS, TINY_CHAINED = "8,16,32", "16", (4, 8)

# Names from the paper.
ALIASES = {"table1": "layers"}
GROUP_EXAMPLES = """
nmt bench layers --out layers.svg
nmt bench table2 --test test.hyp.de test.de
nmt bench table3 runs/table3/rows
"""
EXAMPLES = """
nmt bench layers --out layers.svg
nmt bench layers --n 16,64,256 --d 128 --rounds 9
nmt bench layers --tiny --json
"""

Lengths = Annotated[
    str | None,
    typer.Option("--n", metavar="N,N", help=f"Sequence lengths n [default: {LENGTHS}]"),
]
Widths = Annotated[
    str | None, typer.Option("--d", metavar="D,D", help=f"Layer widths d [default: {WIDTHS}]")
]
Neighbours = Annotated[
    int,
    typer.Option(
        "--neighbours", metavar="R", help="Positions that restricted self-attention covers (r), odd"
    ),
]
Kernel = Annotated[
    int, typer.Option("--kernel", metavar="K", help="Kernel width of the convolution (k)")
]
Rounds = Annotated[
    int,
    typer.Option("--rounds", metavar="N", help="Number of measurements; the median is reported"),
]
Tiny = Annotated[
    bool, typer.Option("--tiny", help="Use tiny sizes, for a quick test without meaningful results")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Draw time over sequence length to a file (.svg or .png)"
    ),
]


class _Benches(GroupWithExamples):
    """Suggests the nearest name for a misspelt one."""

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, Command | None, list[str]]":
        """The command that `args` begin with; raises UsageError naming the nearest one."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            meant = ALIASES.get(args[0])
            raise UsageError(
                f"there is no benchmark `{args[0]}`",
                f"did you mean `{meant}`?" if meant else did_you_mean(args[0], [*self.commands]),
            )
        return super().resolve_command(ctx, args)


app = make_app()


@app.callback(cls=_Benches, epilog=GROUP_EXAMPLES)
def bench() -> None:
    """Measure Table 1 of the paper, or compare models with Tables 2 and 3.

    The paper is "Attention Is All You Need" (Vaswani et al., 2017).
    """


@app.command("layers", cls=CommandWithExamples, epilog=EXAMPLES)
def layers(
    n: Lengths = None,
    d: Widths = None,
    neighbours: Neighbours = 33,
    kernel: Kernel = 3,
    rounds: Rounds = 5,
    tiny: Tiny = False,
    out: Out = None,
    force: ForcePicture = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure Table 1: self-attention, restricted, recurrent and convolutional layers.

    Prints time and memory by sequence length n and width d, sequential operations and path lengths,
    next to the complexities of the paper: O(n^2 d), O(r n d), O(n d^2) and O(k n d^2). The path is
    the number of operations (steps of the recurrent layer, otherwise layers) between the two
    positions that are furthest apart. Linear projections are left out, as in the paper.
    """
    lengths = _numbers("--n", n or (TINY_LENGTHS if tiny else LENGTHS))
    widths = _numbers("--d", d or (TINY_WIDTHS if tiny else WIDTHS))
    for name, value in (("--neighbours", neighbours), ("--kernel", kernel)):
        if value < 1 or not value % 2:
            raise UsageError(
                f"{name} must be odd and at least 1, not {value}",
                f"{name} {max(value, 2) - 1} or {max(value, 2) + 1}",
            )
    if rounds < 1:
        raise UsageError(f"--rounds must be at least 1, not {rounds}")
    _check(lengths, widths, out, force=force)
    from nmt_cli.extras.layer_bench.measure import chains, measure
    from nmt_cli.extras.layer_bench.report import picture

    console = make_console(quiet=quiet)
    timings = []
    with console.progress("measuring", 4 * len(lengths) * len(widths), "layer") as progress:
        for timing in measure(lengths, widths, rounds, neighbours=neighbours, kernel=kernel):
            timings.append(timing)
            progress.update(len(timings))
    chained = list(chains(TINY_CHAINED if tiny else CHAINED, neighbours=neighbours, kernel=kernel))
    if out is not None:
        from nmt_cli.drawing.output import write_picture

        console.note(write_picture(out, picture(timings)))
    if not as_json:
        _show(timings, chained, neighbours=neighbours, kernel=kernel)
        return
    import json

    from nmt_cli.extras.layer_bench.report import as_document

    typer.echo(json.dumps(as_document(timings, chained, neighbours=neighbours, kernel=kernel)))


def _show(
    timings: "Sequence[Timing]", chained: "Sequence[Chain]", *, neighbours: int, kernel: int
) -> None:
    from nmt_cli.extras.layer_bench import report

    console = make_console(sys.stdout)
    console.table(report.timing_rows(timings), header=report.TIMING_HEADER)
    console.table(report.chain_rows(chained), header=report.CHAIN_HEADER)
    console.plain(report.sizes_line(neighbours, kernel))
    for line in report.crossing_lines(timings):
        console.plain(line)


def _check(lengths: list[int], widths: list[int], out: Path | None, *, force: bool) -> None:
    """Raise UsageError for sizes that cannot be measured or drawn."""
    if any(width > 64 and width % 64 for width in widths):
        raise UsageError(
            "a width above 64 must be a multiple of 64, the width of a head", "`--d 256,512`"
        )
    if out is not None:
        from nmt_cli.cli.outputs import check_outputs
        from nmt_cli.drawing.output import check_picture, is_own_picture

        check_picture(out)
        check_outputs([out], force=force or is_own_picture(out))
    if out is not None and len(lengths) < 2:
        raise UsageError("a drawing needs at least two lengths", "`--n 64,128`")


def _numbers(option: str, text: str) -> list[int]:
    numbers = [item.strip() for item in text.split(",")]
    if not all(item.isdecimal() and int(item) > 0 for item in numbers):
        raise UsageError(
            f"{option} {text}: not a list of positive sizes", f"write them as {option} 64,128"
        )
    return sorted({int(item) for item in numbers})


app.command("table2", cls=CommandWithExamples, epilog=bench_table2.EXAMPLES)(bench_table2.command)
app.command("table3", cls=CommandWithExamples, epilog=bench_table3.EXAMPLES)(bench_table3.command)
