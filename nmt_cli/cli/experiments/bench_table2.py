"""`nmt bench table2`: compares a trained model with Table 2 of the paper."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options.declarations import FILE_PAIR, AsJson, FilePair, Quiet
from nmt_cli.errors import QualityGateError

EXAMPLES = """
nmt bench table2 --test newstest2014.hyp.de newstest2014.de
nmt bench table2 --model model --row big --test hyp.fr ref.fr --json
nmt bench table2 --test full.hyp full.de --test official.hyp official.de --fail-if-missed
"""

Tests = Annotated[
    list[FilePair] | None,
    typer.Option(
        "--test", click_type=FILE_PAIR, metavar="HYPOTHESIS REFERENCE",
        help="Translated test set (newstest2014, 3,003 lines); repeat it for further comparisons",
    ),
]  # fmt: skip
Model = Annotated[
    Path, typer.Option("--model", metavar="MODEL", help="Model directory with its training log")
]
PaperRow = Annotated[
    str,
    typer.Option(
        "--row",
        metavar="NAME",
        help="Row of the table: base or big [default: that of the model's preset]",
    ),
]
FailIfMissed = Annotated[
    bool,
    typer.Option(
        "--fail-if-missed", help="Exit with code 3 if a result of the paper is not reached"
    ),
]


def command(
    test: Tests = None,
    model: Model = Path("model"),
    row: PaperRow = "",
    fail_if_missed: FailIfMissed = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare a trained model with Table 2: BLEU and training cost.

    The BLEU of the paper is computed on tokenised text with German compounds split; that of
    sacreBLEU is about 0.7 lower for the German of newstest2014. Both are printed. Floating-point
    operations are estimated in two ways: from the equations of the model and, as in the paper, from
    the GPU time and the peak performance; only the latter is compared with the paper. A second
    table has the earlier systems of Table 2, with the figures published there.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.loading import require_models
    from nmt_cli.extras.paper_tables import table2
    from nmt_cli.storage.model_check import CONFIG

    if not (model / CONFIG).is_file():
        require_models([model])
    comparison = table2.compare(model, [(pair.src, pair.tgt) for pair in test or ()], row)
    if as_json:
        typer.echo(json.dumps(comparison.as_document(), ensure_ascii=False))
    else:
        console = make_console(sys.stdout)
        console.table(
            table2.rows(comparison),
            header=table2.HEADER,
            styles={"pass": "green", "fail": "red"},
            title=f"Table 2, {comparison.pair}, {comparison.row}",
        )
        if not quiet:
            for line in table2.notes(comparison):
                console.plain(line)
            console.plain("")
            console.table(comparison.earlier_rows(), header=table2.EARLIER_HEADER)
    if fail_if_missed and not comparison.passed:
        reasons = comparison.missed or ["no BLEU could be compared with that of the paper"]
        raise QualityGateError("; ".join(reasons))
