"""A model in a directory of Hugging Face, run by transformers."""

from pathlib import Path
from typing import Any

import torch


class HuggingFaceTranslator:
    """Translates with the model and the tokenizer that `from_pretrained` loads."""

    # Of the layer norms of both architectures.
    norm_epsilon = 1e-5

    def __init__(self, directory: Path) -> None:
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        # No code and no pickle of the directory, and nothing from the network.
        safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
        self.model: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            str(directory), dtype=torch.float32, use_safetensors=True, **safe
        ).eval()
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(directory), **safe)

    def source_ids(self, line: str) -> list[int]:
        """The ids of its tokenizer."""
        return [int(token) for token in self.tokenizer(line)["input_ids"]]

    @torch.inference_mode()
    def log_prob(self, source: list[int], target: list[int]) -> float:
        """The log-probability of the target, computed from the model's logits."""
        before = [self.model.config.decoder_start_token_id, *target[:-1]]
        output = self.model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([before])
        )
        scores = output.logits[0].log_softmax(-1)
        return float(scores.gather(1, torch.tensor(target)[:, None]).sum())

    def translate(self, line: str, *, beam: int, length_penalty: float, max_length: int) -> str:
        """The best translation of a line."""
        # Without what the model's own generation_config.json sets.
        options: dict[str, object] = {
            "num_beams": beam, "max_new_tokens": max_length, "max_length": None,
            "num_return_sequences": 1, "forced_eos_token_id": None, "no_repeat_ngram_size": 0,
            "min_length": 0, "min_new_tokens": None, "repetition_penalty": 1.0,
        }  # fmt: skip
        if beam > 1:
            options["length_penalty"] = length_penalty
        else:
            options["early_stopping"] = False
        output = self.model.generate(
            **self.tokenizer([line], return_tensors="pt"), do_sample=False, **options
        )
        return str(self.tokenizer.decode(output[0], skip_special_tokens=True))
