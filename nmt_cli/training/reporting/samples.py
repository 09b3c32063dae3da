"""Translations shown before the first validation: they change nothing of the run."""

import time
from collections.abc import Callable
from dataclasses import replace

import torch

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import is_out_of_memory
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.training.reporting.events import Sample
from nmt_cli.translation.translator import Translator

FIRST_SECONDS = 60.0
# Each waits so many times as long as the one before.
GROWTH = 2.0
# Lengths, in words, that tell something and are translated quickly.
SHORTEST, LONGEST = 4, 20
CANDIDATES = 100
MOST_EXTRA = 10


class Samples:
    """One sentence, translated now and then by the weights of the moment, greedily."""

    def __init__(self, corpus: Corpus, clock: Callable[[], float] = time.monotonic) -> None:
        """The clock starts now."""
        self._corpus = corpus
        self._clock = clock
        self._wait = FIRST_SECONDS
        self._due = clock() + FIRST_SECONDS

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next one."""
        return self._clock() >= self._due

    def take(self, model: EncoderDecoder, config: Config, step: int) -> Sample | None:
        """A translation after `step`; None where memory has no room for it, and from then on."""
        source, reference = example(self._corpus)
        try:
            output = translated(model, config, self._corpus, source)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            self._due = float("inf")
            return None
        self._wait *= GROWTH
        self._due = self._clock() + self._wait
        return Sample(step, source, reference, output)


def translated(model: EncoderDecoder, config: Config, corpus: Corpus, source: str) -> str:
    """A greedy translation; the model's mode and the random numbers to come stay as they are."""
    search = SearchConfig(beam=1, max_extra_length=MOST_EXTRA)
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
    """A pair of medium length: of the validation text, else of the training text."""
    pairs: list[tuple[str, str]]
    if corpus.valid_text is not None:
        pairs = list(zip(*(side[:CANDIDATES] for side in corpus.valid_text), strict=True))
    else:
        chosen = [corpus.train[number] for number in range(min(CANDIDATES, len(corpus.train)))]
        sources = corpus.subwords.decode_source([src.tolist() for src, _ in chosen])
        targets = corpus.subwords.decode_target([tgt.tolist() for _, tgt in chosen])
        pairs = list(zip(sources, targets, strict=True))
    fitting = (pair for pair in pairs if SHORTEST <= len(pair[0].split()) <= LONGEST)
    return next(fitting, pairs[0])
