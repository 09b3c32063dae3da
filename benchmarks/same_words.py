"""Claim: float32 gives the reference's words for any batch, order and threads; narrow weights cost
hardly any BLEU, and give a line the same words among other lines as alone.

    python benchmarks/same_words.py --model model --data multi30k --test test_2016_flickr

A difference to the reference is shown with both scores in float64: at a tie both are right.
"""

import argparse
import copy
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import torch
from lib.measure import Clock, Json, Results, environment, make_case, measured_with, say

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import Bytes
from nmt_cli.data.text.lines import read_lines
from nmt_cli.inference.engines import fastest_engine, reference_engine
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_dir import load_model
from nmt_cli.scoring.scores import score
from nmt_cli.search.length_penalty import penalty_of
from nmt_cli.translation.translator import Translator

# Lines that are given together; None: as `nmt translate` does. Threads beside the first are tried
# with that only.
BATCHES: tuple[int | None, ...] = (None, 7, 1)
THREADS = (2, 3)
SHOWN = 20
TINY = {"model.layers": 1, "model.d_model": 48, "model.d_ff": 48, "model.heads": 2}


class Line(NamedTuple):
    """A line's best translation."""

    text: str
    tokens: tuple[str, ...]
    score: float


class Lab:
    """A model, the text, and what translates it."""

    def __init__(
        self, model: Transformer, config: Config, subwords: Subwords, lines: list[str]
    ) -> None:
        self.model = model
        self.config = config
        self.subwords = subwords
        self.lines = lines

    def translator(self, precision: str, cache: Path | None) -> Translator:
        """`reference`, or the engine of `nmt translate` in a precision."""
        engine = reference_engine
        if precision != "reference":
            engine = partial(fastest_engine, cache=cache, precision=precision)
        return Translator(self.model, self.config, self.subwords, engine)

    def translate(
        self,
        translator: Translator,
        search: SearchConfig,
        batch: int | None,
        *,
        shuffled: bool = False,
    ) -> list[Line]:
        """The lines in their order, whatever the order they are given in."""
        order = list(range(len(self.lines)))
        if shuffled:
            random.Random(1).shuffle(order)
        given = [self.lines[number] for number in order]
        size = batch or len(given)
        chunks = [given[first : first + size] for first in range(0, len(given), size)]
        found = [
            translation
            for chunk in chunks
            for translation in translator.translate(
                chunk, search=search, sentences="line", markup="off"
            )
        ]
        lines = [
            Line(translation.text, translation.hypotheses[0].tokens, translation.score)
            for translation in found
        ]
        return [line for _, line in sorted(zip(order, lines, strict=True))]

    def exact_score(self, line: str, tokens: Sequence[str], search: SearchConfig) -> float:
        """What the reference model in float64 gives a translation."""
        ids = [self._ids[token] for token in tokens]
        [source] = self.subwords.encode_source([line])
        [forced] = force_pairs(self._exact, [(source, ids)])
        penalty = penalty_of(search.length_penalty, search.alpha, len(ids))
        return sum(forced.token_scores) / penalty + search.word_reward * len(ids)

    @cached_property
    def _exact(self) -> Transformer:
        return copy.deepcopy(self.model).double()

    @cached_property
    def _ids(self) -> dict[str, int]:
        pieces = self.subwords.target_pieces(range(self.subwords.tgt_size))
        return {piece: index for index, piece in enumerate(pieces)}


def equal(found: Sequence[Line], expected: Sequence[Line]) -> int:
    """Lines of the same subwords."""
    return sum(own.tokens == other.tokens for own, other in zip(found, expected, strict=True))


def differences(
    lab: Lab, found: Sequence[Line], expected: Sequence[Line], search: SearchConfig
) -> Iterator[Json]:
    """The first lines that differ, with the scores of both translations."""
    for index, (own, other) in enumerate(zip(found, expected, strict=True)):
        if own.tokens != other.tokens:
            ours, peer = (
                lab.exact_score(lab.lines[index], line.tokens, search) for line in (own, other)
            )
            yield {
                "line": index + 1, "ours": own.text, "peer": other.text, "exact_score": ours,
                "peer_exact_score": peer, "gap": ours - peer,
            }  # fmt: skip


def words_case(
    lab: Lab,
    name: str,
    found: list[Line],
    expected: list[Line],
    search: SearchConfig,
    settings: Json,
) -> Json:
    """How many lines have the expected words, and where they differ."""
    apart = list(differences(lab, found, expected, search))
    scores = zip(found, expected, strict=True)
    same = [abs(own.score - other.score) for own, other in scores if own.tokens == other.tokens]
    return make_case(
        name, "lines", equal(found, expected), len(expected), better="higher", settings=settings,
        share=equal(found, expected) / len(expected),
        largest_score_difference_of_equal_lines=max(same, default=0.0),
        different=apart[:SHOWN], largest_gap=max((abs(line["gap"]) for line in apart), default=0.0),
    )  # fmt: skip


def exact_cases(
    lab: Lab, search: SearchConfig, expected: list[Line], options: Json
) -> Iterator[Json]:
    """float32 beside the reference."""
    translator = lab.translator("float32", options["cache"])
    runs: list[tuple[int | None, int, bool]] = [
        *((batch, 1, False) for batch in BATCHES),
        (None, 1, True),
        *((None, threads, False) for threads in THREADS),
    ]
    for batch, threads, shuffled in runs:
        torch.set_num_threads(threads)
        settings = {
            "engine": translator.engine.about, "beam": search.beam, "batch": batch or "default",
            "threads": threads, "shuffled": shuffled, "peer": "the reference engine, float32",
        }  # fmt: skip
        name = f"beam {search.beam}, float32, batch {batch or 'default'}, {threads} threads"
        name += ", shuffled" if shuffled else ""
        begun = Clock.now()
        found = lab.translate(translator, search, batch, shuffled=shuffled)
        say(f"{name}: {begun.since().cpu:.1f} CPU s")
        yield words_case(lab, name, found, expected, search, settings)
    torch.set_num_threads(1)


def narrow_cases(
    lab: Lab,
    precision: str,
    search: SearchConfig,
    plain: list[Line],
    references: list[str],
    cache: Path,
) -> Iterator[Json]:
    """bf16 or int8: its words beside those of float32, its BLEU, and its words alone."""
    translator = lab.translator(precision, cache)
    settings = {"engine": translator.engine.about, "beam": search.beam, "threads": 1}
    title = f"beam {search.beam}, {precision}"
    found = lab.translate(translator, search, None)
    yield words_case(
        lab, f"{title}: words of float32", found, plain, search, {**settings, "peer": "float32"}
    )
    ours, peer = (score([line.text for line in lines], [references])[0] for lines in (found, plain))
    yield make_case(
        f"{title}: BLEU", "BLEU", ours.value, peer.value, better="higher",
        settings={**settings, "peer": "float32"}, signature=ours.signature,
        difference=ours.value - peer.value,
    )  # fmt: skip
    for batch, shuffled in ((1, False), (None, True)):
        say(f"{title}, batch {batch or 'default'}")
        again = lab.translate(translator, search, batch, shuffled=shuffled)
        name = f"{title}: words {'in another order' if shuffled else 'alone'}"
        case_settings = {**settings, "peer": f"{precision}, all lines"}
        yield words_case(lab, name, again, found, search, case_settings)


def load(options: argparse.Namespace) -> tuple[Lab, list[str]]:
    """The model and the text, and the references."""
    if options.tiny:
        return tiny_lab(), list(tiny_lines())
    from lib.sentences import find_text

    loaded = load_model(options.model)
    src, tgt = (
        list(read_lines(find_text(options.data, f"{options.test}.{language}")))[: options.lines]
        for language in (options.src, options.tgt)
    )
    return Lab(loaded.model, loaded.config, loaded.subwords, src), tgt


def tiny_lines() -> list[str]:
    """Twelve made-up words."""
    chooser = random.Random(1)
    return ["".join(chooser.choices("abcdefgh", k=chooser.randrange(3, 9))) for _ in range(12)]


def tiny_lab() -> Lab:
    """A model over bytes that copies them."""
    from lib.planted import planted_model, planted_settings
    from lib.settings import make_config

    subwords = Subwords(Bytes())
    sizes = dict.fromkeys(("model.src_vocab_size", "model.tgt_vocab_size"), subwords.src_size)
    settings: dict[str, object] = {**TINY, **sizes, "data.subwords": "bytes"}
    config = make_config(planted_settings(settings))
    return Lab(planted_model(config, 12), config, subwords, tiny_lines())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    torch.set_num_threads(1)
    results = Results("same_words", measured_with(options), options.out, environment=environment(1))
    lab, references = load(options)
    with tempfile.TemporaryDirectory(prefix="same-words-") as name:
        cache = options.cache or Path(name) / "cache"
        for beam in options.beams:
            search = replace(lab.config.search, beam=beam, n_best=1)
            say(f"beam {beam}: the reference, {len(lab.lines):,} lines")
            expected = lab.translate(lab.translator("reference", None), search, None)
            for case in exact_cases(lab, search, expected, {"cache": cache}):
                results.cases.append(case)
                results.save()
            for precision in options.precision:
                cases = narrow_cases(lab, precision, search, expected, references, cache)
                for case in cases:
                    results.cases.append(case)
                    results.save()
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="The same words from every engine.")
    add = parser.add_argument
    add("--model", type=Path, metavar="DIR", help="a trained model directory")
    add("--data", type=Path, metavar="DIR", help="holds TEST.SRC and TEST.TGT")
    add("--test", default="test_2016_flickr")
    add("--src", default="en")
    add("--tgt", default="de")
    add("--lines", type=int, default=1_000)
    add("--beams", nargs="+", type=int, default=[4, 1])
    add("--precision", nargs="*", choices=("bf16", "int8"), default=["bf16", "int8"])
    add("--cache", type=Path, metavar="DIR", help="compiled kernels; else compiled anew")
    add("--out", type=Path, metavar="FILE", help="write the JSON here")
    add("--json", action="store_true", help="print the JSON instead of a table")
    add("--tiny", action="store_true", help="a made-up model: a test of the script")
    options = parser.parse_args(arguments)
    if not options.tiny and not (options.model and options.data):
        parser.error("--model and --data are needed (or --tiny)")
    return options


if __name__ == "__main__":
    sys.exit(main())
