"""Checks the machine (versions, GPUs, cores, memory, disk, limits) and says what to fix."""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from nmt_cli import __version__
from nmt_cli.errors import NmtError
from nmt_cli.installation import (
    has_torch,
    install_command,
    is_runtime,
    provided_extras,
    without_torch,
)
from nmt_cli.machine import (
    address_space_limit,
    affine_cores,
    available_memory,
    core_quota,
    usable_cores,
)
from nmt_cli.plurals import counted
from nmt_cli.storage.files import writing
from nmt_cli.storage.locks import locked

Status = Literal["ok", "warn", "fail"]
GIB = 1 << 30

# The packages nmt depends on: the name on the package index, and the name of the module.
PACKAGES = {
    "torch": "torch", "numpy": "numpy", "sentencepiece": "sentencepiece", "sacrebleu": "sacrebleu",
    "sacremoses": "sacremoses", "safetensors": "safetensors", "typer": "typer", "rich": "rich",
    "tqdm": "tqdm", "tomli-w": "tomli_w", "jaxtyping": "jaxtyping",
}  # fmt: skip
# The modules of each extra.
EXTRAS = {
    "serve": ("starlette", "uvicorn", "greenlet", "prometheus_client", "python_multipart"),
    "documents": ("lxml", "markdown_it", "polib", "pysubs2"),
    "ctranslate2": ("ctranslate2",), "huggingface": ("transformers",), "marian": ("yaml",),
    "onnx": ("onnx", "onnxruntime"), "png": ("resvg_py",),
}  # fmt: skip
# The packages that nmt-cli-runtime does without.
OF_TORCH = ("torch", "jaxtyping")
TORCH_VERSIONS = ((2, 11), (2, 14))


class Check(NamedTuple):
    """The result of one check; fix: what to do if it is not ok."""

    name: str
    status: Status
    found: str
    fix: str = ""


def versions() -> dict[str, str]:
    """The versions of nmt, of Python and of the packages that nmt needs, if they are installed."""
    installed = {"nmt": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


def examine(environ: Mapping[str, str], folder: Path, cache: Path | None = None) -> list[Check]:
    """Run all checks, which change nothing.

    folder: where results would be written; environ: the environment variables; cache: the folder of
    compiled kernels, if any.
    """
    checks: list[Callable[[], Check]] = [
        _python, _packages, _zstd, _extras, _torch, _gpus, _cores, lambda: _threads(environ),
        lambda: _kernels(cache), _graphs, _memory,
        _shared_memory, lambda: _disk(folder), lambda: _writing(folder), _temporary_files,
        _open_files, _locale,
    ]  # fmt: skip
    return [_guarded(check) for check in checks]


def _guarded(check: Callable[[], Check]) -> Check:
    """Run one check; a check that raises an exception becomes a warning."""
    try:
        return check()
    except Exception as error:
        name = getattr(check, "__name__", "check").strip("_").replace("_", " ")
        return Check(name, "warn", f"cannot be examined: {type(error).__name__}: {error}")


def _python() -> Check:
    summary = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("python", "ok", summary)


def _packages() -> Check:
    broken = []
    without = () if has_torch() else OF_TORCH
    needed = {name: module for name, module in PACKAGES.items() if name not in without}
    for name, module in needed.items():
        try:
            importlib.import_module(module)
        except MemoryError:
            raise
        except Exception as error:
            broken.append(f"{name} ({type(error).__name__}: {error})")
    if broken:
        return Check(
            "packages", "fail", "cannot be imported: " + ", ".join(broken),
            "in a clone of nmt: pip install --force-reinstall -c constraints.txt .",
        )  # fmt: skip
    installed = versions()
    summary = ", ".join(f"{name} {installed.get(name, '?')}" for name in needed)
    return Check("packages", "ok", summary)


def _zstd() -> Check:
    for module in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
            return Check("compressed text", "ok", "gz, bz2, xz and zst")
    found = f"gz, bz2 and xz; for zst: {install_command('zstd')}"
    return Check("compressed text", "ok", found)


def _extras() -> Check:
    # The package without torch has fewer.
    provided = provided_extras()
    extras = {name: modules for name, modules in EXTRAS.items() if name in provided or not provided}
    missing = [
        extra
        for extra, modules in extras.items()
        if any(importlib.util.find_spec(module) is None for module in modules)
    ]
    found = ", ".join(extra for extra in extras if extra not in missing) or "none"
    if missing:
        found += f"; not installed: {', '.join(missing)}, such as {install_command(missing[0])}"
    return Check("extras", "ok", found)


def _torch() -> Check:
    if not has_torch() and is_runtime():
        return Check("torch", "ok", "not needed: nmt-cli-runtime translates, scores and serves")
    if not has_torch():
        error = without_torch("training")
        return Check("torch", "warn", "not installed: nmt translates and scores only", error.hint)
    import torch

    version = str(torch.__version__)
    numbers = tuple(int(digits) for digits in version.split("+")[0].split(".")[:2])
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "for the CPU"
    summary = f"{version}, built {build}"
    low, high = TORCH_VERSIONS
    if not low <= numbers < high:
        wanted = f"torch>={low[0]}.{low[1]},<{high[0]}.{high[1]}"
        return Check("torch", "warn", summary, f"an untested version: pip install '{wanted}'")
    return Check("torch", "ok", summary)


def _gpus() -> Check:
    if not has_torch():
        return Check("gpus", "ok", "used through torch only")
    import torch

    present = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        first = torch.cuda.get_device_properties(0)
        # A broken driver is noticed only when something runs.
        torch.ones(8, device="cuda").sum().item()
        memory = first.total_memory / GIB
        return Check(
            "GPU", "ok",
            f"{count} x {first.name}, {memory:.0f} GiB, compute {first.major}.{first.minor}, "
            f"driver {_driver()}, NCCL {'there' if torch.distributed.is_nccl_available() else '-'}",
        )  # fmt: skip
    if present and torch.version.cuda is None:
        return Check(
            "GPU", "warn", f"{len(present)} present, but torch is built for the CPU",
            "install torch for CUDA as pytorch.org describes",
        )  # fmt: skip
    if present:
        return Check(
            "GPU", "fail", f"{len(present)} present, but torch {torch.__version__} cannot use any",
            f"driver {_driver()}: update it, or install torch for an older CUDA",
        )  # fmt: skip
    return Check("GPU", "ok", "none: training and translation run on the CPU")


def _driver() -> str:
    path = Path("/proc/driver/nvidia/version")
    words = path.read_text(encoding="utf-8").split() if path.exists() else []
    return next((word for word in words if word[0].isdigit() and "." in word), "unknown")


def _cores() -> Check:
    quota = core_quota()
    machine, affine = os.cpu_count() or 1, affine_cores()
    limit = "no limit" if quota is None else f"a limit of {quota:g}"
    load = os.getloadavg()[0]
    summary = f"{usable_cores()} usable (machine {machine}, affinity {affine}, {limit})"
    if load > machine:
        return Check(
            "cores", "warn", f"{summary}; load {load:.1f}",
            "other programs are busy here: expect slow runs",
        )  # fmt: skip
    return Check("cores", "ok", summary)


def _threads(environ: Mapping[str, str]) -> Check:
    threads = environ.get("OMP_NUM_THREADS", "")
    usable = usable_cores()
    if threads.isdigit() and int(threads) > usable:
        return Check(
            "threads", "warn", f"OMP_NUM_THREADS={threads} on {counted(usable, 'usable core')}",
            "unset OMP_NUM_THREADS: nmt chooses the number of threads itself",
        )  # fmt: skip
    if environ.get("OMP_WAIT_POLICY", "passive").lower() == "active":
        return Check(
            "threads", "warn", "OMP_WAIT_POLICY=active: waiting threads spin",
            "unset OMP_WAIT_POLICY, unless no other program uses these cores",
        )  # fmt: skip
    chosen = threads or f"{usable}, chosen by torch"
    return Check("threads", "ok", f"{chosen}; `--threads N` of train and translate changes it")


def _kernels(cache: Path | None) -> Check:
    """Check the engine that translates on the CPU; kernels are compiled if they are missing."""
    from nmt_cli.inference.engines import kernels_of

    # Every instruction set has kernels for int8.
    kernels, reason = kernels_of(cache, "int8")
    if kernels is not None:
        if kernels.notice:
            return Check("translating on the CPU", "warn", kernels.notice)
        return Check("translating on the CPU", "ok", _kernel_summary(cache))
    if shutil.which("cc") is None:
        remedy = "install a C compiler (cc)"
    else:
        remedy = "let XDG_CACHE_HOME name a folder of this user that can be written"
    if not has_torch():
        return Check("translating on the CPU", "warn", f"NumPy, which is slower: {reason}", remedy)
    from nmt_cli.inference.packed.linear import packing_works

    packed = "packed weights" if packing_works() else "plain products"
    summary = f"torch with {packed}, float32 only; nmt's own kernels are not available: {reason}"
    return Check("translating on the CPU", "warn", summary, remedy)


def _kernel_summary(cache: Path | None) -> str:
    """The precisions that each instruction set translates in, such as float32 for avx512."""
    from nmt_cli.inference.engines import kernels_of
    from nmt_cli.inference.native.linear import PRECISIONS

    precisions: dict[str, list[str]] = {}
    for precision in PRECISIONS:
        kernels, _ = kernels_of(cache, precision)
        # Where split cannot be used, the kernels are those of float32.
        if kernels is not None and kernels.precision == precision:
            precisions.setdefault(kernels.instruction_set, []).append(precision)
    parts = (f"{', '.join(names)} for {isa}" for isa, names in precisions.items())
    return f"nmt's own kernels: {'; '.join(parts)}"


def _graphs() -> Check:
    """Check the CUDA graphs that translate on a GPU, in each precision."""
    name = "translating on a GPU"
    if not has_torch():
        return Check(name, "ok", "needs torch")
    import torch

    from nmt_cli.inference.cuda.self_test import find_fault

    if not torch.cuda.is_available():
        return Check(name, "ok", "no GPU that torch can use")
    dtypes = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    faults = {key: find_fault(torch.device("cuda"), dtype) for key, dtype in dtypes.items()}
    wrong = "; ".join(f"{key}: {fault}" for key, fault in faults.items() if fault)
    if wrong:
        return Check(
            name, "warn", f"CUDA graphs fail ({wrong})", "the reference engine is used instead"
        )
    return Check(name, "ok", f"CUDA graphs; {', '.join(dtypes)}")


def _memory() -> Check:
    free = available_memory()
    if free is None:
        return Check("memory", "ok", "this system does not say how much is free")
    summary = f"{free / GIB:.1f} GiB free, swap included"
    limit = address_space_limit()
    if limit is not None and limit < 2 * GIB:
        return Check(
            "memory", "warn", f"{summary}; `ulimit -v` limits each process to {limit >> 20} MiB",
            "raise the limit with `ulimit -v`, or remove it with `ulimit -v unlimited`",
        )  # fmt: skip
    if free < 2 * GIB:
        return Check(
            "memory", "warn", summary, "small models fit; lower train.micro_batch_tokens for others"
        )
    return Check("memory", "ok", summary)


def _shared_memory() -> Check:
    path = Path("/dev/shm")
    if not path.is_dir():
        return Check("shared memory", "warn", "no /dev/shm", "several GPUs need it")
    free = shutil.disk_usage(path).free
    if free < 128 << 20:
        return Check(
            "shared memory", "warn", f"{free >> 20} MiB free in /dev/shm",
            "several GPUs need more: in a container, --shm-size=1g",
        )  # fmt: skip
    return Check("shared memory", "ok", f"{free / GIB:.1f} GiB free in /dev/shm")


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    summary = f"{free / GIB:.1f} GiB free here"
    if free < GIB // 4:
        return Check("disk", "fail", summary, "free some space")
    if free < 5 * GIB:
        return Check("disk", "warn", summary, "a base model with its checkpoints takes about 4 GiB")
    return Check("disk", "ok", summary)


def _writing(folder: Path) -> Check:
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".nmt-doctor-") as name:
            with writing(Path(name) / "file") as file:
                file.write(b"x")
            with locked(Path(name)):
                pass
    except (OSError, NmtError) as error:
        return Check(
            "writing here",
            "fail",
            getattr(error, "message", "") or str(error),
            "work in a directory that you may write to",
        )
    return Check("writing here", "ok", "files and locks work")


def _temporary_files() -> Check:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
    except OSError as error:
        return Check("temporary files", "warn", str(error), "set TMPDIR to a directory you own")
    return Check("temporary files", "ok", tempfile.gettempdir())


def _open_files() -> Check:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 256:
        return Check("open files", "warn", f"at most {soft}", "ulimit -n 1024")
    return Check("open files", "ok", "no limit" if soft < 0 else f"at most {soft}")


def _locale() -> Check:
    import locale

    encoding = locale.getpreferredencoding(do_setlocale=False)
    if encoding.lower().replace("-", "") != "utf8":
        return Check(
            "locale", "warn", encoding,
            "nmt reads and writes UTF-8 in any locale; for file names, set LANG=C.UTF-8",
        )  # fmt: skip
    return Check("locale", "ok", encoding)
