"""A real browser, driven over a pipe (DevTools protocol) as a person would use it."""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 120.0


class Browser:
    """One tab; `evaluate` runs a script there and gives its value."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._number = 0
        self._rest = b""
        self._session = ""
        self.requests: list[str] = []
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        result = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = result["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return dict(answer["result"])
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            some = os.read(self._back, 1 << 20)
            assert some, "the browser has ended"
            self._rest += some
        first, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(first))

    def _note(self, event: dict[str, Any]) -> None:
        method, given = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(given["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.problems.append(given["entry"]["text"])

    def open(self, page: Path | str) -> None:
        """Load a file, or an address of this machine."""
        address = page if isinstance(page, str) else page.as_uri()
        self.requests.clear()
        self.problems.clear()
        self.call("Page.navigate", url=address)
        loaded = f"document.readyState === 'complete' && location.href === {json.dumps(address)}"
        self.wait_for(loaded)

    def wait_for(self, script: str) -> None:
        """Wait until a script gives something true."""
        end = time.monotonic() + SECONDS
        while not self.evaluate(script):
            assert time.monotonic() < end, f"it does not become true: {script}"

    def write(self, text: str) -> None:
        """Type a text where the cursor is."""
        self.call("Input.insertText", text=text)

    def evaluate(self, script: str) -> Any:
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def key(self, name: str) -> None:
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40}  # fmt: skip
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name,
                windowsVirtualKeyCode=codes[name],
            )  # fmt: skip

    def point_at(self, selector: str, *, click: bool = False) -> None:
        """Move the mouse to the middle of what the selector finds first."""
        x, y = self.evaluate(
            f"(() => {{ const node = document.querySelector({json.dumps(selector)});"
            " node.scrollIntoView({block: 'center'}); const b = node.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call(
                    "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
                )


def find_chromium() -> str:
    """Its path; skips the test where there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser of its own, with an empty profile in `folder`."""
    path = find_chromium()
    commands, answers = os.pipe(), os.pipe()
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
        "--no-first-run", "--disable-background-networking", f"--user-data-dir={folder}",
        "--window-size=1100,800",
    ]  # fmt: skip
    # The browser listens on descriptor 3 and speaks on 4.
    script = f'exec "$@" 3<&{commands[0]} 4>&{answers[1]}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", path, *options, "about:blank"],
        pass_fds=(commands[0], answers[1]), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(commands[0])
    os.close(answers[1])
    try:
        yield Browser(commands[1], answers[0])
    finally:
        os.close(commands[1])
        os.close(answers[0])
        # It ends by itself when its pipes are closed.
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
