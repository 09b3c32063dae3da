"""`--force` replaces what nmt wrote only if it is of the kind that the command writes."""

import shutil
from pathlib import Path

import pytest
from corpora import reversal_pairs, write_pairs
from faults.support.folder_contents import contents
from faults.support.forked import forked
from faults.tally import fault

PROJECT = """
languages.src = "en"
languages.tgt = "de"
data.train = [["train.src", "train.tgt"]]
data.valid = ["valid.src", "valid.tgt"]
data.subwords = "chars"
data.vocab_size = 64
train.preset = "tiny"
train.max_steps = 2
train.checkpoint_every = 1
model.d_model = 32
model.d_ff = 64
model.layers = 1
model.heads = 2
model.positions = "sinusoidal_t2t"
model.norm_order = "post"
model.zero_start = true
"""
# One command for each kind of directory that nmt writes, by the name of what it makes here.
MAKERS = {
    "corpus": "prepare --out {out} --dropped dropped.tsv --repaired repaired.tsv",
    "run": "train --out {out}",
    "average": "average run --out {out}",
    "export": "export average --to marian --no-check --out {out}",
    "import": "import export --src-lang en --tgt-lang de --no-check --out {out}",
    "demo": "",
}
CHECKPOINT = "run/checkpoints/step-000000002"
OTHERS = [*MAKERS, CHECKPOINT, f"{CHECKPOINT}.optimizer"]
# What replaces only its own kind; `nmt train` has no --force, and resumes a run.
REPLACING = {
    "corpus": "prepare --out {out} --force",
    "average": "average run --out {out} --force",
    "export": "export average --to marian --no-check --out {out} --force",
    "import": "import export --src-lang en --tgt-lang de --no-check --out {out} --force",
    "run": "train --out {out}",
    "demo": "demo {out}",
}
# What writes a file, and never into a corpus, a model or a checkpoint.
FILE_WRITERS = [
    "init --src-lang en --tgt-lang de --train train.src train.tgt {out} --force",
    "prepare --out new --force --dropped {out}/new.tsv",
    "prepare --out new --force --dropped {file}",
    "prepare --out new --force --dropped repaired.tsv",
    "prepare --out new --force --repaired {out}/new.tsv",
    "prepare --out new --force --repaired {file}",
    "prepare --out new --force --repaired dropped.tsv",
    "translate --model average valid.src -o {out}/new --force",
    "translate --model average valid.src -o {file} --force",
    "translate --model average valid.src -o new --flag-file {file} --force",
    "score valid.tgt valid.tgt --junit {file} --force",
    "parse text --model average valid.src -o {file} --force",
    "parse prepare trees --out {out}/new --force",
    "attention --model average a --out {out}/new.svg --force",
    "plot schedule --out {out}/new.svg --force",
    "runs run --out {out}/new.svg --force",
    "bench layers --tiny --rounds 1 --out {out}/new.svg --force",
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a directory of each kind; the demo's needs only its marker here."""
    folder = tmp_path_factory.mktemp("kinds") / "project"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, seed in (("train", 1), ("valid", 2)):
            write_pairs(Path(), name, reversal_pairs(60, seed))
        Path("nmt.toml").write_text(PROJECT)
        Path("trees").write_text("(S (NN dogs))\n")
        for name, command in MAKERS.items():
            if command:
                result = forked(*command.format(out=name).split())
                assert result.code == 0, (command, result.err)
        Path("demo").mkdir()
        Path("demo/.nmt-demo.json").write_text('{"made_by": "nmt demo", "format": 1}\n')
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(template, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def refuse(command: str, before: dict[str, str], folder: Path) -> str:
    """Run a command that must change nothing and exit with 73; return its message."""
    result = forked(*command.split())
    assert result.code == 73, (command, result.err)
    assert contents(folder) == before, command
    return result.err.decode()


@fault("I13")
@pytest.mark.slow
@pytest.mark.parametrize("kind", REPLACING)
def test_no_command_replaces_another_kind(folder: Path, kind: str, checks) -> None:
    before = contents(folder)
    files = ["nmt.toml", "train.src", "dropped.tsv", "repaired.tsv"]
    for other in [*OTHERS, *files]:
        # `nmt train` begins in no folder that has checkpoints, and resumes its own.
        if other != kind:
            message = refuse(REPLACING[kind].format(out=other), before, folder)
            assert "hint: " in message
            checks()


@fault("I13")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["corpus", "average", "export", "import"])
def test_every_command_replaces_its_own_kind(folder: Path, kind: str) -> None:
    path = folder / kind
    shutil.copytree(path, "new")
    (folder / "new" / ".tmp-mark").touch()
    result = forked(*REPLACING[kind].format(out="new").split())
    assert result.code == 0, result.err
    assert not Path("new/.tmp-mark").exists()


@fault("I13")
@pytest.mark.slow
@pytest.mark.parametrize("command", FILE_WRITERS)
def test_no_file_is_written_into_what_nmt_wrote(folder: Path, command: str, checks) -> None:
    before = contents(folder)
    for other in OTHERS:
        if other != "demo":
            file = next(path for path in sorted(Path(other).iterdir()) if path.is_file())
            refuse(command.format(out=other, file=file), before, folder)
            checks()


@fault("I13")
@pytest.mark.slow
def test_forced_prepare_names_the_model_in_its_place(folder: Path) -> None:
    before = contents(folder)
    for force in ("", " --force"):
        message = refuse(f"prepare --out average{force}", before, folder)
        assert message == (
            "error: `average` is a model that `nmt average` wrote, and is not replaced by a "
            "prepared corpus\n\n"
            "hint: choose another --out, or remove it yourself if you do not need it any more: "
            "`rm -r average`\n"
        )


@fault("I16")
@pytest.mark.slow
def test_training_keeps_a_model_that_is_no_run(folder: Path) -> None:
    """Of an average, an import, and trained models without their checkpoints."""
    shutil.copytree("run", "shared", ignore=shutil.ignore_patterns("checkpoints", "log.jsonl"))
    shutil.copytree("run", "lost", ignore=shutil.ignore_patterns("checkpoints"))
    before = contents(folder)
    assert "of a training run whose checkpoints are gone" in refuse(
        "train --out lost", before, folder
    )
    for name in ("average", "import", "shared"):
        message = refuse(f"train --out {name}", before, folder)
        assert "not a training run that can be resumed" in message
        assert f"add --init-from {name}" in message
