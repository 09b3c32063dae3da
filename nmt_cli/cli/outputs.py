"""What the file that a command writes may not replace: its inputs, and what nmt.toml names."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.settings import PROJECT_FILE, resolve_settings

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
) -> None:
    """Raise CannotCreateError where one of `outputs` would replace what is still needed.

    That is: what the command reads (`read`, `models`, `config_file`), the text files that its
    settings or nmt.toml name, a project file, any part of a model directory or corpus. Call it
    before any work. None, as an output, is stdout.
    """
    from nmt_cli.config.protected_files import data_files, needed_files, require_replaceable

    written = [output for output in outputs if output is not None]
    directories = [Path(one) for one in models]
    needed = list(read)
    for project in dict.fromkeys(_project_files(written, config_file)):
        needed += needed_files("is a project file", project)
        settings = resolve_settings({}, None, project, environ={}).config
        needed += data_files(settings, f"`{project}`")
    if resolved is not None:
        paths = resolved.config.paths
        directories += [Path(paths.model), Path(paths.corpus)]
        needed += data_files(resolved.config, "the settings")
    require_replaceable(written, needed, directories)


def _project_files(written: Iterable[Path], config_file: Path | None) -> Iterator[Path]:
    """The project file in force, and those beside what would be replaced, where there are any."""
    replaced = [output for output in written if os.path.lexists(output)]
    beside = [output.parent / PROJECT_FILE for output in replaced]
    for project in [config_file or PROJECT_FILE, *beside] if replaced else []:
        if project.is_file():
            yield project
