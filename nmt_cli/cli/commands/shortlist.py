"""`nmt shortlist`: learn likely translations of subwords, for `nmt translate --shortlist`."""

from collections.abc import Mapping
from pathlib import Path

from nmt_cli.cli.options.declarations import ConfigFile, Quiet, Sets
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.plurals import counted

EXAMPLES = """
nmt shortlist                           the corpus and model of nmt.toml
nmt shortlist --corpus corpus --model model-average
nmt translate --shortlist 50 test.en    50 candidates for each subword
"""


@with_options({"": ("paths.corpus", "paths.model", "sets", "config_file", "quiet")})
def command(
    *,
    flags: Mapping[str, object],
    sets: Sets = None,
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

    paths = resolve_settings(flags, sets, config_file).config.paths
    console = make_console(quiet=quiet)
    require_corpus(Path(paths.corpus))

    from nmt_cli.training.learn_shortlist import learn_shortlist

    with console.stages() as progress:
        learnt = learn_shortlist(Path(paths.corpus), Path(paths.model), progress=progress)
    pairs = counted(learnt.pairs, "pair")
    if learnt.pairs < learnt.of_pairs:
        pairs = f"{learnt.pairs:,} of {counted(learnt.of_pairs, 'pair')}"
    console.note(f"learnt from {pairs}")
    console.next(f"nmt translate --shortlist 50{model_option(paths.model)}")
