"""Errors that a user can cause and fix, each with an exit code that scripts can rely on.

::

    NmtError                 exit code 1
    ├── UsageError           2    the command line is incomplete or wrong
    ├── QualityGateError     3    a check of results failed: a score, a flag, --verify, an export
    ├── DivergedError        4    training diverged: NaN, infinite values, a rising loss
    ├── DataError            65   the input's content is wrong (also: a damaged file)
    ├── NoInputError         66   the input is missing or cannot be read
    ├── UnavailableError     69   a package, a device, an address or memory is not available
    ├── CannotCreateError    73   the output cannot be created, or must not be overwritten
    ├── WriteError           74   reading or writing failed (disk full, stdout closed)
    ├── TryAgainError        75   a temporary failure: a directory or port in use, no processes
    │   └── ModelChangedError  75  a model directory was changed after it was loaded
    └── ConfigError          78   a setting, preset or model directory is invalid
        └── ArgumentError    78   an argument of a Python function has an invalid value

Anything that is not an NmtError and reaches the command line is a bug in nmt (exit code 1).
"""

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class NmtError(Exception):
    """A problem the user can solve: `message` says what and where, `hint` how to fix it.

    missing: the model directory or corpus that is not there, or the dotted key of text that is not
    named; "" for any other problem. A project file may name it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "", *, missing: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.missing = missing

    def __str__(self) -> str:
        """The message, and the hint in a line of its own: all that a traceback shows."""
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class UsageError(NmtError):
    """The command line is incomplete or wrong."""

    exit_code = 2


class QualityGateError(NmtError):
    """A check of results failed: a score, a flag, `--verify`, or a model after `nmt export`."""

    exit_code = 3


class DivergedError(NmtError):
    """Training diverged: NaN or infinite values, or a loss that rises (train.on_divergence)."""

    exit_code = 4


class DataError(NmtError):
    """The content of an input is wrong: misaligned, empty, damaged, not UTF-8."""

    exit_code = 65


class NoInputError(NmtError):
    """An input is missing or cannot be read."""

    exit_code = 66


class UnavailableError(NmtError):
    """A package, a device or an address is not available, memory is full, or a process hangs."""

    exit_code = 69


class CannotCreateError(NmtError):
    """An output cannot be created at the given path, or must not be overwritten."""

    exit_code = 73


class WriteError(NmtError):
    """Reading or writing failed: disk full, stdout closed."""

    exit_code = 74


class TryAgainError(NmtError):
    """A temporary failure: a port or folder in use, files replaced, a process killed, SIGUSR1."""

    exit_code = 75


class ModelChangedError(TryAgainError):
    """A model directory has been replaced, damaged or removed since it was loaded."""


class ConfigError(NmtError):
    """A setting, a preset or a model directory is invalid, or differs from that of the run."""

    exit_code = 78


class ArgumentError(ConfigError, ValueError):
    """An argument of a Python function, which is no setting, has an invalid value."""


def refusals(checks: "Iterable[Callable[[], object]]") -> list[NmtError]:
    """Run all checks, and return the errors that they raise."""
    problems = []
    for check in checks:
        try:
            check()
        except NmtError as problem:
            problems.append(problem)
    return problems


def raise_together(problems: "Sequence[NmtError]") -> None:
    """Raise one error with all messages and all hints, of the class of the first; none: return.

    >>> raise_together([UsageError("a"), DataError("b", "look"), DataError("c", "look")])
    Traceback (most recent call last):
    nmt_cli.errors.UsageError: a; b; c
    hint: look
    """
    if len(problems) == 1:
        raise problems[0]
    if problems:
        different = dict.fromkeys(problem.hint for problem in problems if problem.hint)
        # "check the path" is said by the longer hint, too.
        whole = [
            hint
            for hint in different
            if not any(other.startswith(f"{hint};") for other in different)
        ]
        hints = _with_one_force(whole)
        message = "; ".join(dict.fromkeys(problem.message for problem in problems))
        missing = next((problem.missing for problem in problems if problem.missing), "")
        raise type(problems[0])(message, "; ".join(hints), missing=missing)


def replace_hint(option: str) -> str:
    """The hint for an output that exists already; option: the one that names it."""
    return f"{_REPLACE}{option}"


def _with_one_force(hints: list[str]) -> list[str]:
    """The hints, with one in place of several to replace outputs with --force.

    >>> _with_one_force([replace_hint("--dropped"), "look", replace_hint("--out")])
    ['look', 'use --force to replace them, or another --dropped and another --out']
    """
    of_outputs = [hint.removeprefix(_REPLACE) for hint in hints if hint.startswith(_REPLACE)]
    if len(of_outputs) < 2:
        return hints
    others = [hint for hint in hints if not hint.startswith(_REPLACE)]
    return [*others, _REPLACE.replace(" it,", " them,") + " and another ".join(of_outputs)]


_REPLACE = "use --force to replace it, or another "
# The loader's message for a library, which has no error number.
_NOT_MAPPED = "failed to map segment from shared object"
# Messages of allocators that raise a plain RuntimeError.
_FULL_MEMORY = (
    "not enough memory", "can't allocate memory", "out of memory", "_ALLOC_FAILED", "bad_alloc"
)  # fmt: skip


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that the memory of the device or the machine is full.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes differ"))
    (True, False)
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    if isinstance(error, OSError | ImportError) and _NOT_MAPPED in str(error):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _FULL_MEMORY)


# Words with more edits than this are not taken for a misspelling.
MOST_EDITS = 2


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """A hint for the unknown `word`: the nearest of `known`, or all of them.

    >>> did_you_mean("bsae", ["base", "big"])
    'did you mean `base`?'
    """
    near = nearest(word, known)
    return f"did you mean `{near}`?" if near else "known: " + ", ".join(sorted(known))


def nearest(word: str, known: list[str] | tuple[str, ...]) -> str:
    """The name in `known` of which `word` is a misspelling or the beginning, else "".

    A misspelling has up to two wrong, missing, additional or swapped letters, but at most one in a
    word of three or four letters, and none in a shorter one; other digits make another name
    (table1, table2). The beginning of several words stands for none of them.

    >>> nearest("--lr", ["--p"]), nearest("--temp", ["--temperature", "--help"])
    ('', '--temperature')
    >>> nearest("tabel2", ["table2", "table3"]), nearest("table1", ["table2", "table3"])
    ('table2', '')
    """
    length = len(word.lstrip("-"))
    most = MOST_EDITS if length > 4 else length // 3
    distances = {
        candidate: edits(word, candidate)
        for candidate in known
        if abs(len(candidate) - len(word)) <= most and not _have_other_digits(word, candidate)
    }
    near = min(distances, key=lambda candidate: distances[candidate], default="")
    if near and distances[near] <= most:
        return near
    longer = [candidate for candidate in known if length > 2 and candidate.startswith(word)]
    return longer[0] if len(longer) == 1 else ""


def _have_other_digits(word: str, other: str) -> bool:
    digits, others = ([letter for letter in text if letter.isdecimal()] for text in (word, other))
    return bool(digits and others) and digits != others


def edits(word: str, other: str) -> int:
    """The edit distance of two words: changed, added, missing and swapped neighbouring letters.

    >>> edits("trian", "train"), edits("base", "big")
    (1, 3)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word):
        earlier, before, row = before, row, [i + 1]
        for j, wanted in enumerate(other):
            least = min(before[j] + (letter != wanted), before[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and word[i - 1] == wanted:
                least = min(least, earlier[j - 1] + 1)
            row.append(least)
    return row[-1]
