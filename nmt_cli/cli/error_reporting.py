"""Turns an exception into an error message for the user and an exit code."""

import errno
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from nmt_cli.cli.environment import EXIT_BROKEN_PIPE, stdout_is_open
from nmt_cli.cli.memory_limit import NO_THREAD, is_failure_under_limit, memory_error
from nmt_cli.cli.options.click_adapter import ClickException
from nmt_cli.cli.signals import INTERRUPTED, NO_PROCESS, NO_PROCESS_HINT, EndedBySignalError
from nmt_cli.cli.used_settings import is_used
from nmt_cli.config.project import PATHS, PROJECT_FILE, TEXT_FILES
from nmt_cli.config.schema import SETTINGS
from nmt_cli.config.synonyms import (
    ADVICE,
    EXTRA_ARGUMENTS,
    SET_SECTIONS,
    VALUE_NAMES,
    VALUES,
    meant_option,
)
from nmt_cli.config.values import Setting
from nmt_cli.errors import (
    NmtError,
    NoInputError,
    TryAgainError,
    UnavailableError,
    UsageError,
    WriteError,
    is_out_of_memory,
    nearest,
)
from nmt_cli.installation import was_changed
from nmt_cli.storage.model_check import is_model_directory
from nmt_cli.terminal.console import Console

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Command

# Errors of a device or its driver; device-side assertions and illegal addresses are bugs of nmt.
_GPU_TROUBLE = re.compile(
    "CUDA error(?!: (device-side assert|an illegal))|CUDA driver|Found no NVIDIA|.*NVIDIA driver"
)
NO_TEMPORARY = "No usable temporary directory"
# Errors that the system causes, not nmt.
SYSTEM_FAULTS = (
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG, errno.EBADF, errno.EMFILE,
    errno.ENFILE, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ESTALE,
)  # fmt: skip


def report_error(
    error: BaseException, console: Console, arguments: Sequence[str] = (), *, debug: bool
) -> int:
    """Show `error` on `console` and return the exit code.

    arguments: of the command line.
    """
    if isinstance(error, EndedBySignalError):
        console.plain(error.message)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, BrokenPipeError):
        return EXIT_BROKEN_PIPE
    if debug:
        console.plain("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, KeyboardInterrupt):
        console.plain("interrupted")
        return INTERRUPTED
    problem = as_user_error(error, arguments)
    if problem is None:
        problem = NmtError(
            f"this is a bug in nmt: {_named(error)}",
            "" if debug else "run the same command with --debug for a report to send us",
        )
    elsewhere = project_elsewhere() if _may_be_in_project(problem, arguments) else ""
    if elsewhere:
        problem.hint = "; ".join(filter(None, (problem.hint, elsewhere)))
    console.error(problem)
    return problem.exit_code


def _may_be_in_project(problem: NmtError, arguments: Sequence[str]) -> bool:
    """Whether a project file could have named what is missing, and the command line does not."""
    defaults = {str(SETTINGS[key].default) for key in PATHS} | set(TEXT_FILES)
    typed = {word.rpartition("=")[2] for word in arguments}
    return problem.missing in defaults - typed


def project_elsewhere() -> str:
    """A hint if the project file is not in this folder, but in the one above; else ""."""
    above = Path("..") / PROJECT_FILE
    if PROJECT_FILE.exists() or not above.is_file():
        return ""
    return f"this folder has no {PROJECT_FILE}, but there is `{above}`"


def as_user_error(error: BaseException, arguments: Sequence[str] = ()) -> NmtError | None:
    """The error as an NmtError; None if it is a bug. `arguments`: of the command line."""
    if isinstance(error, NmtError):
        return error
    if isinstance(error, ClickException):
        return _usage_error(error, arguments)
    if isinstance(error, OSError) and error.errno == errno.EBADF and not stdout_is_open():
        hint = "open it, such as with `> FILE`; commands with --output can write to a file too"
        return WriteError("stdout is closed", hint)
    if isinstance(error, OSError) and error.errno in SYSTEM_FAULTS:
        if error.filename is None and _stdout_fails_with(error.errno):
            return WriteError(
                f"stdout, the standard output, cannot be written: {error.strerror}",
                "free some space on the disk where it goes to, or send it elsewhere with `> FILE`",
            )
        return WriteError(f"reading or writing failed: {error}", "`nmt doctor` checks the disk")
    if isinstance(error, FileNotFoundError) and NO_TEMPORARY in str(error):
        return WriteError("there is no folder for temporary files", "set TMPDIR to one you own")
    if is_out_of_memory(error) or is_failure_under_limit(error):
        return memory_error(error)
    if isinstance(error, RuntimeError) and _GPU_TROUBLE.match(str(error)):
        hint = "`nmt doctor` checks the driver; CUDA_VISIBLE_DEVICES=-1 continues without the GPU"
        return UnavailableError(f"the GPU cannot be used: {str(error).splitlines()[0]}", hint)
    if isinstance(error, BlockingIOError) or NO_THREAD in str(error):
        return TryAgainError(NO_PROCESS, NO_PROCESS_HINT)
    if isinstance(error, Exception) and was_changed(error):
        return TryAgainError(
            f"nmt was changed while it ran: {_named(error)}",
            "run the command again; if the error comes again, install nmt again",
        )
    return None


def _named(error: BaseException) -> str:
    """The class of an error with its message in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _stdout_fails_with(number: int | None) -> bool:
    """Whether what waits to be written to stdout fails with this error.

    What could not be written is still in its buffer.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        return error.errno == number
    return False


def _usage_error(error: ClickException, arguments: Sequence[str]) -> UsageError | NoInputError:
    """The error of Click's parser, with the command and a hint for what was probably meant."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "nmt"
    hint = f"`{path} --help` shows all options"
    unknown = getattr(error, "option_name", None)
    if context is not None and unknown is not None and "o such option" in error.message:
        unknown = _with_one_dash(unknown, arguments)
        known = [
            name for parameter in context.command.get_params(context) for name in parameter.opts
        ]
        long = [name for name in known if name.startswith("--")]
        long_name = unknown if unknown[1:2] == "-" or len(unknown) == 2 else f"-{unknown}"
        meant = meant_option(
            long_name, long, _set_option(long_name, context.info_name or ""),
            is_used=lambda key: is_used(key, context.info_name or ""),
        )  # fmt: skip
        if unknown.swapcase() in known:
            # `-v` for `-V`.
            meant = unknown.swapcase()
        hint = f"did you mean `{meant}`?" if meant else hint
        if context.info_name == "score" and meant.startswith("--set search."):
            hint += " It changes how a model translates the test set, not a finished translation"
        hint = ADVICE.get((context.info_name or "", long_name.replace("_", "-")), hint)
        return UsageError(f"`{path}` has no option `{unknown}`", hint)
    if context is not None and "unexpected extra argument" in error.message:
        hint = EXTRA_ARGUMENTS.get(context.command.name or "", hint)
        hint = _model_with_option(arguments) or _set_with_equals(arguments) or hint
    if context is not None and error.format_message().lower().startswith("missing "):
        missing = getattr(error, "param", None)
        about = getattr(missing, "help", None)
        name = getattr(missing, "metavar", None)
        about = f"{name}: {about[:1].lower()}{about[1:]}" if name and about else ""
        hint = f"{_choices_and_example(context.command, about)}{hint}"
    # Lists of choices are broken into lines.
    message = " ".join(error.format_message().split()).rstrip(".").replace("'", "`")
    message = re.sub("is not a valid float( range)?", "is not a number", message)
    message = re.sub("is not a valid int(eger)?( range)?", "is not a whole number", message)
    if message.endswith("is not readable"):
        return NoInputError(f"{path}: {message[:1].lower()}{message[1:]}", "check its permissions")
    options = getattr(getattr(error, "param", None), "opts", ())
    hint = next((VALUES[option] for option in options if option in VALUES), hint)
    if meant := _meant_value(message, options):
        hint = f"did you mean `{meant}`?"
    return UsageError(f"{path}: {message[:1].lower()}{message[1:]}", hint)


def _with_one_dash(option: str, arguments: Sequence[str]) -> str:
    """The option that was typed where one letter of it is unknown: older toolkits use one dash.

    >>> _with_one_dash("-b", ["translate", "-beam_size", "5"]), _with_one_dash("-b", ["-b", "5"])
    ('-beam_size', '-b')
    """
    if option.startswith("--"):
        return option
    words = (argument.partition("=")[0] for argument in arguments)
    return next((word for word in words if word.startswith(option)), option)


def _meant_value(message: str, options: Sequence[str]) -> str:
    """The choice that was meant by a wrong value; "" if the message is of another error.

    message: such as "`x` is not one of `a`, `b`"; options: the names of the option.

    >>> _meant_value("`marain` is not one of `marian`, `onnx`", ["--to"])
    'marian'
    >>> _meant_value("`hf` is not one of `huggingface`", ["--to"])
    'huggingface'
    """
    match = re.search("`([^`]*)` is not one of (.*)", message)
    if match is None:
        return ""
    value = match[1]
    choices = re.findall("`([^`]*)`", match[2])
    names = {
        name: meant for option in options for name, meant in VALUE_NAMES.get(option, {}).items()
    }
    meant = names.get(value, "")
    return meant if meant in choices else nearest(value, choices)


def _set_option(option: str, command: str) -> str:
    """The `--set` for a setting that is an option of other commands only; "" if there is none.

    >>> _set_option("--keep-numbers", "serve"), _set_option("--mbr", "score")
    ('--set search.keep_numbers=true', '--set search.mbr=chrf')
    """
    option = option.replace("_", "-")
    for section in SET_SECTIONS.get(command, ()):
        for key, setting in SETTINGS.items():
            if key.startswith(f"{section}.") and option in setting.option.split("/"):
                return f"--set {key}={_example_value(setting)}"
    return ""


def _model_with_option(arguments: Sequence[str]) -> str:
    """A hint for `nmt translate MODEL FILE`, as `nmt serve` takes its model; else "".

    >>> _model_with_option(["translate", "no-model", "a.txt"])
    ''
    """
    if arguments[:1] != ["translate"] or not is_model_directory(Path(*arguments[1:2])):
        return ""
    command = shlex.join(["nmt", "translate", "--model", *arguments[1:]])
    return f"the model is given with --model: {command}"


def _set_with_equals(arguments: Sequence[str]) -> str:
    """A hint for `--set KEY VALUE`, whose value is taken for another argument; else "".

    The same for `--set KEY = VALUE`, `--set KEY =VALUE` and `--set KEY= VALUE`.

    >>> _set_with_equals(["translate", "--set", "search.beam", "8", "my text.txt"])
    'write it as --set search.beam=8'
    >>> _set_with_equals(["translate", "--set", "search.beam=8", "a", "b"])
    ''
    >>> _set_with_equals(["translate", "--set", "search.beam", "--quiet", "a", "b"])
    ''
    """
    for index, option in enumerate(arguments):
        if option != "--set":
            continue
        key, *others = [*arguments[index + 1 : index + 4], ""]
        key, separator, own_value = key.partition("=")
        values = [part.removeprefix("=") for part in others if part not in ("=", "")]
        if (separator and own_value) or not values or values[0].startswith("-"):
            continue
        return f"write it as --set {shlex.quote(f'{key}={values[0]}')}"
    return ""


def _example_value(setting: Setting) -> str:
    """A value that whoever names the setting may want, or what stands for a number."""
    choices = get_args(setting.type_hint)
    if setting.type_hint is bool:
        return "true"
    if int in (setting.type_hint, *choices):
        return "N"
    names = (choice for choice in choices if isinstance(choice, str))
    return next((name for name in names if name != setting.default), "X")


def _choices_and_example(command: "Command", about: str) -> str:
    """What can be given to `command`, and its first example, for the beginning of a hint.

    about: the name and the help of the argument that is missing; "" where a subcommand is missing.
    """
    subcommands = ", ".join(getattr(command, "commands", ()))
    examples = (command.epilog or "").strip().splitlines()
    # An example ends before its description.
    example = re.split(r" {2,}", examples[0])[0] if examples else ""
    parts = [
        f"commands: {subcommands}; " if subcommands else "",
        f"{about}; " if about else "",
        f"for example: {example}; " if example else "",
    ]
    return "".join(parts)
