"""Hugging Face: a post-norm model as MarianMTModel, a pre-norm one as Pegasus."""

from pathlib import Path

from nmt_cli.config.model_kinds import SINUSOIDS
from nmt_cli.config.schema import ModelConfig
from nmt_cli.exchange.formats.huggingface.search_settings import (
    generation_options,
    settings_left_out,
)
from nmt_cli.exchange.formats.huggingface.tokenizer_files import write_tokenizer
from nmt_cli.exchange.formats.huggingface.translator import HuggingFaceTranslator
from nmt_cli.exchange.formats.huggingface.weights import MODELS, POSITIONS, make_config, make_state
from nmt_cli.exchange.model_card import model_card
from nmt_cli.exchange.requirements import (
    head_width_reasons,
    search_notes,
    shared_reasons,
)
from nmt_cli.exchange.target import ForeignTranslator, Reason, SearchAdvice
from nmt_cli.model_dir import LoadedModel
from nmt_cli.storage import files

# Both architectures have this epsilon in their layer norms; a much larger one changes the model.
LARGEST_EPSILON = 1e-4
# How the exported model is used, for its README.md.
USAGE = """\
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
inputs = tokenizer(["A line to translate."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```"""


class HuggingFace:
    """The target `--to huggingface`."""

    title = "Hugging Face"
    libraries = ("transformers",)
    extra = "huggingface"
    only_checks = False
    precisions = ("float32", "float16")

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """What neither MarianMTModel nor Pegasus has."""
        reasons = shared_reasons(loaded, self.title)
        if loaded.config.model.kind == "transformer":
            reasons += _architecture_reasons(loaded.config.model)
        return reasons

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write weights, settings, tokenizer and model card as `save_pretrained` does."""
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        config = make_config(loaded)
        model = getattr(transformers, MODELS[loaded.config.model.norm_order])(config).eval()
        model.load_state_dict(make_state(loaded, model.state_dict()))
        model.tie_weights()
        options = self.search_options(loaded).options
        model.generation_config = transformers.GenerationConfig(
            **options,
            max_length=None,
            decoder_start_token_id=config.decoder_start_token_id,
            pad_token_id=config.pad_token_id,
            eos_token_id=config.eos_token_id,
        )
        if precision == "float16":
            model.half()
        model.save_pretrained(str(directory))
        write_tokenizer(loaded, directory, POSITIONS)
        card = model_card(loaded, precision, "transformers", USAGE)
        files.write_text(directory / "README.md", card)

    def open(self, directory: Path) -> ForeignTranslator:
        """The model and the tokenizer, as `from_pretrained` loads them."""
        return HuggingFaceTranslator(directory)

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """The content of generation_config.json."""
        options, search = generation_options(loaded), loaded.config.search
        return SearchAdvice(options, search_notes(search, self.title, settings_left_out(search)))


TARGET = HuggingFace()


def _architecture_reasons(model: ModelConfig) -> list[Reason]:
    reasons = []
    if model.positions not in ("sinusoidal", "sinusoidal_halves"):
        other = "other " if model.positions in SINUSOIDS else ""
        reasons.append(
            Reason(
                f"model.positions={model.positions}, and its translation models have {other}"
                "sinusoids",
                "model.positions=sinusoidal",
            )
        )
    if model.position_offset:
        reasons.append(
            Reason(
                f"model.position_offset={model.position_offset}, and its translation models count "
                "positions from 0",
                "model.position_offset=0",
            )
        )
    if model.norm != "layer_norm":
        reasons.append(
            Reason(
                f"model.norm={model.norm}, and its translation models have layer norm",
                "model.norm=layer_norm",
            )
        )
    if model.activation == "swiglu":
        reasons.append(
            Reason(
                "model.activation=swiglu, and its translation models have no gate",
                "model.activation=silu",
            )
        )
    reasons += head_width_reasons(model)
    if model.norm_epsilon > LARGEST_EPSILON:
        reasons.append(
            Reason(
                f"model.norm_epsilon={model.norm_epsilon:g}, and its layer norms have 1e-05",
                "model.norm_epsilon=1e-5",
            )
        )
    if model.norm_order == "pre" and model.tie_embeddings != "all":
        reasons.append(
            Reason(
                f"model.tie_embeddings={model.tie_embeddings} with model.norm_order=pre, and "
                "Pegasus has one matrix of embeddings",
                "model.tie_embeddings=all",
            )
        )
    return reasons
