"""Finds whether a corpus was prepared from other text, or in another way, than the settings say."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import Config, flatten, load
from nmt_cli.data.corpus.layout import CONFIG, DESCRIPTION, PROJECT_SETTINGS, read_description
from nmt_cli.data.preparation.differences import (
    TEXT_KEYS,
    paths_in,
    setting_change,
    text_changes,
)
from nmt_cli.data.preparation.existing_subwords import VOCABULARY_SETTINGS
from nmt_cli.errors import NmtError
from nmt_cli.storage.files import sha256_of

COMPARED_KEYS = ("languages.src", "languages.tgt", *TEXT_KEYS)


class Change(NamedTuple):
    """What has changed since a corpus was prepared.

    key: the dotted key of the setting; None if the text of files has changed.
    """

    key: str | None
    description: str


def changes_since(corpus: Path, config: Config, given: Collection[str] = ()) -> list[Change]:
    """What has changed since `corpus` was prepared: languages, settings, files, or their text.

    given: the dotted keys that the user has set. They are compared, and so are those that the
    project file set when the corpus was prepared. Of the other settings that say how the text is
    prepared, none is compared, because options of `nmt prepare` and presets set them too.

    Text that moved to other paths is no change. Files with the same paths are read only if they
    are younger than the corpus; files that are gone are not compared. A corpus that cannot be read
    gives no changes; whoever opens it says what is wrong.
    """
    try:
        description = read_description(corpus)
        before = load(corpus / CONFIG)
    except NmtError:
        return []
    recorded = description.get("inputs")
    sums = recorded if isinstance(recorded, dict) else {}
    compared = {*given, *_deletable(description.get(PROJECT_SETTINGS))}
    old, new = flatten(before), flatten(config)
    changed = [
        key
        for key in COMPARED_KEYS
        if new[key]
        and old[key] != new[key]
        and not (
            key in TEXT_KEYS and _is_moved(list(paths_in(old[key])), list(paths_in(new[key])), sums)
        )
    ]
    changed += [
        key
        for key in new
        if key in compared and old[key] != new[key] and key not in _not_compared(before, config)
    ]
    if changed:
        return [Change(key, setting_change(key, old[key], new[key])) for key in changed]
    texts = [
        path
        for path in dict.fromkeys(path for key in TEXT_KEYS for path in paths_in(new[key]))
        if _is_younger(Path(path), corpus) and sums.get(path) not in (None, _sum(path))
    ]
    return [Change(None, description) for description in text_changes(texts)]


def _deletable(recorded: object) -> list[str]:
    """The settings of the preparation that the project file set then; older corpora tell none."""
    keys = recorded if isinstance(recorded, list) else []
    return [key for key in keys if isinstance(key, str) and key.startswith("data.")]


def _not_compared(before: Config, now: Config) -> set[str]:
    """The settings of text files, and of a vocabulary that is or was copied, not learnt."""
    keys = {*COMPARED_KEYS, "data.subwords_from"}
    has_vocabulary = before.data.subwords_from or now.data.subwords_from
    return keys | set(VOCABULARY_SETTINGS) if has_vocabulary else keys


def _is_moved(old: list[str], new: list[str], sums: dict[str, str]) -> bool:
    """Whether the files at the new paths have the text of those at the old ones."""
    return len(old) == len(new) and all(
        sums.get(was) is not None and sums[was] == _sum(now)
        for was, now in zip(old, new, strict=True)
    )


def _is_younger(path: Path, corpus: Path) -> bool:
    try:
        return path.stat().st_mtime > (corpus / DESCRIPTION).stat().st_mtime
    except OSError:
        return False


def _sum(path: str) -> str | None:
    try:
        return sha256_of(Path(path)) if Path(path).is_file() else None
    except (OSError, NmtError):
        return None
