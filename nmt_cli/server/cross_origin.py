"""Cross-origin requests (CORS): which web pages may use the server from a browser.

A browser shows a page only answers that name the origin of the page, and sends a preflight request
before it sends JSON.
"""

import re
from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from nmt_cli.errors import UsageError

ANY = "*"
_ORIGIN = re.compile(r"https?://[a-z0-9.\-]+(:\d{1,5})?|https?://\[[0-9a-f:.]+\](:\d{1,5})?")
# What pages may send beyond what browsers always allow, and read of an answer.
SENT_HEADERS = ("Authorization", "Content-Type")
READ_HEADERS = ("Retry-After",)
# How long a browser may keep the answer to a preflight request.
PREFLIGHT_SECONDS = 600


def cors_middleware(origins: Sequence[str]) -> list[Middleware]:
    """The middleware that lets pages of these origins use the server; none without origins.

    Cookies are not used: a request has a token, or needs none.
    """
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=("GET", "POST"),
            allow_headers=SENT_HEADERS,
            expose_headers=READ_HEADERS,
            max_age=PREFLIGHT_SECONDS,
        )
    ]


def check_origins(origins: Sequence[str]) -> None:
    """Raise UsageError for what is no origin as browsers write it, such as an address with a path.

    >>> check_origins(["*", "https://example.org", "http://[::1]:8000"])
    """
    for origin in origins:
        if origin != ANY and not _ORIGIN.fullmatch(origin):
            raise UsageError(
                f"--cors-origin {origin}: not an origin",
                "scheme, host in small letters, and port if there is one, without a path: "
                "https://example.org, http://localhost:8000; or * for all pages",
            )
