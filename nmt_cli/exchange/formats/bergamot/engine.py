"""An exported model, run by the engine for browsers: its npm package, in node."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from nmt_cli.errors import UnavailableError

PACKAGE = "@browsermt/bergamot-translator"
INSTALL = f"install node, and in this folder `npm install {PACKAGE}`"
PROGRAM = Path(__file__).with_name("engine.mjs")
# The engine splits no lines, and cuts translations off at twice the length of their source.
CONFIG = {
    "beam-size": "1", "gemm-precision": "int8shiftAlphaAll", "skip-cost": "true",
    "ssplit-mode": "sentence",
}  # fmt: skip
MOST_SECONDS = 600


class ExportedFiles(NamedTuple):
    """The files of an exported model; one vocabulary may be for both sides."""

    model: Path
    vocabularies: tuple[Path, ...]
    shortlist: Path | None


def find_engine(hint: str) -> tuple[str, Path]:
    """The program node and the folder of the package, in a node_modules here or above.

    Raises UnavailableError; hint: what else the user can do.
    """
    node = shutil.which("node")
    here = Path.cwd()
    folders = (folder / "node_modules" / PACKAGE for folder in (here, *here.parents))
    package = next((folder for folder in folders if (folder / "package.json").is_file()), None)
    if node is None or package is None:
        missing = "node" if node is None else f"the npm package {PACKAGE}"
        raise UnavailableError(f"exporting to Bergamot needs {missing}", f"{INSTALL}{hint}")
    return node, package


class BergamotTranslator:
    """Translates with the engine, which gives no probabilities of given words."""

    def __init__(self, exported: ExportedFiles) -> None:
        self._exported = exported
        source = exported.vocabularies[0]
        self._segmenter = sentencepiece.SentencePieceProcessor(model_file=str(source))

    def source_ids(self, line: str) -> list[int]:
        """The ids of the pieces of sentencepiece, and EOS."""
        return [*self._segmenter.encode(line), self._segmenter.eos_id()]

    def greedy_translations(self, lines: Sequence[str]) -> list[str]:
        """The greedy translation of each line; raises RuntimeError if the engine cannot run."""
        node, package = find_engine("")
        request = {
            "model": str(self._exported.model.resolve()),
            "vocabularies": [str(path.resolve()) for path in self._exported.vocabularies],
            "shortlist": self._exported.shortlist and str(self._exported.shortlist.resolve()),
            "config": CONFIG,
            "lines": list(lines),
        }
        with tempfile.TemporaryDirectory(prefix="nmt-export-") as name:
            folder = Path(name)
            shutil.copytree(package / "worker", folder / "worker")
            # The package calls its files modules, which this one is not: node refuses it then.
            (folder / "worker" / "package.json").write_text('{"type": "commonjs"}')
            (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
            result = subprocess.run(
                [node, str(PROGRAM), name], stdin=subprocess.DEVNULL, capture_output=True,
                check=False, timeout=MOST_SECONDS,
            )  # fmt: skip
            reply = folder / "reply.json"
            if result.returncode or not reply.exists():
                reason = result.stderr.decode(errors="replace").strip()
                raise RuntimeError(reason[:300] or f"node ended with {result.returncode}")
            translations: list[str] = json.loads(reply.read_text(encoding="utf-8"))
        return translations
