"""How the server runs."""

import gc
from pathlib import Path

import pytest
from servers import running_server

from nmt_cli.cli.commands.serve import _read_tokens
from nmt_cli.errors import DataError, NoInputError


def test_objects_made_before_the_server_are_not_collected_while_it_runs() -> None:
    gc.unfreeze()
    with running_server() as server:
        assert gc.get_freeze_count() > 0
        assert server.translate("abc").status == 200
    assert gc.get_freeze_count() == 0


def test_token_file_has_comments_and_one_token_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("# of team A\n\n secret1 \nsecret#2\n")
    assert _read_tokens(path) == ("secret1", "secret#2")
    path.write_text("secret1\nsecret 2\n")
    with pytest.raises(DataError, match="line 2: a token has no spaces"):
        _read_tokens(path)
    path.write_text("# nothing\n")
    with pytest.raises(NoInputError, match="has no token"):
        _read_tokens(path)
