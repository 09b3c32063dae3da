"""Protects inputs, and the files that nmt.toml names, from being overwritten by an output."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.settings import resolve_settings
from nmt_cli.cli.text_io import STDOUT
from nmt_cli.config.project import PROJECT_FILE

if TYPE_CHECKING:
    from nmt_cli.config.protected_files import Needed
    from nmt_cli.config.schema import ResolvedConfig


def check_outputs(
    outputs: Iterable[Path | None],
    read: Iterable["Needed"] = (),
    *,
    resolved: "ResolvedConfig | None" = None,
    config_file: Path | None = None,
    models: Iterable[Path | str] = (),
    force: bool = False,
) -> None:
    """Raise CannotCreateError if one of `outputs` would overwrite a file that is still needed.

    These are the files that the command reads (`read`, `models`, `config_file`), the text files
    that its settings or nmt.toml name, project files, and all files of a model directory or
    corpus. Without `force`, this is any file that is not empty. Call it before any work. An output
    of None or `-` is stdout.
    """
    from nmt_cli.config.protected_files import data_files, needed_files, require_replaceable

    written = [output for output in outputs if output is not None and str(output) != STDOUT]
    directories = [Path(model) for model in models]
    needed = list(read)
    for project in dict.fromkeys(_project_files(written, config_file)):
        needed += needed_files("is a project file", project)
        settings = resolve_settings({}, None, project, environ={}).config
        needed += data_files(settings, f"`{project}`")
    if resolved is not None:
        paths = resolved.config.paths
        directories += [Path(paths.model), Path(paths.corpus)]
        needed += data_files(resolved.config, "the settings")
    require_replaceable(written, needed, directories, force=force)


def _project_files(written: Iterable[Path], config_file: Path | None) -> Iterator[Path]:
    """The project file in use, and those in the directories of files that would be replaced."""
    replaced = [output for output in written if os.path.lexists(output)]
    beside = [output.parent / PROJECT_FILE for output in replaced]
    for project in [config_file or PROJECT_FILE, *beside] if replaced else []:
        if project.is_file():
            yield project
