"""`nmt attention`: show the attention of a model while it translates a sentence."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, ConfigFile, ForcePicture, Quiet, SearchSets
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.extras.attention_map.attention import Attention
    from nmt_cli.terminal.console import Console

DEFAULT_OUT = Path("attention.html")

EXAMPLES = """
nmt attention "The dog sleeps."    write attention.html
nmt attention "The dog sleeps." --out dog.svg --kind encoder
nmt attention "The dog sleeps." --out dog.svg --layer 5 --head 2
"""

Sentence = Annotated[str, typer.Argument(metavar="SENTENCE", help="Sentence to translate")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="File to write: .html, .svg or .png [default: attention.html]"
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        "--kind", metavar="KIND",
        help="Attention to show: encoder or decoder (self-attention), or cross; a page has all "
        "three, beginning with this one",
    ),
]  # fmt: skip
Layer = Annotated[int | None, typer.Option("--layer", metavar="N", help="Layer to show, from 1")]
Head = Annotated[int | None, typer.Option("--head", metavar="N", help="Head to show, from 1")]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TEXT",
        help="Translation to show instead of the one that the model finds",
    ),
]


@with_options(
    {
        "": (
            "paths.model", "out", "force", "kind", "layer", "head", "target",
            "as_json", "sets", "config_file", "quiet",
        )
    }
)  # fmt: skip
def command(
    *,
    flags: Mapping[str, object],
    sentence: Sentence,
    out: Out = None,
    force: ForcePicture = False,
    kind: Kind = "cross",
    layer: Layer = None,
    head: Head = None,
    target: Target = None,
    as_json: AsJson = False,
    sets: SearchSets = None,
    config_file: ConfigFile = None,
    quiet: Quiet = False,
) -> None:
    """Show the attention weights of a model for a sentence, in every layer and head.

    Writes an interactive web page (.html, which needs no network) or a picture (.svg or .png), with
    all heads unless --layer and --head select one. With --json, writes the attention weights to
    stdout instead.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.cli.used_settings import TRANSLATING
    from nmt_cli.drawing.output import write_picture
    from nmt_cli.installation import require_torch

    require_torch("`nmt attention`")
    resolved = resolve_settings(flags, sets, config_file, used=TRANSLATING)
    if as_json and out is not None:
        raise UsageError("--json writes to stdout, and --out names a file", "leave out one of them")
    if not as_json:
        _check_output(out, resolved, config_file, force=force)
    console = make_console(quiet=quiet)
    _warn_of_file(sentence, console)
    attention = _attention_of(sentence, target, resolved, console)
    if attention.flags:
        console.warning(
            f"the translation is doubtful ({', '.join(attention.flags)}), so that its attention "
            "says little: take a sentence with words of the training text, or give a right "
            "translation with --target"
        )
    if as_json:
        from nmt_cli.extras.attention_map.attention import as_document
        from nmt_cli.translation.json_lines import as_one_line

        typer.echo(as_one_line(as_document(attention)), nl=False)
        return
    from nmt_cli.extras.attention_map.page import page
    from nmt_cli.extras.attention_map.picture import picture

    out = out or DEFAULT_OUT
    draw = page if out.suffix.lower() == ".html" else picture
    written = write_picture(out, draw(attention, kind, layer, head))
    console.note(f"{attention.translation}\n{written}")


def _warn_of_file(sentence: str, console: "Console") -> None:
    """Warn if the sentence is the name of a file, which is not read."""
    # The system refuses sentences that are too long for a file name.
    with contextlib.suppress(OSError):
        if Path(sentence).is_file():
            console.warning(
                f"`{sentence}` is taken as the sentence, although there is a file of this name; "
                "give the sentence itself"
            )


def _check_output(
    out: Path | None, resolved: "ResolvedConfig", config_file: Path | None, *, force: bool
) -> None:
    """Raise UsageError for an unknown extension; refuse to overwrite files that are needed."""
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.drawing.output import check_picture, is_own_picture

    output = out or DEFAULT_OUT
    if output.suffix.lower() not in (".html", ".svg", ".png"):
        raise UsageError(
            f"`{out}` is neither a page nor a picture", "use the extension .html, .svg or .png"
        )
    if output.suffix.lower() != ".html":
        check_picture(output)
    force = force or is_own_picture(output)
    check_outputs([output], resolved=resolved, config_file=config_file, force=force)


def _attention_of(
    sentence: str, target: str | None, resolved: "ResolvedConfig", console: "Console"
) -> "Attention":
    from nmt_cli.cli.loading import load_translator
    from nmt_cli.cli.settings import chosen_search
    from nmt_cli.extras.attention_map.attention import sentence_attention

    translator = load_translator(resolved.config.paths.model, console=console)
    search = chosen_search(resolved, translator.config)
    return sentence_attention(translator, sentence, target=target, search=search)
