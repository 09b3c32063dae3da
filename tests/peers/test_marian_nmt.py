"""Marian NMT, through its own Python package, translates with our weights and gives our scores.

The oracle tests/oracles/test_marian.py compares with Hugging Face's rewrite of Marian; this is
the C++ program itself: its file format, its positions, its first step and its output layer.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch
from peer_results import RESULTS, Record
from variants import model_config

from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.transformer import Transformer

WORDS = 40
EOS, PAD = 0, WORDS
LENGTH_FACTOR = 3
# Of a log-probability; Marian prints six digits.
TOLERANCE = 5e-4

# Our names of the parts of a layer, and Marian's for their weights and biases.
SUBLAYERS = {
    "self_attention": "self",
    "cross_attention": "context",
    "feed_forward": "ffn",
}
LINEARS = {"query": "q", "key": "k", "value": "v", "output": "o", "inner": "1", "outer": "2"}

ACTIVATIONS = ("relu", "silu")


def marian_positions(rows: int, width: int) -> torch.Tensor:
    """Marian's sinusoids: wavelengths from 2 pi to 10,000 * 2 pi, the longest one included.

    The paper's longest wavelength is a little shorter, and Hugging Face's MarianMTModel and our
    `sinusoidal_halves` have the paper's, so Marian's table is given to learned positions here.
    """
    timescales = width // 2
    rates = 10_000.0 ** (-torch.arange(timescales) / (timescales - 1))
    angles = torch.arange(rows)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def make_ours(activation: str) -> Transformer:
    """A model with random weights; PAD, with which a target begins, is zero and never chosen."""
    settings = {
        "model.layers": 2, "model.d_model": 32, "model.d_ff": 48, "model.heads": 4,
        "model.positions": "learned", "model.max_positions": 64, "model.activation": activation,
        "model.attention_bias": True, "model.output_bias": True, "model.norm_epsilon": 1e-9,
        "model.src_vocab_size": WORDS + 1, "model.tgt_vocab_size": WORDS + 1,
        "model.pad_id": PAD, "model.bos_id": PAD, "model.eos_id": EOS,
        "model.banned_ids": [PAD],
    }  # fmt: skip
    model = Transformer(model_config(settings)).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for path, weight in model.named_parameters():
            mean = 1.0 if path.endswith("norm.weight") else 0.0
            torch.nn.init.normal_(weight, mean, 0.3, generator=generator)
        model.embedding.shared[PAD] = 0.0
        model.output_bias[PAD] = -1e9
        model.output_bias[EOS] += 4.0
        for positions in (model.positions, model.tgt_positions):
            positions.weight.copy_(marian_positions(*positions.weight.shape))
    return model


def marian_weights(model: Transformer) -> dict[str, np.ndarray]:
    """The weights in Marian's layout: matrices are (inputs, outputs), vectors are rows."""
    result = {
        "Wemb": model.embedding.shared[:WORDS],
        "decoder_ff_logit_out_b": model.output_bias[None, :WORDS],
    }
    for path, weight in model.named_parameters():
        stack, *rest = path.split(".")
        if stack not in ("encoder", "decoder"):
            continue
        layer, part, *names = rest
        prefix = f"{stack}_l{int(layer) + 1}_"
        if part.endswith("_norm"):
            sublayer = SUBLAYERS[part.removesuffix("_norm")]
            last = "ffn_ffn" if sublayer == "ffn" else f"{sublayer}_Wo"
            name = f"{prefix}{last}_ln_" + {"weight": "scale", "bias": "bias"}[names[0]]
            result[name] = weight[None]
        else:
            letter = {"weight": "W", "bias": "b"}[names[1]]
            name = f"{prefix}{SUBLAYERS[part]}_{letter}{LINEARS[names[0]]}"
            result[name] = weight.T if letter == "W" else weight[None]
    return {name: weight.detach().contiguous().numpy() for name, weight in result.items()}


def save_marian(model: Transformer, folder: Path) -> None:
    """Write the model and its vocabulary as Marian reads them."""
    config = model.config
    settings = {
        "type": "transformer", "version": "v1.12.0", "dim-emb": config.d_model,
        "dim-vocabs": [WORDS, WORDS], "dim-rnn": 1024, "enc-depth": 2, "dec-depth": 2,
        "transformer-heads": config.heads, "transformer-dim-ffn": config.d_ff,
        "transformer-decoder-dim-ffn": 0, "transformer-ffn-depth": 2,
        "transformer-decoder-ffn-depth": 0, "transformer-dim-aan": 2048,
        "transformer-aan-depth": 2, "transformer-aan-activation": "swish",
        "transformer-aan-nogate": False, "transformer-no-projection": False,
        "transformer-no-bias": False, "transformer-no-affine": False,
        "transformer-ffn-activation": {"silu": "swish"}.get(config.activation, config.activation),
        "transformer-decoder-autoreg": "self-attention", "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "transformer-train-position-embeddings": False,
        "transformer-preprocess": "", "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d", "transformer-postprocess-top": "",
        "tied-embeddings": False, "tied-embeddings-src": False, "tied-embeddings-all": True,
        "output-omit-bias": False, "skip": False, "layer-normalization": False,
        "right-left": False, "input-types": [], "ulr": False, "lemma-dim-emb": 0,
        "lemma-dependency": "", "factors-combine": "sum", "factors-dim-emb": 0,
    }  # fmt: skip
    text = json.dumps(settings) + "\0"
    description = np.frombuffer(text.encode(), dtype=np.int8)
    np.savez(folder / "model.npz", **marian_weights(model), **{"special:model.yml": description})
    words = ["</s>", "<unk>", *(f"w{index}" for index in range(2, WORDS))]
    lines = (f'"{word}": {index}\n' for index, word in enumerate(words))
    (folder / "vocabulary.yml").write_text("".join(lines))


def ids_of(text: str) -> list[int]:
    """The ids of a sentence of Marian's vocabulary, with EOS."""
    return [*(int(word[1:]) for word in text.split()), EOS]


def sources() -> list[list[int]]:
    """Forty random sentences of 1 to 12 words."""
    random = np.random.default_rng(5)
    return [random.integers(2, WORDS, length).tolist() for length in random.integers(1, 13, 40)]


def limit(source: list[int]) -> int:
    """The longest target of a source that ends with EOS; Marian cuts it off there, without EOS."""
    return LENGTH_FACTOR * len(source)


def marian_translations(folder: Path) -> list[tuple[list[int], list[int], float]]:
    """Source ids, target ids and log-probability of every translation of the n-best lists."""
    from pymarian import Translator

    vocabulary = str(folder / "vocabulary.yml")
    translator = Translator(
        models=str(folder / "model.npz"), vocabs=[vocabulary, vocabulary], beam_size=4,
        n_best=True, max_length_factor=LENGTH_FACTOR, cpu_threads=1, quiet=True,
        quiet_translation=True,
    )  # fmt: skip
    result = []
    for source in sources():
        for line in translator.translate([" ".join(f"w{index}" for index in source)]):
            _, words, _, score = line.split(" ||| ")
            target = ids_of(words)
            result.append(([*source, EOS], target, float(score)))
    return result


@pytest.mark.peers
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_scores_of_marian_nmt_equal_ours(activation: str, tmp_path: Path, record: Record) -> None:
    """Each translation of Marian has the log-probability that our model gives it."""
    model = make_ours(activation)
    save_marian(model, tmp_path)
    translations = marian_translations(tmp_path)
    forced = force_pairs(model, [(source, target) for source, target, _ in translations])
    differences = [
        abs(sum(pair.token_scores[: limit(source)]) - score)
        for pair, (source, _, score) in zip(forced, translations, strict=True)
    ]
    lengths = [len(target) for _, target, _ in translations]
    ended = sum(len(target) <= limit(source) for source, target, _ in translations)
    record(
        peer=f"pymarian {version('pymarian')}", translations=len(lengths),
        ended=ended, longest_target=max(lengths), largest_difference=max(differences),
    )  # fmt: skip
    assert len(lengths) > 60
    assert ended > 3
    assert max(lengths) > 30
    assert max(differences) < TOLERANCE


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_recorded_scores_of_marian_nmt_equal_ours(activation: str) -> None:
    """The last run by hand passed; it needs no pymarian to be checked."""
    result = json.loads(RESULTS.read_text())[f"test_scores_of_marian_nmt_equal_ours[{activation}]"]
    assert result["peer"].startswith("pymarian ")
    assert result["translations"] > 60
    assert result["largest_difference"] < TOLERANCE
