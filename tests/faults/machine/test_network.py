"""No command wants anything of a network, and the tests would see it if one did."""

import ast
import os
import socket
import traceback
import urllib.request
from pathlib import Path
from typing import NoReturn

import pytest
from corpora import reversal_corpus
from faults.network import is_here, without_network
from faults.support.forked import ended, start
from faults.tally import ROOT, fault
from ranks import in_ranks

from nmt_cli.cli import main
from nmt_cli.config.schema import dump, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks

# Of networks for documentation: nobody has these.
NOBODY = "192.0.2.1", "2001:db8::1"


def connect(host: str) -> None:
    socket.create_connection((host, 80), 1).close()


def send(host: str) -> None:
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.sendto(b"hello", (host, 53))


def fetch(host: str) -> None:
    address = f"[{host}]" if ":" in host else host
    urllib.request.urlopen(f"http://{address}/", timeout=1)


@pytest.mark.parametrize(
    ("way", "host"),
    [(way, host) for way in (connect, send, fetch, socket.gethostbyname) for host in NOBODY]
    + [(way, "example.org") for way in (connect, fetch, socket.gethostbyname)],
)
def test_network_attempt_is_refused_and_recorded(network_attempts, way, host):
    with pytest.raises(OSError, match="the tests have no network"):
        way(host)
    assert any(host in attempt for attempt in network_attempts)
    network_attempts.clear()


FAILS = """
import socket
from contextlib import suppress

def test_that_hides_its_attempt():
    with suppress(OSError):
        socket.create_connection(("192.0.2.1", 80), 1)
"""


def test_network_attempt_hidden_by_except_fails_the_test(pytester, network_attempts):
    pytester.makepyfile(FAILS)
    pytester.runpytest_inprocess("-p", "faults.network").assert_outcomes(passed=1, errors=1)
    network_attempts.clear()


def test_network_to_this_machine_is_allowed():
    assert all(map(is_here, ("localhost", "127.0.0.1", "127.8.9.1", "::1", "", None, b"0.0.0.0")))
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect_to = server.getsockname()
        socket.create_connection(connect_to, 1).close()


NETWORKS = (
    "urllib.request", "urllib.error", "http", "ftplib", "smtplib", "ssl", "requests", "httpx",
    "aiohttp", "urllib3", "huggingface_hub", "torch.hub", "webbrowser", "xmlrpc", "asyncio",
)  # fmt: skip


@fault("E2")
def test_no_module_imports_network_libraries():
    """`socket` is there for the name of this machine alone."""
    for path in (ROOT / "nmt_cli").rglob("*.py"):
        # The server listens, which its user asks for; it opens no connections.
        listens = "server" in path.relative_to(ROOT).parts or path.name == "serve.py"
        # Wait for a thread of this process.
        waits = path.name in ("async_translator.py", "handover.py")
        networks = set(NETWORKS) - ({"asyncio"} if listens or waits else set())
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [
                    node.module or "",
                    *(f"{node.module}.{alias.name}" for alias in node.names),
                ]
            for name in names:
                assert not any(
                    name == network or name.startswith(f"{network}.") for network in networks
                ), path
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "socket":
                assert listens or node.attr == "gethostname", path


@fault("E2")
@pytest.mark.slow
def test_every_command_works_without_a_network(tmp_path, checks):
    """From text files to a score, and training on two ranks, where there is no network at all."""
    config, _ = reversal_corpus(tmp_path, pairs=100, train_validation_sentences=2)
    (tmp_path / "nmt.toml").write_text(dump(config))
    done = tmp_path / "done"

    def work() -> NoReturn:
        try:
            if why := without_network():
                print(f"no network of its own: {why}")
                os._exit(77)
            os.chdir(tmp_path)
            whole_road(tmp_path, done)
            two_ranks(tmp_path, done)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    code = ended(start(work))
    if code == 77:
        pytest.skip("no network of its own for an ordinary user here")
    assert code == 0
    checks(len(done.read_text().splitlines()))


def whole_road(folder: Path, done: Path) -> None:
    commands = [
        ["--version"], ["--help"], ["prepare", "--out", "again"],
        ["train", "--max-steps", "3", "--quiet"], ["average", "model/checkpoints/step-000000003"],
        ["translate", "valid.src", "-o", "text"], ["score", "text", "valid.tgt"],
        ["score", "--pairs", "valid.src", "valid.tgt"], ["config", "show"], ["doctor"],
        ["init", "--src-lang", "en", "--tgt-lang", "de", "--help"],
    ]  # fmt: skip
    commands[4] += ["--out", "mean"]
    for command in commands:
        assert main(command) == 0, command
        with done.open("a") as file:
            file.write(f"{command[0]}\n")
    assert (folder / "text").read_text().count("\n") == 20


def two_ranks(folder: Path, done: Path) -> None:
    corpus = Corpus.open(folder / "corpus")
    config = with_values(corpus.config, {"train.max_steps": 2, "train.micro_batch_tokens": 75})

    def steps(ranks: Ranks) -> list[int]:
        return [report.step for report in train(config, corpus, folder / "two", ranks)]

    first, second = in_ranks(steps)
    assert (first.error, second.error) == (None, None)
    assert first.result[-1] == 2
    with done.open("a") as file:
        file.write("two ranks\n")
