"""The project file nmt.toml: its text, and how it is written."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.errors import CannotCreateError, UsageError
from nmt_cli.storage.files import make_directory, write_text
from nmt_cli.storage.manifest import is_own
from nmt_cli.storage.output_directory import kind_of

PROJECT_NAME = "nmt.toml"
Paths = tuple[str, ...]


class Project(NamedTuple):
    """The content of nmt.toml; files as they are written there: two, or one TSV file."""

    src: str
    tgt: str
    train: tuple[Paths, ...]
    valid: Paths | None = None
    test: Paths | None = None
    preset: str = "base"
    valid_split: int = 0
    test_split: int = 0
    reason: str = ""
    tsv_columns: str = ""


def relative_to(folder: Path, name: str) -> str:
    """The path of the file `name` as it is written in a project file in `folder`."""
    return name if Path(name).is_absolute() else os.path.relpath(name, folder)


def toml_value(value: object) -> str:
    """One value on one line of TOML.

    >>> toml_value(((1, "a"), True))
    '[[1, "a"], true]'
    """
    if isinstance(value, tuple | list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def project_text(project: Project) -> str:
    """The text of the project file, with comments."""
    lines = [
        "# The settings of this project; `nmt config show --origin` shows all and their sources.",
        "",
        "[languages]",
        f"src = {toml_value(project.src)}",
        f"tgt = {toml_value(project.tgt)}",
        "",
        "[data]",
        f"train = {toml_value(project.train)}",
        *([f"tsv_columns = {toml_value(project.tsv_columns)}"] if project.tsv_columns else []),
        *(
            [f"valid_split = {project.valid_split}"]
            if project.valid_split
            else [_optional("valid", project.valid, project)]
        ),
        *(
            [f"test_split = {project.test_split}"]
            if project.test_split
            else [_optional("test", project.test, project)]
        ),
        "",
        "[train]",
        *([f"# {project.reason}"] if project.reason else []),
        f"preset = {toml_value(project.preset)}",
    ]
    return "\n".join(lines) + "\n"


def _optional(split: str, pair: Paths | None, project: Project) -> str:
    if pair is None:
        example = f"{split}.{project.src}", f"{split}.{project.tgt}"
        return f"# {split} = {toml_value(example)}"
    return f"{split} = {toml_value(pair)}"


def write_project(folder: Path, project: Project, *, force: bool = False) -> Path:
    """Write `folder`/nmt.toml; raises CannotCreateError if it exists, unless `force`."""
    path = folder / PROJECT_NAME
    if os.path.lexists(path) and not force:
        raise CannotCreateError(f"`{path}` exists already", "use --force to replace it")
    if is_own(folder):
        raise CannotCreateError(
            f"`{folder}` is {kind_of(folder).value}, which is no place for a project",
            "name another directory",
        )
    text = project_text(project)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            "the name of a file of the project is not UTF-8", "rename it, or link to it"
        ) from error
    make_directory(folder)
    write_text(path, text)
    return path


def config_text(config: Mapping[str, object], comments: Mapping[str, Sequence[str]]) -> str:
    """Every dotted key as one line of TOML, with its `comments` behind it.

    `config` is a flat configuration (`config.schema.flatten`); the text can be loaded again.
    """
    lines = ["format = 1"]
    section = ""
    for key, value in config.items():
        key_section, name = key.split(".")
        if key_section != section:
            section = key_section
            lines += ["", f"[{section}]"]
        line = f"{name} = {toml_value(value)}"
        comment_text = "; ".join(comment for comment in comments.get(key, ()) if comment)
        lines.append(f"{line:<36}  # {_one_line(comment_text)}" if comment_text else line)
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]", " ", text)
