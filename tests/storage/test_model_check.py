"""A directory or file of another toolkit is named in the error, with how to import it."""

from pathlib import Path

import pytest

from nmt_cli.errors import ConfigError, NoInputError
from nmt_cli.storage.model_check import NO_IMPORT, require_model_directory

IMPORT = "import it: `nmt import {} --out model`"
# The files of a directory, the toolkit that is named, and the path to import, if there is one.
DIRECTORIES = [
    (["model.bin", "config.json", "shared_vocabulary.json"], "CTranslate2", None),
    (["model.bin", "source_vocabulary.txt", "target_vocabulary.txt"], "CTranslate2", None),
    (["metadata.json", "sentencepiece.model", "model/model.bin"], "Argos Translate", None),
    (["encoder_model.onnx", "config.json", "vocab.json"], "ONNX", None),
    (["config.json", "model.safetensors", "vocab.json"], "Hugging Face", "other"),
    (["decoder.yml", "model.npz", "vocab.spm"], "Marian", "other"),
    (["model.npz", "vocab.spm"], "Marian", "other/model.npz"),
    (["checkpoint_best.pt", "dict.en.txt", "dict.de.txt"], "fairseq", "other"),
    (["m_step_9000.pt", "m_step_10000.pt"], "OpenNMT-py", "other/m_step_10000.pt"),
    (["ckpt-1.index", "checkpoint"], "OpenNMT-tf", None),
    (["1.ckpt", "config.yaml"], "Joey NMT", None),
    (["params.best", "symbol.json"], "Sockeye", None),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(path: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        require_model_directory(Path(path))
    return caught.value


@pytest.mark.parametrize(("names", "toolkit", "path"), DIRECTORIES)
def test_directory_of_another_toolkit_is_named(
    names: list[str], toolkit: str, path: str | None
) -> None:
    for name in names:
        Path("other", name).parent.mkdir(parents=True, exist_ok=True)
        Path("other", name).write_bytes(b"")
    error = refused("other")
    assert error.message.endswith(f"it looks like a model of {toolkit}")
    assert error.hint == (NO_IMPORT if path is None else IMPORT.format(path))


@pytest.mark.parametrize(
    ("name", "content", "what", "hint"),
    [
        ("model.npz", b"PK\x03\x04", "it looks like weights of Marian", IMPORT.format("model.npz")),
        ("model.onnx", b"", "it looks like a model in ONNX", NO_IMPORT),
        ("checkpoint_best.pt", b"PK\x03\x04", "which nmt never loads",
         "import it if it is a checkpoint of fairseq or OpenNMT-py: "
         "`nmt import checkpoint_best.pt --out model` reads it without running code of it"),
        ("other.pt", b"no pickle", "it is not a directory",
         "a model directory is what `nmt train` and `nmt average` write"),
    ],
)  # fmt: skip
def test_file_of_another_toolkit_is_named(name: str, content: bytes, what: str, hint: str) -> None:
    Path(name).write_bytes(content)
    error = refused(name)
    assert error.message.endswith(what)
    assert error.hint == hint


@pytest.mark.parametrize("name", ["model.tar.gz", "model.tar", "a.model.tgz"])
def test_packed_model_is_to_be_unpacked(name: str) -> None:
    Path(name).write_bytes(b"")
    error = refused(name)
    assert error.message.endswith("it is an archive")
    assert error.hint == f"unpack it, such as with: tar xf {name}"


def test_a_checkpoint_that_training_removed_is_explained_by_those_it_has_kept() -> None:
    for name in ("step-000000900", "step-000000600"):
        Path("model/checkpoints", name).mkdir(parents=True)
    with pytest.raises(NoInputError) as caught:
        require_model_directory(Path("model/checkpoints/step-000000300"))
    assert "has kept step-000000600 and step-000000900; train.keep_last" in caught.value.hint
    with pytest.raises(NoInputError) as caught:
        require_model_directory(Path("model/checkpoints/other"))
    assert "has kept" not in caught.value.hint
