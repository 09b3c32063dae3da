"""Options that messages, hints and examples name are options that the named command has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt_cli.cli import docs
from nmt_cli.cli.app import COMMANDS
from nmt_cli.config import synonyms

ROOT = Path(__file__).resolve().parents[2]
OPTION = re.compile(r"(?<![\w(-])--[a-z][a-z0-9-]*")
# A call of ours within a text, up to the end of the command.
CALL = re.compile(r"\bnmt ((?:[a-z0-9]+)(?: [a-z0-9]+)?)([^`|&;\n]*)")
OTHER_PROGRAMS = {
    "torchrun": {"--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint"},
    "pip": {"--force-reinstall"},
    "docker": {"--shm-size"},
    "msginit": {"--no-translator"},
    "soffice": {"--headless", "--convert-to"},
    "sacrebleu": {"--echo"},
}
# Properties of style sheets begin with two dashes, too; the keys of synonyms are others' options,
# and the last file calls Marian. What the synonyms advise is checked below.
SKIPPED = {
    "drawing/svg.py", "extras/attention_map/page.py", "config/synonyms.py",
    "config/sacrebleu_options.py", "exchange/formats/marian/translator.py",
}  # fmt: skip


def options_by_command() -> dict[str, set[str]]:
    """The options of each command, by its name without `nmt`; those of its own commands count."""
    result: dict[str, set[str]] = {}
    for line in (ROOT / docs.SURFACE).read_text().splitlines():
        words = line.split()[1:]
        path = [word for word in words if not word.startswith("-")]
        for option in (part for word in words for part in word.split("/")):
            if option.startswith("--"):
                for length in range(3):
                    result.setdefault(" ".join(path[:length]), set()).add(option)
    return result


OPTIONS = options_by_command()
EVERYWHERE = {"--help", "--debug"}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module and their lines, without docstrings; X stands for what is put in."""
    tree = ast.parse(path.read_text())
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    } | {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
            ]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and id(node) not in inner:
            yield node.lineno, str(node.value)


def problems(text: str, command: str = "") -> list[str]:
    """Options in a text that the command which it names, or else `command`, does not have."""
    wrong = []
    text = text.replace("\\\n", " ")  # A command may go on in the next line.
    for call in CALL.finditer(text):
        name, rest = call[1], call[2]
        known = EVERYWHERE | (OPTIONS.get(name) or OPTIONS.get(name.split()[0], set()))
        if name.split()[0] in COMMANDS:
            wrong += [
                f"nmt {name} {option}" for option in OPTION.findall(rest) if option not in known
            ]
    known = OPTIONS[command] | EVERYWHERE
    for name, options in OTHER_PROGRAMS.items():
        known = known | (options if name in text or name == "docker" else set())
    return wrong + [option for option in OPTION.findall(CALL.sub("", text)) if option not in known]


def test_hint_check_detects_unknown_options() -> None:
    assert problems("choose another --out, or `nmt train --gpus 2`") == []
    assert problems("`nmt train --device cpu`") == ["nmt train --device"]
    assert problems("see --modle") == ["--modle"]
    assert problems("raise --beam", "score") == ["--beam"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "nmt_cli").rglob("*.py")), ids=lambda path: path.stem
)
def test_options_named_in_messages_exist(path: Path) -> None:
    name = path.relative_to(ROOT / "nmt_cli").as_posix()
    if name in SKIPPED:
        return
    command = path.stem if path.parent.name == "cli" and path.stem in COMMANDS else ""
    result = {
        line: wrong
        for line, text in texts(path)
        if OPTION.search(text) and (wrong := problems(text, command))
    }
    assert result == {}


# Options whose value is the path of a file or directory, as users choose it.
PATH_OPTION = re.compile(
    r"(?:--(?:model|corpus|out|output|subwords-from|init-from|config|document|train-tsv)|-o)"
    r"[ =]\0(?!:)"
)
# What is put into calls of ours and has no character that a shell reads: other than a path.
PLAIN = {"there[0]", "there[1]", "part", "option", "OUTPUT", "error.name", "tokenizer"}
# What quotes a text for a shell.
QUOTING = ("shlex.", "model_option(", "config_option(", "typed_options(")


def unquoted(source: str) -> list[str]:
    """What stands in commands of the texts of a module as it is, and may need quotes in a shell."""
    tree = ast.parse(source)
    quoted = {
        ast.unparse(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(word in ast.unparse(node.value) for word in QUOTING)
        for target in node.targets
        for name in ast.walk(target)
    }
    wrong = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        text, values = "", {}
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                values[len(text)] = ast.unparse(part.value)
            text += str(part.value) if isinstance(part, ast.Constant) else "\0"
        spans = [match.span() for match in PATH_OPTION.finditer(text)]
        spans += [
            match.span()
            for match in CALL.finditer(text)
            if match[1].split()[0] in COMMANDS and match[2][:1] in (" ", "\0")
        ]
        for place, value in values.items():
            is_safe = any(word in value for word in QUOTING) or value in quoted | PLAIN
            if any(begin <= place < end for begin, end in spans) and not is_safe:
                wrong.append(value)
    return wrong


def test_quoting_check_detects_paths_as_they_are() -> None:
    assert unquoted("f'`nmt train --corpus {shlex.quote(path)}`, {path}'") == []
    assert unquoted("name = shlex.quote(path)\nf'nmt translate {name}'") == []
    assert unquoted("f'`nmt average {path} --out {path.name}`'") == ["path", "path.name"]
    assert unquoted("f' --model {model}'") == ["model"]
    assert unquoted("f'--output {output}: it is wrong'") == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "nmt_cli").rglob("*.py")), ids=lambda path: path.stem
)
def test_commands_in_messages_can_be_pasted(path: Path) -> None:
    assert unquoted(path.read_text()) == []


def test_synonyms_lead_to_existing_commands_and_options() -> None:
    calls = {name for name in synonyms.COMMANDS.values() if name.startswith("nmt ")}
    assert [problem for call in calls for problem in problems(call)] == []
    assert set(synonyms.COMMANDS.values()) - calls <= set(COMMANDS)
    assert not set(synonyms.COMMANDS) & set(COMMANDS)
    wrong = {key: problems(hint, key[0]) for key, hint in synonyms.ADVICE.items()}
    assert {key: found for key, found in wrong.items() if found} == {}
    assert [key for key, hint in synonyms.ADVICE.items() if len(hint.split()) < 4] == []
    for names in synonyms.OPTIONS.values():
        for name in names:
            assert name.split()[0] in OPTIONS[""]
            assert "--set" not in name or problems(f"nmt train {name}") == []
