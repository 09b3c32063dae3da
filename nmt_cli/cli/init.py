"""`nmt init`: write the project file nmt.toml, so that the other commands need no arguments."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.environment import make_console
from nmt_cli.cli.options import (
    FilePair,
    Force,
    Preset,
    Quiet,
    SrcLanguage,
    TestPair,
    TgtLanguage,
    TrainPairs,
    ValidPair,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.extras.project import Pair

EXAMPLES = """
nmt init --train train.en train.de --valid valid.en valid.de
nmt init --src-lang en --tgt-lang de       finds train.en, train.de, valid.en, ...
nmt init --train a.en a.de --train b.en b.de --preset small project/
"""
_HINT = "say which files: nmt init --train train.en train.de --valid valid.en valid.de"


def command(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where nmt.toml goes.")] = Path(),
    train: TrainPairs = None,
    valid: ValidPair = None,
    test: TestPair = None,
    src_lang: SrcLanguage = None,
    tgt_lang: TgtLanguage = None,
    preset: Preset = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write nmt.toml: languages, text files, preset.

    What is not given is found in the directory (train.en, valid.en, test.en, ...).
    """
    from nmt_cli.config import Layer, resolve
    from nmt_cli.extras import project

    console = make_console(quiet=quiet)
    preset = resolve([Layer("--preset", {"train.preset": preset or "base"})]).config.train.preset
    given = [*(train or []), *([valid] if valid else []), *([test] if test else [])]
    project.require_files([name for pair in given for name in pair])
    src, tgt = _languages(folder, given, src_lang, tgt_lang)
    pairs = [_in_project(folder, pair) for pair in train or []]
    found = {} if train else _found(folder, src, tgt)
    if not pairs:
        if "train" not in found:
            raise UsageError(
                f"there is no training text: no train.{src} and train.{tgt} in `{folder}`", _HINT
            )
        pairs = [found["train"]]
    path = project.write_project(
        folder,
        project.Project(
            src, tgt, tuple(pairs),
            _in_project(folder, valid) if valid else found.get("valid"),
            _in_project(folder, test) if test else found.get("test"),
            preset,
        ),
        force=force,
    )  # fmt: skip
    console.note(f"wrote {path}: {src} to {tgt}")
    if not valid and "valid" not in found:
        console.warning("no validation text is named: training will not know its best checkpoint")
    console.next(
        "nmt prepare" if folder == Path() else f"cd {shlex.quote(str(folder))} && nmt prepare"
    )


def _in_project(folder: Path, pair: FilePair) -> Pair:
    from nmt_cli.extras.project import relative_to

    return relative_to(folder, pair.src), relative_to(folder, pair.tgt)


def _found(folder: Path, src: str, tgt: str) -> dict[str, Pair]:
    from nmt_cli.extras.project import find_pair

    pairs = {kind: find_pair(folder, kind, src, tgt) for kind in ("train", "valid", "test")}
    return {kind: pair for kind, pair in pairs.items() if pair is not None}


def _languages(
    folder: Path, given: list[FilePair], src: str | None, tgt: str | None
) -> tuple[str, str]:
    """The two languages: as given, as the names of the files tell, or as a person answers."""
    from nmt_cli.extras.project import guess_languages, languages_in

    if src and tgt:
        return src, tgt
    guessed = guess_languages(given)
    if guessed:
        return src or guessed[0], tgt or guessed[1]
    if sys.stdin.isatty() and sys.stderr.isatty():
        src = src or _ask("Language translated from (such as en)")
        return src, tgt or _ask("Language translated to (such as de)")
    if given:
        raise UsageError(
            f"the names `{given[0].src}` and `{given[0].tgt}` do not tell the languages",
            "add --src-lang en --tgt-lang de, with the codes of your languages",
        )
    there = languages_in(folder)
    if len(there) == 2:
        raise UsageError(
            f"there is training text in {there[0]} and {there[1]}: which is translated from?",
            f"nmt init --src-lang {there[0]} --tgt-lang {there[1]}, or the other way round",
        )
    raise UsageError("neither files nor languages are given", _HINT)


def _ask(question: str) -> str:
    sys.stderr.write(f"{question}: ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    if not answer:
        raise UsageError("no language was named", "--src-lang and --tgt-lang name them, too")
    return answer
