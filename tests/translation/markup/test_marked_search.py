"""The searches that compare stand-ins."""

import pytest

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.lines.line_search import Request
from nmt_cli.translation.markup.marked_search import MarkedSearch


class RecordedSearch:
    """Records what is searched, and with which settings."""

    def __init__(self) -> None:
        self.runs: list[tuple[list[str], SearchConfig]] = []

    def run(self, requests, config, bound, on_progress):
        self.runs.append(([request.text for request in requests], config))
        return list(requests)


@pytest.mark.parametrize(
    ("settings", "final"),
    [({}, True), ({"beam": 1}, True), ({"alpha": 0.0, "no_repeat_ngram": 3}, True),
     ({"n_best": 2}, False), ({"mbr": "chrf"}, False), ({"sample": True, "beam": 1}, False),
     ({"coverage_penalty": 0.2}, False), ({"alignment": True}, False)],
)  # fmt: skip
def test_greedy_translation_is_final_where_the_settings_ask_for_one_translation(
    settings, final: bool
) -> None:
    search = MarkedSearch(RecordedSearch(), SearchConfig(**settings), None, lambda _: None)
    assert search.quick_is_final == final


def test_searches_use_their_settings() -> None:
    recorded = RecordedSearch()
    config = SearchConfig(n_best=3, no_repeat_ngram=2)
    search = MarkedSearch(recorded, config, None, lambda _: None)
    search.full([Request("a", 0)])
    search.quick([Request("b", 0)])
    assert recorded.runs[0] == (["a"], config)
    assert recorded.runs[1] == (["b"], SearchConfig(beam=1, no_repeat_ngram=2))
