"""A translator for programs with asyncio: calls that wait at the same time share one search."""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack, overload

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import UnavailableError
from nmt_cli.installation import install_command
from nmt_cli.translation.calls import (
    SearchOptions,
    chosen_settings,
    each_line,
    one_line,
    require_constraints,
    require_lines,
    require_prefixes,
)
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints, check_constraints
from nmt_cli.translation.continuous.handover import awaitable
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator

if TYPE_CHECKING:
    from nmt_cli.translation.continuous.worker import TranslationWorker


class AsyncTranslator:
    """Translates in a thread of its own; a call joins the search of the others at the next step.

    `async with AsyncTranslator(load("model")) as translator` closes it at the end. It may be used
    by several event loops and threads.
    """

    def __init__(self, translator: Translator) -> None:
        """The translator belongs to this object from now on, and is closed with it.

        Raises UnavailableError if the library `greenlet` is not installed, and TypeError for
        anything but a Translator, such as a PivotTranslator.
        """
        if not isinstance(translator, Translator):
            raise TypeError(
                f"AsyncTranslator takes a Translator, not {type(translator).__name__}; for a pivot "
                "language, make one for each model and await them in turn"
            )
        self._translator = translator
        self._worker = _started(translator)

    def __repr__(self) -> str:
        """For example `AsyncTranslator(Translator('model', en-fr, cpu, float32))`."""
        return f"AsyncTranslator({self._translator!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Finish the calls that have begun, take no more, and free the memory of the model."""
        await asyncio.to_thread(self._worker.close, None)
        self._translator.close()

    @overload
    async def translate(  # type: ignore[overload-overlap]  # A str is one line.
        self,
        lines: str,
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: str | Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Translation: ...

    @overload
    async def translate(
        self,
        lines: Iterable[str],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Translation]: ...

    async def translate(
        self,
        lines: str | Iterable[str],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: str | Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Translation | list[Translation]:
        """Translate a line (str), or the lines of an iterable, which is read first, to a list.

        The other arguments and the errors are those of `Translator.translate`. Where the task that
        waits is cancelled, the search of its lines ends at the next step. Raises RuntimeError after
        `close`, and in a process that was forked after this object was made.
        """
        chosen = chosen_settings(self._translator.config, search, options)
        require_constraints(constraints)
        check_constraints(constraints, chosen)
        starts = prefixes
        if not isinstance(prefixes, str | None):
            require_prefixes(prefixes)
            starts = list(prefixes)
        if isinstance(lines, str):
            given: str | tuple[str, ...] = one_line(lines)
        else:
            require_lines(lines)
            given = tuple(each_line(lines))

        def translate(translator: Translator) -> Translation | list[Translation]:
            if isinstance(given, str):
                return translator.translate(
                    given, search=chosen, constraints=constraints, prefixes=starts
                )
            return translator.translate(
                given, search=chosen, constraints=constraints, prefixes=starts
            )

        return await awaitable(self._worker.submit(translate))


def _started(translator: Translator) -> "TranslationWorker":
    """A worker for the translator; raises UnavailableError without `greenlet`."""
    try:
        import greenlet  # noqa: F401
    except ImportError as error:
        raise UnavailableError(
            "AsyncTranslator needs the package greenlet, which is not installed",
            install_command("serve"),
        ) from error
    from nmt_cli.translation.continuous.worker import TranslationWorker

    return TranslationWorker(translator)
