"""What `nmt translate --verify` shows: each difference as it occurs, and a summary."""

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
    """Verifies the lines of a run as they are translated."""

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
        """precision: the compute precision; every: check every n-th line."""
        from nmt_cli.translation.verification import Verifier

        self._console = console
        self._verifier = Verifier(
            translator, search, constraints, against_reference=precision == "float32", every=every
        )

    def check(
        self,
        translations: "list[Translation]",
        starts: Sequence[str] | None,
        first: int,
        every: int,
    ) -> None:
        """Check some of these lines; starts: their prefixes, first: the index of the first line.

        every: the difference between the indices of two lines.
        """
        for difference in self._verifier.check(translations, starts, first, every):
            self._console.warning(str(difference))

    def end(self) -> None:
        """Report the number of checked lines; raises QualityGateError if any line differed."""
        verifier = self._verifier
        if verifier.differing:
            raise QualityGateError(
                f"{verifier.differing:,} of {counted(verifier.checked, 'checked line')} "
                f"{agreeing(verifier.differing, 'differs', 'differ')} from the translation "
                f"of the line {verifier.baseline}",
                "equal scores: two translations are equally good; otherwise please report it",
            )
        self._console.note(
            f"{counted(verifier.checked, 'line')} checked: the same as when translated "
            f"{verifier.baseline}"
        )
