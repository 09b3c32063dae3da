"""Claim: `nmt init && nmt prepare && nmt train` comes near the best of many hand-tuned settings.

What a step of each setting costs is measured first, one setting at a time: do that on idle cores.
Then every setting trains for as many steps as fit into the same CPU time on one thread, and is
scored on the validation text with beam search; other work on the machine changes nothing then.
Costs and finished runs are kept in the JSON file, so the script can be interrupted and goes on.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from lib.measure import Json, environment, measured_with, say
from lib.sentences import write_random_text
from lib.training import Trainer

from nmt_cli.config.presets import PRESETS
from nmt_cli.storage.files import write_text

# What a person who tunes by hand would try, each as a difference to `BASIS`.
BASIS: Mapping[str, object] = {
    "data.vocab_size": 8_000,
    "model.layers": 3, "model.d_model": 256, "model.d_ff": 1_024, "model.heads": 4,
    "model.norm_order": "pre", "model.dropout": 0.15,
    "train.batch_tokens": 3_000, "train.optimizer": "muon", "train.learning_rate": 5e-3,
    "train.warmup_steps": 100, "train.schedule": "linear", "train.precision": "fast",
    "train.keep_last": 5,
}  # fmt: skip
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "basis": {},
    "rate-8e-3": {"train.learning_rate": 8e-3},
    "rate-3e-3": {"train.learning_rate": 3e-3},
    "batch-1500": {"train.batch_tokens": 1_500},
    "batch-1500-rate-3.5e-3": {"train.batch_tokens": 1_500, "train.learning_rate": 3.5e-3},
    "batch-6000": {"train.batch_tokens": 6_000, "train.learning_rate": 8e-3},
    "dropout-0.3": {"model.dropout": 0.3},
    "dropout-0.05": {"model.dropout": 0.05},
    "vocabulary-4000": {"data.vocab_size": 4_000},
    "vocabulary-2000": {"data.vocab_size": 2_000},
    "wide": {"model.d_model": 384, "model.d_ff": 1_536, "model.heads": 6},
    "narrow": {"model.d_model": 192, "model.d_ff": 768, "model.heads": 3},
    "deep-encoder": {"model.encoder_layers": 5, "model.decoder_layers": 2},
    "adam-2.5e-3": {"train.optimizer": "adam", "train.learning_rate": 2.5e-3},
    "swiglu": {"model.norm": "rms_norm", "model.activation": "swiglu", "model.d_ff": 688},
    "rotary": {"model.positions": "rotary"},
    "no-smoothing": {"train.label_smoothing": 0.0},
    "paper": {
        "model.norm_order": "post", "model.dropout": 0.1, "train.optimizer": "adam",
        "train.learning_rate": "auto", "train.schedule": "inverse_sqrt",
        "train.warmup_steps": 1_000,
    },
}  # fmt: skip
TINY: Mapping[str, object] = {
    "data.vocab_size": "auto", "model.layers": 1, "model.d_model": 16, "model.d_ff": 32,
    "model.heads": 2, "train.batch_tokens": 200,
}  # fmt: skip
DEFAULT = "default"
# Settings that change no work: those that differ in nothing else share the lowest of their costs.
FREE = {"train.learning_rate", "train.label_smoothing", "model.dropout"}


class Bench:
    """The runs on one corpus; `document` is what the JSON file holds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.work: Path = options.work
        self.work.mkdir(parents=True, exist_ok=True)
        self.lock = Lock()
        self.document: Json = {
            "schema": 1,
            "benchmark": "defaults",
            "settings": measured_with(options),
            "cases": [],
            "complete": True,
            "environment": environment(1),
            "costs": {},
            "runs": {},
        }
        if options.out.exists():
            earlier = json.loads(options.out.read_text())
            self.document.update(costs=earlier["costs"], runs=earlier["runs"])

    def run(self, names: Sequence[str]) -> None:
        """Measure the costs of `names`, then train those that are not done, several at a time."""
        for name in names:
            if name not in self.document["costs"]:
                self.document["costs"][name] = self._cost(name)
                self._save()
                say(f"{name}: {json.dumps(self.document['costs'][name])}")
        if self.options.costs_only:
            return
        key = f"{self.options.seconds:g} s"
        runs = self.document["runs"].setdefault(key, {})
        todo = [name for name in names if name not in runs]
        with ThreadPoolExecutor(self.options.jobs) as pool:
            for _ in pool.map(lambda name: self._train(key, name), todo):
                pass
        self._save()

    def _train(self, key: str, name: str) -> None:
        begun = time.monotonic()
        facts = self.default() if name == DEFAULT else self.tuned(name)
        cost = self._shared_cost(name)
        facts["cost_seconds"] = round(cost["start"] + facts["steps"] * cost["step"], 1)
        facts["wall_seconds"] = round(time.monotonic() - begun, 1)
        with self.lock:
            self.document["runs"][key][name] = facts
            self._save()
            say(f"{key} {name}: {json.dumps(facts)}")

    def _save(self) -> None:
        write_text(self.options.out, json.dumps(self.document, indent=1) + "\n")

    def default(self) -> Json:
        """The three commands with no option but the languages."""
        folder = self._default_project()
        spent = self._nmt(folder, "train")
        log = (folder / "model" / "log.jsonl").read_text(encoding="utf-8").splitlines()
        steps = max(json.loads(line).get("step", 0) for line in log)
        return {"steps": steps, "cpu_seconds": spent, **self._score(folder, "model")}

    def tuned(self, name: str) -> Json:
        """One of SETTINGS, for as many steps as the CPU time allows."""
        folder, values = self._tuned_project(name)
        cost = self._shared_cost(name)
        steps = max(1, int((self.options.seconds - cost["start"]) / cost["step"]))
        out = f"{name}-{self.options.seconds:g}"
        pace = {
            "train.checkpoint_every": max(1, steps // 30),
            "train.validate_every": steps,
            "train.validation_sentences": 0,
        }
        values["train.warmup_steps"] = min(int(str(values["train.warmup_steps"])), steps // 5 + 1)
        flags = [f"--set={key}={value}" for key, value in {**values, **pace}.items()]
        spent = self._nmt(
            folder, "train", "--preset", "base", "--max-steps", str(steps), "--out", out, "--quiet",
            *flags,
        )  # fmt: skip
        return {"steps": steps, "cpu_seconds": spent, **self._score(folder, out)}

    def _default_project(self) -> Path:
        """The folder in which the three commands run, with its corpus."""
        folder = self._project(DEFAULT)
        if not (folder / "corpus").exists():
            self._nmt(
                folder, "init", "--force", "--src-lang", self.options.src,
                "--tgt-lang", self.options.tgt,
            )  # fmt: skip
            self._nmt(folder, "prepare")
        return folder

    def _tuned_project(self, name: str) -> tuple[Path, dict[str, object]]:
        """The folder with the corpus of one of SETTINGS, and the settings of its training."""
        values = {**BASIS, **SETTINGS[name], **(TINY if self.options.tiny else {})}
        size = str(values.pop("data.vocab_size"))
        folder = self._project(f"vocabulary-{size}")
        with self.lock:
            if not (folder / "corpus").exists():
                pair = [f"train.{self.options.src}", f"train.{self.options.tgt}"]
                valid = [f"valid.{self.options.src}", f"valid.{self.options.tgt}"]
                self._nmt(
                    folder, "prepare", "--train", *pair, "--valid", *valid, "--quiet",
                    "--src-lang", self.options.src, "--tgt-lang", self.options.tgt,
                    "--vocab-size", size,
                )  # fmt: skip
        return folder, values

    def _cost(self, name: str) -> Json:
        """CPU seconds of the start, and of each step after it."""
        if name == DEFAULT:
            folder = self._default_project()
            config: dict[str, object] = {
                key: value
                for key, value in PRESETS["small"].items()
                if key.startswith(("model.", "train."))
            }
            config.update({"train.max_steps": 1_000, "train.checkpoint_every": 1_000})
        else:
            folder, config = self._tuned_project(name)
        settings = {"config": {"train.preset": "base", **config}, "folder": str(folder)}
        worker = Trainer("ours", folder / "corpus", settings, 1)
        try:
            worker.ask("steps 2")
            answer = worker.ask(f"steps {self.options.probe}")
        finally:
            worker.end()
        return {
            "start": round(worker.start[1], 2),
            "step": round(answer["cpu"] / self.options.probe, 4),
        }

    def _shared_cost(self, name: str) -> Json:
        """The cost of a setting: the lowest measured of all that do the same work."""
        costs = self.document["costs"]
        twins = [other for other in SETTINGS if other in costs and work_of(other) == work_of(name)]
        return min((costs[other] for other in [name, *twins]), key=lambda cost: cost["step"])

    def _score(self, folder: Path, model: str) -> Json:
        """BLEU of the model's translation of the validation text."""
        src, tgt = self.options.src, self.options.tgt
        for language in (src, tgt):
            lines = (folder / f"valid.{language}").read_text(encoding="utf-8").split("\n")[:-1]
            text = "".join(f"{line}\n" for line in lines[: self.options.lines])
            (folder / f"scored.{language}").write_text(text, encoding="utf-8")
        output = f"{model}.{tgt}"
        self._nmt(folder, "translate", f"scored.{src}", "--model", model, "-o", output, "--quiet")
        done = subprocess.run(
            [*NMT, "score", output, f"scored.{tgt}", "--json"], cwd=folder, capture_output=True,
            text=True, check=True, env=ENVIRON,
        )  # fmt: skip
        score = json.loads(done.stdout)
        return {"bleu": round(score["value"], 2), "signature": score["signature"]}

    def _project(self, name: str) -> Path:
        """A folder with the text of this corpus."""
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        for kind in ("train", "valid", "test"):
            for language in (self.options.src, self.options.tgt):
                link = folder / f"{kind}.{language}"
                text = (self.options.data / link.name).resolve()
                if not link.exists() and text.exists():
                    link.symlink_to(text)
        return folder

    def _nmt(self, folder: Path, *arguments: str) -> float:
        """Run one command; the CPU seconds that it took."""
        process = subprocess.Popen([*NMT, *arguments], cwd=folder, env=ENVIRON, stderr=ERRORS)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"nmt {' '.join(arguments)} in {folder}: {process.returncode}")
        return round(_cpu_seconds(usage), 1)


def work_of(name: str) -> Mapping[str, object]:
    """The settings that decide what a step costs.

    >>> work_of("rate-8e-3") == work_of("dropout-0.3"), work_of("wide") == work_of("basis")
    (True, False)
    """
    if name == DEFAULT:
        return {}
    values = {**BASIS, **SETTINGS[name]}
    return {key: value for key, value in values.items() if key not in FREE}


def _cpu_seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


NMT = [sys.executable, "-m", "nmt_cli"]
ENVIRON = {**os.environ, "OMP_NUM_THREADS": "1"}
ERRORS = None


def table(runs: Mapping[str, Json]) -> str:
    """The runs of one CPU time, best first; how near the default comes to the best."""
    rows = sorted(runs.items(), key=lambda row: -row[1]["bleu"])
    lines = [f"{'setting':<26}{'steps':>7}{'CPU s':>8}{'BLEU':>8}"]
    lines += [
        f"{name:<26}{facts['steps']:>7}{facts['cost_seconds']:>8.0f}{facts['bleu']:>8.2f}"
        for name, facts in rows
    ]
    tuned = [facts["bleu"] for name, facts in rows if name != DEFAULT]
    if DEFAULT in runs and tuned:
        lines.append(f"default / best tuned: {runs[DEFAULT]['bleu'] / max(tuned):.3f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="defaults-") as name:
        if options.tiny:
            options.data, options.work = Path(name) / "text", Path(name) / "work"
            write_random_text(options.data, 300, seed=1)
            for language in (options.src, options.tgt):
                shutil.copy(options.data / f"train.{language}", options.data / f"valid.{language}")
        bench = Bench(options)
        bench.run(options.only or [DEFAULT, *SETTINGS])
    if options.json:
        print(json.dumps(bench.document))
        return 0
    for key, runs in bench.document["runs"].items():
        print(f"{options.data.name}, {key} of CPU time each\n{table(runs)}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="train, valid, test .SRC and .TGT")
    add("--src", default="en")
    add("--tgt", default="fr")
    add("--seconds", type=float, help="CPU seconds of each tuned training")
    add("--costs-only", action="store_true", help="measure the costs of a step, train nothing")
    add("--only", nargs="+", choices=(DEFAULT, *SETTINGS), help="these settings alone")
    add("--lines", type=int, default=1_000, help="of the validation text that are scored")
    add("--probe", type=int, default=8, help="steps that tell what a step costs")
    add("--jobs", type=int, default=1, help="trainings at a time, one thread each")
    add("--work", type=Path, metavar="DIR", help="corpora and models")
    add("--out", type=Path, required=True, metavar="FILE", help="JSON; finished runs are kept")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of hours: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.src, options.tgt, options.only = "xx", "yy", ["basis"]
        options.seconds, options.lines, options.probe = 5.0, 4, 2
    elif None in (options.data, options.seconds, options.work):
        parser.error("--data, --seconds and --work are needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
