"""The README.md of an exported model: what it is, how to use it, how good it is."""

from nmt_cli import __version__
from nmt_cli.model.encoder_decoder import parameter_count, stack_depths
from nmt_cli.model_dir import LoadedModel


def model_card(loaded: LoadedModel, precision: str) -> str:
    """The page, with the metadata block that the Hub reads; the licence is left to the user."""
    config, metadata = loaded.config, loaded.metadata
    model, languages = config.model, config.languages
    encoder, decoder = stack_depths(model)
    bleu, _, signature = metadata.get("validation", "").partition(" ")
    facts = [
        f"- Transformer, {encoder} + {decoder} layers, d_model {model.d_model}, {model.heads} "
        f"heads, {parameter_count(loaded.model):,} parameters, {precision}",
        f"- {loaded.subwords.kind} subwords, {loaded.subwords.src_size:,} source and "
        f"{loaded.subwords.tgt_size:,} target entries",
    ]
    if "step" in metadata:
        facts.append(f"- trained for {int(metadata['step']):,} steps")
    if signature:
        facts.append(f"- validation BLEU {float(bleu):.2f} ({signature})")
    return f"""---
language:
- {languages.src}
- {languages.tgt}
pipeline_tag: translation
library_name: transformers
---

# Translation from {languages.src} to {languages.tgt}

Exported by nmt {__version__}. `export.json` has the SHA-256 of the original model and the result of
the comparison with it.

{chr(10).join(facts)}

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
inputs = tokenizer(["A line to translate."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```

## Licence and training data

Add the licence of the model here and as `license:` above, and name the training data.
"""
