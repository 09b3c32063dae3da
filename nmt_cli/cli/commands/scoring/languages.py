"""Texts of `nmt score` that are in each other's language, by their names or first lines."""

import json
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig

Languages = tuple[str, str]
# Enough to be sure.
LINES_LOOKED_AT = 1_000


def languages_of_model(model: Path) -> Languages | None:
    """The codes of source and target; None for a model that cannot be read.

    Errors of the model are reported when it is loaded.
    """
    from nmt_cli.model_dir import load_config

    try:
        languages = load_config(model).languages
    except (NmtError, OSError):
        return None
    return languages.src, languages.tgt


def languages_of_project(resolved: "ResolvedConfig") -> Languages | None:
    """The codes of source and target that the settings name; None if one is not given."""
    if any(resolved.origins[f"languages.{side}"] == "default" for side in ("src", "tgt")):
        return None
    return resolved.config.languages.src, resolved.config.languages.tgt


def are_in_each_others_language(
    files: Sequence[str], sides: tuple[Sequence[str], Sequence[str]], languages: Languages
) -> bool:
    """Whether source and target are clearly swapped.

    files: their names, or that of the table that has both; sides: their lines.
    """
    from nmt_cli.data.languages.names import are_swapped
    from nmt_cli.data.languages.words import sides_are_swapped

    src_lines, tgt_lines = (list(islice(lines, LINES_LOOKED_AT)) for lines in sides)
    return are_swapped(files, *languages) or sides_are_swapped(src_lines, tgt_lines, *languages)


def swapped_test_set_note(
    files: Sequence[str],
    sides: tuple[Sequence[str], Sequence[str]],
    model: Path,
    languages: Languages,
) -> str:
    """The warning that the model translates in the other direction than a test set, or ""."""
    if not are_in_each_others_language(files, sides, languages):
        return ""
    from nmt_cli.data.languages.english_names import shown_language
    from nmt_cli.data.languages.text_files import TextFiles

    src, tgt = languages
    source, target = map(shown_language, languages)
    if len(files) > 1:
        swapped = f"data.test={json.dumps([files[1], files[0]], ensure_ascii=False)}"
        texts = f"`{files[0]}` seems to be in {target} and `{files[1]}` in {source}"
        remedy = f"give the files in the other order: --set {shlex.quote(swapped)}"
    else:
        texts = f"`{files[0]}` seems to have {target} in column 1 and {source} in column 2"
        remedy = TextFiles("test", tuple(files)).remedy
    return (
        f"{texts}, but `{model}` translates from {src} to {tgt}: name another --model, or {remedy}"
    )


def source_language_note(
    hypotheses: tuple[str, Sequence[str]],
    reference: tuple[str, Sequence[str]],
    test_set: Sequence[str],
    languages: Languages,
) -> str:
    """The message that a reference is in the source language, unlike the hypotheses; or "".

    hypotheses, reference: names and lines; test_set: the names of the files of the test set if the
    reference is one of them.
    """
    from nmt_cli.data.languages.english_names import shown_language
    from nmt_cli.data.languages.names import are_swapped
    from nmt_cli.data.languages.words import is_on_other_side

    src, tgt = languages
    name, lines = reference
    first, second = (list(islice(side, LINES_LOOKED_AT)) for side in (hypotheses[1], lines))
    is_named = are_swapped(test_set, src, tgt) or are_swapped((hypotheses[0], name), src, tgt)
    if not is_named and not is_on_other_side(first, second, src):
        return ""
    target = shown_language(tgt)
    return (
        f"the reference `{name}` seems to be in {shown_language(src)}, which the settings name as "
        f"the source language; the target language is {target}: name a reference in {target}"
    )
