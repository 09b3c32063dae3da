"""Reads the body of a request, up to a limit, and its token."""

import hmac
from collections.abc import Sequence

from starlette.requests import Request

from nmt_cli.server.limits import Limits
from nmt_cli.server.refusals import RefusedError


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body; raises RefusedError, without reading the rest, if it is too large or compressed."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise RefusedError(
            415, "compressed bodies are not accepted", "send it without Content-Encoding",
            {"accept-encoding": "identity"},
        )  # fmt: skip
    limit = limits.body_bytes
    too_large = RefusedError(
        413, f"the body is larger than {limit:,} bytes",
        "send less at once; `nmt serve --max-body` sets the limit",
    )  # fmt: skip
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdecimal() or int(length[:20]) > limit:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large
        parts.append(part)
    return b"".join(parts)


class Tokens:
    """The tokens of a server, one of which must be given; none: everybody may use it."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = [token.encode() for token in tokens]

    @property
    def are_needed(self) -> bool:
        """Whether requests need a token."""
        return bool(self._tokens)

    def allow(self, given: str) -> bool:
        """Whether this is one of the tokens; takes as long for a wrong one as for a right one."""
        encoded = given.encode("utf-8", "replace")
        equal = sum(hmac.compare_digest(encoded, token) for token in self._tokens)
        return equal > 0 or not self._tokens

    def allow_header(self, request: Request) -> bool:
        """Whether the header `Authorization: Bearer TOKEN` has one of the tokens."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return self.allow(given.strip() if scheme.lower() == "bearer" else "")
