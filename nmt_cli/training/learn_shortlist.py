"""`nmt shortlist`: learn from the training corpus which words may translate which."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.lexical.lexicon import Progress, learn_lexicon
from nmt_cli.data.lexical.shortlist import Shortlist, make_shortlist, vocabulary_digest
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.model_dir import load_config, load_subwords
from nmt_cli.storage import locks


class Learnt(NamedTuple):
    """A shortlist as it was written.

    pairs: how many pairs of the corpus were used; corpus_pairs: how many it has.
    """

    shortlist: Shortlist
    pairs: int
    corpus_pairs: int


def learn_shortlist(corpus: Path, model: Path, *, progress: Progress | None = None) -> Learnt:
    """Learn a shortlist from a prepared corpus and put it into a model directory.

    progress: called with a stage, how much of it is done, and its total. The same corpus gives the
    same file. Raises ConfigError where the subwords of both differ, and as `Corpus.open`
    and `model_dir.load_model` do.
    """
    config = load_config(model).model
    subwords = load_subwords(model)
    prepared = Corpus.open(corpus)
    if vocabulary_digest(prepared.subwords) != vocabulary_digest(subwords):
        raise ConfigError(
            f"`{corpus}` has other subwords than `{model}`",
            "give the corpus that the model was trained on: --corpus",
        )
    pairs = prepared.train
    if not len(pairs):
        raise DataError(f"`{corpus}` holds no training pairs")
    sizes = subwords.src_size, subwords.tgt_size
    with locks.locked(model, "wait until it is done, and run the same command again"):
        lexicon = learn_lexicon(pairs, sizes, progress=progress)
        frequencies = np.bincount(pairs.tgt.ids, minlength=subwords.tgt_size)
        left_out = sorted({subwords.eos_id, subwords.unk_id, *config.banned_ids})
        shortlist = make_shortlist(lexicon, frequencies, subwords, left_out)
        shortlist.save(model, subwords)
    return Learnt(shortlist, lexicon.pairs, len(pairs))
