"""Claim: the fast path trains to the same BLEU as the reference path, and both reach a known band.

For each seed two models are trained on real text: as training comes (bf16, the backends it
chooses), and in float32 with the plain formula of attention.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from lib.gpu_setup import check_device, stand_in_for_tomli_w
from lib.measure import Json, Results, environment, make_case, measured_with, say, spread
from lib.sentences import find_text, prepare_folder, write_random_text
from lib.settings import make_config

from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.text.lines import read_lines
from nmt_cli.model.backends.dispatch import BACKENDS
from nmt_cli.scoring import score
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.translation.translator import Translator

# What recipes/multi30k_en_de.sh trains.
RECIPE = {
    "train.preset": "paper-small", "model.norm_order": "pre", "model.dropout": 0.15,
    "train.batch_tokens": 3_000, "train.optimizer": "muon", "train.learning_rate": 5e-3,
    "train.warmup_steps": 100, "train.schedule": "linear",
    "train.validation_sentences": 0,
}  # fmt: skip
TINY = {
    "model.layers": 1, "model.d_model": 16, "model.d_ff": 32, "model.heads": 2,
    "train.batch_tokens": 300, "train.warmup_steps": 2,
}  # fmt: skip
PATHS: Mapping[str, Mapping[str, object]] = {
    "fast": {},
    # The plain formula cannot be compiled.
    "reference": {"train.precision": "float32", "train.compile": "off"},
}
EXIT_MISSED = 3


def train_and_score(
    corpus: Corpus, test: tuple[list[str], list[str]], values: Mapping[str, object], out: Path,
    device: torch.device,
) -> Json:  # fmt: skip
    """Train one model into `out`, translate the test set, score it."""
    begun = time.monotonic()
    tokens, nll = 0, None
    for report in train(make_config(values), corpus, out, Ranks(device=device)):
        tokens += report.tokens
        nll = report.validation.nll if report.validation else nll
    trained = time.monotonic() - begun
    translator = Translator.load(out, device)
    translator.config = replace(translator.config, search=make_config(values).search)
    outputs = [translation.text for translation in translator.translate(test[0])]
    bleu = score(outputs, [test[1]], ["bleu"])[0]
    return {
        "bleu": bleu.value,
        "signature": bleu.signature,
        "validation_nll": nll,
        "training_seconds": trained,
        "decoding_seconds": time.monotonic() - begun - trained,
        "tokens": tokens,
    }


@contextmanager
def attention_of(path: str) -> Iterator[None]:
    """Within, the reference path has the plain formula under the name of every backend."""
    before = dict(BACKENDS)
    if path == "reference":
        BACKENDS.update(dict.fromkeys(BACKENDS, BACKENDS["plain"]))
    try:
        yield
    finally:
        BACKENDS.update(before)


def make_cases(runs: Mapping[str, Json], settings: Mapping[str, object]) -> list[Json]:
    """BLEU and seconds of the fast path (ours) and of the reference path (peer), over all seeds."""
    cases = []
    for key, unit, better in (("bleu", "BLEU", "higher"), ("training_seconds", "s", "lower")):
        values = {
            path: [run[key] for name, run in runs.items() if name.startswith(path)]
            for path in PATHS
        }
        if all(values.values()):
            cases.append(make_case(
                f"{key}, mean of the seeds", unit,
                *(statistics.fmean(values[path]) for path in PATHS),
                better="higher" if better == "higher" else "lower", settings=settings,
                ours_spread=spread(values["fast"]), peer_spread=spread(values["reference"]),
                peer_is="the reference path",
            ))  # fmt: skip
    return cases


def missed(runs: Mapping[str, Json], band: Sequence[float]) -> list[str]:
    """The runs whose BLEU lies outside the band."""
    return [
        f"{name}: {run['bleu']:.2f} BLEU is outside {band[0]:g} to {band[1]:g}"
        for name, run in runs.items()
        if not band[0] <= run["bleu"] <= band[1]
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    check_device(options.device)
    stand_in_for_tomli_w()
    results = Results("gpu_quality", measured_with(options), options.out, environment=environment())
    settings = {
        **RECIPE, "train.max_steps": options.steps,
        "train.checkpoint_every": max(1, options.steps // 20),
        **(TINY if options.tiny else {}), **dict(setting.split("=", 1) for setting in options.set),
    }  # fmt: skip
    deadline = time.monotonic() + options.budget
    runs: dict[str, Json] = {}
    with tempfile.TemporaryDirectory(prefix="gpu-quality-") as name:
        folder = Path(name)
        corpus, test = load(options, folder)
        for seed in options.seeds:
            for path, changes in PATHS.items():
                begun = time.monotonic()
                label = f"{path}, seed {seed}"
                if runs and begun + max(run["seconds"] for run in runs.values()) > deadline:
                    results.phases[label] = {"status": "skipped", "error": "the budget is spent"}
                    continue
                say(label)
                values = {**settings, **changes, "train.seed": seed}
                with attention_of(path):
                    found = train_and_score(
                        corpus, test, values, folder / label, torch.device(options.device)
                    )
                runs[label] = {**found, "seconds": time.monotonic() - begun}
                results.phases[label] = {"status": "done", **runs[label]}
                results.cases = make_cases(runs, settings)
                results.save()
                say(f"  {found['bleu']:.2f} BLEU in {found['training_seconds']:.0f} s")
    code = results.finish(as_json=options.json)
    problems = missed(runs, options.band)
    for problem in problems:
        say(problem)
    return EXIT_MISSED if problems else code


def load(options: argparse.Namespace, folder: Path) -> tuple[Corpus, tuple[list[str], list[str]]]:
    """The prepared corpus, and the lines of both sides of the test set."""
    data, languages, name = options.data, (options.src, options.tgt), options.test
    sizes: dict[str, object] = {"vocab_size": options.vocab_size}
    if options.tiny:
        data, languages, name = write_random_text(folder / "text", 200, 1), ("xx", "yy"), "test"
        sizes = {"subwords": "bytes"}
    corpus = prepare_folder(data, languages, folder / "corpus", **sizes)
    src, tgt = (list(read_lines(find_text(data, f"{name}.{language}"))) for language in languages)
    return corpus, (src, tgt)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="holds train, val or dev, and the test set")
    add("--src", default="en")
    add("--tgt", default="de")
    add("--test", default="test_2016_flickr", help="name of the test set's files")
    add("--vocab-size", type=int, default=8_000)
    add("--steps", type=int, default=1_350)
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    add("--band", type=float, nargs=2, default=[36.0, 39.0], metavar=("LOW", "HIGH"))
    add("--budget", type=float, default=300, metavar="S", help="start no run that would pass it")
    add("--device", default="cuda")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of both paths")
    add("--out", type=Path, metavar="FILE", help="write the JSON here, after every run")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="made-up text: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.steps, options.seeds, options.band = 4, [1], [0.0, 100.0]
    elif options.data is None:
        parser.error("--data is needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
