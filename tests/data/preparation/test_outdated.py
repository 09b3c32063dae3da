"""A corpus whose project names other text or languages since it was prepared is reported."""

import os
import shutil
from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, dump, with_values
from nmt_cli.data.preparation.outdated import changes_since
from nmt_cli.data.preparation.prepare import prepare


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Config, Path]:
    """Settings, and a corpus that was prepared by them an hour ago."""
    monkeypatch.chdir(tmp_path)
    train = write_pairs(tmp_path, "train", two_languages(300, 1))
    config = tiny_config(data_train=[train], data_vocab_size=200)
    corpus = tmp_path / "corpus"
    prepare(config, corpus, workers=1)
    for path in (corpus / "corpus.json", *map(Path, train)):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return config, corpus


def test_an_unchanged_project_gives_no_changes(project: tuple[Config, Path]) -> None:
    config, corpus = project
    assert changes_since(corpus, config) == []
    Path(config.data.train[0][0]).touch()
    assert changes_since(corpus, config) == []
    assert changes_since(corpus / "missing", config) == []


def test_changed_text_languages_and_files_are_changes(project: tuple[Config, Path]) -> None:
    config, corpus = project
    src, tgt = config.data.train[0]
    assert changes_since(corpus, with_values(config, {"languages.tgt": "ca"})) == [
        ("languages.tgt", f'languages.tgt was "{config.languages.tgt}", is "ca"')
    ]
    more = with_values(config, {"data.train": [(src, tgt), (tgt, src)]})
    (change,) = changes_since(corpus, more)
    assert change.key == "data.train"
    assert change.description.startswith("data.train was [[")
    with Path(src).open("a") as file:
        file.write("more\n")
    assert changes_since(corpus, config) == [(None, f"the text of `{src}` has changed")]


def test_changed_settings_of_the_project_are_changes(project: tuple[Config, Path]) -> None:
    config, corpus = project
    values = {"data.max_length": 99, "data.clean": "strict", "data.joint": False}
    changed = with_values(config, {**values, "data.test_split": 20, "train.seed": 5})
    assert changes_since(corpus, changed) == []
    # Where a vocabulary is copied from is no text that could be outdated.
    copied = with_values(config, {"data.subwords_from": "model", "data.vocab_size": 100})
    assert changes_since(corpus, copied, ["data.subwords_from", "data.vocab_size"]) == []
    changes = changes_since(corpus, changed, [*values, "data.test_split"])
    assert [change.description for change in changes] == [
        "data.test_split was 0, is 20",
        "data.joint was true, is false",
        "data.max_length was 256, is 99",
        'data.clean was "safe", is "strict"',
    ]
    copied = with_values(changed, {"data.subwords_from": "model"})
    assert "data.joint" not in {change.key for change in changes_since(corpus, copied, values)}


def test_train_warns_of_settings_in_the_project_file_alone(
    project: tuple[Config, Path], monkeypatch, capsys
) -> None:
    config, _ = project
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: 1 / 0)
    text = f'[data]\ntrain = [{list(config.data.train[0])}]\nvocab_size = 90\nsubwords = "bpe"\n'
    languages = f'[languages]\nsrc = "{config.languages.src}"\ntgt = "{config.languages.tgt}"\n'
    Path("nmt.toml").write_text(languages + text)
    assert main(["train", "--preset", "small", "--out", "m"]) == 1
    said = capsys.readouterr().err
    assert (
        'before this changed: data.subwords was "chars", is "bpe"; data.vocab_size was 200, is 90;'
    ) in said
    Path("nmt.toml").write_text(languages + text.split("vocab")[0])
    assert main(["train", "--preset", "small", "--out", "m"]) == 1
    assert "was prepared before" not in capsys.readouterr().err


def test_settings_that_were_deleted_in_the_project_file_are_changes(
    project: tuple[Config, Path], monkeypatch, capsys
) -> None:
    """Not those that an option of `nmt prepare` set, which are never in the file."""
    config, _ = project
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: 1 / 0)
    text = f'[data]\ntrain = [{list(config.data.train[0])}]\nsubwords = "chars"\n'
    languages = f'[languages]\nsrc = "{config.languages.src}"\ntgt = "{config.languages.tgt}"\n'
    deleted = "vocab_size = 90\nmax_length = 99\n[train]\npatience = 2\n"
    Path("nmt.toml").write_text(languages + text + deleted)
    assert main(["prepare", "--force", "--no-clean"]) == 0
    for train, is_warned in ((text + deleted, False), (text, True)):
        Path("nmt.toml").write_text(languages + train)
        capsys.readouterr()
        assert main(["train", "--out", "m"]) == 1
        said = capsys.readouterr().err
        expected = "changed: data.vocab_size was 90, is 37000; data.max_length was 99, is 256; to"
        assert (expected in said) is is_warned
        assert "data.clean" not in said


def test_text_that_moved_or_is_gone_is_no_change(project: tuple[Config, Path]) -> None:
    config, corpus = project
    moved = [tuple(f"{path}.moved" for path in config.data.train[0])]
    for old, new in zip(config.data.train[0], moved[0], strict=True):
        shutil.move(old, new)
    assert changes_since(corpus, with_values(config, {"data.train": moved})) == []
    assert changes_since(corpus, config) == []


def test_train_warns_unless_another_corpus_is_named(
    project: tuple[Config, Path], monkeypatch, capsys
) -> None:
    config, _ = project
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: 1 / 0)
    Path("nmt.toml").write_text(dump(with_values(config, {"languages.tgt": "ca"})))
    for arguments, is_warned in (([], True), (["--corpus", "corpus"], False)):
        assert main(["train", "--out", "m", *arguments]) == 1
        said = capsys.readouterr().err
        assert ("`corpus` was prepared before this changed: languages.tgt was" in said) is is_warned


def test_a_new_run_on_other_files_than_the_project_names_is_refused(
    project: tuple[Config, Path], monkeypatch, capsys
) -> None:
    """One that has checkpoints goes on, as has been decided before."""
    config, _ = project
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: 1 / 0)
    for name in ("other.src", "other.tgt"):
        Path(name).write_text("a b\n")
    other = {"data.train": [("other.src", "other.tgt")]}
    Path("nmt.toml").write_text(dump(with_values(config, other)))
    assert main(["train", "--out", "m"]) == 78
    said = " ".join(capsys.readouterr().err.split())
    assert "`corpus` was prepared before this changed: data.train was" in said
    assert "`nmt prepare --force` prepares the new text" in said
    assert "to train with the old one: `nmt train --corpus corpus`" in said
    assert main(["train", "--out", "m", "--corpus", "corpus"]) == 1
    shutil.copy("nmt.toml", "my own.toml")
    assert main(["train", "--out", "m", "--config", "my own.toml"]) == 78
    said = " ".join(capsys.readouterr().err.split())
    assert "`nmt prepare --config 'my own.toml' --force` prepares the new text" in said
    assert "`nmt train --config 'my own.toml' --corpus corpus`" in said
    Path("m/checkpoints/step-000000010").mkdir(parents=True)
    assert main(["train", "--out", "m"]) == 1
    assert "warning: `corpus` was prepared before" in capsys.readouterr().err


def test_a_new_run_with_other_settings_of_the_corpus_on_the_command_line_is_refused(
    project: tuple[Config, Path], monkeypatch, capsys
) -> None:
    """It would be trained with those of the corpus. One that has checkpoints goes on."""
    config, _ = project
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: 1 / 0)
    arguments = ["train", "--out", "m", "--set", "data.vocab_size=77"]
    for settings in (dump(config), "[model]\nlayers = 2\n"):
        Path("nmt.toml").write_text(settings)
        for named in ([], ["--corpus", "corpus"]):
            assert main([*arguments, *named]) == 78
            said = " ".join(capsys.readouterr().err.split())
            assert "than the command line has: data.vocab_size was 200, is 77" in said
            assert "`nmt prepare --vocab-size 77 --out corpus-2` prepares another corpus" in said
            assert "`--corpus corpus-2` in place of these settings" in said
    assert main([*arguments[:-1], "data.vocab_size=200"]) == 1
    assert main([*arguments[:-1], "model.layers=3"]) == 1
    Path("m/checkpoints/step-000000010").mkdir(parents=True)
    capsys.readouterr()
    for settings in (dump(config), "[model]\nlayers = 2\n"):
        Path("nmt.toml").write_text(settings)
        for named in ([], ["--corpus", "corpus"]):
            assert main([*arguments, *named]) == 1
            said = " ".join(capsys.readouterr().err.split())
            assert "the run goes on with those of the corpus: data.vocab_size was 200" in said
            command = "`nmt prepare --vocab-size 77 --out corpus-2`"
            assert f"is 77; to train a new run with them: {command}, and then" in said
    assert main(["train", "--out", "m", "--corpus", "corpus"]) == 1
    assert "prepared" not in capsys.readouterr().err


def test_a_changed_setting_of_the_project_is_part_of_a_warning(
    project: tuple[Config, Path], monkeypatch, capsys
) -> None:
    config, _ = project
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: 1 / 0)
    Path("nmt.toml").write_text(dump(with_values(config, {"data.vocab_size": 77})))
    assert main(["train", "--out", "m"]) == 1
    assert "is 77; to train with it, `nmt prepare --force` and then" in capsys.readouterr().err
