"""prepare(): the corpus and the numbers of `nmt prepare`, and what it refuses."""

import json
from pathlib import Path

import pytest
from api_calls import TINY, digests, write_texts

from nmt_cli import PreparedCorpus, prepare
from nmt_cli.cli import main
from nmt_cli.config.schema import load
from nmt_cli.errors import CannotCreateError, ConfigError, DataError, NoInputError, UsageError

TRAIN, VALID = [("train.src", "train.tgt")], ("valid.src", "valid.tgt")
CHARS = {"data.subwords": "chars"}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    write_texts(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_result_has_the_numbers_of_the_command(folder, capfd):
    stages = []
    prepared = prepare(
        TRAIN, VALID, src_lang="en", tgt_lang="de", out=Path("api"), settings=CHARS,
        on_progress=lambda *stage: stages.append(stage), dropped="dropped.tsv",
        repaired="repaired.tsv",
    )  # fmt: skip
    assert isinstance(prepared, PreparedCorpus)
    assert capfd.readouterr() == ("", "")
    command = ["prepare", "--train", *TRAIN[0], "--valid", *VALID, "--subwords", "chars"]
    command += ["--src-lang", "en", "--tgt-lang", "de", "--out", "cli", "--json", "--quiet"]
    assert main(command) == 0
    document = json.loads(capfd.readouterr().out)
    numbers = json.loads(json.dumps(prepared.to_json()))
    notes, document["notes"] = document["notes"], numbers["notes"]
    assert document == {"schema": 1, "path": "cli", "reused": False, **numbers}
    assert [note.partition(":")[0] for note in notes] == [
        note.partition(":")[0] for note in numbers["notes"]
    ]
    assert (prepared.path, prepared.reused) == (Path("api"), False)
    assert "encode" in {stage for stage, _, _ in stages}
    dropped = Path("dropped.tsv").read_text().splitlines()[1:]
    assert len(dropped) == sum(prepared.dropped.values())
    assert Path("repaired.tsv").read_text().startswith("file\tline\trepairs\tsource\ttarget\t")
    assert prepared.repaired == 0


def test_a_corpus_of_the_same_text_and_settings_is_kept(folder):
    prepare(TRAIN, VALID, settings=CHARS)
    before = digests(Path("corpus"))
    again = prepare(TRAIN, VALID, settings=CHARS)
    assert again.reused
    assert digests(Path("corpus")) == before


def test_test_files_have_an_argument(folder):
    prepared = prepare(TRAIN, settings=CHARS, test=VALID)
    assert prepared.test == len(Path(VALID[0]).read_text("utf-8").splitlines())
    assert load(Path("corpus", "config.toml")).data.test == VALID


@pytest.mark.parametrize("option", ["dropped", "repaired"])
def test_a_kept_corpus_has_a_note_that_its_lists_are_not_written(folder, option):
    prepare(TRAIN, VALID, settings=CHARS)
    again = prepare(TRAIN, VALID, settings=CHARS, **{option: "list.tsv"})
    note = "`list.tsv` was not written: the corpus was there already; use force=True"
    assert (note in again.notes, Path("list.tsv").exists()) == (True, False)
    assert again.repaired is None
    again = prepare(TRAIN, VALID, settings=CHARS, **{option: "list.tsv"}, force=True)
    assert (note in again.notes, Path("list.tsv").exists()) == (False, True)


def test_lists_of_pairs_are_two_files(folder):
    for other in ("list.tsv", Path("list.tsv").absolute()):
        with pytest.raises(UsageError, match="`dropped` and `repaired` name the same file"):
            prepare(TRAIN, VALID, settings=CHARS, dropped="list.tsv", repaired=other)
    assert not Path("corpus").exists()


def test_another_corpus_is_replaced_only_by_force(folder):
    prepare(TRAIN, VALID, settings=CHARS)
    before = digests(Path("corpus"))
    with pytest.raises(CannotCreateError, match="prepared differently") as caught:
        prepare(TRAIN, settings=CHARS)
    assert caught.value.hint == "use force=True to replace it, or another `out`"
    assert digests(Path("corpus")) == before
    replaced = prepare(TRAIN, settings=CHARS, force=True)
    assert (replaced.valid, replaced.reused) == (0, False)


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_of_the_user_is_never_replaced(folder, force):
    Path("mine").mkdir()
    Path("mine/train.src").write_text("My only copy.\n")
    before = digests(folder)
    for out in ("mine", "train.src", "."):
        with pytest.raises(CannotCreateError):
            prepare(TRAIN, VALID, settings=CHARS, out=out, force=force)
    with pytest.raises(CannotCreateError):
        prepare(TRAIN, VALID, settings=CHARS, dropped="train.tgt", force=force)
    with pytest.raises(CannotCreateError):
        prepare(TRAIN, VALID, settings=CHARS, repaired="train.tgt", force=force)
    assert digests(folder) == before


def test_notes_name_arguments_in_place_of_options(folder):
    for side in ("src", "tgt"):
        with Path(f"train.{side}").open("a") as file:
            file.write(Path(f"valid.{side}").read_text())
    settings = {**CHARS, "data.drop_held_out": False, "data.clean": "off"}
    prepared = prepare(TRAIN, VALID, settings=settings)
    [note] = [note for note in prepared.notes if "also occur in the training text" in note]
    assert note.endswith('to drop these training pairs: settings={"data.drop_held_out": True}')
    settings = {**CHARS, "data.drop_held_out": True}
    prepared = prepare(TRAIN, VALID, settings=settings, force=True)
    assert 'dropped="FILE"' in prepared.remarks[0]


def test_missing_validation_is_a_note(folder):
    notes = prepare(TRAIN, settings=CHARS, src_lang="xx", tgt_lang="de").notes
    assert [note for note in notes if note.startswith("`xx` is not a language code that nmt knows")]
    assert notes[-1].startswith("there is no validation text")
    assert "`valid` names it" in notes[-1]
    assert "--" not in notes[-1]


def test_language_name_instead_of_code_is_refused(folder):
    with pytest.raises(UsageError, match="`english` is not a language code") as caught:
        prepare(TRAIN, settings=CHARS, src_lang="english")
    assert caught.value.hint == "for english use en"
    assert not (folder / "corpus").exists()


def test_pairs_are_set_apart_and_tsv_files_are_read(folder):
    pairs = zip(*(Path(name).read_text().splitlines() for name in TRAIN[0]), strict=True)
    Path("train.tsv").write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs))
    settings = {**CHARS, "data.drop_duplicates": False}
    prepared = prepare(train_tsv=["train.tsv"], valid_split=5, settings=settings)
    assert (prepared.read, prepared.valid, prepared.split) == (400, 5, 5)
    assert not [note for note in prepared.notes if "no validation" in note]
    with pytest.raises(DataError, match="too large") as caught:
        prepare(TRAIN, valid_split=300, settings=CHARS, out="other")
    assert "valid_split=" in caught.value.hint


def test_a_project_file_is_read_where_it_is_named(folder, monkeypatch):
    Path("nmt.toml").write_text(
        'format = 1\n[data]\ntrain = [["train.src", "train.tgt"]]\nsubwords = "chars"\n'
    )
    monkeypatch.setenv("NMT_DATA_SUBWORDS", "bytes")
    with pytest.raises(UsageError, match="no training files"):
        prepare()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    prepared = prepare(config="../nmt.toml", workers=1)
    assert prepared.path == Path("../corpus")
    assert (folder / "corpus/train.src.ids").exists()
    assert prepared.src_size < 50


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"train": "train.src"}, "train is a list of pairs"),
        ({"train": ("train.src", "train.tgt")}, "each entry of train"),
        ({"train": [("train.src",)]}, "train_tsv takes TSV files"),
        ({"train": [("train.src", 5)]}, "each entry of train is a path"),
        ({"valid": "valid.src"}, "valid is a pair of files"),
        ({"test": "test.src"}, "test is a pair of files"),
        ({"train_tsv": "train.tsv"}, "train_tsv is a list of paths"),
        ({"out": 5}, "out is a path"),
        ({"dropped": b"x"}, "dropped is a path"),
        ({"workers": "2"}, "workers is a whole number"),
        ({"on_progress": "print"}, "on_progress is a function"),
        ({"settings": ["data.clean=off"]}, "settings is a dict"),
    ],
)
def test_wrong_types_are_refused(folder, arguments, words):
    before = digests(folder)
    with pytest.raises(TypeError, match=words):
        prepare(**{"train": TRAIN, **arguments})
    assert digests(folder) == before


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"train": [("none.src", "train.tgt")]}, NoInputError, "none.src"),
        ({"workers": -1}, UsageError, "below 0"),
        ({"vocab_size": 2}, ConfigError, "^vocab_size must be at least 8, not 2"),
        ({"preset": "smal"}, ConfigError, "unknown preset"),
        ({"settings": {"data.cleann": "off"}}, ConfigError, "unknown setting"),
        ({"valid": VALID, "valid_split": 5}, UsageError, "data.valid_split"),
    ],
)
def test_wrong_values_are_refused(folder, arguments, error, words):
    before = digests(folder)
    with pytest.raises(error, match=words):
        prepare(**{"train": TRAIN, "settings": TINY, **arguments})
    assert digests(folder) == before
