"""AsyncTranslator: the words of Translator, joint searches, cancellation, and its end."""

import asyncio
import builtins
import os
from collections.abc import Callable
from typing import Any

import pytest
from test_worker import is_true_soon, made_translator, some_lines, texts

from nmt_cli.errors import ConfigError, DataError, UnavailableError
from nmt_cli.search.beam import BeamSearch
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.continuous.async_translator import AsyncTranslator

LONG: dict[str, Any] = {"max_extra_length": 150, "min_length": 150}


def test_tasks_get_the_words_of_calls_alone() -> None:
    alone = made_translator()
    calls = [(some_lines(seed % 4 + 1, seed), {"beam": seed % 3 + 1}) for seed in range(12)]

    async def work() -> list[Any]:
        async with AsyncTranslator(made_translator()) as translator:
            tasks = [translator.translate(lines, **options) for lines, options in calls]
            return await asyncio.gather(*tasks)

    for (lines, options), found in zip(calls, asyncio.run(work()), strict=True):
        assert texts(found) == texts(alone.translate(lines, **options))


def test_types_and_arguments_are_those_of_the_translator() -> None:
    alone = made_translator()
    constraints = Constraints(ban=("e",))

    async def work() -> None:
        async with AsyncTranslator(made_translator()) as translator:
            one = await translator.translate("abc", prefixes="x", constraints=constraints)
            expected = alone.translate("abc", prefixes="x", constraints=constraints)
            assert one.text == expected.text
            several = await translator.translate((line for line in ("a", "b")), prefixes=["x", ""])
            assert texts(several) == texts(alone.translate(["a", "b"], prefixes=["x", ""]))
            assert await translator.translate([]) == []
            assert repr(translator) == f"AsyncTranslator({translator._translator!r})"

    asyncio.run(work())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda t: t.translate(5), TypeError),
        (lambda t: t.translate(["a", 5]), TypeError),
        (lambda t: t.translate("a\nb"), ValueError),
        (lambda t: t.translate("a", no_such_option=1), TypeError),
        (lambda t: t.translate("a", beam=0), ConfigError),
        (lambda t: t.translate(["a"], prefixes=["a", "b"]), DataError),
        (lambda t: t.translate(["a"], prefixes="a"), TypeError),
        (lambda t: t.translate("a", constraints={"a": "b"}), TypeError),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[AsyncTranslator], Any], error: type) -> None:
    async def work() -> None:
        async with AsyncTranslator(made_translator()) as translator:
            with pytest.raises(error):
                await call(translator)

    asyncio.run(work())


def test_cancelled_task_frees_its_slots() -> None:
    async def work() -> None:
        async with AsyncTranslator(made_translator()) as translator:
            worker = translator._worker
            task = asyncio.create_task(translator.translate(["a" * 38] * 20, **LONG))
            while not worker.busy_slots:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert is_true_soon(lambda: worker.busy_slots == 0)
            assert worker.steps < 150
            assert texts(await translator.translate(["abc"])) == texts(
                made_translator().translate(["abc"])
            )

    asyncio.run(work())


def test_time_limit_ends_a_call() -> None:
    async def work() -> None:
        async with AsyncTranslator(made_translator()) as translator:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await translator.translate(["a" * 38] * 2_000, **LONG)
            assert is_true_soon(lambda: translator._worker.busy_slots == 0)

    asyncio.run(work())


def test_closing_finishes_calls_and_takes_no_more() -> None:
    lines = some_lines(40)

    async def work() -> None:
        made = made_translator()
        translator = AsyncTranslator(made)
        task = asyncio.create_task(translator.translate(lines))
        await asyncio.sleep(0)
        await translator.close()
        assert texts(await task) == texts(made_translator().translate(lines))
        with pytest.raises(RuntimeError, match="the translator is closed"):
            await translator.translate("abc")
        with pytest.raises(ValueError, match="the translator is closed"):
            made.translate("abc")
        await translator.close()

    asyncio.run(work())


def test_several_event_loops_may_use_it() -> None:
    translator = AsyncTranslator(made_translator())
    first = asyncio.run(translator.translate("abc"))
    assert asyncio.run(translator.translate("abc")).text == first.text
    asyncio.run(translator.close())


def test_forked_process_gets_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with AsyncTranslator(made_translator()) as translator:
            other = os.getpid() + 1
            with monkeypatch.context() as patch:
                patch.setattr(os, "getpid", lambda: other)
                with pytest.raises(RuntimeError, match="before this process was forked"):
                    await translator.translate("abc")

    asyncio.run(work())


def test_translator_that_it_owns_is_not_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_translator()
    translator = AsyncTranslator(made)
    with pytest.raises(RuntimeError, match="belongs to a worker"):
        made.translate("abc")
    assert asyncio.run(translator.translate("abc")).text
    asyncio.run(translator.close())


def test_error_of_the_search_reaches_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: BeamSearch) -> None:
        raise RuntimeError("no kernels")

    async def work() -> None:
        async with AsyncTranslator(made_translator()) as translator:
            with monkeypatch.context() as patch:
                patch.setattr(BeamSearch, "advance", broken)
                with pytest.raises(RuntimeError, match="no kernels"):
                    await translator.translate("abc")
            assert (await translator.translate("abc")).text

    asyncio.run(work())


def test_only_a_translator_of_one_model_is_taken() -> None:
    pivot: Any = made_translator().then(made_translator())
    with pytest.raises(TypeError, match="not PivotTranslator; for a pivot language"):
        AsyncTranslator(pivot)


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "greenlet":
            raise ImportError(name=name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnavailableError, match="needs the package greenlet") as caught:
        AsyncTranslator(made_translator())
    assert "[serve]" in caught.value.hint
