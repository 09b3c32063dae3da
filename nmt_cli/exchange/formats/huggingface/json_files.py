"""Reads and writes the JSON files of a model directory."""

import json
from pathlib import Path
from typing import Any

from nmt_cli.errors import DataError
from nmt_cli.storage import files

MOST_BYTES = 64 << 20


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; raises NoInputError or DataError."""
    data = files.read_bytes(path, max_bytes=MOST_BYTES)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(f"`{path}` is not JSON: {error}", "copy the directory again") from error
    if not isinstance(document, dict):
        raise DataError(f"`{path}` holds no JSON object", "copy the directory again")
    return document


def write_json(path: Path, document: object) -> None:
    """Write a JSON file as the libraries of Hugging Face do."""
    files.write_text(path, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
