"""The options of `nmt translate`, and the headings of its help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from nmt_cli.cli.display.flags import check_flags

LAYOUT = {
    "": ("model", "then", "sets", "config_file"),
    "Search": (
        "search.beam", "search.n_best", "search.mbr", "search.coverage_penalty",
        "search.patience", "search.shortlist", "search.sentences",
    ),
    "Markup": ("search.markup", "search.keep_numbers"),
    "Length": (
        "search.length_penalty", "search.alpha", "search.word_reward",
        "search.min_length", "search.max_length", "search.max_extra_length",
    ),
    "Constraints": (
        "ban", "glossary", "keep", "prefix", "search.no_repeat_ngram", "search.repetition_penalty",
    ),
    "Sampling": (
        "search.sample", "search.temperature", "search.top_k", "search.top_p", "search.seed",
    ),
    "Input and output": (
        "data.strict", "output", "force", "scores", "search.alignment", "search.replace_unknown",
        "as_json", "stats", "quiet",
    ),
    "Parts of a text": ("part", "join"),
    "Documents": (
        "document", "kind", "json_input", "field", "translation_field", "flags_field", "fuzzy",
    ),
    "Doubtful translations": ("search.retry", "flag_file", "fail_on"),
    "Verification": ("verify", "verify_every"),
    "Hardware": ("device", "precision", "threads", "search.batch_tokens"),
}  # fmt: skip


class Precision(StrEnum):
    """Precisions of the computation."""

    float32 = "float32"
    bf16 = "bf16"
    int8 = "int8"
    # A string has a method `split`.
    split_ = "split"
    fp16 = "fp16"


File = Annotated[
    str,
    typer.Argument(
        metavar="[FILE]",
        help="Text file (plain, gz, xz, zst, bz2), one sentence per line; - is stdin",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE",
        help="File to write the translations to [default: stdout]",
    ),
]  # fmt: skip
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", metavar="MODEL",
        help="Model directory; repeat it for an ensemble of models [default: model]",
    ),
]  # fmt: skip
Then = Annotated[
    list[str] | None,
    typer.Option(
        "--then", metavar="MODEL",
        help="Model that translates the translations of --model (a pivot language); repeat it for "
        "further models",
    ),
]  # fmt: skip
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="DEVICE", help="Device, such as cpu, cuda or cuda:1; auto = a GPU if there is one",
    ),
]  # fmt: skip
PrecisionOption = Annotated[
    Precision,
    typer.Option(
        "--precision",
        help="Precision of the computation; int8 needs a CPU, fp16 a GPU, and split, which is "
        "close to float32, a CPU with AMX",
    ),
]  # fmt: skip
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Translate each line again on its own (with --precision float32: by the reference "
        "engine) and exit with code 3 if a translation differs",
    ),
]
VerifyEvery = Annotated[
    int | None,
    typer.Option(
        "--verify-every", metavar="N", min=1, help="Like --verify, but check only every Nth line"
    ),
]
Ban = Annotated[
    Path | None,
    typer.Option(
        "--ban", metavar="FILE",
        help="File of words and phrases that must not occur in translations, one per line",
    ),
]  # fmt: skip
GlossaryFile = Annotated[
    list[Path] | None,
    typer.Option(
        "--glossary", metavar="FILE",
        help="File of required translations, one term per line: the source term, a tab, and its "
        "allowed translations, separated by |; repeatable",
    ),
]  # fmt: skip
Keep = Annotated[
    list[Path] | None,
    typer.Option(
        "--keep", metavar="FILE",
        help="File of names and other texts that are copied as they are, such as product names, "
        "one per line; repeatable",
    ),
]  # fmt: skip
Prefix = Annotated[
    Path | None,
    typer.Option(
        "--prefix", metavar="FILE",
        help="File of prefixes that the translations must begin with, one for each line of the "
        "text",
    ),
]  # fmt: skip
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Add the score and the log-probabilities of the subwords, separated by |||",
    ),
]  # fmt: skip
PartOption = Annotated[
    str | None,
    typer.Option(
        "--part", metavar="K/N",
        help="Translate only every Nth line, from line K on; the name of --output must have "
        "{part}, which becomes K-of-N",
    ),
]  # fmt: skip
Join = Annotated[
    str | None,
    typer.Option(
        "--join", metavar="NAME",
        help="Join the outputs of all parts instead of translating; NAME is their name with "
        "{part}, as --output had it. Add --json or --n-best if they were written with it. Name the "
        "text, too, to have the lines compared",
    ),
]  # fmt: skip
Stats = Annotated[
    bool,
    typer.Option(
        "--stats",
        help="Write lines, words, subwords, seconds, speed, engine and peak memory to stderr",
    ),
]
FlagFile = Annotated[
    Path | None,
    typer.Option(
        "--flag-file", metavar="FILE",
        help="TSV file to write flagged lines to, with their flags, source and translation",
    ),
]  # fmt: skip
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on", metavar="FLAG", callback=check_flags,
        help="Exit with code 3 if a translation has this flag, such as number_mismatch; repeatable",
    ),
]  # fmt: skip
Document = Annotated[
    list[str] | None,
    typer.Option(
        "--document", metavar="FILE",
        help="Translate a document and keep its form: text, HTML, Markdown, subtitles "
        "(.srt .vtt .ass), .po, XLIFF, .docx, JSON (.json .arb), JSON lines or tables (.csv .tsv); "
        "- is stdin",
    ),
]  # fmt: skip
Kind = Annotated[
    Literal[
        "text", "html", "markdown", "subtitles", "po", "xliff", "docx", "json", "jsonl", "table"
    ]
    | None,
    typer.Option("--kind", help="Kind of the document [default: by its suffix]"),
]  # fmt: skip
JsonInput = Annotated[
    bool,
    typer.Option(
        "--json-input",
        help="The text file has JSON lines (as --document FILE --kind jsonl): each object gets "
        "the fields `translation` and `flags`",
    ),
]
Field = Annotated[
    list[str] | None,
    typer.Option(
        "--field", metavar="NAME",
        help="Field of JSON lines to translate, such as text or item.title, or column of a table "
        "[default: text]; field of JSON, at any depth [default: all texts]",
    ),
]  # fmt: skip
TranslationField = Annotated[
    str,
    typer.Option(
        "--translation-field", metavar="NAME",
        help="Field of JSON lines, or column of a table, to write the translation to",
    ),
]  # fmt: skip
FlagsField = Annotated[
    str,
    typer.Option(
        "--flags-field", metavar="NAME",
        help="Field of JSON lines, or column of a table, to write its flags to",
    ),
]  # fmt: skip
Fuzzy = Annotated[
    bool,
    typer.Option(
        "--fuzzy",
        help="Also translate the fuzzy entries of a .po file again, and "
        "what is to be reviewed in XLIFF",
    ),
]
