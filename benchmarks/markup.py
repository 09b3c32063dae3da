"""Tags and placeholders in the demo's sentences: where they end up, and what they cost.

    python benchmarks/markup.py --model nmt-demo/model --test nmt-demo/test.en nmt-demo/test.de \\
        --out benchmarks/results/markup.json

Tags are put around words and phrases of the test sentences whose German words are known from the
demo's vocabulary: nouns, adjectives, names, and phrases of these. A tag is right if it is around
exactly these words in the model's own translation. Placeholders replace a name: right is the
reference with the placeholder instead of the name. Random HTML has to keep its tags, well-formed.
"""

import argparse
import gc
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from lib.measure import Json, Results, environment, make_case, measured_with, say

from nmt_cli.data.markup.inline import marks_of, parse_line
from nmt_cli.data.markup.marked_text import MarkedText, Text
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.data.text.lines import read_lines
from nmt_cli.extras.demo.vocabulary import lexicon, words
from nmt_cli.scoring import score
from nmt_cli.translation.translator import Translator

TAGS = (("<b>", "</b>"), ('<a href="x">', "</a>"), ("**", "**"))
EMPTY = ("<br/>", '<img src="a.png">', "{x}", "https://x.org/a?b=1")
_WORD = re.compile(r"[\w'-]+")


class Case(NamedTuple):
    """A line with a tag pair around some words, and its translation where the pair is right."""

    line: str
    right: str
    kind: str


def word_forms() -> dict[str, set[str]]:
    """The German forms of each English noun, adjective and name of the demo."""
    forms: dict[str, set[str]] = {}
    for noun in lexicon.nouns().values():
        if not noun.compound:
            singular = {noun.de, noun.de_genitive, noun.oblique or noun.de}
            forms.setdefault(noun.en, set()).update(singular)
            forms.setdefault(noun.en_plural, set()).update({noun.de_plural, f"{noun.de_plural}n"})
    for adjective in lexicon.adjectives().values():
        endings = {adjective.de_stem + ending for ending in ("e", "er", "es", "en", "em")}
        forms.setdefault(adjective.en, set()).update({adjective.de, *endings})
    for name in (*words.FEMALE, *words.MALE, *words.SURNAMES):
        forms.setdefault(name, set()).add(name)
    for english, german in words.CITIES:
        forms.setdefault(english, set()).add(german)
    return forms


def known_links(
    source: str, target: str, forms: dict[str, set[str]]
) -> list[tuple[re.Match[str], re.Match[str]]]:
    """The words of a sentence with those of its translation, where both occur once."""
    src, tgt = (list(_WORD.finditer(text)) for text in (source, target))
    links = []
    for word in src:
        known = {form.lower() for form in forms.get(word[0], forms.get(word[0].lower(), ()))}
        found = [each for each in tgt if each[0].lower() in known]
        if len(found) == 1 and [each[0] for each in src].count(word[0]) == 1:
            links.append((word, found[0]))
    return links


def tagged_cases(source: str, target: str, forms: dict[str, set[str]]) -> Iterator[Case]:
    """A case for each known word, and for neighbours that are neighbours in both languages."""
    links = known_links(source, target, forms)
    for index, (src, tgt) in enumerate(links):
        tags = TAGS[index % len(TAGS)]
        yield Case(_around(source, src, src, tags), _around(target, tgt, tgt, tags), "word")
        for src_next, tgt_next in links[index + 1 : index + 2]:
            gaps = source[src.end() : src_next.start()], target[tgt.end() : tgt_next.start()]
            if gaps == (" ", " "):
                line = _around(source, src, src_next, tags)
                yield Case(line, _around(target, tgt, tgt_next, tags), "phrase")


def _around(text: str, first: re.Match[str], last: re.Match[str], tags: tuple[str, str]) -> str:
    parts = text[: first.start()], text[first.start() : last.end()], text[last.end() :]
    return f"{parts[0]}{tags[0]}{parts[1]}{tags[1]}{parts[2]}"


def measure_tags(translator: Translator, source: Sequence[str], cases: list[Json]) -> None:
    """Add the share of tags that are around the right words."""
    forms = word_forms()
    plain = [translation.text for translation in translator.translate(source)]
    tagged = [
        case for pair in zip(source, plain, strict=True) for case in tagged_cases(*pair, forms)
    ]
    texts = [each.text for each in translator.translate([case.line for case in tagged])]
    for kind in ("word", "phrase"):
        chosen = [
            (case, text) for case, text in zip(tagged, texts, strict=True) if case.kind == kind
        ]
        right = sum(case.right == text for case, text in chosen)
        wrong = [(case.right, text) for case, text in chosen if case.right != text]
        for expected, actual in wrong[:3]:
            say(f"expected {expected}\n  actual {actual}")
        cases.append(share_case(f"tag pairs around a {kind}", right, len(chosen)))


def measure_placeholders(
    translator: Translator, pairs: Sequence[tuple[str, str]], cases: list[Json]
) -> None:
    """Add the share of lines with a placeholder that are as the reference with that placeholder."""
    people = {*words.FEMALE, *words.MALE, *words.SURNAMES}
    named = [
        (source, target, found[0])
        for source, target in pairs
        if len(found := [word for word in re.findall(r"\w+", source) if word in people]) == 1
        and target.count(found[0]) == 1
    ]
    for placeholder in ("{name}", "%s"):
        if placeholder == "%s":
            # `%s` gets no ending, as in `Annas Hund`: it would become `%ss`.
            named = [each for each in named if f"{each[2]}'s" not in each[0]]
        lines = [re.sub(rf"\b{name}\b", placeholder, source) for source, _, name in named]
        translations = translator.translate(lines)
        right = sum(
            translation.text == target.replace(name, placeholder)
            for translation, (_, target, name) in zip(translations, named, strict=True)
        )
        kept = sum(translation.text.count(placeholder) == 1 for translation in translations)
        moved = sum("markup_moved" in translation.flags for translation in translations)
        cases.append(
            share_case(
                f"{placeholder} for a name: as the reference", right, len(named), moved=moved
            )
        )
        cases.append(share_case(f"{placeholder} for a name: kept", kept, len(named)))
    plain = translator.translate([source for source, _, _ in named])
    exact = sum(each.text == target for each, (_, target, _) in zip(plain, named, strict=True))
    cases.append(share_case("the same lines with the name: as the reference", exact, len(named)))


def random_html(line: str, chooser: random.Random) -> str:
    """The line with nested elements around some of its words, and with marks between them."""
    parts = line.split(" ")

    def element(begin: int, end: int, depth: int) -> None:
        if end <= begin or depth > 2:
            return
        first = chooser.randrange(begin, end)
        last = chooser.randrange(first, end)
        tags = chooser.choice([("<b>", "</b>"), ("<i>", "</i>"), ('<span class="y">', "</span>")])
        element(first, last + 1, depth + 1)
        element(last + 1, end, depth + 1)
        parts[first] = tags[0] + parts[first]
        parts[last] += tags[1]

    element(0, len(parts), 0)
    if chooser.random() < 0.5:
        parts.insert(chooser.randrange(len(parts) + 1), chooser.choice(EMPTY))
    return f"<p>{' '.join(parts)}</p>"


def pairs_of(line: str) -> list[tuple[str, str]]:
    """The tag pairs of a line."""
    pieces: MarkedText = parse_line(line)
    return sorted((pieces[a].raw or "", pieces[b].raw or "") for a, b in tag_pairs(pieces).items())


def without_marks(line: str) -> str:
    """The words of a line."""
    texts = (piece.text for piece in parse_line(line) if isinstance(piece, Text))
    return " ".join("".join(texts).split())


def measure_contract(
    translator: Translator, lines: Sequence[str], options: argparse.Namespace, cases: list[Json]
) -> None:
    """Add the share of random HTML that keeps its marks, well-formed."""
    chooser = random.Random(options.seed)
    html = [random_html(line, chooser) for line in chooser.choices(lines, k=options.html)]
    kept = moved = 0
    for line, translation in zip(html, translator.translate(html), strict=True):
        kept += marks_of(parse_line(line)) == marks_of(parse_line(translation.text)) and pairs_of(
            line
        ) == pairs_of(translation.text)
        moved += "markup_moved" in translation.flags
    cases.append(share_case("random HTML: same marks, well-formed", kept, len(html), moved=moved))


def measure_words(
    translator: Translator, pairs: Sequence[tuple[str, str]], cases: list[Json]
) -> None:
    """Add BLEU of the words of lines with tags, beside that of the plain lines."""
    source, reference = ([*side] for side in zip(*pairs, strict=True))
    tagged = [tag_a_word(line) for line in source]
    texts = [without_marks(translation.text) for translation in translator.translate(tagged)]
    plain = [translation.text for translation in translator.translate(source)]
    ours, peer = (score(lines, [reference], ["bleu"])[0].value for lines in (texts, plain))
    cases.append(make_case("words of tagged lines, beside plain lines", "BLEU", ours, peer,
                           better="higher", settings={}, lines=len(source)))  # fmt: skip


def tag_a_word(line: str) -> str:
    """The line with a tag pair around its longest word."""
    longest = max(_WORD.finditer(line), key=lambda match: len(match[0]), default=None)
    return line if longest is None else _around(line, longest, longest, TAGS[0])


def with_placeholder(line: str) -> str:
    """The line with a placeholder instead of its last word."""
    return re.sub(r"[\w'-]+(?=\W*$)", "{x}", line)


def measure_speed(
    translator: Translator, lines: Sequence[str], options: argparse.Namespace, cases: list[Json]
) -> None:
    """Add the speed of marked lines beside that of the same lines without marks, in turns."""
    tagged = [tag_a_word(line) for line in lines]
    held = [with_placeholder(line) for line in lines]
    mixed = [(tagged, held, tagged, tagged)[index % 4][index] for index in range(len(lines))]
    sides = {"a tag pair": tagged, "a placeholder": held, "a tag pair, each fourth a placeholder":
             mixed}  # fmt: skip
    times: dict[str, list[float]] = {}
    for turn in range(options.turns + 1):
        for name, side in {"plain": lines, **sides}.items():
            begun = time.process_time()
            translator.translate(side)
            if turn:
                times.setdefault(name, []).append(time.process_time() - begun)
    plain = len(lines) / statistics.median(times["plain"])
    for name in sides:
        ours = len(lines) / statistics.median(times[name])
        cases.append(make_case(f"speed with {name}, beside plain lines", "lines/s of CPU time",
                               ours, plain, better="higher", settings={}, seconds=times[name],
                               plain_seconds=times["plain"]))  # fmt: skip


def share_case(name: str, right: int, count: int, **facts: object) -> Json:
    """How many per cent of these are right."""
    say(f"{name}: {right} of {count} {facts or ''}")
    return make_case(
        name, "%", 100.0 * right / max(1, count), None,
        better="higher", settings={}, count=count, right=right, **facts,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    torch.set_num_threads(1)
    settings = {**measured_with(options), "test": [path.name for path in options.test]}
    results = Results("markup", settings, options.out, environment=environment(1))
    translator = Translator.load(options.model, cache=options.cache or "auto")
    # As `nmt translate` does.
    gc.freeze()
    source, reference = (list(read_lines(path))[: options.lines] for path in options.test)
    pairs = [pair for pair in zip(source, reference, strict=True) if all(pair)]
    cases = results.cases
    measure_tags(translator, source, cases)
    measure_placeholders(translator, pairs, cases)
    measure_contract(translator, source, options, cases)
    measure_words(translator, pairs, cases)
    measure_speed(translator, source[: options.timed], options, cases)
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="MODEL")
    add("--test", type=Path, nargs=2, required=True, metavar=("SRC", "TGT"))
    add("--lines", type=int, default=1_000, help="lines of the test set")
    add("--html", type=int, default=300, help="lines of random HTML")
    add("--timed", type=int, default=500, help="lines whose translation is timed")
    add("--turns", type=int, default=3, help="how often they are timed")
    add("--seed", type=int, default=1)
    add(
        "--cache",
        type=Path,
        help="where compiled kernels are kept; without it, the user's cache folder",
    )
    add("--out", type=Path, metavar="FILE", help="JSON of the results")
    add("--json", action="store_true", help="print the JSON")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
