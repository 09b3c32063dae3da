"""No command writes over a file that is not its own: the table of what each may replace."""

import os
import shutil
import time
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from corpora import reversal_corpus
from faults.support.folder_contents import contents
from faults.support.forked import PATIENCE_SECONDS, become_nmt, ended, forked, start
from faults.support.letters import save_byte_model
from faults.tally import fault

from nmt_cli.cli import docs

# A user's folder in which every name that a command would write is taken.
FOREIGN = {
    **dict.fromkeys(
        [f"{split}.{end}" for split in ("train", "valid", "test", "held_out")
         for end in ("en", "de", "labels", "words", "brackets")], "My only copy.\n",
    ),
    "train.trees": "(S (NN dogs))\n",
    "parts/out.1-of-1": "Mine.\n",
    "more.trees": "(S (NN cats))\n",
    "terms.tsv": "dog\tHund\n",
    "figure.svg": "<svg/>\n",
    "nmt.toml": (
        'data.train = [["train.en", "train.de"], ["train.words", "train.brackets"]]\n'
        'data.valid = ["valid.en", "valid.de"]\ndata.test = ["test.en", "test.de", "figure.svg"]\n'
    ),
    "log.jsonl": "{}\n",
    "foreign/config.json": '{"model_type": "marian"}\n',
    "config.toml": 'title = "My site"\n',
    "manifest.json": '{"name": "My site"}\n',
    "test.output.de": "Mine.\n",
    ".nmt-demo.json": "{}\n",
    **{f"{name}.svg": "<svg><metadata>mine</metadata></svg>\n"
       for name in ("positions", "schedule", "smoothing", "layers")},
    "attention.html": "<!doctype html>\n<title>Mine</title>\n",
    **{f"{folder}/{name}": "Mine.\n"
       for folder in ("corpus", "model", "average", "model-average", "nmt-demo")
       for name in ("notes.txt", "log.jsonl", "train.en", "subwords/source.model")},
    # As a web site has it, which looks a little like a model directory and a corpus.
    **{f"{folder}/{name}": text
       for folder in ("corpus", "model", "average", "model-average")
       for name, text in (("manifest.json", '{"name": "My site"}\n'), ("config.toml", "a = 1\n"),
                          ("corpus.json", "{}\n"))},
    "vocabulary/subwords/source.txt": "Mine.\n",
    "manifests/manifest.json": '{"format": "3", "files": []}\n',
}  # fmt: skip


class Try(NamedTuple):
    """A command line, how it ends, and the files that it makes or replaces."""

    line: str
    code: int = 73
    writes: tuple[str, ...] = ()


def refused(*lines: str) -> list[Try]:
    return [Try(line) for line in lines]


# Each file that is still needed, by several ways.
NEEDED = (
    "train.de", "./train.de", "valid.en", "test.de", "soft", "hard", "sub/../train.en", "nmt.toml",
    "own/config.toml", "own/model.safetensors", "own/new", "own-link/new", "own-hard",
    "text/train/src",
)  # fmt: skip
TRAIN = "--set train.max_steps=1 --set train.validate_every=1 --quiet"
# Every command, and what it may replace: nothing that is there, but for what it has written before,
# and with --force an ordinary file that is named as its output.
TABLE: dict[str, list[Try]] = {
    "nmt init": [
        *refused("--src-lang en --tgt-lang de", "--train train.en train.de ."),
        # It cannot tell which of the languages found here is translated from.
        Try("", 2),
        Try("--src-lang en --tgt-lang de --force", 0, ("nmt.toml",)),
    ],
    "nmt prepare": [
        *refused("", "--force", "--out model --force", "--out train.en", "--out train.en --force"),
        *refused("--out nmt-demo --force", "--out . --force", "--out manifests --force"),
        # A corpus of nmt, into which somebody has put a file.
        *refused("--out filled --force"),
        # A list of pairs replaces only a list of its kind.
        *refused(
            *(
                f"--out new --force {option} {name}"
                for option in ("--dropped", "--repaired")
                for name in ("valid.de", "terms.tsv", "log.jsonl", "settings", "nmt.toml", "own/x")
            )
        ),
        # What the vocabulary is taken from.
        *refused(
            *(
                f"--subwords-from {source} --out {source}{place} --force"
                for source in ("own", "text")
                for place in ("", "/new")
            )
        ),
    ],
    "nmt train": [
        *refused(
            *(
                f"--corpus text {TRAIN} --out {out}"
                for out in (
                    "model",
                    "corpus",
                    ".",
                    "train.en",
                    "nmt-demo",
                    "vocabulary",
                    "manifests",
                )
            )
        ),
        Try(f"{TRAIN} --corpus corpus --out new", 65),
        # The model whose weights training begins with.
        *refused(
            *(
                f"--corpus text {TRAIN} --init-from own --out {out}"
                for out in ("own", "own/new", "own-link", "own-link/new", "own/../own")
            )
        ),
    ],
    "nmt runs": [
        *refused(". --out figure.svg", ". --out own/new.svg --force", ". --out layers.svg"),
        Try(". --out train.de", 2),
        # The folder has a log, without a record.
        Try(".", 0),
    ],
    "nmt average": [
        *refused("own"),
        *refused(
            *(
                f"own own --force --out {out}"
                for out in (
                    "model",
                    "corpus",
                    "average",
                    "model-average",
                    "nmt-demo",
                    ".",
                    "train.en",
                    "own",
                    "own-link",
                    "manifests",
                    "filled",
                )
            )
        ),
    ],
    "nmt convert": [
        *refused(*(f"terms.tsv --columns 1 -o {out}" for out in NEEDED)),
        # It reads no model, and a link to a file of one is replaced, not that file.
        *refused(
            *(f"terms.tsv --columns 1 -o {out} --force" for out in NEEDED if out != "own-hard")
        ),
        *refused(
            "terms.tsv --columns 2,1 -o terms.tsv --force", "terms.tsv --columns 1 -o log.jsonl"
        ),
        Try("terms.tsv --columns 2,1 -o new", 0, ("new",)),
        Try("terms.tsv --columns 2,1 -o config.toml --force", 0, ("config.toml",)),
        # What fails replaces nothing.
        Try("terms.tsv -o config.toml --force", 65),
    ],
    "nmt shortlist": [Try("--corpus text --model model", 78), Try("--corpus text --model .", 65)],
    "nmt translate": [
        *refused(*(f"test.en --model own -o {out}" for out in NEEDED)),
        *refused("--model own more.trees -o more.trees"),
        *refused("--model own --document test.en --kind text -o test.en --force"),
        *refused("--model own test.en -o terms.tsv --glossary terms.tsv"),
        *refused("--model own test.en -o terms.tsv --ban terms.tsv"),
        *refused("--model own test.en -o terms.tsv --keep more.trees --keep terms.tsv --force"),
        *refused("--model own test.en -o terms.tsv --prefix terms.tsv"),
        *refused("--model own test.en -o settings --config settings"),
        *refused("--model own test.en -o config.toml", "--model own test.en -o test.output.de"),
        *refused(*(f"test.en --model own -o {out} --force" for out in NEEDED)),
        Try("--model own --beam 1 test.en -o config.toml --force", 0, ("config.toml",)),
        Try("--model own --beam 1 test.en -o new", 0, ("new",)),
        Try("--model model test.en -o newer", 78),
        *refused(*(f"--join parts/out.{{part}} -o {out}" for out in ("parts/out.1-of-1", "own/x"))),
        *refused(
            "--join parts/out.{part} -o more.trees", "--join parts/out.{part} -o train.de --force"
        ),
        Try("--join parts/out.{part} -o joined", 0, ("joined",)),
    ],
    "nmt score": [
        Try("test.de test.de", 0),
        Try("train.en valid.en", 0),
        *refused(*(f"test.de valid.en --junit {out}" for out in (*NEEDED, "more.trees"))),
        *refused("more.trees test.de --junit more.trees --force", "test.de --junit own/x --force"),
        *refused("test.de valid.en --by terms.tsv --junit terms.tsv --force"),
        Try("test.de valid.en --junit new.xml", 0, ("new.xml",)),
        Try("test.de valid.de --junit new.xml", 0, ("new.xml",)),
        Try("test.de valid.en --junit more.trees --force", 0, ("more.trees",)),
    ],
    "nmt import": [
        *refused(
            *(
                f"foreign --no-check --out {out}"
                for out in ("model", "corpus", ".", "train.en", "own", "own-link")
            )
        ),
        *refused(
            "foreign --no-check --out model --force", "foreign --no-check --out filled --force"
        ),
    ],
    "nmt export": [
        *refused(
            *(
                f"own --to ctranslate2 --force --out {out}"
                for out in (
                    "model",
                    "corpus",
                    ".",
                    "train.en",
                    "own",
                    "own-link",
                    "manifests",
                    "filled",
                )
            )
        ),
        *refused("own --to ctranslate2 --out text"),
        # Bytes have no sentencepiece file.
        Try("own --to ctranslate2 --out new", 78),
    ],
    "nmt info": [Try("own", 0), Try("model", 78)],
    "nmt demo": refused(
        ".", "", "nmt-demo", "sub", "model", "vocabulary", "train.en", "own", "to-here"
    ),
    "nmt parse text": [
        *refused(*(f"--model own test.en -o {out}" for out in NEEDED)),
        *refused("--model own more.trees -o more.trees"),
        *refused("--model own test.en -o config.toml"),
        Try("--model own --beam 1 test.en -o config.toml --force", 0, ("config.toml",)),
    ],
    "nmt parse prepare": [
        *refused(
            "more.trees --out train",
            "more.trees --out more",
            "train.trees --out sub/../train",
            "more.trees --out more --force",
            "train.trees --out valid",
        ),
        Try("more.trees --out new", 0, ("new.words", "new.brackets", "new.trees")),
        Try("train.trees --out new"),
        Try("train.trees --out new --force", 0, ("new.words", "new.trees")),
    ],
    "nmt parse score": [Try("train.trees more.trees", 0)],
    # It writes no files.
    "nmt serve": [Try("own --token-file empty", 66), Try("own --port 99999", 2)],
    "nmt attention": [
        *refused("--model own a"),
        *refused(*(f"--model own a --out {out}" for out in ("figure.svg", "own/new.html"))),
        Try("--model own a --out train.de", 2),
        Try("--model own a --json", 0),
        *refused("--model own a --out layers.svg", "--model own a --out figure.svg --force"),
        Try("--model own a --out layers.svg --force", 0, ("layers.svg",)),
    ],
    "nmt plot": [
        *refused("positions", "schedule", "smoothing"),
        *refused("schedule --out figure.svg", "schedule --out own/new.svg"),
        Try("schedule --out nmt.toml", 2),
        *refused("schedule --out layers.svg", "schedule --out own/new.svg --force"),
        Try("schedule --out layers.svg --force", 0, ("layers.svg",)),
    ],
    "nmt bench layers": [
        *refused("--tiny --out figure.svg", "--tiny --out own/new.svg"),
        Try("--tiny --out train.de", 2),
        *refused("--tiny --rounds 1 --out layers.svg"),
        Try("--tiny --rounds 1 --out layers.svg --force", 0, ("layers.svg",)),
    ],
    "nmt bench table2": [Try("--model own", 66), Try("--test test.de test.de --model model", 65)],
    "nmt bench table3": [Try("corpus", 66)],
    "nmt config presets": [Try("", 0)],
    "nmt config show": [Try("", 0)],
    "nmt config save": [
        Try("own --beam 3", 0, ("own/config.toml", "own/manifest.json", "own/.lock")),
        Try("model --beam 3", 78),
        Try("corpus --beam 3", 78),
        Try("sub --beam 3", 78),
        Try("text --beam 3", 78),
    ],
    "nmt doctor": [Try("", 0)],
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's folder, beside a model (`own`) and a corpus (`text`) that are nmt's."""
    folder = tmp_path_factory.mktemp("foreign") / "user"
    for name, content in FOREIGN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "sub" / ".git").mkdir(parents=True)
    save_byte_model(folder / "own")
    reversal_corpus(folder.parent / "made", pairs=40)
    shutil.copytree(folder.parent / "made" / "corpus", folder / "text")
    shutil.copytree(folder / "text", folder / "filled")
    (folder / "filled" / "notes.txt").write_text("Mine.\n")
    (folder / "settings").write_text('languages.src = "en"\n')
    (folder / "soft").symlink_to("train.de")
    (folder / "own-link").symlink_to("own")
    (folder / "to-here").symlink_to(".")
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(template, tmp_path / "user", symlinks=True)
    monkeypatch.chdir(tmp_path / "user")
    Path("hard").hardlink_to("train.de")
    Path("own-hard").hardlink_to("own/model.safetensors")
    return tmp_path / "user"


def leaves() -> list[str]:
    """The full names of all commands that have none below them."""
    paths = [path for path, *_ in docs.walk_commands()]
    return [path for path in paths if not any(other.startswith(f"{path} ") for other in paths)]


def test_overwriting_table_lists_every_command() -> None:
    assert sorted(TABLE) == sorted(leaves()), "a new command: what may it write over?"


def test_overwriting_table_covers_every_output_option() -> None:
    for path, command, _ in docs.walk_commands():
        names = {name for parameter in command.params for name in parameter.opts}
        if names & {"--out", "--output", "folder"}:
            assert sum(case.code == 73 for case in TABLE[path]) >= 2, path


@fault("I13")
@pytest.mark.slow
@pytest.mark.parametrize("command", TABLE)
def test_commands_leave_other_files_unchanged(folder: Path, command: str, checks) -> None:
    before = contents(folder)
    for line, code, writes in TABLE[command]:
        result = forked(*command.split()[1:], *line.split())
        assert result.code == code, (line, result.err)
        after = contents(folder)
        assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {
            *writes
        }, line
        checks()
        if code == 73:
            assert result.err.startswith(b"error: "), line
            assert b"hint: " in result.err, line
        before = after


@fault("I12")
def test_protected_input_is_recognised_through_any_path(folder: Path, checks) -> None:
    """From other folders, through links, by another project file, as validation text."""
    (folder / "plain").write_text("a\n")
    (folder / "elsewhere.toml").write_text('data.train = [["plain", "train.en"]]\n')
    (folder / "checked.toml").write_text('data.valid = ["plain", "train.en"]\n')
    before = contents(folder)
    (folder.parent / "away").mkdir()
    for name, lines in {
        "user": [
            "-o plain --config elsewhere.toml", "-o elsewhere.toml --config elsewhere.toml",
            "-o plain --config checked.toml", "-o to-here/to-here/train.de",
            f"-o {folder}/train.de", f"-o {folder}/own/../hard",
        ],
        "away": ["-o ../user/train.de", "-o ../user/soft", f"-o {folder}/nmt.toml",
                 "-o ../user/own/new", "-o ../user/own-link/config.toml"],
    }.items():  # fmt: skip
        os.chdir(folder.parent / name)
        for line in lines:
            arguments = ["--model", str(folder / "own"), *line.split()]
            result = forked("translate", *arguments, stdin=b"a\n")
            assert result.code == 73, (line, result.err)
            assert contents(folder) == before, line
            checks()


def test_text_of_project_file_may_be_created_but_not_replaced(folder: Path) -> None:
    """Back-translation: nmt.toml names what `nmt translate` is to write."""
    Path("train.de").unlink()
    Path("hard").unlink()
    arguments = ["translate", "--model", "own", "--beam", "1", "test.en", "-o", "train.de"]
    assert forked(*arguments).code == 0
    made = Path("train.de").read_bytes()
    result = forked(*arguments)
    assert result.code == 73
    assert b"`train.de` is named as data.train by `nmt.toml`" in result.err
    assert Path("train.de").read_bytes() == made


def test_unreadable_project_file_still_protects_outputs(folder: Path) -> None:
    """Where nothing would be replaced, other commands do not mind it."""
    Path("nmt.toml").write_text("data.train = [\n")
    assert forked("bench", "layers", "--tiny", "--out", "figure.svg").code == 78
    assert Path("figure.svg").read_text() == FOREIGN["figure.svg"]
    assert forked("bench", "layers", "--tiny", "--rounds", "1", "--out", "new.svg").code == 0


def test_empty_file_is_replaced_without_force(folder: Path) -> None:
    Path("made").touch()
    Path("other").touch()
    Path("link").symlink_to("other")
    for output in ("made", "link", "/dev/null"):
        line = f"translate --model own --beam 1 test.en -o {output}"
        assert forked(*line.split()).code == 0, output
    line = "translate --model own --beam 1 test.en -o made"
    refused_again = forked(*line.split())
    assert refused_again.code == 73
    assert refused_again.err == (
        b"error: `made` exists already\n\n"
        b"hint: choose another file, or replace this one with --force\n"
    )
    refused_both = forked(*line.split(), "--flag-file", "link")
    assert refused_both.err == (
        b"error: `made`, `link` exist already\n\n"
        b"hint: choose other files, or replace these with --force\n"
    )


@fault("I9")
@pytest.mark.parametrize("force", [False, True])
def test_output_that_another_command_wrote_meanwhile_is_kept(folder: Path, force: bool) -> None:
    reader, writer = os.pipe()
    error = os.open("said", os.O_RDWR | os.O_CREAT)
    line = f"translate --model own --beam 1 -o made {'--force' if force else ''}"

    def work() -> NoReturn:
        os.close(writer)
        become_nmt(line.split(), (reader, error, error))

    process = start(work)
    until = time.monotonic() + PATIENCE_SECONDS
    while not list(folder.glob(".tmp-made*")):
        assert time.monotonic() < until
        time.sleep(0.01)
    Path("made").write_text("Mine.\n")
    os.write(writer, b"a\n")
    os.close(writer)
    assert ended(process) == (0 if force else 73), Path("said").read_bytes()
    assert (Path("made").read_text() == "Mine.\n") is not force
    assert Path("made-2").exists() is not force
    assert (b"another process has written `made`" in Path("said").read_bytes()) is not force


def test_own_pictures_are_replaced_without_force(folder: Path) -> None:
    drawn = {"schedule.svg": "plot schedule", "attention.html": "attention a --model own"}
    for name, line in drawn.items():
        Path(name).unlink()
        assert forked(*line.split()).code == 0
        Path(name).write_text(Path(name).read_text() + "<!-- old -->")
        assert forked(*line.split()).code == 0
        assert "<!-- old -->" not in Path(name).read_text()


def test_force_replaces_outputs_of_nmt(folder: Path) -> None:
    """Also a damaged one, with what an interrupted command has left in it."""
    command = ("average", "own", "own", "--force", "--out", "mean")
    assert forked(*command).code == 0
    before = contents(folder / "mean")
    for name in (".lock", ".tmp-x.1@y/z", "config.toml"):
        path = Path("mean") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert forked(*command).code == 0
    assert contents(folder / "mean") == before
