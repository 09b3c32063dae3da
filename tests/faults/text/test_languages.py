"""Pairs whose sides are in each other's language are found by what the sides look like."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from corpora import tiny_config
from faults.tally import fault
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.cleaning import clean
from nmt_cli.data.cleaning.kinds import SWAPPED
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.languages import wrong_sides
from nmt_cli.data.languages.trigrams import BUCKETS, line_sums, trigram_counts
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.text.lines import read_lines

Checks = Callable[..., None]
Pairs = list[tuple[str, str]]
DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "multi30k"
WRONG = ("sides swapped", "source not in its language", "target not in its language")


def made_up(count: int, seed: int) -> Pairs:
    """Two languages with the same letters: what follows what is different."""
    chance = random.Random(seed)
    sounds = (["ka", "to", "mi", "sen", "ru", "ya"], ["tra", "ble", "ing", "ow", "spe", "ath"])
    sides = [
        [
            " ".join("".join(chance.choices(sound, k=2)) for _ in range(chance.randint(3, 9)))
            for _ in range(count)
        ]
        for sound in sounds
    ]
    return list(zip(*sides, strict=True))


def spoilt(pairs: Pairs, seed: int) -> tuple[Pairs, list[str]]:
    """2 % of the pairs swapped, 2 % copied, 1 % with the source not in its language."""
    chance = random.Random(seed)
    kinds = chance.choices(["", "swapped", "target", "source"], [95, 2, 2, 1], k=len(pairs))
    made = {
        "": lambda src, tgt: (src, tgt), "swapped": lambda src, tgt: (tgt, src),
        "target": lambda src, tgt: (src, src), "source": lambda src, tgt: (tgt, tgt),
    }  # fmt: skip
    return [made[kind](*pair) for kind, pair in zip(kinds, pairs, strict=True)], kinds


def prepared(folder: Path, pairs: Pairs, **settings: object) -> PreparedCorpus:
    paths = folder / "train.src", folder / "train.tgt"
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    values = {"data_train": [tuple(map(str, paths))], "data_vocab_size": 500}
    config = tiny_config(**{**values, "data_drop_duplicates": False, **settings})
    return prepare(config, folder / "corpus", force=True, workers=1)


def counted(done: PreparedCorpus) -> tuple[int, ...]:
    """How many pairs are found swapped, wrong in the source, wrong in the target."""
    result = {finding.kind: finding.pairs for finding in done.findings}
    return tuple(result.get(kind, 0) for kind in WRONG)


@fault("P3")
@pytest.mark.parametrize("seed", range(4))
def test_swapped_and_copied_pairs_are_counted_and_dropped(
    tmp_path: Path, seed: int, checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 700)
    pairs, kinds = spoilt(made_up(3_000, seed), seed)
    done = prepared(tmp_path, pairs)
    wanted = tuple(kinds.count(reason) for reason in ("swapped", "source", "target"))
    assert counted(done) == wanted
    assert (done.kept, done.dropped) == (3_000, {})
    checks(sum(wanted))
    cleaned = prepared(tmp_path, pairs, data_drop_wrong_language=True)
    assert sum(cleaned.dropped[reason] for reason in WRONG) == sum(wanted)
    kept = [pair for pair, kind in zip(pairs, kinds, strict=True) if not kind]
    assert list(read_lines(tmp_path / "corpus" / "train.src.txt")) == [src for src, _ in kept]
    assert len(Corpus.open(tmp_path / "corpus").train) == len(kept)
    checks()


def test_wrong_lines_in_a_third_language_are_not_said_to_be_in_that_of_the_other_side(
    tmp_path: Path,
) -> None:
    """nmt knows English and French, and not the language of the target."""
    nouns = ("animal", "village", "question", "table", "train", "station")
    chance = random.Random(4)
    pairs = []
    for index, (_, own) in enumerate(made_up(1_000, 4)):
        words = " ".join(chance.sample(nouns, 5))
        english, french = f"the {words} and it {index}", f"le {words} et il {index}"
        wrong = english if index % 50 == 20 else french if index % 50 == 10 else own
        pairs.append((english, wrong))
    codes = {"languages_src": "en", "languages_tgt": "xx", "data_drop_wrong_language": True}
    third, copied = "a side in a third language", "target not in its language"
    assert prepared(tmp_path, pairs, **codes).dropped == {third: 20, copied: 20}
    turned = [pair[::-1] for pair in pairs]
    codes.update(languages_src="xx", languages_tgt="en")
    copied = "source not in its language"
    assert prepared(tmp_path, turned, **codes).dropped == {third: 20, copied: 20}
    # What is similar to a language that nmt knows may be in another one that it does not know.
    codes.update(languages_tgt="yy")
    assert prepared(tmp_path, turned, **codes).dropped == {copied: 40}


def test_copied_pairs_have_the_same_name_kept_or_dropped(tmp_path: Path) -> None:
    pairs = made_up(3_000, 2)
    pairs[:100] = [(src, src) for src, _ in pairs[:100]]
    found = [
        {
            finding.kind: finding.pairs
            for finding in prepared(tmp_path, pairs, data_clean=level).findings
        }
        for level in ("safe", "strict")
    ]
    wrong = "target not in its language"
    assert found[0][wrong] == found[1][wrong] == 100


@fault("P3")
@pytest.mark.parametrize(("copies", "reported"), [(1, 0), (3, 3)])
def test_few_wrong_pairs_among_thousands_are_not_reported(
    tmp_path: Path, copies: int, reported: int
) -> None:
    pairs = made_up(8_000, 3)
    pairs[:copies] = [(src, src) for src, _ in pairs[:copies]]
    done = prepared(tmp_path, pairs)
    assert counted(done) == (0, 0, reported)


def captions(count: int, seed: int) -> Pairs:
    """English and German sentences with function words."""
    chance = random.Random(seed)
    parts = (
        (["the dog", "a woman", "the child", "an old man"], ["is in", "was on", "stands at"]),
        (["der Hund", "eine Frau", "das Kind", "ein alter Mann"], ["ist in", "war auf", "ist bei"]),
    )
    ends = (["the house", "a tree", "the water"], ["dem Haus", "einem Baum", "dem Wasser"])
    pairs = []
    for _ in range(count):
        first, verb, last, end = (chance.randrange(number) for number in (4, 3, 3, count))
        src, tgt = (
            f"{subjects[first]} {verbs[verb]} {places[last]} {end}."
            for (subjects, verbs), places in zip(parts, ends, strict=True)
        )
        pairs.append((src, tgt))
    return pairs


@fault("P3")
@pytest.mark.parametrize("share", [0.05, 0.45, 0.5, 0.65])
@pytest.mark.parametrize("codes", [("en", "de"), ("en", "xx"), ("xx", "en")])
def test_known_languages_tell_which_half_is_swapped(
    tmp_path: Path, share: float, codes: tuple[str, str]
) -> None:
    """One of them is enough beside a language that has few of its trigrams."""
    count = 3_000
    pairs = captions(count, 1)
    if "xx" in codes:
        english = [src for src, _ in pairs]
        # With the same number at the end.
        others = [
            f"{own} {src.split()[-1]}"
            for src, (own, _) in zip(english, made_up(count, 1), strict=True)
        ]
        sides = (english, others) if codes[0] == "en" else (others, english)
        pairs = list(zip(*sides, strict=True))
    swapped = round(share * count)
    for index in random.Random(2).sample(range(count), swapped):
        pairs[index] = pairs[index][::-1]
    languages = {"languages_src": codes[0], "languages_tgt": codes[1]}
    done = prepared(tmp_path, pairs, data_clean="safe", **languages)
    assert counted(done) == (swapped, 0, 0)


@fault("P3")
def test_words_that_both_sides_have_do_not_tell_the_sides(tmp_path: Path) -> None:
    """Both sides are in a dialect that has the function words of both languages."""
    chance = random.Random(1)
    words = ["the", "of", "and", "that", "with", "der", "die", "und", "nicht", "mit"]
    lines = [" ".join(chance.choices(words, k=9)) for _ in range(6_000)]
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    languages = {"languages_src": "en", "languages_tgt": "de"}
    done = prepared(tmp_path, pairs, data_clean="safe", **languages)
    assert counted(done) == (0, 0, 0)


@pytest.mark.parametrize(("count", "swapped"), [(99, 0), (100, 30)])
def test_fewer_than_a_hundred_pairs_are_not_judged(
    tmp_path: Path, count: int, swapped: int
) -> None:
    pairs = captions(count, 1)
    pairs[:30] = [pair[::-1] for pair in pairs[:30]]
    languages = {"languages_src": "en", "languages_tgt": "de"}
    assert counted(prepared(tmp_path, pairs, data_clean="safe", **languages)) == (swapped, 0, 0)


@pytest.mark.parametrize(("right", "uses_words"), [(5, False), (20, True)])
def test_text_without_the_only_known_language_on_its_side_is_not_turned(
    monkeypatch: pytest.MonkeyPatch, right: int, uses_words: bool
) -> None:
    """The code says that the target is Dutch, and the words of the English source look like it."""
    pairs = [("is in het water van een man", tgt) for _, tgt in made_up(100, 1)]
    pairs[:right] = [pair[::-1] for pair in pairs[:right]]
    monkeypatch.setattr(wrong_sides, "_WrongSidesJob", lambda *_: GivenPairs(pairs))
    text = clean.CleanText(Path(), spans=[None])
    words = wrong_sides._words_of(("xx", "nl"))
    with ProcessPool(1) as pool:
        assert wrong_sides._learn(text, words, pool)[1] is uses_words


class GivenPairs:
    """The lines of a span, as a job of the search for wrong sides reads them."""

    def __init__(self, pairs: Pairs) -> None:
        self._sides = dict(zip(("src", "tgt"), zip(*pairs, strict=True), strict=True))

    def side(self, side: str) -> np.ndarray:
        lines = "".join(f"{line}\n" for line in self._sides[side])
        return np.frombuffer(lines.encode(), np.uint8)


def test_function_words_tell_the_sides_of_pairs_in_which_they_agree() -> None:
    english, german = "the dog of the house and the cat", "der Hund und die Katze nicht mit"
    mixed = f"{english} {german}"
    pairs = [(english, german), (german, english), (mixed, german), (mixed, mixed), ("Tom", "Tom")]
    # One or two trigrams, of a single word, may be a part of a name.
    pairs += [("Tom a", "Tom"), ("Tom", "Tom im")]
    words = wrong_sides._words_of(("en", "de"))
    counts = wrong_sides._count_trigrams(words, GivenPairs(pairs))
    # With function words, telling, swapped.
    assert counts.pairs.tolist() == [4, 2, 1]


@pytest.mark.parametrize(
    ("right", "wrong", "uses_words", "is_judged"),
    [
        ((60, 60), (0, 0), False, True), ((90, 40), (0, 0), False, False),
        ((40, 90), (0, 0), False, False),
        # Where function words tell the sides, swapped lines are distinct as well.
        ((40, 40), (30, 30), True, True), ((40, 40), (30, 30), False, False),
    ],
)  # fmt: skip
def test_most_lines_of_both_sides_must_be_distinct(
    monkeypatch: pytest.MonkeyPatch,
    right: tuple[int, int],
    wrong: tuple[int, int],
    uses_words: bool,
    is_judged: bool,
) -> None:
    kinds = np.array([SWAPPED] * 30 + [0] * 70, np.uint8)
    verdicts = wrong_sides._SpanVerdicts(kinds, np.array(right), np.array(wrong))
    monkeypatch.setattr(wrong_sides, "_check_span", lambda *_: verdicts)
    monkeypatch.setattr(wrong_sides, "_learn", lambda *_: (np.zeros(BUCKETS), uses_words))
    text = clean.CleanText(Path(), spans=[None], pairs=100)
    with ProcessPool(1) as pool:
        found = wrong_sides.find_wrong_sides(text, ("en", "de"), pool, lambda *_: None)
    assert found.kinds.tolist() == (kinds.tolist() if is_judged else [0] * 100)
    assert (found.judge is not None) == is_judged


@pytest.mark.parametrize(("swapped", "uses_words"), [(9, False), (11, True)])
def test_function_words_are_used_where_a_tenth_is_swapped(
    monkeypatch: pytest.MonkeyPatch, swapped: int, uses_words: bool
) -> None:
    pairs = captions(100, 1)
    pairs[:swapped] = [pair[::-1] for pair in pairs[:swapped]]
    monkeypatch.setattr(wrong_sides, "_WrongSidesJob", lambda *_: GivenPairs(pairs))
    text = clean.CleanText(Path(), spans=[None])
    words = wrong_sides._words_of(("en", "de"))
    with ProcessPool(1) as pool:
        assert wrong_sides._learn(text, words, pool)[1] is uses_words


@pytest.mark.parametrize(("mixed", "uses_words"), [(99, True), (100, False)])
def test_function_words_must_tell_the_sides_of_most_pairs_that_have_any(
    monkeypatch: pytest.MonkeyPatch, mixed: int, uses_words: bool
) -> None:
    both = "the dog of the house and der Hund und die Katze nicht mit"
    pairs = [*captions(50, 1), *(pair[::-1] for pair in captions(50, 2)), *[(both, both)] * mixed]
    monkeypatch.setattr(wrong_sides, "_WrongSidesJob", lambda *_: GivenPairs(pairs))
    text = clean.CleanText(Path(), spans=[None])
    words = wrong_sides._words_of(("en", "de"))
    with ProcessPool(1) as pool:
        assert wrong_sides._learn(text, words, pool)[1] is uses_words


def test_languages_are_learnt_from_the_first_spans_and_some_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learnt: list[int] = []

    def job(_: Path, span: int) -> GivenPairs:
        learnt.append(span)
        return GivenPairs(captions(2, 1))

    monkeypatch.setattr(wrong_sides, "_WrongSidesJob", job)
    text = clean.CleanText(Path(), spans=list(range(40)))
    with ProcessPool(1) as pool:
        wrong_sides._learn(text, None, pool)
    assert learnt == [*range(16), 16, 32]


@fault("P3")
def test_similar_languages_are_not_judged(tmp_path: Path) -> None:
    """One language on both sides, in which few lines have something of their own."""
    chance = random.Random(1)
    marks = (["z" * 12] * 9 + ["q" * 12], ["q" * 12] * 9 + ["z" * 12])
    pairs = []
    for src, _ in made_up(3_000, 1):
        own = [f"{src} {chance.choice(mark)}" if chance.random() < 0.1 else src for mark in marks]
        pairs.append((own[0], own[1]))
    done = prepared(tmp_path, pairs, data_drop_wrong_language=True)
    assert counted(done) == (0, 0, 0)
    assert done.kept == 3_000


@fault("P3")
def test_names_and_numbers_are_not_taken_for_a_language(tmp_path: Path) -> None:
    alike = [("2014", "2014"), ("B. Q. Zyx", "B. Q. Zyx"), ("Nr. 5 (a)", "Nr. 5 (a)")] * 30
    done = prepared(tmp_path, [*made_up(3_000, 9), *alike], data_drop_wrong_language=True)
    assert (counted(done), done.kept) == ((0, 0, 0), 3_090)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
@pytest.mark.parametrize("language", ["de", "fr"])
def test_wrong_language_in_real_captions_is_detected(tmp_path: Path, language: str) -> None:
    """At least 99 % of those that are wrong, at most 0.1 % of those that are right."""
    sides = [list(read_lines(DATA / f"train.{code}.xz")) for code in ("en", language)]
    pairs, kinds = spoilt(list(zip(*sides, strict=True)), 1)
    done = prepared(tmp_path, pairs, data_drop_wrong_language=True)
    wrong = sum(map(bool, kinds))
    result = sum(done.dropped.get(reason, 0) for reason in WRONG)
    assert 0.99 * wrong <= result <= wrong + 0.001 * (len(pairs) - wrong)
    left = set(read_lines(tmp_path / "corpus" / "train.tgt.txt"))
    missed = sum(bool(k) and t in left for k, (_, t) in zip(kinds, pairs, strict=True))
    assert missed <= 0.01 * wrong


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=9)))
def test_line_language_scores_do_not_depend_on_other_lines(lines: list[str]) -> None:
    weights = np.arange(BUCKETS, dtype=np.float64) % 97
    text = np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)
    sums, counts = line_sums(text, weights)
    assert len(sums) == len(counts) == len(lines)
    for line, total, count in zip(lines, sums, counts, strict=True):
        alone = trigram_counts(np.frombuffer(f"{line}\n".encode(), np.uint8))
        assert count == alone.sum() == max(0, len(line.encode()) - 2)
        assert total == (alone * weights).sum()
