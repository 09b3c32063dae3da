"""Marks of the direction of writing change no subword, so that text translates alike without them.

They stay in the text of a corpus beside letters that are written from right to left.
"""

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from servers import byte_translator

from nmt_cli.config.schema import DataConfig, SettingsLayer, resolve
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.segmenters import Kind
from nmt_cli.data.text.lines import read_lines

MARKS = [chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F),
                                *range(0x2066, 0x206A))]  # fmt: skip
HEBREW, ARABIC = "שלום עולם, בית 12!", "مرحبا بالعالم، بيت 12!"
WORDS = Counter(f"{HEBREW} {ARABIC}".split() * 20)


def marked(line: str, mark: str) -> list[str]:
    """The line with a mark at its ends, in a word, and before and behind punctuation."""
    return [
        f"{mark}{line}{mark}", line.replace(",", f"{mark},").replace("،", f"{mark}،"),
        line.replace("12", f"{mark}12{mark}"), f"{line[:2]}{mark}{line[2:]}",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", get_args(Kind))
def test_direction_marks_change_no_subword(kind: Kind) -> None:
    subwords = learn_subwords(DataConfig(subwords=kind, vocab_size="auto"), WORDS, Counter())
    for line in (HEBREW, ARABIC):
        [expected] = subwords.encode_source([line])
        assert subwords.unk_id not in expected
        for mark in MARKS:
            found = subwords.encode_source(marked(line, mark))
            assert found == subwords.encode_target(marked(line, mark)) == [expected] * 4


def test_direction_marks_change_no_subword_with_bpe_dropout() -> None:
    subwords = learn_subwords(DataConfig(vocab_size=60), WORDS, Counter())
    encoder, _ = subwords.with_dropout(0.3)
    [expected] = encoder.encode([HEBREW], "seed", "chunk")
    for mark in MARKS:
        for line in marked(HEBREW, mark):
            assert encoder.encode([line], "seed", "chunk") == [expected]


@pytest.mark.parametrize("line", [HEBREW, ARABIC])
def test_text_translates_with_direction_marks_as_without_them(line: str) -> None:
    with byte_translator() as translator:
        expected = translator.translate(line)
        for mark in MARKS:
            for translation in translator.translate(marked(line, mark)):
                assert translation.text == expected.text
                assert translation.score == expected.score


def test_a_corpus_keeps_the_marks_in_its_text_alone(tmp_path: Path) -> None:
    letters = "אבגדהוזחטיכל"
    src = [f"{a}{b}{c} {c}{b}" for a in letters for b in letters for c in letters[:4]]
    lines = [f"\u202b{line}\u202c\u200f." if index % 2 else f"{line}."
             for index, line in enumerate(src)]  # fmt: skip
    paths = tmp_path / "a.he", tmp_path / "a.en"
    paths[0].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    paths[1].write_text("".join(f"line {number}.\n" for number in range(len(lines))))
    values = {
        "data.train": [tuple(map(str, paths))], "languages.src": "he", "languages.tgt": "en",
        "data.vocab_size": 60,
    }  # fmt: skip
    config = resolve([SettingsLayer("test", values)]).config
    prepared = prepare(config, tmp_path / "corpus", workers=1)
    assert prepared.src.unknowns == 0
    assert list(read_lines(tmp_path / "corpus" / "train.src.txt")) == lines
    subwords = Subwords.load(tmp_path / "corpus" / "subwords")
    pieces = subwords.source_pieces(range(subwords.src_size))
    assert not {*MARKS} & {*"".join(pieces)}
