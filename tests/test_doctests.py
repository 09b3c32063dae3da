"""The examples in the docstrings are true; every pure formula has one."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "nmt_cli"

FORMULAS = [
    "nmt_cli.model.attention.causal_mask",
    "nmt_cli.model.positions.sinusoidal_encoding",
    "nmt_cli.training.loss.cross_entropy.smoothed_target",
    "nmt_cli.training.optimizers.factory.learning_rate",
]


def modules_with_examples() -> list[str]:
    result = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text("utf-8"):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            result.append(".".join(part for part in parts if part != "__init__"))
    return result


def examples_of(name: str) -> list[doctest.DocTest]:
    """Every docstring of the module's own; `unwrap` reaches below the checks of shapes."""
    module = importlib.import_module(name)
    places = [module]
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) == name:
            places += [value, *(vars(value).values() if inspect.isclass(value) else [])]
    docstrings = {inspect.getdoc(inspect.unwrap(path)) or "" for path in places}
    parser = doctest.DocTestParser()
    return [
        parser.get_doctest(text, dict(vars(module)), name, module.__file__, 0)
        for text in sorted(docstrings)
        if ">>> " in text
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_doctest_examples(name: str) -> None:
    examples = examples_of(name)
    assert examples
    for example in examples:
        report: list[str] = []
        failed = doctest.DocTestRunner().run(example, out=report.append).failed
        assert not failed, "".join(report)


@pytest.mark.parametrize("path", FORMULAS)
def test_every_formula_has_a_doctest(path: str) -> None:
    module, name = path.rsplit(".", 1)
    assert ">>> " in (inspect.getdoc(getattr(importlib.import_module(module), name)) or "")
