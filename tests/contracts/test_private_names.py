"""Private names of other packages are used in one adapter module for each package."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The only modules that may use private names of other packages, and of which package.
ADAPTERS = {
    "nmt_cli/cli/options/click_adapter.py": "typer",
    "nmt_cli/data/multiprocessing_adapter.py": "multiprocessing",
    "nmt_cli/scoring/sacrebleu_adapter.py": "sacrebleu",
    "nmt_cli/model/torch_adapter.py": "torch",
}
# Documented in spite of their underscore.
PUBLIC = {
    "os._exit", "_thread", "_asdict", "_fields", "_fields_", "_make", "_replace",
}  # fmt: skip


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def defined_names(tree: ast.AST) -> set[str]:
    """The names that a module defines, and the attributes that it sets."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def foreign_private_names(tree: ast.AST, own: set[str]) -> Iterator[str]:
    """The private names of other packages in a module; own: what nmt_cli defines."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {
                name.asname or name.name.partition(".")[0]: name.name for name in node.names
            }
            yield from (name.name for name in node.names if any_private(name.name))
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("nmt_cli"):
            names = [f"{node.module}.{name.name}" for name in node.names]
            aliases |= dict(zip([n.asname or n.name for n in node.names], names, strict=True))
            yield from filter(any_private, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            text = ast.unparse(node)
            of_other = text.partition(".")[0] in aliases
            if (
                text not in PUBLIC
                and node.attr not in PUBLIC
                and (of_other or node.attr not in own)
            ):
                yield text
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                yield ast.unparse(node)


def any_private(dotted: str) -> bool:
    """Whether a part of the name of another package's module or object is private."""
    return dotted not in PUBLIC and any(map(is_private, dotted.split(".")))


def test_private_names_of_other_packages_stay_in_their_adapters() -> None:
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for path in sorted((ROOT / "nmt_cli").rglob("*.py"))
    }
    own = set().union(*(defined_names(tree) for tree in trees.values()))
    used = {name: sorted(set(foreign_private_names(tree, own))) for name, tree in trees.items()}
    assert {name: names for name, names in used.items() if names and name not in ADAPTERS} == {}
    # Otherwise the check finds nothing, or an adapter is not needed any more.
    assert all(used[name] for name in ADAPTERS)


def test_adapters_use_private_names_of_their_own_package_only() -> None:
    for path, package in ADAPTERS.items():
        tree = ast.parse((ROOT / path).read_text())
        imported = {
            (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        others = {module.partition(".")[0] for module in imported}
        assert others <= {package, "collections", "contextlib", "typing"}, path


def test_each_form_of_a_private_name_is_found() -> None:
    source = """
import torch
import torch._dynamo
import torch.nn as nn
from torch._C import Graph
from torch import _foreach_mul_ as multiply
torch._foreach_add_(x, y)
torch.ops.mkldnn._linear_pointwise(x)
nn._reduction
model._modules
hasattr(model, "_parameters")
self._own, value._replace(x=1), torch.__version__, torch.nn.functional
"""
    assert sorted(foreign_private_names(ast.parse(source), {"_own"})) == [
        "hasattr(model, '_parameters')",
        "model._modules",
        "nn._reduction",
        "torch._C.Graph",
        "torch._dynamo",
        "torch._foreach_add_",
        "torch._foreach_mul_",
        "torch.ops.mkldnn._linear_pointwise",
    ]
