"""What the server refuses because it is too much."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of a request, and of all requests together.

    requests: those that are translated or wait at a time; characters: of the text of a request,
    where each line counts one more; seconds: until the answer; body_bytes: of its body; beam: the
    largest beam size; headers: how many a request may have; head_bytes: of its first line and its
    headers.
    """

    requests: int = 256
    characters: int = 5_000
    seconds: float = 60.0
    body_bytes: int = MIB
    beam: int = 16
    headers: int = 100
    head_bytes: int = 16_384
