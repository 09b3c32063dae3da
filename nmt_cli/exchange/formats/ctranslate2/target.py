"""CTranslate2: a directory with model.bin, vocabularies and sentencepiece files."""

from pathlib import Path
from typing import Any

import torch

from nmt_cli.config.schema import ModelConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.exchange.formats.ctranslate2.translator import CTranslate2Translator
from nmt_cli.exchange.model_card import model_card
from nmt_cli.exchange.requirements import (
    head_widths,
    longest_output,
    piece_names,
    power_exponent,
    search_notes,
    shared_reasons,
    start_id,
    write_segmenters,
)
from nmt_cli.exchange.target import ForeignTranslator, Reason, SearchAdvice
from nmt_cli.model.encoder_decoder import EncoderDecoder, stack_depths
from nmt_cli.model.positions import SINUSOIDAL_ENCODINGS
from nmt_cli.model_dir import LoadedModel
from nmt_cli.storage import files

# Rows of the table of sinusoids: the longest sentence, in subwords.
POSITION_ROWS = 2_048
# For the name of an activation here, that in CTranslate2's enumeration.
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH", "swiglu": "SWISH"}
# How the exported model is used, for its README.md.
USAGE = """\
Run this in the folder, after `pip install ctranslate2 sentencepiece`. The text is plain:
sentencepiece splits it into subwords, and joins them again. Translate one sentence at a time.
`search` in `export.json` has the arguments of `translate_batch`, with which CTranslate2 searches as
the original model does, apart from the notes there.

```python
import json

import ctranslate2
import sentencepiece

source = sentencepiece.SentencePieceProcessor(model_file="source.spm")
target = sentencepiece.SentencePieceProcessor(model_file="target.spm")
translator = ctranslate2.Translator(".")
with open("export.json", encoding="utf-8") as file:
    search = json.load(file)["search"]
subwords = [source.encode(line, out_type=str) for line in ["A line to translate."]]
for result in translator.translate_batch(subwords, **search):
    print(target.decode(result.hypotheses[0]))
```"""


class CTranslate2:
    """The target `--to ctranslate2`."""

    title = "CTranslate2"
    libraries = ("ctranslate2",)
    extra = "ctranslate2"
    only_checks = False
    precisions = ("float32", "int8", "float16")

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """A Transformer with sentencepiece subwords, an encoder, and d_k = d_v can be exported."""
        reasons = shared_reasons(loaded, self.title)
        model = loaded.config.model
        if model.kind == "transformer" and stack_depths(model)[0] == 0:
            reasons.append(
                Reason(
                    f"model.encoder_layers=0, and {self.title} needs at least one",
                    "model.encoder_layers=1",
                )
            )
        return reasons

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write the model with its sentencepiece files, and the model card."""
        write_model(loaded, directory, precision)
        card = model_card(loaded, precision, "ctranslate2", USAGE)
        files.write_text(directory / "README.md", card)

    def open(self, directory: Path) -> ForeignTranslator:
        """CTranslate2's own translator on the CPU."""
        return CTranslate2Translator(directory)

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """The arguments of `ctranslate2.Translator.translate_batch`."""
        search, model = loaded.config.search, loaded.config.model
        names = piece_names(loaded.subwords, "tgt")
        options: dict[str, object] = {
            "beam_size": search.beam,
            # By default it stops when `beam_size` translations have ended, which may be short ones.
            "patience": search.patience or search.beam,
            "length_penalty": power_exponent(search),
            "no_repeat_ngram_size": search.no_repeat_ngram,
            # Its default is 1, which allows no empty translation.
            "min_decoding_length": search.min_length,
            "max_decoding_length": longest_output(loaded.config),
            # By default it cuts sentences off after 1,024 subwords.
            "max_input_length": 0,
            "suppress_sequences": [[names[token]] for token in model.banned_ids],
        }
        return SearchAdvice(options, search_notes(search, self.title, ("sample",)))


TARGET = CTranslate2()


def write_model(loaded: LoadedModel, directory: Path, precision: str) -> None:
    """Write model.bin, config.json, the vocabularies and the sentencepiece files."""
    spec = make_spec(loaded.model, loaded.config.model, loaded.subwords)
    spec.validate()
    spec.optimize(quantization=None if precision == "float32" else precision)
    spec.save(str(directory))
    write_segmenters(loaded.subwords, directory)


def make_spec(model: EncoderDecoder, config: ModelConfig, subwords: Subwords) -> Any:
    """CTranslate2's description of the model, with all weights."""
    from ctranslate2.specs import transformer_spec

    encoder, decoder = _make_stacks(config)
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    writer = _Writer(model, config)
    writer.fill_side("encoder", encoder)
    writer.fill_side("decoder", decoder)
    writer.fill_embedding("src", encoder, encoder.embeddings[0])
    writer.fill_embedding("tgt", decoder, decoder.embeddings)
    decoder.projection.weight = writer.array(model.output_weight)
    if model.output_bias is not None:
        decoder.projection.bias = writer.array(model.output_bias)
    source, target = (piece_names(subwords, side) for side in ("src", "tgt"))
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.config.decoder_start_token = target[start_id(config)]
    spec.config.bos_token = target[config.bos_id]
    spec.config.eos_token = target[config.eos_id]
    spec.config.unk_token = target[config.unk_id]
    spec.config.add_source_eos = True
    return spec


def _make_stacks(config: ModelConfig) -> tuple[Any, Any]:
    """The empty descriptions of encoder and decoder."""
    from ctranslate2.specs import common_spec, transformer_spec

    depths = stack_depths(config)
    width = head_widths(config)[0]
    options = {
        "pre_norm": config.norm_order == "pre",
        "activation": common_spec.Activation[ACTIVATIONS[config.activation]],
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm == "rms_norm",
        "head_dim": None if width * config.heads == config.d_model else width,
        # 0 rotates all coordinates of a head.
        "rotary_dim": 0 if config.positions == "rotary" else None,
    }
    encoder = transformer_spec.TransformerEncoderSpec(depths[0], config.heads, **options)
    decoder = transformer_spec.TransformerDecoderSpec(
        depths[1],
        config.heads,
        # The attention of the last layer but one is the best word alignment.
        alignment_layer=max(0, depths[1] - 2),
        alignment_heads=config.heads,
        **options,
    )
    return encoder, decoder


class _Writer:
    """Copies weights into the parts of a description."""

    def __init__(self, model: EncoderDecoder, config: ModelConfig) -> None:
        self._model = model
        self._config = config
        self._weights = model.state_dict()

    def array(self, weight: torch.Tensor) -> Any:
        """A copy of a weight: CTranslate2 rounds weights to int8 in place."""
        return weight.detach().float().cpu().numpy().copy()

    def fill_side(self, side: str, stack: Any) -> None:
        """The layers of the encoder or decoder, and its last norm."""
        for index, layer in enumerate(stack.layer):
            name = f"{side}.{index}"
            self._fill_self_attention(layer.self_attention, f"{name}.self_attention")
            if side == "decoder":
                self._fill_cross_attention(layer.attention, f"{name}.cross_attention")
            self._fill_linear(layer.ffn.linear_0, f"{name}.feed_forward.inner")
            self._fill_linear(layer.ffn.linear_1, f"{name}.feed_forward.outer")
            if self._config.activation == "swiglu":
                self._fill_linear(layer.ffn.linear_0_noact, f"{name}.feed_forward.gate")
            self._fill_norm(layer.ffn.layer_norm, f"{name}.feed_forward_norm")
        if self._config.norm_order == "pre":
            self._fill_norm(stack.layer_norm, f"{side}_norm")

    def fill_embedding(self, use: str, stack: Any, embedding: Any) -> None:
        """The embeddings of a side (src or tgt) and its positions."""
        embedding.weight = self.array(self._model.embedding.matrix(use))
        stack.scale_embeddings = self._config.scale_embeddings
        positions = self._config.positions
        if positions in SINUSOIDAL_ENCODINGS:
            first = self._config.position_offset
            table = SINUSOIDAL_ENCODINGS[positions](first + POSITION_ROWS, self._config.d_model)
            stack.position_encodings.encodings = self.array(table[first:])
        elif positions == "learned":
            name = "positions.weight" if use == "src" else "tgt_positions.weight"
            stack.position_encodings.encodings = self.array(self._weights[name])
        elif hasattr(stack, "position_encodings"):
            del stack.position_encodings

    def _fill_self_attention(self, attention: Any, name: str) -> None:
        self._fill_fused(attention.linear[0], name, ("query", "key", "value"))
        self._fill_linear(attention.linear[1], f"{name}.output")
        self._fill_norm(attention.layer_norm, f"{name}_norm")

    def _fill_cross_attention(self, attention: Any, name: str) -> None:
        self._fill_linear(attention.linear[0], f"{name}.query")
        self._fill_fused(attention.linear[1], name, ("key", "value"))
        self._fill_linear(attention.linear[2], f"{name}.output")
        self._fill_norm(attention.layer_norm, f"{name}_norm")

    def _fill_fused(self, linear: Any, name: str, parts: tuple[str, ...]) -> None:
        """Several projections of the same input as one."""
        weights = [self._weights[f"{name}.{part}.weight"] for part in parts]
        linear.weight = self.array(torch.cat(weights))
        if self._config.attention_bias:
            biases = [self._weights[f"{name}.{part}.bias"] for part in parts]
            linear.bias = self.array(torch.cat(biases))

    def _fill_linear(self, linear: Any, name: str) -> None:
        linear.weight = self.array(self._weights[f"{name}.weight"])
        if f"{name}.bias" in self._weights:
            linear.bias = self.array(self._weights[f"{name}.bias"])

    def _fill_norm(self, norm: Any, name: str) -> None:
        norm.gamma = self.array(self._weights[f"{name}.weight"])
        if f"{name}.bias" in self._weights:
            norm.beta = self.array(self._weights[f"{name}.bias"])
