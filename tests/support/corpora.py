"""Small corpora made on the spot: a reversal task whose right answer is known."""

from pathlib import Path

import numpy as np

from nmt_cli.config.schema import Config, SettingsLayer, resolve
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.prepare import prepare

LETTERS = "abcdefgh"
SYLLABLES = ["ba", "no", "ki", "lu", "re", "mo", "sta", "ve"]


def reversal_pairs(
    count: int, seed: int, shortest: int = 1, *, step: int = -1
) -> list[tuple[str, str]]:
    """Lines of letters, and the same letters backwards; with `step` 1 unchanged (copying)."""
    random = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        letters = random.choice(list(LETTERS), size=random.integers(shortest, 7))
        pairs.append((" ".join(letters), " ".join(letters[::step])))
    return pairs


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> tuple[str, str]:
    """Two files of lines; their paths."""
    paths = folder / f"{name}.src", folder / f"{name}.tgt"
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(line + "\n" for line in side), encoding="utf-8")
    return str(paths[0]), str(paths[1])


def tiny_config(**settings: object) -> Config:
    """A model that trains in seconds; settings use `_` for the dot: model_heads=2."""
    values = {
        "train.preset": "tiny",
        # The tests compare with plain formulas; those of bf16 name it.
        "train.precision": "auto",
        "train.optimizer": "adam",
        "model.d_model": 32,
        "model.d_ff": 64,
        "model.layers": 1,
        "model.heads": 2,
        "model.positions": "sinusoidal",
        "model.dropout": 0.1,
        "model.norm_order": "post",
        "data.subwords": "chars",
        "data.vocab_size": 64,
        "train.batch_tokens": 300,
        "train.warmup_steps": 20,
        "train.learning_rate": 0.01,
        "train.max_steps": 20,
        "train.schedule": "inverse_sqrt",
        "train.label_smoothing": 0.1,
        "train.checkpoint_every": 5,
        "train.validate_every": "auto",
        "train.validation_sentences": 10,
        **{key.replace("_", ".", 1): value for key, value in settings.items()},
    }
    return resolve([SettingsLayer("test", values)]).config


def reversal_corpus(
    folder: Path, pairs: int = 400, shortest: int = 1, *, step: int = -1, **settings: object
) -> tuple[Config, Corpus]:
    """A prepared corpus of the reversal task, and the settings it was made with."""
    folder.mkdir(parents=True, exist_ok=True)
    train = write_pairs(folder, "train", reversal_pairs(pairs, 1, shortest, step=step))
    valid = write_pairs(folder, "valid", reversal_pairs(20, 2, shortest, step=step))
    config = tiny_config(**{"data_train": [train], "data_valid": valid, **settings})
    prepare(config, folder / "corpus", workers=1)
    return config, Corpus.open(folder / "corpus")


def word_corpus(folder: Path, **settings: object) -> tuple[Config, Corpus]:
    """A few hundred lines of long words that BPE finds subwords in."""
    random = np.random.default_rng(4)
    words = ["".join(random.choice(SYLLABLES, size=random.integers(2, 5))) for _ in range(40)]
    lines = [" ".join(random.choice(words, size=random.integers(1, 6))) for _ in range(330)]
    # The two sides' longest lines are of different lengths.
    pairs = [(line, f"{line[::-1]} ba") for line in lines]
    names = {
        "data_train": [write_pairs(folder, "train", pairs[:300])],
        "data_valid": write_pairs(folder, "valid", pairs[300:]),
    }
    config = tiny_config(
        **names, data_subwords="bpe", data_vocab_size=90, data_joint=False,
        model_tie_embeddings="target", train_validation_sentences=0, **settings,
    )  # fmt: skip
    prepare(config, folder / "corpus", workers=1)
    return config, Corpus.open(folder / "corpus")
