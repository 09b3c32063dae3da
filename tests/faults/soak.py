"""Train, kill, fill the disk and translate at once, for a while, and show that nothing was lost.

    python tests/faults/soak.py [--minutes 30] [--seed 1] [--json FILE]

Works on a small file system in memory that is filled again and again (Linux, with `unshare`). At
the end the run goes on in peace, and must be, to the last bit, the run that nothing happened to.
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from runs import assert_same_state, logged

from nmt_cli.cli.signals import EXIT_CODES
from nmt_cli.extras.demo.grammar.pairs import make_pairs
from nmt_cli.training.saving.checkpoints import Checkpoints

DISK = "40m"
PAIRS = 3_000
LOG_EVERY = 5
CHECKPOINT_EVERY, KEEP_LAST = 25, 2
PATIENCE_SECONDS = 180.0
SETTINGS = [
    "model.layers=1", "model.d_model=32", "model.d_ff=64", "model.heads=2", "model.dropout=0.1",
    "train.batch_tokens=500", "train.warmup_steps=100", "train.validate_every=100",
    f"train.checkpoint_every={CHECKPOINT_EVERY}", f"train.keep_last={KEEP_LAST}",
    "train.validation_sentences=20", f"train.log_every={LOG_EVERY}",
    "train.schedule=inverse_sqrt",
]  # fmt: skip
STOPS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
CANNOT_CREATE, FULL_DISK, BUSY = 73, 74, 75
FULL = CANNOT_CREATE, FULL_DISK
NASTY = ["", "   ", "</s> <s> <pad>", "a\rb", "x\u2028y", "[/red] \x1b[31m", "word " * 300]


class Lost(Exception):
    """What may not happen."""


class Soak:
    """One soak in `disk`, a small file system: what was done, by name, in `done`."""

    def __init__(self, disk: Path, rest: Path, random_numbers: random.Random) -> None:
        self.disk, self.rest, self.random = disk, rest, random_numbers
        self.done: Counter[str] = Counter()
        self.lost: list[str] = []
        self.over = threading.Event()
        # From which step to which there was no room on the disk, or not yet again.
        self.full: list[tuple[int, int]] = []
        self.model = disk / "model"
        self.settings = [part for setting in SETTINGS for part in ("--set", setting)]

    def start(self, *arguments: str, **streams: object) -> "subprocess.Popen[bytes]":
        """`nmt` with these arguments, its words kept for a complaint."""
        quiet: dict = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | streams
        command = [sys.executable, "-m", "nmt_cli", *arguments]
        return subprocess.Popen(command, cwd=self.rest, **quiet)

    def run(self, *arguments: str, allowed: tuple[int, ...] = (0,), stdin: bytes = b"") -> bytes:
        """Run `nmt` to its end; what it wrote to stdout."""
        process = self.start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        output, words = process.communicate(stdin)
        if process.returncode not in allowed:
            raise Lost(f"nmt {arguments[0]} ended with {process.returncode}: {words.decode()}")
        return output if process.returncode == 0 else b""

    def prepare(self) -> None:
        """Text and corpus, beside the small disk: they are read only."""
        for name, count, seed in (("train", PAIRS, 1), ("valid", 50, 2)):
            pairs = list(make_pairs(count, seed=seed, split=name))
            for side in ("src", "tgt"):
                lines = "".join(getattr(pair, side) + "\n" for pair in pairs)
                (self.rest / f"{name}.{side}").write_text(lines)
        self.sources = [pair.src for pair in pairs] + NASTY
        self.run(
            "init", "--train", "train.src", "train.tgt", "--valid", "valid.src", "valid.tgt",
            "--src-lang", "en", "--tgt-lang", "de", "--preset", "tiny",
        )  # fmt: skip
        self.run("prepare", "--vocab-size", "500")

    def train(self, steps: int, out: Path, **streams: object) -> "subprocess.Popen[bytes]":
        """Start a training that goes on where the last one ended."""
        limit = ["--set", f"train.max_steps={steps}"]
        return self.start("train", "--quiet", "--out", str(out), *self.settings, *limit, **streams)

    def disturb(self) -> None:
        """One training and what happens to it."""
        begun, filled = self.step_saved(), self.done["disk filled"]
        process = self.train(10_000_000, self.model)
        self._wait(self.random.uniform(1.0, 25.0))
        for fault in self.random.sample([self.stand_still, self.come_second, self.fill], k=1):
            if process.poll() is None:
                fault(process)
        stop = self.random.choice(STOPS)
        process.send_signal(stop)
        words = self.words_of(process)
        if self.done["disk filled"] > filled:
            self.full.append((begun, self.last_step()))
        if process.returncode in FULL and self.done["disk filled"] > filled:
            self.done["ended by a full disk"] += 1
        elif process.returncode in (EXIT_CODES.get(stop), -stop):
            self.done[f"stopped by {stop.name}"] += 1
        else:
            raise Lost(f"after {stop.name} training ended with {process.returncode}: {words}")

    def step_saved(self) -> int:
        """The step that training goes on from."""
        latest, _ = Checkpoints(self.model / "checkpoints", KEEP_LAST, 1).latest()
        return latest.step if latest else 0

    def last_step(self) -> int:
        """The last step that the log tells, whose last line may be torn."""
        log = self.model / "log.jsonl"
        result = re.findall(r'"step": (\d+)', log.read_text()) if log.exists() else []
        return max(map(int, result), default=0)

    def words_of(self, process: "subprocess.Popen[bytes]") -> str:
        """What it says until its end, which must come within some minutes."""
        try:
            return process.communicate(timeout=PATIENCE_SECONDS)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            raise Lost(f"{process.args} has not ended") from None

    def _wait(self, seconds: float) -> None:
        self.over.wait(seconds)

    def stand_still(self, process: "subprocess.Popen[bytes]") -> None:
        """Stop the process for two seconds, as Ctrl-Z does."""
        process.send_signal(signal.SIGSTOP)
        self._wait(2.0)
        process.send_signal(signal.SIGCONT)
        self.done["stood still and went on"] += 1

    def come_second(self, process: "subprocess.Popen[bytes]") -> None:
        """A second training in the same directory is refused while the first one holds it."""
        if not (self.model / ".lock").exists():
            return
        second = self.train(10_000_000, self.model)
        words = self.words_of(second)
        if process.poll() is None and second.returncode not in (BUSY, CANNOT_CREATE):
            raise Lost(f"a second training ended with {second.returncode}: {words}")
        self.done["a second training refused"] += 1

    def fill(self, _: "subprocess.Popen[bytes]") -> None:
        """Leave no byte on the disk for some seconds."""
        ballast = self.disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 14))
        self._wait(self.random.uniform(2.0, 10.0))
        ballast.unlink()
        self.done["disk filled"] += 1

    def translate(self) -> None:
        """Translate with the model as it is now, or write a file and be killed."""
        if not (self.model / "model.safetensors").exists():
            self._wait(1.0)
            return
        lines = [self.random.choice(self.sources) for _ in range(40)]
        text = "".join(line + "\n" for line in lines).encode()
        if self.random.random() < 0.5:
            output = self.run("translate", "--model", str(self.model), "--beam", "1", stdin=text)
            if output.count(b"\n") != len(lines):
                raise Lost(f"{len(lines)} lines in, {output.count(bytes([10]))} out")
            self.done["translated while training"] += 1
        else:
            self.translate_and_die(text, len(lines))

    def translate_and_die(self, text: bytes, lines: int) -> None:
        """What is at the name of --output is whole, whenever the process dies."""
        source, target = self.rest / "killed.src", self.rest / "killed.tgt"
        source.write_bytes(text)
        target.unlink(missing_ok=True)
        process = self.start(
            "translate", str(source), "--model", str(self.model), "--output", str(target)
        )
        self._wait(self.random.uniform(0.5, 8.0))
        process.kill()
        process.communicate()
        if target.exists() and target.read_bytes().count(b"\n") != lines:
            raise Lost(f"{target} is there and not whole")
        self.done["translation killed"] += 1

    def average(self) -> None:
        """Average what is there while it rotates; a full disk may refuse it."""
        if not (self.model / "model.safetensors").exists():
            return
        out = self.disk / "average"
        allowed = (0, 65, 66, *FULL)
        self.run("average", str(self.model), "--last", "2", "--out", str(out), allowed=allowed)
        if out.exists():
            self.run("translate", "--model", str(out), "--beam", "1", stdin=b"one\n")
        self.done["averaged while training"] += 1

    def again_and_again(self, *works: Callable[[], None]) -> threading.Thread:
        """Do one of these after the other in a thread until the time is over."""

        def loop() -> None:
            while not self.over.is_set():
                try:
                    self.random.choice(works)()
                except Lost as error:
                    self.lost.append(str(error))

        thread = threading.Thread(target=loop)
        thread.start()
        return thread

    def compare(self) -> int:
        """Go on in peace, and from the start in peace; the last step. Raises AssertionError."""
        steps = self.step_saved() + 50
        for out in (self.model, self.rest / "straight"):
            process = self.train(steps, out)
            words = process.communicate()[1].decode()
            if process.returncode:
                raise Lost(f"in peace training ended with {process.returncode}: {words}")
        self.compare_logs()
        assert_same_state(self.model, self.rest / "straight")
        return steps

    def compare_logs(self) -> None:
        """Each report once, and equal where it is of the same steps: a stop reports too.

        While the disk was full there were fewer checkpoints to average, and a validation of other
        averages is another one.
        """
        peaceful = {record["step"]: record for record in steps_of(self.rest / "straight")}
        last, told, before = 0, 0, {}
        for actual in steps_of(self.model):
            step = actual["step"]
            if step <= last:
                raise Lost(f"the log says {before}, and then {actual}")
            if step - last == LOG_EVERY and last in peaceful:
                told += 1
                expected = peaceful[step]
                if actual != expected and self._was_full(step):
                    actual, expected = ({**both, "validation": {}} for both in (actual, expected))
                    self.done["validations of what a full disk had left"] += 1
                if actual != expected:
                    raise Lost(f"the log says {actual}, and in peace {expected}; full: {self.full}")
            last, before = step, actual
        self.done["reports equal to those of peace"] = told

    def _was_full(self, step: int) -> bool:
        """Whether one of the checkpoints that are averaged at this step may have found no room."""
        oldest = step - KEEP_LAST * CHECKPOINT_EVERY
        return any(first <= step and oldest <= last for first, last in self.full)


def steps_of(out: Path) -> Iterator[dict]:
    """The log's reports of steps, without those of news between two."""
    return (record for record in logged(out) if record["tokens"])


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of DISK bytes that only this process sees."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def soak(minutes: float, seed: int) -> dict[str, object]:
    """Run it all; what was done, what was lost."""
    with small_disk() as disk, tempfile.TemporaryDirectory() as rest:
        soak_ = Soak(disk, Path(rest), random.Random(seed))
        soak_.prepare()
        threads = [
            soak_.again_and_again(soak_.disturb),
            soak_.again_and_again(soak_.translate, soak_.translate, soak_.average),
        ]
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end and not soak_.lost:
            time.sleep(5.0)
        soak_.over.set()
        for thread in threads:
            thread.join()
        steps = 0
        try:
            steps = soak_.compare()
        except (Lost, AssertionError) as error:
            soak_.lost.append(str(error))
        done = dict(sorted(soak_.done.items()))
        return {"minutes": minutes, "seed": seed, "steps": steps, "done": done, "lost": soak_.lost}


def main() -> int:
    """Enter a space of names of our own, where a file system may be mounted, and soak there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if "NMT_SOAK" not in os.environ:
        os.environ["NMT_SOAK"] = "1"
        os.execvp("unshare", ["unshare", "-rm", sys.executable, *sys.argv])
    # Behind a shell's `&` this is ignored, and so it would be in what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    result = soak(arguments.minutes, arguments.seed)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    return bool(result["lost"])


if __name__ == "__main__":
    sys.exit(main())
