"""Warns of a test set that the model learnt from, or that is not the one set apart for it."""

import contextlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.commands.scoring.languages import (
    LINES_LOOKED_AT,
    languages_of_model,
    swapped_test_set_note,
)
from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    import numpy as np

    from nmt_cli.config.schema import Config
    from nmt_cli.data.corpus.text_statistics import TextStatistics
    from nmt_cli.terminal.console import Console

# A smaller share may be short sentences that every text has; `nmt prepare` reports them.
LEAST_SHARE = 0.01


def warn_of_test_set(
    files: Sequence[str],
    src: Sequence[str],
    reference: Sequence[str],
    config: "Config",
    console: "Console",
) -> None:
    """Warn if the model of `config` has seen the pairs of the test set, or had another one.

    Also if these have faults of which the training text of the model was repaired. If the texts are
    in other languages than those of the model, it warns of that and of nothing else. files: the
    names of source and reference, or of the table with both.

    A model that cannot be read, or whose corpus was prepared by an older version, is not checked.
    """
    from nmt_cli.data.corpus.text_statistics import MAX_HASHES, TextStatistics

    model, problems = Path(config.paths.model), []
    if other := _other_language(model, files, (src, reference)):
        console.warning(other)
        return
    for note in _fault_notes(model, src, reference):
        console.warning(note)
    with contextlib.suppress(NmtError, OSError):
        text = TextStatistics.load(model)
        if text is None or not src:
            return
        share = text.seen_share(_hashes(model, src, reference))
        if share >= LEAST_SHARE:
            about = "about " if len(text.pair_hashes) == MAX_HASHES else ""
            problems.append(
                f"{about}{round(share * len(src)):,} of {len(src):,} test pairs are in the "
                f"training text of `{model}`, which scores higher on them than on new text"
            )
        if _is_another(text, config, src, reference):
            problems.append(
                f"the test set of `{config.paths.corpus}` is not the one that was set apart when "
                f"`{model}` was trained, so the scores on the two cannot be compared"
            )
    if problems:
        console.warning("; ".join(problems))


def _other_language(
    model: Path, files: Sequence[str], sides: tuple[Sequence[str], Sequence[str]]
) -> str:
    """The warning that the model does not translate between the languages of the texts, or ""."""
    from nmt_cli.data.languages.english_names import shown_language
    from nmt_cli.data.languages.words import other_language

    languages = languages_of_model(model)
    if languages is None:
        return ""
    if swapped := swapped_test_set_note(files, sides, model, languages):
        return swapped
    source_language = other_language(islice(sides[0], LINES_LOOKED_AT), languages[0])
    if source_language is None:
        return ""
    return (
        f"the test set seems to be in {shown_language(source_language)}, but `{model}` translates "
        f"from {languages[0]} to {languages[1]}: is another --model meant, or another order of the "
        "files in data.test?"
    )


def _fault_notes(model: Path, src: Sequence[str], reference: Sequence[str]) -> list[str]:
    """The warning of faults of which the training text of `model` was repaired, if there are."""
    from nmt_cli.data.cleaning.held_out.faults import fault_notes
    from nmt_cli.data.cleaning.held_out.texts import HeldOutText
    from nmt_cli.model_dir import load_config

    try:
        if load_config(model).data.clean == "off":
            return []
    except (NmtError, OSError):
        # Errors of the model are reported when it is loaded.
        return []
    return fault_notes([HeldOutText("test", src, reference)])


def _hashes(model: Path, src: Sequence[str], reference: Sequence[str]) -> "np.ndarray":
    """The hashes of the pairs as the training text of `model` was cleaned: (3, pairs) uint64.

    Of the pairs as they are, with the repairs of training text, and without line numbers, too.
    """
    import numpy as np

    from nmt_cli.data.cleaning.chunks import Cleaning
    from nmt_cli.data.cleaning.held_out.digests import digests_of, pair_hashes
    from nmt_cli.model_dir import load_config

    forms = Cleaning.of(load_config(model)).forms(src, reference)
    return np.stack([pair_hashes(digests_of(*sides)) for sides in forms])


def _is_another(
    text: "TextStatistics", config: "Config", src: Sequence[str], reference: Sequence[str]
) -> bool:
    """Whether the corpus that the model was trained on has set apart another test set since."""
    from nmt_cli.data.corpus.text_statistics import digest_of_pairs
    from nmt_cli.data.corpus.users import is_trained_on

    is_set_apart = config.data.test_split and not config.data.test
    if not is_set_apart or not text.test_digest:
        return False
    return text.test_digest != digest_of_pairs(zip(src, reference, strict=True)) and is_trained_on(
        Path(config.paths.model), Path(config.paths.corpus)
    )
