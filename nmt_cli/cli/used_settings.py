"""Refuses `--set` for settings that a command never reads."""

from collections.abc import Sequence

from nmt_cli.config.schema import SETTINGS
from nmt_cli.errors import UsageError
from nmt_cli.plurals import agreeing

# Sections, and keys of other sections, that commands read.
TRANSLATING = ("search", "paths.model", "data.strict")
SERVING = ("search", "paths.model")
SCORING = ("search", "data", "languages", "paths")
PREPARING = ("data", "languages", "paths", "train.preset", "model.tie_embeddings")
AVERAGING = ("train.keep_last", "paths.model")
DRAWING = ("model", "train")
MODEL_ALONE = ("paths.model",)
BOTH_PATHS = ("paths",)
# By command, those of its `--set`; a command that is missing here takes all settings.
_USED_BY = {
    **dict.fromkeys(("translate", "text", "attention"), TRANSLATING),
    **dict.fromkeys(("export", "info"), MODEL_ALONE),
    "serve": SERVING, "save": SERVING, "score": SCORING, "prepare": PREPARING, "average": AVERAGING,
    "plot": DRAWING, "shortlist": BOTH_PATHS,
}  # fmt: skip

_COMMANDS = {
    "data": "nmt prepare", "languages": "nmt prepare", "model": "nmt train", "train": "nmt train",
    "search": "nmt translate",
}  # fmt: skip


def require_used(sets: Sequence[str] | None, used: Sequence[str] | None) -> None:
    """Raise UsageError if a text of `--set` changes a setting that is not `used`.

    used: sections, or dotted keys; None for all. What is no setting is left to the reading of the
    settings, which suggests another name.
    """
    if used is None:
        return
    for key in _unused(sets or (), used):
        section = key.partition(".")[0]
        is_fixed = section == "model" and "search" in used
        why = ", as a trained model has its own" if is_fixed else ""
        takes = f"`{_COMMANDS[section]}` takes it; " if section in _COMMANDS else ""
        names = ", ".join(name if "." in name else f"{name}.*" for name in used)
        uses = names or "no settings where the model is an argument"
        raise UsageError(
            f"--set {key}: this command does not use the setting{why}",
            f"{takes}this command uses {uses}",
        )


def is_used(key: str, command: str) -> bool:
    """Whether a command, by its last word, uses the setting with this dotted key.

    >>> is_used("search.beam", "serve"), is_used("model.heads", "serve")
    (True, False)
    """
    return not _unused([key], _USED_BY.get(command, (key,)))


def training_note(sets: Sequence[str]) -> str:
    """That `nmt prepare` does not use some settings of `--set`, which `nmt train` does; or "".

    They are not refused, since the two commands are often given the same ones.
    """
    keys = _unused(sets, PREPARING)
    if not keys:
        return ""
    return (
        f"`nmt prepare` does not use {', '.join(keys)}, nor does the corpus record "
        f"{agreeing(len(keys), 'it', 'them')}: give {agreeing(len(keys), 'it', 'them')} to "
        "`nmt train`, too, or write "
        f"{agreeing(len(keys), 'it', 'them')} in nmt.toml"
    )


def _unused(sets: Sequence[str], used: Sequence[str]) -> list[str]:
    """The settings that texts of `--set` change and that are not `used`."""
    keys = [text.partition("=")[0].strip() for text in sets]
    return [
        key
        for key in keys
        if key in SETTINGS and key not in used and key.partition(".")[0] not in used
    ]
