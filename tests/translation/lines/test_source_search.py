"""Which translations of a plain search are taken for sources with terms, and which are not."""

from typing import Any

import pytest

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.constrained_beam import required_rows
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


class GroupSearch(SourceSearch):
    """Records the groups that are searched; memory is out for more than `most` sources."""

    def __init__(self, most: int = 9, *, can_halve: bool = True) -> None:
        given: Any = self
        super().__init__(given, EOS, given, given, given)
        self.groups: list[tuple[list[Source], int, bool]] = []
        self.halved: list[int] = []
        self._most, self._can_halve = most, can_halve

    def halve(self, sources: int) -> bool:
        self.halved.append(sources)
        self._most += 9
        return self._can_halve

    def _search_group(self, sources, rows, config, bound, on_step, *, constrained) -> Any:
        self.groups.append((list(sources), rows, constrained))
        for count, source in enumerate(sources):
            if count == self._most:
                raise MemoryError
            on_step()
            yield source, [WITH]


NOTHING: Any = None
LONG, SHORT = Source((5, 6, EOS)), Source((4, EOS))
CONSTRAINED = Source((5, EOS), constraints=LexicalConstraints((((TERM,),),)))


def test_sources_are_searched_longest_first_and_those_with_terms_with_more_rows() -> None:
    search, config = GroupSearch(), SearchConfig(beam=2)
    found = search._run({SHORT, PLAIN, LONG, CONSTRAINED}, config, NOTHING, lambda _: None)
    assert found == {source: [WITH] for source in (SHORT, PLAIN, LONG, CONSTRAINED)}
    assert CONSTRAINED.constraints is not None
    rows = required_rows(CONSTRAINED.constraints, config.rows)
    assert rows > config.rows
    assert search.groups == [
        ([LONG, SHORT, PLAIN], config.rows, False), ([CONSTRAINED], rows, True),
    ]  # fmt: skip


def test_the_rest_is_searched_again_after_memory_ran_out() -> None:
    search, shares = GroupSearch(1), []
    search._run({SHORT, PLAIN, LONG}, SearchConfig(), NOTHING, shares.append)
    assert [group for group, *_ in search.groups] == [[LONG, SHORT, PLAIN], [SHORT, PLAIN]]
    assert search.halved == [3]
    assert shares == [0, 1 / 3, 2 / 3]


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("another failure")])
def test_other_errors_and_memory_for_not_even_one_source_are_raised(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    search = GroupSearch(can_halve=False)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(search, "_search_group", fail)
    with pytest.raises(type(error)):
        search._run({PLAIN}, SearchConfig(), NOTHING, lambda _: None)
    assert search.halved == [1] * isinstance(error, MemoryError)


def test_the_progress_of_a_plain_search_leaves_room_for_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of the searches may come after it, of which nothing is known."""
    placer: Any = Placer()
    search, shares = SourceSearch(NOTHING, EOS, NOTHING, NOTHING, placer), []

    def run(sources: set[Source], _: Any, __: Any, on_progress: Any) -> dict[Source, Any]:
        on_progress(0.5)
        return {source: [WITHOUT] for source in sources}

    monkeypatch.setattr(search, "_run", run)
    search.run({LONG, CONSTRAINED}, SearchConfig(), NOTHING, shares.append)
    assert shares == pytest.approx([1 / 3, 1.0])
