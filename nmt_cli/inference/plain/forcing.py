"""Teacher forcing in NumPy, for scores and alignments where there is no torch."""

from collections.abc import Sequence

import numpy as np

from nmt_cli.inference.forced_pairs import ForcedPair, Pair, batches_of
from nmt_cli.inference.plain.layers import log_sum_exp
from nmt_cli.inference.plain.model import Decoded, PlainModel, Sentences
from nmt_cli.search.decoder import Symbols

# Rows of logits computed at a time.
LOGIT_ROWS = 256


class PlainForcer:
    """A `inference.forced_pairs.Forcer` over a model in NumPy."""

    def __init__(self, model: PlainModel) -> None:
        self._model = model
        self._start_id = Symbols.of(model.config).start_id

    def force(self, pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        """The results of the pairs, in their order.

        The attention is that of the last layer but one (see `cross_attention.cross_attention_of`).
        """
        result: dict[int, ForcedPair] = {}
        for indices in batches_of(pairs):
            decoded, targets = self._decode([pairs[index] for index in indices])
            scores = targets.split(self._token_scores(decoded.hidden, targets.ids))
            maps = decoded.cross_attention[-2:][0]
            for index, pair_scores, weights in zip(indices, scores, maps, strict=True):
                result[index] = ForcedPair(pair_scores.tolist(), weights if attention else None)
        return [result[index] for index in range(len(pairs))]

    def cross_attentions(self, pairs: Sequence[Pair], last_layers: int) -> list[np.ndarray]:
        """The attention (target ids, source ids) of pairs: the mean of this many last layers."""
        result: dict[int, np.ndarray] = {}
        for indices in batches_of(pairs):
            decoded, _ = self._decode([pairs[index] for index in indices])
            layers = decoded.cross_attention[-last_layers:]
            means = [np.mean(pair_weights, axis=0) for pair_weights in zip(*layers, strict=True)]
            result |= zip(indices, means, strict=True)
        return [result[index] for index in range(len(pairs))]

    def _decode(self, pairs: Sequence[Pair]) -> tuple[Decoded, Sentences]:
        sources = Sentences.of([src for src, _ in pairs])
        inputs = Sentences.of([(self._start_id, *tgt[:-1]) for _, tgt in pairs])
        with np.errstate(over="ignore"):
            memory = self._model.encode(sources)
            decoded = self._model.decode(inputs, memory, sources)
        return decoded, Sentences.of([tgt for _, tgt in pairs])

    def _token_scores(self, hidden: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The log-probability of each id: (tokens,)."""
        scores = np.empty(len(ids), np.float32)
        for first in range(0, len(ids), LOGIT_ROWS):
            rows = slice(first, first + LOGIT_ROWS)
            logits = self._model.logits(hidden[rows])
            chosen = np.take_along_axis(logits, ids[rows, None], axis=1)
            scores[rows] = (chosen - log_sum_exp(logits))[:, 0]
        return scores
