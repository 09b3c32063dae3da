"""The peer: Hugging Face's MarianMTModel in the loop that its users write."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Pairs
from nmt_cli.model.encoder_decoder import vocabulary_sizes

IGNORED = -100
# Sentences are sorted by length within so many batches, as bucketing loaders do.
POOL_BATCHES = 50


def make_marian(config: Config, attention: str = "sdpa") -> Any:
    """A MarianMTModel of the sizes of `config.model`, with random weights."""
    from transformers import MarianConfig, MarianMTModel

    model = config.model
    theirs = MarianConfig(
        vocab_size=vocabulary_sizes(model)[1],
        d_model=model.d_model,
        encoder_layers=model.layers,
        decoder_layers=model.layers,
        encoder_attention_heads=model.heads,
        decoder_attention_heads=model.heads,
        encoder_ffn_dim=model.d_ff,
        decoder_ffn_dim=model.d_ff,
        activation_function=model.activation,
        dropout=model.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=max(256, config.data.max_length),
        pad_token_id=model.pad_id,
        eos_token_id=model.eos_id,
        forced_eos_token_id=None,
        bos_token_id=model.bos_id,
        decoder_start_token_id=model.bos_id,
    )
    theirs._attn_implementation = attention
    return MarianMTModel(theirs)


class Buckets:
    """Length-bucketed batches of ids, padded, for ever; counts how much of them is padding."""

    def __init__(self, pairs: Pairs, batch_tokens: int, seed: int) -> None:
        """`batch_tokens`: of the padded target side at most, and of the padded source side."""
        self.pairs = pairs
        self.batch_tokens = batch_tokens
        self.random = np.random.default_rng(seed)
        self.tokens = 0
        self.places = 0

    @property
    def padding(self) -> float:
        """Share of the target side that was padding so far."""
        return 1 - self.tokens / max(1, self.places)

    def __iter__(self) -> Iterator[np.ndarray]:
        while True:
            for ids in self._epoch():
                lengths = self.pairs.tgt_lengths[ids]
                self.tokens += int(lengths.sum())
                self.places += len(ids) * int(lengths.max())
                yield ids

    def _epoch(self) -> list[np.ndarray]:
        src, tgt = self.pairs.src_lengths, self.pairs.tgt_lengths
        mean = max(1.0, float(np.maximum(src, tgt).mean()))
        pool = max(1, int(POOL_BATCHES * self.batch_tokens / mean))
        order = self.random.permutation(len(self.pairs))
        batches = []
        for start in range(0, len(order), pool):
            ids = order[start : start + pool]
            batches += self._cut(ids[np.lexsort((src[ids], tgt[ids]))])
        return [batches[number] for number in self.random.permutation(len(batches))]

    def _cut(self, ids: np.ndarray) -> list[np.ndarray]:
        batches = []
        longest = np.maximum(self.pairs.src_lengths[ids], self.pairs.tgt_lengths[ids])
        start = widest = 0
        for place, length in enumerate(longest):
            widest = max(widest, int(length))
            if place > start and widest * (place + 1 - start) > self.batch_tokens:
                batches.append(ids[start:place])
                start, widest = place, int(length)
        batches.append(ids[start:])
        return batches


class MarianLoop:
    """Training as a user of transformers writes it: autocast, cross-entropy, fused Adam."""

    def __init__(
        self,
        config: Config,
        pairs: Pairs,
        device: torch.device,
        *,
        precision: str,
        attention: str = "sdpa",
        compiled: str = "",
    ) -> None:
        """`compiled`: the backend of torch.compile, or none."""
        self.config = config
        self.device = device
        self.bf16 = precision == "bf16"
        torch.manual_seed(config.train.seed)
        self.model = make_marian(config, attention).to(device).train()
        train = config.train
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=1e-4,
            betas=(train.beta1, train.beta2),
            eps=train.epsilon,
            fused=True,
        )
        # Batches come in many shapes: without `dynamic` each would be compiled for itself.
        self.forward: Callable[..., Tensor] = self._loss
        if compiled:
            self.forward = torch.compile(self._loss, dynamic=True, backend=compiled)
        self.buckets = Buckets(pairs, train.batch_tokens, train.seed)
        self.batches = iter(self.buckets)
        self.ready: deque[tuple[int, list[Tensor]]] = deque()

    def make_ready(self, count: int) -> None:
        """Make the next batches now: as from a loader that never lets the device wait."""
        for _ in range(count):
            ids = next(self.batches)
            self.ready.append((int(self.buckets.pairs.tgt_lengths[ids].sum()), self.padded(ids)))

    def steps(self, count: int) -> int:
        """Take so many optimiser steps; target tokens, padding not counted."""
        tokens = 0
        for _ in range(count):
            if not self.ready:
                self.make_ready(1)
            batch_tokens, batch = self.ready.popleft()
            tokens += batch_tokens
            inputs = [tensor.to(self.device, non_blocking=True) for tensor in batch]
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
                loss = self.forward(*inputs)
            torch.autograd.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
        return tokens

    def padded(self, ids: np.ndarray) -> list[Tensor]:
        """Source ids, attention mask, decoder input and labels, each (rows, length)."""
        pairs, model = self.buckets.pairs, self.config.model
        rows = [pairs[int(index)] for index in ids]
        src = np.full((len(rows), max(len(source) for source, _ in rows)), model.pad_id, np.int64)
        shape = (len(rows), max(len(target) for _, target in rows))
        labels = np.full(shape, IGNORED, np.int64)
        shifted = np.full(shape, model.pad_id, np.int64)
        shifted[:, 0] = model.bos_id
        mask = np.zeros_like(src)
        for row, (source, target) in enumerate(rows):
            src[row, : len(source)] = source
            mask[row, : len(source)] = 1
            labels[row, : len(target)] = target
            shifted[row, 1 : len(target)] = target[:-1]
        tensors = [torch.from_numpy(tensor) for tensor in (src, mask, shifted, labels)]
        return (
            [tensor.pin_memory() for tensor in tensors] if self.device.type == "cuda" else tensors
        )

    def _loss(self, src: Tensor, mask: Tensor, shifted: Tensor, labels: Tensor) -> Tensor:
        """Mean label-smoothed cross-entropy of a batch."""
        output = self.model(
            input_ids=src, attention_mask=mask, decoder_input_ids=shifted, use_cache=False
        )
        return F.cross_entropy(
            output.logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=IGNORED,
            label_smoothing=self.config.train.label_smoothing,
        )
