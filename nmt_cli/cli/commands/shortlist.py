"""`nmt shortlist`: learn likely translations of subwords, for `nmt translate --shortlist`."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options.declarations import ConfigFile, PathSets, Quiet
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.errors import UsageError
from nmt_cli.plurals import counted

EXAMPLES = """
nmt shortlist                           the corpus and model of nmt.toml
nmt shortlist model-average --corpus corpus
nmt translate --shortlist 50 test.en    50 candidates for each subword
"""


Model = Annotated[
    Path | None,
    typer.Argument(metavar="[MODEL]", help="Model directory, as --model names it"),
]


@with_options({"": ("paths.corpus", "paths.model", "sets", "config_file", "quiet")})
def command(
    *,
    flags: Mapping[str, object],
    model: Model = None,
    sets: PathSets = None,
    config_file: ConfigFile = None,
    quiet: Quiet = False,
) -> None:
    """Learn the likely translations of each source subword, for `nmt translate --shortlist`.

    Translating with a shortlist is faster on a CPU, because only likely subwords are scored. The
    shortlist is learnt from the corpus that the model was trained on, and is added to the model
    directory as one file; its other files stay as they are.
    """
    from nmt_cli.api.training_setup import require_corpus
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import model_option, resolve_settings
    from nmt_cli.cli.used_settings import BOTH_PATHS
    from nmt_cli.config.held_out_text import is_of_project

    if model is not None:
        if flags.get("paths.model") is not None:
            raise UsageError("the model is given twice", "leave out --model")
        flags = {**flags, "paths.model": str(model)}
    resolved = resolve_settings(flags, sets, config_file, used=BOTH_PATHS)
    paths = resolved.config.paths
    console = make_console(quiet=quiet)
    corpus, origin = Path(paths.corpus), resolved.origins["paths.corpus"]
    if origin == "default" or is_of_project(origin):
        corpus = _training_corpus(Path(paths.model)) or corpus
    require_corpus(corpus)

    from nmt_cli.training.learn_shortlist import learn_shortlist

    with console.stages() as progress:
        learnt = learn_shortlist(corpus, Path(paths.model), progress=progress)
    pairs = counted(learnt.pairs, "pair")
    if learnt.pairs < learnt.corpus_pairs:
        pairs = f"{learnt.pairs:,} of {counted(learnt.corpus_pairs, 'pair')}"
    console.note(f"learnt from {pairs} of `{corpus}`")
    if note := _fine_tuned_note(Path(paths.model), corpus):
        console.note(note)
    console.next(f"nmt translate --shortlist 50{model_option(paths.model, config_file)}")


def _fine_tuned_note(model: Path, corpus: Path) -> str:
    """That the shortlist lacks the words of the first model; "" unless `corpus` is the new text."""
    from nmt_cli.model_dir import load_config

    first, trained_on = load_config(model).train.init_from, _training_corpus(model)
    if not first or trained_on is None or not trained_on.samefile(corpus):
        return ""
    return (
        f"the model was fine-tuned from `{first}`, and the shortlist knows only the words of "
        f"`{corpus}`; for other text too, learn it from a corpus of both texts: "
        f"nmt prepare --subwords-from {shlex.quote(first)} --train ... --out all-text, then "
        f"{shlex.join(['nmt', 'shortlist', str(model), '--corpus', 'all-text'])}"
    )


def _training_corpus(model: Path) -> Path | None:
    """The corpus that a model was trained on, if it exists; it may not be that of the project."""
    from nmt_cli.model_dir import load_config
    from nmt_cli.storage.model_check import CONFIG, CORPUS

    if not (model / CONFIG).is_file():
        return None
    recorded = load_config(model).paths.corpus
    candidates = (folder / recorded for folder in (Path(), model.parent))
    return next((corpus for corpus in candidates if (corpus / CORPUS).is_file()), None)
