"""Models to export: one of every architecture with random weights, and one that was trained."""

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from corpora import reversal_corpus
from variants import TINY

from nmt_cli.config.schema import DataConfig, SettingsLayer, resolve
from nmt_cli.data.subwords.model import Subwords, learn_segmenter
from nmt_cli.exchange.target import ForeignTranslator
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.kinds import make_model
from nmt_cli.model_dir import LoadedModel
from nmt_cli.training.loop import train

CPU = Path("/proc/cpuinfo")

WORDS = [
    "an", "be", "cod", "fie", "gun", "hob", "jil", "kam", "lup", "mor", "net", "os", "pa", "que",
    "rif", "sul", "tav", "wex", "yz",
]  # fmt: skip


def has_exact_int8_products() -> bool:
    """Whether sums of CTranslate2's int8 products cannot overflow: the processor has VNNI."""
    if "ONEDNN_MAX_CPU_ISA" in os.environ:
        return False
    return not CPU.exists() or "vnni" in CPU.read_text()


def joint_subwords(kind: str = "bpe") -> Subwords:
    """Subwords that both sides share."""
    return Subwords(segmenter(kind, 50, WORDS))


def separate_subwords() -> Subwords:
    """Subwords of two sides with vocabularies of different sizes."""
    return Subwords(segmenter("bpe", 50, WORDS), segmenter("bpe", 44, WORDS[:14]))


def segmenter(kind: str, size: int, words: list[str]):
    counts = Counter(f"{word}{ending}" for word in words for ending in ("", "a", "el", "is"))
    return learn_segmenter(DataConfig(subwords=kind, vocab_size=size), counts)


def random_model(settings: Mapping[str, object], subwords: Subwords | None = None) -> LoadedModel:
    """A tiny model with these settings, whose every weight, biases and norms too, is random."""
    if subwords is None:
        joint = settings.get("model.tie_embeddings", "all") == "all"
        subwords = joint_subwords() if joint else separate_subwords()
    values = {
        **TINY, **settings,
        "model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size,
    }  # fmt: skip
    config = resolve([SettingsLayer("test", values)]).config
    model = make_model(config.model).eval()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for path, weight in model.named_parameters():
            mean = 1.0 if path.endswith("norm.weight") else 0.0
            torch.nn.init.normal_(weight, mean, 0.3, generator=generator)
    return LoadedModel(model, config, subwords, {})


def random_pairs(loaded: LoadedModel, count: int = 6) -> Iterator[tuple[list[int], list[int]]]:
    """Source and target ids of different lengths, without special ids but EOS."""
    chooser = random.Random(3)
    for length in range(count):
        yield tuple(
            [*chooser.choices(range(4, size), k=k), loaded.subwords.eos_id]
            for size, k in (
                (loaded.subwords.src_size, 2 * length + 1), (loaded.subwords.tgt_size, 2 * length),
            )
        )  # fmt: skip


def largest_difference(loaded: LoadedModel, foreign: ForeignTranslator) -> float:
    """The largest difference of the log-probability of a random pair, in nats."""
    pairs = list(random_pairs(loaded))
    return max(
        abs(sum(forced.token_scores) - foreign.log_prob(*pair))
        for forced, pair in zip(force_pairs(loaded.model, pairs), pairs, strict=True)
    )


def train_letters(folder: Path, **settings: object) -> Path:
    """The directory of a model that was trained for some steps to copy letters."""
    values: dict[str, object] = {
        "model_dropout": 0.0, "train_label_smoothing": 0.0, "train_batch_tokens": 400,
        "train_optimizer": "muon", "train_learning_rate": 0.02, "train_max_steps": 120,
        "train_validate_every": 120, "train_checkpoint_every": 120,
    }  # fmt: skip
    config, corpus = reversal_corpus(
        folder, pairs=3_000, shortest=3, step=1, **{**values, **settings}
    )
    for _ in train(config, corpus, folder / "model"):
        pass
    return folder / "model"


def letter_lines(count: int) -> list[str]:
    """Lines of letters."""
    chooser = random.Random(5)
    return [" ".join(chooser.choices("abcdefgh", k=chooser.randint(3, 7))) for _ in range(count)]


def learnt_lines(count: int) -> list[str]:
    """Lines of at most six letters, as those of the training.

    Translations of longer ones do not end by themselves, and each toolkit ends them in its way.
    """
    return [line for line in letter_lines(2 * count) if len(line.split()) < 7][:count]
