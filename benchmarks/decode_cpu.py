"""Decoding on CPU cores: this engine, CTranslate2 and Hugging Face's generate, the same weights.

    python benchmarks/decode_cpu.py --out decode_cpu.json
    python benchmarks/decode_cpu.py --precision int8 --threads 2 --peers ctranslate2
    python benchmarks/decode_cpu.py --model nmt-demo/model --test nmt-demo/test.en --patience 1
    python benchmarks/decode_cpu.py --beside-load --threads 2 --out decode_cpu-load.json

Rates are output tokens a CPU second, with several threads a second of the wall; every translator is
a process of its own, and they take turns. With --beside-load, rates are those of the wall, and the
peer of a translator is itself without the load: a ratio of 0.5 is a fair share.

nmt searches until no other hypothesis can win, CTranslate2 until as many as the beam size are
finished. With --patience 1, both do the latter.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from lib.load import busy_cores
from lib.measure import Json, Results, environment, make_case, measured_with, say, spread
from lib.workers import Worker

# Of each peer its package; CTranslate2 with the instructions it chooses, and with AVX-512's.
PEERS = {
    "ctranslate2": "ctranslate2", "ctranslate2-avx512": "ctranslate2",
    "transformers": "transformers",
}  # fmt: skip
ISA = {"ctranslate2-avx512": {"CT2_FORCE_CPU_ISA": "AVX512"}}
PRECISIONS = ("float32", "split", "bf16", "int8")
# A turn takes at least so long: a small model translates the sentences in some milliseconds.
SHORTEST_TURN = 1.0


def prepare(folder: Path, options: argparse.Namespace) -> Json:
    """Write what the workers read; the model's settings."""
    from lib.decode_peers import save_ctranslate2
    from lib.planted import TINY, planted_model, planted_settings
    from lib.sentences import LONGEST_SOURCE, make_sources
    from lib.settings import make_config
    from safetensors.torch import save_file

    say("making the model")
    words = 100 if options.tiny else 32_000
    longest = 12 if options.tiny else LONGEST_SOURCE
    sizes = {"model.src_vocab_size": words, "model.tgt_vocab_size": words}
    settings = planted_settings({**(TINY if options.tiny else {}), **sizes})
    model = planted_model(make_config(settings), longest)
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "sources.json").write_text(json.dumps(make_sources(64, longest, words)))
    save_file(model.state_dict(), folder / "weights.safetensors")
    if {"ctranslate2", "ctranslate2-avx512"} & set(options.peers):
        save_ctranslate2(model, folder / "ct2")
    return settings


def prepare_trained(folder: Path, options: argparse.Namespace) -> Json:
    """The same for a trained model and the first lines of a text; the model's settings."""
    from nmt_cli.exchange.export import export_model
    from nmt_cli.exchange.requirements import piece_names
    from nmt_cli.model_dir import WEIGHTS, read_model

    stored = read_model(options.model)
    lines = options.test.read_text(encoding="utf-8").splitlines()[:64]
    settings = {f"model.{name}": value for name, value in asdict(stored.config.model).items()}
    names = {side: piece_names(stored.subwords, side) for side in ("src", "tgt")}
    for name, content in (
        ("config", settings), ("sources", stored.subwords.encode_source(lines)), ("names", names),
    ):  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(content))
    shutil.copy(options.model / WEIGHTS, folder / "weights.safetensors")
    export_model(options.model, "ctranslate2", folder / "ct2", check=False)
    return settings


def start_worker(kind: str, folder: Path, settings: Json) -> Worker:
    """Start a translator and wait until it is ready."""
    return Worker("decode_worker", kind, folder, settings, settings["threads"], ISA.get(kind))


def start_workers(folder: Path, precision: str, options: argparse.Namespace) -> dict[str, Worker]:
    """Ours and those of the peers that have this precision."""
    settings = {
        "precision": precision, "threads": options.threads, "kernels": not options.no_kernels,
        "cache": str(options.cache or folder / "cache"), "patience": options.patience,
    }  # fmt: skip
    kinds = ["ours", *options.peers]
    if precision != "float32" and "transformers" in kinds:
        kinds.remove("transformers")
    workers = {"ours": start_worker("ours", folder, settings)}
    for kind in kinds[1:]:
        try:
            workers[kind] = start_worker(kind, folder, settings)
        except RuntimeError as error:
            say(f"{kind} has no {precision} here: {error}")
    return workers


def compare(folder: Path, precision: str, order: Json, options: argparse.Namespace) -> Json:
    """Rounds of ours and of the peers in turns: of each kind the answers."""
    workers = start_workers(folder, precision, options)
    rounds: dict[str, list[Json]] = {kind: [] for kind in workers}
    try:
        for worker in workers.values():
            worker.ask({**order, "sentences": [0]})
        for index in range(options.rounds):
            for kind in sorted(workers, reverse=index % 2 > 0):
                # The slowest takes one turn.
                if kind != "transformers" or not index:
                    rounds[kind].append(workers[kind].ask(order))
    finally:
        for worker in workers.values():
            worker.end()
    return rounds


def compare_loads(
    folder: Path, precision: str, order: Json, options: argparse.Namespace
) -> dict[str, dict[str, list[Json]]]:
    """The same alone and beside an equal load in turns: of each kind the answers of both."""
    workers = start_workers(folder, precision, options)
    rounds: dict[str, dict[str, list[Json]]] = {kind: {} for kind in workers}
    try:
        for worker in workers.values():
            worker.ask({**order, "sentences": [0]})
        for _ in range(options.rounds):
            for kind, worker in workers.items():
                for state, load in (("alone", nullcontext), ("beside a load", busy_cores)):
                    with load():
                        rounds[kind].setdefault(state, []).append(worker.ask(order))
    finally:
        for worker in workers.values():
            worker.end()
    return rounds


def cases_of_loads(name: str, rounds: Json, settings: Json) -> list[Json]:
    """For each translator the rate beside a load against that alone."""
    cases = []
    for kind, answers in rounds.items():
        beside, alone = (
            spread([answer["tokens"] / answer["wall"] for answer in answers[state]])
            for state in ("beside a load", "alone")
        )
        cases.append(
            make_case(
                f"{name}, {kind} beside a load", "tokens / s", beside["median"], alone["median"],
                better="higher", settings={**settings, "peer": f"{kind} alone"},
                ours_spread=beside, peer_spread=alone,
            )
        )  # fmt: skip
    return cases


def cases_of(name: str, rounds: Json, settings: Json) -> list[Json]:
    """Rates and memory against each peer."""
    cases = []
    ours = rounds["ours"]
    clock, unit = ("cpu", "tokens / CPU s") if settings["threads"] == 1 else ("wall", "tokens / s")
    rates = {
        kind: spread([answer["tokens"] / answer[clock] for answer in answers])
        for kind, answers in rounds.items()
    }
    memory = {kind: answers[-1]["megabytes"] for kind, answers in rounds.items()}
    for peer in [kind for kind in rounds if kind != "ours"]:
        pairs = zip(ours[-1]["outputs"], rounds[peer][-1]["outputs"], strict=True)
        equal = statistics.mean(own == other for own, other in pairs)
        cases.append(
            make_case(
                f"{name}, {peer}", unit, rates["ours"]["median"],
                rates[peer]["median"], better="higher", settings={**settings, "peer": peer},
                ours_spread=rates["ours"], peer_spread=rates[peer], equal_outputs=equal,
            )
        )  # fmt: skip
        cases.append(
            make_case(
                f"{name}, {peer}: peak memory", "MB", memory["ours"], memory[peer],
                better="lower", settings={**settings, "peer": peer},
            )
        )  # fmt: skip
    return cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    missing = [peer for peer in options.peers if find_spec(PEERS[peer]) is None]
    if missing:
        print(f"not installed: {', '.join(missing)} (or --peers)", file=sys.stderr)
        return 69
    facts = environment(options.threads)
    results = Results("decode_cpu", measured_with(options), options.out, environment=facts)
    with tempfile.TemporaryDirectory(prefix="decode-cpu-") as name:
        folder = Path(name)
        model = (prepare_trained if options.model else prepare)(folder, options)
        for precision in options.precision:
            for batch in options.batches:
                for beam in options.beams:
                    title = f"beam {beam}, {batch} at once, {precision}"
                    say(title)
                    sentences = len(json.loads((folder / "sources.json").read_text()))
                    count = min(sentences, 64 if batch > 1 else options.singles)
                    order = {
                        "beam": beam, "batch": batch, "sentences": list(range(count)),
                        "seconds": 0.0 if options.tiny else SHORTEST_TURN,
                    }  # fmt: skip
                    settings = {**model, **measured_with(options), "precision": precision, **order}
                    settings["sentences"] = count
                    if options.beside_load:
                        loads = compare_loads(folder, precision, order, options)
                        results.cases += cases_of_loads(title, loads, settings)
                    else:
                        rounds = compare(folder, precision, order, options)
                        results.cases += cases_of(title, rounds, settings)
                    results.save()
    return results.finish(as_json=options.json)


def default_peers() -> list[str]:
    """All that this processor can run."""
    facts = Path("/proc/cpuinfo")
    wide = facts.is_file() and "avx512f" in facts.read_text()
    return [peer for peer in PEERS if wide or peer != "ctranslate2-avx512"]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--threads", type=int, default=1, help="of each translator")
    add("--precision", nargs="+", choices=PRECISIONS, default=["float32", "int8"])
    add("--peers", nargs="*", choices=tuple(PEERS), default=default_peers())
    add("--batches", nargs="+", type=int, default=[64, 1], help="sentences at once")
    add("--beams", nargs="+", type=int, default=[4, 1])
    add("--rounds", type=int, default=3, help="turns of each")
    add("--singles", type=int, default=10, help="sentences of a turn, one at a time")
    add("--patience", type=float, default=0.0, help="of nmt and CTranslate2; else their defaults")
    add("--cache", type=Path, metavar="DIR", help="compiled kernels; else compiled anew")
    add("--beside-load", action="store_true", help="alone and beside one busy process a core")
    add("--no-kernels", action="store_true", help="torch alone")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--model", type=Path, metavar="DIR", help="a trained model; else one is made")
    add("--test", type=Path, metavar="FILE", help="with --model, lines to translate: the first 64")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if (options.model is None) != (options.test is None):
        parser.error("--model and --test go together")
    if options.model:
        # It has the weights of made models only.
        options.peers = [peer for peer in options.peers if peer != "transformers"]
    if options.tiny:
        options.rounds, options.singles, options.beams = 1, 2, [2]
        options.peers = [peer for peer in options.peers if find_spec(PEERS[peer])]
    return options


if __name__ == "__main__":
    sys.exit(main())
