"""A worker gives each caller what the translator alone gives, whoever else is waiting."""

import dataclasses
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.errors import ConfigError
from nmt_cli.search.beam import BeamSearch
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.continuous import shared_searches
from nmt_cli.translation.continuous.worker import TranslationWorker
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator

SECONDS = 60
CHOICES: list[dict[str, object]] = [
    {}, {"beam": 1}, {"beam": 4, "n_best": 3}, {"alignment": True}, {"retry": True},
    {"markup": "off"}, {"sample": True, "seed": 7}, {"replace_unknown": True}, {"alpha": 1.0},
    {"no_repeat_ngram": 2},
]  # fmt: skip


def made_translator() -> Translator:
    config = byte_config()
    return Translator(byte_model(config), config, byte_subwords())


@pytest.fixture
def worker() -> Iterator[TranslationWorker]:
    made = TranslationWorker(made_translator())
    yield made
    made.close()
    assert not made.is_alive


def some_lines(count: int, seed: int = 1) -> list[str]:
    chooser = random.Random(seed)
    return ["".join(chooser.choices("abc defgh", k=chooser.randrange(1, 40))) for _ in range(count)]


def texts(translations: list[Translation]) -> list[tuple[str, tuple[str, ...]]]:
    return [(translation.text, translation.flags) for translation in translations]


def submitted(
    worker: TranslationWorker, lines: list[str], **options: object
) -> "Future[list[Translation]]":
    return worker.submit(lambda translator: translator.translate(lines, **options))


def is_true_soon(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


def test_calls_with_many_settings_at_once_equal_calls_alone(worker: TranslationWorker) -> None:
    alone = made_translator()
    calls = [(some_lines(seed % 5 + 1, seed), CHOICES[seed % len(CHOICES)]) for seed in range(20)]
    futures = [submitted(worker, lines, **options) for lines, options in calls]
    for (lines, options), future in zip(calls, futures, strict=True):
        result = future.result(SECONDS)
        expected = alone.translate(lines, **options)
        assert texts(result) == texts(expected), options
        for translation, other in zip(result, expected, strict=True):
            assert translation.score == pytest.approx(other.score, abs=1e-4)


def test_marked_lines_and_glossaries_equal_calls_alone(worker: TranslationWorker) -> None:
    alone = made_translator()
    lines = [f"abc <b>{line}</b> {{name}}" for line in some_lines(4)]
    glossaries = [Constraints((), (Entry("abc", (form,), 1),)) for form in ("xyz", "qq", "dog")]
    futures = [
        worker.submit(lambda t, chosen=chosen: t.translate(lines, constraints=chosen))
        for chosen in glossaries
    ]
    for chosen, future in zip(glossaries, futures, strict=True):
        expected = alone.translate(lines, constraints=chosen)
        assert texts(future.result(SECONDS)) == texts(expected)


def test_call_joins_the_search_of_another_at_its_next_step(
    worker: TranslationWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted: list[int] = []
    admit = BeamSearch.admit

    def counted(self: BeamSearch, new) -> None:
        admitted.append(len(self.active))
        admit(self, new)
        if len(admitted) == 1:
            second.append(submitted(worker, ["b"]))

    second: list[Future[list[Translation]]] = []
    monkeypatch.setattr(BeamSearch, "admit", counted)
    first = submitted(worker, ["a" * 38])
    first.result(SECONDS)
    second[0].result(SECONDS)
    assert admitted == [0, 1]


def test_error_of_one_call_is_its_own(worker: TranslationWorker) -> None:
    lines = some_lines(3)
    good = submitted(worker, lines)
    wrong = submitted(worker, lines, n_best=9)
    with pytest.raises(ConfigError, match="n_best"):
        wrong.result(SECONDS)
    assert texts(good.result(SECONDS)) == texts(made_translator().translate(lines))
    assert worker.restarts == 0


def test_error_of_a_step_fails_its_calls_and_no_later_one(
    worker: TranslationWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: BeamSearch) -> None:
        raise RuntimeError("no kernels")

    with monkeypatch.context() as patch:
        patch.setattr(BeamSearch, "advance", broken)
        with pytest.raises(RuntimeError, match="no kernels"):
            submitted(worker, some_lines(2)).result(SECONDS)
    lines = some_lines(3)
    assert texts(submitted(worker, lines).result(SECONDS)) == texts(
        made_translator().translate(lines)
    )


def test_full_memory_halves_the_slots_and_loses_nothing(
    worker: TranslationWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    admit = BeamSearch.admit

    def full(self: BeamSearch, new) -> None:
        sizes.append(self.decoder.slots)
        if self.decoder.slots > 4:
            raise MemoryError
        admit(self, new)

    monkeypatch.setattr(BeamSearch, "admit", full)
    lines = some_lines(20)
    futures = [submitted(worker, lines[first : first + 5]) for first in range(0, 20, 5)]
    results = [translation for future in futures for translation in future.result(SECONDS)]
    assert sorted(set(sizes), reverse=True) == [64, 32, 16, 8, 4]
    monkeypatch.undo()
    assert texts(results) == texts(made_translator().translate(lines))


def test_cancelled_call_frees_its_slots_and_runs_no_further(worker: TranslationWorker) -> None:
    long = submitted(worker, ["a" * 38] * 20 + some_lines(20), max_extra_length=150, min_length=150)
    assert is_true_soon(lambda: worker.busy_slots > 0)
    assert long.cancel()
    assert is_true_soon(lambda: worker.busy_slots == 0)
    assert worker.steps < 150
    lines = some_lines(3)
    assert texts(submitted(worker, lines).result(SECONDS)) == texts(
        made_translator().translate(lines)
    )


def test_a_call_of_many_lines_does_not_hold_up_a_short_one(
    worker: TranslationWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_searches, "MAX_SLOTS", 4)
    worker._reset()
    many = submitted(worker, some_lines(100, seed=3))
    assert is_true_soon(lambda: worker.busy_slots > 0)
    short = submitted(worker, ["abc"])
    short.result(SECONDS)
    assert not many.done(), "the short call has waited for all lines of the long one"
    assert len(many.result(SECONDS)) == 100


def test_more_settings_than_searches_are_all_served(worker: TranslationWorker) -> None:
    lines = some_lines(2)
    futures = [
        submitted(worker, lines, beam=beam, alpha=alpha)
        for beam in (1, 2, 3, 4)
        for alpha in (0.2, 0.9)
    ]
    assert all(len(future.result(SECONDS)) == 2 for future in futures)
    assert len(worker._searches._groups) <= shared_searches.MAX_SEARCHES


def test_error_of_the_worker_itself_restarts_it(
    worker: TranslationWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shared_searches.SharedSearches, "step", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            submitted(worker, some_lines(2)).result(SECONDS)
    assert submitted(worker, ["abc"]).result(SECONDS)
    assert worker.restarts == 1
    # What the failed calls held was given back.
    worker.close(SECONDS)
    closing = threading.Thread(target=worker._translator.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()


def test_closed_worker_finishes_what_it_has_and_takes_no_more() -> None:
    worker = TranslationWorker(made_translator())
    lines = some_lines(30)
    future = submitted(worker, lines)
    worker.close(SECONDS)
    assert texts(future.result(0)) == texts(made_translator().translate(lines))
    with pytest.raises(RuntimeError, match="closed"):
        submitted(worker, lines).result(0)


def test_settings_that_searches_share_do_not_change_them() -> None:
    search = byte_config().search
    same = dataclasses.replace(search, alignment=True, retry=True, sentences="split", shortlist=3)
    assert shared_searches._searched(search) == shared_searches._searched(same)
    other = dataclasses.replace(search, alpha=0.1)
    assert shared_searches._searched(search) != shared_searches._searched(other)


def test_calls_that_wait_when_the_worker_closes_are_finished() -> None:
    worker = TranslationWorker(made_translator())
    begun, held = threading.Event(), threading.Event()
    first = worker.submit(lambda _: (begun.set(), held.wait(SECONDS)))
    assert begun.wait(SECONDS)
    second = submitted(worker, ["b"])
    worker.close(0.0)
    held.set()
    assert first.result(SECONDS)
    assert second.result(SECONDS)
    assert is_true_soon(lambda: not worker.is_alive)


def test_call_that_is_cancelled_before_it_begins_or_as_it_ends_disturbs_no_other(
    worker: TranslationWorker,
) -> None:
    begun, held = threading.Event(), threading.Event()
    ending = worker.submit(lambda _: (begun.set(), held.wait(SECONDS)))
    assert begun.wait(SECONDS)
    ran: list[object] = []
    waiting = worker.submit(ran.append)
    assert ending.cancel()
    assert waiting.cancel()
    held.set()
    assert submitted(worker, ["b"]).result(SECONDS)
    assert (ran, worker.restarts) == ([], 0)


def test_idle_worker_is_in_no_turn_and_keeps_nothing_of_earlier_calls(
    worker: TranslationWorker,
) -> None:
    assert submitted(worker, ["abc"]).result(SECONDS)
    # A server is not alive while a turn takes long.
    assert is_true_soon(lambda: not worker.turn_seconds)
    assert (worker._waiting, worker._calls, worker._ended) == ({}, {}, [])
