"""When a run ends: with its validations, within its time limit, and during a validation."""

from types import SimpleNamespace

import numpy as np
import pytest

from nmt_cli.config.schema import Config, with_values
from nmt_cli.training.reporting.forecast import Forecast
from nmt_cli.training.reporting.pace import Pace
from nmt_cli.training.reporting.validation_clock import ValidationClock

SIX_MINUTES = 0.1


def steady_pace(steps: int = 3, validation: float = 0.0) -> Pace:
    """Steps of 2 seconds on 100 tokens each."""
    pace = Pace()
    for _ in range(steps):
        pace.add_step(2.0, 100)
    if validation:
        pace.add_validation(validation)
    return pace


def forecast(
    pace: Pace,
    steps: int,
    *,
    hours: float = SIX_MINUTES,
    validated: bool = True,
    pairs: int = 0,
    init_from: str = "",
    beam: int = 1,
):
    values = {
        "train.init_from": init_from,
        "train.max_steps": steps, "train.max_hours": hours, "train.checkpoint_every": "auto",
        "train.validation_sentences": 10, "search.beam": beam,
    }  # fmt: skip
    valid = SimpleNamespace(src_lengths=np.full(50, 10)) if validated else None
    return Forecast(
        with_values(Config(), values),
        SimpleNamespace(valid=valid, valid_text=([""] * pairs, []) if pairs else None),
        steps,
        pace,  # type: ignore[arg-type]
    )


def simulated_end(last: int, every: int, seconds: float, validation: float, limit: float):
    """The step and the time at which a run ends that takes these times."""
    clock, step, validated = 0.0, 0, 0
    while step < last and clock < limit:
        clock, step = clock + seconds, step + 1
        if step % every == 0:
            clock, validated = clock + validation, step
    return step, clock + (validation if validated < step else 0.0)


@pytest.mark.parametrize("validation", [0.0, 7.0, 100.0])
@pytest.mark.parametrize("limit", [1.0, 61.0, 119.0, 187.0, 500.0])
@pytest.mark.parametrize("every", [3, 30, 1_000])
def test_the_end_within_a_limit_is_that_of_a_simulated_run(validation, limit, every):
    pace = steady_pace(validation=validation)
    end, seconds = simulated_end(90, every, 2.0, validation, limit)
    assert pace.end_step(0, 90, every, limit, validation) == end
    assert pace.seconds_left(0, 90, every, seconds_allowed=limit) == pytest.approx(seconds)


def test_the_time_left_respects_the_limit_and_shrinks_during_a_validation():
    ahead = forecast(steady_pace(validation=60.0), 1_000)
    assert ahead.seconds_left(10, 0.0) == pytest.approx(360 + 60, abs=2)
    left = [ahead.seconds_left_validating(100, 300.0 + spent, spent, 0.0) for spent in range(50)]
    assert left == sorted(left, reverse=True)
    assert left[0] - left[-1] == pytest.approx(49.0, abs=2)
    # The limit is over: only the rest of this validation is left.
    assert ahead.seconds_left_validating(100, 365.0, 20.0, 0.0) == 40.0
    assert ahead.seconds_left_validating(100, 365.0, 20.0, 30.0) == 10.0


def test_the_comparison_at_the_end_counts_like_validations():
    """Both weights translate 15 sentences, and 10 more follow: the time of 4 validations."""
    unknown = forecast(steady_pace(), 100, hours=0.0, pairs=15)
    assert unknown.seconds_left(10, 0.0) == 180.0
    assert unknown.seconds_left_comparing(3.0, 0.0) is None
    assert unknown.seconds_left_comparing(3.0, 20.0) == 17.0
    ahead = forecast(steady_pace(validation=60.0), 100, hours=0.0, pairs=15)
    # Steps 30, 60, 90 and 100 are validated.
    assert ahead.seconds_left(10, 0.0) == 180.0 + 4 * 60.0 + 4 * 60.0
    assert ahead.seconds_left_validating(100, 0.0, 20.0, 0.0) == 40.0 + 4 * 60.0
    assert ahead.seconds_left_validating(100, 0.0, 20.0, 30.0) == 10.0 + 4 * 30.0
    assert ahead.seconds_left_comparing(40.0, 0.0) == 200.0
    assert ahead.seconds_left_comparing(250.0, 0.0) == 0.0
    ahead.average_published(90)
    assert ahead.seconds_left(100, 0.0) == 60.0 + 4 * 60.0
    ahead.average_published(100)
    assert ahead.seconds_left(100, 0.0) == 60.0


def test_fine_tuning_compares_a_published_average_with_the_weights_before_training():
    ahead = forecast(steady_pace(validation=60.0), 100, hours=0.0, pairs=15, init_from="first")
    ahead.average_published(100)
    assert ahead.seconds_left(100, 0.0) > 60.0 + 60.0


def test_the_comparison_translates_more_but_computes_as_many_losses():
    pace = steady_pace()
    pace.add_validation(60.0, 20.0)
    ahead = forecast(pace, 100, hours=0.0, pairs=15)
    # The last validation, 40 seconds of losses, and four times as many translations.
    assert ahead.seconds_left(100, 0.0) == pytest.approx(60.0 + 40.0 + 4 * 20.0)
    assert ahead.seconds_left_comparing(10.0, 0.0) == pytest.approx(110.0)
    ahead.average_published(100)
    assert ahead.seconds_left(100, 0.0) == 60.0


def test_later_validations_count_more_than_the_first():
    pace = steady_pace(validation=60.0)
    for _ in range(3):
        pace.add_validation(20.0)
    assert 20.0 < pace.validation_seconds < 24.0


def test_the_first_validation_is_expected_from_its_own_progress():
    clock = ValidationClock()
    assert clock.translating(9.0) == 0.0
    expected = []
    # It does not grow where nothing is finished.
    for done, now in [(0, 100.0), (0, 102.0), (5, 103.0), (20, 106.0), (20, 109.0), (40, 110.0)]:
        clock.update(done, 200, now)
        expected.append(clock.expected)
    # Two seconds of losses, then twenty sentences in four seconds and forty in eight.
    assert expected == [0.0, 0.0, 0.0, 42.0, 42.0, 42.0]
    clock.update(80, 200, 112.0)
    assert clock.expected == 2.0 + 25.0
    assert clock.translating(112.0) == 10.0
    # Later validations are expected to take as long.
    assert steady_pace().seconds_left_validating(30, 90, 30, 10.0, expected=50.0) == (
        40.0 + 120.0 + 2 * 50.0
    )


def test_validations_count_as_unmeasured_until_the_first():
    ahead = forecast(steady_pace(), 60, hours=0.0)
    assert ahead.unmeasured(3, 0.0) == 2
    assert ahead.unmeasured(30, 0.0, validating=True) == 2
    assert ahead.unmeasured(60, 0.0) == 0
    assert forecast(steady_pace(), 100, hours=0.0).unmeasured(100, 0.0) == 0
    assert ahead.unmeasured(60, 0.0, validating=True) == 1
    assert forecast(steady_pace(validation=9.0), 60).unmeasured(3, 0.0) == 0
    assert forecast(steady_pace(), 60, validated=False).unmeasured(3, 0.0) == 0
    # Those that the time limit leaves room for: steps 100 and 183.
    assert forecast(steady_pace(), 1_000).unmeasured(3, 0.0) == 2


def test_an_early_end_is_reported_once_with_steps_that_fit():
    pace = steady_pace()
    ahead = forecast(pace, 1_000)
    end = ahead.early_end(3, 6.0)
    # A validation reads 500 tokens and writes at most 600: 22 seconds.
    assert (end.first, end.last, end.seconds_left) == (169, 180, 354.0)
    assert ahead.early_end(3, 6.0) is None
    pace.add_validation(300.0)
    assert ahead.early_end(100, 500.0) is None
    assert end.fitting == 120
    for validation in (0.0, 22.0):
        fits = simulated_end(end.fitting, 30, 2.0, validation, 360.0)
        assert fits[0] == end.fitting


def test_an_early_end_is_reported_again_after_the_first_validation_if_steps_are_faster():
    for seconds, is_reported in ((1.9, False), (0.8, True)):
        pace = steady_pace()
        ahead = forecast(pace, 1_000)
        assert ahead.early_end(3, 6.0).last == 180
        for _ in range(60):
            pace.add_step(seconds, 100)
        # Not before a validation, whose time is part of the answer.
        assert ahead.early_end(63, 60.0) is None
        pace.add_validation(5.0)
        end = ahead.early_end(64, 66.0)
        assert (end is not None) == is_reported
        assert end is None or end.last > 180 * 1.25
        assert ahead.early_end(65, 67.0) is None


def test_an_early_end_is_judged_after_some_steps_and_after_the_first_validation():
    assert forecast(steady_pace(steps=2), 1_000).early_end(2, 4.0) is None
    # What was not known after three steps is not known before a validation either.
    assert forecast(steady_pace(steps=4), 1_000).early_end(4, 8.0) is None
    assert forecast(steady_pace(steps=4, validation=9.0), 1_000).early_end(4, 8.0) is not None


@pytest.mark.parametrize(("steps", "is_reported"), [(188, False), (191, True)])
def test_a_run_that_nearly_reaches_its_end_is_not_reported(steps, is_reported):
    """The limit is over at step 180: 0.957 and 0.942 of the steps."""
    assert (forecast(steady_pace(), steps).early_end(3, 6.0) is not None) == is_reported


def test_the_first_validation_is_assumed_to_search_with_the_beam():
    end = forecast(steady_pace(), 1_000, beam=4).early_end(3, 6.0)
    # It reads 500 tokens and writes at most 4 times 600: 58 seconds, those of 29 steps.
    assert (end.first, end.last) == (151, 180)


def test_an_early_end_is_reported_without_validation_text():
    end = forecast(steady_pace(), 1_000, validated=False).early_end(3, 6.0)
    # 150 steps of 2 seconds take 0.85 of the 354 seconds that are left.
    assert (end.first, end.last, end.fitting) == (180, 180, 150)


def test_an_early_end_after_the_limit_leaves_no_time():
    end = forecast(steady_pace(), 1_000).early_end(500, 365.0)
    assert (end.last, end.fitting, end.seconds_left) == (500, 0, 0.0)


def test_the_steps_that_fit_are_more_than_those_that_are_done():
    """Rounded down to two digits, 1,240 would be 1,200."""
    end = forecast(steady_pace(), 10_000).early_end(1_236, 350.0)
    assert end.fitting == 1_237


def test_enough_time_is_judged_once_where_validations_are_known():
    pace = steady_pace(validation=9.0)
    ahead = forecast(pace, 100)
    assert ahead.early_end(3, 6.0) is None
    for _ in range(30):
        pace.add_step(20.0, 100)
    assert ahead.early_end(33, 150.0) is None
    assert forecast(pace, 100).early_end(33, 150.0) is not None


def test_time_left_is_not_known_in_a_first_validation_at_the_end():
    ahead = forecast(steady_pace(), 30, hours=0.0)
    assert ahead.seconds_left_validating(30, 90.0, 5.0, 0.0) is None
    assert ahead.seconds_left_validating(30, 90.0, 5.0, 12.0) == 7.0


def test_the_steps_that_fit_are_a_round_number():
    end = forecast(steady_pace(), 10_000, hours=1.0).early_end(3, 6.0)
    assert end.fitting > 1_000
    assert end.fitting % 100 == 0


@pytest.mark.parametrize("validation", [0.0, 22.0, 200.0])
def test_a_run_that_follows_the_advice_is_not_reported(validation):
    end = forecast(steady_pace(validation=validation), 1_000).early_end(3, 6.0)
    assert end.fitting > 0
    pace = steady_pace()
    followed = forecast(pace, end.fitting)
    assert followed.early_end(3, 6.0) is None
    if validation and end.fitting > 30:
        pace.add_validation(validation)
        pace.add_step(2.0, 100)
        assert followed.early_end(31, 62.0 + validation) is None


def test_slow_validations_are_reported_after_the_first():
    pace = steady_pace()
    ahead = forecast(pace, 120)
    assert ahead.early_end(3, 6.0) is None
    pace.add_step(2.0, 100)
    assert ahead.early_end(4, 8.0) is None
    pace.add_validation(150.0)
    end = ahead.early_end(33, 216.0)
    assert end.first == end.last == 64
    assert 33 < end.fitting < 64


def test_there_is_no_early_end_without_a_limit_or_with_enough_time():
    assert forecast(steady_pace(), 1_000, hours=0.0).early_end(3, 6.0) is None
    assert forecast(steady_pace(), 1_000, hours=1.0).early_end(3, 6.0) is None
    assert forecast(steady_pace(), 1_000).early_end(500, 359.5).fitting == 0
