"""Too many requests, a model that fails, and a server that is stopped while it works."""

import contextlib
import gc
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faults.support.letters import save_byte_model
from faults.support.nasty_lines import TEXTS
from faults.tally import fault
from servers import Answer, byte_translator, is_true_soon, running_server

from nmt_cli.search.beam import BeamSearch
from nmt_cli.server.limits import Limits
from nmt_cli.translation.continuous import shared_searches
from nmt_cli.translation.json_lines import as_json_line


def in_threads(count: int, work: Callable[[int], object]) -> list[object]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


@fault("H3")
def test_overload_is_refused_at_once_and_what_was_accepted_is_answered() -> None:
    with running_server(limits=Limits(requests=4)) as server:
        seconds: list[float] = []

        def ask(number: int) -> Answer:
            begun = time.monotonic()
            answer = server.translate(f"abc {number} " * 20)
            if answer.status == 429:
                seconds.append(time.monotonic() - begun)
            return answer

        server.service._count += 4
        refused = [ask(number) for number in range(20)]
        server.service._count -= 4
        assert {answer.status for answer in refused} == {429}
        assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in refused)
        assert statistics.median(seconds) < 0.05
        answers = in_threads(40, ask)
        statuses = [answer.status for answer in answers]  # type: ignore[attr-defined]
        assert set(statuses) <= {200, 429}
        assert statuses.count(200) >= 4
        assert server.translate("abc").status == 200
        assert server.service._count == 0


@fault("H6")
def test_odd_lines_get_the_same_answers_as_from_the_command(
    checks: Callable[..., None],
) -> None:
    lines = [line for line in TEXTS.values() if len(line) < 2_000 and "\ud800" not in ascii(line)]
    lines = [line for line in lines if line.encode("utf-8", "replace").decode() == line]
    random.Random(1).shuffle(lines)
    expected = byte_translator().translate(lines)
    headers = {"accept": "application/x-ndjson"}
    with running_server(limits=Limits(characters=1_000_000)) as server:
        answer = server.ask("POST", "/v1/translate", {"lines": lines}, headers)
        documents = [json.loads(line) for line in answer.body.decode().split("\n")[:-1]]
        for document, translation in zip(documents, expected, strict=True):
            wanted = json.loads(as_json_line(document["line"], translation))
            for name in ("line", "source", "text", "flags", "sentences"):
                assert document[name] == wanted[name]
            assert document["score"] == pytest.approx(wanted["score"], abs=1e-4)
            checks()
        assert [server.translate(line).texts for line in lines[:20]] == [
            [translation.text] for translation in expected[:20]
        ]


@fault("H8")
def test_error_of_the_model_fails_its_requests_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: BeamSearch) -> None:
        raise RuntimeError("secret text")

    with running_server() as server:
        with monkeypatch.context() as patch:
            patch.setattr(BeamSearch, "advance", broken)
            answer = server.translate("abc")
            assert (answer.status, b"secret" in answer.body) == (500, False)
        assert server.translate("abc").status == 200
        with monkeypatch.context() as patch:
            patch.setattr(shared_searches.SharedSearches, "step", lambda self: 1 / 0)
            assert server.translate("abc").status == 500
        assert server.translate("abc").status == 200
        assert server.service.worker.restarts == 1
        assert server.ask("GET", "/readyz").status == 200


@fault("H8")
def test_worker_that_hangs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.server.service.STALLED_SECONDS", 0.2)
    goes_on = threading.Event()
    with running_server() as server:
        monkeypatch.setattr(BeamSearch, "advance", lambda self: goes_on.wait(60) and [])
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.translate, "abc")
            assert is_true_soon(lambda: server.ask("GET", "/healthz").status == 503)
            status = server.ask("GET", "/readyz").status
            monkeypatch.undo()
            goes_on.set()
            assert asked.result().status == 200
        assert status == 503


@fault("H11")
def test_large_requests_do_not_hold_up_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_searches, "MAX_SLOTS", 4)
    with running_server(limits=Limits(characters=100_000)) as server, ThreadPoolExecutor(1) as pool:
        lines = [*["abc de fgh " * 3] * 20, *(f"a{number}" for number in range(200))]
        large = pool.submit(server.translate, *lines)
        assert is_true_soon(lambda: server.service.worker.busy_slots)
        for _ in range(3):
            assert server.translate("abc").status == 200
        assert not large.done(), "the small requests have waited for the large one"
        assert len(large.result().texts) == 220


@fault("H11")
def test_request_that_breaks_the_search_does_so_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One with settings of its own has a search of its own."""
    advance = BeamSearch.advance

    def broken(self: BeamSearch) -> object:
        if self.config.beam == 3:
            raise RuntimeError("beam")
        return advance(self)

    monkeypatch.setattr(BeamSearch, "advance", broken)
    with running_server() as server:

        def ask(number: int) -> int:
            return server.translate("abc de", **({"beam": 3} if number % 2 else {})).status

        assert in_threads(20, ask) == [200, 500] * 10


def started(folder: Path, *options: str) -> tuple["subprocess.Popen[str]", int]:
    """A server in a process of its own, and its port."""
    model = save_byte_model(folder / "model")
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", "serve", str(model), "--port", "0", "--device", "cpu",
         *options],
        stderr=subprocess.PIPE, text=True, cwd=folder,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "listening on http://" in line:
            return process, int(line.rsplit(":", 1)[1])
    raise AssertionError(f"it has ended: {process.wait()}")


@fault("I1")
def test_requests_are_answered_when_nobody_reads_the_log(tmp_path: Path) -> None:
    process, port = started(tmp_path, "--access-log")
    try:
        assert process.stderr is not None
        process.stderr.close()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.closing(connection):
            for _ in range(3):
                connection.request("GET", "/healthz")
                response = connection.getresponse()
                assert (response.status, bool(response.read())) == (200, True)
    finally:
        process.kill()
        process.wait()


@fault("H7")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 129)])
def test_stopped_server_finishes_what_it_has_accepted(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process, port = started(tmp_path)
    sent: list[int] = []
    answers: dict[int, tuple[int, bytes]] = {}

    def ask(number: int) -> None:
        body = b'{"lines": ["%s"]}' % (b"abc de " * 700)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        # Later ones are not accepted any more.
        with contextlib.closing(connection), contextlib.suppress(ConnectionError):
            time.sleep(0.01 * number)
            connection.request("POST", "/v1/translate", body)
            sent.append(number)
            response = connection.getresponse()
            answers[number] = response.status, response.read()

    try:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(30)]
        for thread in threads:
            thread.start()
        assert is_true_soon(lambda: len(sent) > 10)
        accepted = list(sent)
        # Connections are accepted in a moment; translating all takes longer.
        time.sleep(0.05)
        done = len(answers)
        process.send_signal(number)
        for thread in threads:
            thread.join()
        assert process.wait(120) == code
        assert done < len(accepted), "all were answered before the signal"
        assert set(accepted) <= answers.keys()
        assert all(answer[0] == 200 and answer[1].endswith(b"]}\n") for answer in answers.values())
    finally:
        process.kill()
        process.communicate()


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@fault("H12")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_and_files_stay_flat_over_many_requests() -> None:
    with running_server() as server:

        def batch(requests: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for number in range(requests):
                if number % 50 == 49:
                    connection.close()
                connection.request("POST", "/v1/translate", b'{"lines": ["abc %d"]}' % number)
                assert connection.getresponse().read().endswith(b"]}\n")
            connection.close()

        batch(100)
        gc.collect()
        memory, files, objects = resident_bytes(), descriptors(), len(gc.get_objects())
        batch(700)
        gc.collect()
        assert descriptors() <= files + 2
        assert len(gc.get_objects()) < objects + 500
        assert resident_bytes() < 1.05 * memory
