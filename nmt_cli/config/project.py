"""Reads the project file, nmt.toml; its relative paths start from its directory."""

from pathlib import Path

from nmt_cli.config.schema import SETTINGS, SettingsLayer, read_layer

PROJECT_FILE = Path("nmt.toml")
PATHS = ("paths.corpus", "paths.model")
TEXT_FILES = ("data.train", "data.valid", "data.test")
MODELS = ("data.subwords_from", "train.init_from")


def project_layer(path: Path) -> SettingsLayer:
    """The settings of a project file; its paths are made relative to the current directory.

    By default, the corpus and the model are in the directory of the project file, too. Raises
    NoInputError or ConfigError.
    """
    layer = read_layer(path)
    if path.parent == Path():
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
