"""The warning that the text is of another kind than the training text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.translator import Translator


def warn_of_misfit(texts: Sequence[str], translator: "Translator", console: "Console") -> None:
    """Warn before the work if the first texts are of another kind than the training text."""
    from nmt_cli.translation.quality.input_check import find_misfit

    misfit = find_misfit(texts, translator.subwords, translator.quality.text)
    if misfit is not None:
        console.warning(str(misfit))
