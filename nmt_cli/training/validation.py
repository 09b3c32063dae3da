"""How good a model is on the validation pairs: loss per token, and BLEU of what it translates."""

import math

import torch

from nmt_cli.config import Config
from nmt_cli.data.corpus import Corpus
from nmt_cli.data.plan import BatchPlan
from nmt_cli.model.transformer import Transformer
from nmt_cli.scoring import score
from nmt_cli.training.report import Validation
from nmt_cli.training.step import shard_loss, start_id
from nmt_cli.translator import Translator

BATCH_TOKENS = 4_096
SAMPLES = 3


@torch.inference_mode()
def validate(
    model: Transformer, config: Config, corpus: Corpus, device: torch.device, *, bleu: bool
) -> Validation:
    """Teacher-forced loss over all validation pairs; with `bleu`, the first ones are decoded too.

    Beam search is the configured one. The model is left in evaluation mode.
    """
    assert corpus.valid is not None
    model.eval()
    pairs = corpus.valid
    plan = BatchPlan(pairs.src_lengths, pairs.tgt_lengths, BATCH_TOKENS, 1, seed=0)
    sums = torch.zeros(2, dtype=torch.float64)
    tokens = 0
    for number in range(plan.epoch(0).batches):
        batch = pairs.batch(plan.epoch(0).shard(number, 0), start_id(config.model))
        loss = shard_loss(model, config, batch, device)
        sums += torch.stack([loss.total, loss.nll]).double().cpu()
        tokens += loss.tokens
    total, nll = (sums / tokens).tolist()
    found = Validation(total, nll, math.exp(min(nll, 700.0)))
    count = config.train.validation_sentences
    if not bleu or not count or corpus.valid_text is None:
        return found
    return _with_bleu(found, model, config, corpus, count)


def _with_bleu(
    found: Validation, model: Transformer, config: Config, corpus: Corpus, count: int
) -> Validation:
    assert corpus.valid_text is not None
    sources, references = (side[:count] for side in corpus.valid_text)
    translator = Translator(model, config, corpus.subwords)
    outputs = [one.text for one in translator.translate(sources)]
    bleu = score(outputs, [references], ["bleu"])[0]
    samples = tuple(zip(sources, references, outputs, strict=True))[:SAMPLES]
    return Validation(
        found.loss, found.nll, found.perplexity, bleu.value, bleu.signature, samples=samples
    )
