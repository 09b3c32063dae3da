"""Claim: a glossary term takes the place of the word that it replaces, and nothing else changes.

Sentences of the demo's test set are translated with a glossary that demands another translation of
one or two of their words: a synonym, an adjective in the right one of six forms, another noun of
the same gender, another name. Each replaced word occurs once in the reference, so that the
reference with the term in its place is known. Counted are the terms that are present, those beside
the usual translation of the word ("doubled") and those between other words than in the reference
and in the translation without a glossary ("detached"). The peer of BLEU is the search without a
glossary against the reference as it is. The peer of the time is the same search, in the same groups
of lines, without a glossary.
"""

import argparse
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from lib.measure import Json, Results, environment, make_case, measured_with, say

from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.data.text.lines import read_lines
from nmt_cli.extras.demo.grammar.pairs import make_pairs
from nmt_cli.extras.demo.vocabulary import german, lexicon, words
from nmt_cli.scoring import score
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.translator import Translator

LINES = 300
# Nouns of the same gender as the usual translation: nominative, genitive, plural.
SYNONYMS = {
    "dog": "Köter Köters Köter", "cat": "Mieze Mieze Miezen", "woman": "Dame Dame Damen",
    "man": "Kerl Kerls Kerle", "teacher": "Pauker Paukers Pauker",
    "friend": "Kumpel Kumpels Kumpel",
    "doctor": "Mediziner Mediziners Mediziner", "horse": "Ross Rosses Rosse",
    "book": "Werk Werkes Werke", "bag": "Tüte Tüte Tüten", "lamp": "Leuchte Leuchte Leuchten",
    "picture": "Gemälde Gemäldes Gemälde", "bicycle": "Rad Rades Räder",
    "car": "Fahrzeug Fahrzeugs Fahrzeuge", "chair": "Sessel Sessels Sessel",
    "computer": "Rechner Rechners Rechner", "soup": "Brühe Brühe Brühen",
    "house": "Gebäude Gebäudes Gebäude", "room": "Gemach Gemachs Gemächer",
    "door": "Pforte Pforte Pforten", "city": "Metropole Metropole Metropolen",
    "letter": "Umschlag Umschlags Umschläge", "kitchen": "Kochstube Kochstube Kochstuben",
}  # fmt: skip
ADJECTIVES = {
    "small": "winzig", "big": "riesig", "tall": "riesig", "old": "betagt", "young": "blutjung",
    "new": "brandneu", "good": "prima", "beautiful": "hübsch", "red": "rosarot",
    "black": "dunkel", "white": "hell", "sick": "unwohl", "long": "lang", "cold": "kühl",
    "happy": "froh", "friendly": "nett", "expensive": "kostspielig",
    "fast": "rasant", "interesting": "spannend", "blue": "himmelblau",
}  # fmt: skip
ENDINGS = ("", "e", "en", "er", "es", "em")
NAMES = {"f": ("Hanna", "Clara", "Ida"), "m": ("Felix", "Jonas", "Otto")}


@dataclass(frozen=True)
class Term:
    """A source word, and the form that stands for each form of its usual translation."""

    kind: str
    source: str
    forms: Mapping[str, str]


@dataclass(frozen=True)
class Line:
    """A sentence, its reference, and the terms demanded; expected: the reference with the terms."""

    source: str
    reference: str
    terms: tuple[Term, ...]

    @property
    def expected(self) -> str:
        """The reference with the terms in their places."""
        forms = {usual: form for term in self.terms for usual, form in term.forms.items()}
        return re.sub(r"\w+", lambda match: forms.get(match[0], match[0]), self.reference)


def noun_terms() -> Iterator[Term]:
    """A synonym of each noun that has one, and for each noun another one of the same gender."""
    nouns = {en: noun for en, noun in lexicon.nouns().items() if " " not in en and not noun.oblique}
    for en, synonym in SYNONYMS.items():
        yield from _forms_of("synonym", nouns[en], synonym.split())
    by_gender = defaultdict(list)
    for noun in nouns.values():
        by_gender[noun.gender].append(noun)
    for of_gender in by_gender.values():
        for noun, other in zip(of_gender, of_gender[3:] + of_gender[:3], strict=True):
            forms = [other.de, other.de_genitive, other.de_plural]
            yield from _forms_of("another noun", noun, forms)


def _forms_of(kind: str, noun: lexicon.Noun, term: Sequence[str]) -> Iterator[Term]:
    nominative, genitive, plural = term
    yield Term(kind, noun.en, {noun.de: nominative} | {noun.de_genitive: genitive})
    plurals = {noun.de_plural: plural}
    plurals.setdefault(german.dative_plural(noun.de_plural), german.dative_plural(plural))
    yield Term(kind, noun.en_plural, plurals)


def other_terms() -> Iterator[Term]:
    """An adjective for each adjective, in all forms, and a name for each name."""
    for en, stem in ADJECTIVES.items():
        usual = lexicon.adjectives()[en]
        forms = {usual.de_stem + ending: stem + ending for ending in ENDINGS[1:]}
        yield Term("adjective", en, {usual.de: stem, **forms})
    for gender, group in (("f", words.FEMALE), ("m", words.MALE)):
        for index, name in enumerate(group):
            new = NAMES[gender][index % 3]
            yield Term("name", name, {name: new, f"{name}s": f"{new}s"})


def fits(term: Term, source: str, reference: str) -> bool:
    """Whether the word is once in both sentences, and the term in none."""
    found = re.findall(r"\w+", reference)
    usual = [word for word in found if word in term.forms]
    in_source = re.findall(r"\w+", source.casefold()).count(term.source.casefold())
    return in_source == len(usual) == 1 and not set(found) & set(term.forms.values())


def choose_lines(pairs: Sequence[tuple[str, str]], count: int, seed: int) -> list[Line]:
    """So many lines, of each kind of term the same number, and as many with two terms."""
    terms = [*noun_terms(), *other_terms()]
    by_kind: dict[str, list[Line]] = defaultdict(list)
    for source, reference in pairs:
        fitting = [term for term in terms if fits(term, source, reference)]
        for term in fitting:
            by_kind[term.kind].append(Line(source, reference, (term,)))
        for term in fitting[1:]:
            if term.source != fitting[0].source and not _share_forms(term, fitting[0]):
                by_kind["two terms"].append(Line(source, reference, (fitting[0], term)))
    chooser = random.Random(seed)
    for lines in by_kind.values():
        chooser.shuffle(lines)
    turns = [
        (turn, kind, line)
        for kind, lines in sorted(by_kind.items())
        for turn, line in enumerate(lines)
    ]
    turns.sort(key=lambda entry: entry[:2])
    return [line for _, _, line in turns[:count]]


def _share_forms(term: Term, other: Term) -> bool:
    return bool({*term.forms, *term.forms.values()} & {*other.forms, *other.forms.values()})


def kind_of(line: Line) -> str:
    """The kind of its term."""
    return "two terms" if len(line.terms) > 1 else line.terms[0].kind


def translated(
    translator: Translator, lines: Sequence[Line], *, demanded: bool = True
) -> tuple[list[str], float]:
    """Each line with the glossary of its terms, lines with the same ones together; the seconds.

    demanded: whether the glossary is used.
    """
    by_terms: dict[tuple[tuple[str, tuple[str, ...]], ...], list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        key = tuple((term.source, tuple(dict.fromkeys(term.forms.values()))) for term in line.terms)
        by_terms[key].append(index)
    texts = [""] * len(lines)
    begin = time.perf_counter()
    for key, indices in by_terms.items():
        glossary = tuple(Entry(*entry, number) for number, entry in enumerate(key, 1))
        constraints = Constraints(glossary=glossary if demanded else ())
        sources = [lines[index].source for index in indices]
        results = translator.translate(sources, constraints=constraints)
        for index, result in zip(indices, results, strict=True):
            texts[index] = result.text
    return texts, time.perf_counter() - begin


def faults_of(term: Term, text: str, plain: str, expected: str) -> set[str]:
    """What is wrong with this term in this translation: missing, doubled, detached."""
    found = re.findall(r"\w+|[^\w\s]", text)
    places = [index for index, word in enumerate(found) if word in term.forms.values()]
    if not places:
        return {"missing"}
    faults = set()
    if len(places) > 1 or any(word in term.forms for word in found):
        faults.add("doubled")
    neighbours = _neighbours(expected, set(term.forms.values())) | _neighbours(
        plain, set(term.forms)
    )
    own = _neighbours(text, set(term.forms.values()))
    if not own & neighbours:
        faults.add("detached")
    return faults


def _neighbours(text: str, forms: set[str]) -> set[tuple[int, str]]:
    """The words and marks before (-1) and after (1) each of these words."""
    found = ["<", *re.findall(r"\w+|[^\w\s]", text), ">"]
    return {
        (side, found[index + side])
        for index, word in enumerate(found)
        if word in forms
        for side in (-1, 1)
    }


def measure(options: argparse.Namespace) -> list[Json]:
    """The counts over all terms and of each kind, and BLEU."""
    translator = Translator.load(
        options.model, precision=options.precision, cache=options.cache or "auto",
        others=options.others,
    )  # fmt: skip
    if options.beam:
        search = replace(translator.config.search, beam=options.beam)
        translator.config = replace(translator.config, search=search)
    lines = choose_lines(pairs_of(options), options.lines, options.seed)
    plain = [result.text for result in translator.translate([line.source for line in lines])]
    # The first line with a term loads the reference model, and the first search its kernels.
    translated(translator, lines[:1])
    seconds_without = translated(translator, lines, demanded=False)[1]
    texts, seconds = translated(translator, lines)
    found: dict[str, list[set[str]]] = defaultdict(list)
    for line, text, before in zip(lines, texts, plain, strict=True):
        for term in line.terms:
            faults = faults_of(term, text, before, line.expected)
            found[kind_of(line)].append(faults)
            if faults and options.show:
                say(f"{kind_of(line)}, {', '.join(sorted(faults))}: {line.source} | {text}")
    for line, text in zip(lines, texts, strict=True) if options.show else ():
        if text != line.expected:
            say(f"{kind_of(line)}: {line.expected} | {text}")
    everything = [faults for of_kind in found.values() for faults in of_kind]
    cases = [
        share("present", everything, lambda faults: "missing" not in faults),
        share("doubled", everything, lambda faults: "doubled" in faults),
        share("detached", everything, lambda faults: "detached" in faults),
    ]
    for kind, of_kind in sorted(found.items()):
        cases.append(share(f"{kind}: missing, doubled or detached", of_kind, bool))
    say(f"{seconds:.1f} s, without a glossary {seconds_without:.1f} s")
    cases.append(
        make_case(
            "time", "s", seconds, seconds_without, better="lower", settings={}, lines=len(lines)
        )
    )
    return [*cases, *bleu_cases(lines, texts, plain)]


def pairs_of(options: argparse.Namespace) -> list[tuple[str, str]]:
    """The sentence pairs of the test files, or generated ones."""
    if options.generate is None:
        return list(zip(*(read_lines(path) for path in options.test), strict=True))
    generated = make_pairs(5 * options.lines, seed=options.generate, split="test")
    return [(pair.src, pair.tgt) for pair in generated]


def share(name: str, faults: Sequence[set[str]], counts: Callable[[set[str]], object]) -> Json:
    """The share of terms, in per cent, whose faults count."""
    counted = sum(bool(counts(of_term)) for of_term in faults)
    say(f"{name}: {counted} of {len(faults)} terms")
    return make_case(
        name, "% of terms", 100.0 * counted / max(1, len(faults)), None,
        better="higher" if name == "present" else "lower", settings={},
        terms=len(faults), counted=counted,
    )  # fmt: skip


def bleu_cases(lines: Sequence[Line], texts: Sequence[str], plain: Sequence[str]) -> list[Json]:
    """BLEU with the glossary, beside that of the search without one."""
    expected, references = (
        [getattr(line, name) for line in lines] for name in ("expected", "reference")
    )
    ours, usual = bleu_of(texts, expected), bleu_of(plain, references)
    right = sum(map(str.__eq__, texts, expected)), sum(map(str.__eq__, plain, references))
    say(f"BLEU {ours:.2f}, without a glossary {usual:.2f}; {right[0]} and {right[1]} lines exact")
    return [
        make_case(
            "BLEU", "BLEU", ours, usual, better="higher", settings={}, lines=len(lines),
            exact=right[0], exact_without_glossary=right[1], without_terms=bleu_of(plain, expected),
        )
    ]  # fmt: skip


def bleu_of(texts: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of translations, as sacreBLEU computes it."""
    return score(list(texts), [list(references)], ["bleu"])[0].value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    options = parse(arguments)
    torch.set_num_threads(1)
    settings = {**measured_with(options), "test": [path.name for path in options.test or ()]}
    results = Results("glossary", settings, options.out, environment=environment(1))
    results.cases += measure(options)
    return results.finish(as_json=options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="MODEL", help="a model of `nmt demo`")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--test", type=Path, nargs=2, metavar=("SRC", "TGT"))
    text.add_argument(
        "--generate",
        type=int,
        metavar="SEED",
        help="generate sentences of the demo's language that it was not trained on",
    )
    add("--lines", type=int, default=LINES)
    add("--beam", type=int, default=0, help="instead of the model's own")
    add("--seed", type=int, default=1)
    add("--precision", default="float32", help="float32, bf16 or int8")
    add("--others", type=Path, nargs="*", default=[], help="other models of an ensemble")
    add(
        "--cache",
        type=Path,
        help="where compiled kernels are kept; without it, the user's cache folder",
    )
    add("--show", action="store_true", help="print lines that differ from what is expected")
    add("--out", type=Path, metavar="FILE", help="JSON of the results")
    add("--json", action="store_true", help="print the JSON")
    add("--tiny", action="store_true", help="seconds instead of minutes: a test of the script")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.lines = min(options.lines, 10)
    return options


if __name__ == "__main__":
    sys.exit(main())
