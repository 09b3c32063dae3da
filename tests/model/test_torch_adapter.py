"""The private names of torch: each is there, and one that depends on the build can be missing."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from nmt_cli.model import torch_adapter


def test_every_foreach_function_changes_each_tensor_as_its_name_says() -> None:
    def tensors() -> list[torch.Tensor]:
        return [torch.tensor([1.0, 4.0]), torch.tensor([[9.0]])]

    def expect(values: list[torch.Tensor], first: list[float], second: float) -> None:
        assert [value.flatten().tolist() for value in values] == [first, [second]]

    x, y = tensors(), tensors()
    torch_adapter.foreach_add_(x, y, alpha=2)
    expect(x, [3.0, 12.0], 27.0)
    torch_adapter.foreach_addcmul_(x, y, y, 10.0)
    expect(x, [13.0, 172.0], 837.0)
    torch_adapter.foreach_copy_(x, y)
    expect(x, [1.0, 4.0], 9.0)
    torch_adapter.foreach_addcdiv_(x, y, y, 0.5)
    expect(x, [1.5, 4.5], 9.5)
    torch_adapter.foreach_mul_(x, 2.0)
    expect(x, [3.0, 9.0], 19.0)
    expect(list(torch_adapter.foreach_lerp(x, y, 0.5)), [2.0, 6.5], 14.0)
    torch_adapter.foreach_lerp_(x, y, 0.5)
    expect(x, [2.0, 6.5], 14.0)
    expect(list(torch_adapter.foreach_sqrt(y)), [1.0, 2.0], 3.0)
    torch_adapter.foreach_zero_(x)
    expect(x, [0.0, 0.0], 0.0)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")
def test_packed_linear_layer_equals_the_plain_one() -> None:
    generator = torch.Generator().manual_seed(1)
    x, weight, bias = (torch.randn(*shape, generator=generator) for shape in ((5, 8), (6, 8), (6,)))
    with torch.inference_mode():
        for own_bias in (None, bias):
            packed = torch_adapter.pack_linear(weight, own_bias, 5)
            torch.testing.assert_close(packed(x), F.linear(x, weight, own_bias))


@pytest.mark.slow
def test_recompilation_is_an_error_unless_torch_has_no_such_setting(monkeypatch) -> None:
    config = torch._dynamo.config
    with torch_adapter.no_recompilation():
        assert config.error_on_recompile
    assert not config.error_on_recompile

    class Config:
        """Without the setting."""

    monkeypatch.setattr(torch._dynamo, "config", Config())
    with torch_adapter.no_recompilation():
        pass


ADDS_TEN = """
import sys, threading, torch
from nmt_cli.model.torch_adapter import OperatorMode

class AddsTen(OperatorMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result + 10 if func is torch.ops.aten.mul.Tensor else result

x = torch.tensor(3.0, requires_grad=True)
entered, left = threading.Event(), threading.Event()

def work():
    with AddsTen():
        entered.set()
        left.wait()

thread = threading.Thread(target=work)
with AddsTen():
    thread.start()
    entered.wait()
    y = x * x
    y.backward()
left.set()
thread.join()
print(y.item(), x.grad.item(), (x * x).item(), "torch._dynamo" in sys.modules)
from torch.utils._python_dispatch import is_in_torch_dispatch_mode
print(is_in_torch_dispatch_mode())
"""


def test_operator_modes_are_those_of_a_thread_and_load_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", ADDS_TEN], capture_output=True, text=True)
    # Each of the two products of the backward pass, too.
    assert done.stdout.split() == ["19.0", "26.0", "9.0", "False", "False"], done.stderr
