"""`nmt init`: write the project file nmt.toml, so that the other commands need no arguments."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from nmt_cli.cli.environment import make_console
from nmt_cli.cli.options.declarations import (
    ForceProject,
    Quiet,
    TestPair,
    TestTsv,
    TrainPairs,
    TrainTsv,
    ValidPair,
    ValidTsv,
    no_validation,
)
from nmt_cli.cli.options.from_settings import SettingOption, with_options
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.extras.project import Paths
    from nmt_cli.extras.project_files import ProjectTexts

EXAMPLES = """
nmt init --train train.en train.de --valid valid.en valid.de
nmt init --src-lang en --tgt-lang de    find train.en, train.de, ...
nmt init --train a.en a.de --train b.en b.de --preset small
nmt init --train-tsv pairs.en-de.tsv --valid-split 1000 --test-split 1000
"""
_HINT = "say which files: nmt init --train train.en train.de --valid valid.en valid.de"


# Cleaning is assumed to keep at least this share of the pairs, for the advised size of a split.
SHARE_KEPT = 0.9
GUESSED = "guessed from the names of the text files"

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Directory to write nmt.toml to")]


@with_options(
    {
        "": (SettingOption("train.preset", default="chosen by the amount of text"),),
        "Text": (
            "train", "train_tsv", "data.tsv_columns", "valid", "valid_tsv",
            SettingOption("data.valid_split", default="none"),
            "test", "test_tsv", SettingOption("data.test_split", default="none"),
            SettingOption("languages.src", default=GUESSED),
            SettingOption("languages.tgt", default=GUESSED),
        ),
        "Output": ("force", "quiet"),
    }
)  # fmt: skip
def command(
    *,
    flags: Mapping[str, object],
    folder: Folder = Path(),
    train: TrainPairs = None,
    train_tsv: TrainTsv = None,
    valid: ValidPair = None,
    valid_tsv: ValidTsv = None,
    test: TestPair = None,
    test_tsv: TestTsv = None,
    force: ForceProject = False,
    quiet: Quiet = False,
) -> None:
    """Write the project file nmt.toml, from which the other commands read their settings.

    It names the languages, the text files and the preset. Text files that are not given are looked
    for in DIR: train.en, train.de, valid.en, valid.de, test.en, test.de for English and German, or
    train.tsv, valid.tsv, test.tsv.
    """
    from nmt_cli.data.languages.names import require_codes, unknown_codes_note
    from nmt_cli.extras import project, project_files

    console = make_console(quiet=quiet)
    given = _given_settings(flags)
    _require_folder(folder, given, is_table=bool(train_tsv))
    tables = {"valid": valid_tsv, "test": test_tsv}
    texts = project_files.given_texts(train, train_tsv, valid, test, tables, given.splits)
    texts = texts._replace(tsv_columns=given.tsv_columns)
    texts.require()
    src, tgt = _languages(folder, texts, given.src, given.tgt)
    require_codes(src, tgt)
    project_files.require_different(src, tgt)
    texts = texts.completed(folder, src, tgt)
    if not texts.train:
        raise UsageError(
            f"there is no training text: no train.{src} and train.{tgt} in `{folder}`", _HINT
        )
    warnings, (preset, reason, unsuitable, pairs, tight) = _checked(texts, src, tgt, given.preset)
    again = project_files.options_of(texts, src, tgt, given.preset)
    path = project.write_project(
        folder,
        project.Project(
            src, tgt,
            tuple(_in_project(folder, entry) for entry in texts.train),
            _in_project(folder, texts.valid) if texts.valid else None,
            _in_project(folder, texts.test) if texts.test else None,
            preset, texts.valid_split, texts.test_split, reason, texts.tsv_columns,
        ),
        force=force,
    )  # fmt: skip
    console.note(f"wrote {path}: {src} to {tgt}")
    for note in filter(None, (reason, unsuitable, unknown_codes_note(src, tgt))):
        console.note(note)
    for warning in filter(None, (*warnings, tight)):
        console.warning(warning)
    if not texts.valid and not texts.valid_split:
        console.warning(_without_validation(texts, src, tgt, pairs, _again(folder, again)))
    console.next(
        "nmt prepare" if folder == Path() else f"cd {shlex.quote(str(folder))} && nmt prepare"
    )


def _require_folder(folder: Path, given: "_GivenSettings", *, is_table: bool) -> None:
    """Raise UsageError if a further text file was taken for the directory of the project."""
    if not folder.is_file():
        return
    from nmt_cli.data.text.language_hints import OtherFormatError
    from nmt_cli.data.text.line_pairs import why_no_table
    from nmt_cli.data.text.shell_commands import is_table_name

    name = shlex.quote(str(folder))
    problem = why_no_table(str(folder)) if is_table_name(str(folder)) else None
    if isinstance(problem, OtherFormatError) and given.src and given.tgt:
        problem.name_languages(given.src, given.tgt)
    if problem is not None:
        raise UsageError(f"DIR: `{folder}` is a file; {problem.message}", problem.hint)
    if is_table or is_table_name(str(folder)):
        advice = "repeat --train-tsv for a second" if is_table else "--train-tsv names a TSV"
        hint = f"{advice} file: --train-tsv {name}"
    else:
        hint = "--train takes two files; repeat it for a second pair: --train SRC TGT"
    raise UsageError(f"DIR: `{folder}` is a file", hint)


def _without_validation(texts: "ProjectTexts", src: str, tgt: str, pairs: int, command: str) -> str:
    """The warning that no validation text was named, and the command that names one."""
    from nmt_cli.extras.project_files import valid_beside_train

    beside = valid_beside_train(texts, src, tgt)
    if beside is None:
        return no_validation(pairs, command)
    option = "--valid" if len(beside) > 1 else "--valid-tsv"
    return (
        "there is no validation text: training cannot tell which checkpoint is best; to use the "
        f"one beside the training text: {command} {option} {shlex.join(beside)}"
    )


def _again(folder: Path, options: list[str]) -> str:
    """The command that writes the same project file again."""
    directory = [] if folder == Path() else [str(folder)]
    return shlex.join(["nmt", "init", *directory, "--force", *options])


class _GivenSettings(NamedTuple):
    """The settings that were given as options; None if they were not.

    splits: the numbers of training pairs to set apart, by use, 0 if they were not given.
    """

    preset: str | None
    src: str | None
    tgt: str | None
    splits: Mapping[str, int]
    tsv_columns: str


def _given_settings(flags: Mapping[str, object]) -> _GivenSettings:
    """The settings among the options; raises ConfigError for a preset that does not exist."""
    from nmt_cli.cli.settings import option_names
    from nmt_cli.config.held_out_text import COMMAND_LINE
    from nmt_cli.config.schema import SettingsLayer, resolve

    given = {key: value for key, value in flags.items() if value is not None}
    config = resolve([SettingsLayer(COMMAND_LINE, given, option_names(given))]).config
    return _GivenSettings(
        preset=config.train.preset if "train.preset" in given else None,
        src=config.languages.src if "languages.src" in given else None,
        tgt=config.languages.tgt if "languages.tgt" in given else None,
        splits={"valid": config.data.valid_split, "test": config.data.test_split},
        tsv_columns=config.data.tsv_columns,
    )


class _Choice(NamedTuple):
    """A preset, why it was chosen ("" if it was given), a note on it, and the training pairs.

    tight: the warning that cleaning may leave too few pairs to set some apart; "" if it will not.
    """

    preset: str
    reason: str
    note: str
    pairs: int
    tight: str


def _checked(
    texts: "ProjectTexts", src: str, tgt: str, preset: str | None
) -> tuple[list[str], _Choice]:
    """Warnings of the texts, and what is chosen for them; raises DataError if they are wrong."""
    from nmt_cli.data.text.language_hints import hints_for
    from nmt_cli.extras.project_files import check_text_files

    with hints_for(src, tgt):
        return check_text_files(texts, src, tgt), _choose_preset(preset, texts)


def _choose_preset(preset: str | None, texts: "ProjectTexts") -> _Choice:
    """The preset for these texts.

    Raises DataError where so few pairs do not suffice for the pairs to set apart.
    """
    from nmt_cli.cli.settings import option_names
    from nmt_cli.config.held_out_text import COMMAND_LINE, naming_origins
    from nmt_cli.data.preparation.split_sizes import SplitSizes
    from nmt_cli.extras.advice import advise, measure, unsuitable

    size = measure(texts.train, texts.tsv_columns)
    names = option_names(["data.valid_split", "data.test_split"])
    with naming_origins(dict.fromkeys(names, COMMAND_LINE), names):
        splits = SplitSizes(texts.valid_split, texts.test_split)
        splits.require_small(size.pairs, share_kept=SHARE_KEPT)
    tight = splits.tight_note(size.pairs, share_kept=SHARE_KEPT)
    training = size.without(splits.total)
    if preset is not None:
        return _Choice(preset, "", unsuitable(preset, training), size.pairs, tight)
    preset, reason = advise(training)
    return _Choice(preset, reason, "", size.pairs, tight)


def _in_project(folder: Path, entry: "Paths") -> "Paths":
    from nmt_cli.extras.project import relative_to

    return tuple(
        path.name if (path := Path(name)).parent == folder else relative_to(folder, name)
        for name in entry
    )


def _languages(
    folder: Path, given: "ProjectTexts", src: str | None, tgt: str | None
) -> tuple[str, str]:
    """The two languages: those given, or those in the names of the files, or those typed in."""
    from nmt_cli.data.languages.english_names import shown_language
    from nmt_cli.extras.project_files import languages_in

    if src and tgt:
        return src, tgt
    guessed = given.languages()
    if guessed:
        return src or guessed[0], tgt or guessed[1]
    if sys.stdin.isatty() and sys.stderr.isatty():
        src = src or _ask("Source language code (such as en)")
        return src, tgt or _ask("Target language code (such as de)")
    pairs = [entry for entry in given.entries() if len(entry) == 2]
    tables = [path for pair in pairs for path in pair if ".tsv" in Path(path).name]
    if tables:
        raise UsageError(
            f"`{tables[0]}` looks like a TSV file", "give it with --train-tsv instead of --train"
        )
    if given.entries():
        _require_tables([entry[0] for entry in given.entries() if len(entry) == 1])
        raise UsageError(
            f"the languages cannot be guessed from {_names(given.entries()[0])}",
            "add --src-lang en --tgt-lang de, with the codes of your languages",
        )
    there = languages_in(folder)
    if len(there) == 2:
        named = " and ".join(map(shown_language, there))
        raise UsageError(
            f"there is training text in {named}: which is the source language?",
            f"nmt init --src-lang {there[0]} --tgt-lang {there[1]}, or the other way round",
        )
    raise UsageError("neither files nor languages are given", _HINT)


def _require_tables(paths: Sequence[str]) -> None:
    """Raise the error of a file that is no table, such as TMX, with the command that makes one."""
    from nmt_cli.data.text.line_pairs import why_no_table

    for path in paths:
        if error := why_no_table(path):
            raise error


def _names(entry: "Paths") -> str:
    if len(entry) == 1:
        return f"the name `{entry[0]}`"
    return f"the names `{entry[0]}` and `{entry[1]}`"


def _ask(question: str) -> str:
    sys.stderr.write(f"{question}: ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    if not answer:
        raise UsageError(
            "no language was given", "set the languages with --src-lang and --tgt-lang"
        )
    return answer
