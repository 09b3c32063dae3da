"""The `nmt` command: parses arguments, calls the library, and returns an exit code.

Each subcommand is a module in `commands` or `experiments`, with the function `command` (its
docstring is the help, its parameters are the options) and the text `EXAMPLES`, or with a Typer
`app` that has commands of its own. Code that they share is in `options`, `display`, `settings`,
`loading`, `text_io`, `outputs` and `environment`. These modules import nothing heavy outside
functions.
"""

import sys
from collections.abc import Sequence


def run() -> None:
    """Run `nmt` with the arguments of this process and leave with its exit code."""
    from nmt_cli.cli import environment, memory_limit, signals

    environment.end_with_launcher()
    signals.handle_signals()
    environment.open_standard_streams()
    environment.choose_threads()
    memory_limit.prepare_for_limit()
    environment.quiet_torch()
    environment.keep_out_current_directory()
    code = main(sys.argv[1:])
    environment.leave(code)


def main(arguments: Sequence[str]) -> int:
    """Run `nmt` with `arguments`, report errors, and return the exit code."""
    from nmt_cli.cli import environment, error_reporting
    from nmt_cli.cli.app import invoke

    debug = environment.debugging(arguments)
    try:
        code = invoke(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BaseException as error:
        return error_reporting.report_error(
            error, environment.make_console(), arguments, debug=debug
        )
