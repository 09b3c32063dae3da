"""Options that are settings: help, default, type and errors come from the declaration."""

import ast
import os
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.cli import docs, main
from nmt_cli.cli.options.from_settings import SettingOption, with_options
from nmt_cli.cli.settings import resolve_settings
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS, flatten
from nmt_cli.extras.parsing.search import SEARCH

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {path: command for path, command, _ in docs.walk_commands()}
KEYS = {key.replace(".", "_"): key for key in SETTINGS}
# Every option that is made from a setting: its command, its key, what Typer made of it.
OPTIONS = [
    (path, KEYS[parameter.name], parameter)
    for path, command in COMMANDS.items()
    for parameter in command.params
    if parameter.name in KEYS
]
# What a command does without the option, where that is not the default of the setting.
OWN_DEFAULTS = {
    ("nmt init", "train.preset"): "chosen by the amount of text",
    ("nmt init", "languages.src"): "guessed from the names of the text files",
    ("nmt init", "languages.tgt"): "guessed from the names of the text files",
    ("nmt train", "train.preset"): "that of nmt.toml, of the run in MODEL, or base",
    ("nmt train", "train.init_from"): "random weights",
    ("nmt prepare", "data.subwords_from"): "learn a vocabulary",
    ("nmt score", "languages.tgt"): "that of nmt.toml",
    ("nmt init", "data.valid_split"): "none",
    ("nmt init", "data.test_split"): "none",
    ("nmt prepare", "data.valid_split"): "none",
    ("nmt prepare", "data.test_split"): "none",
    **{("nmt parse text", key): str(value) for key, value in SEARCH.items()},
}
# Options that have the name of a setting but are no settings, or set them in their own way.
BY_HAND = {
    "--train", "--valid", "--test", "--clean", "--drop", "--model", "--precision", "--kind",
}  # fmt: skip


def shown_default(parameter: Any) -> str:
    """The text within [default: ...] of a help; "" without one."""
    return parameter.help.partition("[default: ")[2].partition("]")[0]


def ids(options: list[tuple[str, str, Any]]) -> list[str]:
    return [f"{path} {key}" for path, key, _ in options]


@pytest.mark.parametrize(("path", "key", "parameter"), OPTIONS, ids=ids(OPTIONS))
def test_each_option_has_the_help_of_its_setting(path: str, key: str, parameter: Any) -> None:
    setting = SETTINGS[key]
    text = setting.about if "auto" in setting.metavar else setting.summary
    assert parameter.help.partition(" [default")[0] == text[0].upper() + text[1:]
    assert parameter.default is None


@pytest.mark.parametrize(("path", "key", "parameter"), OPTIONS, ids=ids(OPTIONS))
def test_each_option_shows_what_holds_without_it(
    path: str, key: str, parameter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value = flatten(resolve_settings({}, environ={}).config)[key]
    names = {True: parameter.opts, False: parameter.secondary_opts}
    expected = f"{value:g}" if isinstance(value, float) else str(value)
    if value == "auto":
        expected = SETTINGS[key].auto or value
    elif isinstance(value, bool):
        expected = names[value][0].lstrip("-") if parameter.secondary_opts else ""
    default = shown_default(parameter)
    if (path, key) in OWN_DEFAULTS:
        assert default == OWN_DEFAULTS[path, key]
    elif key == "train.preset":
        assert default == f"that of nmt.toml, or {expected}"
    elif key.startswith("search."):
        assert default == (f"the model's, else {expected}" if expected else "")
    elif len({preset.get(key, SETTINGS[key].default) for preset in PRESETS.values()}) > 1:
        assert default == f"set by the preset; base: {expected}"
    else:
        assert default == expected


def test_the_defaults_that_are_set_by_the_preset_are_so_in_the_help() -> None:
    by_preset = {key for _, key, option in OPTIONS if "set by the preset" in option.help}
    assert by_preset == {"train.max_steps", "train.patience", "data.vocab_size"}


def test_no_command_declares_an_option_of_a_setting_by_hand() -> None:
    names = {setting.option.split("/")[0] for setting in SETTINGS.values()} - BY_HAND
    declared = {
        (path, name)
        for path in {path for path, _, _ in OPTIONS}
        for parameter in COMMANDS[path].params
        if parameter.name not in KEYS
        for name in parameter.opts
    }
    assert {(path, name) for path, name in declared if name in names} == set()


def test_every_setting_of_search_is_an_option_of_translate() -> None:
    searches = {key for key in SETTINGS if key.startswith("search.")}
    assert searches == {key for path, key, _ in OPTIONS if path == "nmt translate"} - {
        "data.strict"
    }


def test_no_command_repeats_the_help_of_a_setting() -> None:
    helps = {option.help.partition(" [default")[0] for _, _, option in OPTIONS}
    # Shorter ones are names, such as "Model directory".
    helps = {text for text in helps if len(text.split()) > 2}
    repeated = [
        f"{path.name}:{node.lineno}: {node.value}"
        for path in sorted((ROOT / "nmt_cli" / "cli").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if any(node.value.startswith(text) for text in helps)
    ]
    assert repeated == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "--max-steps", "0"], "--max-steps must be at least 1, not 0"),
        (["train", "--max-hours", "-1"], "--max-hours must be at least 0.0, not -1.0"),
        (["prepare", "--vocab-size", "3"], "--vocab-size must be at least 8, not 3"),
        (
            ["prepare", "--vocab-size", "many"],
            "--vocab-size must be a whole number or `auto`, not 'many'",
        ),
        (["parse", "--beam", "0"], "--beam must be at least 1, not 0"),
        (
            ["train", "--max-steps", "0", "--patience", "-2"],
            "--max-steps must be at least 1, not 0; --patience must be at least 0, not -2",
        ),
    ],
)
def test_a_wrong_value_is_a_usage_error_that_names_the_option(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert capfd.readouterr().err.startswith(f"error: {words}\n")
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("value", ["10m", "0:15", "a lot"])
def test_hours_that_are_no_number_are_explained(value: str, capfd) -> None:
    assert main(["train", "--max-hours", value]) == 2
    error = capfd.readouterr().err
    assert f"`--max-hours`: `{value}` is not a number\n" in error
    assert "hint: give hours, such as 0.25 for 15 minutes\n" in error
    assert main(["translate", "--alpha", value]) == 2
    assert "hours" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serve", "--port", "80x"], "`--port`: `80x` is not a whole number\n"),
        (["serve", "--deadline", "soon"], "`--deadline`: `soon` is not a number\n"),
        (["translate", "--threads", "two"], "`--threads`: `two` is not a whole number\n"),
    ],
)
def test_what_is_no_number_is_said_in_plain_words(arguments: list[str], words: str, capfd) -> None:
    assert main(arguments) == 2
    assert words in capfd.readouterr().err


def test_a_number_as_length_penalty_is_answered_with_the_option_for_its_exponent(capfd) -> None:
    assert main(["translate", "--length-penalty", "0.6"]) == 2
    assert "hint: --length-penalty names a formula; --alpha X" in capfd.readouterr().err


def options_by_heading(lines: list[str]) -> dict[str, list[str]]:
    """The long names of the options under each heading of a help text, in order."""
    options: dict[str, list[str]] = {}
    for line in lines:
        if line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
            options[heading] = []
        elif line.startswith(("  -", "  [")):
            options[heading].append(line.split("  ")[1].split(", ")[-1].split(" ")[0])
    return options


@pytest.mark.parametrize(
    ("command", "headings", "some"),
    [
        (
            "translate",
            ["Search", "Markup", "Length", "Constraints", "Sampling", "Input and output",
             "Parts of a text", "Documents", "Doubtful translations", "Verification", "Hardware"],
            {
                "Options": ["--model", "--then", "--set", "--config", "--help"],
                "Sampling": ["--sample", "--temperature", "--top-k", "--top-p", "--seed"],
                "Hardware": ["--device", "--precision", "--threads", "--batch-tokens"],
            },
        ),
        (
            "train",
            ["Stopping", "Reproducibility", "Output", "Hardware"],
            {
                "Options": ["--corpus", "--preset", "--init-from", "--set", "--config", "--help"],
                "Stopping": ["--max-steps", "--max-epochs", "--max-hours", "--patience"],
                "Output": ["--out", "--dry-run", "--track", "--json", "--quiet"],
            },
        ),
        (
            "prepare",
            ["Text", "Cleaning", "Vocabulary", "Output", "Hardware"],
            {
                "Options": ["--preset", "--set", "--config", "--help"],
                "Vocabulary": ["--subwords", "--vocab-size", "--joint", "--subwords-from"],
            },
        ),
    ],
)  # fmt: skip
def test_the_help_has_the_options_under_headings(
    command: str, headings: list[str], some: dict[str, list[str]], capfd
) -> None:
    assert main([command, "--help"]) == 0
    options = options_by_heading(capfd.readouterr().out.splitlines())
    shown = [heading for heading in options if heading not in ("Examples", "Arguments", "Options")]
    assert shown == headings
    for heading, names in some.items():
        assert options[heading] == names


def test_a_command_receives_the_values_by_their_keys() -> None:
    received: list[dict[str, object]] = []

    @with_options({"Paths": (SettingOption("paths.model", "--out"), "train.seed")})
    def command(*, flags: dict[str, object]) -> None:
        received.append(dict(flags))

    command(paths_model="m", train_seed=None)
    assert received == [{"paths.model": "m", "train.seed": None}]
