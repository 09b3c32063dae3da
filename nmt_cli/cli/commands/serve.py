"""`nmt serve`: translates over HTTP until it is stopped."""

import contextlib
import ipaddress
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.commands.translation.constraints import (
    ConstraintFiles,
    read_constraints,
    without_headers,
)
from nmt_cli.cli.commands.translation.options import (
    LAYOUT as TRANSLATION_LAYOUT,
)
from nmt_cli.cli.commands.translation.options import (
    Device,
    GlossaryFile,
    Keep,
    Precision,
    PrecisionOption,
)
from nmt_cli.cli.environment import apply_threads, make_console
from nmt_cli.cli.loading import load_translator, require_models
from nmt_cli.cli.options.declarations import ConfigFile, Quiet, SearchSets, Threads
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.cli.settings import chosen_search, resolve_settings
from nmt_cli.cli.signals import EndedBySignalError
from nmt_cli.cli.used_settings import SERVING
from nmt_cli.errors import DataError, UnavailableError
from nmt_cli.installation import install_command
from nmt_cli.machine import existing_signals

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.server.app import Server
    from nmt_cli.server.service import Service
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.translator import Translator

EXAMPLES = """
nmt serve model
nmt serve model --port 8080 --precision int8
nmt serve model --cors-origin https://example.org
nmt serve model --glossary terms.tsv
nmt serve model --host 0.0.0.0 --token-file tokens.txt --access-log
"""
LAYOUT = {
    "": ("model", "sets", "config_file", "quiet"),
    "Network": ("host", "port", "public_url", "token_file", "cors_origin"),
    "Limits": ("max_queue", "max_chars", "max_body", "deadline"),
    "Search": TRANSLATION_LAYOUT["Search"],
    "Markup": TRANSLATION_LAYOUT["Markup"],
    "Constraints": ("glossary", "keep"),
    "Log": ("access_log",),
    "Hardware": TRANSLATION_LAYOUT["Hardware"],
}

Model = Annotated[
    Path | None,
    typer.Argument(metavar="[MODEL]", help="Model directory [default: model]"),
]
Host = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 = all")
]
Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="Port; 0 = any free one")
]
PublicUrl = Annotated[
    str | None,
    typer.Option(
        "--public-url", metavar="URL",
        help="Address at which clients reach the server behind a proxy, such as "
        "https://mt.example.org; it begins the addresses of translated files [default: the "
        "address of each request]",
    ),
]  # fmt: skip
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", metavar="FILE",
        help="File with a token on each line; requests must have one of them",
    ),
]  # fmt: skip
CorsOrigin = Annotated[
    list[str] | None,
    typer.Option(
        "--cors-origin", metavar="ORIGIN",
        help="Web pages of this origin, such as https://example.org, may use the server from a "
        "browser; repeatable; * = all pages [default: none]",
    ),
]  # fmt: skip
MaxQueue = Annotated[
    int,
    typer.Option(
        "--max-queue", metavar="N", min=1,
        help="Maximum number of requests that are translated or wait; further ones get status 429",
    ),
]  # fmt: skip
MaxChars = Annotated[
    int,
    typer.Option(
        "--max-chars", metavar="N", min=1, help="Maximum number of characters of a request"
    ),
]
MaxBody = Annotated[
    int,
    typer.Option(
        "--max-body", metavar="MIB", min=1,
        help="Maximum size of the body of a request, in MiB; that of a document counts",
    ),
]  # fmt: skip
Deadline = Annotated[
    float,
    typer.Option(
        "--deadline", metavar="SECONDS", min=0.1,
        help="Maximum time for a request, waiting included; then its work is dropped",
    ),
]  # fmt: skip
AccessLog = Annotated[
    bool,
    typer.Option(
        "--access-log", help="Write a line for each request to stderr; never the text itself"
    ),
]


@with_options(LAYOUT)
def command(
    *,
    flags: Mapping[str, object],
    model: Model = None,
    host: Host = "127.0.0.1",
    port: Port = 5_000,
    public_url: PublicUrl = None,
    token_file: TokenFile = None,
    cors_origin: CorsOrigin = None,
    max_queue: MaxQueue = 256,
    max_chars: MaxChars = 5_000,
    max_body: MaxBody = 1,
    deadline: Deadline = 60,
    access_log: AccessLog = False,
    glossary: GlossaryFile = None,
    keep: Keep = None,
    device: Device = "auto",
    precision: PrecisionOption = Precision.float32,
    threads: Threads = None,
    sets: SearchSets = None,
    config_file: ConfigFile = None,
    quiet: Quiet = False,
) -> None:
    """Translate over HTTP until SIGTERM or Ctrl-C.

    All requests share one search: a request joins it at the next step, and a line that is done
    leaves it. POST /v1/translate takes lines or a document as JSON and answers with the JSON of
    `nmt translate --json`. The search options are the defaults for requests. The terms of
    --glossary apply to every request; those of a request are added, and replace the same ones.
    """
    flags = {**flags, "paths.model": str(model) if model else None}
    resolved = resolve_settings(flags, sets, config_file, used=SERVING)
    _require_libraries()
    path = resolved.config.paths.model
    require_models([path], "name another one: nmt serve MODEL")
    tokens = _read_tokens(token_file)

    from nmt_cli.server.cross_origin import check_origins
    from nmt_cli.server.libretranslate.translated_files import check_public_url
    from nmt_cli.server.limits import MIB, Limits
    from nmt_cli.server.run import listening_socket

    check_origins(cors_origin or ())
    if public_url is not None:
        check_public_url(public_url)
    console = make_console(quiet=quiet)
    constraints = read_constraints(ConstraintFiles(glossary or (), keep or ()), None, console)
    listener = listening_socket(host, port)
    apply_threads(threads, console)
    translator, search = _load(path, device, precision, resolved, console)
    constraints = without_headers(constraints, translator.config.languages, console)
    limits = Limits(max_queue, max_chars, seconds=deadline, body_bytes=max_body * MIB)

    from nmt_cli.server.app import Server
    from nmt_cli.server.service import Service

    service = Service(translator, search, limits, constraints=constraints)
    log = _write_log if access_log else None
    server = Server(service, tokens, log, cors_origin or (), public_url or "")
    _answer(server, service, listener, lambda: _announce(console, listener, has_token=bool(tokens)))


def _load(
    path: str, device: str, precision: Precision, resolved: "ResolvedConfig", console: "Console"
) -> "tuple[Translator, SearchConfig]":
    """The model, and the settings of its search; what its engine has to say is written."""
    translator = load_translator(path, device, precision=precision.value, console=console)
    search = chosen_search(resolved, translator.config)
    translator.shortlist_for(search)
    if translator.engine.notice:
        console.note(translator.engine.notice)
    return translator, search


def _answer(
    server: "Server", service: "Service", listener: socket.socket, announce: Callable[[], None]
) -> None:
    """Answer requests until a signal comes; raises EndedBySignalError at SIGHUP.

    announce: called when requests are answered, and a signal lets them be finished.
    """
    from nmt_cli.server.run import HttpServer

    http = HttpServer(server.app(), service.drain, server.refuse_rest, announce)
    http.answer(listener)
    if http.received in existing_signals("SIGHUP"):
        raise EndedBySignalError(http.received)


def _require_libraries() -> None:
    """Raise UnavailableError if the extra `serve` is not installed."""
    try:
        import greenlet  # noqa: F401
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UnavailableError(
            f"nmt serve needs the package {error.name}, which is not installed",
            install_command("serve"),
        ) from error


def _read_tokens(path: Path | None) -> tuple[str, ...]:
    """The tokens of a file, without empty lines and comments.

    Raises DataError if there are none, or for a line that cannot be a token.
    """
    from nmt_cli.data.text.lines import read_lines

    if path is None:
        return ()
    with read_lines(path, strict=True) as lines:
        numbered = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    numbered = [(number, line) for number, line in numbered if not line.startswith("#")]
    wrong = [number for number, line in numbered if len(line.split()) > 1]
    if wrong:
        raise DataError(
            f"`{path}`, line {wrong[0]}: a token has no spaces",
            "write one token on each line; a line that begins with # is a comment",
        )
    wrong = [number for number, line in numbered if not line.isascii()]
    if wrong:
        raise DataError(
            f"`{path}`, line {wrong[0]}: a token has letters of ASCII, digits and signs only",
            "programs write other letters into a header in several ways",
        )
    tokens = tuple(line for _, line in numbered if line)
    if not tokens:
        raise DataError(f"`{path}` has no token", "write a token on each line")
    return tokens


def _announce(console: "Console", listener: socket.socket, *, has_token: bool) -> None:
    """Write the address, and a warning if others can reach it."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host.partition("%")[0])
    # No browser opens the address that stands for all networks.
    opened = "localhost" if address.is_unspecified else host
    shown = f"[{opened}]" if ":" in opened else opened
    everywhere = f", and on all networks of this machine ({host})"
    console.note(
        f"listening on http://{shown}:{port}{everywhere if address.is_unspecified else ''}"
    )
    if not address.is_loopback:
        who = "with a token" if has_token else "without a token (see --token-file)"
        console.warning(
            f"other machines can reach this server and use it {who}; it has no encryption: put a "
            "proxy with HTTPS in front of it"
        )


def _write_log(method: str, path: str, status: int, seconds: float) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # Requests are answered even if nobody reads the log, or the disk that it is written to is full.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{now} {method} {path} {status} {1_000 * seconds:.1f} ms\n")
