"""`nmt` on systems that lack what only Linux has: the main commands work without any of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from corpora import reversal_pairs, write_pairs

from nmt_cli import machine

# Hides features of Linux by name, as if the system had never had them, before nmt is imported.
# Everything that looks for one of them while the commands run is recorded.
HIDING = """
import builtins, ctypes, errno, io, json, os, signal, sys

hidden, commands = json.loads(sys.argv[1]), json.loads(sys.argv[2])
wanted = set()
for module, name in ((os, "sched_getaffinity"), (signal, "SIGUSR1")):
    if name in hidden:
        delattr(module, name)

open_file, open_library = io.open, ctypes.CDLL

def open_outside(path, *arguments, **options):
    if isinstance(path, (str, os.PathLike)) and os.fspath(path) not in (sys.executable,):
        text = os.fsdecode(path)
        for folder in ("/proc", "/sys"):
            if folder in hidden and text.startswith(folder + "/"):
                wanted.add(folder)
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", text)
    return open_file(path, *arguments, **options)

builtins.open = io.open = open_outside

class Library(open_library):
    def __getattr__(self, name):
        if name in hidden:
            wanted.add(name)
            raise AttributeError(f"symbol not found: {name}")
        return super().__getattr__(name)

ctypes.CDLL = Library

from nmt_cli import machine
from nmt_cli.cli import environment, main
from nmt_cli.parent_watch import end_with_parent

end_with_parent(os.getppid())
environment.choose_threads()
for arguments in commands:
    print(arguments[0], flush=True)
    code = main(arguments)
    if code:
        sys.exit(code)
machine.trim_heap()
print(json.dumps(sorted(wanted)))
"""
FUNCTIONS = ("mallopt", "malloc_trim", "prctl", "renameat2")
FEATURES = ("sched_getaffinity", "SIGUSR1", "/proc", "/sys", *FUNCTIONS)


class Outcome(NamedTuple):
    code: int
    commands: list[str]
    wanted: list[str]
    errors: str


def run_without(
    features: tuple[str, ...], commands: list[list[str]], folder: Path, **environ: str
) -> Outcome:
    """Run commands of nmt one after the other in a process that lacks these features."""
    done = subprocess.run(
        [sys.executable, "-c", HIDING, json.dumps(features), json.dumps(commands)],
        capture_output=True, text=True, cwd=folder, env={**os.environ, **environ}, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    wanted = json.loads(lines[-1]) if done.returncode == 0 else []
    names = [command[0] for command in commands]
    return Outcome(done.returncode, [line for line in lines if line in names], wanted, done.stderr)


@pytest.mark.parametrize("feature", FEATURES)
def test_help_works_without_linux_feature(feature: str, tmp_path: Path) -> None:
    outcome = run_without((feature,), [["--help"], ["config", "show"]], tmp_path)
    assert outcome.code == 0, outcome.errors


@pytest.mark.slow
def test_main_commands_work_without_linux_features(tmp_path: Path) -> None:
    """No CPU affinity, /proc, control groups, SIGUSR1, GNU functions, nor a C compiler."""
    source, target = write_pairs(tmp_path, "train", reversal_pairs(100, 1))
    settings = (
        "data.subwords=chars", "data.vocab_size=64", "model.d_model=16", "model.heads=2",
        "model.layers=1", "model.d_ff=16", "train.max_steps=2", "train.batch_tokens=200",
        "train.preset=tiny", "train.checkpoint_every=1",
    )  # fmt: skip
    changes = [word for setting in settings for word in ("--set", setting)]
    valid = write_pairs(tmp_path, "valid", reversal_pairs(10, 2))
    parallel = ["--train", source, target, "--valid", *valid]
    commands = [
        ["--help"],
        ["prepare", *parallel, *changes],
        # A second time: the directory that is there already is replaced.
        ["prepare", *parallel, *changes, "--force"],
        ["train", *changes],
        ["translate", source],
        ["doctor"],
    ]
    programs = tmp_path / "programs"
    programs.mkdir()
    outcome = run_without(
        FEATURES, commands, tmp_path, PATH=str(programs), XDG_CACHE_HOME=str(tmp_path / "cache")
    )
    assert outcome.code == 0, outcome.errors
    assert outcome.commands == [command[0] for command in commands]
    assert outcome.wanted == ["/proc", "/sys", "malloc_trim", "mallopt", "prctl", "renameat2"]


def test_missing_libc_function_is_none() -> None:
    assert machine.c_function("no_function_has_this_name") is None
    getpid = machine.c_function("getpid")
    assert getpid is not None
    assert getpid() == os.getpid()


def test_child_processes_are_listed_from_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        expected = [child.pid] if Path("/proc/self/task").exists() else []
        assert [
            process for process in machine.child_processes() if process == child.pid
        ] == expected
        child.communicate(b"\n")
    monkeypatch.setattr(machine, "_read", lambda path: "")
    assert machine.child_processes() == []
    assert machine.available_memory() is None
    assert machine.core_quota() is None
