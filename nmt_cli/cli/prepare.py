"""`nmt prepare`: from parallel text to a corpus ready for training."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options import (
    AsJson,
    ConfigFile,
    FilePair,
    Force,
    Preset,
    Quiet,
    Sets,
    SrcLanguage,
    Strict,
    TgtLanguage,
    TrainPairs,
    ValidPair,
)
from nmt_cli.console import Console

if TYPE_CHECKING:
    from nmt_cli.data.prepare import Prepared

SCHEMA = 1

EXAMPLES = """
nmt prepare                                as nmt.toml says
nmt prepare --train a.en a.de --train b.en.gz b.de.gz --valid valid.en valid.de
nmt prepare --train-tsv pairs.tsv.zst --subwords unigram --vocab-size 16000
zcat pairs.tsv.gz | nmt prepare --train-tsv - --separate --out my-corpus
"""


class Subwords(StrEnum):
    """The kinds of subwords."""

    bpe = "bpe"
    unigram = "unigram"
    wordpiece = "wordpiece"
    bytes = "bytes"
    chars = "chars"


TrainTsv = Annotated[
    list[str] | None,
    typer.Option(
        "--train-tsv", metavar="FILE", help="Training text as lines of source, tab, target."
    ),
]
Kind = Annotated[Subwords | None, typer.Option("--subwords", help="How words are divided.")]
VocabSize = Annotated[
    str | None,
    typer.Option(
        "--vocab-size", metavar="N|auto", help="Vocabulary size; auto: by the number of words."
    ),
]
Joint = Annotated[
    bool | None,
    typer.Option("--joint/--separate", help="One vocabulary for both languages, or two."),
]
Normalize = Annotated[
    bool | None,
    typer.Option("--normalize/--no-normalize", help="Moses-style quotes, dashes and spaces."),
]
Clean = Annotated[
    bool | None,
    typer.Option(
        "--clean/--no-clean", help="Leave out pairs in the wrong language: swapped, copied."
    ),
]
Workers = Annotated[
    int, typer.Option("--workers", min=0, metavar="N", help="Processes; 0: one a core.")
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="CORPUS", help="Directory to write; else corpus/.")
]


def command(
    train: TrainPairs = None,
    train_tsv: TrainTsv = None,
    valid: ValidPair = None,
    subwords: Kind = None,
    vocab_size: VocabSize = None,
    joint: Joint = None,
    normalize: Normalize = None,
    clean: Clean = None,
    src_lang: SrcLanguage = None,
    tgt_lang: TgtLanguage = None,
    preset: Preset = None,
    strict: Strict = False,
    workers: Workers = 0,
    out: Out = None,
    force: Force = False,
    sets: Sets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Turn parallel text into a corpus ready for training.

    Cleans the lines, leaves out empty, repeated and badly matching pairs, learns the subwords and
    encodes the text. Files may be plain, gzip, xz, zstd or bzip2; `-` is stdin.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.cli.texts import tell_waiting
    from nmt_cli.data.prepare import prepare

    flags = {
        "paths.corpus": out,
        "data.train": _training_files(train or [], train_tsv or []),
        "data.valid": list(valid) if valid else None,
        "data.subwords": subwords and subwords.value,
        "data.vocab_size": vocab_size,
        "data.joint": joint,
        "data.normalize": normalize,
        "data.drop_wrong_language": clean,
        "data.strict": strict or None,
        "languages.src": src_lang,
        "languages.tgt": tgt_lang,
        "train.preset": preset,
    }
    config = resolve_settings(flags, sets, config_file).config
    console = make_console(quiet=quiet)
    tell_waiting(console, *(path for paths in config.data.train for path in paths))
    with console.stages() as progress:
        prepared = prepare(
            config, Path(config.paths.corpus), force=force, workers=workers, progress=progress
        )
    show(prepared, console)
    if as_json:
        document = {"schema": SCHEMA, "path": str(prepared.path), "reused": prepared.reused}
        typer.echo(json.dumps({**document, **prepared.to_json()}))
    console.next("nmt train" if out is None else f"nmt train --corpus {out}")


def _training_files(pairs: list[FilePair], tsv: list[str]) -> list[list[str]] | None:
    files = [[pair.src, pair.tgt] for pair in pairs] + [[name] for name in tsv]
    return files or None


def show(prepared: "Prepared", console: Console) -> None:
    """The closing tables: what became of the pairs, and what each side is made of."""
    rows: list[tuple[str, int, str]] = [
        ("pairs read", prepared.read, ""),
        *(
            (f"  dropped: {reason}", count, f"{count / max(1, prepared.read):.1%}")
            for reason, count in prepared.dropped.items()
        ),
        ("pairs kept", prepared.kept, f"{prepared.kept / max(1, prepared.read):.1%}"),
    ]
    if prepared.valid:
        rows.append(("validation pairs", prepared.valid, ""))
    console.table(rows)
    sides = [
        (name, tally.tokens, size, tally.unknowns, round(tally.fertility, 2))
        for name, tally, size in (
            ("source", prepared.src, prepared.src_size),
            ("target", prepared.tgt, prepared.tgt_size),
        )
    ]
    console.table(sides, header=("", "tokens", "vocabulary", "unknown", "subwords a word"))
    for note in prepared.notes:
        console.warning(note)
    if prepared.reused:
        console.note(f"{prepared.path} was already prepared from the same text and settings")
    else:
        console.note(f"wrote {prepared.path}")
