"""Logits equal those of torch.nn.Transformer with copied weights, padding on its side only."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from variants import model_config

from nmt_cli.batch import Batch
from nmt_cli.model.attention import MultiHeadAttention
from nmt_cli.model.layers import DecoderLayer, EncoderLayer
from nmt_cli.model.transformer import Transformer

SRC_LENGTHS = [7, 1, 4, 9]
TGT_LENGTHS = [3, 8, 1, 5]


def make_ours(order: str, activation: str, bias: bool) -> Transformer:
    settings = {
        "model.d_model": 16,
        "model.heads": 4,
        "model.d_ff": 28,
        "model.src_vocab_size": 23,
        "model.tgt_vocab_size": 23,
        "model.encoder_layers": 3,
        "model.norm_order": order,
        "model.activation": activation,
        "model.attention_bias": bias,
        "model.norm_epsilon": 1e-5,
    }
    model = Transformer(model_config(settings)).eval()
    generator = torch.Generator().manual_seed(1)
    for path, weight in model.named_parameters():
        mean = 1.0 if path.endswith("norm.weight") else 0.0
        nn.init.normal_(weight, mean, 0.3, generator=generator)
    return model


def copy_linear(theirs: nn.Linear, ours: nn.Linear) -> None:
    theirs.weight.copy_(ours.weight)
    theirs.bias.copy_(torch.zeros_like(theirs.bias) if ours.bias is None else ours.bias)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    inputs = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in inputs]))
    theirs.in_proj_bias.zero_()
    if ours.query.bias is not None:
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in inputs]))
    copy_linear(theirs.out_proj, ours.output)


def copy_layer(theirs: nn.Module, ours: EncoderLayer | DecoderLayer) -> None:
    copy_attention(theirs.self_attn, ours.self_attention)
    norms = [ours.self_attention_norm, ours.feed_forward_norm]
    if isinstance(ours, DecoderLayer):
        copy_attention(theirs.multihead_attn, ours.cross_attention)
        norms.insert(1, ours.cross_attention_norm)
    copy_linear(theirs.linear1, ours.feed_forward.inner)
    copy_linear(theirs.linear2, ours.feed_forward.outer)
    for index, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{index}").load_state_dict(norm.state_dict())


@torch.no_grad()
def make_theirs(ours: Transformer) -> nn.Transformer:
    """torch's own ends each stack with a norm; the paper's post-norm model has none there."""
    config = ours.config
    layer = {
        "d_model": config.d_model,
        "nhead": config.heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "activation": config.activation,
        "norm_first": config.norm_order == "pre",
        "batch_first": True,
    }
    stacks = {
        "custom_encoder": nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer),
            len(ours.encoder),
            norm=nn.LayerNorm(config.d_model) if layer["norm_first"] else None,
            enable_nested_tensor=False,
        ),
        "custom_decoder": nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**layer),
            len(ours.decoder),
            norm=nn.LayerNorm(config.d_model) if layer["norm_first"] else None,
        ),
    }
    theirs = nn.Transformer(**layer, **stacks).eval()
    for side in ("encoder", "decoder"):
        stack = getattr(theirs, side)
        for their_layer, other in zip(stack.layers, getattr(ours, side), strict=True):
            copy_layer(their_layer, other)
        if stack.norm is not None:
            stack.norm.load_state_dict(getattr(ours, f"{side}_norm").state_dict())
    return theirs


def embed(ids: Tensor, matrix: Tensor) -> Tensor:
    """Section 3.4 and 3.5, written out: E[id] sqrt(d_model) + PE."""
    d_model = matrix.shape[1]
    places, columns = np.arange(ids.shape[1])[:, None], np.arange(d_model)
    angles = places / 10_000 ** (2 * (columns // 2) / d_model)
    encoding = np.where(columns % 2, np.cos(angles), np.sin(angles))
    return matrix[ids] * math.sqrt(d_model) + torch.from_numpy(encoding).float()


def their_logits(theirs: nn.Transformer, matrix: Tensor, batch: Batch) -> Tensor:
    src, tgt = (
        segments.to_rectangle(ids)
        for segments, ids in (
            (batch.src_segments, batch.src),
            (batch.tgt_segments, batch.tgt_in),
        )
    )
    src_padding = ~batch.src_segments.inside
    hidden = theirs(
        embed(src, matrix),
        embed(tgt, matrix),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt.shape[1]) < 0,
        src_key_padding_mask=src_padding,
        memory_key_padding_mask=src_padding,
    )
    return hidden[batch.tgt_segments.inside] @ matrix.T


@torch.no_grad()
@pytest.mark.parametrize("lengths", [(SRC_LENGTHS, TGT_LENGTHS), ([6, 6], [6, 6])])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("order", ["post", "pre"])
def test_logits_equal_torch_transformer(order, activation, bias, lengths, random_batch) -> None:
    ours = make_ours(order, activation, bias)
    batch = random_batch(ours.config, *lengths)
    expected = their_logits(make_theirs(ours), ours.embedding.shared, batch)
    result = ours(batch)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_gradients_equal_torch_transformer(order, random_batch) -> None:
    ours = make_ours(order, "relu", bias=True)
    theirs = make_theirs(ours)
    batch = random_batch(ours.config, SRC_LENGTHS, TGT_LENGTHS)
    matrix = ours.embedding.shared.detach().clone().requires_grad_()
    nn.functional.cross_entropy(ours(batch), batch.tgt_out).backward()
    nn.functional.cross_entropy(their_logits(theirs, matrix, batch), batch.tgt_out).backward()
    compared = [(ours.embedding.shared.grad, matrix.grad)]
    for side in ("encoder", "decoder"):
        for our_layer, other in zip(getattr(ours, side), getattr(theirs, side).layers, strict=True):
            compared += [
                (our_layer.feed_forward.inner.weight.grad, other.linear1.weight.grad),
                (our_layer.feed_forward_norm.bias.grad, list(other.parameters())[-1].grad),
                (
                    our_layer.self_attention.query.weight.grad,
                    other.self_attn.in_proj_weight.grad[:16],
                ),
            ]
    for result, expected in compared:
        largest = expected.abs().max()
        assert largest > 1e-4
        torch.testing.assert_close(result / largest, expected / largest, rtol=0, atol=1e-5)
