"""The exit codes of `nmt`, on which scripts rely."""

from typing import Any

from nmt_cli import errors

STABLE = (
    "Codes keep their meaning until the next major version (semantic versioning); new codes may\n"
    "be added. A command ended by a signal exits with 128 plus the number of the signal."
)
# Codes that do not belong to a subclass of NmtError.
OTHERS = {
    0: "success",
    1: "a bug in nmt; for `nmt doctor`: a check failed",
    129: "ended by SIGHUP, as when a terminal is closed",
    130: "interrupted (Ctrl-C)",
    137: "one of several training processes was killed (SIGKILL)",
    141: "the reader of stdout closed it (SIGPIPE)",
    143: "terminated (SIGTERM); training saves first",
}


def exit_codes() -> dict[int, str]:
    """The meaning of each code, in ascending order of codes: of a class and those under it."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    meanings = {_code(kind): _meaning(kind) for kind in kinds if errors.NmtError in kind.__bases__}
    return dict(sorted({**meanings, **OTHERS}.items()))


def _code(kind: Any) -> int:
    return int(kind.exit_code)


def _meaning(kind: type) -> str:
    about = (kind.__doc__ or "").splitlines()[0].rstrip(".")
    return about[0].lower() + about[1:]
