"""The sentences of the benchmarks: prepared from a folder of text, or drawn at random as ids."""

import random
from pathlib import Path

import numpy as np

from lib.settings import make_config
from nmt_cli.data.corpus.corpus import Corpus, CorpusSide, Pairs
from nmt_cli.data.corpus.layout import id_type
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import EOS, SPECIAL
from nmt_cli.data.subwords.wordpiece import WordPieces
from nmt_cli.errors import NoInputError
from nmt_cli.storage.files import make_directory, write_text

ENDINGS = ("", ".xz", ".gz", ".zst")
# Subwords of newstest2014: log-normal lengths whose logarithms go together this closely.
LOG_MEAN, LOG_DEVIATION, CORRELATION = 3.2, 0.6, 0.93
SHORTEST, LONGEST = 2, 128
# Lengths of the sources that are decoded, in subwords, EOS counted.
SHORTEST_SOURCE, LONGEST_SOURCE = 9, 61
# Zipf-Mandelbrot: how often the word of each rank occurs.
ZIPF_EXPONENT, ZIPF_SHIFT = 1.0, 2.7


def find_text(folder: Path, name: str) -> str:
    """The file `name` of a folder, plain or compressed; raises NoInputError."""
    for ending in ENDINGS:
        if (folder / (name + ending)).is_file():
            return str(folder / (name + ending))
    raise NoInputError(f"`{folder}` holds no {name}, plain or compressed")


def prepare_folder(folder: Path, languages: tuple[str, str], out: Path, **data: object) -> Corpus:
    """Prepare train.SRC and train.TGT of a folder, and val or dev where they are; `out` is new."""
    values: dict[str, object] = {
        "languages.src": languages[0],
        "languages.tgt": languages[1],
        "data.train": [[find_text(folder, f"train.{language}") for language in languages]],
        **{f"data.{name}": value for name, value in data.items()},
    }
    for name in ("val", "dev", "valid"):
        if any(folder.glob(f"{name}.{languages[0]}*")):
            values["data.valid"] = [
                find_text(folder, f"{name}.{language}") for language in languages
            ]
            break
    prepare(make_config(values), out)
    return Corpus.open(out)


def make_sources(count: int, longest: int, words: int) -> list[list[int]]:
    """Ids of `count` sources of random words; the last id is EOS."""
    chooser = random.Random(1)
    sources = []
    for _ in range(count):
        length = round(chooser.lognormvariate(3.13, 0.45))
        length = max(min(SHORTEST_SOURCE, longest), min(longest, length))
        sources.append([*(chooser.randrange(4, words) for _ in range(length - 1)), 3])
    return sources


def random_lengths(pairs: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Lengths (pairs,) of both sides, as subwords of news text have them, EOS counted."""
    src = random.standard_normal(pairs)
    tgt = CORRELATION * src + np.sqrt(1 - CORRELATION**2) * random.standard_normal(pairs)
    src_lengths, tgt_lengths = (
        np.exp(LOG_MEAN + LOG_DEVIATION * side).round().clip(SHORTEST, LONGEST).astype(np.int64)
        for side in (src, tgt)
    )
    return src_lengths, tgt_lengths


def random_corpus(pairs: int, vocab_size: int, seed: int, path: Path) -> Corpus:
    """A corpus of ids drawn by Zipf's law; `path` only names it, nothing is written."""
    random = np.random.default_rng(seed)
    words = np.arange(len(SPECIAL), vocab_size)
    weights = (np.arange(len(words)) + ZIPF_SHIFT) ** -ZIPF_EXPONENT
    cumulative = np.cumsum(weights / weights.sum())
    # Frequent words lie anywhere in the vocabulary, as they do not in files sorted by frequency.
    words = random.permutation(words)
    sides = []
    for lengths in random_lengths(pairs, random):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ranks = np.searchsorted(cumulative, random.random(int(offsets[-1])))
        ids = words[ranks.clip(max=len(words) - 1)].astype(id_type(vocab_size))
        ids[offsets[1:] - 1] = EOS
        sides.append(CorpusSide(ids, offsets))
    return Corpus(
        path=path,
        config=make_config({"data.subwords": "wordpiece", "data.vocab_size": vocab_size}),
        subwords=made_up_subwords(vocab_size),
        train=Pairs(sides[0], sides[1], np.zeros(pairs, np.uint16)),
        valid=None,
        valid_text=None,
        digest=f"random-{pairs}-{vocab_size}-{seed}",
    )


def made_up_subwords(vocab_size: int) -> Subwords:
    """A vocabulary of `vocab_size` entries that no text has."""
    made_up = [f"<{index}>" for index in range(vocab_size - len(SPECIAL))]
    return Subwords(WordPieces([*SPECIAL, *made_up]))


def write_random_text(folder: Path, pairs: int, seed: int) -> Path:
    """Text files train, val and test of made-up languages xx and yy, each word for word."""
    random = np.random.default_rng(seed)
    make_directory(folder)
    stems = ["".join(random.choice(list("abdegiklmnoprstu"), 4)) for _ in range(200)]
    for name, count in (("train", pairs), ("val", 8), ("test", 8)):
        sentences = [random.choice(stems, random.integers(2, 12)) for _ in range(count)]
        write_text(
            folder / f"{name}.xx", "".join(" ".join(sentence) + "\n" for sentence in sentences)
        )
        reverse = (
            "".join(f"{word}o " for word in sentence).strip() + "\n" for sentence in sentences
        )
        write_text(folder / f"{name}.yy", "".join(reverse))
    return folder
