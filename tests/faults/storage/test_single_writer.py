"""Only storage/disk.py changes the disk, and only storage/files.py calls it; but for locks."""

import ast
import re
from collections.abc import Iterator

from faults.tally import ROOT, fault

PACKAGE = ROOT / "nmt_cli"
WAIST = ("storage/disk.py", "storage/files.py")
# Methods of paths, arrays and modules that write, whoever has them.
WRITING = {
    "write_text", "write_bytes", "unlink", "rmdir", "mkdir", "rename", "renames", "touch",
    "symlink_to", "hardlink_to", "tofile", "savez", "savetxt", "makedirs", "removedirs", "truncate",
    "rmtree", "copyfile", "copytree", "copy2", "save_file", "mkstemp", "mkdtemp", "mkfifo", "link",
    "symlink", "fsync", "fdatasync", "chmod",
}  # fmt: skip
# Their other functions do not change the disk.
MODULES = {
    "os": {"open", "remove", "replace", "write"}, "np": {"save", "memmap"}, "torch": {"save"},
    "tempfile": {"NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile"},
    "shutil": {"move", "copy"},
}  # fmt: skip
# They write through the waist, or open for reading.
OURS = {"files", "manifest", "gzip", "lzma", "bz2", "zstd", "io", "Corpus"}
# What is not data of the user's, or no file at all.
ALLOWED = {
    "cli/commands/convert.py: tempfile.NamedTemporaryFile": "a copy of stdin, which is read twice",
    "cli/commands/convert.py: tempfile.TemporaryFile": "what stdout gets if all is well",
    "cli/environment.py: os.open": "the streams that are closed",
    "cli/environment.py: open": "the streams that are closed",
    "cli/error_reporting.py: os.open": "the streams that are closed",
    "cli/signals.py: os.write": "what a signal handler says",
    "data/corpus/corpus.py: np.memmap": "for reading",
    "exchange/formats/bergamot/engine.py: tempfile.TemporaryDirectory": "files for the engine",
    "exchange/formats/bergamot/engine.py: shutil.copytree": "in that directory",
    "exchange/formats/bergamot/engine.py: folder / 'worker' / 'package.json'.write_text": "there",
    "exchange/formats/bergamot/engine.py: folder / 'request.json'.write_text": "there",
    "exchange/formats/ctranslate2/argos.py: package.open": "a file in a new directory",
    "exchange/export.py: target.open": "for reading: what was exported",
    "exchange/formats/huggingface/weight_files.py: tempfile.TemporaryDirectory": "weights",
    "exchange/formats/huggingface/weight_files.py: folder / file.name.symlink_to": "there",
    "exchange/formats/huggingface/weight_files.py: safetensors.torch.save_file": "there",
    "exchange/import_model.py: importer.open": "for reading: the model in its own toolkit",
    "exchange/formats/marian/npz.py: archive.open": "for reading",
    "exchange/formats/marian/npz.py: np.savez": "into memory",
    "exchange/formats/marian/translator.py: tempfile.TemporaryDirectory": "files for Marian",
    "exchange/formats/marian/translator.py: path.write_text": "in that directory",
    "exchange/pickled/child.py: safetensors.torch.save_file": "what the limited process hands over",
    "exchange/pickled/child.py: out / RESULT.write_text": "what the limited process hands over",
    "exchange/pickled/reading.py: tempfile.TemporaryDirectory": "where it hands it over",
    "exchange/pickled/reading.py: folder / STDERR.open": "in that directory",
    "extras/doctor.py: tempfile.TemporaryDirectory": "whether a folder may be written to",
    "extras/doctor.py: tempfile.TemporaryFile": "whether there are temporary files",
    "kernels/library.py: tempfile.TemporaryDirectory": "the compiler's",
    "model_weights.py: os.open": "for reading",
    "storage/locks.py: file.truncate": "a lock, which nobody reads as data",
    "storage/locks.py: lock.open": "a lock",
    "storage/locks.py: lock.unlink": "a lock",
    "storage/locks.py: path.open": "a lock",
    "storage/user_cache.py: folder.chmod": "the cache folder of the user",
    "storage/user_cache.py: folder.mkdir": "the cache folder of the user, closed to others",
}


def writers(source: str) -> Iterator[str]:
    """The calls that write; one that opens a file counts unless its mode says `r`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = _name(node)
            if name and ast.unparse(node.func).partition(".")[0] not in OURS:
                yield name


def _name(call: ast.Call) -> str:
    """The function that is called, if it writes."""
    called = call.func
    if isinstance(called, ast.Name):
        return "open" if called.id == "open" and _mode(call, 1) != "r" else ""
    if not isinstance(called, ast.Attribute):
        return ""
    owner, name = ast.unparse(called.value), called.attr
    if owner in MODULES:
        return f"{owner}.{name}" if name in MODULES[owner] | WRITING else ""
    opens = name == "open" and _mode(call, 0) != "r"
    renames = name == "replace" and len(call.args) == 1 and not call.keywords
    return f"{owner}.{name}" if name in WRITING or opens or renames else ""


def _mode(call: ast.Call, position: int) -> str:
    """`r` where a file is opened for reading only."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[
        position:
    ]
    if not given:
        return "r"
    mode = given[0].value if isinstance(given[0], ast.Constant) else "?"
    return "r" if str(mode).strip("bt") == "r" else str(mode)


def test_writer_detection_finds_writing_calls() -> None:
    """Or the test below would show nothing."""
    seen = """open(x, "w"); path.open("ab"); path.open(mode="r+"); path.write_text(t); a.tofile(f)
np.save(f, a); torch.save(m, f); os.replace(a, b); path.replace(other); shutil.rmtree(p)
safetensors.torch.save_file(t, p); path.mkdir(); os.open(p, flags); open(x, mode)"""
    assert len(list(writers(seen))) == 14
    unseen = """open(x); open(x, "rb"); path.open(); text.replace("a", "b"); replace(one, step=1)
files.write_text(p, t); write_text(p, t); safetensors.torch.save(t); os.replace; a.remove(1)"""
    assert list(writers(unseen)) == []


@fault("C1", "C5")
def test_all_modules_write_through_storage() -> None:
    result = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in WAIST:
            result |= {f"{name}: {writer}" for writer in writers(path.read_text())}
    assert result <= set(ALLOWED), sorted(result - set(ALLOWED))


@fault("C1")
def test_only_files_module_imports_the_disk() -> None:
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"nmt_cli(\.| import .*\b)disk\b|\bDISK\b", path.read_text())
    }
    assert users == {"storage/files.py"}


@fault("C1")
def test_files_module_writes_only_through_the_disk() -> None:
    results = writers((PACKAGE / "storage/files.py").read_text())
    assert [result for result in results if not result.startswith("DISK.")] == []
