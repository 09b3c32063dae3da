"""StopRequest: what Ctrl-C, a stop function and a failing callback ask of training."""

import signal
import threading

import pytest

from nmt_cli.api.stop_request import StopRequest


def test_the_first_interrupt_asks_and_the_second_one_raises():
    with StopRequest(None) as request:
        assert not request()
        signal.raise_signal(signal.SIGINT)
        assert request()
        assert isinstance(request.failure, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handler_is_python_s_own_again_after_the_block():
    with StopRequest(None):
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_before_the_first_step_an_interrupt_raises_at_once():
    with pytest.raises(KeyboardInterrupt), StopRequest(None):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_caller_stays():
    calls = []

    def handler(number, frame):
        calls.append(number)

    signal.signal(signal.SIGINT, handler)
    with StopRequest(None) as request:
        signal.raise_signal(signal.SIGINT)
        assert not request()
    assert calls == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_set_no_handler():
    handlers = []

    def work():
        with StopRequest(None):
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_the_stop_function_is_asked():
    answers = iter([False, True])
    request = StopRequest(lambda: next(answers))
    assert [request(), request()] == [False, True]
    assert request.failure is None


def test_an_error_of_a_callback_asks_for_a_stop():
    failing = StopRequest(lambda: 1 // 0)
    assert failing()
    assert isinstance(failing.failure, ZeroDivisionError)

    events = []

    def callback(event):
        events.append(event)
        raise ValueError(event)

    request = StopRequest(None)
    guarded = request.guarded(callback)
    guarded("first")
    guarded("second")
    assert request()
    assert str(request.failure) == "first"
    assert events == ["first"]
