"""Checks that a corpus has no longer sentences than a model has learned positions."""

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError


def require_positions(config: Config, corpus: Corpus) -> None:
    """Raise ConfigError if sentences are longer than the learned positions (Table 3, row E).

    All tokens beyond the last position would share it.
    """
    positions = config.model.max_positions
    if config.model.positions != "learned":
        return
    longest = 0
    for pairs in (corpus.train, corpus.valid):
        if pairs is not None and len(pairs.src_lengths):
            longest = max(longest, int(pairs.src_lengths.max()), int(pairs.tgt_lengths.max()))
    if longest > positions:
        raise ConfigError(
            f"model.max_positions={positions:,} is less than the longest sentence of the corpus, "
            f"which has {longest:,} subwords with the end of the sentence",
            f"`--set model.max_positions={longest}`, or prepare the corpus again with a lower "
            "data.max_length",
        )
