"""Which translations of a plain search are taken for sources with terms, and which are not."""

from typing import Any

import pytest

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.constraints import LexicalConstraints
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.lines.source_search import SourceSearch

EOS, TERM = 3, 7
PLAIN = Source((5, EOS))


class Placer:
    """A term is missing unless its id is there; what is placed is recorded."""

    def __init__(self) -> None:
        self.unmet: dict[Source, list[Hypothesis]] = {}

    def missing(self, constraints: LexicalConstraints, ids: tuple[int, ...]) -> int:
        assert EOS not in ids
        return int(TERM not in ids)

    def place(self, unmet: dict[Source, list[Hypothesis]], *_: Any) -> dict[Source, list[Any]]:
        self.unmet = unmet
        return {source: ["placed"] for source in unmet}


def hypothesis(*ids: int) -> Hypothesis:
    return Hypothesis((*ids, EOS), -1.0, -1.0, ())


WITH, AGAIN, WITHOUT = hypothesis(TERM), hypothesis(TERM, 8), hypothesis(8)


@pytest.mark.parametrize(
    ("found", "n_best", "taken"),
    [
        ([WITH], 1, [WITH]),
        # Those without the term are left out where enough others are left.
        ([WITH, WITHOUT, AGAIN], 2, [WITH, AGAIN]),
        ([WITH, AGAIN], 4, [WITH, AGAIN]),
        ([WITH, WITHOUT], 2, None),
        ([WITHOUT], 1, None),
        # The best one must have the term.
        ([WITHOUT, WITH, AGAIN], 1, None),
    ],
)
def test_a_plain_search_that_meets_the_terms_is_enough(
    monkeypatch: pytest.MonkeyPatch,
    found: list[Hypothesis],
    n_best: int,
    taken: list[Hypothesis] | None,
) -> None:
    placer: Any = Placer()
    nothing: Any = None
    search = SourceSearch(nothing, EOS, nothing, nothing, placer)
    searched: list[Source] = []

    def run(sources: set[Source], *_: Any) -> dict[Source, list[Hypothesis]]:
        searched.extend(sources)
        return dict.fromkeys(sources, found)

    monkeypatch.setattr(search, "_run", run)
    constrained = Source((5, EOS), constraints=LexicalConstraints((((TERM,),),)))
    config = SearchConfig(beam=4, n_best=n_best)
    result = search.run({PLAIN, constrained}, config, nothing, lambda _: None)
    assert searched == [PLAIN]
    assert result[PLAIN] == found
    assert result[constrained] == (["placed"] if taken is None else taken)
    assert placer.unmet == ({constrained: found} if taken is None else {})
