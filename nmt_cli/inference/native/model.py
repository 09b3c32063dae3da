"""A model for the library of kernels, and its encoder; `decoder.py` has the decoder's steps."""

import ctypes
from typing import NamedTuple

import numpy as np

from nmt_cli.errors import DataError
from nmt_cli.inference.native.chunks import ChunkPool
from nmt_cli.inference.native.linear import Kernels, Linear
from nmt_cli.inference.native.memory import address, empty
from nmt_cli.inference.native.packing.packed_weights import HEAD, PackedWeights
from nmt_cli.inference.native.rooms import RoomPool
from nmt_cli.inference.native.stack import NativeStack
from nmt_cli.inference.native.structs import Encoding, ModelStruct
from nmt_cli.inference.weights import TransformerArrays


class EncodedSources(NamedTuple):
    """Keys, (decoder layers, heads, tokens, d_k) float32, and values, (..., d_v), of sources.

    memory: holds both; keys, values: their addresses.
    """

    memory: np.ndarray
    keys: int
    values: int


class NativeModel:
    """A model run by the library; it does not follow later changes of its weights."""

    def __init__(self, weights: PackedWeights, kernels: Kernels) -> None:
        # What is still in a file is read now.
        arrays = TransformerArrays(weights.arrays.config, weights.arrays.unjoined())
        weights = weights._replace(arrays=arrays)
        self.config = arrays.config
        self.d_k, self.d_v = arrays.d_k, arrays.d_v
        self.kernels = kernels
        self.chunks, self.rooms = ChunkPool(), RoomPool()
        self.encoder_stack = NativeStack(weights, "encoder", kernels)
        self.decoder_stack = NativeStack(weights, "decoder", kernels)
        decoder = self.decoder_stack.model
        decoder.head = self.decoder_stack.linear(HEAD)
        self.head = weights.linears[HEAD]
        self.words, self.padded_words = int(self.config.tgt_vocab_size), decoder.head.outputs
        self.precision, self.bias = weights.precision, arrays.output_bias
        # Set by the library where it fails to read an embedding; it stays set, since several
        # threads may look.
        self._unreadable = ctypes.c_int64()
        # Keeps embeddings and their file alive.
        self._weights = weights
        self._set_embedding(self.encoder_stack.model, "src", weights)
        self._set_embedding(decoder, "tgt", weights)
        projections = [projection.linear for projection in self.decoder_stack.memory]
        # The struct `linear` of each layer of the decoder.
        self._memory = (Linear * len(projections))(*projections)

    def _set_embedding(self, stack: ModelStruct, side: str, weights: PackedWeights) -> None:
        """Let a stack refer to the embedding of its side, src or tgt."""
        arrays = weights.arrays
        rows = weights.stored.get(arrays.embedding_name(side))
        stack.unreadable = ctypes.addressof(self._unreadable)
        if weights.precision == "float32" and arrays.is_output(side):
            stack.embedded_in_panels, stack.embedding = True, address(self.head.packed)
        elif rows is not None:
            stack.embedding_file, stack.embedding_begin = rows.descriptor, rows.begin
        else:
            stack.embedding = address(arrays.embedding(side))

    def require_embeddings(self) -> None:
        """Raise DataError if an embedding could not be read from its file."""
        if self._unreadable.value:
            (name,) = {rows.name for rows in self._weights.stored.values()}
            raise DataError(
                f"`{name}` cannot be read any more: it was changed, or its disk fails",
                "start nmt again: it packs the weights anew and writes them to this file",
            )

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

    def encode(self, ids: np.ndarray, lengths: np.ndarray, threads: int) -> EncodedSources:
        """Keys and values of sources, which do not depend on each other.

        ids: (tokens,) int64, all sources one after the other; lengths: int64, of each.
        """
        tokens, longest = len(ids), int(lengths.max())
        stack, kernels = self.encoder_stack, self.kernels
        stack.extend_positions(longest)
        layers, heads = len(self._memory), self.config.heads
        key_numbers = layers * heads * tokens * self.d_k
        memory = empty(key_numbers + layers * heads * tokens * self.d_v)
        keys = int(address(memory) or 0)
        values = keys + key_numbers * memory.itemsize
        encoding = Encoding(
            address(ids), address(lengths), len(lengths), tokens, longest, threads, stack.widest,
            layers, ctypes.addressof(self._memory), keys, values,
        )  # fmt: skip
        arguments = ctypes.byref(stack.model), ctypes.byref(encoding)
        room = self.rooms.take(kernels.library.nmt_encode_bytes(*arguments))
        encoding.room = room.address
        completed = kernels.library.nmt_encode(kernels.lanes, *arguments)
        self.rooms.give_back(room)
        kernels.require_run(completed)
        return EncodedSources(memory, keys, values)
