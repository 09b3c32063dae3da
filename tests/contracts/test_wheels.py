"""The wheels carry the compiled kernels; nmt-cli-runtime needs neither torch nor a C compiler."""

import base64
import csv
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from types import ModuleType

import pytest

from nmt_cli.inference.native.library import SOURCES
from nmt_cli.kernels import library
from nmt_cli.kernels.library import Sources, carried_library
from nmt_cli.kernels.training import SOURCES as TRAINING

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
MODEL = ROOT / "tests" / "golden" / "model-v1"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"wheels_{name}", ROOT / "wheels" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    return script("build")


@pytest.fixture(scope="module")
def compiled(kernel_cache: Path) -> Path:
    """The library of the tests; skips where there is no C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    loaded, reason = library.load_library(kernel_cache, SOURCES)
    assert loaded is not None, reason
    return Path(loaded._name)


@pytest.fixture(scope="module")
def runtime(builder: ModuleType, compiled: Path, tmp_path_factory) -> Path:
    """nmt-cli-runtime with the library that the tests have compiled."""
    folder = tmp_path_factory.mktemp("dist")
    return builder.build(folder, runtime=True, compiled=lambda sources: compiled.read_bytes())


@pytest.fixture(scope="module")
def installed(runtime: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(runtime) as archive:
        archive.extractall(folder)
    return folder


def started(installed: Path, cache: Path, *arguments: str) -> subprocess.Popen:
    """A command of the wheel where there is no compiler, and torch cannot be imported."""
    code = (
        f"import sys; sys.path.append({str(SUPPORT)!r}); from without_torch import NoTorch\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import nmt_cli, nmt_cli.cli.environment as e\n"
        f"assert nmt_cli.__file__.startswith({str(installed)!r})\n"
        "from nmt_cli.cli import main; e.leave(main(sys.argv[1:]))"
    )
    env = {
        **os.environ, "PYTHONPATH": str(installed), "PATH": str(cache), "XDG_CACHE_HOME": str(cache)
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=cache,
    )  # fmt: skip


def run_installed(installed: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess:
    """The same command, given a line, when it has ended."""
    with started(installed, cache, *arguments) as process:
        out, err = process.communicate("Hello\n", timeout=60)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def test_translations_need_neither_torch_nor_compiler(installed: Path, tmp_path: Path) -> None:
    done = run_installed(installed, tmp_path, "translate", "--stats", "--model", str(MODEL))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert re.search(r"32-bit weights, \w+ kernels", done.stderr)
    assert not list(tmp_path.rglob("*.so"))


def test_it_serves(installed: Path, tmp_path: Path) -> None:
    process = started(installed, tmp_path, "serve", str(MODEL), "--port", "0", "--threads", "1")
    with process:
        try:
            said = []
            # Notes may come first, such as on kernels that are being compiled.
            for line in process.stderr:
                said.append(line)
                if line.startswith("listening on "):
                    break
            address = said[-1].removeprefix("listening on ").strip() if said else ""
            assert address.startswith("http://"), said
            body = json.dumps({"q": "Hello", "source": "src", "target": "tgt"}).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{address}/translate", body, headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert "translatedText" in json.load(answer)
        finally:
            process.terminate()


def test_doctor_finds_no_fault(installed: Path, tmp_path: Path) -> None:
    done = run_installed(installed, tmp_path, "doctor")
    said = done.stdout
    assert not re.search(r"^fail|cannot be examined", said, re.MULTILINE), said
    assert re.search(r"torch +not installed: nmt translates and scores only", said)
    assert re.search(r"translating on the CPU +nmt's own kernels", said)


def test_training_names_the_package_to_install(installed: Path, tmp_path: Path) -> None:
    done = run_installed(installed, tmp_path, "train", "--out", "x")
    assert done.returncode == 69
    assert "`nmt train` needs torch, which is not installed" in done.stderr
    assert "install nmt-cli: pip install . (in a clone of nmt)" in done.stderr


def test_its_metadata_and_record_are_those_of_a_wheel(runtime: Path) -> None:
    with zipfile.ZipFile(runtime) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    info = next(name for name in contents if name.endswith("/METADATA")).rpartition("/")[0]
    facts = Parser().parsestr(contents[f"{info}/METADATA"].decode())
    assert facts["Name"] == "nmt-cli-runtime"
    needed = facts.get_all("Requires-Dist")
    assert any(line.startswith("numpy") for line in needed)
    assert not any(re.match(r"torch|jaxtyping|nmt-cli|triton", line) for line in needed)
    assert facts.get_all("Provides-Extra") == ["png", "documents", "zstd", "serve"]
    rows = list(csv.reader(io.StringIO(contents[f"{info}/RECORD"].decode())))
    assert {row[0] for row in rows} == set(contents)
    for name, digest, size in rows:
        if not name.endswith("/RECORD"):
            data = contents[name]
            hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
            assert (digest, size) == (f"sha256={hashed.rstrip('=')}", str(len(data)))
    assert f"Tag: {runtime.stem.split('-', 2)[2]}\n" in contents[f"{info}/WHEEL"].decode()


def test_both_wheels_have_the_files_of_the_package(
    builder: ModuleType, runtime: Path, tmp_path: Path
) -> None:
    asked: list[Sources] = []

    def compiled(sources: Sources) -> bytes:
        asked.append(sources)
        return b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.17\0"

    whole = builder.build(tmp_path, runtime=False, compiled=compiled)
    assert whole.name.startswith("nmt_cli-")
    assert whole.name.endswith("-py3-none-manylinux_2_34_" + os.uname().machine + ".whl")
    assert [sources.name for sources in asked] == ["kernels", "training"]
    files = []
    for path in (whole, runtime):
        with zipfile.ZipFile(path) as archive:
            files.append({name for name in archive.namelist() if name.startswith("nmt_cli/")})
    (more,) = files[0] - files[1]
    assert more.startswith("nmt_cli/kernels/compiled/training-")
    assert files[1] < files[0]


def test_a_carried_library_of_another_system_is_compiled_instead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiled: Path
) -> None:
    carried = tmp_path / "kernels.so"
    carried.write_bytes(b"not a library")
    monkeypatch.setattr(library, "carried_library", lambda sources: carried)
    loaded, reason = library.load_library(compiled.parent, SOURCES)
    assert reason == ""
    assert Path(loaded._name) == compiled


@pytest.fixture(scope="module")
def environment(builder: ModuleType, tmp_path_factory) -> Path:
    """A new environment with the wheel of nmt-cli, and the other packages of the tests."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("environment")
    wheel = builder.build(folder, runtime=False)
    venv.create(folder / "env", with_pip=True)
    packages = next((folder / "env").glob("lib/python*/site-packages"))
    install = ["install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", wheel]
    python = folder / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", *install], check=True, cwd=folder)
    # Other packages; the editable nmt-cli of the tests is not found this way.
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "env"


def run_in(environment: Path, cache: Path, *command: str, **variables: str) -> list[str]:
    """What a command of the environment prints, and logs, where there is no compiler."""
    binaries = environment / "bin"
    assert shutil.which("cc", path=str(binaries)) is None
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env = {**kept, "PATH": str(binaries), "XDG_CACHE_HOME": str(cache), **variables}
    done = subprocess.run(
        [str(binaries / command[0]), *command[1:]], input="Hello\n", capture_output=True,
        text=True, env=env, cwd=cache, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [done.stdout, done.stderr]


@pytest.mark.slow
def test_nmt_cli_from_its_wheel_uses_the_libraries_in_it(environment: Path, tmp_path: Path) -> None:
    code = (
        "import pathlib, nmt_cli\n"
        "from nmt_cli.inference.native.library import SOURCES\n"
        "from nmt_cli.kernels.library import load_library\n"
        "from nmt_cli.kernels.training import SOURCES as TRAINING\n"
        "print(nmt_cli.__file__)\n"
        "for sources in (SOURCES, TRAINING):\n"
        "    print(load_library(pathlib.Path('cache'), sources)[0]._name)"
    )
    said, _ = run_in(environment, tmp_path, "python", "-c", code)
    package, *loaded = map(Path, said.split())
    assert package.is_relative_to(environment)
    # The names hold the hash of the sources: those of the tests.
    assert [path.name for path in loaded] == [
        carried_library(sources).name for sources in (SOURCES, TRAINING)
    ]
    assert all(path.parent == package.parent / "kernels" / "compiled" for path in loaded)
    assert not list(tmp_path.rglob("*.so"))


@pytest.mark.slow
def test_nmt_cli_from_its_wheel_translates_without_a_compiler(
    environment: Path, tmp_path: Path
) -> None:
    command = ("nmt", "translate", "--stats", "--model", str(MODEL))
    best, told = run_in(environment, tmp_path, *command)
    assert best.strip()
    assert re.search(r"32-bit weights, \w+ kernels", told)
    other, told = run_in(environment, tmp_path, *command, NMT_CPU_ISA="portable")
    assert other == best
    assert "32-bit weights, portable kernels" in told
    assert not list(tmp_path.rglob("*.so"))


KEPT = {
    "overall_tag": "manylinux_2_34_x86_64", "external_libs": {}, "unsupported_isa": False,
    "versioned_symbols": {"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.34"], "libm.so.6": ["GLIBC_2.27"]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("manylinux_2_34_x86_64", {}, []),
        ("manylinux_2_17_x86_64", {}, ["GLIBC_2.34 of libc.so.6", "GLIBC_2.27 of libm.so.6"]),
        ("manylinux_2_34_aarch64", {}, ["for manylinux_2_34_x86_64"]),
        ("linux_x86_64", {}, ["no manylinux tag"]),
        ("manylinux_2_34_x86_64", {"overall_tag": "linux_x86_64"}, ["those of linux_x86_64"]),
        ("manylinux_2_34_x86_64", {"external_libs": {"libgomp.so.1": ""}}, ["libgomp.so.1"]),
        ("manylinux_2_34_x86_64", {"unsupported_isa": True}, ["instructions"]),
    ],
)  # fmt: skip
def test_a_tag_that_promises_too_much_is_found(name: str, changes: dict, told: list[str]) -> None:
    found = script("check").faults(f"nmt_cli-1-py3-none-{name}.whl", {**KEPT, **changes})
    assert len(found) == len(told)
    for fault, word in zip(found, told, strict=True):
        assert word in fault
