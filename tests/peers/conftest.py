"""The fixture by which `make test-peers` records its results."""

import pytest
from peer_results import Record, keep


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """Keeps the facts that it is called with under the name of the test."""
    return lambda **facts: keep(request.node.name, facts)
