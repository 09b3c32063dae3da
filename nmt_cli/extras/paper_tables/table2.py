"""Compares a training run with Table 2 of the paper: BLEU, FLOPs and hours, pass or fail."""

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import load
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import ConfigError, DataError, NoInputError
from nmt_cli.extras.paper_tables import earlier_systems
from nmt_cli.extras.tracking.records import read_log
from nmt_cli.plurals import agreeing, counted
from nmt_cli.scoring import require_plain_text, score
from nmt_cli.storage.output_directory import LOG

SCHEMA = 1
# All of newstest2014, as in the paper. The official evaluation of English-German has 2,737 lines.
TEST_LINES = 3_003


class PaperScores(NamedTuple):
    """The entries of Table 2 for one model; bleu: by target language, from English.

    flops: GPU time x peak of 8 P100, 9.5 TFLOPS each; hours and steps: section 5.2.
    """

    bleu: Mapping[str, float]
    flops: float
    hours: float
    steps: int


PAPER = types.MappingProxyType(
    {
        "base": PaperScores({"de": 27.3, "fr": 38.1}, 3.3e18, 12.0, 100_000),
        "big": PaperScores({"de": 28.4, "fr": 41.8}, 2.3e19, 84.0, 300_000),
    }
)
# The metrics by target language, first the paper's, which gives the highest values. French has no
# compounds, so its tokenised BLEU is the paper's.
METRICS = types.MappingProxyType(
    {"de": ("bleu-paper", "bleu-tokenized", "bleu"), "fr": ("bleu-paper", "bleu")}
)


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    name: BLEU-paper, BLEU-tokenized, BLEU, flops, gpu_time_flops, hours, steps; value: None if it
    is not known; paper: None if the paper has no such figure; lines, signature, test: of a BLEU,
    where test counts the test sets from 1; at_least: True if higher is better, False if lower is,
    None if neither.
    """

    name: str
    value: float | None
    paper: float | None
    at_least: bool | None
    lines: int = 0
    signature: str = ""
    test: int = 0

    @property
    def verdict(self) -> str:
        """`pass` or `fail`, or "" if there is nothing to compare.

        BLEU is compared with one digit, as the paper prints it.

        >>> Figure("BLEU-paper", 27.26, 27.3, True).verdict
        'pass'
        """
        if self.value is None or self.paper is None or self.at_least is None:
            return ""
        if self.at_least:
            return "pass" if round(self.value, 1) >= self.paper else "fail"
        return "pass" if self.value <= self.paper else "fail"


@dataclass(frozen=True)
class PaperComparison:
    """The comparison of a run with a row of Table 2.

    pair, row: such as en-de and base; devices: those it ran on, in order; finished: whether
    training has finished.
    """

    pair: str
    row: str
    devices: tuple[str, ...]
    finished: bool
    figures: tuple[Figure, ...]

    @property
    def passed(self) -> bool:
        """Whether BLEU was compared, and nothing failed."""
        verdicts = {figure.name: figure.verdict for figure in self.figures if figure.verdict}
        return "BLEU-paper" in verdicts and "fail" not in verdicts.values()

    @property
    def reaches_bleu(self) -> bool:
        """Whether a BLEU is compared with the paper's, and passes."""
        return any(figure.lines and figure.verdict == "pass" for figure in self.figures)

    def verdict(self, figure: Figure) -> str:
        """The verdict of a figure; a low cost is no `pass` without BLEU that passes."""
        return figure.verdict if self.reaches_bleu or figure.verdict == "fail" else ""

    @property
    def missed(self) -> list[str]:
        """One sentence for each figure that failed."""
        return [
            f"{figure.name} {shown(figure.name, figure.value)} misses the paper's "
            f"{shown(figure.name, figure.paper)}"
            for figure in self.figures
            if figure.verdict == "fail"
        ]

    def as_document(self) -> dict[str, object]:
        """The document for JSON."""
        figures = [
            {**asdict(figure), "verdict": self.verdict(figure) or None} for figure in self.figures
        ]
        return {
            "schema": SCHEMA, **asdict(self), "passed": self.passed, "figures": figures,
            "earlier": earlier_systems.document(*self._beside()),
        }  # fmt: skip

    def earlier_rows(self) -> list[tuple[str, ...]]:
        """The run beside the earlier systems of Table 2, in the columns of `EARLIER_HEADER`."""
        return earlier_systems.rows(*self._beside())

    def _beside(self) -> tuple[str, float | None, float | None]:
        """Target language, BLEU on the paper's test set, and FLOPs as the paper counts them."""
        compared = {figure.name: figure.value for figure in self.figures if figure.verdict}
        tgt = self.pair.partition("-")[2]
        return tgt, compared.get("BLEU-paper"), compared.get("gpu_time_flops")


def compare(model: Path, tests: Sequence[tuple[str, str]], row: str = "") -> PaperComparison:
    """Compare the training run in `model` with Table 2.

    tests: (translation, reference) files, the paper's test set first. row: base or big; "" for the
    preset of the model. Raises NoInputError, DataError, and ConfigError if the table has no such
    row or language.
    """
    # First: an average has none, and no row of its own either.
    records = _records(model)
    config = load(model / "config.toml")
    src, tgt = config.languages.src, config.languages.tgt
    row = row or config.train.preset
    if row not in PAPER:
        hint = "say which to compare it with: --row base or --row big"
        raise ConfigError(f"Table 2 has no row `{row}`", hint)
    if src != "en" or tgt not in METRICS:
        raise ConfigError(
            f"Table 2 has no {src}-{tgt}, only en-de and en-fr",
            "languages are those of the model's config.toml",
        )
    figures = [*_scores(tests, tgt, PAPER[row]), *_costs(records, PAPER[row])]
    devices = tuple(
        dict.fromkeys(str(record["devices"]) for record in records if "devices" in record)
    )
    finished = any(
        record.get("step") == records[-1].get("step")
        and str(record.get("note", "")).startswith("finished")
        for record in records
    )
    return PaperComparison(f"{src}-{tgt}", row, devices, finished, tuple(figures))


def _scores(tests: Sequence[tuple[str, str]], tgt: str, paper: PaperScores) -> Iterator[Figure]:
    for index, (translation, reference) in enumerate(tests):
        texts = [list(read_lines(name)) for name in (translation, reference)]
        require_plain_text(list(zip((translation, reference), texts, strict=True)))
        lines = len(texts[1])
        for result in score(texts[0], [texts[1]], METRICS[tgt], tgt_lang=tgt):
            compared = result.name == "BLEU-paper" and index == 0 and lines == TEST_LINES
            bleu = paper.bleu[tgt] if compared else None
            yield Figure(result.name, result.value, bleu, True, lines, result.signature, index + 1)


def _costs(records: Sequence[Mapping[str, object]], paper: PaperScores) -> Iterator[Figure]:
    """The costs of training. The paper has no count of operations, only GPU time x peak."""
    last = records[-1]
    flops, seconds, steps = (_number(last, key) for key in ("flops", "seconds", "step"))
    yield Figure("flops", flops, None, None)
    yield Figure("gpu_time_flops", _number(last, "gpu_time_flops"), paper.flops, False)
    yield Figure("hours", None if seconds is None else seconds / 3_600, paper.hours, False)
    yield Figure("steps", steps, paper.steps, None)


def _number(record: Mapping[str, object], key: str) -> float | None:
    value = record.get(key)
    return float(value) if isinstance(value, int | float) else None


def _records(model: Path) -> Sequence[Mapping[str, object]]:
    """The records of the log, of which there is at least one."""
    if not (model / LOG).is_file():
        raise NoInputError(
            f"`{model}` has no {LOG}: it is not what `nmt train` wrote",
            "name the model that was trained; the averaged one is only needed to translate",
        )
    records = read_log(model)
    if not records:
        raise DataError(f"`{model / LOG}` has no record of a step", "train the model first")
    return records


def shown(name: str, value: float | None) -> str:
    """A value as the table shows it.

    >>> shown("flops", 3.3e18), shown("steps", 1e5), shown("hours", 12.0), shown("flops", None)
    ('3.3e+18', '100,000', '12.00', 'not known')
    """
    if value is None:
        return "not known"
    if name.endswith("flops"):
        return f"{value:.1e}"
    return f"{value:,.0f}" if name == "steps" else f"{value:,.2f}"


_LABELS = types.MappingProxyType(
    {
        "BLEU-paper": "BLEU as the paper",
        "BLEU-tokenized": "BLEU, tokenised",
        "BLEU": "BLEU, sacreBLEU",
        "flops": "FLOPs, counted work",
        "gpu_time_flops": "FLOPs, GPU-time x peak",
        "hours": "hours of training",
        "steps": "steps",
    }
)
HEADER = ("", "lines", "this run", "paper", "")
EARLIER_HEADER = earlier_systems.HEADER


def rows(comparison: PaperComparison) -> list[tuple[str, ...]]:
    """The rows of the table in the columns of HEADER, with numbers aligned to the right."""
    several = any(figure.test > 1 for figure in comparison.figures)
    cells = [
        (
            _LABELS[figure.name] + (f", test set {figure.test}" if several and figure.test else ""),
            f"{figure.lines:,}" if figure.lines else "",
            shown(figure.name, figure.value),
            "" if figure.paper is None else shown(figure.name, figure.paper),
            comparison.verdict(figure),
        )
        for figure in comparison.figures
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADER))]
    return [
        tuple(
            cell.rjust(width) if 0 < column < len(row) - 1 else cell
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def notes(comparison: PaperComparison) -> Iterator[str]:
    """The notes below the table: signatures, devices, and what cannot be compared."""
    for name, signature in dict.fromkeys(
        (figure.name, figure.signature) for figure in comparison.figures if figure.signature
    ):
        yield f"{_LABELS[name]}: {signature}"
    yield f"trained on {', then '.join(comparison.devices) or 'devices that the log does not name'}"
    if not comparison.finished:
        yield "training has not finished"
    scores = [figure for figure in comparison.figures if figure.lines]
    if scores and scores[0].lines != TEST_LINES:
        yield (
            f"{counted(scores[0].lines, 'line')} {agreeing(scores[0].lines, 'is', 'are')} not the "
            f"paper's test set, which has {TEST_LINES:,}: no BLEU is compared"
        )
    if not comparison.reaches_bleu:
        yield "a cost below the paper's passes only together with BLEU on its test set"
