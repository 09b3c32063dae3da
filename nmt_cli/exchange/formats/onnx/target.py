"""The target `--to onnx`: three graphs for onnxruntime, and the JSON files of Hugging Face."""

from pathlib import Path

from nmt_cli.exchange.formats.huggingface.json_files import write_json
from nmt_cli.exchange.formats.huggingface.search_settings import (
    generation_options,
    settings_left_out,
)
from nmt_cli.exchange.formats.huggingface.tokenizer_files import write_tokenizer
from nmt_cli.exchange.formats.onnx.layers import POSITION_ROWS
from nmt_cli.exchange.formats.onnx.models import decoder_graph, encoder_graph
from nmt_cli.exchange.formats.onnx.translator import (
    CONFIG,
    DECODER,
    DECODER_WITH_PAST,
    ENCODER,
    OnnxTranslator,
)
from nmt_cli.exchange.requirements import search_notes, segmenter_reasons, start_id
from nmt_cli.exchange.target import ForeignTranslator, Reason, SearchAdvice
from nmt_cli.model.encoder_decoder import stack_depths
from nmt_cli.model_dir import LoadedModel


class Onnx:
    """The target `--to onnx`."""

    title = "ONNX"
    libraries = ("onnx", "onnxruntime")
    extra = "onnx"
    only_checks = False
    precisions = ("float32",)

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """Every Transformer with sentencepiece subwords can be exported."""
        reasons = []
        kind = loaded.config.model.kind
        if kind != "transformer":
            reasons.append(
                Reason(
                    f"model.kind={kind}, and only Transformers can be exported as ONNX graphs",
                    "model.kind=transformer",
                )
            )
        return reasons + segmenter_reasons(loaded, self.title)

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write the graphs, the settings and the tokenizer."""
        del precision  # there is only one
        languages = loaded.config.languages
        metadata = {"src_lang": languages.src or "", "tgt_lang": languages.tgt or ""}
        for name, graph in (
            (ENCODER, encoder_graph(loaded.model)),
            (DECODER, decoder_graph(loaded.model, with_past=False)),
            (DECODER_WITH_PAST, decoder_graph(loaded.model, with_past=True)),
        ):
            graph.save(directory / name, metadata)
        write_json(directory / CONFIG, _settings(loaded))
        model = loaded.config.model
        generation = {
            **generation_options(loaded),
            "decoder_start_token_id": start_id(model),
            "pad_token_id": model.pad_id,
            "eos_token_id": model.eos_id,
        }
        write_json(directory / "generation_config.json", generation)
        write_tokenizer(loaded, directory, _longest(loaded))

    def open(self, directory: Path) -> ForeignTranslator:
        """The three graphs, run by onnxruntime on the CPU."""
        return OnnxTranslator(directory)

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """The content of generation_config.json, for the `generate` of optimum."""
        search, title = loaded.config.search, "the `generate` of Hugging Face"
        notes = search_notes(search, title, settings_left_out(search))
        return SearchAdvice(generation_options(loaded), notes)


TARGET = Onnx()


def _longest(loaded: LoadedModel) -> int:
    """The most subwords of a sentence: rows of the tables of positions."""
    model = loaded.config.model
    return model.max_positions if model.positions == "learned" else POSITION_ROWS


def _settings(loaded: LoadedModel) -> dict[str, object]:
    """The content of config.json: optimum reads the ids, the depths and the heads."""
    model, languages = loaded.config.model, loaded.config.languages
    depths = stack_depths(model)
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "vocab_size": loaded.subwords.src_size,
        "decoder_vocab_size": loaded.subwords.tgt_size,
        "share_encoder_decoder_embeddings": model.tie_embeddings == "all",
        "d_model": model.d_model,
        "num_hidden_layers": depths[0],
        "encoder_layers": depths[0],
        "decoder_layers": depths[1],
        "encoder_attention_heads": model.heads,
        "decoder_attention_heads": model.heads,
        "encoder_ffn_dim": model.d_ff,
        "decoder_ffn_dim": model.d_ff,
        "scale_embedding": model.scale_embeddings,
        "max_position_embeddings": _longest(loaded),
        "pad_token_id": model.pad_id,
        "bos_token_id": model.bos_id,
        "eos_token_id": model.eos_id,
        "decoder_start_token_id": start_id(model),
        "forced_eos_token_id": None,
        "use_cache": True,
        "source_lang": languages.src,
        "target_lang": languages.tgt,
    }
