"""Kept names that end with a stop end their sentence where the line goes on with another one."""

import pytest
from byte_models import byte_config
from faults.support.letters import copying_translator

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept, KeptNames
from nmt_cli.data.sentences.splitter import SentenceSplitter
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.kept_stops import sentence_final

NAMES = ["Foo Ltd.", "Yahoo!", "Pad"]
KEPT = Kept(names=KeptNames(NAMES))
CASES = [
    ("Ich wohne in Foo Ltd. Er kam.", "Ich wohne in Anna. Er kam.", 2),
    ("Ich wohne in <b>Foo Ltd.</b> Er kam.", "Ich wohne in Anna. Er kam.", 2),
    ("Er sagt „Foo Ltd.“ Sie kam.", "Er sagt „Anna.“ Sie kam.", 2),
    ("Das ist Yahoo! Er kam.", "Das ist Anna! Er kam.", 2),
    ("Die Foo Ltd. wohnt hier. Er kam.", "Die Anna wohnt hier. Er kam.", 2),
    ("Die Foo Ltd. Berlin kam.", "Die Anna Berlin kam.", 1),
    ("Er kam mit Foo Ltd., sie nicht.", "Er kam mit Anna, sie nicht.", 1),
    ("Es kam Foo Ltd.", "Es kam Anna", 1),
    ("Es kam Foo Ltd.. Er kam.", "Es kam Anna. Er kam.", 2),
    ("Es ist ein Pad. Er kam.", "Es ist ein Anna. Er kam.", 2),
]  # fmt: skip


def ends(text: str) -> list[int]:
    found, at = [], 0
    for sentence in SentenceSplitter("de", frozenset({"ltd"})).split(text)[:-1]:
        found.append(at + len(sentence.text))
        at += len(sentence.text) + len(sentence.gap)
    return found


@pytest.mark.parametrize(("line", "expected", "_sentences"), CASES)
def test_the_word_for_a_name_has_the_stop_of_its_sentence(
    line: str, expected: str, _sentences: int
) -> None:
    pieces = parse_line(line, KEPT)
    assert carry(pieces, ["Anna"], sentence_final(pieces, ends)).text == expected


@pytest.mark.parametrize("how", ["split", "line"])
@pytest.mark.parametrize(("line", "_carrier", "sentences"), CASES)
def test_a_line_with_names_is_split_and_keeps_its_stops(
    line: str, _carrier: str, sentences: int, how: str
) -> None:
    config = byte_config({"languages.src": "de", "languages.tgt": "de"})
    translator, _ = copying_translator(config)
    constraints = Constraints(keep=NAMES)
    found = translator.translate(line, constraints=constraints, sentences=how)
    assert found.text == line
    assert len(found.sentences) == (sentences if how == "split" else 1)
