"""The command `nmt prepare` as it was typed, for hints that add options to it."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple


class HintOptions(NamedTuple):
    """The options that a hint adds to the typed command, which then must not have them twice.

    valued: those with a value; flags: those without one; setting: the dotted key that they set.
    """

    valued: tuple[str, ...]
    flags: tuple[str, ...]
    setting: str


CLEANING = HintOptions(
    ("--dropped", "--repaired"), ("--clean", "--no-clean", "--force"), "data.clean"
)
SPLITTING = HintOptions(("--valid-split",), ("--force",), "data.valid_split")


def typed_again(arguments: Sequence[str], added: HintOptions = CLEANING) -> str:
    """The command `nmt prepare` as it was typed, without the options that a hint adds.

    >>> typed_again(["prepare", "--train", "my a.en", "a.de", "--no-clean", "--dropped", "d.tsv"])
    "nmt prepare --train 'my a.en' a.de"
    >>> typed_again(["prepare", "--repaired", "r.tsv", "--train-tsv", "a.tsv", "--repaired=b.tsv"])
    'nmt prepare --train-tsv a.tsv'
    >>> typed_again(["prepare", "--set", "data.clean=safe", "--set=data.clean=off", "--force"])
    'nmt prepare'
    >>> typed_again(["prepare", "--clean", "--valid-split", "0", "--valid-split=9"], SPLITTING)
    'nmt prepare --clean'
    >>> typed_again(["demo"])
    'nmt prepare'
    """
    if "prepare" not in arguments:
        return "nmt prepare"
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in added.valued:
            next(words, None)
            continue
        # A setting would have precedence over the option of the hint.
        parts = [word, next(words, "")] if word == "--set" else [word]
        is_set = "=".join(parts).startswith(f"--set={added.setting}=")
        if not is_set and word.partition("=")[0] not in (*added.valued, *added.flags):
            kept += parts
    return shlex.join(["nmt", *kept])
