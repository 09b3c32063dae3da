"""Validation: the loss per token on the validation pairs, and BLEU of the translations."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.batch_plan import BatchPlan
from nmt_cli.data.corpus.corpus import Corpus, Pairs
from nmt_cli.machine import cache_folder
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.scoring import score
from nmt_cli.training.evaluation.passes import sample_of
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.step import shard_loss, start_id

if TYPE_CHECKING:
    from nmt_cli.inference.engines import Engine
    from nmt_cli.translation.result import Translation
    from nmt_cli.translation.translator import Translator

BATCH_TOKENS = 4_096
# Lines decoded together, which is limited by the memory of their search.
WINDOW = {"cpu": 32, "cuda": 128}
SAMPLES = 3
# A translation is flagged as unlikely if fewer than this share of the validation is as unlikely.
UNUSUAL_SHARE = 0.01
HASH_DIGITS = 12
# Called with the number of sentences translated so far, and of all.
OnProgress = Callable[[int, int], None]


class AbandonedError(Exception):
    """The validation was abandoned because `stop()` returned True."""


@torch.inference_mode()
def validate(
    model: EncoderDecoder,
    config: Config,
    corpus: Corpus,
    device: torch.device,
    *,
    bleu: bool,
    stop: Callable[[], bool] = lambda: False,
    on_progress: OnProgress = lambda _done, _total: None,
    losses: Validation | None = None,
    sentences: int | None = None,
) -> Validation:
    """Teacher-forced loss over all validation pairs; with `bleu`, a sample is decoded, too.

    losses: an earlier validation of the same weights, whose losses are taken. sentences: how many
    are decoded, by default `train.validation_sentences`; they are spread evenly over the text.
    Decoding uses the configured search. The model is left in evaluation mode. Raises AbandonedError
    soon after `stop()` returns True.
    on_progress: called repeatedly with the number of sentences decoded so far, 0 while the losses
    are computed, and of all that are to be decoded for a BLEU.
    """
    assert corpus.valid is not None
    model.eval()
    count = config.train.validation_sentences if sentences is None else sentences
    sources, references = (sample_of(side, count) for side in corpus.valid_text or ([], []))

    def begin() -> None:
        _end_if_asked(stop)
        on_progress(0, len(sources))

    validation = losses or replace(
        _losses(model, config, corpus.valid, device, begin), text=text_hash(corpus.valid_text)
    )
    if not bleu or not sources:
        return validation
    # Imported here, so that the first step does not wait for it.
    from nmt_cli.translation.translator import Translator

    # A shortlist belongs to a finished model directory; BLEU is that of plain decoding.
    config = replace(config, search=replace(config.search, shortlist=0, markup="off"))
    translator = Translator(model, config, corpus.subwords, _engine, text=corpus.text)
    translations = _translations(translator, sources, device, stop, on_progress)
    outputs = [translation.text for translation in translations]
    measured = score(outputs, [references], ["bleu"])[0]
    samples = tuple(zip(sources, references, outputs, strict=True))[:SAMPLES]
    return replace(
        validation, bleu=measured.value, signature=measured.signature, samples=samples,
        confidence=_confidence(translations), sentences=len(sources),
    )  # fmt: skip


def _engine(model: EncoderDecoder) -> "Engine":
    """The engine that decodes: on a CPU that of `nmt translate`, with a copy of the weights."""
    from nmt_cli.inference.engines import fastest_engine, reference_engine

    if next(model.parameters()).device.type == "cpu":
        return fastest_engine(model, cache_folder())
    return reference_engine(model)


def text_hash(text: tuple[list[str], list[str]] | None) -> str:
    """The beginning of the SHA-256 of both sides of a text, by which runs are told apart.

    >>> text_hash((["a"], ["b"])), text_hash((["a", "b"], [])), text_hash(None)
    ('59b271ae1bbc', '691a9f61dcbf', '')
    """
    if text is None:
        return ""
    lines = "\0".join("\n".join(side) for side in text)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()[:HASH_DIGITS]


def _losses(
    model: EncoderDecoder,
    config: Config,
    pairs: Pairs,
    device: torch.device,
    begin_batch: Callable[[], None],
) -> Validation:
    """The losses of all pairs; begin_batch: called before each batch."""
    plan = BatchPlan(pairs.src_lengths, pairs.tgt_lengths, BATCH_TOKENS, 1, seed=0)
    sums = torch.zeros(2, dtype=torch.float64)
    tokens = 0
    for index in range(plan.epoch(0).batches):
        begin_batch()
        ids = plan.epoch(0).shard(index, 0)
        batch = pairs.batch(ids, start_id(config.model), plan.shape_of(ids))
        loss = shard_loss(model, config, batch, device)
        sums += torch.stack([loss.total, loss.nll]).double().cpu()
        tokens += batch.tokens
    total, nll = (sums / tokens).tolist()
    return Validation(total, nll, math.exp(min(nll, 700.0)))


def _confidence(translations: Sequence["Translation"]) -> str:
    """The usual log-probabilities of these translations, as `Validation.confidence` has them."""
    from nmt_cli.translation.quality.checker import Confidence

    scores = [translation.hypotheses[0].token_scores for translation in translations]
    return str(Confidence.measured(scores, UNUSUAL_SHARE) or "")


def _translations(
    translator: "Translator",
    sources: list[str],
    device: torch.device,
    stop: Callable[[], bool],
    on_progress: OnProgress,
) -> list["Translation"]:
    """The translations of the sources, some lines at a time; raises AbandonedError on `stop()`."""
    translations: list[Translation] = []
    size = WINDOW.get(device.type, WINDOW["cpu"])
    for start in range(0, len(sources), size):
        window = sources[start : start + size]

        def advance(share: float, start: int = start, lines: int = len(window)) -> None:
            # Called after each step of the search: a window of long outputs takes minutes.
            _end_if_asked(stop)
            on_progress(start + int(share * lines), len(sources))

        advance(0.0)
        translations += translator.translate_window(window, on_progress=advance)
    return translations


def _end_if_asked(stop: Callable[[], bool]) -> None:
    """Raise AbandonedError if `stop()` returns True."""
    if stop():
        raise AbandonedError
