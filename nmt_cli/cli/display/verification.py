"""What `nmt translate --verify` tells: each difference when it is found, and the sum."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt_cli.errors import QualityGateError
from nmt_cli.plurals import agreeing, counted
from nmt_cli.terminal.console import Console

if TYPE_CHECKING:
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.translation.constraints import Constraints
    from nmt_cli.translation.result import Translation
    from nmt_cli.translation.translator import Translator


class Checks:
    """The lines of a run, looked at as they are translated."""

    def __init__(
        self,
        translator: "Translator",
        search: "SearchConfig",
        wording: "Constraints",
        *,
        precision: str,
        every: int,
        console: Console,
    ) -> None:
        """precision: of the arithmetic; every: the n-th lines are checked."""
        from nmt_cli.translation.verification import Verifier

        self._console = console
        self._verifier = Verifier(
            translator, search, wording, plain=precision == "float32", every=every
        )

    def look(
        self, translations: "list[Translation]", starts: Sequence[str] | None, first: int
    ) -> None:
        """Check some of these lines; starts: their prefixes, first: the number of the first."""
        for difference in self._verifier.check(translations, starts, first):
            self._console.warning(str(difference))

    def end(self) -> None:
        """Tell how many lines were right; raises QualityGateError where one was not."""
        one = self._verifier
        if one.differing:
            raise QualityGateError(
                f"{one.differing:,} of {counted(one.checked, 'line')} checked "
                f"{agreeing(one.differing, 'is', 'are')} not the same as when translated "
                f"{one.judge}",
                "equal scores: two translations are equally good; otherwise please report it",
            )
        self._console.note(
            f"{counted(one.checked, 'line')} checked: the same as when translated {one.judge}"
        )
