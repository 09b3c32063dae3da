"""Sample translations before the first validation; they do not change the run."""

import time
from collections.abc import Callable
from dataclasses import replace

import torch

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.languages.unspaced import spaced_words
from nmt_cli.errors import is_out_of_memory
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.training.reporting.events import Sample
from nmt_cli.translation.translator import Translator

FIRST_SECONDS = 60.0
# Each interval is this many times as long as the one before.
GROWTH = 2.0
# Lengths, in words: long enough to be informative, short enough to be translated quickly.
MIN_WORDS, MAX_WORDS = 4, 20
CANDIDATES = 100
MAX_EXTRA_LENGTH = 10


class Samples:
    """Translates one sentence greedily with the current weights, at growing intervals."""

    def __init__(self, corpus: Corpus, clock: Callable[[], float] = time.monotonic) -> None:
        """The clock starts now."""
        self._corpus = corpus
        self._clock = clock
        self._interval = FIRST_SECONDS
        self._due = clock() + FIRST_SECONDS

    @property
    def is_due(self) -> bool:
        """Whether the next sample should be translated now."""
        return self._clock() >= self._due

    def take(self, model: EncoderDecoder, config: Config, step: int) -> Sample | None:
        """Translate after `step`; None when memory runs out, and no further sample is due then."""
        source, reference = example(self._corpus)
        try:
            output = translated(model, config, self._corpus, source)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            self._due = float("inf")
            return None
        self._interval *= GROWTH
        self._due = self._clock() + self._interval
        return Sample(step, source, reference, output)


def translated(model: EncoderDecoder, config: Config, corpus: Corpus, source: str) -> str:
    """A greedy translation that changes neither the model's mode nor the random generators."""
    search = SearchConfig(beam=1, max_extra_length=MAX_EXTRA_LENGTH, sentences="line", markup="off")
    config = replace(config, search=search)
    was_training = model.training
    device = next(model.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            translator = Translator(model, config, corpus.subwords)
            return translator.translate_window([source])[0].text
        finally:
            model.train(was_training)


def example(corpus: Corpus) -> tuple[str, str]:
    """A pair of medium length from the validation text, or from the training text without one."""
    pairs: list[tuple[str, str]]
    if corpus.valid_text is not None:
        pairs = list(zip(*(side[:CANDIDATES] for side in corpus.valid_text), strict=True))
    else:
        chosen = [corpus.train[index] for index in range(min(CANDIDATES, len(corpus.train)))]
        sources = corpus.subwords.decode_source([src.tolist() for src, _ in chosen])
        targets = corpus.subwords.decode_target([tgt.tolist() for _, tgt in chosen])
        pairs = list(zip(sources, targets, strict=True))
    fitting = (pair for pair in pairs if MIN_WORDS <= len(spaced_words(pair[0])) <= MAX_WORDS)
    return next(fitting, pairs[0])
