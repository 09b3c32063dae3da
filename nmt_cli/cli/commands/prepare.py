"""`nmt prepare`: make a corpus for training from parallel text."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import (
    AsJson,
    ConfigFile,
    Force,
    Quiet,
    Sets,
    TestPair,
    TestTsv,
    TrainPairs,
    TrainTsv,
    ValidPair,
    ValidTsv,
    no_validation,
)
from nmt_cli.cli.options.from_settings import SettingOption, with_options
from nmt_cli.cli.typed_command import SPLITTING, typed_again
from nmt_cli.plurals import agreeing, counted
from nmt_cli.terminal.console import Console

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config, ResolvedConfig
    from nmt_cli.data.cleaning.findings import Finding
    from nmt_cli.data.preparation.passes import PreparedCorpus

SCHEMA = 1
# The width left for line numbers in a table of 80 columns.
LINES_WIDTH = 20
RANDOM_SPLIT = (
    "{} are a random part of the text: if its sentences resemble each other, scores on them are "
    "higher than those on new text"
)
STYLES = {"dropped": "yellow", "kept": "cyan"}

EXAMPLES = """
nmt prepare    the text files of nmt.toml
nmt prepare --train a.en a.de --train b.en.gz b.de.gz --valid valid.en valid.de
nmt prepare --train-tsv pairs.tsv.zst --src-lang en --tgt-lang de --valid-split 1000
nmt prepare --subwords-from model --out my-corpus    text to fine-tune that model
nmt prepare --clean --dropped dropped.tsv    list the dropped pairs
nmt prepare --drop "not a translation"    drop the pairs of one kind
nmt prepare --repaired repaired.tsv    list the repaired pairs, before and after
zcat pairs.tsv.gz | nmt prepare --train-tsv - --separate --out my-corpus
"""


Clean = Annotated[
    bool | None,
    typer.Option(
        "--clean/--no-clean",
        help="Drop all suspicious pairs, or skip all checks [default: repair text without loss, "
        "drop useless pairs, report the rest]",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", metavar="KIND",
        help="Drop the pairs with this kind of noise, as the table names it; repeat it for "
        "further kinds",
    ),
]  # fmt: skip
Dropped = Annotated[
    Path | None,
    typer.Option("--dropped", metavar="FILE", help="Write the dropped pairs to a TSV file"),
]
Repaired = Annotated[
    Path | None,
    typer.Option(
        "--repaired", metavar="FILE",
        help="Write the pairs that repairs changed to a TSV file, before and after",
    ),
]  # fmt: skip
Workers = Annotated[
    int, typer.Option("--workers", min=0, metavar="N", help="Number of processes; 0 = one per core")
]


@with_options(
    {
        "": ("train.preset", "sets", "config_file"),
        "Text": (
            "train", "train_tsv", "data.tsv_columns", "valid", "valid_tsv",
            SettingOption("data.valid_split", default="none"), "test", "test_tsv",
            SettingOption("data.test_split", default="none"), "languages.src",
            "languages.tgt", "data.strict",
        ),
        "Cleaning": ("data.normalize", "clean", "drop", "dropped", "repaired"),
        "Vocabulary": (
            "data.subwords", "data.vocab_size", "data.joint",
            SettingOption("data.subwords_from", default="learn a vocabulary"),
        ),
        "Output": (SettingOption("paths.corpus", "--out"), "force", "as_json", "quiet"),
        "Hardware": ("workers",),
    }
)  # fmt: skip
def command(
    *,
    flags: Mapping[str, object],
    train: TrainPairs = None,
    train_tsv: TrainTsv = None,
    valid: ValidPair = None,
    valid_tsv: ValidTsv = None,
    test: TestPair = None,
    test_tsv: TestTsv = None,
    clean: Clean = None,
    drop: Drop = None,
    dropped: Dropped = None,
    repaired: Repaired = None,
    workers: Workers = 0,
    force: Force = False,
    sets: Sets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Prepare parallel text for training.

    Cleans the text, drops empty, duplicate and mismatched sentence pairs, learns a subword
    vocabulary and encodes the text with it. Text files have one sentence per line; line N of the
    target file is the translation of line N of the source file. They may be compressed (gzip, xz,
    zstd, bzip2); `-` is stdin.
    """
    from nmt_cli.api.prepare import file_settings
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import note_defaults, resolve_settings
    from nmt_cli.cli.text_io import note_waiting
    from nmt_cli.data.corpus.users import new_model
    from nmt_cli.data.preparation.existing_subwords import with_existing_subwords
    from nmt_cli.extras.project_files import held_out_entry

    other_flags = {
        **file_settings(
            train or (), train_tsv or (),
            held_out_entry("valid", valid, valid_tsv), held_out_entry("test", test, test_tsv),
        ),
        "data.clean": None if clean is None else "strict" if clean else "off",
        "data.drop": drop or None,
    }  # fmt: skip
    resolved = resolve_settings({**flags, **other_flags}, sets, config_file)
    resolved = resolved._replace(config=with_existing_subwords(resolved))
    config = resolved.config
    console = make_console(quiet=quiet)
    if config.data.train and _learns_subwords(config):
        note_defaults(resolved, config_file, console, vocabulary=True)
    note_waiting(console, *chain(*config.data.train))
    model = new_model(Path(config.paths.corpus), Path(config.paths.model)) if force else None
    prepared = _prepared(resolved, console, dropped, repaired, force=force, workers=workers)
    note_languages(config, console)
    show(prepared, console, dropped, repaired, arguments=sys.argv[1:])
    if as_json:
        typer.echo(_as_json(prepared))
    _note_training(sets, console)
    next_command = _train_command(resolved, config_file, flags["paths.corpus"], model)
    _note_next(next_command, prepared, console)


def _learns_subwords(config: "Config") -> bool:
    return config.data.subwords not in ("bytes", "chars") and not config.data.subwords_from


def _note_next(train: str, prepared: "PreparedCorpus", console: Console) -> None:
    """Name the command that trains, if training is possible here."""
    from nmt_cli.installation import has_torch

    if has_torch():
        console.next(train)
    else:
        console.note(
            f"training needs torch, which is not installed here: copy `{prepared.path}` to a "
            "machine with nmt-cli"
        )


def _prepared(
    resolved: "ResolvedConfig",
    console: Console,
    dropped: Path | None,
    repaired: Path | None,
    *,
    force: bool,
    workers: int,
) -> "PreparedCorpus":
    from nmt_cli.api.prepare import prepare_corpus

    with console.stages() as progress:
        return prepare_corpus(
            resolved.config, resolved.origins, force=force, workers=workers, dropped=dropped,
            repaired=repaired, progress=progress, warn=console.warning,
        )  # fmt: skip


def _train_command(
    resolved: "ResolvedConfig", config_file: Path | None, corpus: object, model: Path | None
) -> str:
    """The command that trains on the corpus; corpus, model: None for those of the settings."""
    from nmt_cli.config.fine_tuning import overriding_preset
    from nmt_cli.data.corpus.users import free_name, is_trained_on
    from nmt_cli.storage.model_check import is_model_directory

    config = resolved.config
    source, out = config.data.subwords_from, Path(config.paths.model)
    start = source if source and is_model_directory(Path(source)) else None
    has_other_corpus = is_model_directory(out) and not is_trained_on(out, Path(config.paths.corpus))
    if has_other_corpus or (start is not None and out.exists()):
        # Neither a run on another corpus nor the model that fine-tuning begins with can go on.
        model = free_name(out)
    typed = config.train.preset if resolved.origins["train.preset"] == "command line" else None
    preset = typed if start is None else overriding_preset(resolved, Path(start))
    has_two = not config.data.joint and config.data.subwords != "bytes"
    ties = (
        "model.tie_embeddings=target" if has_two and config.model.tie_embeddings == "all" else None
    )
    options = [
        ("--config", config_file), ("--init-from", start), ("--preset", preset),
        ("--corpus", corpus), ("--out", model), ("--set", ties),
    ]  # fmt: skip
    given = [str(word) for option in options if option[1] is not None for word in option]
    return shlex.join(["nmt", "train", *given])


def _as_json(prepared: "PreparedCorpus") -> str:
    document = {"schema": SCHEMA, "path": str(prepared.path), "reused": prepared.reused}
    return json.dumps({**document, **prepared.to_json()})


def _note_training(sets: list[str] | None, console: Console) -> None:
    from nmt_cli.cli.used_settings import training_note

    if note := training_note(sets or ()):
        console.note(note)


def note_languages(config: "Config", console: Console) -> None:
    """Say which language codes are used if none were given, and which are not known."""
    from nmt_cli.api.prepare import language_notes

    for note in language_notes(config):
        console.note(note)
    languages = config.languages
    if languages == type(languages)():
        from nmt_cli.data.languages.names import is_language_code
        from nmt_cli.extras.project_files import ProjectTexts

        # Endings such as `.src` and `.tgt` are no languages.
        endings = ProjectTexts(config.data.train, None, None).languages() or ("", "")
        src, tgt = endings if all(map(is_language_code, endings)) else ("SRC", "TGT")
        console.note(
            f"no languages were given, so they are called {languages.src} and {languages.tgt}, "
            "text is not checked to be in its language, and no rules for a language are used; to "
            f"name them: {shlex.join(['--src-lang', src, '--tgt-lang', tgt])}"
        )


def show(
    prepared: "PreparedCorpus",
    console: Console,
    dropped: Path | None = None,
    repaired: Path | None = None,
    *,
    arguments: Sequence[str] = (),
) -> None:
    """Show the summary tables: pairs, findings and the statistics of each side.

    dropped, repaired: the lists that were asked for.
    arguments: the command line after `nmt`, for the commands of hints.
    """
    rows: list[tuple[str, int, str]] = [
        ("pairs read", prepared.read, ""),
        ("pairs kept", prepared.kept, f"{prepared.kept / max(1, prepared.read):.1%}"),
    ]
    if prepared.valid:
        share = f"{prepared.split / max(1, prepared.read):.1%}" if prepared.split else ""
        rows.append(("validation pairs", prepared.valid, share))
    if prepared.test:
        share = f"{prepared.test_split / max(1, prepared.read):.1%}" if prepared.test_split else ""
        rows.append(("test pairs", prepared.test, share))
    console.table(rows)
    splits = (("validation", prepared.split), ("test", prepared.test_split))
    names = " and ".join(name for name, size in splits if size)
    if names:
        console.note(RANDOM_SPLIT.format(f"the {names} pairs"))
    findings = [
        (finding.kind, finding.pairs, finding.action, shown_lines(finding))
        for finding in prepared.findings
    ]
    console.table(findings, header=("found", "pairs", "", "first lines"), styles=STYLES)
    sides = [
        (name, tally.tokens, size, tally.unknowns, round(tally.fertility, 2))
        for name, tally, size in (
            ("source", prepared.src, prepared.src_size),
            ("target", prepared.tgt, prepared.tgt_size),
        )
    ]
    console.table(sides, header=("", "tokens", "vocabulary", "unknown", "subwords per word"))
    for note in (*prepared.notes, *_no_validation(prepared, arguments)):
        console.warning(note)
    for remark in prepared.remarks:
        console.note(remark)
    if any(finding.action == "kept" for finding in prepared.findings):
        console.note(_suspicious_note(prepared, arguments))
    if prepared.reused:
        console.note(f"{prepared.path} was already prepared from the same text and settings")
    else:
        console.note(f"wrote {prepared.path}")
    if prepared.test_files:
        console.note(f"test text: {', '.join(prepared.test_files)}")
    note_list(prepared, dropped, counted(sum(prepared.dropped.values()), "dropped pair"), console)
    note_list(prepared, repaired, _repaired_list(prepared), console)


def _suspicious_note(prepared: "PreparedCorpus", arguments: Sequence[str]) -> str:
    return (
        "some of the kept pairs look suspicious; look at these lines: if they are wrong, "
        f"`{typed_again(arguments)} --clean --force --dropped FILE` drops them and lists them "
        "in FILE, and `--drop KIND` in place of --clean those of one kind; with "
        'clean = "strict" under [data] in nmt.toml, later commands do so too'
        f"{_doubtful_split(prepared)}"
    )


def _doubtful_split(prepared: "PreparedCorpus") -> str:
    """How many of the pairs that were set apart look suspicious, or ""."""
    sets = (
        (prepared.doubtful_split, prepared.split, "validation"),
        (prepared.doubtful_test, prepared.test_split, "test"),
    )
    counts = [f"{found:,} of the {counted(size, f'{name} pair')}" for found, size, name in sets
              if found]  # fmt: skip
    if not counts:
        return ""
    are = agreeing(prepared.doubtful_split + prepared.doubtful_test, "is", "are")
    return (
        f"; {' and '.join(counts)} that were set apart {are} among them, and `--clean` sets others "
        "apart in their place"
    )


def _no_validation(prepared: "PreparedCorpus", arguments: Sequence[str]) -> list[str]:
    command = typed_again(arguments, SPLITTING)
    return [] if prepared.valid else [no_validation(prepared.kept, f"{command} --force")]


def shown_lines(finding: "Finding") -> str:
    """The first line numbers of a finding, as many as fit a terminal of 80 columns.

    Where they follow the name of their file, it is written once: `a.en:3, 17, b.en:4`.
    """
    shown: list[str] = []
    named = ""
    room = LINES_WIDTH
    for line in finding.lines:
        file, colon, number = line.rpartition(":")
        if not shown:
            room += len(file)
        shown.append(number if colon and file == named else line)
        if len(shown) > 1 and len(", ".join(shown)) > room:
            shown.pop()
            break
        named = file
    has_ranges = any("-" in entry.rpartition(":")[2] for entry in shown)
    more = len(shown) < (len(finding.lines) if has_ranges else finding.pairs)
    return ", ".join([*shown, *(["..."] if more else [])])


def _repaired_list(prepared: "PreparedCorpus") -> str:
    """What is in the list of repaired pairs."""
    pairs = counted(prepared.repaired or 0, "repaired pair")
    left = prepared.letters_left
    return f"{pairs}, and {left:,} with letters of another script, not repaired" if left else pairs


def note_list(
    prepared: "PreparedCorpus", path: Path | None, content: str, console: Console
) -> None:
    """Report what was written to a list of pairs, if one was asked for.

    content: how many pairs are in it, and of what kind.
    """
    if path is None:
        return
    if prepared.reused:
        console.warning(f"`{path}` was not written: nothing was done; add --force")
    else:
        console.note(f"wrote {path}: {content}")
