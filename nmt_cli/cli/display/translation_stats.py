"""`nmt translate --stats`: how much was translated, how fast, and with what."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from nmt_cli.data.languages.unspaced import spaced_words
from nmt_cli.machine import kernel_threads, peak_memory

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.callers.pivot import PivotTranslator
    from nmt_cli.translation.result import Translation
    from nmt_cli.translation.translator import Translator

MIB = 1 << 20


class TranslationStats:
    """Counts of a run; the time is measured from when it is made until `show`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._loaded = clock()
        self._first: float | None = None
        self._lines = self._source_words = self._target_words = self._subwords = 0

    def loaded(self) -> None:
        """The models are loaded: from now on lines are translated."""
        self._loaded = self._clock()

    def add(self, translation: "Translation") -> None:
        """Count a line. Words are what white space separates; subwords are those of the output."""
        if self._first is None:
            self._first = self._clock()
        self._lines += 1
        self._source_words += len(spaced_words(translation.source))
        self._target_words += len(spaced_words(translation.text))
        self._subwords += len(translation.hypotheses[0].tokens)

    def rows(self, translator: "Translator | PivotTranslator") -> list[tuple[str, str]]:
        """Names and figures; peak memory is that of the process."""
        end = self._clock()
        seconds = max(end - self._loaded, 1e-9)
        rows = [
            ("lines", f"{self._lines:,}"),
            ("words", f"{self._source_words:,} in, {self._target_words:,} out"),
            ("subwords", f"{self._subwords:,} out"),
            ("loading", f"{self._loaded - self._began:.2f} s"),
        ]
        if self._first is not None:
            rows += [
                ("until the first lines", f"{self._first - self._loaded:.2f} s after loading"),
                ("translating", f"{seconds:.2f} s"),
                (
                    "speed",
                    f"{self._lines / seconds:,.1f} lines/s, "
                    f"{self._subwords / seconds:,.0f} subwords/s",
                ),
            ]
        return [
            *rows,
            *(("engine", f"{step.engine.name}: {step.engine.about}") for step in translator.steps),
            ("CPU threads", str(kernel_threads())),
            ("peak memory", f"{peak_memory() / MIB:,.0f} MiB"),
        ]

    def show(self, translator: "Translator | PivotTranslator", console: "Console") -> None:
        """Write the figures to stderr, even if quiet: they were asked for."""
        rows = self.rows(translator)
        width = max(len(name) for name, _ in rows)
        for name, figure in rows:
            console.plain(f"{name.ljust(width)}  {figure}")
