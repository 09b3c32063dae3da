"""Pairs that are forced together, since each pass of a model takes time, however few pairs it has.

What is asked for is answered when the first answer is needed; equal pairs are forced once.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

from nmt_cli.inference.forced_pairs import ForcedPair, Pair

Answer = Callable[[], list[ForcedPair]]


class Force(Protocol):
    """Forces pairs of ids: their scores, and the attention where it is asked for."""

    def __call__(self, pairs: Sequence[Pair], *, attention: bool = False) -> Sequence[ForcedPair]:
        """The results, in the order of the pairs."""
        ...


class ForcedTogether:
    """Collects pairs of ids until the result of one is needed."""

    def __init__(self, force: Force, *, attention: bool = False) -> None:
        self._force = force
        self._attention = attention
        self._indices: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def ask(self, pairs: Sequence[Pair]) -> Answer:
        """A function that gives the results of these pairs; ask for all before the first call."""
        assert "_results" not in vars(self), "the pairs were forced already"
        indices = [
            self._indices.setdefault((tuple(src), tuple(tgt)), len(self._indices))
            for src, tgt in pairs
        ]
        return lambda: [self._results[index] for index in indices]

    @cached_property
    def _results(self) -> Sequence[ForcedPair]:
        pairs = list(self._indices)
        return self._force(pairs, attention=self._attention) if pairs else []
