"""A second translation of doubtful lines."""

import dataclasses

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.lines.line_search import LineSearch
from nmt_cli.translation.quality.flags import FLAGS
from nmt_cli.translation.quality.retry import better, is_doubtful, retry_settings, with_retry
from nmt_cli.translation.result import Alternative, Translation
from nmt_cli.translation.translator import Translator


def translation(
    flags: tuple[str, ...], score: float = -1.0, *, is_broken: bool = False
) -> Translation:
    alternatives = (Alternative("text", score, score),)
    return Translation("source", "text", score, alternatives, flags, is_broken=is_broken)


@pytest.mark.parametrize(
    ("flags", "doubtful"),
    [
        ((), False),
        (("split", "unknown_words"), False),
        (("split", "copied"), True),
        *(
            (
                (flag,),
                flag not in ("empty", "split", "term_moved", "unknown_words", "markup_moved"),
            )
            for flag in FLAGS
        ),
    ],
)
def test_doubtful_lines_are_those_that_may_get_better(
    flags: tuple[str, ...], doubtful: bool
) -> None:
    assert is_doubtful(translation(flags)) == doubtful


def test_retry_settings_widen_the_beam_and_forbid_repetitions_and_empty_output() -> None:
    settings = retry_settings(SearchConfig(beam=2, retry=True, alpha=0.9))
    assert settings == SearchConfig(
        beam=8, alpha=1.0, sentences="split", no_repeat_ngram=4, min_length=1, retry=False
    )
    kept = retry_settings(SearchConfig(beam=12, alpha=1.2, no_repeat_ngram=2, min_length=3))
    assert (kept.beam, kept.alpha, kept.no_repeat_ngram, kept.min_length) == (12, 1.2, 2, 3)


def test_translation_with_fewer_flags_is_better_and_then_the_higher_score() -> None:
    doubtful, good = translation(("copied", "split"), -0.1), translation(("split",), -3.0)
    assert better(doubtful, good) is better(good, doubtful) is good
    first, second = translation(("copied",), -2.0), translation(("at_limit",), -1.0)
    assert better(first, second) is second
    # Another beam changes nothing about these flags, so they do not count.
    segmented = translation(("split", "unknown_words"), -3.0)
    assert better(first, segmented) is segmented
    same = translation(("copied",), -2.0)
    assert better(first, same) is first
    failed = translation(("failed",), 0.0)
    assert better(failed, translation(("copied", "at_limit"), -5.0)) is not failed


def test_of_equally_doubtful_translations_the_likelier_is_kept_whatever_the_length_penalty() -> (
    None
):
    """A higher exponent of the length penalty divides the same log-probability by more."""

    def scored(score: float, *log_probs: float) -> Translation:
        best = Alternative("text", score, sum(log_probs), token_scores=log_probs)
        return dataclasses.replace(translation(("copied",), score), hypotheses=(best,))

    first, second = scored(-0.8, -0.5, -0.7), scored(-0.7, -0.9, -0.5, -0.8)
    assert better(first, second) is better(second, first) is first


def test_broken_characters_of_the_translation_are_doubtful_unlike_unknown_words_of_the_source() -> (
    None
):
    broken = translation(("unknown_words",), -0.1, is_broken=True)
    assert is_doubtful(broken)
    whole = translation((), -3.0)
    assert better(broken, whole) is better(whole, broken) is whole
    # The source has unknown words still.
    unknown = translation(("unknown_words",), -3.0)
    assert better(broken, unknown) is better(unknown, broken) is unknown


def test_lines_with_half_a_character_are_translated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = byte_config()
    model = byte_model(config)
    with torch.no_grad():
        # Behind the prefix come the first byte of a letter and the end.
        model.output_bias[3] += 60.0
        model.output_bias[4 + 0xC5] += 50.0
    translator = Translator(model, config, byte_subwords())
    lines = []
    real = LineSearch.run

    def run(self, requests, *others):
        lines.append([request.text for request in requests])
        return real(self, requests, *others)

    monkeypatch.setattr(LineSearch, "run", run)
    options = {"prefixes": ["A"], "min_length": 2}
    (found,) = translator.translate(["one"], **options)
    assert (found.text, found.flags, found.is_broken) == ("A", ("unknown_words",), True)
    lines.clear()
    translator.translate(["one"], **options, retry=True)
    assert lines == [["one"], ["one"]]


def test_only_doubtful_lines_are_translated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = byte_config()
    model = byte_model(config)
    with torch.no_grad():
        # The model repeats a letter to the end.
        model.output_bias[3] -= 50.0
        model.output_bias[4 + ord("x")] += 50.0
    translator = Translator(model, config, byte_subwords())
    windows = []
    real = LineSearch.run

    def run(self, requests, config, *others):
        windows.append(([request.text for request in requests], config))
        return real(self, requests, config, *others)

    monkeypatch.setattr(LineSearch, "run", run)
    lines = ["one", "", "two"]
    first = translator.translate(lines)
    assert [lines for lines, _ in windows] == [lines]
    assert "repetition" in first[0].flags
    windows.clear()
    again = translator.translate(lines, retry=True)
    search = dataclasses.replace(config.search, retry=True)
    assert windows == [(lines, search), (["one", "two"], retry_settings(search))]
    assert [each.source for each in again] == lines
    assert "repetition" not in again[0].flags + again[2].flags
    assert again[1] == first[1]


def test_prefixes_belong_to_the_lines_that_are_translated_again() -> None:
    config = byte_config()
    model = byte_model(config)
    with torch.no_grad():
        model.output_bias[3] -= 50.0
        model.output_bias[4 + ord("x")] += 50.0
    translator = Translator(model, config, byte_subwords())
    results = translator.translate(["", "one", "two"], prefixes=["", "AB", "CD"], retry=True)
    assert [each.text[:2] for each in results] == ["", "AB", "CD"]


def test_only_a_second_translation_that_is_better_is_taken() -> None:
    first = [translation(("copied",), -1.0) for _ in range(3)]
    second = [
        translation(("copied", "at_limit"), -0.1), translation((), -3.0),
        # As good as the first one.
        translation(("at_limit",), -1.0),
    ]  # fmt: skip
    rounds = iter([first, second])
    results = with_retry(
        3,
        SearchConfig(retry=True),
        lambda *_: list(next(rounds)),
        lambda each: each,
        lambda _: None,
    )
    assert results == [first[0], second[1], first[2]]
