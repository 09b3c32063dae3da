"""Imports a model: reads it, writes a model directory, compares the two, then publishes it."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.config.schema import Config
from nmt_cli.errors import CannotCreateError, NoInputError
from nmt_cli.exchange.checks.alone import AloneResult, check_alone
from nmt_cli.exchange.checks.comparison import CheckResult, compare_models, foreign_errors
from nmt_cli.exchange.checks.lines import choose_check_lines
from nmt_cli.exchange.importer import ForeignModel, ImportOptions
from nmt_cli.exchange.importers import detect_format, load_importer, refuse_other_models
from nmt_cli.exchange.target import require_libraries
from nmt_cli.model_dir import load_model, save_model
from nmt_cli.storage import files
from nmt_cli.storage.output_directory import (
    IMPORT_RECORD,
    DirectoryKind,
    new_directory,
    require_free,
)

FORMAT = 1


@dataclass(frozen=True)
class Import:
    """What was imported.

    check: None if it was left out, AloneResult if there is no library to compare with;
    checked_on: where its lines are from; notes: what of the model's settings is left out here.
    """

    format: str
    title: str
    check: CheckResult | AloneResult | None
    checked_on: str
    notes: tuple[str, ...]


def import_model(
    path: Path,
    out: Path,
    *,
    format_name: str | None = None,
    options: ImportOptions | None = None,
    check: bool = True,
    check_file: Path | None = None,
    force: bool = False,
) -> Import:
    """Import a model of another toolkit as the model directory `out`.

    The directory appears if the comparison with the other toolkit has succeeded. format_name: one
    of `importers.MODULES`, None: by the files. check_file: lines for the comparison. force:
    replace an earlier import. Raises NoInputError, DataError, ConfigError (what nmt cannot
    represent), UnavailableError (no library for the comparison), QualityGateError (the models
    differ) and CannotCreateError.
    """
    if not path.exists():
        raise NoInputError(f"there is no `{path}`", "name a model of another toolkit")
    refuse_other_models(path)
    format_name = format_name or detect_format(path)
    importer = load_importer(format_name)
    options = options or ImportOptions()
    files.require_creatable(out)
    require_free(out, DirectoryKind.IMPORT, force=force)
    if out.exists() and path.resolve().is_relative_to(out.resolve()):
        raise CannotCreateError(
            f"`{out}` holds the model that is to be imported, `{path}`, and is not replaced",
            "choose another --out",
        )
    foreign = importer.read(path, options)
    # Only now, so that nobody installs a library for a model that cannot be imported.
    versions = (
        require_libraries(importer, "comparing with", "; or import it unchecked with --no-check")
        if check
        else {}
    )
    record = _record(path, format_name, foreign, versions)
    with new_directory(out, DirectoryKind.IMPORT, force=force) as directory:
        metadata = {"imported_from": format_name}
        config = _without_cleaning(foreign.config)
        save_model(directory, foreign.weights, config, foreign.subwords, metadata)
        result: CheckResult | AloneResult | None = None
        origin = ""
        if check:
            loaded = load_model(directory)
            lines, origin = choose_check_lines(loaded, check_file)
            with foreign_errors(importer.title, "imported"):
                original = importer.open(path, options)
            if original is None:
                result = check_alone(loaded, lines)
            else:
                result = compare_models(
                    loaded, original, lines, "float32", importer.title, verb="imported"
                )
        record["check"] = result and {**result.as_document(), "lines_from": origin}
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        files.write_text(directory / IMPORT_RECORD, text)
    return Import(format_name, importer.title, result, origin, foreign.notes)


def _without_cleaning(config: Config) -> Config:
    """The settings without the repairs of nmt, which the training text has not had."""
    return replace(config, data=replace(config.data, clean="off"))


def _record(
    path: Path, format_name: str, foreign: ForeignModel, versions: dict[str, str]
) -> dict[str, object]:
    """The content of import.json: from what the model was imported, how it was checked."""
    return {
        "format": FORMAT,
        "from": format_name,
        "versions": {"nmt": __version__, **versions},
        "source": {
            "path": path.name,
            "sha256": {file.name: files.sha256_of(file) for file in foreign.files},
        },
        "notes": list(foreign.notes),
    }
