"""How the server runs."""

import gc

from servers import running_server


def test_objects_made_before_the_server_are_not_collected_while_it_runs() -> None:
    gc.unfreeze()
    with running_server() as server:
        assert gc.get_freeze_count() > 0
        assert server.translate("abc").status == 200
    assert gc.get_freeze_count() == 0
