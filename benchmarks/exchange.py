"""Imported models on CPU cores: nmt beside transformers, CTranslate2 and Marian, the same weights.

    python benchmarks/exchange.py --out exchange.json
    python benchmarks/exchange.py --models marian --beams 1

A model of Hugging Face's MarianMTModel and one of Marian are imported; each toolkit translates the
same lines with them. Rates are target subwords a CPU second, with several threads a second of the
wall; every toolkit is a process of its own, and they take turns.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from lib.measure import Json, Results, environment, make_case, measured_with, say, spread
from lib.workers import Worker

# The peers of each model, and the package of each.
PEERS = {"huggingface": ("transformers", "ctranslate2"), "marian": ("marian", "ctranslate2")}
PACKAGES = {"transformers": "transformers", "ctranslate2": "ctranslate2", "marian": "pymarian"}
SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
SIZES = {"model.layers": 6, "model.d_model": 512, "model.d_ff": 2_048, "model.heads": 8}
WORDS, LONGEST = 8_000, 61


def make_lines(count: int, longest: int) -> list[str]:
    """Lines of made-up words; a line has at most `longest` subwords, EOS counted."""
    chooser = random.Random(1)
    words = ["".join(chooser.choices(SYLLABLES, k=3)) for _ in range(300)]
    # A word has at most three subwords.
    most = (longest - 1) // 3
    lengths = [chooser.randint(max(1, most // 4), most) for _ in range(count)]
    return [" ".join(chooser.choices(words, k=length)) for length in lengths]


def prepare(folder: Path, kind: str, options: argparse.Namespace) -> Json:
    """Write a model of another toolkit, import it, and export that; the model's settings."""
    from collections import Counter

    from lib.planted import TINY, planted_model, planted_settings
    from lib.settings import make_config

    from nmt_cli.config.schema import DataConfig
    from nmt_cli.data.subwords.model import Subwords, learn_segmenter
    from nmt_cli.exchange.import_model import import_model
    from nmt_cli.exchange.importer import ImportOptions
    from nmt_cli.exchange.targets import load_target
    from nmt_cli.model_dir import LoadedModel, load_model

    say(f"making a model of {kind}")
    chooser = random.Random(2)
    others = ["".join(chooser.choices(SYLLABLES, k=3)) for _ in range(20_000)]
    counts = Counter(" ".join(make_lines(2_000, LONGEST)).split()) + Counter(others)
    size = 200 if options.tiny else WORDS
    subwords = Subwords(learn_segmenter(DataConfig(subwords="bpe", vocab_size=size), counts))
    settings = {
        **(TINY if options.tiny else SIZES),
        "model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size,
    }  # fmt: skip
    if kind == "marian":
        settings |= {"model.positions": "sinusoidal_t2t", "model.zero_start": True}
    settings = planted_settings(settings)
    config = make_config({**settings, "languages.src": "en", "languages.tgt": "xx"})
    loaded = LoadedModel(planted_model(config, LONGEST), config, subwords, {})
    foreign, ct2 = folder / "foreign", folder / "ct2"
    foreign.mkdir()
    ct2.mkdir()
    load_target(kind).write(loaded, foreign, "float32")
    import_model(foreign, folder / "model", options=ImportOptions("en", "xx"), check=False)
    load_target("ctranslate2").write(load_model(folder / "model"), ct2, "float32")
    (folder / "lines.json").write_text(json.dumps(make_lines(options.lines, LONGEST)))
    return settings


def compare(folder: Path, kind: str, order: Json, options: argparse.Namespace) -> Json:
    """Rounds of ours and of the peers in turns: of each the answers."""
    settings = {"threads": options.threads}
    kinds = ["ours", *(peer for peer in PEERS[kind] if peer in options.peers)]
    workers = {
        name: Worker("exchange_worker", name, folder, settings, options.threads) for name in kinds
    }
    rounds: dict[str, list[Json]] = {name: [] for name in kinds}
    try:
        for worker in workers.values():
            worker.ask({**order, "count": 2})
        for index in range(options.rounds):
            for name in sorted(kinds, reverse=index % 2 > 0):
                rounds[name].append(workers[name].ask(order))
    finally:
        for worker in workers.values():
            worker.end()
    return rounds


def cases_of(name: str, rounds: Json, sizes: list[int], settings: Json) -> list[Json]:
    """Rates and memory beside each peer; sizes: the target subwords of each toolkit's words."""
    clock, unit = ("cpu", "tokens / CPU s") if settings["threads"] == 1 else ("wall", "tokens / s")
    rates = {
        kind: spread([size / answer[clock] for answer in answers])
        for (kind, answers), size in zip(rounds.items(), sizes, strict=True)
    }
    ours = rounds["ours"][-1]
    cases = []
    for peer in [kind for kind in rounds if kind != "ours"]:
        theirs = rounds[peer][-1]
        pairs = zip(ours["texts"], theirs["texts"], strict=True)
        equal = statistics.mean(own.strip() == other.strip() for own, other in pairs)
        about = {**settings, "peer": peer}
        cases += [
            make_case(
                f"{name}, {peer}", unit, rates["ours"]["median"], rates[peer]["median"],
                better="higher", settings=about, ours_spread=rates["ours"],
                peer_spread=rates[peer], equal_outputs=equal,
            ),
            make_case(
                f"{name}, {peer}: peak memory", "MB", ours["megabytes"], theirs["megabytes"],
                better="lower", settings=about,
            ),
        ]  # fmt: skip
    return cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    missing = [peer for peer in options.peers if find_spec(PACKAGES[peer]) is None]
    if missing:
        print(f"not installed: {', '.join(missing)} (or --peers)", file=sys.stderr)
        return 69
    facts = environment(options.threads)
    facts |= {name: metadata.version(name) for name in map(PACKAGES.get, options.peers) if name}
    results = Results("exchange", measured_with(options), options.out, environment=facts)
    for kind in options.models:
        if not set(PEERS[kind]) & set(options.peers):
            continue
        with tempfile.TemporaryDirectory(prefix="exchange-") as name:
            folder = Path(name)
            model = prepare(folder, kind, options)
            for beam in options.beams:
                title = f"from {kind}, beam {beam}"
                say(title)
                order = {"beam": beam, "batch": options.batch, "count": options.lines}
                rounds = compare(folder, kind, order, options)
                sizes = [_tokens(folder, answers[-1]["texts"]) for answers in rounds.values()]
                settings = {**model, **measured_with(options), **order, "from": kind}
                cases = cases_of(title, rounds, sizes, settings)
                for case in cases[::2]:
                    say(f"{case['name']}: {case['equal_outputs']:.0%} of the lines equal")
                results.cases += cases
                results.save()
    return results.finish(as_json=options.json)


def _tokens(folder: Path, texts: list[str]) -> int:
    """The target subwords of translations, EOS counted."""
    import sentencepiece

    target = sentencepiece.SentencePieceProcessor(str(folder / "ct2" / "target.spm"))
    return sum(len(ids) + 1 for ids in target.encode(texts))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    there = [peer for peer, package in PACKAGES.items() if find_spec(package)]
    add("--models", nargs="+", choices=tuple(PEERS), default=list(PEERS))
    add("--peers", nargs="+", choices=tuple(PACKAGES), default=there or list(PACKAGES))
    add("--threads", type=int, default=1, help="of each toolkit")
    add("--batch", type=int, default=32, help="sentences at once")
    add("--beams", nargs="+", type=int, default=[1, 4])
    add("--lines", type=int, default=64, help="lines that are translated")
    add("--rounds", type=int, default=3, help="turns of each")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.rounds, options.lines, options.beams = 1, 6, [1]
    return options


if __name__ == "__main__":
    sys.exit(main())
