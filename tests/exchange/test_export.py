"""What `nmt export` writes, refuses and compares; nothing is left behind when it fails."""

import errno
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from exported import letter_lines, random_model, segmenter
from faults.support.disks import FailingDisk, WatchedDisk, on
from faults.tally import fault

import nmt_cli
from nmt_cli.cli import main
from nmt_cli.exchange import export, target
from nmt_cli.exchange.formats.ctranslate2 import target as ctranslate2
from nmt_cli.installation import install_command
from nmt_cli.model_dir import save_model

LINES = "lines.txt"


@pytest.fixture(autouse=True)
def folder(letters_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(letters_model, "model", ignore=shutil.ignore_patterns("checkpoints"))
    Path(LINES).write_text("".join(f"{line}\n" for line in letter_lines(8)))
    return tmp_path


def run(*arguments: str, to: str = "ctranslate2") -> int:
    return main(["export", "model", "--to", to, "--out", "out", *arguments])


def left_behind() -> set[str]:
    """What lies in the folder besides the inputs, hidden names included."""
    return {path.name for path in Path().iterdir()} - {"model", LINES}


def save_random(settings: dict[str, object], path: str = "model") -> None:
    shutil.rmtree(path, ignore_errors=True)
    loaded = random_model(settings)
    save_model(Path(path), loaded.model.state_dict(), loaded.config, loaded.subwords, {})


def test_export_writes_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--check", LINES, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    record = json.loads(Path("out/export.json").read_bytes())
    weights = json.loads(Path("model/manifest.json").read_bytes())["files"]["model.safetensors"]
    assert record["source"]["sha256"]["model.safetensors"] == weights["sha256"]
    assert record["versions"]["nmt"] == nmt_cli.__version__
    assert set(record["versions"]) == {"nmt", "ctranslate2"}
    assert record["check"] == shown["check"]
    assert record["check"]["lines"] == record["check"]["equal_translations"] == 8
    assert record["check"]["scored_pairs"] == 16
    assert 0 < record["check"]["log_prob_difference"] < 1e-3
    assert record["search"]["length_penalty"] == 0.6
    assert "length penalty" in record["notes"][0]
    assert sorted(shown["files"]) == sorted(
        path.name for path in Path("out").iterdir() if path.name != "manifest.json"
    )


NORMALISE = "`sacremoses -l en -q normalize < FILE`"


@pytest.mark.parametrize("is_normalised", [True, False])
@pytest.mark.parametrize("to", ["ctranslate2", "argos"])
def test_export_says_that_text_has_to_be_normalised(
    is_normalised: bool, to: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """nmt itself normalises text to translate for a model that was trained with --normalize."""
    settings = {"languages.src": "eng", "languages.tgt": "xx", "data.normalize": is_normalised}
    save_random(settings)
    assert run("--no-check", "--json", to=to) == 0
    captured = capsys.readouterr()
    pages = [path.read_text() for path in Path("out").glob("README.md")]
    for package in Path("out").glob("*.argosmodel"):
        with zipfile.ZipFile(package) as archive:
            pages.append(archive.read(f"{package.stem}/README.md").decode())
    notes = [captured.err, *json.loads(captured.out)["notes"][-1:], *pages]
    assert len(notes) == 3
    for note in notes:
        assert (NORMALISE in " ".join(note.split())) == is_normalised


def test_check_translates_tags_and_placeholders_like_words() -> None:
    """Other toolkits have no tags: keeping them would make every such line differ."""
    lines = [f"<b>{line}</b> {{x}}" for line in letter_lines(4)]
    Path(LINES).write_text("".join(f"{line}\n" for line in lines))
    assert run("--check", LINES) == 0
    record = json.loads(Path("out/export.json").read_bytes())
    assert record["check"]["equal_translations"] == 4


def test_missing_lines_of_the_check_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The hint of `nmt translate`, which takes text on stdin, does not fit here."""
    assert run("--check", "nofile") == 66
    message = capsys.readouterr().err
    assert "`nofile`" in message
    assert "translate" not in message
    assert left_behind() == set()


def test_export_without_check_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--no-check") == 0
    assert json.loads(Path("out/export.json").read_bytes())["check"] is None
    assert "was not compared" in capsys.readouterr().err


def test_export_without_lines_makes_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert "20 lines made of the model's subwords" in capsys.readouterr().err


def transposed(write):
    """The writer of linear layers, with the axes of square matrices swapped."""

    def broken(self, linear, name):
        write(self, linear, name)
        if "output" in name:
            linear.weight = linear.weight.T.copy()

    return broken


CORRUPTIONS = {
    "axes of a matrix": ("_fill_linear", transposed),
    "no scale": ("fill_embedding", lambda write: lambda self, use, stack, embedding: (
        write(self, use, stack, embedding), setattr(stack, "scale_embeddings", False))),
    "positions": ("fill_embedding", lambda write: lambda self, use, stack, embedding: (
        write(self, use, stack, embedding),
        setattr(stack.position_encodings, "encodings",
                stack.position_encodings.encodings[1:].copy()))),
    "a norm left out": ("_fill_norm", lambda write: lambda self, norm, name: (
        write(self, norm, name),
        setattr(norm, "gamma", 0 * norm.gamma + 1) if "encoder_norm" in name else None)),
}  # fmt: skip


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corrupt_export_is_refused_and_leaves_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    method, corrupted = CORRUPTIONS[name]
    write = getattr(ctranslate2._Writer, method)
    monkeypatch.setattr(ctranslate2._Writer, method, corrupted(write))
    assert run("--check", LINES) == 3
    assert "differs by" in capsys.readouterr().err
    assert left_behind() == set()


def test_wrong_segmenter_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def other(subwords, directory):
        export.files.write_bytes(directory / "source.spm", spm)
        export.files.write_bytes(directory / "target.spm", spm)

    spm = segmenter("bpe", 28, list("abcdefgh")).to_bytes()
    monkeypatch.setattr(ctranslate2, "write_segmenters", other)
    assert run("--check", LINES) == 3
    assert "into other subwords" in capsys.readouterr().err
    assert left_behind() == set()


def test_too_few_equal_translations_of_int8_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        ctranslate2.CTranslate2Translator, "translate",
        lambda self, line, **options: line if line[0] in "ab" else "x",
    )  # fmt: skip
    assert run("--check", LINES, "--precision", "int8") == 3
    assert "are translated differently by CTranslate2 (int8)" in capsys.readouterr().err
    assert left_behind() == set()


def test_model_that_cannot_be_held_is_refused_before_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_random({"model.d_k": 2, "model.d_v": 5, "model.encoder_layers": 0})
    monkeypatch.setattr(ctranslate2.CTranslate2, "write", lambda *_: pytest.fail("wrote"))
    assert run() == 78
    err = " ".join(capsys.readouterr().err.split())
    assert "model.d_k=2 differs from model.d_v=5" in err
    assert "model.encoder_layers=0" in err
    assert "train a model with model.d_v=2, model.encoder_layers=1" in err
    assert left_behind() == set()


def test_missing_library_is_named_before_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(target, "find_spec", lambda _: None)
    monkeypatch.setattr(ctranslate2.CTranslate2, "write", lambda *_: pytest.fail("wrote"))
    assert run() == 69
    assert install_command("ctranslate2") in capsys.readouterr().err
    # No package changes that the model does not fit.
    save_random({"model.d_k": 2, "model.d_v": 5})
    assert run() == 78
    assert "cannot be exported" in capsys.readouterr().err


def test_existing_output_is_replaced_only_with_force() -> None:
    assert run("--no-check") == 0
    assert run("--no-check") == 73
    assert run("--no-check", "--force") == 0
    Path("out/mine.txt").write_text("Mine.\n")
    assert run("--no-check", "--force") == 73
    assert Path("out/mine.txt").read_text() == "Mine.\n"


def test_exported_model_is_never_replaced_by_its_export() -> None:
    before = Path("model/manifest.json").read_bytes()
    assert main(["export", "model", "--to", "ctranslate2", "--out", "model", "--force"]) == 73
    assert Path("model/manifest.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--no-check", "--check", LINES], 2),
        (["--precision", "int3"], 2),
        (["--check", "absent"], 66),
        (["--check", "empty"], 65),
    ],
)
def test_export_refuses_wrong_arguments(arguments: list[str], code: int) -> None:
    Path("empty").write_text("\n")
    assert run(*arguments) == code
    assert left_behind() == {"empty"}


@fault("C3")
def test_full_disk_at_any_write_of_an_export_leaves_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with on(WatchedDisk()) as disk:
        assert run("--no-check") == 0
    shutil.rmtree("out")
    operations = disk.count
    assert operations > 10
    for at in range(1, operations + 1):
        with on(FailingDisk(at, errno.ENOSPC, lasting=True)) as failing:
            code = run("--no-check")
        if failing.failed and failing.failed[0] in FailingDisk.TAKES_SPACE:
            assert code in (73, 74)
            assert os.strerror(errno.ENOSPC) in " ".join(capsys.readouterr().err.split())
            assert left_behind() == set()
        shutil.rmtree("out", ignore_errors=True)


@fault("C3")
@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 74), (KeyboardInterrupt(), 130)],
)
def test_export_that_ends_in_the_middle_of_a_file_keeps_the_one_before(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("--no-check") == 0
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}

    def save(spec: object, directory: str) -> None:
        Path(directory, "model.bin").write_bytes(b"half")
        raise error

    monkeypatch.setattr("ctranslate2.specs.TransformerSpec.save", save)
    assert run("--no-check", "--force") == code
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    assert left_behind() == {"out"}
