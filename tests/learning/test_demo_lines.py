"""The model of `nmt demo` on two lines that are like real text, unlike its own sentences."""

from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.translation.translator import Translator

SENTENCES = ["I have 3 dogs.", "He is at home.", "She sings."]
MARKED = "The <b>small</b> dog sleeps in {place} at https://x.org/a?b=1."
MARKS = ["<b>", "</b>", "{place}", "https://x.org/a?b=1"]


def check_lines(translator: Translator) -> None:
    """Check the two lines; their words are not the same on every machine."""
    line = translator.translate(" ".join(SENTENCES))
    alone = [translator.translate(sentence) for sentence in SENTENCES]
    assert [sentence.source for sentence in line.sentences] == SENTENCES
    assert [sentence.text for sentence in line.sentences] == [each.text for each in alone]
    assert all(sentence.text for sentence in line.sentences)
    assert line.text == " ".join(each.text for each in alone)
    # It was lost in the translation of the whole line.
    assert line.sentences[2].text == "Sie singt."
    # Nothing like tags, placeholders and addresses was in the training text.
    marked = translator.translate(MARKED)
    assert all(marked.text.count(mark) == 1 for mark in MARKS)
    assert "<b>kleine</b> Hund" in marked.text
    like_words = translator.translate(MARKED, markup="off")
    assert {"unknown_words", "low_confidence"} <= set(like_words.flags)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_two_lines_of_real_text(tmp_path: Path) -> None:
    """Trains the whole demo, which takes minutes."""
    assert main(["demo", str(tmp_path / "demo"), "--quiet"]) == 0
    check_lines(Translator.load(tmp_path / "demo" / "model"))
