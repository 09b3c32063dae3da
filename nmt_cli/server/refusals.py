"""Answers that refuse a request."""

import asyncio
import json
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from nmt_cli.errors import NmtError, UnavailableError

# A client that still sends a body may not read the answer until it has sent this long.
LINGER_SECONDS = 1.0


class RefusedError(Exception):
    """A request that is refused with an HTTP status, a reason, and headers of the answer."""

    def __init__(
        self, status: int, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.headers = headers or {}


def missed_deadline(seconds: float) -> RefusedError:
    """The refusal of a request whose translation took longer than the server allows."""
    return RefusedError(
        503, f"not translated within {seconds:g} s",
        "send less at once, or try again later; `nmt serve --deadline` sets the limit",
    )  # fmt: skip


def refusal_of(error: NmtError) -> RefusedError:
    """The refusal of a request that ended with this error.

    What this server lacks, such as an optional library, is not a fault of the request: 501.
    """
    if isinstance(error, UnavailableError):
        return RefusedError(501, error.message, f"on the server: {error.hint}")
    return RefusedError(400, error.message, error.hint)


class Refusal(Response):
    """The answer to a refused request, as JSON; closes the connection.

    The rest of the body is read for a moment and thrown away. A client that is still sending would
    otherwise get an error of the connection and not the answer.
    """

    media_type = "application/json"

    def __init__(self, refused: RefusedError) -> None:
        content = {"error": refused.message, **({"hint": refused.hint} if refused.hint else {})}
        headers = {**refused.headers, "connection": "close"}
        super().__init__(json.dumps(content, ensure_ascii=False), refused.status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while (await receive()).get("more_body", False):
                    pass
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})
