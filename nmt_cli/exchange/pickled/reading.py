"""Reads a pickled checkpoint in a process of its own, which has limits and runs no code of it."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from nmt_cli.config.values import shortened
from nmt_cli.errors import DataError, NoInputError, WriteError
from nmt_cli.exchange.formats.huggingface.json_files import read_json
from nmt_cli.exchange.pickled.child import CPU_SECONDS, RESULT, WEIGHTS
from nmt_cli.exchange.weight_files import read_weight_files
from nmt_cli.storage import files

MODULE = "nmt_cli.exchange.pickled.child"
# The process waits for the disk too.
MOST_SECONDS = 1_800
STDERR = "errors.txt"
AGAIN = "copy it again; nmt reads checkpoints that hold weights and settings only"
SAVE_PLAIN = (
    "save a checkpoint of weights and plain settings only, with the toolkit that wrote this one: "
    "c = torch.load(FILE, weights_only=False); torch.save({k: c[k] for k in KEYS if k in c}, NEW), "
    "if you trust FILE"
)
# What to do about the classes of a package.
REMEDIES = {
    "torchtext": "it is a checkpoint of OpenNMT-py 1 or 2: convert it with OpenNMT-py 3, "
    "`python tools/convertv2_v3.py -v2model FILE -v3model NEW`, if you trust it",
    "onmt": "it is a checkpoint of OpenNMT-py 1 or 2: convert it with OpenNMT-py 3, "
    "`python tools/convertv2_v3.py -v2model FILE -v3model NEW`, if you trust it",
    "omegaconf": "replace its settings by plain ones with fairseq, if you trust it: c['cfg'] = "
    "OmegaConf.to_container(c['cfg'], resolve=True, enum_to_str=True), then torch.save",
}


class ForeignCheckpoint(NamedTuple):
    """The content of a checkpoint: containers, with None for tensors, and the named tensors.

    The name of a tensor is made of the keys that lead to it, such as `model/encoder.weight`.
    """

    values: dict[str, Any]
    tensors: dict[str, Tensor]

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors of one part, under their names there."""
        start = f"{name}/"
        return {
            key.removeprefix(start): tensor
            for key, tensor in self.tensors.items()
            if key.startswith(start)
        }


def read_checkpoint(path: Path, keys: tuple[str, ...] = ()) -> ForeignCheckpoint:
    """Read a file of torch.save; keys: the parts to read, all if there are none.

    Raises NoInputError, and DataError for damaged files and for those that hold objects of other
    classes than tensors, plain containers and argparse.Namespace. No code of the file is run.
    """
    files.require_file(path, "checkpoint")
    if not path.is_file():
        raise NoInputError(f"checkpoint `{path}` is not a regular file")
    with tempfile.TemporaryDirectory(prefix="nmt-import-") as name:
        folder = Path(name)
        status = _run(path, folder, keys)
        if not (folder / RESULT).is_file() or status != 0:
            raise _ended(path, folder, status)
        result = read_json(folder / RESULT)
        if "values" not in result:
            raise _refusal(path, result)
        tensors = read_weight_files((folder / WEIGHTS,), named=path)
    # Copies: a model of ours may keep both, and safetensors saves no memory twice.
    tensors |= {alias: tensors[stored].clone() for alias, stored in result["aliases"].items()}
    return ForeignCheckpoint(result["values"], tensors)


def _run(path: Path, folder: Path, keys: tuple[str, ...]) -> int:
    """Run the process that reads; returns its exit status."""
    # -P: no module is imported from the current directory.
    command = [sys.executable, "-P", "-m", MODULE, str(path.resolve()), str(folder), *keys]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (folder / STDERR).open("wb") as errors:
        try:
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                env=environment, close_fds=True, check=False, timeout=MOST_SECONDS,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return -signal.SIGXCPU


def _ended(path: Path, folder: Path, status: int) -> DataError:
    """The error for a process that ended without a result."""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        reason = f"reading it takes more than {CPU_SECONDS} seconds, or more memory than there is"
    else:
        lines = (folder / STDERR).read_text(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        ended = f"the process that reads it ended with status {status}"
        reason = f"{ended}: {shortened(last)}" if last else ended
    return DataError(f"`{path}` cannot be read: {reason}", AGAIN)


def _refusal(path: Path, result: Mapping[str, Any]) -> DataError | WriteError:
    if "class" in result:
        name = str(result["class"])
        remedy = REMEDIES.get(name.split(".")[0], SAVE_PLAIN)
        return DataError(
            f"`{path}` holds an object of `{name}`, and nmt loads no such objects, because loading "
            "them can run code",
            remedy,
        )
    if "memory" in result:
        return DataError(
            f"`{path}` needs much more memory than a file of its size should: it is damaged", AGAIN
        )
    if "system" in result:
        return WriteError(
            f"the weights of `{path}` cannot be written to the folder for temporary files: "
            f"{result['system']}",
            f"free space in `{tempfile.gettempdir()}`, or set TMPDIR to another folder",
        )
    reason = shortened(str(result.get("damaged", "")))
    return DataError(f"`{path}` is damaged or is no checkpoint: {reason}", AGAIN)
