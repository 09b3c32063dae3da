"""Finds the model that was probably meant by a path at which there is no model."""

from collections.abc import Callable
from pathlib import Path

from nmt_cli.errors import nearest

# A folder with more entries than this is not searched, and no more models than this are named.
MOST_ENTRIES = 1_000
MOST_NAMED = 3

# Also for folders of other kinds, such as training runs.
IsModel = Callable[[Path], bool]


def models_inside(folder: Path, is_model: IsModel) -> list[Path]:
    """The model directories directly in `folder`, sorted; none if it cannot be read."""
    try:
        children = sorted(child for child in folder.iterdir() if child.is_dir())
        return [child for child in children[:MOST_ENTRIES] if is_model(child)]
    except OSError:
        return []


def similar_model(path: Path, is_model: IsModel) -> Path | None:
    """The model whose path differs from `path` by a misspelt name, if there is one.

    Only the first name of `path` that does not exist is taken to be misspelt. The model may also
    lie directly in the folder with the similar name.
    """
    known = path.parent
    rest = [path.name]
    while not known.is_dir():
        if known == known.parent:
            return None
        rest.insert(0, known.name)
        known = known.parent
    try:
        names = [child.name for child in known.iterdir() if child.is_dir()][:MOST_ENTRIES]
    except OSError:
        return None
    name = nearest(rest[0], names)
    if not name:
        return None
    similar = known.joinpath(name, *rest[1:])
    if is_model(similar):
        return similar
    inside = models_inside(similar, is_model)
    return inside[0] if len(inside) == 1 else None


def hint_at_models(path: Path, is_model: IsModel) -> str:
    """A sentence that names the model inside `path` or beside it, or ""."""
    if path.is_dir():
        return _sentence(models_inside(path, is_model), "in this folder")
    similar = similar_model(path, is_model)
    if similar is not None:
        return f"did you mean `{similar}`?"
    if is_model(path.parent):
        hint = f"`{path.parent}` is a model directory"
        return f"{hint}, and can be named so" if path.parent == Path() else hint
    return _sentence(models_inside(path.parent, is_model), f"in `{path.parent}`")


def hint_at_trained(path: Path, has_weights: IsModel) -> str:
    """A sentence that names the models with weights beside the model `path`, or ""."""
    beside = models_inside(path.parent, has_weights)
    return _sentence([model for model in beside if model != path], "with weights beside it")


def _sentence(models: list[Path], where: str) -> str:
    """A sentence that names models, the first few of many; "" without models."""
    if len(models) == 1:
        return f"there is a model {where}: `{models[0]}`"
    names = ", ".join(f"`{model}`" for model in models[:MOST_NAMED])
    more = ", ..." if len(models) > MOST_NAMED else ""
    return f"there are models {where}: {names}{more}" if models else ""
