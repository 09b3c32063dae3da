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
        constraints: "Constraints",
        *,
        precision: str,
        every: int,
        console: Console,
    ) -> None:
        """precision: of the arithmetic; every: the n-th lines are checked."""
        from nmt_cli.translation.verification import Verifier

        self._console = console
        self._verifier = Verifier(
            translator, search, constraints, against_reference=precision == "float32", every=every
        )

    def look(
        self, translations: "list[Translation]", starts: Sequence[str] | None, first: int
    ) -> None:
        """Check some of these lines; starts: their prefixes, first: the number of the first."""
        for difference in self._verifier.check(translations, starts, first):
            self._console.warning(str(difference))

    def end(self) -> None:
        """Tell how many lines were right; raises QualityGateError where one was not."""
        verifier = self._verifier
        if verifier.differing:
            raise QualityGateError(
                f"{verifier.differing:,} of {counted(verifier.checked, 'line')} checked "
                f"{agreeing(verifier.differing, 'is', 'are')} not the same as when translated "
                f"{verifier.baseline}",
                "equal scores: two translations are equally good; otherwise please report it",
            )
        checked = counted(verifier.checked, "line")
        self._console.note(f"{checked} checked: the same as when translated {verifier.baseline}")
