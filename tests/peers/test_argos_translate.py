"""Packages for Argos Translate are installed by it, and give the translations of nmt there.

`pip install --no-deps argostranslate stanza minisbd emoji udtools udapi` and `pip install requests
termcolor platformdirs orjson` install it without the models of its sentence splitters.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from exported import learnt_lines, train_letters
from peer_results import Record

from nmt_cli.exchange.export import export_model
from nmt_cli.translation.translator import Translator

LINES = 40
# Argos Translate keeps its files in the folders of these variables.
FOLDERS = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
# Its sentence splitter downloads a model: each line is one sentence here.
PROGRAM = """
import json, sys
from importlib.metadata import version
from argostranslate import package, translate

class Whole:
    def __init__(self, package):
        pass

    def split_sentences(self, text):
        return [text]

translate.MiniSBDSentencizer = Whole
package.install_from_path(sys.argv[1])
translation = translate.get_translation_from_codes("src", "tgt")
lines = json.load(sys.stdin)
texts = [translation.translate(line) for line in lines]
print(json.dumps({"version": version("argostranslate"), "texts": texts}))
"""


def translated_by_argos(path: Path, lines: list[str], home: Path) -> dict:
    """The version of Argos Translate and its translations."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], input=json.dumps(lines), text=True,
        capture_output=True, check=True, env={**os.environ, **dict.fromkeys(FOLDERS, str(home))},
    )  # fmt: skip
    return json.loads(result.stdout.strip().split("\n")[-1])


@pytest.mark.peers
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_packages_translate_in_argos_translate_as_in_nmt(
    precision: str, tmp_path: Path, record: Record
) -> None:
    model = train_letters(
        tmp_path / "letters", model_norm_order="pre", train_max_steps=240, train_validate_every=240
    )
    export = export_model(model, "argos", tmp_path / "out", precision=precision)
    [package] = (tmp_path / "out").glob("*.argosmodel")
    lines = learnt_lines(LINES)
    found = translated_by_argos(package, lines, tmp_path)
    # What Argos Translate sets for CTranslate2.
    expected = Translator.load(model).translate(
        lines, beam=4, length_penalty="power", alpha=0.2, sentences="line"
    )
    equal = sum(text.text == other for text, other in zip(expected, found["texts"], strict=True))
    record(
        peer=f"argostranslate {found['version']}", precision=precision, lines=LINES,
        equal_translations=equal, different_texts=len(set(found["texts"])),
        greedy_equal_of_20=export.check.equal_translations,
    )  # fmt: skip
    assert len(set(found["texts"])) > LINES / 2
    # Argos Translate ends a beam search earlier (patience 1).
    assert equal >= (LINES - 2 if precision == "float32" else 0.9 * LINES)
