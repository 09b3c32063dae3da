"""`nmt config presets`: the named settings side by side, with the size of each model."""

from dataclasses import dataclass

from nmt_cli.config.automatic import VOCABULARY_WORDS, vocabulary_size
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import of_preset, with_values
from nmt_cli.model.kinds import count_parameters

# The vocabulary size that is shown for `auto`: that for a text of VOCABULARY_WORDS.
AUTO_VOCABULARY = vocabulary_size(VOCABULARY_WORDS)
AUTO_NOTE = (
    "auto: derived from the corpus; parameters are counted with the vocabulary of "
    f"{AUTO_VOCABULARY:,} entries that a text of {VOCABULARY_WORDS:,} words gets"
)


@dataclass(frozen=True)
class PresetRow:
    """One preset; parameters: with one vocabulary of the preset's size for both languages."""

    preset: str
    parameters: int
    vocabulary: int | str
    layers: int
    d_model: int
    batch_tokens: int
    steps: int | str


def preset_rows() -> list[PresetRow]:
    """Every preset, in the order in which they are documented."""
    return [preset_row(name) for name in PRESETS]


def preset_row(name: str) -> PresetRow:
    """The row of the preset `name`; its model is made without memory for weights."""
    config = of_preset(name)
    vocabulary = config.data.vocab_size
    size = AUTO_VOCABULARY if isinstance(vocabulary, str) else vocabulary
    sized = with_values(config, {"model.src_vocab_size": size, "model.tgt_vocab_size": size})
    return PresetRow(
        preset=name,
        parameters=count_parameters(sized.model),
        vocabulary=vocabulary,
        layers=config.model.layers,
        d_model=config.model.d_model,
        batch_tokens=config.train.batch_tokens,
        steps=config.train.max_steps,
    )
