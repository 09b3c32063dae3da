"""Words narrowed by a shortlist: what it costs in BLEU, and what it gains in speed on a CPU core.

    python benchmarks/shortlist.py --model DIR --corpus DIR --test test.en test.de --out out.json
    python benchmarks/shortlist.py --precision int8

With a trained model and its prepared corpus a shortlist is learnt, and the test set translated with
and without it. The speed is that of a planted `base` model over 32,000 words, whose sources each
allow about 1,000 random words and those that the model copies. Rates: output tokens a CPU second.
"""

import argparse
import itertools
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from lib.decode_worker import ALPHA, MOST_STEPS
from lib.measure import Clock, Json, Results, environment, make_case, measured_with, say, spread
from lib.planted import TINY, planted_model, planted_settings
from lib.sentences import (
    LONGEST_SOURCE,
    make_config,
    make_sources,
    prepare_folder,
    write_random_text,
)

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.text.lines import read_lines
from nmt_cli.inference.engines import Engine, fastest_engine
from nmt_cli.machine import give_back_freed_memory
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_dir import save_model
from nmt_cli.scoring import score
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Source
from nmt_cli.training.learn_shortlist import learn_shortlist
from nmt_cli.translation.translator import Translator

BEAM, EOS = 4, 3
ALLOWED = 1_000


def quality(folder: Path, options: argparse.Namespace) -> Iterator[Json]:
    """BLEU with shortlists of several lengths, against all words."""
    say("learning the shortlist")
    model = folder / "model"
    shutil.copytree(options.model, model, ignore=shutil.ignore_patterns("checkpoints", ".lock"))
    clock = Clock.now()
    learnt = learn_shortlist(options.corpus, model)
    facts: Json = {"learning_cpu_seconds": clock.since().cpu, "pairs": learnt.pairs}
    translator = Translator.load(model, cache=options.cache)
    src, tgt = (list(read_lines(path)) for path in options.test)
    encoded = translator.subwords.encode_source(src)
    outputs: dict[int, list[str]] = {}
    bleu: dict[int, float] = {}
    for count in (0, *options.lengths):
        say(f"translating with {count or 'all'} words")
        settings = replace(
            translator.config.search, beam=BEAM, shortlist=count, sentences="line", markup="off"
        )
        outputs[count] = [
            translation.text for translation in translator.translate(src, search=settings)
        ]
        measured = score(outputs[count], [tgt], ["bleu"])[0]
        bleu[count] = measured.value
        if not count:
            continue
        pairs = zip(outputs[count], outputs[0], strict=True)
        sizes = [len(learnt.shortlist.allowed(ids, count, [EOS])) for ids in encoded]
        yield make_case(
            f"BLEU, {count} words for each subword", "BLEU", bleu[count], bleu[0],
            better="higher", settings={"shortlist": count, "beam": BEAM, "lines": len(src)},
            signature=measured.signature, words_allowed=spread(sizes),
            words=translator.subwords.tgt_size,
            equal_lines=statistics.mean(own == other for own, other in pairs), **facts,
        )  # fmt: skip


def make_inputs(options: argparse.Namespace) -> tuple[Config, Transformer, list[Source]]:
    """The planted model, and sources with what they allow."""
    words = 300 if options.tiny else 32_000
    longest = 12 if options.tiny else LONGEST_SOURCE
    sizes = {"model.src_vocab_size": words, "model.tgt_vocab_size": words}
    config = make_config(planted_settings({**(TINY if options.tiny else {}), **sizes}))
    chooser = random.Random(2)
    sources = []
    for ids in make_sources(64, longest, words):
        chosen = chooser.sample(range(4, words), ALLOWED if not options.tiny else 90)
        sources.append(Source(tuple(ids), allowed=np.array(sorted({EOS, *chosen, *ids}))))
    return config, planted_model(config, longest), sources


def translate(engine: Engine, sources: Sequence[Source], batch: int) -> tuple[list[Json], float]:
    """The best ids of each source, and tokens a CPU second."""
    config = SearchConfig(
        beam=BEAM, alpha=ALPHA, length_penalty="power", max_extra_length=MOST_STEPS,
        batch_tokens=BEAM * batch * max(len(source.ids) for source in sources),
    )  # fmt: skip
    clock, outputs = Clock.now(), {}
    for first in range(0, len(sources), batch):
        given = sorted(sources[first : first + batch], key=lambda source: -len(source.ids))
        decoder = engine.decoder(len(given), BEAM)
        found = dict(search(decoder, iter(given), config))
        outputs |= {given[number].ids: some[0].ids for number, some in found.items()}
    gone = clock.since().cpu
    return [outputs[source.ids] for source in sources], sum(map(len, outputs.values())) / gone


def speed(options: argparse.Namespace) -> Iterator[Json]:
    """Rates with lists against those without, in turns."""
    config, model, sources = make_inputs(options)
    for precision in options.precision:
        engine = fastest_engine(model, options.cache, precision)
        say(engine.about)
        for batch in (64, 1):
            listed = sources if batch > 1 else sources[: options.singles]
            plain = [replace(source, allowed=None) for source in listed]
            rates: dict[str, list[float]] = {"ours": [], "peer": []}
            translate(engine, listed[:1], 1)
            for _ in range(options.rounds):
                ours, rate = translate(engine, listed, batch)
                rates["ours"].append(rate)
                theirs, rate = translate(engine, plain, batch)
                rates["peer"].append(rate)
            found = {kind: spread(some) for kind, some in rates.items()}
            pairs = zip(ours, theirs, strict=True)
            settings = {
                "precision": precision, "batch": batch, "beam": BEAM, "threads": options.threads,
                "words": config.model.tgt_vocab_size, "sentences": len(listed),
            }  # fmt: skip
            allowed = [len(source.allowed) for source in listed if source.allowed is not None]
            yield make_case(
                f"beam {BEAM}, {batch} at once, {precision}", "tokens / CPU s",
                found["ours"]["median"], found["peer"]["median"], better="higher",
                settings=settings, ours_spread=found["ours"], peer_spread=found["peer"],
                words_allowed=spread(allowed),
                equal_outputs=statistics.mean(own == other for own, other in pairs),
            )  # fmt: skip


def make_tiny(folder: Path, options: argparse.Namespace) -> None:
    """A corpus of made-up words and a model that has learnt nothing."""
    text = write_random_text(folder / "text", 300, seed=1)
    corpus = prepare_folder(text, ("xx", "yy"), folder / "corpus", vocab_size=300)
    words = corpus.subwords.src_size
    sizes = {"model.src_vocab_size": words, "model.tgt_vocab_size": words}
    config = make_config({**TINY, **sizes, "search.max_extra_length": 3})
    weights = initialise(Transformer(config.model), seed=1).state_dict()
    save_model(folder / "untrained", weights, config, corpus.subwords, {})
    options.corpus, options.model = folder / "corpus", folder / "untrained"
    options.test = [text / "test.xx", text / "test.yy"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    give_back_freed_memory()
    torch.set_num_threads(options.threads)
    facts = environment(options.threads)
    measured = {**measured_with(options), "test": [path.name for path in options.test or ()]}
    results = Results("shortlist", measured, options.out, environment=facts)
    with tempfile.TemporaryDirectory(prefix="shortlist-") as name:
        folder = Path(name)
        options.cache = options.cache or folder / "cache"
        if options.tiny:
            make_tiny(folder, options)
        phases = [quality(folder, options)] if options.model else []
        for case in itertools.chain(*phases, speed(options)):
            results.cases.append(case)
            results.save()
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--model", type=Path, metavar="DIR", help="trained; without one only the speed is measured")
    add("--corpus", type=Path, metavar="DIR", help="that it was trained on")
    add("--test", type=Path, nargs=2, metavar=("SRC", "REF"), help="text to translate")
    add("--lengths", type=int, nargs="+", default=[10, 20, 50, 100], help="of the shortlist")
    add("--precision", nargs="+", choices=("float32", "bf16", "int8"), default=["float32", "int8"])
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=3, help="turns of each")
    add("--singles", type=int, default=10, help="sentences of a turn, one at a time")
    add("--cache", type=Path, metavar="DIR", help="compiled kernels; else compiled anew")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if options.model and not (options.corpus and options.test):
        parser.error("--model needs --corpus and --test")
    if options.tiny:
        options.rounds, options.singles, options.lengths = 1, 2, [5]
    return options


if __name__ == "__main__":
    sys.exit(main())
