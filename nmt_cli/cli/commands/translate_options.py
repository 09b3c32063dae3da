"""The options of `nmt translate`, and the headings of its help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

LAYOUT = {
    "": ("model", "sets", "config_file"),
    "Search": (
        "search.beam", "search.n_best", "search.mbr", "search.coverage_penalty",
        "search.shortlist",
    ),
    "Length": (
        "search.length_penalty", "search.alpha", "search.word_reward",
        "search.min_length", "search.max_length", "search.max_extra_length",
    ),
    "Constraints": (
        "ban", "glossary", "prefix", "search.no_repeat_ngram", "search.repetition_penalty",
    ),
    "Sampling": (
        "search.sample", "search.temperature", "search.top_k", "search.top_p", "search.seed",
    ),
    "Input and output": (
        "data.strict", "output", "scores", "search.alignment", "search.replace_unknown",
        "as_json", "quiet",
    ),
    "Verification": ("verify", "verify_every"),
    "Hardware": ("device", "precision", "threads", "search.batch_tokens"),
}  # fmt: skip


class Precision(StrEnum):
    """Number formats of the arithmetic."""

    float32 = "float32"
    bf16 = "bf16"
    int8 = "int8"
    fp16 = "fp16"


File = Annotated[
    str, typer.Argument(metavar="[FILE]", help="Text to translate; `-` is standard input")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE",
        help="File to write the translations to [default: standard output]",
    ),
]  # fmt: skip
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", metavar="MODEL",
        help="Model directory; repeatable, for an ensemble [default: the setting "
        "paths.model, else model]",
    ),
]  # fmt: skip
Device = Annotated[
    str,
    typer.Option(
        "--device",
        help="Device to run on, such as cpu, cuda or cuda:1; auto is a GPU if there is one",
    ),
]  # fmt: skip
PrecisionOption = Annotated[
    Precision,
    typer.Option(
        "--precision",
        help="Number format of the arithmetic; int8 needs a CPU, fp16 a GPU",
    ),
]  # fmt: skip
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1,
        help="CPU threads [default: all cores]",
    ),
]  # fmt: skip
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Translate every line again on its own, and exit with code 3 if a translation differs",
    ),
]
VerifyEvery = Annotated[
    int | None,
    typer.Option(
        "--verify-every", metavar="N", min=1, help="Verify only every Nth line, as --verify does"
    ),
]
Ban = Annotated[
    Path | None,
    typer.Option(
        "--ban", metavar="FILE",
        help="Words and phrases that must not occur in translations, one per line",
    ),
]  # fmt: skip
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", metavar="FILE",
        help="Required translations of terms, one term per line: the source term, a tab, and its "
        "target forms separated by |",
    ),
]  # fmt: skip
Prefix = Annotated[
    Path | None,
    typer.Option(
        "--prefix", metavar="FILE",
        help="The beginning of each translation, one per line of the text",
    ),
]  # fmt: skip
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Add the score and the log-probability of each subword, separated by |||",
    ),
]  # fmt: skip
