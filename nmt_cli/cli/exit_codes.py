"""The exit codes of `nmt`, in one table: scripts rely on them."""

from typing import Any

from nmt_cli import errors

STABLE = (
    "A code keeps its meaning until the next major version (semantic versioning); new ones may\n"
    "come. What a signal ends has 128 and the signal's number."
)
# What ends a command that is no error of its own.
OTHERS = {
    0: "done",
    1: "a bug in nmt; for `nmt doctor`: something failed",
    129: "the terminal was closed (SIGHUP)",
    130: "interrupted (Ctrl-C)",
    137: "one of several training processes was killed (SIGKILL)",
    141: "the reader of stdout went away (SIGPIPE)",
    143: "told to end (SIGTERM); training has saved",
}


def exit_codes() -> dict[int, str]:
    """What each code means, in ascending order."""
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    meanings = {_code(one): _meaning(one) for one in kinds if one is not errors.NmtError}
    return dict(sorted({**meanings, **OTHERS}.items()))


def _code(kind: Any) -> int:
    return int(kind.exit_code)


def _meaning(kind: type) -> str:
    about = (kind.__doc__ or "").splitlines()[0].rstrip(".")
    return about[0].lower() + about[1:]
