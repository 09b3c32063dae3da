"""Checkpoints as fairseq writes them, and its arithmetic as a small forward pass in plain torch.

Nothing of nmt is used here, and fairseq need not be installed.
"""

import argparse
import io
import math
import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor

WORDS = ["bado", "kelim", "nosu", "tirap", "wolce", "fad", "jum", "eri", "osk", "upa"]
BASE: dict[str, Any] = {
    "arch": "transformer", "task": "translation", "source_lang": "en", "target_lang": "xx",
    "encoder_embed_dim": 16, "encoder_ffn_embed_dim": 24, "encoder_layers": 2,
    "encoder_attention_heads": 4, "encoder_normalize_before": False, "encoder_learned_pos": False,
    "decoder_embed_dim": 16, "decoder_ffn_embed_dim": 24, "decoder_layers": 1,
    "decoder_attention_heads": 4, "decoder_normalize_before": False, "decoder_learned_pos": False,
    "activation_fn": "relu", "dropout": 0.3, "share_all_embeddings": True,
    "share_decoder_input_output_embed": True, "no_scale_embedding": False,
    "layernorm_embedding": False, "adaptive_softmax_cutoff": None, "lr": [0.0005],
}  # fmt: skip
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


def segmenter(seed: int = 1) -> bytes:
    """A sentencepiece model of made-up words."""
    chooser = random.Random(seed)
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(" ".join(chooser.choices(WORDS, k=4)) for _ in range(200)),
        model_writer=content, vocab_size=36, num_threads=1, hard_vocab_limit=False,
        minloglevel=4,
    )  # fmt: skip
    return content.getvalue()


def dictionary_lines(content: bytes, seed: int = 1) -> list[str]:
    """A dictionary of the pieces in another order, filled up as fairseq-preprocess does."""
    pieces = sentencepiece.SentencePieceProcessor(model_proto=content)
    entries = [pieces.id_to_piece(index) for index in range(3, len(pieces))]
    random.Random(seed).shuffle(entries)
    lines = [f"{entry} {99 - index}" for index, entry in enumerate(entries)]
    fillers = -(len(lines) + 4) % 8 or 8
    return lines + [f"madeupword{index:04} 0" for index in range(fillers)]


def make_weights(settings: dict[str, Any], rows: tuple[int, int]) -> dict[str, Tensor]:
    """Random weights under the names of fairseq's state_dict."""
    generator = torch.Generator().manual_seed(3)
    width, inner = settings["encoder_embed_dim"], settings["encoder_ffn_embed_dim"]

    def some(*shape: int, mean: float = 0.0) -> Tensor:
        return torch.randn(*shape, generator=generator) * 0.3 + mean

    weights: dict[str, Tensor] = {"encoder.version": torch.tensor([3.0])}
    weights["decoder.version"] = torch.tensor([3.0])
    weights["encoder.embed_positions._float_tensor"] = torch.ones(1)
    weights["decoder.embed_positions._float_tensor"] = torch.ones(1)
    source = some(rows[0], width)
    target = source if settings["share_all_embeddings"] else some(rows[1], width)
    tied = settings["share_all_embeddings"] or settings["share_decoder_input_output_embed"]
    weights["encoder.embed_tokens.weight"] = source
    weights["decoder.embed_tokens.weight"] = target
    weights["decoder.output_projection.weight"] = target if tied else some(rows[1], width)
    for side in ("encoder", "decoder"):
        norms = ["final_layer_norm", "self_attn_layer_norm"]
        attentions = ["self_attn"]
        if side == "decoder":
            norms.append("encoder_attn_layer_norm")
            attentions.append("encoder_attn")
        for index in range(settings[f"{side}_layers"]):
            start = f"{side}.layers.{index}."
            for attention in attentions:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    weights[f"{start}{attention}.{part}.weight"] = some(width, width)
                    weights[f"{start}{attention}.{part}.bias"] = some(width)
            for norm in norms:
                weights[f"{start}{norm}.weight"] = some(width, mean=1.0)
                weights[f"{start}{norm}.bias"] = some(width)
            weights |= {f"{start}fc1.weight": some(inner, width), f"{start}fc1.bias": some(inner)}
            weights |= {f"{start}fc2.weight": some(width, inner), f"{start}fc2.bias": some(width)}
        if settings[f"{side}_normalize_before"]:
            weights[f"{side}.layer_norm.weight"] = some(width, mean=1.0)
            weights[f"{side}.layer_norm.bias"] = some(width)
    return weights


def checkpoint(settings: dict[str, Any], weights: dict[str, Tensor], form: str) -> dict[str, Any]:
    """The content of a checkpoint; form: args, cfg or nested (settings in parts)."""
    content: dict[str, Any] = {
        "model": weights, "args": None, "cfg": None,
        "optimizer_history": [{"num_updates": 9}], "extra_state": {"epoch": 1},
        "last_optimizer_state": {"state": {0: {"exp_avg": torch.zeros(40)}}},
    }  # fmt: skip
    if form == "args":
        return {**content, "args": argparse.Namespace(**settings)}
    languages = {name: settings[name] for name in ("source_lang", "target_lang")}
    model: Any = dict(settings, _name=settings["arch"])
    if form == "nested":
        for side in ("encoder", "decoder"):
            start = f"{side}_"
            parts = [name for name in model if name.startswith(start)]
            model[side] = {name.removeprefix(start): model.pop(name) for name in parts}
        del model["arch"]
    else:
        model = argparse.Namespace(**model)
    return {**content, "cfg": {"model": model, "task": {"_name": settings["task"], **languages}}}


def make_directory(folder: Path, form: str = "args", **changes: Any) -> dict[str, Any]:
    """Write a checkpoint with its dictionaries and segmenter; returns its settings and weights."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**BASE, **changes}
    contents = [segmenter()]
    if not settings["share_all_embeddings"]:
        contents.append(segmenter(2))
    dictionaries = [dictionary_lines(contents[0]), dictionary_lines(contents[-1], len(contents))]
    for name, lines in zip(("en", "xx"), dictionaries, strict=True):
        (folder / f"dict.{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / "spm.model").write_bytes(contents[0])
    (folder / "target.model").write_bytes(contents[-1])
    rows = len(dictionaries[0]) + 4, len(dictionaries[1]) + 4
    weights = make_weights(settings, rows)
    torch.save(checkpoint(settings, weights, form), folder / "checkpoint_best.pt")
    return {"settings": settings, "weights": weights}


def sinusoids(length: int, width: int) -> Tensor:
    """Rows 2 to length + 1 of the table: positions follow the id of padding, 1."""
    half = width // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float) * -(math.log(10000) / (half - 1)))
    angles = torch.arange(2, length + 2, dtype=torch.float)[:, None] * rates[None]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


class Reference:
    """The logits of a checkpoint."""

    def __init__(self, settings: dict[str, Any], weights: dict[str, Tensor]) -> None:
        self.settings, self.weights = settings, weights
        self.width = settings["encoder_embed_dim"]

    def linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, name: str, x: Tensor) -> Tensor:
        scale, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(x, (self.width,), scale, bias, 1e-5)

    def attention(self, name: str, query: Tensor, keys: Tensor, causal: bool) -> Tensor:
        heads = self.settings["encoder_attention_heads"]
        q, k, v = (
            self.linear(f"{name}.{part}_proj", x).unflatten(-1, (heads, -1)).transpose(0, 1)
            for part, x in (("q", query), ("k", keys), ("v", keys))
        )
        scores = (q * (self.width // heads) ** -0.5) @ k.transpose(1, 2)
        if causal:
            scores = scores + torch.full(scores.shape[1:], -math.inf).triu(1)
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)
        return self.linear(f"{name}.out_proj", mixed)

    def feed_forward(self, layer: str, x: Tensor) -> Tensor:
        activation = ACTIVATIONS[self.settings["activation_fn"]]
        return self.linear(f"{layer}.fc2", activation(self.linear(f"{layer}.fc1", x)))

    def sublayer(self, side: str, norm: str, x: Tensor, function: Any) -> Tensor:
        if self.settings[f"{side}_normalize_before"]:
            return x + function(self.norm(norm, x))
        return self.norm(norm, x + function(x))

    def stack(self, side: str, ids: list[int], memory: Tensor | None) -> Tensor:
        scale = 1.0 if self.settings["no_scale_embedding"] else math.sqrt(self.width)
        x = scale * self.weights[f"{side}.embed_tokens.weight"][ids]
        x = x + sinusoids(len(ids), self.width)
        for index in range(self.settings[f"{side}_layers"]):
            layer = f"{side}.layers.{index}"
            x = self.sublayer(
                side, f"{layer}.self_attn_layer_norm", x,
                lambda y, at=layer: self.attention(f"{at}.self_attn", y, y, memory is not None),
            )  # fmt: skip
            if memory is not None:
                x = self.sublayer(
                    side, f"{layer}.encoder_attn_layer_norm", x,
                    lambda y, at=layer: self.attention(f"{at}.encoder_attn", y, memory, False),
                )  # fmt: skip
            x = self.sublayer(
                side, f"{layer}.final_layer_norm", x,
                lambda y, layer=layer: self.feed_forward(layer, y),
            )  # fmt: skip
        if self.settings[f"{side}_normalize_before"]:
            x = self.norm(f"{side}.layer_norm", x)
        return x

    def logits(self, source: list[int], before: list[int]) -> Tensor:
        """The logits after each of the target ids `before`, the first of which is </s>."""
        hidden = self.stack("decoder", before, self.stack("encoder", source, None))
        return hidden @ self.weights["decoder.output_projection.weight"].T

    def greedy(self, source: list[int], banned: set[int], limit: int) -> list[int]:
        """The best id after each, without those that are banned, with </s> at the end."""
        ids: list[int] = []
        while len(ids) < limit and ids[-1:] != [2]:
            scores = self.logits(source, [2, *ids])[-1]
            scores[list(banned)] = -math.inf
            ids.append(int(scores.argmax()))
        return ids if ids[-1:] == [2] else [*ids, 2]
