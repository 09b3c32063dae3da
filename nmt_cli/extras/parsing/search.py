"""The paper's search settings for parsing, which replace those of the model."""

from collections.abc import Mapping

SEARCH: Mapping[str, int | float] = {
    "search.beam": 21, "search.alpha": 0.3, "search.max_extra_length": 300,
}  # fmt: skip
