"""Reads the project file, nmt.toml; its relative paths start from its directory.

The settings of a model, its config.toml, can take its place.
"""

from pathlib import Path

from nmt_cli.config.schema import SETTINGS, SettingsLayer, read_layer
from nmt_cli.storage.model_check import is_model_directory

PROJECT_FILE = Path("nmt.toml")
PATHS = ("paths.corpus", "paths.model")
TEXT_FILES = ("data.train", "data.valid", "data.test")
MODELS = ("data.subwords_from", "train.init_from")


def project_layer(path: Path) -> SettingsLayer:
    """The settings of a project file; its paths are made relative to the current directory.

    By default, the corpus and the model are in the directory of the project file, too. The paths
    in the settings of a model are relative to where it was trained, and stay as they are. Raises
    NoInputError or ConfigError.
    """
    layer = read_layer(path)
    if path.parent == Path() or is_model_directory(path.parent):
        return layer
    values = {**{key: SETTINGS[key].default for key in PATHS}, **layer.values}
    moved = {
        key: _under(path.parent, value) if key in (*PATHS, *TEXT_FILES, *MODELS) else value
        for key, value in values.items()
    }
    return SettingsLayer(layer.origin, moved)


def _under(folder: Path, value: object) -> object:
    """Paths, in lists or not, seen from the parent of `folder`; an empty text is no path."""
    if isinstance(value, str):
        return str(folder / value) if value else value
    if isinstance(value, list):
        return [_under(folder, item) for item in value]
    return value
