"""Exports a model: refuses what the target cannot hold, writes, compares, then publishes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.errors import CannotCreateError, ConfigError, UsageError
from nmt_cli.exchange.checks.comparison import CheckResult, compare_models, foreign_errors
from nmt_cli.exchange.checks.lines import choose_check_lines
from nmt_cli.exchange.requirements import text_notes
from nmt_cli.exchange.target import Reason, SearchAdvice, Target, require_libraries
from nmt_cli.exchange.targets import load_target
from nmt_cli.installation import require_torch
from nmt_cli.model_dir import LoadedModel, load_model
from nmt_cli.storage import files, manifest
from nmt_cli.storage.output_directory import (
    EXPORT_RECORD,
    DirectoryKind,
    new_directory,
    require_free,
)

FORMAT = 1


@dataclass(frozen=True)
class Export:
    """What was exported.

    check: None if it was left out; checked_on: where its lines are from; notes: what the other
    toolkit does in another way, as sentences.
    """

    target: str
    title: str
    precision: str
    files: tuple[str, ...]
    check: CheckResult | None
    checked_on: str
    search: SearchAdvice
    notes: tuple[str, ...]


def export_model(
    model: Path,
    target_name: str,
    out: Path,
    *,
    precision: str | None = None,
    check: bool = True,
    check_file: Path | None = None,
    force: bool = False,
) -> Export:
    """Export a model directory as `out`, which appears if the comparison has succeeded.

    check_file: lines for the comparison. force: replace an earlier export. Raises
    UnavailableError (no library), UsageError (precision), ConfigError (the target cannot hold the
    model), QualityGateError (the exported model differs) and CannotCreateError.
    """
    target = load_target(target_name)
    precision = precision or target.precisions[0]
    if precision not in target.precisions:
        raise UsageError(
            f"--precision {precision} is not possible with --to {target_name}",
            f"use one of {', '.join(target.precisions)}",
        )
    files.require_creatable(out)
    require_free(out, DirectoryKind.EXPORT, force=force)
    if out.exists() and model.resolve().is_relative_to(out.resolve()):
        raise CannotCreateError(
            f"`{out}` holds the model that is to be exported, `{model}`, and is not replaced",
            "choose another --out",
        )
    require_torch("`nmt export`")
    loaded = load_model(model)
    require_exportable(model, target, target.reasons_against(loaded))
    # After the reasons, which no package changes.
    needed = check or not target.only_checks
    versions = require_libraries(target, hint=unchecked_hint(target)) if needed else {}
    lines, origin = choose_check_lines(loaded, check_file, precision) if check else ([], "")
    with new_directory(out, DirectoryKind.EXPORT, force=force) as directory:
        target.write(loaded, directory, precision)
        result = _compare(loaded, target, directory, lines, precision) if check else None
        names = tuple(
            sorted(
                path.relative_to(directory).as_posix()
                for path in directory.rglob("*")
                if path.is_file()
            )
        )
        search = target.search_options(loaded)
        export = Export(
            target_name, target.title, precision, (*names, EXPORT_RECORD), result, origin, search,
            (*search.notes, *text_notes(loaded.config, target.title)),
        )  # fmt: skip
        record = export_record(export, loaded, model, versions)
        files.write_text(
            directory / EXPORT_RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        )
    return export


def _compare(
    loaded: LoadedModel, target: Target, directory: Path, lines: Sequence[str], precision: str
) -> CheckResult:
    """Compare the model with its exported form; raises QualityGateError if they differ."""
    with foreign_errors(target.title):
        foreign = target.open(directory)
    return compare_models(loaded, foreign, lines, precision, target.title)


def unchecked_hint(target: Target) -> str:
    """What a user can do without the libraries of the target."""
    return "; or export it unchecked with --no-check" if target.only_checks else ""


def require_exportable(model: Path, target: Target, reasons: Sequence[Reason]) -> None:
    """Raise ConfigError, with every reason, unless there is none."""
    if reasons:
        raise ConfigError(
            f"`{model}` cannot be exported to {target.title}: "
            + "; ".join(reason.problem for reason in reasons),
            "train a model with " + ", ".join(dict.fromkeys(reason.remedy for reason in reasons)),
        )


def export_record(
    export: Export, loaded: LoadedModel, model: Path, versions: dict[str, str]
) -> dict[str, object]:
    """The content of export.json: what was exported, from what, how it was checked."""
    languages = loaded.config.languages
    entries = manifest.read_manifest(model)
    return {
        "format": FORMAT,
        "to": export.target,
        "precision": export.precision,
        "versions": {"nmt": __version__, **versions},
        "source": {
            "src_lang": languages.src,
            "tgt_lang": languages.tgt,
            **loaded.metadata,
            "sha256": {name: entry["sha256"] for name, entry in sorted(entries.items())},
        },
        "check": export.check and {**export.check.as_document(), "lines_from": export.checked_on},
        "search": export.search.options,
        "notes": list(export.notes),
    }
