"""Test text that is also training text is found whatever either has to be repaired of."""

import random
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.cleaning.held_out.copies import HeldOut, HeldOutSearch
from nmt_cli.data.cleaning.held_out.digests import digests_of, loose_digests
from nmt_cli.data.preparation.notes import overlap_remarks
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare

Pair = tuple[str, str]
TEXT = [
    (f'{src.capitalize()} "für Größe"', f"{tgt.capitalize()} Für Größe")
    for src, tgt in dict.fromkeys(two_languages(500, 3))
]
COPIES, NEW = 40, 20
HELD_OUT = "also in validation or test text"


def damaged_encoding(text: str) -> str:
    return text.encode().decode("latin-1")


def in_subwords(text: str) -> str:
    first, second, *others = text.split()
    return " ".join([first, f"{second[:2]}@@", second[2:], *others])


# What is done to the pair of a number; its sides begin with capital letters.
FAULTS: dict[str, Callable[[int, str, str], Pair]] = {
    "verses": lambda n, src, tgt: (f"MRK {1 + n // 40}:{1 + n % 40} {src}", f"{1 + n % 40} {tgt}"),
    "verses on one side": lambda n, src, tgt: (f"{1 + n % 99} {src}", tgt),
    "equal verses": lambda n, src, tgt: (f"{1 + n % 40}:4 {src}", f"{1 + n % 40}:4 {tgt}"),
    "equal verses with books": lambda n, src, tgt: (f"1CO {n}:4. {src}", f"1CO {n}:4. {tgt}"),
    "other verses": lambda n, src, tgt: (f"{n}:4 {src}", f"({n}:5) {tgt} 7"),
    "equal numbers": lambda n, src, tgt: (f"{n} {src}", f"{n} {tgt}"),
    "equal numbers of a list": lambda n, src, tgt: (f"{n}. {src}", f"({n}) {tgt}"),
    "numbers without a space": lambda n, src, tgt: (f"({n}){src}", f"({n}){tgt}"),
    "verses without a space": lambda n, src, tgt: (f"{n}:4{src}", f"{n}:4{tgt}"),
    "numbers of a list": lambda n, src, tgt: (f"{n + 1}. {src}", tgt),
    "entities": lambda _n, src, tgt: (src.replace('"', "&quot;"), tgt.replace("ü", "&uuml;")),
    "encoding of sources": lambda _n, src, tgt: (damaged_encoding(src), tgt),
    "encoding of targets": lambda _n, src, tgt: (src, damaged_encoding(tgt)),
    "tags on one side": lambda _n, src, tgt: (f"<b>{src}</b>", tgt),
    "subwords": lambda _n, src, tgt: (in_subwords(src), in_subwords(tgt)),
    "Unicode form": lambda _n, src, tgt: (
        unicodedata.normalize("NFD", src), unicodedata.normalize("NFD", tgt)
    ),
}  # fmt: skip


CASES = [
    (fault, damaged)
    for fault in FAULTS
    for damaged in ("both", "training", "test")
    # A bare number is known for that of a verse only in a run, and any lines are in none.
    if (fault, damaged) != ("verses on one side", "test")
]


def found(
    folder: Path, train: list[Pair], test: list[Pair], **data: object
) -> tuple[PreparedCorpus, list[str]]:
    """The corpus, and what is said of copies."""
    settings = {f"data_{key}": value for key, value in data.items()}
    config = tiny_config(
        data_train=[write_pairs(folder, "train", train)],
        data_test=write_pairs(folder, "test", test), data_vocab_size=200, **settings,
    )  # fmt: skip
    result = prepare(config, folder / "corpus", force=True, workers=1)
    return result, [note for note in result.notes if "in the training text" in note]


@pytest.mark.parametrize(("fault", "damaged"), CASES)
def test_copies_with_faults_are_found(tmp_path: Path, fault: str, damaged: str) -> None:
    """Where both sides have them, or only one of them; in any order."""
    changed = [FAULTS[fault](n, *pair) for n, pair in enumerate(TEXT)]
    train = (changed if damaged != "test" else TEXT)[:400]
    copied = (changed if damaged != "training" else TEXT)[:400]
    test = random.Random(1).sample(copied, COPIES) + changed[-NEW:]
    result, notes = found(tmp_path, train, test)
    assert [note.partition(";")[0] for note in notes] == [
        f"{COPIES} of {COPIES + NEW} test sentences also occur in the training text"
    ]
    assert result.kept == 400
    result, _ = found(tmp_path, train, test, drop_held_out=True)
    assert (result.kept, result.dropped[HELD_OUT]) == (400 - COPIES, COPIES)


def test_copies_are_found_where_only_the_test_set_has_its_numbers_in_a_run(tmp_path: Path) -> None:
    """There they are removed, so that the texts are equal only as they are."""
    pairs = [FAULTS["verses on one side"](n, *pair) for n, pair in enumerate(TEXT)]
    test = pairs[:COPIES] + TEXT[400 : 400 + NEW]
    (note,) = found(tmp_path, random.Random(1).sample(pairs[:400], 400), test)[1]
    assert note.startswith(f"{COPIES} of {COPIES + NEW} test sentences also occur")


@pytest.mark.parametrize("clean", ["safe", "off"])
def test_a_copy_of_one_side_is_found_behind_its_verse(tmp_path: Path, clean: str) -> None:
    """The source or the target, beside another sentence, with or without other verses there."""
    pairs = FAULTS["equal verses"]
    test = [*TEXT[:10], *(pairs(n, *pair) for n, pair in enumerate(TEXT[10:20])), *TEXT[400:420]]
    crossed = zip(TEXT[:20], TEXT[20:40], strict=True)
    train = [pairs(n, src, tgt) for n, ((src, _), (_, tgt)) in enumerate(crossed)]
    result, (note,) = found(tmp_path, [*train, *TEXT[40:400]], test, clean=clean)
    assert note.startswith("20 of 40 test sentences also occur in the training text;")
    crossed = zip(TEXT[20:40], TEXT[:20], strict=True)
    train = [pairs(n, src, tgt) for n, ((src, _), (_, tgt)) in enumerate(crossed)]
    settings = {"clean": clean, "drop_held_out": True}
    result, _ = found(tmp_path, [*train, *TEXT[40:400]], test, **settings)
    assert "(20 of 40 test targets beside other sources)" in result.remarks[0]
    assert (result.kept, result.dropped[HELD_OUT]) == (360, 20)


def test_a_number_of_the_sentence_makes_no_copy(tmp_path: Path) -> None:
    """One without a mark that both sides have before two words, or that only one side has."""
    train = [("12 dogs", "12 Hunde"), ("3 men run there", "Drei da"), ("5 cats sit here", "6 da")]
    test = [(src.partition(" ")[2], "Nein") for src, _ in train]
    assert found(tmp_path, [*TEXT[:200], *train], test)[1] == []


def test_only_what_is_repaired_in_training_text_is_compared_so(tmp_path: Path) -> None:
    """`--no-clean` repairs nothing, and new sentences are no copies for having the same faults."""
    changed = [FAULTS["entities"](0, *pair) for pair in TEXT]
    assert found(tmp_path, changed[:400], changed[400:])[1] == []
    assert found(tmp_path, changed[:400], TEXT[:60], clean="off")[1] == []
    notes = found(tmp_path, changed[:400], changed[380:], clean="off")[1]
    assert notes[0].startswith(f"20 of {len(TEXT) - 380} test sentences also occur")


def test_references_are_found_before_and_after_their_repair() -> None:
    """Of several references, each beside the source; short ones do not count in either form."""
    src = ["one source", "another"]
    first = ["1. das ist ein langer Satz.", "ein Satz & ein weiterer Satz."]
    second = ["1. es ist ein", "ein anderer &amp; ein weiterer Satz."]
    held_out = HeldOut(
        "test",
        [
            [(src, first), (src, ["das ist ein langer Satz.", first[1]])],
            [(src, second), (src, ["es ist ein", "ein anderer & ein weiterer Satz."])],
        ],
    )  # fmt: skip
    search = HeldOutSearch([held_out])
    sources = ["new"] * 5
    targets = [
        first[0], "das ist ein langer Satz.", second[1], "ein anderer & ein weiterer Satz.",
        "es ist ein",
    ]  # fmt: skip
    pairs, loose = digests_of(sources, targets), loose_digests(sources)
    assert search.find(pairs, loose).tolist() == [True] * 4 + [False]
    found = held_out.found_sources, held_out.found_loose_sources, held_out.found_targets
    assert found == (0, 0, 2)
    assert not HeldOutSearch([]).find(pairs, loose).any()
    assert search.find(pairs[:0], loose[:0]).dtype == np.bool_


def test_copies_of_any_reference_of_a_test_set_are_dropped(tmp_path: Path) -> None:
    """Those beside other sources, as text for back-translation has them."""
    test, others = TEXT[400:460], TEXT[300:360]
    train = TEXT[:300] + [(f"new {src}", tgt) for src, tgt in others]
    references = write_pairs(tmp_path, "other", others)[1]
    config = tiny_config(
        data_train=[write_pairs(tmp_path, "train", train)], data_vocab_size=200,
        data_test=(*write_pairs(tmp_path, "test", test), references),
        data_drop_held_out=True,
    )  # fmt: skip
    result = prepare(config, tmp_path / "corpus", workers=1)
    assert (result.kept, result.dropped[HELD_OUT]) == (300, 60)
    assert "(60 of 60 test targets beside other sources)" in result.remarks[0]


@pytest.mark.parametrize(
    ("pairs", "said", "listed"),
    [(1, "1 training pair was dropped as a copy of", "it"),
     (2, "2 training pairs were dropped as copies of", "them")],
)  # fmt: skip
def test_the_remark_about_dropped_copies_agrees_with_their_number(
    pairs: int, said: str, listed: str
) -> None:
    (remark,) = overlap_remarks([], {HELD_OUT: pairs})
    assert remark.startswith(f"{said} held-out text (")
    assert f"`--dropped FILE` lists {listed}; the model does not learn {listed}, so" in remark
