"""How good a model is on the validation pairs: loss per token, and BLEU of what it translates."""

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.batch_plan import BatchPlan
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.scoring import score
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.step import shard_loss, start_id
from nmt_cli.translation.translator import Translator

BATCH_TOKENS = 4_096
# Lines decoded together: small enough that `stop` is asked often, large enough for the device.
WINDOW = {"cpu": 32, "cuda": 128}
SAMPLES = 3
# Is told how many sentences are translated, of how many.
Watcher = Callable[[int, int], None]


class AbandonedError(Exception):
    """The validation was given up because `stop()` said so."""


@torch.inference_mode()
def validate(
    model: EncoderDecoder,
    config: Config,
    corpus: Corpus,
    device: torch.device,
    *,
    bleu: bool,
    stop: Callable[[], bool] = lambda: False,
    watch: Watcher = lambda _done, _total: None,
) -> Validation:
    """Teacher-forced loss over all validation pairs; with `bleu`, the first ones are decoded too.

    Beam search is the configured one. The model is left in evaluation mode. Raises AbandonedError
    soon after `stop()` says so. watch: is told again and again how many sentences are decoded, and
    of how many; (0, 0) before that.
    """
    assert corpus.valid is not None
    model.eval()
    pairs = corpus.valid
    plan = BatchPlan(pairs.src_lengths, pairs.tgt_lengths, BATCH_TOKENS, 1, seed=0)
    sums = torch.zeros(2, dtype=torch.float64)
    tokens = 0
    for number in range(plan.epoch(0).batches):
        _check(stop)
        watch(0, 0)
        ids = plan.epoch(0).shard(number, 0)
        batch = pairs.batch(ids, start_id(config.model), plan.shape_of(ids))
        loss = shard_loss(model, config, batch, device)
        sums += torch.stack([loss.total, loss.nll]).double().cpu()
        tokens += batch.tokens
    total, nll = (sums / tokens).tolist()
    found = Validation(total, nll, math.exp(min(nll, 700.0)))
    count = config.train.validation_sentences
    if not bleu or not count or corpus.valid_text is None:
        return found
    sources, references = (side[:count] for side in corpus.valid_text)
    # A shortlist is made for a model directory that is there.
    config = replace(config, search=replace(config.search, shortlist=0))
    translator = Translator(model, config, corpus.subwords)
    outputs = _translations(translator, sources, device, stop, watch)
    measured = score(outputs, [references], ["bleu"])[0]
    samples = tuple(zip(sources, references, outputs, strict=True))[:SAMPLES]
    return Validation(
        found.loss, found.nll, found.perplexity, measured.value, measured.signature, samples=samples
    )


def _translations(
    translator: Translator,
    sources: list[str],
    device: torch.device,
    stop: Callable[[], bool],
    watch: Watcher,
) -> list[str]:
    outputs: list[str] = []
    size = WINDOW.get(device.type, WINDOW["cpu"])
    for start in range(0, len(sources), size):
        _check(stop)
        window = sources[start : start + size]

        def found(share: float, start: int = start, lines: int = len(window)) -> None:
            watch(start + int(share * lines), len(sources))

        found(0.0)
        outputs += [one.text for one in translator.translate_window(window, on_progress=found)]
    return outputs


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise AbandonedError
