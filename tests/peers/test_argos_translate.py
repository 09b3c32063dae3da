"""Packages for Argos Translate are installed by it, and give the translations of nmt there.

`pip install --no-deps argostranslate stanza minisbd emoji udtools udapi` and `pip install requests
termcolor platformdirs orjson` install it without the models of its sentence splitters.
LibreTranslate needs other versions of packages: in the root of the repository, `python -m venv
.venv-libretranslate` and `.venv-libretranslate/bin/pip install libretranslate`.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from exported import learnt_lines, train_letters
from peer_results import Record

from nmt_cli.cli import main
from nmt_cli.exchange.export import export_model
from nmt_cli.model_dir import load_model, save_model
from nmt_cli.translation.translator import Translator

LINES = 40
# Argos Translate keeps its files in the folders of these variables.
FOLDERS = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
ROOT = Path(__file__).resolve().parents[2]
LIBRETRANSLATE = ROOT / ".venv-libretranslate/bin/python"
# Its sentence splitter downloads a model: each line is one sentence here.
WHOLE_LINES = """
from argostranslate import translate

class Whole:
    def __init__(self, package):
        pass

    def split_sentences(self, text):
        return [text]

translate.MiniSBDSentencizer = Whole
"""
PROGRAM = f"""{WHOLE_LINES}
import json, sys
from importlib.metadata import version
from argostranslate import package

package.install_from_path(sys.argv[1])
translation = translate.get_translation_from_codes("en", "de")
lines = json.load(sys.stdin)
texts = [translation.translate(line) for line in lines]
print(json.dumps({{"version": version("argostranslate"), "texts": texts}}))
"""


def environment(home: Path) -> dict[str, str]:
    """An environment in which Argos Translate keeps its files in `home`."""
    return {**os.environ, **dict.fromkeys(FOLDERS, str(home))}


def translated_by_argos(path: Path, lines: list[str], home: Path) -> dict:
    """The version of Argos Translate and its translations."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], input=json.dumps(lines), text=True,
        capture_output=True, check=True, env=environment(home),
    )  # fmt: skip
    return json.loads(result.stdout.strip().split("\n")[-1])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model that copies letters, as one from English to German and one in the other direction."""
    folder = tmp_path_factory.mktemp("letters")
    loaded = load_model(
        train_letters(folder, model_norm_order="pre", train_max_steps=240, train_validate_every=240)
    )
    directions = ("en", "de"), ("de", "en")
    for source, target in directions:
        languages = replace(loaded.config.languages, src=source, tgt=target)
        config = replace(loaded.config, languages=languages)
        weights = loaded.model.state_dict()
        (folder / source).mkdir()
        save_model(folder / source, weights, config, loaded.subwords, {})
    return folder / "en", folder / "de"


def expected_translations(model: Path, lines: list[str]) -> list[str]:
    """Translations of nmt with what Argos Translate sets for CTranslate2."""
    search = {"beam": 4, "length_penalty": "power", "alpha": 0.2, "sentences": "line"}
    return [text.text for text in Translator.load(model).translate(lines, **search)]


@pytest.mark.peers
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_packages_translate_in_argos_translate_as_in_nmt(
    precision: str, models: tuple[Path, Path], tmp_path: Path, record: Record
) -> None:
    model = models[0]
    export = export_model(model, "argos", tmp_path / "out", precision=precision)
    [package] = (tmp_path / "out").glob("*.argosmodel")
    lines = learnt_lines(LINES)
    found = translated_by_argos(package, lines, tmp_path)
    expected = expected_translations(model, lines)
    equal = sum(text == other for text, other in zip(expected, found["texts"], strict=True))
    record(
        peer=f"argostranslate {found['version']}", precision=precision, lines=LINES,
        equal_translations=equal, different_texts=len(set(found["texts"])),
        greedy_equal_of_20=export.check.equal_translations,
    )  # fmt: skip
    assert len(set(found["texts"])) > LINES / 2
    # Argos Translate ends a beam search earlier (patience 1).
    assert equal >= (LINES - 2 if precision == "float32" else 0.9 * LINES)


def commands_of_the_page() -> list[list[str]]:
    page = (ROOT / "docs/exchange.md").read_text(encoding="utf-8")
    [block] = re.findall(r"### Packages for Argos .*?```text\n(.*?)```", page, re.DOTALL)
    return [shlex.split(line) for line in block.splitlines()]


@pytest.mark.peers
def test_commands_of_the_page_install_and_translate(
    models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: Record
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").symlink_to(models[0])
    # Python reads this file when it starts.
    Path("sitecustomize.py").write_text(WHOLE_LINES)
    export, install, translate, _ = commands_of_the_page()
    assert main(export[1:]) == 0
    settings = {**environment(tmp_path), "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, *install[1:]], check=True, env=settings)
    # The model knows letters alone.
    program = str(Path(sys.executable).with_name(translate[0]))
    line = learnt_lines(1)[0]
    result = subprocess.run(
        [program, *translate[1:-1], line], check=True, env=settings, capture_output=True, text=True
    )
    record(commands=3, line=line, translation=result.stdout.strip())
    assert [result.stdout.strip()] == expected_translations(models[0], [line])


@contextmanager
def libretranslate(arguments: list[str], home: Path) -> Iterator[str]:
    """The address of a server of LibreTranslate, run with these arguments."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = f"{WHOLE_LINES}\nfrom libretranslate.main import main\nmain()"
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [LIBRETRANSLATE, "-c", program, *arguments, "--port", str(port), "--disable-web-ui"],
            env=environment(home), stdout=log, stderr=log,
        )  # fmt: skip
        try:
            end = time.monotonic() + 120
            while "Running on" not in (home / "log").read_text():
                assert process.poll() is None, (home / "log").read_text()
                assert time.monotonic() < end
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


@pytest.mark.peers
def test_libretranslate_serves_packages_of_both_directions(
    models: tuple[Path, Path], tmp_path: Path, record: Record
) -> None:
    """It gets nothing from the network, which the log would say."""
    install = (
        "import sys; from argostranslate.package import install_from_path as i; i(sys.argv[1])"
    )
    for model in models:
        export_model(model, "argos", tmp_path / model.name)
        [package] = (tmp_path / model.name).glob("*.argosmodel")
        subprocess.run(
            [LIBRETRANSLATE, "-c", install, package], check=True, env=environment(tmp_path)
        )
    lines = learnt_lines(LINES)
    texts = []
    program, *arguments = commands_of_the_page()[-1]
    assert program == "libretranslate"
    with libretranslate(arguments, tmp_path) as address:
        for line in lines:
            body = json.dumps({"q": line, "source": "en", "target": "de"}).encode()
            request = urllib.request.Request(
                f"{address}/translate", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request) as reply:
                texts.append(json.load(reply)["translatedText"])
    assert "pdat" not in (tmp_path / "log").read_text()
    expected = expected_translations(models[0], lines)
    equal = sum(map(str.__eq__, expected, texts))
    command = [LIBRETRANSLATE, "-m", "pip", "list", "--format", "json"]
    versions = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    [number] = [each["version"] for each in versions if each["name"] == "libretranslate"]
    record(peer=f"libretranslate {number}", lines=LINES, equal_translations=equal,
           different_texts=len(set(texts)))  # fmt: skip
    assert len(set(texts)) > LINES / 2
    assert equal >= LINES - 2
