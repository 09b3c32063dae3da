"""`nmt bench table3`: compares trained models with Table 3 of the paper."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, Quiet

EXAMPLES = """
nmt bench table3 runs/table3/rows
nmt bench table3 runs/table3/rows --json
"""

Rows = Annotated[
    Path,
    typer.Argument(
        metavar="ROWS", help="Output directory of recipes/table3.sh, with a folder for each row"
    ),
]


def command(rows: Rows, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Compare variations of the base model with Table 3: perplexity, BLEU, parameters.

    Perplexity is per subword on the validation text, as in the paper. Rows that are missing or
    unfinished are left out, and so are folders that are not named as a row.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.extras.paper_tables import table3

    result = table3.read_rows(rows)
    if as_json:
        typer.echo(json.dumps(table3.as_document(result), ensure_ascii=False))
        return
    console = make_console(sys.stdout)
    console.table(table3.table(result.runs), header=table3.HEADER, title="Table 3")
    if not quiet:
        for line in table3.notes(result):
            console.plain(line)
