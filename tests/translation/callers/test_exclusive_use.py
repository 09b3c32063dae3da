"""A translator in several threads, after a fork, and after it was closed."""

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.errors import UnavailableError
from nmt_cli.inference.engines import reference_engine
from nmt_cli.model_dir import save_model
from nmt_cli.translation.callers.exclusive_use import ExclusiveUse
from nmt_cli.translation.translator import Translator

THREADS, LINES = 8, 100
SECONDS = 60.0


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    config = byte_config()
    save_model(tmp_path / "m", byte_model(config).state_dict(), config, byte_subwords(), {})
    return tmp_path / "m"


def some_lines(count: int, seed: int) -> list[str]:
    chooser = random.Random(seed)
    return ["".join(chooser.choices("abc defgh", k=chooser.randrange(1, 30))) for _ in range(count)]


def with_shared_decoders() -> Translator:
    """Whose engine makes few decoders, each for many searches, as that of a GPU does."""
    config = byte_config()
    return Translator(
        byte_model(config), config, byte_subwords(),
        lambda model: reference_engine(model)._replace(reusable=True),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("in_lists", "is_native"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_threads_get_the_words_of_a_serial_run(
    saved: Path, in_lists: bool, is_native: bool
) -> None:
    translator = Translator.load(saved) if is_native else with_shared_decoders()
    texts = [some_lines(LINES if in_lists else 10, seed) for seed in range(THREADS)]
    begin = threading.Barrier(THREADS)

    def work(lines: list[str]) -> list[str]:
        begin.wait(SECONDS)
        if in_lists:
            return [each.text for each in translator.translate(lines)]
        return [translator.translate(line).text for line in lines]

    expected = [[each.text for each in translator.translate(lines)] for lines in texts]
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, texts)) == expected


def test_threads_score_as_one_thread_does(saved: Path) -> None:
    translator = Translator.load(saved)
    pairs = [(line, line) for line in some_lines(40, seed=1)]

    def work(_: int) -> list[float]:
        return [pair.log_prob for pair in translator.score(pairs)]

    expected = work(0)
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, range(THREADS))) == [expected] * THREADS


def in_a_fork(work: Callable[[], object], seconds: float = SECONDS) -> str:
    """What `work` returns in a forked process, as text."""
    read, write = os.pipe()
    process = os.fork()
    if not process:
        try:
            result = str(work())
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(write, result.encode())
        os._exit(0)
    os.close(write)
    end = time.monotonic() + seconds
    while not os.waitpid(process, os.WNOHANG)[0]:
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            pytest.fail("the forked process waits for ever")
        time.sleep(0.01)
    with os.fdopen(read, "rb") as answer:
        return answer.read().decode()


FORK = """
import os, sys, threading, time
import torch
from test_exclusive_use import in_a_fork, some_lines
from nmt_cli.translation.translator import Translator

translator = Translator.load(sys.argv[1])
lines = some_lines(20, seed=2)
# As large as it must be for several threads of OpenMP, which a fork leaves behind.
torch.set_num_threads(2)
torch.randn(1000, 1000).softmax(-1)

def translated():
    return [(each.text, each.hypotheses[0].alignment)
            for each in translator.translate(lines, alignment=True)]

expected = translated()
assert in_a_fork(translated) == str(expected)

def with_torch():
    translator.translate("abc")
    return tuple(torch.randn(1000, 1000).softmax(-1).shape)

assert in_a_fork(with_torch) == "(1000, 1000)"

# In the middle of a search of another thread; whatever translator the process wants to use then.
inside, ended = threading.Event(), threading.Event()
def wait(_):
    inside.set()
    ended.wait()
window = lambda: translator.translate_window(lines, on_progress=wait)
thread = threading.Thread(target=window, daemon=True)
thread.start()
inside.wait()
for use in (translated, lambda: Translator.load(sys.argv[1], cache=None).translate("abc")):
    assert in_a_fork(use).startswith("UnavailableError: this process was forked while"), use
ended.set()
thread.join()
assert in_a_fork(translated) == str(expected) == str(translated())
print("equal")
"""


def test_forked_process_gets_the_same_words(saved: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(saved)], cwd=Path(__file__).parent,
        env=environ, capture_output=True, text=True, timeout=10 * SECONDS, check=False,
    )  # fmt: skip
    assert done.stdout == "equal\n", done.stderr


def test_model_on_a_gpu_is_refused_after_a_fork() -> None:
    use = ExclusiveUse(lambda: True, lambda: None)
    assert not use.was_forked()
    with pytest.raises(UnavailableError, match="GPU cannot be used after a fork") as caught, use:
        pass
    assert "spawn" in caught.value.hint


def test_block_ends_with_a_closed_translator(saved: Path) -> None:
    with Translator.load(saved) as translator:
        search = weakref.ref(translator._line_search)
        translator.translate("abc")
    gc.collect()
    assert search() is None
    assert not hasattr(translator, "engine")
    assert repr(translator).startswith("Translator(")
    for use in (
        lambda: translator.translate("abc"),
        lambda: translator.translate(["abc"]),
        lambda: translator.translate_marked([()]),
        lambda: next(translator.score([("abc", "abc")])),
    ):
        with pytest.raises(ValueError, match="the translator is closed"):
            use()
    translator.close()


def test_members_of_an_ensemble_are_closed_with_it(saved: Path) -> None:
    ensemble = Translator.load(saved, others=[saved])
    member = ensemble.others[0]
    ensemble.close()
    with pytest.raises(ValueError, match="closed"):
        member.translate("abc")


def test_closing_waits_for_the_thread_that_translates(saved: Path) -> None:
    translator = Translator.load(saved, cache=None)
    results: list[int] = []
    inside = threading.Event()

    def work() -> None:
        def begun(_: float) -> None:
            inside.set()

        results.append(len(translator.translate_window(["abc"] * 50, on_progress=begun)))

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(SECONDS)
    translator.close()
    thread.join(SECONDS)
    assert results == [50]


def test_each_item_is_computed_inside() -> None:
    use = ExclusiveUse(lambda: False, lambda: None)
    use.close(lambda: None)
    with pytest.raises(ValueError, match="closed"):
        list(use.each(iter([1])))
