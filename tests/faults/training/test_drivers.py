"""GPUs that are not there, or that their driver does not give: said, with where to look."""

from pathlib import Path

import pytest
from faults.tally import fault

from nmt_cli.cli.error_reporting import as_user_error
from nmt_cli.errors import UnavailableError
from nmt_cli.extras.doctor import examine
from nmt_cli.training.parallel.ranks import count_devices


def gpu_that_is_there(patch: pytest.MonkeyPatch) -> None:
    real = Path.glob
    patch.setattr(
        Path, "glob",
        lambda self, pattern: (
            [Path("/dev/nvidia0")] if "nvidia" in pattern else real(self, pattern)
        ),
    )  # fmt: skip
    patch.setattr("torch.cuda.is_available", lambda: False)
    patch.setattr("torch.version.cuda", "13.0")
    patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@fault("E3")
def test_training_on_unusable_gpus_is_refused_instead_of_using_cpu(monkeypatch, checks):
    """A driver that is broken or too old; unless the user hid the GPUs."""
    gpu_that_is_there(monkeypatch)
    for gpus in (None, 1, 8):
        with pytest.raises(UnavailableError, match="can use none of the GPUs") as raised:
            count_devices(gpus)
        assert raised.value.exit_code == 69
        assert "nmt doctor" in raised.value.hint
        checks()
    assert next(check for check in examine({}, Path()) if check.name == "GPU").status == "fail"
    checks()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert count_devices(None) == 1
    checks()


@fault("E3")
def test_more_gpus_than_available_are_refused(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert count_devices(None) == 2
    assert count_devices(1) == 1
    with pytest.raises(UnavailableError, match="--gpus 8: this machine has 2") as raised:
        count_devices(8)
    assert "nmt doctor" in raised.value.hint


@fault("E3")
def test_processes_replace_gpus_on_a_machine_without_gpu(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert count_devices(None) == 1
    assert count_devices(8) == 8


TROUBLES = (
    "CUDA error: no kernel image is available for execution on the device\nCompile with ...",
    "CUDA driver version is insufficient for CUDA runtime version",
    "CUDA error: unknown error", "Found no NVIDIA driver on your system.",
    "The NVIDIA driver on your system is too old (found version 11040).",
)  # fmt: skip


@fault("E3")
@pytest.mark.parametrize("text", TROUBLES)
def test_gpu_driver_error_has_a_hint(text):
    error = as_user_error(RuntimeError(text))
    assert error is not None
    assert error.exit_code == 69
    assert "\n" not in error.message
    assert "nmt doctor" in error.hint


@fault("E3")
def test_illegal_gpu_address_is_reported_as_bug():
    assert as_user_error(RuntimeError("CUDA error: device-side assert triggered")) is None
