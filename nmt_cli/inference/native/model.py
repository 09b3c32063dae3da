"""A model for the library of kernels, and its encoder; `decoder.py` has the decoder's steps."""

import ctypes
from functools import cached_property, partial

import torch
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.inference.native.chunks import ChunkPool
from nmt_cli.inference.native.huge_pages import Arena
from nmt_cli.inference.native.linear import PRECISIONS, Kernels, NativeLinear, PackedRows
from nmt_cli.inference.native.stack import NativeStack
from nmt_cli.inference.native.structs import StateStruct
from nmt_cli.inference.packed.head import whole_blocks
from nmt_cli.inference.packed.model import PackedInputs, SourceEncoder
from nmt_cli.inference.packed.weights import output_weights
from nmt_cli.model.transformer import Transformer


class NativeModel:
    """A model run by the library; it does not follow later changes of its weights."""

    def __init__(
        self,
        model: Transformer,
        kernels: Kernels,
        precision: str = "float32",
        *,
        consumes: bool = False,
    ) -> None:
        """model: float32, in evaluation mode, on the CPU; precision: one of PRECISIONS.

        consumes: to save memory, `model` loses the weights of its layers and cannot be used again.
        """
        assert precision in PRECISIONS
        pack = partial(NativeLinear, kernels, precision=precision, arena=Arena())
        self.config = model.config
        self.inputs = PackedInputs(model)
        self.d_k, self.d_v = self.inputs.d_k, self.inputs.d_v
        self.encode = SourceEncoder(model, self.inputs, pack, self.memory)
        self.kernels = kernels
        self.chunks = ChunkPool()
        self.encoder_stack = NativeStack(
            model.encoder, model.encoder_norm, model.positions, self.config, pack,
            consumes=consumes,
        )  # fmt: skip
        self.decoder_stack = NativeStack(
            model.decoder, model.decoder_norm, model.tgt_positions, self.config, pack,
            consumes=consumes,
        )  # fmt: skip
        output = output_weights(model)
        self.words, head = output.outputs, whole_blocks(output)
        self.padded_words = head.outputs
        self.decoder_stack.model.head = self.decoder_stack.linear(head)
        self.precision, self._output, self.bias = precision, output.weight, output.bias
        self._embedded = model.embedding.matrix("tgt").detach()
        self.decoder_stack.model.embedding = self._embedded.data_ptr()

    @cached_property
    def rows(self) -> PackedRows:
        """The weights of the output layer, from which those of a few words are packed."""
        return PackedRows.of(self._output, self.precision)

    def row_widths(self) -> dict[str, int]:
        """The width of each buffer that a row needs in a stack of layers."""
        config = self.config
        gated = config.d_ff if self.decoder_stack.model.gated else 0
        return {
            "x": config.d_model,
            "normed": config.d_model,
            "joined": config.heads * (2 * self.d_k + self.d_v),
            "query": config.heads * self.d_k,
            "attended": config.heads * self.d_v,
            "sublayer_output": config.d_model,
            "inner": config.d_ff + gated,
            "gated": gated,
        }

    def memory(self, ids: Tensor, segments: Segments) -> Tensor:
        """The output of the encoder, (tokens, d_model); a row depends on its own sentence only."""
        rows, longest, threads = len(ids), int(segments.max_length), torch.get_num_threads()
        self.encoder_stack.extend_positions(longest)
        size = self.kernels.library.nmt_step_bytes(self.encoder_stack.widest, longest, 1)
        buffers = {name: torch.empty(rows, width) for name, width in self.row_widths().items()}
        buffers["scratch"] = torch.empty(threads * size, dtype=torch.uint8)
        embedded = self.inputs.embed("src", ids, segments.positions, longest)
        buffers["x" if self.encoder_stack.model.pre_norm else "normed"].copy_(embedded)
        offsets = segments.offsets.long()
        lengths = offsets.diff()
        starts, ends = (bounds.repeat_interleave(lengths) for bounds in (offsets[:-1], offsets[1:]))
        positions = segments.positions.long()
        state = StateStruct(
            busy=rows, beam=1, threads=threads, scratch_bytes=size, longest=longest,
            starts=starts.data_ptr(), ends=ends.data_ptr(), positions=positions.data_ptr(),
            **{name: tensor.data_ptr() for name, tensor in buffers.items()},
        )  # fmt: skip
        completed = self.kernels.library.nmt_encode(
            self.kernels.lanes, ctypes.byref(self.encoder_stack.model), ctypes.byref(state)
        )
        if not completed:
            raise RuntimeError(f"no kernels of {self.kernels.lanes} lanes here")
        return buffers["normed"]
