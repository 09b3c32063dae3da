"""Claim: `echo Hello | nmt translate` takes less time than `python -c "import torch"`.

    python benchmarks/cold_start.py --models demo/model --out cold_start.json

Both are processes as a shell starts them, in turns; a third kind tells where the time goes.
"""

import argparse
import os
import random
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lib.measure import Json, Results, environment, make_case, measured_with, say, spread

IMPORT_TORCH = "import torch"
# `nmt translate` that tells on stderr how many seconds after its start each part ended.
PARTS = """
import os, sys, time
ticks = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
begun = ticks / os.sysconf("SC_CLK_TCK")
def tell(name):
    print(name, time.clock_gettime(time.CLOCK_BOOTTIME) - begun, file=sys.stderr)
import nmt_cli.cli.environment as environment
environment.open_standard_streams()
environment.choose_threads()
import nmt_cli.translation.translator as translator
tell("import")
load = translator.Translator.load
def loaded(*arguments, **named):
    made = load(*arguments, **named)
    tell("load")
    return made
translator.Translator.load = loaded
from nmt_cli.cli import main
code = main(["translate", "--model", sys.argv[1]])
tell("first output")
environment.leave(code)
"""
PART_NAMES = ("import", "load", "first output")
TINY = {"model.layers": 1, "model.d_model": 32, "model.d_ff": 32, "model.heads": 2}


def run(arguments: Sequence[str], threads: int) -> Json:
    """A Python process that is given one line: seconds on the wall and of the processor."""
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": str(threads)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"Hello\n")
    process.stdin.close()
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    # Popen must not wait for a process that is gone.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments[:3]}: {err.decode()[-2_000:]}")
    return {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss * 1_024 / 1e6,
        "out": out.decode(),
        "err": err.decode(),
    }


def parts_of(done: Json) -> Json:
    """Seconds of each part: of the interpreter and imports, of loading, of translating."""
    ends = dict(line.rsplit(" ", 1) for line in done["err"].splitlines())
    times = [float(ends[name]) for name in PART_NAMES]
    return dict(zip(PART_NAMES, (times[0], times[1] - times[0], times[2] - times[1]), strict=True))


def measure(model: Path, options: argparse.Namespace) -> Json:
    """Rounds of `import torch` and of the command, and some that tell the parts."""
    commands = {
        "ours": ["-m", "nmt_cli", "translate", "--model", str(model)],
        "peer": ["-c", IMPORT_TORCH],
    }
    for arguments in commands.values() if not options.tiny else ():
        # The first ones read from the disk and compile the kernels.
        run(arguments, options.threads)
    rounds: dict[str, list[Json]] = {kind: [] for kind in (*commands, "parts")}
    for index in range(options.rounds):
        for kind in sorted(commands, reverse=index % 2 > 0):
            rounds[kind].append(run(commands[kind], options.threads))
        rounds["parts"].append(run(["-c", PARTS, str(model)], options.threads))
    return rounds


def cases_of(name: str, rounds: Json, settings: Json) -> list[Json]:
    """Wall and CPU time beside those of `import torch`."""
    cases = []
    for key, title in (("wall", "on the wall"), ("cpu", "of the processor")):
        ours, peer = (spread([answer[key] for answer in rounds[kind]]) for kind in ("ours", "peer"))
        cases.append(
            make_case(
                f"{name}: a line translated, {title}", "s", ours["median"], peer["median"],
                better="lower", settings={**settings, "peer": IMPORT_TORCH},
                times_import_torch=round(ours["median"] / peer["median"], 3),
                ours_spread=ours, peer_spread=peer,
            )
        )  # fmt: skip
    parts = [parts_of(answer) for answer in rounds["parts"]]
    for part in PART_NAMES:
        times = spread([answer[part] for answer in parts])
        cases.append(
            make_case(
                f"{name}: {part}", "s", times["median"], None,
                better="lower", settings=settings, ours_spread=times,
            )
        )  # fmt: skip
    return cases


def make_model(folder: Path, *, tiny: bool) -> Path:
    """A model directory of `base` with weights that were never trained, 32,000 subwords."""
    from lib.planted import planted_model, planted_settings
    from lib.settings import make_config

    from nmt_cli.data.subwords.model import learn_subwords
    from nmt_cli.model_dir import save_model

    say("making a model")
    chooser = random.Random(1)
    size = 300 if tiny else 32_000
    words = Counter(
        "".join(chooser.choices(string.ascii_lowercase, k=chooser.randrange(3, 12)))
        for _ in range(2 * size)
    )
    data = make_config({"data.vocab_size": size}).data
    subwords = learn_subwords(data, words, words)
    sizes = dict.fromkeys(("model.src_vocab_size", "model.tgt_vocab_size"), subwords.src_size)
    settings = {**(TINY if tiny else {}), **sizes, "data.vocab_size": size}
    config = make_config(planted_settings(settings))
    model = planted_model(config, 12 if tiny else 61)
    path = folder / "base"
    save_model(path, model.state_dict(), config, subwords, {})
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    facts = environment(options.threads)
    asked = {**measured_with(options), "models": [_shown(path) for path in options.models]}
    results = Results("cold_start", asked, options.out, environment=facts)
    with tempfile.TemporaryDirectory(prefix="cold-start-") as name:
        models = {_shown(path): path for path in options.models}
        if not options.only_given:
            models["base"] = make_model(Path(name), tiny=options.tiny)
        for title, path in models.items():
            say(title)
            size = (path / "model.safetensors").stat().st_size
            settings = {
                "model": title, "megabytes": round(size / 1e6, 1), "threads": options.threads,
                "rounds": options.rounds,
            }  # fmt: skip
            results.cases += cases_of(title, measure(path, options), settings)
            results.save()
    return results.finish(as_json=options.json)


def _shown(path: Path) -> str:
    """The end of a path, which says nothing of whose machine it is."""
    return "/".join(path.parts[-2:])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--models", nargs="*", type=Path, default=[], metavar="DIR", help="besides one of `base`")
    add("--only-given", action="store_true", help="not the one of `base`")
    add("--threads", type=int, default=2)
    add("--rounds", type=int, default=7, help="turns of each")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    options.models = [path.resolve() for path in options.models]
    if options.tiny:
        options.rounds = 1
    return options


if __name__ == "__main__":
    sys.exit(main())
