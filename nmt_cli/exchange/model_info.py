"""What a model directory holds, and which formats it can be exported to."""

from pathlib import Path

from nmt_cli.config.model_kinds import applies
from nmt_cli.config.schema import Config
from nmt_cli.data.lexical.shortlist import SHORTLIST, Shortlist
from nmt_cli.exchange.target import Reason
from nmt_cli.exchange.targets import MODULES, load_target
from nmt_cli.installation import has_torch
from nmt_cli.model.shapes import stack_depths
from nmt_cli.model_dir import StoredModel, read_model
from nmt_cli.storage.manifest import read_manifest

# Settings that describe an architecture, in the order in which they are shown; those that do not
# apply to a kind of model are None.
SHAPE = (
    "d_model", "d_ff", "heads", "positions", "norm_order", "norm", "activation", "tie_embeddings",
)  # fmt: skip


def model_info(directory: Path) -> dict[str, object]:
    """The facts about a model directory, for JSON.

    All of its files are checked; raises the errors of `read_model` and `Shortlist.load`.
    """
    loaded = read_model(directory)
    config, subwords = loaded.config, loaded.subwords
    has_shortlist = SHORTLIST in read_manifest(directory)
    if has_shortlist:
        Shortlist.load(directory, subwords)
    return {
        "model": str(directory),
        **architecture(config),
        "parameters": sum(weight.size for weight in loaded.weights.values()),
        **{
            name: getattr(config.model, name) if applies(name, config.model.kind) else None
            for name in SHAPE
        },
        "subwords": subwords.kind,
        "joint_vocabulary": subwords.joint,
        "src_vocab_size": subwords.src_size,
        "tgt_vocab_size": subwords.tgt_size,
        "shortlist": has_shortlist,
        "step": int(loaded.metadata["step"]) if "step" in loaded.metadata else None,
        "trained_with": loaded.metadata.get("trained_with"),
        "averaged": loaded.metadata.get("averaged"),
        "averaged_run": loaded.metadata.get("averaged_run"),
        "published": loaded.metadata.get("published"),
        "init_from": config.train.init_from or None,
        "imported_from": loaded.metadata.get("imported_from"),
        "validation": _validation(loaded),
        "weights": {name: list(weight.shape) for name, weight in loaded.weights.items()},
        "export": _exports(loaded),
    }


def _validation(stored: StoredModel) -> dict[str, object] | None:
    """BLEU of the validation that selected the weights, and of how many sentences at most."""
    score, _, signature = stored.metadata.get("validation", "").partition(" ")
    if not signature:
        return None
    sentences = stored.config.train.validation_sentences
    return {"bleu": float(score), "sentences": sentences, "signature": signature}


def architecture(config: Config) -> dict[str, object]:
    """The languages, the kind and the number of layers of a model."""
    encoder, decoder = stack_depths(config.model)
    return {
        "src_lang": config.languages.src,
        "tgt_lang": config.languages.tgt,
        "kind": config.model.kind,
        "encoder_layers": encoder,
        "decoder_layers": decoder,
    }


def _exports(stored: StoredModel) -> dict[str, object]:
    """For each format, whether it can hold the model, and every reason why not."""
    if not has_torch():
        reason = Reason("exporting needs torch, which is not installed", "")
        return {name: {"possible": False, "reasons": [reason._asdict()]} for name in MODULES}
    exports: dict[str, object] = {}
    loaded = stored.loaded()
    for name in MODULES:
        reasons = load_target(name).reasons_against(loaded)
        exports[name] = {
            "possible": not reasons,
            "reasons": [reason._asdict() for reason in reasons],
        }
    return exports
