"""Where a command's settings come from: file, environment, flags, --set; and `nmt config show`."""

import json
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.settings import chosen_search, resolve_settings
from nmt_cli.cli.used_settings import TRANSLATING
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS, Config, flatten, load
from nmt_cli.errors import ConfigError, NoInputError, UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class TestPrecedence:
    def test_settings_sources_override_in_order(self, folder: Path) -> None:
        write(
            folder / "nmt.toml",
            "[train]\npreset = 'big'\n[model]\nheads = 1\nlayers = 1\ndropout = 0.0\nd_ff = 1\n",
        )
        environ = {"NMT_MODEL_HEADS": "2", "NMT_MODEL_LAYERS": "2", "NMT_MODEL_DROPOUT": "0.2"}
        flags = {"model.heads": 4, "model.layers": 4, "search.beam": None}
        config, origins = resolve_settings(flags, ["model.heads=8"], environ=environ)
        result = {
            key: (flatten(config)[key], origins[key])
            for key in (
                "model.heads", "model.layers", "model.dropout", "model.d_ff", "model.d_model",
                "search.beam",
            )
        }  # fmt: skip
        assert result == {
            "model.heads": (8, "--set"),
            "model.layers": (4, "command line"),
            "model.dropout": (0.2, "NMT_MODEL_DROPOUT"),
            "model.d_ff": (1, "nmt.toml"),
            "model.d_model": (1024, "preset big"),
            "search.beam": (4, "default"),
        }

    def test_defaults_apply_without_project_file(self) -> None:
        assert resolve_settings({}, environ={}).config == Config()

    def test_later_set_option_overrides_earlier(self) -> None:
        config = resolve_settings({}, ["search.beam=2", " search.beam = 3 "], environ={}).config
        assert config.search.beam == 3

    def test_set_option_value_may_contain_equals_sign(self) -> None:
        assert resolve_settings({}, ["paths.model=a=b"], environ={}).config.paths.model == "a=b"


class TestProjectFile:
    def test_config_option_replaces_the_project_file(self, folder: Path) -> None:
        write(folder / "nmt.toml", "[search]\nbeam = 2\nalpha = 1.0\n")
        other = write(folder / "other.toml", "[search]\nbeam = 3\n")
        search = resolve_settings({}, config_file=other, environ={}).config.search
        assert (search.beam, search.alpha) == (3, 0.6)

    def test_config_option_needs_an_existing_file(self, folder: Path) -> None:
        with pytest.raises(NoInputError, match=r"none\.toml"):
            resolve_settings({}, config_file=folder / "none.toml", environ={})

    def test_paths_of_config_file_are_relative_to_the_file(self, folder: Path) -> None:
        write(
            folder / "p" / "nmt.toml",
            "[data]\ntrain = [['a.en', '/b.de']]\nvalid = ['v.en', '../v.de']\n"
            "[paths]\nmodel = 'm'\n[languages]\nsrc = 'en'\n",
        )
        config = resolve_settings(
            {"data.test": ("t.en", "t.de")}, config_file=Path("p/nmt.toml"), environ={}
        ).config
        assert config.data.train == (("p/a.en", "/b.de"),)
        assert config.data.valid == ("p/v.en", "p/../v.de")
        assert config.data.test == ("t.en", "t.de")
        assert (config.paths.model, config.paths.corpus) == ("p/m", "p/corpus")
        assert config.languages.src == "en"

    def test_corpus_option_is_relative_to_the_current_directory(self, folder: Path) -> None:
        project = write(folder / "p" / "nmt.toml", "[languages]\nsrc = 'en'\n")
        flags = {"paths.corpus": "mine"}
        paths = resolve_settings(flags, config_file=project, environ={}).config.paths
        assert (paths.corpus, paths.model) == ("mine", str(folder / "p" / "model"))

    def test_paths_of_project_file_here_stay_as_written(self, folder: Path) -> None:
        write(folder / "nmt.toml", "[data]\nvalid = ['v.en', './v.de']\n")
        assert resolve_settings({}, environ={}).config.data.valid == ("v.en", "./v.de")


class TestEnvironmentVariables:
    def test_misspelt_environment_variable_is_named(self) -> None:
        with pytest.raises(ConfigError, match="NMT_MODEL_HEADZ") as caught:
            resolve_settings({}, environ={"NMT_MODEL_HEADZ": "4"})
        assert caught.value.hint == "did you mean `model.heads`?"

    def test_wrong_value_is_named_by_its_environment_variable(self) -> None:
        with pytest.raises(
            ConfigError, match=r"NMT_MODEL_HEADS: `model\.heads` must be a whole number"
        ):
            resolve_settings({}, environ={"NMT_MODEL_HEADS": "x"})

    def test_unrelated_environment_variables_are_ignored(self) -> None:
        environ = {"NMT_DEBUG": "1", "NMT_MODEL": "x", "NMT": "y", "MODEL_HEADS": "z"}
        assert resolve_settings({}, environ=environ).config == Config()

    @pytest.mark.parametrize("key", SETTINGS)
    def test_every_setting_has_an_environment_variable(self, key: str) -> None:
        with pytest.raises(ConfigError) as caught:
            resolve_settings({}, environ={f"NMT_{key.replace('.', '_').upper()}X": "1"})
        assert f"unknown setting `{key}x`" in caught.value.message


def test_set_option_without_equals_sign_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"--set model\.heads: there is no `=`"):
        resolve_settings({}, ["model.heads"], environ={})


class TestNamesInErrors:
    """An error names what the user typed."""

    def test_wrong_value_of_option_names_the_option(self) -> None:
        with pytest.raises(UsageError) as caught:
            resolve_settings({"train.max_steps": 0, "train.patience": -1}, environ={})
        assert caught.value.message == (
            "--max-steps must be at least 1, not 0; --patience must be at least 0, not -1"
        )
        assert caught.value.hint.startswith("--max-steps: stop after")

    def test_a_wrong_value_of_set_is_named_by_its_setting(self) -> None:
        with pytest.raises(ConfigError, match=r"^--set: `train\.patience` must be at least 0, "):
            resolve_settings({"train.max_steps": 1}, ["train.patience=-1"], environ={})

    def test_values_that_do_not_fit_together_are_named_as_each_was_written(self) -> None:
        with pytest.raises(UsageError, match=r"^--n-best 5 is more than search\.beam=2\n"):
            resolve_settings({"search.n_best": 5}, ["search.beam=2"], environ={})
        flags = {"search.n_best": 3, "search.beam": 2}
        with pytest.raises(UsageError, match=r"^search\.n_best=5 is more than --beam 2\n"):
            resolve_settings(flags, ["search.n_best=5"], environ={})
        with pytest.raises(ConfigError, match=r"^search\.n_best=5 is more than search\.beam=2\n"):
            resolve_settings({}, ["search.n_best=5", "search.beam=2"], environ={})

    def test_search_option_in_conflict_with_model_setting_is_named(self) -> None:
        resolved = resolve_settings({"search.beam": 2}, environ={})
        model = resolve_settings({}, ["search.n_best=3"], environ={}).config
        with pytest.raises(UsageError, match=r"^search\.n_best=3 is more than --beam 2\n"):
            chosen_search(resolved, model)

    def test_setting_of_a_trained_model_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"model\.layers: .* as a trained model has its own"):
            resolve_settings({}, ["model.layers=2"], environ={}, used=TRANSLATING)


# Commands with a setting that they never read, and with one that they do.
UNUSED = (
    (["translate", "text"], "train.max_steps=5", "search.beam=2"),
    (["translate", "text"], "model.heads=7", "data.strict=true"),
    (["score", "text"], "train.seed=2", "data.seed=2"),
    (["serve"], "data.strict=true", "search.beam=2"),
    (["parse", "text"], "data.seed=2", "search.beam=2"),
    (["attention", "a"], "languages.src=de", "search.beam=2"),
    (["info"], "search.beam=2", "paths.model=other"),
    (["info", "model"], "paths.model=other", None),
    (["export", "--to", "onnx", "--out", "x"], "search.beam=2", "paths.model=other"),
    (["export", "model", "--to", "onnx", "--out", "x"], "search.beam=2", None),
    (["average"], "train.keep_best=2", "train.keep_last=2"),
    (["shortlist"], "search.shortlist=9", "paths.model=other"),
    (["plot", "schedule"], "search.beam=2", None),
)


@pytest.mark.parametrize(("command", "unused", "used"), UNUSED)
def test_a_setting_that_the_command_never_reads_is_refused(
    command: list[str], unused: str, used: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--set", unused]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"--set {unused.partition('=')[0]}: this command does not use the setting" in said
    if used is not None:
        # There is no model, corpus or text.
        assert main([*command, "--set", used]) != 0
        assert "this command does not use" not in capsys.readouterr().err


def test_a_refused_setting_is_answered_with_the_command_that_takes_it_and_those_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["translate", "text", "--set", "train.max_steps=5"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "`nmt train` takes it; this command uses search.*, paths.model, data.strict" in said


def test_a_misspelt_setting_gets_a_suggestion_without_equals_sign_and_beside_a_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["model", "--set", "search.bam=3"], ["--set", "search.bam"]):
        assert main(["export", "--to", "onnx", "--out", "x", *words]) in (2, 78)
        assert "did you mean `search.beam`?" in capsys.readouterr().err
    assert main(["config", "show", "--set", "search.lenght=5"]) == 78
    said = " ".join(capsys.readouterr().err.split())
    for meant in ("length_penalty", "min_length", "max_length"):
        assert f"`search.{meant}`" in said.partition("did you mean ")[2]
    for typed, meant in (("hf", "huggingface"), ("ctranslate", "ctranslate2"), ("onx", "onnx")):
        assert main(["export", "--to", typed, "--out", "x"]) == 2
        assert f"did you mean `{meant}`?" in capsys.readouterr().err


class TestConfigShow:
    def test_config_show_prints_a_valid_project_file(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(folder / "nmt.toml", "[data]\ntrain = [['a \"q\" \\n.en', 'ü.de']]\n")
        expected = resolve_settings({"train.preset": "tiny"}, environ={}).config
        for extra in ([], ["--origin"], ["--about"], ["--origin", "--about"]):
            assert main(["config", "show", "--preset", "tiny", *extra]) == 0
            shown = capsys.readouterr().out
            assert load(write(folder / "shown.toml", shown)) == expected

    def test_config_show_origin_names_the_source_of_each_value(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(folder / "nmt.toml", "[model]\nlayers = 2\n")
        monkeypatch.setenv("NMT_SEARCH_BEAM", "5")
        assert main(["config", "show", "--origin", "--set", "model.heads=4"]) == 0
        shown = {line.split("=")[0].strip(): line for line in capsys.readouterr().out.splitlines()}
        for name, origin in (
            ("layers", "nmt.toml"), ("beam", "NMT_SEARCH_BEAM"), ("heads", "--set"),
            ("d_model", "preset base"), ("alpha", "default"),
        ):  # fmt: skip
            assert shown[name].endswith(f"  # {origin}"), name

    def test_config_show_json_has_value_origin_and_help_of_every_setting(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["config", "show", "--json", "--set", "search.beam=1"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert set(shown["settings"]) == set(SETTINGS)
        beam = shown["settings"]["search.beam"]
        assert (beam["value"], beam["origin"]) == (1, "--set")
        assert beam["about"] == SETTINGS["search.beam"].about

    def test_config_show_of_wrong_setting_prints_only_the_error(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["config", "show", "--preset", "bgi"]) == 78
        out, err = capsys.readouterr()
        assert out == ""
        assert err == ("error: --preset: unknown preset `bgi`\n\nhint: did you mean `big`?\n")


class TestConfigPresets:
    def test_presets_table_lists_every_preset_with_its_size(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["config", "presets"]) == 0
        out = capsys.readouterr().out
        lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
        header = ["parameters", "vocabulary", "layers", "d_model", "batch", "tokens", "steps"]
        assert lines["preset"] == header
        assert lines["base"] == ["63.0", "M", "37,000", "6", "512", "25,000", "100,000"]
        assert lines["small"][2:] == ["auto", "3", "192", "3,000", "auto"]
        assert set(PRESETS) <= lines.keys()
        assert "with the vocabulary of 10,000 entries" in out

    def test_presets_json_has_exact_counts(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Of tests/paper/test_parameter_counts.py."""
        assert main(["config", "presets", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["schema"] == 1
        listed = {preset["preset"]: preset for preset in document["presets"]}
        assert listed["base"]["parameters"] == 63_045_632
        assert listed["big"]["parameters"] == 214_171_648
        assert listed["small"]["vocabulary"] == "auto"
