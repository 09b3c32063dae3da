"""Separates a checkpoint into its tensors and plain containers, within the size of its file."""

import argparse
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

# The most containers within each other, and the most values in them.
DEEPEST = 32
MOST_VALUES = 1_000_000
# The fewest characters of text that are allowed; larger files may hold as many as bytes.
CHARACTERS = 16 << 20
LARGEST_NUMBER = 2**63
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SEPARATOR = "/"


class UnreadableCheckpointError(Exception):
    """A checkpoint is not what a toolkit writes."""


class PlainContent:
    """The content of a checkpoint as JSON values and named tensors.

    One object can occur many times in a pickle, so that a small file can describe a very large
    content. What is kept may be no larger than the file. `aliases` are the names of tensors that
    are stored under another name.
    """

    def __init__(self, file_size: int) -> None:
        """file_size: the size of the checkpoint's file."""
        self.aliases: dict[str, str] = {}
        self._bytes = file_size
        self._characters = max(file_size, CHARACTERS)
        self._values = MOST_VALUES
        self._tensors: dict[str, Tensor] = {}
        self._names: dict[tuple[object, ...], str] = {}

    def convert(self, value: object, names: tuple[str, ...] = ()) -> Any:
        """A value as JSON; tensors become None and are kept under the names that lead to them."""
        self._values -= 1
        if self._values < 0 or len(names) > DEEPEST:
            raise UnreadableCheckpointError(
                "it holds too many values, or too many containers within each other"
            )
        if isinstance(value, Tensor):
            return self._keep(value, SEPARATOR.join(names))
        if isinstance(value, argparse.Namespace):
            value = vars(value)
        if isinstance(value, Mapping):
            return {
                self._text(str(key)): self.convert(item, (*names, str(key)))
                for key, item in value.items()
                if isinstance(key, str | int)
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self.convert(item, (*names, str(index))) for index, item in enumerate(value)]
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int) and abs(value) < LARGEST_NUMBER:
            return value
        return f"<{type(value).__name__}>"

    def tensors(self) -> dict[str, Tensor]:
        """The tensors that were kept, each with memory of its own."""
        result: dict[str, Tensor] = {}
        used: set[int] = set()
        for name, tensor in self._tensors.items():
            storage = tensor.untyped_storage()
            is_part = storage.nbytes() != tensor.nbytes or storage.data_ptr() in used
            used.add(storage.data_ptr())
            tensor = tensor.detach().contiguous()
            result[name] = tensor.clone() if is_part else tensor
        return result

    def _text(self, text: str) -> str:
        self._characters -= len(text)
        if self._characters < 0:
            raise UnreadableCheckpointError("its texts are larger than the file")
        return text

    def _keep(self, tensor: Tensor, name: str) -> None:
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
            raise UnreadableCheckpointError(f"its tensor `{name[:100]}` is not a plain tensor")
        if tensor.dtype not in DTYPES:
            return
        if name in self._tensors or name in self.aliases:
            raise UnreadableCheckpointError(f"it has two tensors `{name[:100]}`")
        place = tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tensor.dtype
        key = (*place, tuple(tensor.shape), tensor.stride())
        if tensor.numel() and key in self._names:
            self.aliases[name] = self._names[key]
            return
        self._bytes -= tensor.nbytes
        if self._bytes < 0:
            raise UnreadableCheckpointError(
                f"its tensors, such as `{name[:100]}`, are larger than the file"
            )
        self._names[key] = name
        self._tensors[name] = tensor
