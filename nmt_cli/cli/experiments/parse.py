"""`nmt parse`: parse text into trees, turn trees into training text, and score trees."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from nmt_cli.cli.app import HELP_OPTIONS, CommandWithExamples, GroupWithExamples, make_app
from nmt_cli.cli.experiments import parse_score
from nmt_cli.cli.options.declarations import (
    AsJsonLines,
    ConfigFile,
    ForceFile,
    Quiet,
    SearchSets,
    Threads,
)
from nmt_cli.cli.options.from_settings import SettingOption, with_options
from nmt_cli.cli.text_io import STDIN
from nmt_cli.extras.parsing.search import SEARCH
from nmt_cli.plurals import agreeing, counted
from nmt_cli.translation.json_lines import as_one_line

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Context
    from nmt_cli.config.schema import LanguagesConfig
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.data.text.lines import Lines
    from nmt_cli.extras.parsing.parser import Parse
    from nmt_cli.translation.translator import Translator

SCHEMA = 1
# A waiting line is parsed when nothing has arrived for this long.
PATIENCE_SECONDS = 0.2
# What `nmt parse FILE` means.
DEFAULT = "text"

GROUP_EXAMPLES = """
nmt parse test.words -o test.parsed
nmt parse score test.parsed test.trees
"""
EXAMPLES = """
echo "The dog sleeps ." | nmt parse
nmt parse test.words -o test.parsed
nmt parse --beam 4 --json test.words    a smaller beam, scores as JSON
"""
PREPARE_EXAMPLES = """
nmt parse prepare wsj/0[2-9]/*.mrg wsj/1*/*.mrg wsj/2[01]/*.mrg --out train
nmt parse prepare wsj/22/*.mrg --out valid
nmt init --src-lang words --tgt-lang brackets \\
    --train train.words train.brackets --valid valid.words valid.brackets
"""


class _Parsing(GroupWithExamples):
    """`nmt parse FILE` is `nmt parse text FILE`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Insert the default command where no command is named."""
        if not args or (args[0] not in self.commands and args[0] not in HELP_OPTIONS):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


class Tags(StrEnum):
    """The part-of-speech tags that a parser learns."""

    all = "all"
    xx = "xx"


File = Annotated[
    str,
    typer.Argument(
        metavar="[FILE]",
        help="Text file of words separated by spaces, one sentence per line; - is stdin",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="File to write the trees to [default: stdout]"
    ),
]
Trees = Annotated[
    list[str],
    typer.Argument(metavar="TREES...", help="Treebank files (plain, gz, xz, zst, bz2); - is stdin"),
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="NAME", help="Write NAME.words, NAME.brackets and NAME.trees"),
]
TagsOption = Annotated[
    Tags,
    typer.Option(
        "--tags",
        help="Part-of-speech tags: all = keep them; xx = write XX for all but punctuation",
    ),
]

app = make_app()


@app.callback(cls=_Parsing, epilog=GROUP_EXAMPLES)
def parse() -> None:
    """Parse sentences into constituency trees with a translation model.

    Section 6.3 of "Attention Is All You Need" does so with the Penn Treebank.
    `nmt parse FILE` is short for `nmt parse text FILE`.
    """


@app.command(DEFAULT, cls=CommandWithExamples, epilog=EXAMPLES)
@with_options(
    {
        "": ("paths.model", "sets", "config_file"),
        "Hardware": ("threads",),
        "Search": tuple(SettingOption(key, default=str(value)) for key, value in SEARCH.items()),
        "Input and output": ("data.strict", "output", "force", "as_json", "quiet"),
    }
)
def text(
    *,
    flags: Mapping[str, object],
    file: File = STDIN,
    output: Output = None,
    force: ForceFile = False,
    threads: Threads = None,
    sets: SearchSets = None,
    config_file: ConfigFile = None,
    as_json: AsJsonLines = False,
    quiet: Quiet = False,
) -> None:
    """Parse sentences into trees.

    Writes one tree per line, always over exactly the words of the line: missing brackets are added
    and wrong ones are dropped. The search settings are those of the paper unless they are given as
    options.
    """
    from nmt_cli.cli.environment import apply_threads, make_console
    from nmt_cli.cli.loading import load_translator, require_models
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.cli.settings import chosen_search, resolve_settings
    from nmt_cli.cli.text_io import (
        note_waiting,
        open_text_file,
        require_output,
        require_text_file,
        warn_of_invalid,
    )
    from nmt_cli.cli.used_settings import TRANSLATING
    from nmt_cli.config.protected_files import needed_files
    from nmt_cli.data.text.lines import read_lines

    resolved = resolve_settings(flags, sets, config_file, used=TRANSLATING)
    read = needed_files("is the file that is read", file)
    check_outputs([output], read, resolved=resolved, config_file=config_file, force=force)
    console = make_console(quiet=quiet)
    apply_threads(threads, console)
    require_text_file(file, "parse")
    require_models([resolved.config.paths.model])
    require_output(output)
    with read_lines(file, strict=resolved.config.data.strict) as lines:
        from nmt_cli.extras.parsing.parser import for_parsing

        translator = load_translator(resolved.config.paths.model, "auto", console=console)
        search = chosen_search(resolved, for_parsing(translator.config))
        note_waiting(console, file)
        with open_text_file(output, lines, force=force) as out:
            repaired = _parse(lines, translator, search, out, as_json=as_json)
    warn_of_invalid(console, lines)
    if repaired:
        console.note(
            f"repaired {repaired:,} of {counted(lines.count, 'parse')}, which "
            f"{agreeing(repaired, 'was not a valid tree', 'were not valid trees')}: --json shows "
            "what the model wrote"
        )
    if repaired == lines.count > 0:
        console.warning(_doubt(resolved.config.paths.model, translator.config.languages))


def _doubt(model: str, languages: "LanguagesConfig") -> str:
    """Why no parse may have been a valid tree."""
    from nmt_cli.extras.parsing.training_text import BRACKETS

    if languages.tgt == BRACKETS:
        return f"no parse was a valid tree: `{model}` is not trained enough, or not on such text"
    return (
        f"no parse was a valid tree: does `{model}`, which translates {languages.src} to "
        f"{languages.tgt}, parse at all? `nmt parse prepare` makes training text for parsing"
    )


def _parse(
    lines: "Lines",
    translator: "Translator",
    search: "SearchConfig",
    out: BinaryIO,
    *,
    as_json: bool,
) -> int:
    """Parse and write lines as they arrive; returns the number of parses that were repaired."""
    from nmt_cli.extras.parsing.parser import parse_window
    from nmt_cli.translation.lines.inputs import windows

    count, repaired = 0, 0
    for window in windows(lines, lambda: lines.must_wait(PATIENCE_SECONDS)):
        for index, parse in enumerate(parse_window(translator, window, search), count):
            shown = _as_json(index, parse) if as_json else _as_text(parse)
            out.write(shown.encode("utf-8", errors="replace"))
            repaired += parse.repairs > 0
        out.flush()
        count += len(window)
    return repaired


def _as_text(parse: "Parse") -> str:
    from nmt_cli.extras.parsing.trees import tree_text

    return f"{tree_text(parse.tree) if parse.tree else ''}\n"


def _as_json(index: int, parse: "Parse") -> str:
    shown = {
        "schema": SCHEMA,
        "line": index,
        "words": parse.words,
        "tree": _as_text(parse).rstrip("\n"),
        "output": parse.translation.text,
        "repairs": parse.repairs,
        "score": parse.translation.score,
        "flags": parse.translation.flags,
    }
    return as_one_line(shown)


@app.command("prepare", cls=CommandWithExamples, epilog=PREPARE_EXAMPLES)
def prepare(
    trees: Trees,
    out: Out,
    tags: TagsOption = Tags.all,
    force: ForceFile = False,
    quiet: Quiet = False,
) -> None:
    """Convert a treebank to training text for a parser.

    Removes traces, function tags and outer brackets, as is customary. NAME.words and NAME.brackets
    are the source and target files for `nmt init`; NAME.trees has the gold trees for `nmt parse
    score`.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.extras.parsing.training_text import (
        output_files,
        require_other_files,
        write_text_of_trees,
    )

    require_other_files(out, trees)
    check_outputs(output_files(out), force=force)
    written = write_text_of_trees(trees, out, tags.value)
    console = make_console(quiet=quiet)
    console.note(
        f"wrote {counted(written.trees, 'tree')} as {out}.words, {out}.brackets, {out}.trees"
    )
    if written.without_words:
        console.note(f"left out {counted(written.without_words, 'tree')} without words")


app.command("score", cls=CommandWithExamples, epilog=parse_score.EXAMPLES)(parse_score.command)
