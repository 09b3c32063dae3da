"""How much noise `nmt prepare` finds: 30 kinds are planted into real text, 200 pairs of each.

    python benchmarks/dirt.py train.en train.de [--pairs 30000] [--each 200] [--out dirt.json]

Prints one row for each kind: how many pairs were planted, how many `nmt prepare` repaired or
`nmt prepare --clean` dropped, and what happens by default. The last lines say how many of the pairs
in which nothing was planted were dropped. `--each 0` plants nothing and measures only these.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.cleaning.kinds import KINDS
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.lines import read_lines

Pair = tuple[str, str]
Change = Callable[[random.Random, Pair], Pair]


def _into_middle(text: str, what: str, chance: random.Random) -> str:
    place = chance.randrange(1, max(2, len(text)))
    return text[:place] + what + text[place:]


def _one_side(change: Callable[[random.Random, str], str]) -> Change:
    """The same change of the source or of the target."""

    def changed(chance: random.Random, pair: Pair) -> Pair:
        if chance.random() < 0.5:
            return change(chance, pair[0]), pair[1]
        return pair[0], change(chance, pair[1])

    return changed


def _entity(chance: random.Random, text: str) -> str:
    words = text.split()
    words.insert(
        chance.randrange(len(words)), chance.choice(["&amp;", "&quot;", "&#39;", "&nbsp;"])
    )
    return " ".join(words)


def _tag(chance: random.Random, text: str) -> str:
    words = text.split()
    place = chance.randrange(len(words))
    words[place] = chance.choice(
        ["<b>{}</b>", "<i>{}</i>", '<a href="x">{}</a>', "{}<br/>"]
    ).format(words[place])
    return " ".join(words)


def _mojibake(_chance: random.Random, text: str) -> str:
    return f"{text} für 5 €".encode().decode("latin-1")


def _repeated(chance: random.Random, text: str) -> str:
    if chance.random() < 0.5:
        return text + chance.choice("ahoe!?") * 15
    return " ".join([text, *[text.split()[0]] * 8])


def _lost_letter(_chance: random.Random, text: str) -> str:
    return text + " M?nchen"


def _subword_marks(_chance: random.Random, text: str) -> str:
    words = text.split()
    place = max(range(len(words)), key=lambda index: len(words[index]))
    half = max(1, len(words[place]) // 2)
    words[place] = words[place][:half] + "@@ " + words[place][half:]
    return " ".join(words)


def _cut(_chance: random.Random, text: str) -> str:
    words = text.split()
    return " ".join(words[: max(1, len(words) // 3)])


_ESCAPED = {"ä": ["=C3=A4", "%C3%A4", "\\u00e4", '{\\"a}'], "é": ["=C3=A9", "{\\'e}"]}
_LOOK_ALIKES = dict(zip("aceopxy", "асеорху", strict=True))


def _escaped(chance: random.Random, text: str) -> str:
    return _into_middle(text, chance.choice(_ESCAPED[chance.choice("äé")]), chance)


def _look_alike(chance: random.Random, text: str) -> str:
    words = text.split()
    place = max(range(len(words)), key=lambda index: len(words[index]))
    letters = list(words[place])
    places = [index for index, letter in enumerate(letters) if letter in _LOOK_ALIKES]
    if places:
        index = chance.choice(places)
        letters[index] = _LOOK_ALIKES[letters[index]]
    words[place] = "".join(letters) if places else "hоuse"
    return " ".join(words)


def _line_number(chance: random.Random, text: str) -> str:
    return chance.choice(["{}. ", "{}) ", "({}) ", "[{}] "]).format(chance.randrange(1, 400)) + text


def _numbers(chance: random.Random, pair: Pair) -> Pair:
    number = chance.randrange(110, 9_990)
    return f"{pair[0]} {number}", f"{pair[1]} {number + chance.choice([-100, 7, 1, 10])}"


_OTHER_LANGUAGE = "Совсем другой текст на другом языке, номер "

_PLACEHOLDERS = ["n/a", "TODO", "xxx", "(missing)", "see above", "not translated yet"]

PLANTED: dict[str, tuple[Change, tuple[str, ...]]] = {
    "byte order mark inside": (
        _one_side(lambda chance, text: _into_middle(text, "\ufeff", chance)),
        ("byte order marks in the text",),
    ),
    "HTML entity": (_one_side(_entity), ("HTML entities",)),
    "entity escaped twice": (
        _one_side(lambda chance, text: _entity(chance, text).replace("&", "&amp;")),
        ("HTML entities",),
    ),
    "HTML tag on one side": (_one_side(_tag), ("tags on one side only",)),
    "invisible character": (
        _one_side(lambda chance, text: _into_middle(text, chance.choice("\u200b\u00ad"), chance)),
        ("invisible characters",),
    ),
    "escaped letter": (_one_side(_escaped), ("escaped characters (=C3=BC)",)),
    "direction mark": (
        _one_side(lambda chance, text: _into_middle(text, chance.choice("\u200e\u2069"), chance)),
        ("direction marks in left-to-right text",),
    ),
    "look-alike letter": (_one_side(_look_alike), ("look-alike letters of another script",)),
    "control character": (
        _one_side(lambda chance, text: _into_middle(text, chance.choice("\x00\x07\x1b\r"), chance)),
        ("control characters",),
    ),
    "mojibake": (_one_side(_mojibake), ("UTF-8 read in another encoding (Ã¼)",)),
    "line number on one side": (_one_side(_line_number), ("line numbers on one side only",)),
    "marks of subwords": (_one_side(_subword_marks), ("marks of subwords (@@, ▁)",)),
    "web address only": (
        lambda chance, _pair: (f"https://a.org/{chance.random()}?q=1",) * 2,
        ("nothing but an address, tags or marks",),
    ),
    "empty side": (_one_side(lambda _chance, _text: " "), ("empty side",)),
    "too long": (
        lambda _chance, pair: (f"{pair[0]} " * 80, f"{pair[1]} " * 80),
        ("too long", "repeated letters or words"),
    ),
    "lengths too different": (
        lambda _chance, pair: ("ok", " ".join([pair[1]] * 3)),
        ("lengths too different", "not a translation"),
    ),
    "not UTF-8": (
        _one_side(lambda chance, text: _into_middle(text, "\udce9", chance)), ("not UTF-8",),
    ),
    "replacement character": (
        _one_side(lambda chance, text: _into_middle(text, "\ufffd", chance)),
        ("replacement characters (U+FFFD)",),
    ),
    "private-use character": (
        _one_side(lambda chance, text: _into_middle(text, "\uf0b7", chance)),
        ("private-use characters",),
    ),
    "letter lost": (_one_side(_lost_letter), ("letters lost (M?nchen)",)),
    "other script": (
        _one_side(lambda chance, _text: _OTHER_LANGUAGE + str(chance.random())),
        ("another script than the rest",),
    ),
    "repeated": (_one_side(_repeated), ("repeated letters or words",)),
    "numbers differ": (_numbers, ("numbers that differ",)),
    "sides swapped": (lambda _chance, pair: (pair[1], pair[0]), ("sides swapped",)),
    "source copied": (
        lambda _chance, pair: (pair[0], pair[0]),
        ("target not in its language", "the same text on both sides"),
    ),
    "target copied": (
        lambda _chance, pair: (pair[1], pair[1]),
        ("source not in its language", "the same text on both sides"),
    ),
    "placeholder": (
        _one_side(lambda chance, _text: chance.choice(_PLACEHOLDERS)),
        ("same text beside unrelated lines (TODO)", "lengths too different"),
    ),
    "side cut short": (
        _one_side(_cut),
        ("a side cut short, or the other too long", "not a translation", "lengths too different"),
    ),
    "same pair twice": (lambda _chance, pair: pair, ("same pair before",)),
    "pairs shuffled": (lambda _chance, pair: pair, ("not a translation",)),
}  # fmt: skip


@dataclass
class Planted:
    """Text with dirt in it; kinds: of each line, "" for one that was left alone."""

    pairs: list[Pair]
    kinds: list[str]


def plant(pairs: Sequence[Pair], each: int, seed: int = 1) -> Planted:
    """Plant `each` pairs of every kind, by chance, among `pairs`."""
    chance = random.Random(seed)
    dirty, kinds = list(pairs), [""] * len(pairs)
    # Long enough for what is planted to be what is wrong with it.
    places = [n for n, (a, b) in enumerate(pairs) if min(len(a), len(b)) >= 25]
    chosen = iter(chance.sample(places, each * len(PLANTED)))
    for kind, (change, _) in PLANTED.items():
        mine = list(islice(chosen, each))
        for place in mine:
            dirty[place], kinds[place] = change(chance, pairs[place]), kind
        if kind == "pairs shuffled" and mine:
            for place, other in zip(mine, [*mine[1:], mine[0]], strict=True):
                dirty[place] = pairs[place][0], pairs[other][1]
        if kind == "same pair twice":
            for place in mine:
                # Behind, so that it is the later one.
                dirty.append(pairs[place])
                kinds[place] = ""
                kinds.append(kind)
    return Planted(dirty, kinds)


def write(planted: Planted, folder: Path) -> tuple[str, str]:
    """Two files; lone surrogates stand for bytes that are no UTF-8."""
    paths = folder / "train.src", folder / "train.tgt"
    for path, side in zip(paths, zip(*planted.pairs, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in side)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return str(paths[0]), str(paths[1])


ACTIONS = {kind.name: kind.safe for kind in KINDS}


@dataclass
class Measured:
    """What `prepare` did: planted and dropped pairs by kind planted ("" for those left alone).

    alone: the pairs left alone that were dropped, by reason; findings: pairs by what was found.
    """

    planted: Counter[str]
    dropped: Counter[str]
    alone: Counter[str]
    findings: dict[str, int]

    def found(self, kind: str) -> int:
        """Of a kind that is repaired those that were, of another those that were dropped."""
        if not self.planted[kind]:
            return 0
        name = PLANTED[kind][1][0]
        if ACTIONS[name] != "repaired":
            return self.dropped[kind]
        # Kinds that are found under one name share its count.
        rivals = sum(self.planted[kind] for kind, (_, names) in PLANTED.items() if names[0] == name)
        share = self.findings.get(name, 0) * self.planted[kind] // rivals
        return min(self.planted[kind], share)


def measure(
    planted: Planted, languages: Sequence[str], folder: Path, clean: str, vocab_size: int = 6_000
) -> Measured:
    """Prepare the text at a level of cleaning, and see what became of each pair."""
    values = {
        "data.train": [write(planted, folder)], "data.vocab_size": vocab_size, "data.clean": clean,
        "languages.src": languages[0], "languages.tgt": languages[1],
    }  # fmt: skip
    config = resolve([SettingsLayer("benchmark", values)]).config
    listed = folder / f"dropped-{clean}.tsv"
    done = prepare(config, folder / f"corpus-{clean}", workers=1, dropped=listed)
    measured = Measured(
        Counter(planted.kinds),
        Counter(),
        Counter(),
        {finding.kind: finding.pairs for finding in done.findings},
    )
    for row in listed.read_text("utf-8").split("\n")[1:-1]:
        _, line, reason, *_ = row.split("\t")
        kind = planted.kinds[int(line) - 1]
        measured.dropped[kind] += 1
        if not kind:
            measured.alone[reason] += 1
    return measured


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs=2)
    parser.add_argument("--languages", nargs=2, default=("en", "de"))
    parser.add_argument("--pairs", type=int, default=30_000)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sides = [list(read_lines(name)) for name in options.files]
    every = list(zip(*sides, strict=True))
    pairs = random.Random(1).sample(every, min(options.pairs, len(every)))
    planted = plant(pairs, options.each)
    with tempfile.TemporaryDirectory() as folder:
        safe, strict = (
            measure(planted, options.languages, Path(folder), clean) for clean in ("safe", "strict")
        )
    print(f"{'planted':26}{'pairs':>8}{'found':>8}  by default")
    results = {}
    for kind, (_, names) in PLANTED.items():
        done = ACTIONS[names[0]].replace("kept", "counted")
        results[kind] = {"planted": strict.planted[kind], "found": strict.found(kind)}
        print(f"{kind:26}{strict.planted[kind]:8,}{strict.found(kind):8,}  {done}")
    for name, run in (("default", safe), ("--clean", strict)):
        count = run.dropped[""]
        print(f"left alone: {run.planted['']:,}; dropped ({name}): {count:,}, "
              f"{count / run.planted['']:.2%} {dict(run.alone)}")  # fmt: skip
        results[f"left alone, {name}"] = {"planted": run.planted[""], "dropped": count}
    if options.out:
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
