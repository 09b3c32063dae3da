"""At the end of a run: whether its model has learnt more than how frequent the subwords are.

Predicting each subword by its frequency in the training text alone has a perplexity that a model
which learns falls below within its first steps, long before its BLEU rises above 0.
"""

import math
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.training.evaluation.model_selection import early_stopping_reason
from nmt_cli.training.optimizers.factory import peak_rate
from nmt_cli.training.reporting.report import short_perplexity
from nmt_cli.training.run import Run
from nmt_cli.training.state import TrainState

# Losses are in nats per target token. A model has learnt something if its loss is further below
# that of the frequencies, in validation or, with label smoothing, in training.
LEAST_BELOW, LEAST_BELOW_IN_TRAINING = 0.25, 0.5
# A run with fewer steps only tries the commands.
FEWEST_STEPS = 50
# With a higher BLEU, it has learnt something anyway.
HIGHEST_BLEU = 1.0
# A loss that has fallen by less in so many steps after the warm-up no longer falls.
LEAST_FALL, LONG_STEPS = 0.2, 200
# As many tokens are enough for the frequencies.
MOST_TOKENS = 5_000_000
# How much longer a warm-up and lower a learning rate is proposed.
FACTOR = 4
PAGE = "see the documentation of nmt, questions.md, It does not learn"


class Unlearnt(NamedTuple):
    """A note on a model that has learnt next to nothing.

    is_warning: whether more steps alone would hardly help.
    """

    note: str
    is_warning: bool


def unlearnt(run: Run) -> Unlearnt | None:
    """What to say at the end of a run whose model has learnt next to nothing, else None.

    A run of a few steps, without validations, or that began with a model is not judged.
    """
    state, train = run.state, run.config.train
    perplexity, step = state.published.get("perplexity"), state.published.get("step")
    bleu = state.published.get("bleu")
    losses = {int(step): -score for step, score in state.scores.items() if int(step)}
    if (
        state.step < FEWEST_STEPS
        or not (perplexity and losses)
        or train.init_from
        or (bleu or 0.0) > HIGHEST_BLEU
    ):
        return None
    by_frequency = loss_by_frequency(run.corpus)
    if math.log(perplexity) < by_frequency - LEAST_BELOW:
        return None
    compared = (
        f"validation perplexity, {short_perplexity(perplexity)} at step {step:,}, is "
        f"{'hardly' if math.log(perplexity) < by_frequency else 'not'} below that of predicting "
        f"each subword by its frequency alone, {short_perplexity(math.exp(by_frequency))}"
    )
    # Subwords that are split at random are easier to predict than those of the validation.
    if (
        not train.subword_dropout
        and state.trend.get("fast", math.inf) < by_frequency - LEAST_BELOW_IN_TRAINING
    ):
        return Unlearnt(
            "the model has learnt its training text, but nothing that helps with the validation "
            f"text: its {compared}; usual causes are too little training text, training pairs "
            f"that are no translations of each other, and validation text of another kind or "
            f"language ({PAGE})",
            is_warning=True,
        )
    if flat := _flat(state, losses, train.warmup_steps, train.patience):
        return Unlearnt(
            f"the model has learnt next to nothing: its {compared}, and {flat}; the usual cause "
            "is a learning rate that is too high, or a warm-up that is too short for it, above "
            "all in a post-norm model; train another one, with another --out, with "
            f"{_remedies(run.config)} ({PAGE})",
            is_warning=True,
        )
    return Unlearnt(
        f"the model has not learnt to translate yet: its {compared}; it needs more steps",
        is_warning=False,
    )


def loss_by_frequency(corpus: Corpus) -> float:
    """The validation loss of predicting each subword by its frequency in the training text.

    In nats per target token, with EOS, as the loss of a model. The corpus has validation pairs.
    """
    assert corpus.valid is not None
    ids = corpus.train.tgt.ids
    ids = np.asarray(ids[:: 1 + len(ids) // MOST_TOKENS])
    # One more for each, so that those which occur in the validation text only have a probability.
    counts = np.bincount(ids, minlength=corpus.subwords.tgt_size) + 1.0
    log_shares = np.log(counts / counts.sum())
    return float(-log_shares[np.asarray(corpus.valid.tgt.ids)].mean())


def _flat(state: TrainState, losses: dict[int, float], warmup: int, patience: int) -> str:
    """Since when the validation loss no longer falls, in words; "" if it falls.

    losses: those of the validated steps' own weights.
    """
    if state.step > warmup and early_stopping_reason(patience, state.stale):
        return f"the last {state.stale} validations brought no improvement"
    lowest = min(losses.values())
    # Falling to the loss by frequency from far above it is no progress.
    level = (step for step, loss in losses.items() if step >= warmup and loss < lowest + LEAST_FALL)
    since = min(level, default=state.step)
    return f"has hardly fallen since step {since:,}" if state.step - since >= LONG_STEPS else ""


def _remedies(config: Config) -> str:
    """The settings that may make a model learn, as options."""
    train, model = config.train, config.model
    rate = peak_rate(train, model.d_model) / FACTOR
    ways = [
        f"`--set train.warmup_steps={FACTOR * train.warmup_steps}`",
        f"`--set train.learning_rate={rate:.1g}`",
    ]
    if model.kind == "transformer" and model.norm_order == "post":
        ways.insert(0, "`--set model.norm_order=pre`")
    return ", ".join(ways[:-1]) + f" or {ways[-1]}"
