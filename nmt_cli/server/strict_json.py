"""JSON of requests: what other programs might read differently is refused."""

import json
from typing import Any, NoReturn

from nmt_cli.server.refusals import RefusedError

# No field of a request is a number with more digits.
MAX_DIGITS = 20


def parse_json(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`; raises RefusedError with status 400."""
    try:
        text = body.decode("utf-8")
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_object
        )
        # JSON can spell half of a character (a lone surrogate), which is no text.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(400, f"the body is not UTF-8: byte {error.start}") from None
    except UnicodeEncodeError:
        raise RefusedError(400, "a text has a lone surrogate, which is no character") from None
    except RecursionError:
        raise RefusedError(400, "the JSON is nested too deeply") from None
    except ValueError as error:
        raise RefusedError(400, f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise RefusedError(400, "the body must be a JSON object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key `{key[:40]}` occurs twice")
        result[key] = value
    return result
