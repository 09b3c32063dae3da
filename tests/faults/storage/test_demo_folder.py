"""`nmt demo` works in folders of its own only, and leaves what was changed there as it is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.storage.test_overwriting import contents
from faults.support.forked import forked
from faults.tally import fault

from nmt_cli.errors import CannotCreateError
from nmt_cli.extras.demo import files as demo_files
from nmt_cli.extras.demo.folder import AVERAGE, MARKER, OUTPUT, claim_folder, replacing_result
from nmt_cli.storage import files

QUICK = [
    "--set", "train.max_steps=4", "--set", "train.checkpoint_every=2", "--set",
    "data.vocab_size=300", "--set", "model.d_model=32", "--set", "train.validation_sentences=5",
    "--quiet",
]  # fmt: skip


def small(patch: pytest.MonkeyPatch) -> None:
    for name, pairs in (("TRAIN", 300), ("VALID", 12), ("TEST", 12), ("HELD_OUT", 3)):
        patch.setattr(demo_files, f"{name}_PAIRS", pairs)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run."""
    folder = tmp_path_factory.mktemp("demos") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        assert forked("demo", str(folder), *QUICK).code == 0
    return folder


@pytest.fixture
def demo(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the current directory."""
    small(monkeypatch)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(done, tmp_path / "demo")
    return Path("demo")


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a text": lambda path: (path / "train.en").write_text("mine\n"),
    "a hidden folder": lambda path: (path / ".git").mkdir(),
    "an empty folder": lambda path: (path / "model").mkdir(),
    "a link": lambda path: (path / "train.en").symlink_to("nowhere"),
    "an empty marker": lambda path: (path / MARKER).touch(),
    "a marker of something else": lambda path: (path / MARKER).write_text('{"format": 1}'),
    "a marker that is no JSON": lambda path: (path / MARKER).write_bytes(b"\xff{"),
    "a deep marker": lambda path: (path / MARKER).write_text("[" * 60_000),
    "a large marker": lambda path: (path / MARKER).write_text(" " * 70_000 + "{}"),
    "a marker that is a folder": lambda path: (path / MARKER).mkdir(),
    "a later marker": lambda path: (path / MARKER).write_text(
        '{"made_by": "nmt demo", "format": 2, "results": {}, "unfinished": []}'
    ),
    "a marker with other types": lambda path: (path / MARKER).write_text(
        '{"made_by": "nmt demo", "format": 1, "results": [], "unfinished": 5}'
    ),
}


@fault("I14")
@pytest.mark.parametrize("what", FOREIGN)
def test_demo_refuses_a_folder_with_other_files(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    FOREIGN[what](folder)
    before = contents(folder)
    for name in ("folder", "link"):
        if name == "link":
            (tmp_path / "link").symlink_to("folder")
        with pytest.raises(CannotCreateError, match=r"not made by|another version") as caught:
            claim_folder(tmp_path / name)
        assert caught.value.exit_code == 73
        assert "nmt demo my-demo" in caught.value.hint
        assert contents(folder) == before


def test_demo_ignores_a_linked_marker(tmp_path: Path) -> None:
    claim_folder(tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / MARKER).symlink_to(tmp_path / "one" / MARKER)
    with pytest.raises(CannotCreateError, match="was not made by"):
        claim_folder(tmp_path / "two")


@pytest.mark.parametrize("name", ["file", "file/below", "dangling"])
def test_demo_refuses_a_path_that_is_not_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine\n")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(CannotCreateError):
        claim_folder(tmp_path / name)
    assert sorted(contents(tmp_path)) == ["dangling", "file"]


def test_demo_interrupted_at_its_start_continues(tmp_path: Path) -> None:
    """Before the marker, in the midst of writing it, and after it."""
    (tmp_path / "empty").mkdir()
    claim_folder(tmp_path / "empty")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / f"{files.TEMPORARY_PREFIX}{MARKER}.1@elsewhere").write_text("{")
    claim_folder(tmp_path / "begun")
    for name in ("empty", "begun"):
        claim_folder(tmp_path / name)
        assert json.loads((tmp_path / name / MARKER).read_text())["format"] == 1


CHANGES: dict[str, Callable[[Path], object]] = {
    "train.en": lambda path: path.write_text("My only copy.\n"),
    "held_out.labels": lambda path: path.write_text(""),
    "valid.de": lambda path: (path.unlink(), path.mkdir()),
    OUTPUT: lambda path: path.write_text("Mine.\n"),
    AVERAGE: lambda path: (shutil.rmtree(path), path.mkdir(), (path / "notes").touch()),
    f"{AVERAGE}/notes": lambda path: path.write_text("Mine.\n"),
    "nmt.toml": lambda path: path.write_text(
        path.read_text().replace('"train.en", "train.de"', '"mine.en", "mine.de"')
    ),
    "corpus/corpus.json": lambda path: path.write_text(
        path.read_text().replace('train.de": "', 'train.de": "0')
    ),
}


@fault("I14")
@pytest.mark.parametrize("name", CHANGES)
def test_changed_demo_files_are_not_replaced(demo: Path, name: str) -> None:
    CHANGES[name](demo / name)
    changed = contents(demo / name) if (demo / name).is_dir() else (demo / name).read_bytes()
    model = contents(demo / "model")
    result = forked("demo", "demo", *QUICK)
    assert result.code == 73, result.err
    assert b"hint: " in result.err
    now = contents(demo / name) if (demo / name).is_dir() else (demo / name).read_bytes()
    assert now == changed
    # The run in it has not gone on either.
    assert contents(demo / "model") == model


def test_changed_demo_texts_are_all_named(demo: Path) -> None:
    for name in ("train.en", "test.de"):
        (demo / name).write_text("mine\n")
    result = forked("demo", "demo", *QUICK)
    assert result.code == 73
    assert b"does not replace it: `demo/train.en`, `demo/test.de`" in result.err


def test_demo_refuses_a_corpus_of_other_texts(demo: Path, tmp_path: Path) -> None:
    """The user has prepared texts of his own in the demo's folder."""
    for end in ("en", "de"):
        shutil.copy(demo / f"valid.{end}", demo / f"mine.{end}")
    arguments = ["--config", "demo/nmt.toml", "--train", "demo/mine.en", "demo/mine.de"]
    quick = ["--vocab-size", "100", "--force", "--quiet"]
    assert forked("prepare", *arguments, *quick).code == 0
    before = contents(demo)
    result = forked("demo", "demo", *QUICK)
    assert result.code == 73
    assert b"was not prepared from the demo's own texts" in result.err
    assert contents(demo) == before


@pytest.mark.slow
@fault("I14")
def test_demo_killed_while_writing_a_result_replaces_it(demo: Path) -> None:
    def interrupted(name: str, text: str) -> None:
        with replacing_result(demo, name) as path:
            (path / "config.toml" if path.is_dir() else path).write_text(text)
            raise ZeroDivisionError

    for name in (OUTPUT, AVERAGE):
        with pytest.raises(ZeroDivisionError):
            interrupted(name, "half\n")
    shutil.rmtree(demo / AVERAGE / "subwords")
    for name in ("config.toml", "text.safetensors"):
        (demo / AVERAGE / name).unlink()
    (demo / "test.en").unlink()
    assert forked("demo", "demo", *QUICK).code == 0
    assert len((demo / OUTPUT).read_text().splitlines()) == 12
    assert json.loads((demo / MARKER).read_text())["unfinished"] == []
    assert (demo / "test.en").exists()
    # And once more, with results that are longer trained for.
    more = ["train.max_steps=6" if option == "train.max_steps=4" else option for option in QUICK]
    assert forked("demo", "demo", *more).code == 0
    assert (demo / AVERAGE / "model.safetensors").is_file()
