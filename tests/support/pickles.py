"""Pickled checkpoints that are made to harm the program that reads them."""

import argparse
import builtins
import collections
import decimal
import io
import os
import pickle
import subprocess
import zipfile
from pathlib import Path

import torch

# The beginning of a pickle of a dictionary with the key `model`.
MODEL = b"\x80\x02}X\x05\x00\x00\x00model"


class Gadget:
    """A pickle that calls a function when it is read."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> object:
        return self.call


def saved(content: object, *, legacy: bool = False) -> bytes:
    """The bytes that torch.save writes."""
    file = io.BytesIO()
    torch.save(content, file, _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


def with_pickle(data: bytes, *, compressed: bool = False) -> bytes:
    """An archive of torch.save whose pickle is `data`."""
    result = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with (
        zipfile.ZipFile(io.BytesIO(saved({"a": torch.ones(3)}))) as archive,
        zipfile.ZipFile(result, "w", method) as other,
    ):
        for entry in archive.infolist():
            is_pickle = entry.filename.endswith("data.pkl")
            other.writestr(entry.filename, data if is_pickle else archive.read(entry))
    return result.getvalue()


def named_class(module: str, name: str) -> bytes:
    """An archive with an object of a class that need not be installed."""
    return with_pickle(MODEL + f"c{module}\n{name}\n".encode() + b")\x81s.")


def large_storage() -> bytes:
    """A legacy file of some bytes with a tensor of 4 TB."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: object) -> object:
            if isinstance(obj, torch.storage.TypedStorage):
                return ("storage", torch.FloatStorage, "0", "cpu", 10**12, None)
            return None

    file = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(value, file, protocol=2)
    Pickler(file, protocol=2).dump({"model": {"w": torch.ones(2)}})
    pickle.dump(["0"], file, protocol=2)
    return file.getvalue()


def laughs() -> object:
    """Lists of lists: some hundred bytes that describe 10^9 values."""
    value: list[object] = ["ha"]
    for _ in range(9):
        value = [value] * 10
    return value


def hostile_checkpoints(mark: Path) -> dict[str, tuple[bytes, str]]:
    """Files that must not be read, and the words of the error; code in them would touch `mark`."""
    touch = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    system = Gadget(os.system, f"touch {mark}")
    evaluate = Gadget(builtins.eval, f"__import__('pathlib').Path({str(mark)!r}).touch()")
    weights = torch.randn(4_000)
    nested = b"]" * 100_000 + b"a" * 99_999
    sparse = torch.eye(3).to_sparse()
    return {
        "os.system": (saved({"model": system}), "an object of `posix.system`"),
        "os.system, legacy": (saved({"model": system}, legacy=True), "`posix.system`"),
        "eval by REDUCE": (saved({"model": {"w": evaluate}}), "`eval`"),
        "exec in settings": (
            saved({"args": argparse.Namespace(arch=Gadget(builtins.exec, touch))}),
            "`exec`",
        ),
        "Popen": (saved({"cfg": Gadget(subprocess.Popen, ["touch", str(mark)])}), "Popen`"),
        "a pickle alone": (pickle.dumps({"model": system}, protocol=2), "`posix.system`"),
        "oldest protocol": (pickle.dumps({"model": system}, protocol=0), "Unsupported operand 100"),
        "another class": (saved({"model": decimal.Decimal(1)}), "`decimal.Decimal`"),
        "torchtext": (named_class("torchtext.vocab", "Vocab"), "convertv2_v3.py"),
        "OmegaConf": (named_class("omegaconf.dictconfig", "DictConfig"), "to_container"),
        "nesting": (with_pickle(MODEL + nested + b"s."), "containers within"),
        "nesting as the checkpoint": (with_pickle(nested + b"."), "no dictionary"),
        "repeated values": (saved({"model": laughs()}), "too many values"),
        "repeated text": (saved({"model": [["x" * 1_000_000] * 100] * 100}), "texts are larger"),
        "zip bomb": (with_pickle(b"]" + b"N" * 20_000_000, compressed=True), "compressed archive"),
        "truncated": (saved({"model": {"w": weights}})[:9_000], "damaged"),
        "truncated, legacy": (saved({"model": {"w": weights}}, legacy=True)[:9_000], "damaged"),
        "large shape": (saved({"model": {"w": torch.ones(1).expand(10**6, 10**6)}}), "larger than"),
        "large storage": (large_storage(), "memory"),
        "not a plain tensor": (saved({"model": {"w": sparse}}), "not a plain tensor"),
        "no dictionary": (saved([1, 2]), "no dictionary"),
        "counter": (saved({"model": collections.Counter("aab")}), ""),
        "empty": (b"", "damaged"),
        "text": (b"weights\n" * 100, "damaged"),
    }
