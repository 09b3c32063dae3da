"""A run says at its end that its model has learnt next to nothing, and no other run does."""

import json
import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpora import reversal_corpus

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.training import loop
from nmt_cli.training.reporting import unlearnt as module
from nmt_cli.training.reporting.unlearnt import Unlearnt, loss_by_frequency, unlearnt
from nmt_cli.training.state import TrainState

Setting = tuple[Config, Corpus]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return reversal_corpus(tmp_path_factory.mktemp("unlearnt"), train_seed=3)


def reports(setting: Setting, out: Path, **settings: object) -> list:
    """Train to the end."""
    config, corpus = setting
    values = {key.replace("_", ".", 1): value for key, value in settings.items()}
    return list(
        loop.train(with_values(config, {**values, "train.validation_sentences": 2}), corpus, out)
    )


def judged(
    setting: Setting,
    losses: dict[int, float],
    training_loss: float = 0.3,
    bleu: float | None = 0.0,
    stale: int = 0,
    **settings: object,
) -> tuple[str, bool]:
    """What is said at the end of a run, and whether as a warning.

    losses: of the validations by step, training_loss: both above that of the frequencies; the best
    validation is published.
    """
    config, corpus = setting
    values = {key.replace("_", ".", 1): value for key, value in settings.items()}
    by_frequency = loss_by_frequency(corpus)
    best = min(losses, key=losses.__getitem__)
    perplexity = math.exp(by_frequency + losses[best])
    state = TrainState(
        step=max(losses), stale=stale, trend={"fast": by_frequency + training_loss},
        scores={str(step): -by_frequency - loss for step, loss in losses.items()},
        published={"step": best, "bleu": bleu, "perplexity": perplexity},
    )  # fmt: skip
    run = SimpleNamespace(state=state, config=with_values(config, values), corpus=corpus)
    found = unlearnt(run)  # type: ignore[arg-type]
    return (found.note, found.is_warning) if found else ("", False)


# Like the run of `paper-small` with a warm-up of 100 steps and a learning rate of 0.002, which
# gave the same output for each line.
STUCK = {100: -0.02, 200: 0.08, 300: 0.04, 400: -0.12, 476: -0.15}


def test_loss_by_frequency_is_that_of_counted_subwords(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, corpus = setting
    ids = corpus.train.tgt.ids.tolist()
    counts, size = Counter(ids), corpus.subwords.tgt_size
    valid = corpus.valid.tgt.ids.tolist()  # type: ignore[union-attr]
    expected = sum(-math.log((counts[i] + 1) / (len(ids) + size)) for i in valid) / len(valid)
    assert loss_by_frequency(corpus) == pytest.approx(expected, abs=1e-9)
    # Of a large text, a part is counted that is spread over all of it.
    monkeypatch.setattr(module, "MOST_TOKENS", len(ids) // 2)
    assert loss_by_frequency(corpus) == pytest.approx(expected, abs=0.1)
    assert loss_by_frequency(corpus) != pytest.approx(expected, abs=1e-6)


def test_a_run_whose_loss_does_not_fall_is_warned_of_with_remedies(setting: Setting) -> None:
    settings = {"train_warmup_steps": 100, "train_learning_rate": 0.002}
    note, is_warning = judged(setting, STUCK, **settings)
    assert is_warning
    by_frequency = loss_by_frequency(setting[1])
    shown = f"{math.exp(by_frequency - 0.15):.2f} at step 476, is hardly below that of predicting"
    assert f"has learnt next to nothing: its validation perplexity, {shown}" in note
    assert f"its frequency alone, {math.exp(by_frequency):.2f}, and has hardly fallen since" in note
    assert "since step 100; the usual cause is a learning rate that is too high" in note
    ways = "`--set train.warmup_steps=400` or `--set train.learning_rate=0.0005`"
    assert f"with `--set model.norm_order=pre`, {ways} (see the documentation of nmt" in note
    pre, _ = judged(setting, STUCK, **settings, model_norm_order="pre")
    assert f"with {ways} (see" in pre
    fell, _ = judged(setting, {**STUCK, 100: 0.9, 200: 0.01}, **settings)
    assert "and has hardly fallen since step 200; the usual" in fell
    worse, _ = judged(setting, {step: loss + 1 for step, loss in STUCK.items()}, **settings)
    assert "at step 476, is not below that of predicting each subword" in worse


@pytest.mark.parametrize(
    ("losses", "settings"),
    [
        # Its loss falls; the rate reached its peak 176 steps ago; it is still rising.
        ({100: 0.6, 200: 0.5, 300: 0.3, 476: -0.1}, {"train_warmup_steps": 100}),
        (STUCK, {"train_warmup_steps": 300}),
        (STUCK, {"train_warmup_steps": 4_000}),
        ({50: 0.0}, {"train_warmup_steps": 10}),
        (STUCK, {"train_warmup_steps": 4_000, "train_patience": 3}),
    ],
)
def test_a_run_that_may_learn_later_is_told_to_go_on(
    setting: Setting, losses: dict[int, float], settings: dict[str, object]
) -> None:
    note, is_warning = judged(setting, losses, stale=3, **{"train_patience": 0, **settings})
    assert "has not learnt to translate yet: its validation perplexity" in note
    assert note.endswith("; it needs more steps")
    assert not is_warning


def test_patience_that_ends_a_run_is_no_reason_for_more_steps(setting: Setting) -> None:
    losses = {40: 0.1, 50: 0.2, 60: 0.3}
    note, is_warning = judged(setting, losses, stale=2, train_patience=2)
    assert "and the last 2 validations brought no improvement; the usual cause" in note
    assert is_warning


def test_a_training_text_that_was_learnt_is_no_matter_of_the_rate(setting: Setting) -> None:
    note, is_warning = judged(setting, STUCK, training_loss=-0.6)
    assert "has learnt its training text, but nothing that helps with the validation text" in note
    assert "pairs that are no translations of each other, and validation text of another" in note
    assert is_warning
    for training_loss, settings in ((-0.4, {}), (-0.6, {"train_subword_dropout": 0.1})):
        note, _ = judged(setting, STUCK, training_loss=training_loss, **settings)
        assert "has learnt next to nothing" in note


@pytest.mark.parametrize(
    ("losses", "bleu", "settings"),
    [
        ({**STUCK, 476: -0.3}, 0.0, {}),
        ({49: 0.0}, 0.0, {}),
        (STUCK, 1.5, {}),
        (STUCK, 0.0, {"train_init_from": "model"}),
    ],
)
def test_nothing_is_said_of_other_runs(
    setting: Setting, losses: dict[int, float], bleu: float, settings: dict[str, object]
) -> None:
    assert judged(setting, losses, bleu=bleu, **settings) == ("", False)
    assert judged(setting, STUCK)[0]
    assert judged(setting, STUCK, bleu=None)[0]


def test_the_note_precedes_the_end_of_the_run_and_is_logged(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEWEST_STEPS", 4)
    early = reports(setting, tmp_path / "early", train_max_steps=4, train_validate_every=2)
    notes = [report.note for report in early if report.note]
    assert notes[-1] == "finished: 4 steps are done"
    assert notes[-2].startswith("the model has not learnt to translate yet")
    assert not early[-2].is_warning
    records = [json.loads(line) for line in (tmp_path / "early/log.jsonl").read_text().splitlines()]
    assert [record["note"] for record in records if "note" in record] == notes
    monkeypatch.setattr(loop, "unlearnt", lambda _: Unlearnt("next to nothing", is_warning=True))
    warned = reports(setting, tmp_path / "warned", train_max_steps=2)
    assert (warned[-2].note, warned[-2].is_warning) == ("next to nothing", True)


def test_a_run_without_validation_text_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEWEST_STEPS", 1)
    setting = reversal_corpus(tmp_path, data_valid=[], train_max_steps=2)
    assert [report.note for report in reports(setting, tmp_path / "m") if report.note][:-1] == []
