"""Lines such as `n/a` in place of translations are found, and frequent short sentences stay."""

import random
from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.data.cleaning.held_out.placeholders import placeholder_notes
from nmt_cli.data.cleaning.held_out.texts import HeldOutText
from nmt_cli.data.cleaning.placeholder_lines import least_partners, placeholder_targets
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.extras.project_files import ProjectTexts, check_text_files

Pairs = list[tuple[str, str]]
KIND = "same text beside unrelated lines (TODO)"
TEXT = list(dict.fromkeys(two_languages(3_000, 3)))


def found(folder: Path, pairs: Pairs, **data: object) -> tuple[PreparedCorpus, Pairs]:
    """What `nmt prepare` reports, and the pairs that it drops for their placeholders."""
    settings = {f"data_{key}": value for key, value in data.items()}
    config = tiny_config(
        data_train=[write_pairs(folder, "train", pairs)], data_vocab_size=200, **settings
    )
    dropped = folder / "dropped.tsv"
    result = prepare(config, folder / "corpus", force=True, workers=1, dropped=dropped)
    rows = [row.split("\t") for row in dropped.read_text("utf-8").split("\n")[1:-1]]
    return result, [(row[3], row[4]) for row in rows if row[2] == KIND]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("line", ["n/a", "(fehlt)", "siehe oben", "TODO", "xxx"])
def test_all_pairs_of_a_placeholder_are_dropped(tmp_path: Path, line: str, side: int) -> None:
    pairs = list(TEXT)
    places = random.Random(line).sample(range(len(pairs)), 24)
    for place in places:
        pairs[place] = (line, pairs[place][1]) if side == 0 else (pairs[place][0], line)
    _, dropped = found(tmp_path, pairs, clean="strict")
    assert sorted(dropped) == sorted(pairs[place] for place in places)
    # Lengths that are too different are a kind of their own, which is dropped by default.
    result, dropped = found(tmp_path, pairs, max_ratio=1_000)
    (finding,) = (finding for finding in result.findings if finding.kind == KIND)
    assert (finding.pairs, finding.action, dropped) == (24, "kept", [])


def test_frequent_sides_are_named_by_the_side(tmp_path: Path) -> None:
    """Short ones of 60 others, which are no placeholders: ten of each are behind the fiftieth."""
    many = [("ka", f"x {n}") for n in range(60)] + [(f"y {n}", "Ja.") for n in range(60)]
    findings = {each.kind: each.pairs for each in found(tmp_path, [*TEXT, *many])[0].findings}
    assert findings["one source, too many targets"] == 10
    assert findings["one target, too many sources"] == 10
    assert KIND not in findings


def test_a_sentence_that_is_a_placeholder_needs_more_pairs(tmp_path: Path) -> None:
    sentence = "This line has not been translated so far."
    for count, expected in ((6, 0), (24, 24)):
        pairs = list(TEXT)
        for place in random.Random(1).sample(range(len(pairs)), count):
            pairs[place] = (pairs[place][0], sentence)
        assert len(found(tmp_path, pairs, clean="strict")[1]) == expected


def test_frequent_true_sentences_stay(tmp_path: Path) -> None:
    chance = random.Random(5)
    words = [word for pair in TEXT for word in pair[0].split()]
    # Beside short sources that differ, beside long ones that are alike, and beside those of its
    # own length.
    short = [(" ".join(chance.sample(words, chance.randint(1, 3))), "Ja.") for _ in range(40)]
    alike = [
        (f"now {' '.join(chance.sample(words, n % 4))} come here to me at once", "Los!")
        for n in range(40)
    ]
    same_length = [
        (" ".join(chance.sample(words, 6)), "Er hat das damals noch nicht so gesehen.")
        for _ in range(40)
    ]
    assert found(tmp_path, [*TEXT, *short, *alike, *same_length], clean="strict")[1] == []


def test_few_wrong_pairs_do_not_make_a_sentence_a_placeholder(tmp_path: Path) -> None:
    chance = random.Random(6)
    words = [word for pair in TEXT for word in pair[0].split()]
    short = [(" ".join(chance.sample(words, chance.randint(1, 3))), "Ja.") for _ in range(30)]
    pairs = list(TEXT)
    for place in chance.sample(range(len(pairs)), 15):
        pairs[place] = (pairs[place][0], "Ja.")
    assert found(tmp_path, [*pairs, *short], clean="strict")[1] == []


def test_the_number_of_lines_that_show_a_placeholder_rises_with_the_text(tmp_path: Path) -> None:
    by_length = sorted(TEXT, key=lambda pair: len(pair[0]))
    chosen = by_length[:: len(TEXT) // 5][:6]
    for count, expected in ((4, 0), (5, 5)):
        pairs = [(src, "xxx") if (src, tgt) in chosen[:count] else (src, tgt) for src, tgt in TEXT]
        assert len(found(tmp_path, pairs, clean="strict")[1]) == expected
    assert least_partners(len(TEXT)) == 5 < least_partners(300_000) < 20


def held_out_with(lines: int, line: str, places: list[int]) -> Pairs:
    """A text that has this line as some of its targets."""
    pairs = TEXT[-lines:]
    for place in places:
        pairs[place] = (pairs[place][0], line)
    return pairs


@pytest.mark.parametrize("line", ["not translated yet", "TODO", "-"])
def test_placeholders_in_held_out_text_are_warned_of(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = held_out_with(300, line, list(range(4, 300, 24)))
    found_at = placeholder_targets(*zip(*pairs, strict=True))
    assert found_at == list(range(4, 300, 24))
    train = write_pairs(tmp_path, "train", TEXT[:900])
    valid = write_pairs(tmp_path, "valid", pairs)
    notes = prepare(
        tiny_config(data_train=[train], data_valid=valid, data_test=valid, data_vocab_size=200),
        tmp_path / "corpus", workers=1,
    ).notes  # fmt: skip
    for role in ("validation", "test"):
        start = f"300 {role} targets: 13 are placeholders such as `{line}` in place of translations"
        assert any(note.startswith(f"{start} (lines 5, 29, 53") for note in notes)
    texts = ProjectTexts((train,), valid=valid)
    assert any("13 are placeholders" in note for note in check_text_files(texts, "xx", "yy"))
    hypothesis = tmp_path / "hypothesis"
    hypothesis.write_text("".join(f"{tgt}\n" for _, tgt in TEXT[-300:]), "utf-8")
    assert main(["score", str(hypothesis), valid[1]]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert f"has 300 lines, of which 13 are placeholders such as `{line}`" in err
    assert main(["score", str(hypothesis), valid[1], "--quiet"]) == 0
    assert "placeholders" not in capsys.readouterr().err


def test_the_lines_of_placeholders_are_counted_from_that_of_the_header() -> None:
    src, tgt = zip(*held_out_with(300, "TODO", list(range(4, 300, 24))), strict=True)
    (note,) = placeholder_notes([HeldOutText("test", src, tgt, ["t.tsv"], header=2)])
    assert "(lines 7, 31, 55, 79, 103, ...)" in note


def test_held_out_text_without_placeholders_is_not_warned_of() -> None:
    assert placeholder_targets(*zip(*TEXT[-300:], strict=True)) == []
    assert placeholder_targets(*zip(*held_out_with(300, "", [*range(40)]), strict=True)) == []
    assert placeholder_targets([], []) == []
