"""Which weights are published, and when a validation counts as an improvement."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from torch import nn

from nmt_cli.config.schema import Config, with_values
from nmt_cli.training.evaluation import model_selection
from nmt_cli.training.evaluation.model_selection import ModelSelector, WeightsCandidate
from nmt_cli.training.evaluation.passes import (
    VALIDATION,
    Pass,
    compared_sentences,
    comparison_share,
)
from nmt_cli.training.reporting.report import PERPLEXITY_DECIDES, Validation
from nmt_cli.training.state import TrainState

FOUND = Validation(loss=3.0, nll=3.0, perplexity=20.0, bleu=0.0, signature="s")


class Validations(ModelSelector):
    """A judge whose validations are given: (BLEU, loss) of each, one after the other."""

    def __init__(self) -> None:
        super().__init__(Config(), None, None, nn.Linear(1, 1), None, None)  # type: ignore[arg-type]
        self.state = TrainState()
        self.sentences = 500
        self.published: list[int] = []

    def candidates(self, *_):
        yield WeightsCandidate("current", (), {})

    def _validate(self, candidate, poll, losses=None):
        bleu, loss = self.next
        sentences = 0 if bleu is None else self.sentences
        return replace(FOUND, bleu=bleu, nll=loss, perplexity=loss, sentences=sentences)

    def publish(self, state, chosen, found=None):
        self.published.append(state.step)
        highest = model_selection._highest_bleu(found, state.published)
        published = {
            "perplexity": found.perplexity, "bleu": found.bleu, "highest_bleu": highest,
            "sentences": found.sentences,
        }  # fmt: skip
        state.set_published(published, found.score)

    def see(self, bleu: float | None, loss: float) -> int:
        """The validations without an improvement after one that gives this."""
        self.next = bleu, loss
        self.state.step += 1
        self.select(self.state, SimpleNamespace(), None, lambda: False)
        return self.state.stale


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Validations:
    monkeypatch.setattr("nmt_cli.training.evaluation.model_selection.copy_weights", lambda *_: None)
    monkeypatch.setattr(
        "nmt_cli.training.evaluation.model_selection.place_training_weights", lambda *_: None
    )
    return Validations()


def test_a_lower_loss_is_an_improvement_while_bleu_is_still_zero(judge) -> None:
    assert [judge.see(0.0, loss) for loss in (9.0, 8.0, 7.0)] == [0, 0, 0]
    assert judge.published == [1, 2, 3]
    assert judge.see(0.0, 7.5) == 1


def test_bleu_decides_what_is_published_and_either_measure_is_an_improvement(judge) -> None:
    assert judge.see(10.0, 5.0) == 0
    # The loss is lower, BLEU is lower too: progress, but not the better translator.
    assert judge.see(9.0, 4.0) == 0
    assert judge.see(11.0, 4.5) == 0
    assert judge.published == [1, 3]
    assert [judge.see(10.2, 4.2), judge.see(9.9, 4.0)] == [1, 2]


def test_perplexity_decides_where_bleu_differs_by_chance(judge) -> None:
    """With 500 sentences, a difference of 14 / sqrt(500) = 0.63 BLEU or less means nothing."""
    assert judge.see(57.0, 2.9) == 0
    assert judge.see(57.6, 3.0) == 1
    assert judge.see(56.4, 2.8) == 0
    assert judge.published == [1, 3]
    assert judge.see(57.1, 2.9) == 0
    assert judge.published == [1, 3, 4]


def test_highest_bleu_is_remembered_beside_what_is_published(judge) -> None:
    highest = []
    for bleu, loss in ((57.0, 2.9), (57.6, 3.0), (56.4, 2.8), (58.5, 2.7)):
        judge.see(bleu, loss)
        highest.append(judge.state.published["highest_bleu"])
    assert (highest, judge.published) == ([57.0, 57.6, 57.6, 58.5], [1, 3, 4])


def test_without_bleu_the_loss_decides(judge) -> None:
    assert [judge.see(None, 5.0), judge.see(None, 6.0), judge.see(None, 4.0)] == [0, 1, 0]
    assert judge.published == [1, 3]


def test_perplexity_decides_between_bleu_of_different_numbers_of_sentences(judge) -> None:
    """After a resume with another `train.validation_sentences`: fewer may be easier ones."""
    assert judge.see(20.0, 5.0) == 0
    judge.sentences = 60
    assert [judge.see(40.0, 5.1), judge.state.published["highest_bleu"]] == [1, 20.0]
    judge.see(10.0, 4.9)
    assert (judge.published, judge.state.published["highest_bleu"]) == ([1, 3], 10.0)
    # From here on both are of the same sentences: 14 / sqrt(500) = 0.63 BLEU are no chance.
    judge.see(12.0, 6.0)
    assert (judge.published, judge.state.published["highest_bleu"]) == ([1, 3, 4], 12.0)


def test_perplexity_decides_where_only_one_has_bleu(judge) -> None:
    """After a resume that begins, or ends, to measure BLEU."""
    judge.see(20.0, 5.0)
    assert [judge.see(None, 5.1), judge.see(None, 4.9)] == [1, 0]
    assert [judge.see(30.0, 5.0), judge.see(1.0, 4.8)] == [1, 0]
    assert judge.published == [1, 3, 5]


class Comparisons(ModelSelector):
    """A selector whose model has been published, with the BLEU of each number of sentences."""

    def __init__(
        self,
        bleu: dict[tuple[str, int], float],
        pairs: int = 1_014,
        *,
        start: dict[str, object] | None = None,
        perplexity: dict[str, float] | None = None,
        config: Config | None = None,
    ) -> None:
        corpus = SimpleNamespace(valid_text=(["a"] * pairs, ["b"] * pairs))
        checkpoints = SimpleNamespace(start_weights=lambda: start)
        super().__init__(config or Config(), corpus, None, nn.Linear(1, 1), checkpoints, None)  # type: ignore[arg-type]
        self.bleu = bleu
        self.perplexity = perplexity or {}
        self.state = TrainState(step=525)
        self.state.set_published(
            {"step": 225, "weights": "mean", "steps": [200, 225], "bleu": 19.0}, 19.0
        )
        self.published: list[tuple[str, float | None, str]] = []
        self.passes: list[Pass] = []

    def candidates(self, *_):
        yield WeightsCandidate("current", (), {})
        yield WeightsCandidate("mean", (500, 525), {})

    def _validate(self, candidate, poll, losses=None, sentences=None, pass_=VALIDATION):
        self.passes.append(pass_)
        kind = "start" if candidate.steps == (0,) else candidate.kind
        bleu, perplexity = self.bleu[kind, sentences or 200], self.perplexity.get(kind, 20.0)
        return replace(FOUND, bleu=bleu, perplexity=perplexity)

    def publish(self, state, chosen, validation=None, comparison="", final=(None, None)):
        self.published.append((chosen.kind, validation.bleu, comparison))
        self.final = final

    def compare(self) -> list[tuple[str, float | None, str]]:
        self.compare_last(self.state, SimpleNamespace(), None, lambda: False)  # type: ignore[arg-type]
        return self.published


@pytest.fixture
def published_model(monkeypatch: pytest.MonkeyPatch, judge: Validations) -> None:
    stored = SimpleNamespace(weights={})
    monkeypatch.setattr(model_selection, "read_model", lambda _: stored)


WHERE = "on 1,014 validation pairs, not only 500"
BLEU_OF_BOTH = {("", 1_014): 16.06, ("mean", 1_014): 17.54, ("mean", 200): 18.3}


@pytest.mark.usefixtures("published_model")
def test_last_average_is_published_if_it_translates_more_pairs_better() -> None:
    comparison = (
        f"{WHERE}: BLEU 17.54, perplexity 20.00, against BLEU 16.06, perplexity 20.00 with the "
        "average of 2 checkpoints (steps 200 to 225)"
    )
    changed = Comparisons(BLEU_OF_BOTH)
    assert changed.compare() == [("mean", 18.3, comparison)]
    assert changed.final == (17.54, 1_014)
    kept = Comparisons(BLEU_OF_BOTH | {("mean", 1_014): 16.05})
    assert kept.compare() == []
    average = "the average of the last 2 checkpoints (steps 500 to 525)"
    comparison = (
        f"{WHERE}: BLEU 16.06, perplexity 20.00, against BLEU 16.05, perplexity 20.00 with "
        f"{average}"
    )
    assert kept.state.published["comparison"] == comparison
    assert kept.state.published["final_bleu"] == 16.06
    assert kept.state.published["final_sentences"] == 1_014
    assert kept.state.published["step"] == 225


@pytest.mark.usefixtures("published_model")
@pytest.mark.parametrize(
    ("bleu", "perplexity", "is_published"),
    [
        # More than chance: 14 / sqrt(1,014) = 0.44.
        (16.51, 99.0, True),
        (16.49, 20.01, False),
        (16.49, 19.99, True),
        (15.63, 19.99, True),
        (15.61, 19.99, False),
    ],
)
def test_perplexity_decides_on_the_last_average_where_bleu_differs_by_chance(
    bleu: float, perplexity: float, is_published: bool
) -> None:
    selector = Comparisons(BLEU_OF_BOTH | {("mean", 1_014): bleu}, perplexity={"mean": perplexity})
    assert bool(selector.compare()) is is_published
    comparisons = [
        selector.state.published.get("comparison", ""),
        *(c for *_, c in selector.published),
    ]
    decided = (bleu > 16.06) is not is_published
    assert comparisons[-1].endswith(f"; {PERPLEXITY_DECIDES}") is decided


@pytest.mark.usefixtures("published_model")
def test_last_average_is_compared_only_where_that_can_tell_more() -> None:
    assert Comparisons({}, pairs=200).compare() == [], "the usual sentences are all there are"
    selector = Comparisons({})
    selector.state.published |= {"steps": [500, 525]}
    assert selector.compare() == [], "it is published"
    selector.state.published = {"bleu": None}
    assert selector.compare() == [], "nothing was translated in validation"


START = "the weights that training began with"
# The published weights, the last average, and those that fine-tuning began with.
BLEU_OF_THREE = {
    ("", 1_014): 16.06, ("mean", 1_014): 16.54, ("start", 1_014): 16.3,
    ("mean", 200): 18.3, ("start", 200): 17.0,
}  # fmt: skip


@pytest.mark.usefixtures("published_model")
@pytest.mark.parametrize(
    ("bleu", "perplexity", "kept"),
    [
        # More than chance: 14 / sqrt(1,014) = 0.44.
        (17.0, 99.0, True),
        (16.97, 99.0, False),
        (16.97, 19.0, True),
        (16.11, 19.0, True),
        (16.09, 19.0, False),
    ],
)
def test_weights_before_training_are_kept_unless_others_are_better_on_all_pairs(
    bleu: float, perplexity: float, kept: bool
) -> None:
    tuned = Comparisons(
        BLEU_OF_THREE | {("start", 1_014): bleu}, start={}, perplexity={"start": perplexity}
    )
    [(kind, usual, comparison)] = tuned.compare()
    published, average = (
        "the average of 2 checkpoints (steps 200 to 225)",
        "the average of the last 2 checkpoints",
    )
    if kept:
        assert (kind, usual, tuned.final) == ("current", 17.0, (bleu, 1_014))
        others = (
            f"BLEU 16.06, perplexity 20.00 with {published} and BLEU 16.54, perplexity 20.00 with "
            f"{average} (steps 500 to 525)"
        )
        own = f"BLEU {bleu:.2f}, perplexity {perplexity:.2f}"
        reason = f"; {PERPLEXITY_DECIDES}" if bleu < 16.54 else ""
        assert comparison == f"{WHERE}: {own}, against {others}{reason}"
    else:
        assert (kind, usual, tuned.final) == ("mean", 18.3, (16.54, 1_014))
        others = (
            f"BLEU 16.06, perplexity 20.00 with {published} and BLEU {bleu:.2f}, perplexity "
            f"{perplexity:.2f} with {START}"
        )
        reason = f"; {PERPLEXITY_DECIDES}" if bleu > 16.54 else ""
        assert comparison == f"{WHERE}: BLEU 16.54, perplexity 20.00, against {others}{reason}"
    assert [each.before for each in tuned.passes] == [0, 1_014, 2_028, 3_042]
    assert {each.whole for each in tuned.passes} == {3_542}


@pytest.mark.usefixtures("published_model")
def test_weights_before_training_take_no_part_where_they_are_published() -> None:
    published = Comparisons({("", 1_014): 16.06, ("mean", 1_014): 16.05}, start={})
    published.state.published |= {"step": 0, "weights": "current", "steps": [0]}
    assert published.compare() == []
    of_last = (
        "BLEU 16.05, perplexity 20.00 with the average of the last 2 checkpoints (steps 500 to 525)"
    )
    assert published.state.published["comparison"] == (
        f"{WHERE}: BLEU 16.06, perplexity 20.00, against {of_last}"
    )
    better = Comparisons(BLEU_OF_THREE, start={})
    better.state.published |= {"step": 0, "weights": "current", "steps": [0]}
    [(kind, _, comparison)] = better.compare()
    assert kind == "mean"
    assert comparison.endswith(
        f"perplexity 20.00, against BLEU 16.06, perplexity 20.00 with {START}"
    )


@pytest.mark.usefixtures("published_model")
def test_each_pass_of_the_comparison_says_what_it_is_and_how_many_sentences_are_done() -> None:
    selector = Comparisons(BLEU_OF_BOTH)
    selector.compare()
    assert selector.passes == [
        Pass("comparing: published weights", 0, 2_528),
        Pass("comparing: last average", 1_014, 2_528),
        Pass("validating the chosen weights", 2_028, 2_528),
    ]


@pytest.mark.parametrize(
    ("settings", "pairs", "sentences"),
    [
        ({}, 1_014, 1_014),
        ({}, 9_000, 2_000),
        ({}, 200, 0),
        ({"train.validation_sentences": 0}, 1_014, 0),
        # There is no average.
        ({"train.keep_last": 1}, 1_014, 0),
        ({"train.checkpoint_every": 60_000}, 1_014, 0),
        ({"train.keep_last": 1, "train.ema": 0.99}, 1_014, 1_014),
        ({"train.keep_last": 1, "train.init_from": "m"}, 1_014, 1_014),
        ({"train.init_from": "m"}, 1_014, 1_014),
        ({"train.init_from": "m"}, 200, 0),
        ({"train.compare_at_end": False}, 1_014, 0),
        ({"train.compare_at_end": False, "train.init_from": "m"}, 1_014, 0),
    ],
)
def test_which_runs_end_with_a_comparison(settings, pairs, sentences) -> None:
    config = with_values(Config(), {"train.validation_sentences": 200, **settings})
    corpus = SimpleNamespace(valid_text=(["a"] * pairs, ["b"] * pairs))
    assert compared_sentences(config, corpus) == sentences
    weights = 3 if settings == {"train.init_from": "m"} else 2
    share = weights * sentences / 200 + 1 if sentences else 0
    assert comparison_share(config, corpus) == share
    assert not compared_sentences(config, SimpleNamespace(valid_text=None))


@pytest.mark.usefixtures("published_model")
def test_comparison_can_be_left_out() -> None:
    config = with_values(Config(), {"train.compare_at_end": False})
    selector = Comparisons(BLEU_OF_BOTH, config=config)
    assert (selector.compare(), selector.passes) == ([], [])


@pytest.mark.usefixtures("published_model")
def test_comparison_of_many_pairs_is_limited() -> None:
    bleu = {("", 2_000): 30.0, ("mean", 2_000): 31.0, ("mean", 200): 29.0}
    [(_, _, comparison)] = Comparisons(bleu, pairs=9_000).compare()
    assert comparison.startswith("on 2,000 validation pairs")
