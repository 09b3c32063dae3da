"""Claim: damaged translations are flagged, and right ones are not.

Reference translations of a test set are damaged in five ways (a clause dropped, a number changed,
the source copied, a loop, nothing), 80 of each, and checked with the log-probabilities that the
model gives them. False alarms are counted on references and on the model's own translations that
equal their reference; the flags of all of its translations are counted too.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from lib.measure import Better, Json, Results, environment, make_case, measured_with, say

from nmt_cli.data.text.lines import read_lines
from nmt_cli.translation.quality.checker import CheckedSentence
from nmt_cli.translation.quality.flags import RETRIED
from nmt_cli.translation.result import has_repetition
from nmt_cli.translation.translator import Translator

PAIRS_OF_KIND = 80
Pair = tuple[str, str]


def without_clause(pair: Pair, chooser: random.Random) -> Pair | None:
    """The pair without one of the target's clauses, which commas separate."""
    source, target = pair
    clauses = re.split(r"(?<=,) ", target.rstrip(".!?"))
    if len(clauses) < 2:
        return None
    del clauses[chooser.randrange(len(clauses))]
    return source, " ".join(clauses).rstrip(",") + target[-1]


def with_other_number(pair: Pair, chooser: random.Random) -> Pair | None:
    """The pair with another number in the target, where it has one in digits."""
    source, target = pair
    changed = re.sub(r"\d+", lambda match: str(int(match[0]) + chooser.randint(1, 5)), target)
    return None if changed == target else (source, changed)


def copied(pair: Pair, _: random.Random) -> Pair | None:
    """The source as its own translation."""
    return pair[0], pair[0]


def looping(pair: Pair, chooser: random.Random) -> Pair | None:
    """The pair with one or two words of the target repeated to no end."""
    source, target = pair
    words = target.split()
    begin = chooser.randrange(len(words))
    repeated = words[begin : begin + chooser.randint(1, 2)]
    return source, " ".join([*words[:begin], *repeated * 8])


def emptied(pair: Pair, _: random.Random) -> Pair | None:
    """The pair with an empty target."""
    return pair[0], ""


DAMAGES: dict[str, Callable[[Pair, random.Random], Pair | None]] = {
    "dropped clause": without_clause,
    "changed number": with_other_number,
    "copied source": copied,
    "loop": looping,
    "empty": emptied,
}


def damaged_pairs(
    pairs: Sequence[Pair],
    damage: Callable[[Pair, random.Random], Pair | None],
    count: int,
    chooser: random.Random,
) -> list[Pair]:
    """So many damaged pairs; where few can be damaged, several are made of the same one."""
    result: list[Pair] = []
    while len(result) < count:
        made = [new for pair in chooser.sample(pairs, len(pairs)) if (new := damage(pair, chooser))]
        if not made:
            break
        result += made
    return result[:count]


def flags_of_pairs(translator: Translator, pairs: Sequence[Pair]) -> list[set[str]]:
    """The flags of given translations, with the log-probabilities that the model gives them."""
    flags = []
    for pair, scored in zip(pairs, translator.score(pairs), strict=True):
        found = translator.quality.flags([CheckedSentence(*pair, scored.token_scores)]) & RETRIED
        ids = {token: index for index, token in enumerate(scored.tokens)}
        if has_repetition([ids[token] for token in scored.tokens]):
            found.add("repetition")
        flags.append(found)
    return flags


def measure(options: argparse.Namespace) -> list[Json]:
    """The recall of each kind of damage, the false alarms, and the flags of the model's output."""
    translator = Translator.load(options.model, cache=options.cache)
    source, reference = (list(read_lines(path)) for path in options.test)
    pairs = [pair for pair in zip(source, reference, strict=True) if all(pair)]
    chooser = random.Random(options.seed)
    cases = []
    for kind, damage in DAMAGES.items():
        flags = flags_of_pairs(translator, damaged_pairs(pairs, damage, options.pairs, chooser))
        cases.append(counted_case(f"damaged: {kind}", flags, better="higher"))
    cases.append(counted_case("references", flags_of_pairs(translator, pairs)))
    outputs = list(translator.translate(source))
    found = [set(output.flags) & RETRIED for output in outputs]
    right = [
        flags
        for flags, output, line in zip(found, outputs, reference, strict=True)
        if output.text == line
    ]
    return [*cases, counted_case("right translations", right), counted_case("translations", found)]


def counted_case(name: str, flags: Sequence[set[str]], better: Better = "lower") -> Json:
    """How many per cent of these lines have flags, and which flags."""
    counts = Counter(flag for of_line in flags for flag in of_line)
    flagged = sum(map(bool, flags))
    say(f"{name}: {flagged} of {len(flags)} flagged: {dict(counts.most_common())}")
    share = 100.0 * flagged / max(1, len(flags))
    return make_case(
        name, "% flagged", share, None, better=better, settings={},
        lines=len(flags), flagged=flagged, flags=dict(counts.most_common()),
    )  # fmt: skip


def settings_of(options: argparse.Namespace) -> Json:
    """What was measured, with the names of the files."""
    return {**measured_with(options), "test": [path.name for path in options.test]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    torch.set_num_threads(1)
    results = Results(
        "quality_flags", settings_of(options), options.out, environment=environment(1)
    )
    results.cases += measure(options)
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="MODEL")
    add("--test", type=Path, nargs=2, required=True, metavar=("SRC", "TGT"))
    add("--pairs", type=int, default=PAIRS_OF_KIND, help="damaged pairs of each kind")
    add("--seed", type=int, default=1)
    add("--cache", type=Path, help="where compiled kernels are kept")
    add("--out", type=Path, metavar="FILE", help="JSON of the results")
    add("--json", action="store_true", help="print the JSON")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
