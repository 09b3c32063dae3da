"""Named settings: the paper's two models exactly (Table 3), and others.

A preset maps dotted keys to values; other settings keep their defaults. The defaults of
`nmt_cli.config.schema` are the paper's base model, so `base` only states what the other presets
change.
"""

from collections.abc import Mapping

from nmt_cli.errors import nearest

Value = bool | int | float | str
Preset = Mapping[str, Value]

BASE: Preset = {
    "model.layers": 6,
    "model.d_model": 512,
    "model.d_ff": 2048,
    "model.heads": 8,
    "model.dropout": 0.1,
    "train.batch_tokens": 25_000,
    "train.max_steps": 100_000,
    "train.warmup_steps": 4_000,
    "train.label_smoothing": 0.1,
    # The paper averages checkpoints written ten minutes apart: 1,500 steps of 0.4 s.
    "train.checkpoint_every": 1_500,
    "train.keep_last": 5,
}

BIG: Preset = {
    **BASE,
    "model.d_model": 1_024,
    "model.d_ff": 4_096,
    "model.heads": 16,
    "model.dropout": 0.3,
    "train.max_steps": 300_000,
    # Ten minutes are 600 steps of 1.0 s.
    "train.checkpoint_every": 600,
    "train.keep_last": 20,
}

# The paper's training scaled down for less data and a CPU; kept for comparison.
PAPER_SMALL: Preset = {
    **BASE,
    "model.layers": 3,
    "model.d_model": 256,
    "model.d_ff": 1_024,
    "model.heads": 4,
    "data.vocab_size": 8_000,
    "train.batch_tokens": 4_096,
    "train.max_steps": 20_000,
    "train.warmup_steps": 1_000,
    "train.checkpoint_every": 500,
}

# With the training of the Multi30k recipe, which was better there than the paper's; a narrower
# model with more steps is better on little text in equal time (docs/results.md). Vocabulary size,
# steps and intervals are derived from the data.
SMALL: Preset = {
    **PAPER_SMALL,
    "model.d_model": 192,
    "model.d_ff": 768,
    "model.norm_order": "pre",
    "model.dropout": 0.15,
    "data.vocab_size": "auto",
    "train.batch_tokens": 3_000,
    "train.max_steps": "auto",
    "train.optimizer": "muon",
    "train.learning_rate": 5e-3,
    "train.warmup_steps": 100,
    "train.schedule": "linear",
    "train.precision": "fast",
    "train.checkpoint_every": "auto",
    "train.patience": 4,
    "train.validation_sentences": 200,
    # Of models that were trained briefly, empty translations may have the highest score.
    "search.min_length": 1,
}

# Later findings: fewer steps to the same quality, with the size and cost of the base model.
MODERN: Preset = {
    **BASE,
    "model.norm_order": "pre",
    "model.norm": "rms_norm",
    "model.activation": "swiglu",
    # Three matrices in place of two: 2/3 of the width costs the same. GPUs need multiples of 8.
    "model.d_ff": 1_368,
    "train.schedule": "linear",
    "train.ema": 0.999,
}

# For the demo: it learns a noiseless language from more than enough text, in a minute. Rotary
# positions needed 15 % fewer steps to the same accuracy than sinusoids (one seed). 900 steps rather
# than 825 bring 93.7 to 95.1 % of the test sentences exactly right rather than 93.0 to 93.8 %
# (three seeds); bf16 93.6 to 95.7 % (four seeds).
TINY: Preset = {
    "model.layers": 2,
    "model.d_model": 128,
    "model.d_ff": 512,
    "model.heads": 2,
    "model.positions": "rotary",
    "model.norm_order": "pre",
    "model.dropout": 0.0,
    "data.vocab_size": 1_500,
    "train.batch_tokens": 1_000,
    "train.max_steps": 900,
    "train.optimizer": "muon",
    "train.warmup_steps": 100,
    "train.learning_rate": 8e-3,
    "train.schedule": "linear",
    "train.precision": "fast",
    "train.label_smoothing": 0.0,
    "train.checkpoint_every": 25,
    "train.validate_every": 300,
    "train.keep_last": 5,
    "train.validation_sentences": 100,
}

# The baselines, each with as many parameters and as many steps as `paper-small`.
RNN: Preset = {
    "model.kind": "rnn",
    "model.layers": 2,
    "model.d_model": 384,
    "model.dropout": 0.1,
    "data.vocab_size": 8_000,
    "train.batch_tokens": 4_096,
    "train.max_steps": 20_000,
    "train.warmup_steps": 1_000,
    "train.learning_rate": 1e-3,
    "train.label_smoothing": 0.1,
    # Section B.2 of Bahdanau et al. 2014.
    "train.max_gradient_norm": 1.0,
    "train.checkpoint_every": 500,
    "train.keep_last": 5,
}

CONV: Preset = {
    **RNN,
    "model.kind": "conv",
    "model.layers": 6,
    "model.d_model": 256,
    "model.positions": "learned",
    # Section 4.2 of Gehring et al. 2017.
    "train.max_gradient_norm": 0.1,
}

# The other rows of Table 3: the base model with one change. Widths of heads that a row does not
# name are d_model/h, as in the paper.
TABLE3: Mapping[str, Preset] = {
    f"table3-{name}": {**BASE, key: value}
    for name, key, value in (
        ("heads-1", "model.heads", 1),
        ("heads-4", "model.heads", 4),
        ("heads-16", "model.heads", 16),
        ("heads-32", "model.heads", 32),
        ("d_k-16", "model.d_k", 16),
        ("d_k-32", "model.d_k", 32),
        ("layers-2", "model.layers", 2),
        ("layers-4", "model.layers", 4),
        ("layers-8", "model.layers", 8),
        ("d_model-256", "model.d_model", 256),
        ("d_model-1024", "model.d_model", 1_024),
        ("d_ff-1024", "model.d_ff", 1_024),
        ("d_ff-4096", "model.d_ff", 4_096),
        ("dropout-0.0", "model.dropout", 0.0),
        ("dropout-0.2", "model.dropout", 0.2),
        ("smoothing-0.0", "train.label_smoothing", 0.0),
        ("smoothing-0.2", "train.label_smoothing", 0.2),
        ("learned", "model.positions", "learned"),
    )
}

NAMED: Mapping[str, Preset] = {
    "base": BASE, "big": BIG, "modern": MODERN, "small": SMALL, "tiny": TINY,
    "paper-small": PAPER_SMALL, "rnn": RNN, "conv": CONV,
}  # fmt: skip
PRESETS: Mapping[str, Preset] = {**NAMED, **TABLE3}
# What parts of the names of other toolkits' architectures mean; the others are the base model.
ARCHITECTURES = {"iwslt": "base --set model.d_ff=1024 --set model.heads=4", "big": "big"}
# For help texts and messages.
PRESET_NAMES = f"{', '.join([*NAMED, next(iter(TABLE3))])}, ... ({len(TABLE3)} rows of Table 3)"


def preset_hint(name: str) -> str:
    """A hint for the unknown preset `name`.

    >>> preset_hint("bsae")
    'did you mean `base`?'
    >>> preset_hint("transformer_iwslt_de_en")
    'its sizes are `--preset base --set model.d_ff=1024 --set model.heads=4`'
    >>> preset_hint("table3-x").startswith("the rows of Table 3: base, big, table3-heads-1, ")
    True
    """
    if name.startswith("table3"):
        return f"the rows of Table 3: base, big, {', '.join(TABLE3)}"
    if name.startswith("transformer"):
        # The architectures of fairseq and the tasks of Marian.
        known = (sizes for part, sizes in ARCHITECTURES.items() if part in name)
        return f"its sizes are `--preset {next(known, 'base')}`"
    near = nearest(name, list(PRESETS))
    return f"did you mean `{near}`?" if near else f"known: {PRESET_NAMES}; see `nmt config presets`"
