"""The package for Argos Translate: its layout, and its model run as that program runs it."""

import json
import zipfile
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece
from exported import joint_subwords, letter_lines, random_model, segmenter
from faults.support.letters import learnt_subwords

from nmt_cli.cli import main
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.exchange.formats.ctranslate2.argos import TARGET
from nmt_cli.model_dir import load_model
from nmt_cli.translation.translator import Translator


@pytest.fixture(scope="module")
def package(letters_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("argos")
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{line}\n" for line in letter_lines(5)))
    arguments = ["--to", "argos", "--out", str(folder / "out"), "--check", str(lines)]
    assert main(["export", str(letters_model), *arguments]) == 0
    return folder / "out" / "translate-src_tgt-1_0.argosmodel"


def test_package_has_the_layout_of_argos(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        names = [Path(name) for name in archive.namelist()]
        metadata = json.loads(archive.read("translate-src_tgt-1_0/metadata.json"))
    assert {name.parts[0] for name in names} == {package.stem}
    assert {str(Path(*name.parts[1:])) for name in names} == {
        "metadata.json", "README.md", "sentencepiece.model", "model/model.bin",
        "model/config.json", "model/shared_vocabulary.json",
    }  # fmt: skip
    assert metadata == {
        "package_version": "1.0", "argos_version": "1.0",
        "from_code": "src", "from_name": "src", "to_code": "tgt", "to_name": "tgt",
    }  # fmt: skip
    assert {path.name for path in package.parent.iterdir()} == {
        package.name, "export.json", "manifest.json",
    }  # fmt: skip


def test_package_names_its_languages(tmp_path: Path) -> None:
    """Those without an English name by their codes; Argos Translate shows the names."""
    TARGET.write(random_model({"languages.src": "de", "languages.tgt": "xx"}), tmp_path, "float32")
    with zipfile.ZipFile(tmp_path / "translate-de_xx-1_0.argosmodel") as archive:
        metadata = json.loads(archive.read("translate-de_xx-1_0/metadata.json"))
    assert [metadata[f"{side}_{kind}"] for side in ("from", "to") for kind in ("code", "name")] == [
        "de", "German", "xx", "xx",
    ]  # fmt: skip


def test_search_of_argos_is_recorded(package: Path) -> None:
    """It is that of `argostranslate.translate`, whatever the model's own settings."""
    record = json.loads((package.parent / "export.json").read_bytes())
    assert record["search"] == {"beam_size": 4, "length_penalty": 0.2}
    assert "not with those of this model" in record["notes"][0]


def test_package_translates_as_nmt(package: Path, letters_model: Path, tmp_path: Path) -> None:
    """With the segmenter beside the model, and pieces joined by replacing their space."""
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / package.stem
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    engine = ctranslate2.Translator(str(folder / "model"), device="cpu", intra_threads=1)
    lines = letter_lines(4)
    results = engine.translate_batch(
        [processor.encode(line, out_type=str) for line in lines], beam_size=1,
        length_penalty=0.2, replace_unknowns=True,
    )  # fmt: skip
    actual = ["".join(each.hypotheses[0]).replace("▁", " ").strip() for each in results]
    loaded = load_model(letters_model)
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    assert actual == [each.text for each in translator.translate(lines, beam=1)]


def test_same_model_gives_the_same_package(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        TARGET.write(random_model({}), tmp_path / name, "int8")
        [package] = (tmp_path / name).iterdir()
        contents.append(package.read_bytes())
    assert contents[0] == contents[1]


def test_argos_refuses_pieces_of_bytes() -> None:
    loaded = random_model({}, learnt_subwords("bpe", byte_fallback=True))
    [reason] = TARGET.reasons_against(loaded)
    assert reason.remedy == "data.byte_fallback=false"


def test_argos_refuses_two_segmenters() -> None:
    [reason] = TARGET.reasons_against(random_model({"model.tie_embeddings": "target"}))
    assert reason.remedy == "data.joint=true"
    assert TARGET.reasons_against(random_model({}, joint_subwords("unigram"))) == []
    assert TARGET.reasons_against(random_model({}, Subwords(segmenter("chars", 60, ["ab"])))) == []
