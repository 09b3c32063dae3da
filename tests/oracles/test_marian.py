"""Logits equal those of Hugging Face's MarianMTModel (what OPUS-MT models are) with its weights."""

import pytest
import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel
from variants import model_config

from nmt_cli.batch import Batch
from nmt_cli.model.positions import sinusoidal_halves_encoding
from nmt_cli.model.transformer import Transformer

VOCABULARY = 31
PAD = VOCABULARY - 1
SRC_LENGTHS = [7, 1, 4, 9]
TGT_LENGTHS = [3, 8, 1, 5]

PARTS = {
    "self_attn.q_proj": "self_attention.query",
    "self_attn.k_proj": "self_attention.key",
    "self_attn.v_proj": "self_attention.value",
    "self_attn.out_proj": "self_attention.output",
    "self_attn_layer_norm": "self_attention_norm",
    "encoder_attn.q_proj": "cross_attention.query",
    "encoder_attn.k_proj": "cross_attention.key",
    "encoder_attn.v_proj": "cross_attention.value",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "cross_attention_norm",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "feed_forward_norm",
}


def make_theirs(activation: str, scale: bool) -> MarianMTModel:
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=16,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=28,
        decoder_ffn_dim=28,
        activation_function=activation,
        scale_embedding=scale,
        max_position_embeddings=64,
        pad_token_id=PAD,
        decoder_start_token_id=PAD,
        eos_token_id=0,
        forced_eos_token_id=0,
        dropout=0.0,
    )
    model = MarianMTModel(config).eval()
    generator = torch.Generator().manual_seed(1)
    for path, weight in model.named_parameters():
        mean = 1.0 if path.endswith("norm.weight") else 0.0
        if "embed_positions" not in path:
            nn.init.normal_(weight, mean, 0.3, generator=generator)
    nn.init.normal_(model.final_logits_bias, generator=generator)
    return model


def make_ours(theirs: MarianMTModel) -> Transformer:
    config = theirs.config
    settings = {
        "model.d_model": config.d_model,
        "model.heads": config.encoder_attention_heads,
        "model.d_ff": config.encoder_ffn_dim,
        "model.encoder_layers": config.encoder_layers,
        "model.decoder_layers": config.decoder_layers,
        "model.positions": "sinusoidal_halves",
        "model.activation": {"swish": "silu"}.get(
            config.activation_function, config.activation_function
        ),
        "model.attention_bias": True,
        "model.output_bias": True,
        "model.norm_epsilon": 1e-5,
        "model.scale_embeddings": config.scale_embedding,
        "model.src_vocab_size": VOCABULARY,
        "model.tgt_vocab_size": VOCABULARY,
        "model.pad_id": PAD,
        "model.bos_id": PAD,
        "model.eos_id": 0,
    }
    ours = Transformer(model_config(settings)).eval()
    ours.load_state_dict(renamed(theirs.state_dict()))
    return ours


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Marian's weights under our names; strict loading shows that none is forgotten."""
    result = {
        "embedding.shared": weights["model.shared.weight"],
        "output_bias": weights["final_logits_bias"][0],
    }
    for path, weight in weights.items():
        pieces = path.split(".")
        if pieces[2:3] == ["layers"]:
            part, kind = ".".join(pieces[4:-1]), pieces[-1]
            result[f"{pieces[1]}.{pieces[3]}.{PARTS[part]}.{kind}"] = weight
    return result


def their_inputs(batch: Batch) -> dict[str, Tensor]:
    src, tgt = (
        segments.to_rectangle(ids - PAD) + PAD
        for segments, ids in ((batch.src_segments, batch.src), (batch.tgt_segments, batch.tgt_out))
    )
    return {
        "input_ids": src,
        "attention_mask": batch.src_segments.inside.long(),
        "labels": tgt.masked_fill(~batch.tgt_segments.inside, -100),
    }


@torch.no_grad()
@pytest.mark.parametrize("lengths", [(SRC_LENGTHS, TGT_LENGTHS), ([6, 6], [6, 6])])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
def test_logits_equal_marian(activation, scale, lengths, random_batch) -> None:
    theirs = make_theirs(activation, scale)
    ours = make_ours(theirs)
    batch = random_batch(ours.config, *lengths)
    expected = theirs(**their_inputs(batch)).logits[batch.tgt_segments.inside]
    result = ours(batch)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-5)


@torch.no_grad()
def test_greedy_search_equals_marian_generate(random_batch) -> None:
    """Its `generate` and our `start` and `step` choose the same words one after the other."""
    theirs = make_theirs("swish", scale=True)
    ours = make_ours(theirs)
    batch = random_batch(ours.config, SRC_LENGTHS, TGT_LENGTHS)
    inputs = their_inputs(batch)
    del inputs["labels"]
    chosen = theirs.generate(
        **inputs, num_beams=1, do_sample=False, max_new_tokens=12, min_new_tokens=12
    )
    state = ours.start(ours.encode(batch.src, batch.src_segments), batch.src_segments)
    ids = torch.full((len(SRC_LENGTHS),), ours.config.bos_id)
    for position in range(1, chosen.shape[1] - 1):
        logits, state = ours.step(state, ids)
        logits[:, 0] = -torch.inf
        ids = logits.argmax(-1)
        assert torch.equal(ids, chosen[:, position]), position


def test_positions_equal_marian() -> None:
    theirs = make_theirs("swish", scale=True).model.encoder.embed_positions.weight
    ours = sinusoidal_halves_encoding(*theirs.shape)
    torch.testing.assert_close(ours, theirs.detach(), rtol=0, atol=1e-6)
