"""`nmt --help`, and the help of every command, load nothing heavy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[1] / "golden" / "model-v1"

HEAVY = (
    "torch", "numpy", "rich", "tqdm", "sentencepiece", "sacrebleu", "sacremoses", "safetensors",
    "jaxtyping", "tomli_w",
)  # fmt: skip

_PROBE = """
import contextlib, io, json, sys
from nmt_cli.cli import main
from nmt_cli.cli.app import COMMANDS
heavy, loaded, codes = json.loads(sys.argv[1]), {}, {}
for arguments in [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS),
                  ["config", "show", "--help"], ["config", "show"]]:
    with contextlib.redirect_stdout(io.StringIO()):
        codes[" ".join(arguments)] = main(arguments)
    loaded[" ".join(arguments)] = [name for name in heavy if name in sys.modules]
print(json.dumps([loaded, codes]))
"""


@pytest.fixture(scope="module")
def probed() -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, json.dumps(HEAVY)], capture_output=True, check=True
    )
    loaded: list[dict[str, object]] = json.loads(done.stdout)
    return loaded


def test_help_imports_no_heavy_package(probed: list[dict[str, object]]) -> None:
    loaded, _ = probed
    assert loaded == {arguments: [] for arguments in loaded}


def test_help_and_version_succeed(probed: list[dict[str, object]]) -> None:
    _, codes = probed
    assert codes == dict.fromkeys(codes, 0)


def test_importing_the_package_loads_only_itself() -> None:
    code = "import sys, nmt_cli; print(sorted(n for n in sys.modules if n.startswith('nmt_cli')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['nmt_cli']"


_COMPILER = ("torch._dynamo", "sympy", "torch.fx.experimental.symbolic_shapes", "sacrebleu")
_OLDER = ("nmt_cli.model.baselines.recurrent", "nmt_cli.model.baselines.convolutional")
_TRANSLATES = """
import json, sys
from nmt_cli.cli import main
code = main(["translate", "--model", sys.argv[1], "--quiet"])
print(json.dumps([code, [name for name in json.loads(sys.argv[2]) if name in sys.modules]]))
"""


def test_translating_does_not_import_compiler_or_baselines() -> None:
    """The one takes twice as long as torch itself, the others some milliseconds."""
    done = subprocess.run(
        [sys.executable, "-c", _TRANSLATES, str(MODEL), json.dumps(_COMPILER + _OLDER)],
        input=b"abc\n", capture_output=True, check=True,
    )  # fmt: skip
    translation, said = done.stdout.splitlines()
    assert translation
    assert json.loads(said) == [0, []]
