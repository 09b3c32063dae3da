"""`nmt doctor`: each finding on a healthy and on an ailing machine, and the exit code."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nmt_cli.cli import main
from nmt_cli.extras import doctor
from nmt_cli.extras.doctor import GIB, Check, examine


class Usage(NamedTuple):
    """What shutil.disk_usage answers."""

    total: int
    used: int
    free: int


def found(name: str, environ: dict[str, str] | None = None, folder: Path = Path()) -> Check:
    return next(check for check in examine(environ or {}, folder) if check.name == name)


def test_doctor_checks_have_names_statuses_and_fixes(tmp_path: Path) -> None:
    checks = examine({}, tmp_path)
    assert len({check.name for check in checks}) == len(checks) >= 14
    for check in checks:
        assert check.status in ("ok", "warn", "fail")
        assert check.found
        assert bool(check.fix) == (check.status != "ok"), check
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({}, "ok"),
        ({"OMP_NUM_THREADS": "1"}, "ok"),
        ({"OMP_NUM_THREADS": "3"}, "warn"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "warn"),
    ],
)
def test_doctor_checks_thread_environment(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], status: str
) -> None:
    monkeypatch.setattr(doctor, "usable_cores", lambda: 2)
    assert found("threads", environ).status == status


def test_doctor_names_the_engine_on_cpu(
    kernel_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine() -> Check:
        checks = examine({}, Path(), kernel_cache)
        return next(check for check in checks if check.name == "translating on the CPU")

    if shutil.which("cc"):
        assert "nmt's own kernels" in engine().found
        assert "torch with" not in engine().found
        assert engine().status == "ok"
    monkeypatch.setenv("PATH", "")
    assert "torch with" in engine().found
    assert "there is no C compiler" in engine().found
    assert engine()[-1] == "install a C compiler (cc)"
    assert engine().status == "warn"


@pytest.mark.parametrize(("package", "status"), [("nmt-cli", "warn"), ("nmt-cli-runtime", "ok")])
def test_missing_torch_is_a_warning_unless_the_package_needs_none(
    monkeypatch: pytest.MonkeyPatch, package: str, status: str
) -> None:
    monkeypatch.setattr("nmt_cli.extras.doctor.has_torch", lambda: False)
    monkeypatch.setattr("nmt_cli.installation._installed", lambda: (package, None))
    assert found("torch").status == status


def test_doctor_names_only_extras_that_the_package_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.extras.doctor.provided_extras", lambda: ("png", "zstd"))
    monkeypatch.setattr(
        "nmt_cli.extras.doctor.EXTRAS", dict.fromkeys(("png", "onnx"), ("nothing",))
    )
    check = found("extras").found
    assert check.startswith("none; not installed: png, such as ")
    assert "onnx" not in check


def test_doctor_names_the_engine_on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from nmt_cli.inference.cuda import self_test

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert found("translating on a GPU").found == "no GPU that torch can use"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    faults = {torch.float16: ""}
    monkeypatch.setattr(
        self_test, "find_fault", lambda device, dtype: faults.get(dtype, "") and device.type
    )
    assert found("translating on a GPU").status == "ok"
    faults[torch.float16] = "wrong"
    check = found("translating on a GPU")
    assert check.status == "warn"
    assert check.found == "CUDA graphs fail (fp16: cuda)"


@pytest.mark.parametrize(("free", "status"), [(100, "ok"), (1, "warn"), (0, "fail")])
def test_doctor_checks_disk_and_shared_memory(
    monkeypatch: pytest.MonkeyPatch, free: int, status: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, free * GIB))
    assert found("disk").status == status
    assert found("shared memory").status == ("ok" if free else "warn")


def test_doctor_fails_on_unwritable_folder(tmp_path: Path) -> None:
    assert found("writing here", folder=tmp_path).status == "ok"
    assert found("writing here", folder=Path("/proc")).status == "fail"


def test_doctor_fails_on_package_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", {"numpy": "numpy", "absent": "no_such_module_of_ours"})
    check = found("packages")
    assert check.status == "fail"
    assert "absent (ModuleNotFoundError" in check.found


def test_doctor_warns_of_untested_torch_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TORCH_VERSIONS", ((1, 0), (2, 0)))
    check = found("torch")
    assert check.status == "warn"
    assert "torch>=1.0,<2.0" in check.fix


def test_doctor_reports_gpu_that_torch_cannot_use(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    real = Path.glob
    monkeypatch.setattr(
        Path,
        "glob",
        lambda self, pattern: (
            [Path("/dev/nvidia0")] if "nvidia" in pattern else real(self, pattern)
        ),
    )
    for cuda, status in ((None, "warn"), ("13.0", "fail")):
        monkeypatch.setattr(torch.version, "cuda", cuda)
        assert found("GPU").status == status


def test_doctor_check_that_raises_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> Any:
        raise OSError("no such thing")

    monkeypatch.setattr(shutil, "disk_usage", broken)
    assert found("shared memory").found == "cannot be examined: OSError: no such thing"


class TestCommand:
    @pytest.fixture(autouse=True)
    def somewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize(("status", "code"), [("ok", 0), ("warn", 0), ("fail", 1)])
    def test_doctor_exit_code_is_1_on_failure(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        status: Any,
        code: int,
    ) -> None:
        check = Check("disk", status, "full", "" if status == "ok" else "free some space")
        monkeypatch.setattr(doctor, "examine", lambda environ, folder, cache: [check])
        assert main(["doctor"]) == code
        shown = capsys.readouterr().out
        assert shown.startswith(f"{status}  disk  full\n")
        assert ("free some space" in shown) == (status != "ok")

    def test_doctor_json_is_one_object(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["doctor", "--json"])
        report = json.loads(capsys.readouterr().out)
        assert report["schema"] == 1
        assert report["versions"]["nmt"]
        assert {"name", "status", "found", "fix"} == set(report["checks"][0])


def test_doctor_memory_respects_container_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "available_memory", lambda: 1 << 30)
    assert found("memory").status == "warn"
    assert found("memory").found.startswith("1.0 GiB free")
    monkeypatch.setattr(doctor, "available_memory", lambda: 8 << 30)
    assert found("memory").status == "ok"
