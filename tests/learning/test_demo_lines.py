"""The model of `nmt demo` on two lines that are like real text, unlike its own sentences."""

from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.translation.translator import Translator

SENTENCES = "I have 3 dogs. He is at home. She sings."
MARKED = "The <b>small</b> dog sleeps in {place} at https://x.org/a?b=1."


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_two_lines_of_real_text(tmp_path: Path) -> None:
    """Trains the whole demo, which takes minutes."""
    assert main(["demo", str(tmp_path / "demo"), "--quiet"]) == 0
    translator = Translator.load(tmp_path / "demo" / "model")
    several, marked = translator.translate([SENTENCES, MARKED])
    # A sentence that is like those of the demo is translated as if it stood alone.
    expected = ["Ich habe 3 Hunde.", "Er ist zu Hause.", "Sie singt."]
    assert [sentence.text for sentence in several.sentences] == expected
    assert several.text == " ".join(expected)
    assert several.flags == ()
    # Nothing like tags, placeholders and addresses was in the training text.
    assert {"unknown_words", "low_confidence"} <= set(marked.flags)
