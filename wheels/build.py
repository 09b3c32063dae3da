"""Build a wheel with the compiled CPU kernels into dist/; needs a C compiler, and no other package.

    python wheels/build.py              # nmt-cli
    python wheels/build.py --runtime    # nmt-cli-runtime: the same files, and torch not required

The format is that of https://packaging.python.org/specifications/binary-distribution-format/.
`pip install .` makes a wheel without compiled kernels.
"""

import argparse
import base64
import hashlib
import platform
import re
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from nmt_cli import __version__  # noqa: E402
from nmt_cli.inference.native.library import SOURCES as TRANSLATION  # noqa: E402
from nmt_cli.installation import PACKAGE, RUNTIME  # noqa: E402
from nmt_cli.kernels.library import (  # noqa: E402
    CARRIED,
    Sources,
    carried_library,
    compiled_library,
)
from nmt_cli.kernels.training import SOURCES as TRAINING  # noqa: E402

# What is needed for training and models in torch only.
WITHOUT = ("torch", "jaxtyping")
# The extras of nmt-cli-runtime; those of others need torch.
EXTRAS = ("png", "documents", "zstd", "serve")
# Installers know no older names of versions of the C library than that of this one.
OLDEST_GLIBC = (2, 17)


def build(
    out: Path, *, runtime: bool, compiled: Callable[[Sources], bytes] = compiled_library
) -> Path:
    """Write the wheel into `out` and return its path; compiled: the content of a library."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    name = RUNTIME if runtime else PACKAGE
    libraries = {
        f"nmt_cli/kernels/{CARRIED}/{carried_library(sources).name}": compiled(sources)
        for sources in ((TRANSLATION,) if runtime else (TRANSLATION, TRAINING))
    }
    tag = f"py3-none-{platform_tag(libraries.values())}"
    stem = f"{name.replace('-', '_')}-{__version__}"
    contents = {**package_files(), **libraries}
    for page in sorted((ROOT / "docs" / "man").iterdir()):
        contents[f"{stem}.data/data/share/man/man1/{page.name}"] = page.read_bytes()
    info = f"{stem}.dist-info"
    contents[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    contents[f"{info}/METADATA"] = metadata(project, name, runtime=runtime).encode()
    contents[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: nmt-cli {__version__}\nRoot-Is-Purelib: false\n"
        f"Tag: {tag}\n"
    ).encode()
    contents[f"{info}/entry_points.txt"] = (
        b"[console_scripts]\n"
        + "".join(
            f"{command} = {function}\n" for command, function in project["scripts"].items()
        ).encode()
    )
    contents[f"{info}/RECORD"] = record(contents, f"{info}/RECORD").encode()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{stem}-{tag}.whl"
    write_zip(path, contents)
    return path


def package_files() -> dict[str, bytes]:
    """The files of the package by their path in the wheel."""
    paths = sorted((ROOT / "nmt_cli").rglob("*"))
    return {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts and path.parent.name != CARRIED
    }


def platform_tag(libraries: Any) -> str:
    """The platform on which the libraries run: on Linux, that of the newest symbol they need."""
    found = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", b"".join(libraries))
    if not found:
        return re.sub(r"[-.]", "_", sysconfig.get_platform())
    major, minor = max(OLDEST_GLIBC, *(tuple(map(int, version)) for version in found))
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def metadata(project: Mapping[str, Any], name: str, *, runtime: bool) -> str:
    """The text of METADATA."""
    lines = [
        "Metadata-Version: 2.4", f"Name: {name}", f"Version: {__version__}",
        f"Summary: {project['description']}", f"License-Expression: {project['license']}",
        "License-File: LICENSE", f"Keywords: {','.join(project['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        *requirements(project, runtime=runtime),
        "Description-Content-Type: text/markdown",
    ]  # fmt: skip
    return "\n".join([*lines, "", (ROOT / "README.md").read_text("utf-8")])


def requirements(project: Mapping[str, Any], *, runtime: bool) -> Iterator[str]:
    """The lines of METADATA about other packages."""
    for needed in project["dependencies"]:
        if not (runtime and re.match(r"[\w-]+", needed)[0] in WITHOUT):
            yield f"Requires-Dist: {needed}"
    for extra, packages in project["optional-dependencies"].items():
        if runtime and extra not in EXTRAS:
            continue
        yield f"Provides-Extra: {extra}"
        for needed in packages:
            package, _, marker = needed.partition(";")
            condition = f"({marker.strip()}) and " if marker else ""
            yield f'Requires-Dist: {package}; {condition}extra == "{extra}"'


def record(contents: Mapping[str, bytes], own: str) -> str:
    """The text of RECORD: the hash and the size of each file, and itself."""
    lines = [f"{path},sha256={_encoded_hash(data)},{len(data)}" for path, data in contents.items()]
    return "\n".join([*lines, f"{own},,", ""])


def _encoded_hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_zip(path: Path, contents: Mapping[str, bytes]) -> None:
    """Write the archive; the same contents give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, data)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runtime", action="store_true", help="nmt-cli-runtime, without torch")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    options = parser.parse_args(arguments)
    print(build(options.out, runtime=options.runtime))
    return 0


if __name__ == "__main__":
    sys.exit(main())
