"""The README.md of an exported model: what it is, how to use it, how good it is."""

import hashlib
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.config.schema import TrainConfig
from nmt_cli.data.corpus.layout import SUBWORDS, read_description
from nmt_cli.errors import NmtError
from nmt_cli.exchange.requirements import text_notes
from nmt_cli.model.encoder_decoder import parameter_count, stack_depths
from nmt_cli.model_dir import LoadedModel
from nmt_cli.plurals import counted
from nmt_cli.storage.manifest import read_manifest


def model_card(loaded: LoadedModel, precision: str, library: str, usage: str) -> str:
    """The page, with the metadata block that the Hub reads; the licence is left to the user.

    library: the package that runs the model; usage: how, in Markdown.
    """
    config, metadata = loaded.config, loaded.metadata
    model, languages = config.model, config.languages
    encoder, decoder = stack_depths(model)
    bleu, _, signature = metadata.get("validation", "").partition(" ")
    facts = [
        f"- Transformer, {encoder} + {decoder} layers, d_model {model.d_model}, "
        f"{counted(model.heads, 'head')}, {parameter_count(loaded.model):,} parameters, "
        f"{precision}",
        f"- {loaded.subwords.kind} subwords, {loaded.subwords.src_size:,} source and "
        f"{loaded.subwords.tgt_size:,} target entries",
    ]
    if "step" in metadata:
        facts.append(f"- trained for {counted(int(metadata['step']), 'step')}")
    if config.train.init_from:
        facts.append(f"- fine-tuned, beginning with the weights of {_origin(config.train)}")
    if signature:
        sample = counted(config.train.validation_sentences, "sentence")
        facts.append(f"- validation BLEU {float(bleu):.2f} on at most {sample} ({signature})")
    notes = "".join(f"\n\n{note}" for note in text_notes(config, "This model"))
    return f"""---
language:
- {languages.src}
- {languages.tgt}
pipeline_tag: translation
library_name: {library}
---

# Translation from {languages.src} to {languages.tgt}

Exported by nmt {__version__}. `export.json` has the SHA-256 of the original model and the result of
the comparison with it.

{chr(10).join(facts)}

{usage}{notes}

## Licence and training data

Add the licence of the model here and as `license:` above, and name the training data.
{_data_table(loaded)}"""


def _origin(train: TrainConfig) -> str:
    """The name of the model that training began with, and the hash of its weights."""
    return f"`{Path(train.init_from).name}` (SHA-256 {train.init_sha256})"


def data_hashes(loaded: LoadedModel) -> dict[str, str]:
    """The SHA-256 of each text file that the model's corpus was prepared from, by its path.

    Empty if the corpus is not where the model's settings say, if it is the corpus of a model with
    other subwords, or if it was prepared from pipes.
    """
    corpus = Path(loaded.config.paths.corpus)
    try:
        inputs = read_description(corpus).get("inputs")
        entries = read_manifest(corpus)
    except (NmtError, OSError):
        return {}
    for name, content in loaded.subwords.contents():
        entry = entries.get(f"{SUBWORDS}/{name}", {})
        if entry.get("sha256") != hashlib.sha256(content).hexdigest():
            return {}
    return inputs if isinstance(inputs, dict) else {}


def _data_table(loaded: LoadedModel) -> str:
    """The files of the training, validation and test text, as rows of a table."""
    hashes, data = data_hashes(loaded), loaded.config.data
    uses = [("training", path) for pair in data.train for path in pair]
    uses += [("validation", path) for path in data.valid] + [("test", path) for path in data.test]
    rows = [
        f"| {use} | `{Path(path).name}` | `{hashes[path]}` |"
        for use, path in uses
        if path in hashes
    ]
    return "\n".join(["", "| text | file | SHA-256 |", "|---|---|---|", *rows, ""]) if rows else ""
