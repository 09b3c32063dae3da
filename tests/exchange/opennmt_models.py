"""Checkpoints as OpenNMT-py 3 writes them, and its arithmetic as a forward pass in plain torch.

Nothing of nmt is used here, and OpenNMT-py need not be installed.
"""

import argparse
import math
import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import torch.nn.functional as F
from fairseq_models import segmenter
from torch import Tensor

SPECIAL = ["<unk>", "<blank>", "<s>", "</s>"]
BASE: dict[str, Any] = {
    "model_task": "seq2seq", "model_type": "text", "encoder_type": "transformer",
    "decoder_type": "transformer", "enc_layers": 2, "dec_layers": 1, "layers": -1,
    "hidden_size": 16, "enc_hid_size": 16, "dec_hid_size": 16, "src_word_vec_size": 16,
    "tgt_word_vec_size": 16, "heads": 4, "transformer_ff": 24, "position_encoding": True,
    "position_encoding_type": "SinusoidalInterleaved", "max_relative_positions": 0,
    "pos_ffn_activation_fn": "relu", "layer_norm": "standard", "norm_eps": 1e-6,
    "add_qkvbias": True, "add_ffnbias": True, "share_embeddings": True,
    "share_decoder_embeddings": True, "self_attn_type": "scaled-dot", "num_kv": 0,
    "copy_attn": False, "transforms": ["sentencepiece", "filtertoolong"], "dropout": [0.1],
}  # fmt: skip
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


def vocabulary(content: bytes, seed: int = 1) -> list[str]:
    """Special entries, the pieces in another order, and what makes the size a multiple of 8."""
    pieces = sentencepiece.SentencePieceProcessor(model_proto=content)
    entries = [pieces.id_to_piece(index) for index in range(3, len(pieces))]
    random.Random(seed).shuffle(entries)
    entries = SPECIAL + entries
    return entries + [f"averyunlikelytoken{index}" for index in range(-len(entries) % 8 or 8)]


def make_weights(opt: dict[str, Any], rows: tuple[int, int]) -> dict[str, dict[str, Tensor]]:
    """Random weights under the names of OpenNMT-py: those of the model and of the generator."""
    generator = torch.Generator().manual_seed(3)
    width, inner = opt["hidden_size"], opt["transformer_ff"]

    def some(*shape: int, mean: float = 0.0) -> Tensor:
        return torch.randn(*shape, generator=generator) * 0.3 + mean

    weights: dict[str, Tensor] = {}

    def linear(name: str, outputs: int, inputs: int, bias: bool) -> None:
        weights[f"{name}.weight"] = some(outputs, inputs)
        if bias:
            weights[f"{name}.bias"] = some(outputs)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = some(width, mean=1.0)
        if opt["layer_norm"] == "standard":
            weights[f"{name}.bias"] = some(width)

    for side, stack in (("encoder", "transformer"), ("decoder", "transformer_layers")):
        rows_here = rows[side == "decoder"]
        embedding = f"{side}.embeddings.make_embedding.emb_luts.0.weight"
        weights[embedding] = some(rows_here, width)
        weights[f"{side}.embeddings.make_embedding.pe.pe"] = torch.zeros(5000, 1, width)
        norm(f"{side}.layer_norm")
        for index in range(opt[f"{side[:3]}_layers"]):
            layer = f"{side}.{stack}.{index}"
            for attention in ("self_attn", "context_attn")[: 1 + (side == "decoder")]:
                for part in ("linear_keys", "linear_values", "linear_query", "final_linear"):
                    linear(f"{layer}.{attention}.{part}", width, width, opt["add_qkvbias"])
            for name in ("layer_norm_1", "layer_norm_2") if side == "decoder" else ("layer_norm",):
                norm(f"{layer}.{name}")
            norm(f"{layer}.feed_forward.layer_norm")
            linear(f"{layer}.feed_forward.w_1", inner, width, opt["add_ffnbias"])
            linear(f"{layer}.feed_forward.w_2", width, inner, opt["add_ffnbias"])
            if opt["pos_ffn_activation_fn"] == "silu":
                linear(f"{layer}.feed_forward.w_3", inner, width, opt["add_ffnbias"])
    target = "decoder.embeddings.make_embedding.emb_luts.0.weight"
    if opt["share_embeddings"]:
        weights[target] = weights["encoder.embeddings.make_embedding.emb_luts.0.weight"]
    output = weights[target] if opt["share_decoder_embeddings"] else some(rows[1], width)
    return {"model": weights, "generator": {"weight": output, "bias": some(rows[1])}}


def make_checkpoint(path: Path, **changes: Any) -> dict[str, Any]:
    """Write a checkpoint, with its segmenters beside it; returns its settings and weights."""
    opt = {**BASE, **changes}
    contents = [segmenter(), segmenter(1 if opt["share_embeddings"] else 2)]
    (path.parent / "spm.model").write_bytes(contents[0])
    (path.parent / "target.model").write_bytes(contents[1])
    entries = [vocabulary(contents[0])]
    entries.append(entries[0] if opt["share_embeddings"] else vocabulary(contents[1], 2))
    parts = make_weights(opt, (len(entries[0]), len(entries[1])))
    vocab = {"src": entries[0], "tgt": entries[1], "data_task": "seq2seq"}
    vocab["decoder_start_token"] = "<s>"
    content = {**parts, "opt": argparse.Namespace(**opt), "vocab": vocab, "optim": {"step": 9}}
    torch.save(content, path)
    return {"opt": opt, "weights": {**parts["model"], **prefixed(parts["generator"])}}


def prefixed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"generator.{name}": weight for name, weight in weights.items()}


def interleaved(length: int, width: int) -> Tensor:
    """Sines at even coordinates, cosines at odd ones; the first token is at position 0."""
    result = torch.zeros(length, width)
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float) * -(math.log(10000.0) / width))
    positions = torch.arange(length, dtype=torch.float)[:, None]
    result[:, 0::2] = torch.sin(positions * rates)
    result[:, 1::2] = torch.cos(positions * rates)
    return result


def concatenated(length: int, width: int) -> Tensor:
    half = width // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float) * -(math.log(10000) / (half - 1)))
    angles = torch.arange(length, dtype=torch.float)[:, None] * rates[None]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


TABLES = {"SinusoidalInterleaved": interleaved, "SinusoidalConcat": concatenated}


class Reference:
    """The logits of a checkpoint."""

    def __init__(self, opt: dict[str, Any], weights: dict[str, Tensor]) -> None:
        self.opt, self.weights, self.width = opt, weights, opt["hidden_size"]

    def linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def norm(self, name: str, x: Tensor) -> Tensor:
        scale, epsilon = self.weights[f"{name}.weight"], self.opt["norm_eps"]
        if self.opt["layer_norm"] == "rms":
            return scale * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon))
        return F.layer_norm(x, (self.width,), scale, self.weights[f"{name}.bias"], epsilon)

    def attention(self, name: str, query: Tensor, keys: Tensor, causal: bool) -> Tensor:
        heads = self.opt["heads"]
        q, k, v = (
            self.linear(f"{name}.linear_{part}", x).unflatten(-1, (heads, -1)).transpose(0, 1)
            for part, x in (("query", query), ("keys", keys), ("values", keys))
        )
        scores = q / math.sqrt(self.width // heads) @ k.transpose(1, 2)
        if causal:
            scores = scores + torch.full(scores.shape[1:], -1e18).triu(1)
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)
        return self.linear(f"{name}.final_linear", mixed)

    def feed_forward(self, name: str, x: Tensor) -> Tensor:
        y = self.norm(f"{name}.layer_norm", x)
        inner = ACTIVATIONS[self.opt["pos_ffn_activation_fn"]](self.linear(f"{name}.w_1", y))
        if self.opt["pos_ffn_activation_fn"] == "silu":
            inner = inner * self.linear(f"{name}.w_3", y)
        return x + self.linear(f"{name}.w_2", inner)

    def embed(self, side: str, ids: list[int]) -> Tensor:
        rows = self.weights[f"{side}.embeddings.make_embedding.emb_luts.0.weight"][ids]
        table = TABLES[self.opt["position_encoding_type"]](len(ids), self.width)
        return rows * math.sqrt(self.width) + table

    def logits(self, source: list[int], before: list[int]) -> Tensor:
        """The logits after each of the target ids `before`, the first of which is <s>."""
        memory = self.embed("encoder", source)
        for index in range(self.opt["enc_layers"]):
            layer = f"encoder.transformer.{index}"
            y = self.norm(f"{layer}.layer_norm", memory)
            memory = memory + self.attention(f"{layer}.self_attn", y, y, False)
            memory = self.feed_forward(f"{layer}.feed_forward", memory)
        memory = self.norm("encoder.layer_norm", memory)
        x = self.embed("decoder", before)
        for index in range(self.opt["dec_layers"]):
            layer = f"decoder.transformer_layers.{index}"
            y = self.norm(f"{layer}.layer_norm_1", x)
            x = x + self.attention(f"{layer}.self_attn", y, y, True)
            y = self.norm(f"{layer}.layer_norm_2", x)
            x = x + self.attention(f"{layer}.context_attn", y, memory, False)
            x = self.feed_forward(f"{layer}.feed_forward", x)
        return self.linear("generator", self.norm("decoder.layer_norm", x))

    def greedy(self, source: list[int], banned: set[int], limit: int) -> list[int]:
        """The best id after each, without those that are banned, with </s> (3) at the end."""
        ids: list[int] = []
        while len(ids) < limit and ids[-1:] != [3]:
            scores = self.logits(source, [2, *ids])[-1]
            scores[list(banned)] = -math.inf
            ids.append(int(scores.argmax()))
        return ids if ids[-1:] == [3] else [*ids, 3]
