"""Lines in windows: as many as are translated together."""

from collections.abc import Callable, Iterator

from nmt_cli.errors import NmtError

# The first windows are small, so that the first translations come soon; but the end of each, where
# few lines are still at work, costs more than its middle.
FIRST_WINDOW, GROWTH, LARGEST_WINDOW = 64, 4, 2_048
WINDOW_CHARACTERS = 1 << 20


def windows(
    lines: Iterator[str], must_wait: Callable[[], bool] = lambda: False
) -> Iterator[list[str]]:
    """Lines to translate together: more and more, but never waiting for one that does not come.

    What came before an error of `lines` is given before it is raised.
    """
    size = FIRST_WINDOW
    window: list[str] = []
    characters = 0
    try:
        for line in lines:
            window.append(line)
            characters += len(line)
            full = len(window) >= size or characters >= WINDOW_CHARACTERS
            if full or must_wait():
                yield window
                size = min(GROWTH * size, LARGEST_WINDOW) if full else size
                window, characters = [], 0
    except NmtError:
        if window:
            yield window
        raise
    if window:
        yield window
