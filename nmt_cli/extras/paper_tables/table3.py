"""Compares training runs with Table 3 of the paper: what each change of the base model does."""

import json
import math
import shlex
import statistics
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import Config, load
from nmt_cli.errors import DataError, NoInputError
from nmt_cli.plurals import agreeing
from nmt_cli.storage.files import read_bytes

SCHEMA = 1
SEED = "base-seed-"
BLEU = "bleu.json"
# Where the recipe puts them within its folder.
ROWS = "rows"
# The rank correlation of fewer rows is often high, or low, by chance.
FEWEST_RANKED = 5


class PaperVariation(NamedTuple):
    """A row: its group, perplexity per subword and BLEU on newstest2013, millions of parameters."""

    group: str
    perplexity: float
    bleu: float
    parameters: float | None = None


# By preset. The paper prints the number of parameters only if it differs from that of base.
PAPER: Mapping[str, PaperVariation] = types.MappingProxyType(
    {
        "base": PaperVariation("base", 4.92, 25.8, 65),
        "table3-heads-1": PaperVariation("A", 5.29, 24.9),
        "table3-heads-4": PaperVariation("A", 5.00, 25.5),
        "table3-heads-16": PaperVariation("A", 4.91, 25.8),
        "table3-heads-32": PaperVariation("A", 5.01, 25.4),
        "table3-d_k-16": PaperVariation("B", 5.16, 25.1, 58),
        "table3-d_k-32": PaperVariation("B", 5.01, 25.4, 60),
        "table3-layers-2": PaperVariation("C", 6.11, 23.7, 36),
        "table3-layers-4": PaperVariation("C", 5.19, 25.3, 50),
        "table3-layers-8": PaperVariation("C", 4.88, 25.5, 80),
        "table3-d_model-256": PaperVariation("C", 5.75, 24.5, 28),
        "table3-d_model-1024": PaperVariation("C", 4.66, 26.0, 168),
        "table3-d_ff-1024": PaperVariation("C", 5.12, 25.4, 53),
        "table3-d_ff-4096": PaperVariation("C", 4.75, 26.2, 90),
        "table3-dropout-0.0": PaperVariation("D", 5.77, 24.6),
        "table3-dropout-0.2": PaperVariation("D", 4.95, 25.5),
        "table3-smoothing-0.0": PaperVariation("D", 4.67, 25.3),
        "table3-smoothing-0.2": PaperVariation("D", 5.47, 25.7),
        "table3-learned": PaperVariation("E", 4.92, 25.7),
        "big": PaperVariation("big", 4.33, 26.4, 213),
    }
)


@dataclass(frozen=True)
class VariationRun:
    """The results of one training run; parameters in millions."""

    preset: str
    settings: Mapping[str, int | float | str]
    perplexity: float
    bleu: float
    parameters: float


class VariationRows(NamedTuple):
    """Rows in the paper's order, base with other seeds, and the names of unfinished rows.

    others: the names of folders that are no rows.
    """

    runs: Sequence[VariationRun]
    again: Sequence[VariationRun]
    unfinished: Sequence[str]
    others: Sequence[str] = ()


def _has_rows(folder: Path) -> bool:
    return any((folder / name / BLEU).exists() for name in PAPER)


def read_rows(folder: Path) -> VariationRows:
    """Read the rows in `folder`.

    A row is a folder with the name of its preset. It contains `model` and the JSON of `nmt score`,
    perplexity.json and bleu.json, which is written last. Raises NoInputError if there is no row,
    DataError if the content of one is not as expected.
    """
    paths = [folder / name for name in PAPER if (folder / name).is_dir()]
    paths += sorted(folder.glob(f"{SEED}*"))
    done = [path for path in paths if (path / BLEU).exists()]
    others = _other_folders(folder, paths)
    if not done:
        hint = "recipes/table3.sh makes them; each is named as its preset, such as base"
        near = next((path for path in (folder / ROWS, folder.parent) if _has_rows(path)), None)
        if near is not None:
            hint = f"there are some in `{near}`: nmt bench table3 {shlex.quote(str(near))}"
        elif any((folder / name / BLEU).exists() for name in others):
            hint = f"{_no_rows(others)}; {hint}"
        elif paths:
            names = ", ".join(f"`{path.name}`" for path in paths)
            hint = f"no {BLEU} in {names}, which recipes/table3.sh writes last: run it again; "
            hint += "`nmt runs` compares other runs of `nmt train`"
        raise NoInputError(f"`{folder}` holds no finished row of Table 3", hint)
    return VariationRows(
        [_run(path, path.name) for path in done if path.name in PAPER],
        [_run(path, "base") for path in done if path.name not in PAPER],
        [path.name for path in paths if path not in done],
        others,
    )


def _other_folders(folder: Path, rows: Sequence[Path]) -> list[str]:
    """The names of the folders in `folder` that are none of the `rows`, without hidden ones."""
    if not folder.is_dir():
        return []
    return sorted(
        path.name
        for path in folder.iterdir()
        if path.is_dir() and path not in rows and not path.name.startswith(".")
    )


def _run(folder: Path, preset: str) -> VariationRun:
    config = load(folder / "model" / "config.toml")
    return VariationRun(
        preset,
        _settings(config),
        _last(folder / "perplexity.json", "perplexity"),
        _last(folder / BLEU, "value"),
        _parameters(folder / "model" / "model.safetensors") / 1e6,
    )


def _settings(config: Config) -> dict[str, int | float | str]:
    """The settings of a run by the names of the table's columns."""
    model, heads = config.model, config.model.heads
    d_k, d_v = (
        model.d_model // heads if width == "auto" else width for width in (model.d_k, model.d_v)
    )
    return {
        "N": model.layers, "d_model": model.d_model, "d_ff": model.d_ff, "h": heads, "d_k": d_k,
        "d_v": d_v, "P_drop": model.dropout, "e_ls": config.train.label_smoothing,
        "positions": model.positions, "steps": config.train.max_steps,
    }  # fmt: skip


def _last(path: Path, key: str) -> float:
    """The number under `key` in the last line of a JSON file."""
    try:
        return float(json.loads(read_bytes(path).splitlines()[-1])[key])
    except (ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"`{path}` is not what `nmt score --json` writes: no {key}",
            "run recipes/table3.sh again, which writes it",
        ) from error


def _parameters(weights: Path) -> int:
    """The number of parameters in a file of weights."""
    import safetensors

    with safetensors.safe_open(weights, framework="np") as file:
        names = file.keys()
        return sum(math.prod(map(int, file.get_slice(name).get_shape())) for name in names)


HEADER = (
    "", "N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "e_ls", "positions", "steps",
    "PPL", "BLEU", "params", "paper: PPL", "BLEU", "params",
)  # fmt: skip


def table(runs: Sequence[VariationRun]) -> list[tuple[str, ...]]:
    """The table as the paper prints it: a row shows only what differs from the base model."""
    base = next((run.settings for run in runs if run.preset == "base"), {})
    cells = [_cells(run, {} if run.preset == "base" else base) for run in runs]
    widths = [max(map(len, column)) for column in zip(HEADER, *cells, strict=True)]
    return [
        tuple(
            cell.rjust(width) if column else cell
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def _cells(run: VariationRun, base: Mapping[str, int | float | str]) -> tuple[str, ...]:
    paper = PAPER[run.preset]
    settings = [
        "" if base.get(name) == value else f"{value:,}" if name == "steps" else str(value)
        for name, value in run.settings.items()
    ]
    parameters = "" if paper.parameters is None else f"{paper.parameters:.0f}"
    return (
        paper.group, *settings, f"{run.perplexity:.2f}", f"{run.bleu:.1f}",
        f"{run.parameters:.1f}", f"{paper.perplexity:.2f}", f"{paper.bleu:.1f}", parameters,
    )  # fmt: skip


def notes(rows: VariationRows) -> Iterator[str]:
    """The notes: what is left out, the spread of seeds of base, the correlation with the paper."""
    runs, again, unfinished, others = rows
    if unfinished:
        yield f"not finished yet (no {BLEU}): {', '.join(unfinished)}"
    if others:
        yield f"left out: {_no_rows(others)}"
    same = [run for run in runs if run.preset == "base"] + list(again)
    if len(same) > 1:
        perplexities, bleu = [run.perplexity for run in same], [run.bleu for run in same]
        yield (
            f"noise: {len(same)} seeds of the base model, PPL {min(perplexities):.2f} to "
            f"{max(perplexities):.2f}, BLEU {min(bleu):.1f} to {max(bleu):.1f}"
        )
    if 2 < len(runs) < FEWEST_RANKED:
        yield (
            f"no rank correlation with the paper: {len(runs)} rows are too few for it to mean "
            f"anything, it is computed from {FEWEST_RANKED} on"
        )
    elif len(runs) >= FEWEST_RANKED:
        ours = [run.bleu for run in runs]
        theirs = [PAPER[run.preset].bleu for run in runs]
        correlation = rank_correlation(ours, theirs)
        if math.isnan(correlation):
            yield "BLEU is the same in all rows: no rank correlation with the paper"
        else:
            yield f"BLEU in the paper's order: rank correlation {correlation:.2f}"


def _no_rows(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names)
    return f"{shown} {agreeing(len(names), 'is no row', 'are no rows')} of Table 3"


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation; equal values share their mean rank; NaN if a side is constant.

    >>> rank_correlation([1.0, 2.0, 3.0], [10.0, 20.0, 15.0])
    0.5
    """
    ranks = [[_rank(value, side) for value in side] for side in (first, second)]
    try:
        return statistics.correlation(*ranks)
    except statistics.StatisticsError:
        return math.nan


def _rank(value: float, all_values: Sequence[float]) -> float:
    below = sum(other < value for other in all_values)
    return below + (sum(other == value for other in all_values) - 1) / 2


def as_document(rows: VariationRows) -> dict[str, object]:
    """The document for JSON."""
    return {
        "schema": SCHEMA,
        "rows": [{**asdict(run), "paper": PAPER[run.preset]._asdict()} for run in rows.runs],
        "base_with_other_seeds": [asdict(run) for run in rows.again],
        "unfinished": list(rows.unfinished),
        "no_rows": list(rows.others),
    }
