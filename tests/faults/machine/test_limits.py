"""Limits of files, processes and cores."""

import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from corpora import reversal_corpus
from faults.support.forked import become_nmt, ended, start
from faults.tally import fault

from nmt_cli import machine as cores
from nmt_cli.cli import environment
from nmt_cli.config.schema import dump, with_values
from nmt_cli.extras.doctor import examine


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project file with absolute paths to its text."""
    folder = tmp_path_factory.mktemp("environment")
    config, _ = reversal_corpus(folder, pairs=100, train_validation_sentences=2)
    (folder / "nmt.toml").write_text(dump(config))
    return folder


NOBODY = 65_534


def under(limit: Callable[[], None], arguments: list[str], folder: Path) -> tuple[int, str]:
    """Exit code and stderr of `nmt` in a process with a limit."""

    def work() -> NoReturn:
        out = os.open(folder / "said", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        limit()
        become_nmt(arguments, (os.open(os.devnull, os.O_RDONLY), out, out))

    return ended(start(work)), (folder / "said").read_text()


@pytest.mark.slow
@fault("E6")
def test_commands_work_with_few_open_files(project, tmp_path, checks):
    """ulimit -n 64"""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    for command in commands(project, tmp_path):
        code, output = under(limit, command, tmp_path)
        assert code == 0, (command, output)
        checks()


def commands(project: Path, out: Path) -> list[list[str]]:
    config = ["--config", str(project / "nmt.toml")]
    return [
        ["prepare", *config, "--out", str(out / "corpus"), "--workers", "2"],
        ["train", *config, "--corpus", str(out / "corpus"), "--out", str(out / "model")],
        ["translate", str(project / "valid.src"), "--model", str(out / "model")],
        ["score", str(project / "valid.src"), str(project / "valid.tgt")],
    ]


def as_nobody(processes: int) -> None:
    """Root has no limit: become somebody without rights, who may have so many processes."""
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.environ["HOME"] = "/nonexistent"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to, and reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@fault("E6")
@pytest.mark.skipif(os.getuid() != 0, reason="the limit counts what this user already has")
def test_commands_work_with_few_processes(open_folder, checks):
    """ulimit -u 64"""
    config, _ = reversal_corpus(open_folder, pairs=100, train_validation_sentences=2)
    (open_folder / "nmt.toml").write_text(dump(with_values(config, {"train.max_steps": 3})))
    for path in [open_folder, *open_folder.rglob("*")]:
        path.chmod(0o777)
    (open_folder / "out").mkdir(mode=0o777)
    (open_folder / "out").chmod(0o777)
    for command in commands(open_folder, open_folder / "out"):
        code, output = under(lambda: as_nobody(64), command, open_folder)
        assert code == 0, (command, output)
        checks()


@fault("E6")
@pytest.mark.skipif(os.getuid() != 0, reason="the limit counts what this user already has")
def test_too_few_processes_are_reported(open_folder):
    config, _ = reversal_corpus(open_folder, pairs=100)
    (open_folder / "nmt.toml").write_text(dump(with_values(config, {"train.parallel_shards": 1})))
    for path in [open_folder, *open_folder.rglob("*")]:
        path.chmod(0o777)
    command = commands(open_folder, open_folder)[1]
    code, output = under(lambda: as_nobody(1), command, open_folder)
    assert code == 75, output
    assert "error: the system lets this user start no more processes" in output
    assert "ulimit -u" in output


@fault("N9")
@pytest.mark.parametrize(
    ("affine", "quota", "usable"),
    [(8, None, 8), (8, 2.5, 3), (2, 16.0, 2), (4, 0.2, 1), (1, 1.0, 1), (64, 64.0, 64)],
)
def test_thread_count_respects_affinity_and_quota(monkeypatch, affine, quota, usable):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(affine)))
    monkeypatch.setattr(cores, "core_quota", lambda: quota)
    assert cores.usable_cores() == usable


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@fault("N9")
@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        # The strictest of a group and all above it counts.
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
            },
            2.0,
        ),
        # Inside a container the path may lead out of what is mounted.
        ({"proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
        (
            {
                "proc/self/cgroup": "5:memory:/m\n4:cpu,cpuacct:/job\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense"}, None),
    ],
)
def test_core_quota_of_control_groups_is_read(tmp_path, files, quota):
    assert cores.core_quota(machine(tmp_path, files)) == quota


@fault("N9")
def test_waiting_threads_do_not_spin(monkeypatch, checks):
    """And so many there are as there are cores; what the user chose stays."""
    monkeypatch.setattr("nmt_cli.machine.usable_cores", lambda: 3)
    passive = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}
    for given, expected in (
        ({}, {**passive, "OMP_NUM_THREADS": "3"}),
        ({"OMP_NUM_THREADS": "1"}, {**passive, "OMP_NUM_THREADS": "1"}),
        ({"GOMP_SPINCOUNT": "7"}, {**passive, "GOMP_SPINCOUNT": "7", "OMP_NUM_THREADS": "3"}),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE", "OMP_NUM_THREADS": "3"}),
    ):
        monkeypatch.setattr(os, "environ", dict(given))
        environment.choose_threads()
        assert os.environ == expected
        checks()


@fault("N9")
def test_doctor_warns_of_a_busy_machine(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (1_000.0, 0.0, 0.0))
    assert next(check for check in examine({}, Path()) if check.name == "cores").status == "warn"
