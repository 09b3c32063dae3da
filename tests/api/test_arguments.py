"""Arguments of the public functions: paths, settings, and errors that name arguments."""

import re
from pathlib import Path

import pytest

from nmt_cli.api.arguments import path_text, resolve_arguments
from nmt_cli.api.prepare import prepare
from nmt_cli.config.python_spelling import in_python, python_errors
from nmt_cli.errors import ConfigError, DataError


def test_a_path_is_a_str_or_a_path():
    assert path_text("out", "./a") == "./a"
    assert path_text("out", Path("a")) == "a"
    for wrong in (5, None, b"a", ["a"]):
        with pytest.raises(TypeError, match="out is a path"):
            path_text("out", wrong)


def test_arguments_override_settings_and_these_the_project_file(tmp_path):
    project = tmp_path / "nmt.toml"
    project.write_text(
        'format = 1\n[train]\nseed = 2\nmax_steps = 2\npatience = 2\n[data]\ntest = ["t.en"]\n'
    )
    values = {"train.seed": 4, "train.max_epochs": None}
    settings = {"train.seed": 3, "train.max_steps": 3, "train.max_epochs": 3}
    train = resolve_arguments("train", values, settings, project).config.train
    assert (train.seed, train.max_steps, train.max_epochs, train.patience) == (4, 3, 3, 2)
    config = resolve_arguments("train", {}, None, project).config
    assert config.data.test == (str(tmp_path / "t.en"),)
    assert config.paths.corpus == str(tmp_path / "corpus")


def test_nothing_else_is_read(tmp_path, monkeypatch):
    (tmp_path / "nmt.toml").write_text("format = 1\n[train]\nseed = 2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NMT_TRAIN_SEED", "5")
    assert resolve_arguments("train", {}, None, None).config.train.seed == 1


def test_a_wrong_value_is_named_as_the_argument():
    with pytest.raises(ConfigError, match=r"^max_steps must be at least 1, not 0"):
        resolve_arguments("train", {"train.max_steps": 0}, None, None)
    with pytest.raises(ConfigError, match=r"^preset: unknown preset `smal`") as caught:
        resolve_arguments("train", {"train.preset": "smal"}, None, None)
    assert caught.value.hint == "did you mean `small`?"
    with pytest.raises(ConfigError, match=r"settings: unknown setting `model\.head`"):
        resolve_arguments("train", {}, {"model.head": 2}, None)


@pytest.mark.parametrize("wrong", [["model.heads=2"], "model.heads=2", {1: 2}])
def test_settings_are_a_mapping_of_keys(wrong):
    with pytest.raises(TypeError, match="settings"):
        resolve_arguments("train", {}, wrong, None)


def test_errors_name_arguments_and_keep_their_class():
    with pytest.raises(DataError) as caught, python_errors(["force"]):
        raise DataError("without --force", "use --force, or `nmt prepare --force`; see --model")
    assert caught.value.args == (caught.value.message,) == ("without force=True",)
    assert caught.value.hint == "use force=True, or `nmt prepare --force`; see --model"
    assert str(caught.value).startswith("without force=True\nhint: use force=True")


def test_options_with_numbers_become_assignments():
    assert (
        in_python("use --valid-split 20 or less", ["valid_split"]) == "use valid_split=20 or less"
    )


def test_values_are_those_of_python():
    names = ["best", "joint", "markup"]
    assert in_python("best=None, joint=false, best=-1, markup=a.b and markup=off.", names) == (
        'best=None, joint=False, best=-1, markup="a.b" and markup="off".'
    )
    for other in ("search.markup=off", "no_markup=off", "x-markup=off"):
        assert in_python(f"not {other}", names) == f"not {other}"


def test_options_that_are_no_arguments_stay():
    for other in ("give `--set train.seed=1`", "name it with `--tgt-lang de`"):
        assert in_python(other, ["out"]) == other


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use --vocab-size auto, which", 'use vocab_size="auto", which'),
        ("use --vocab-size 9 or more", "use vocab_size=9 or more"),
        ("or --subwords bytes", 'or settings={"data.subwords": "bytes"}'),
        ("--subwords bytes.", 'settings={"data.subwords": "bytes"}.'),
        ("--tsv-columns 3,1", 'settings={"data.tsv_columns": "3,1"}'),
        ("if they are right: --no-clean", 'if they are right: settings={"data.clean": "off"}'),
        ("--separate and more", 'settings={"data.joint": False} and more'),
        ("--src-lang fi --tgt-lang en", 'src_lang="fi" and tgt_lang="en"'),
        (
            "use --set data.tgt_vocab_size=80, or add text",
            'use settings={"data.tgt_vocab_size": 80}, or add text',
        ),
        ("another --out", "another `out`"),
        ("--gpus 2", "--gpus 2"),
    ],
)
def test_options_without_an_argument_are_settings(text: str, expected: str) -> None:
    assert in_python(text, ["vocab_size", "src_lang", "tgt_lang", "out", "settings"]) == expected


def test_a_vocabulary_that_is_too_large_has_a_hint_in_python(tmp_path: Path) -> None:
    paths = tmp_path / "a.en", tmp_path / "a.de"
    for path in paths:
        path.write_text("".join(f"{path.suffix} word {number}\n" for number in range(40)))
    with pytest.raises(DataError, match="a vocabulary of 9,000") as caught:
        prepare([paths], src_lang="en", tgt_lang="de", out=tmp_path / "corpus", vocab_size=9_000)
    assert 'vocab_size="auto"' in caught.value.hint
    assert "--" not in caught.value.hint
    settings = {"data.joint": False, "data.tgt_vocab_size": 9_000}
    with pytest.raises(DataError, match="the target: a vocabulary of 9,000") as caught:
        prepare(
            [paths], src_lang="en", tgt_lang="de", out=tmp_path / "corpus", vocab_size=40,
            settings=settings,
        )  # fmt: skip
    assert re.search(r'settings=\{"data.tgt_vocab_size": \d+\}', caught.value.hint)
