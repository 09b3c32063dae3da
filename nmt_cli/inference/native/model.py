"""A model for the library of kernels, and its encoder; `decoder.py` has the decoder's steps."""

import ctypes
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from nmt_cli.inference.native.chunks import ChunkPool
from nmt_cli.inference.native.linear import Kernels, PackedRows, rows_of_panels
from nmt_cli.inference.native.memory import address, empty
from nmt_cli.inference.native.packed_weights import HEAD, PackedWeights
from nmt_cli.inference.native.stack import NativeStack
from nmt_cli.inference.native.structs import StateStruct
from nmt_cli.machine import kernel_threads


class NativeModel:
    """A model run by the library; it does not follow later changes of its weights."""

    def __init__(self, weights: PackedWeights, kernels: Kernels) -> None:
        arrays = weights.arrays
        self.config = arrays.config
        self.d_k, self.d_v = arrays.d_k, arrays.d_v
        self.kernels = kernels
        self.chunks = ChunkPool()
        self.encoder_stack = NativeStack(weights, "encoder", kernels)
        self.decoder_stack = NativeStack(weights, "decoder", kernels)
        decoder = self.decoder_stack.model
        decoder.head = self.decoder_stack.linear(HEAD)
        self._head = weights.linears[HEAD]
        self.words, self.padded_words = int(self.config.tgt_vocab_size), decoder.head.outputs
        self.precision, self.bias = weights.precision, arrays.output_bias
        # What is not among the panels of the output layer in float32.
        in_panels = weights.precision == "float32"
        self._output = None if in_panels else arrays.output.weight
        self._embedded = {
            side: None if in_panels and arrays.is_output(side) else arrays.embedding(side)
            for side in ("src", "tgt")
        }
        embedded = self._embedded["tgt"]
        decoder.embedded_in_panels = embedded is None
        decoder.embedding = address(self._head.packed if embedded is None else embedded)

    def output_rows(self, words: np.ndarray) -> PackedRows:
        """The weights of the output layer for these words, before they are packed."""
        rows = self._all_rows
        if rows is None:
            return PackedRows(rows_of_panels(self._head.packed, words))
        sums = (None if array is None else array[words] for array in rows[1:])
        return PackedRows(rows.weight[words], *sums)

    @cached_property
    def _all_rows(self) -> PackedRows | None:
        return None if self._output is None else PackedRows.of(self._output, self.precision)

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

    def encode(self, ids: np.ndarray, lengths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values of sources: (decoder layers, heads, tokens, d_k), (..., d_v).

        ids: (tokens,) int64, all sources one after the other; lengths: of each.
        """
        memory, heads = self.memory(ids, lengths), self.config.heads
        projections = self.decoder_stack.memory
        keys, values = (
            empty((len(projections), heads, len(ids), width)) for width in (self.d_k, self.d_v)
        )
        for layer, project in enumerate(projections):
            joined = project(memory)
            for heads_of, part in (
                (keys, joined[:, : heads * self.d_k]), (values, joined[:, heads * self.d_k :])
            ):  # fmt: skip
                # (tokens, heads * width) -> (heads, tokens, width)
                heads_of[layer] = part.reshape(len(ids), heads, -1).swapaxes(0, 1)
        return keys, values

    def memory(self, ids: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
        """The output of the encoder, (tokens, d_model); a row depends on its own sentence only."""
        rows, longest, threads = len(ids), max(lengths), kernel_threads()
        self.encoder_stack.extend_positions(longest)
        size = self.kernels.library.nmt_step_bytes(self.encoder_stack.widest, longest, 1)
        buffers = {name: empty((rows, width)) for name, width in self.row_widths().items()}
        buffers["scratch"] = empty(threads * size, np.uint8)
        ends = np.cumsum(lengths, dtype=np.int64)
        starts = (ends - lengths).repeat(lengths)
        ends = ends.repeat(lengths)
        positions = np.arange(rows) - starts
        embedded = buffers["x" if self.encoder_stack.model.pre_norm else "normed"]
        self._embed(ids, positions, embedded)
        state = StateStruct(
            busy=rows, beam=1, threads=threads, scratch_bytes=size, longest=longest,
            starts=address(starts), ends=address(ends), positions=address(positions),
            **{name: address(buffer) for name, buffer in buffers.items()},
        )  # fmt: skip
        completed = self.kernels.library.nmt_encode(
            self.kernels.lanes, ctypes.byref(self.encoder_stack.model), ctypes.byref(state)
        )
        if not completed:
            raise RuntimeError(f"no kernels of {self.kernels.lanes} lanes here")
        return buffers["normed"]

    def _embed(self, ids: np.ndarray, positions: np.ndarray, out: np.ndarray) -> None:
        """Write the embeddings of section 3.4, with positions."""
        embedded = self._embedded["src"]
        if embedded is None:
            out[...] = rows_of_panels(self._head.packed, ids)
        else:
            embedded.take(ids, axis=0, out=out)
        if self.config.scale_embeddings:
            out *= np.float32(math.sqrt(self.config.d_model))
        table = self.encoder_stack.position_table
        if table is not None:
            out += table[np.minimum(positions, len(table) - 1)]
