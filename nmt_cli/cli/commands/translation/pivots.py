"""`nmt translate --then`: models that translate one after another, by way of another language."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nmt_cli.cli.settings import chosen_search
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.translation.callers.pivot import PivotTranslator
    from nmt_cli.translation.translator import Translator


def check_pivots(then: Sequence[str] | None, flags: Mapping[str, object], *, verify: bool) -> None:
    """Raise UsageError for options that do not fit --then."""
    if not then:
        return
    wrong = ["--verify"] if verify else []
    wrong += ["--alignment"] if flags.get("search.alignment") else []
    if wrong:
        raise UsageError(
            f"{' and '.join(wrong)}: not with --then", "leave it out, or translate with one model"
        )


def chain(steps: "Sequence[Translator]", resolved: "ResolvedConfig") -> "PivotTranslator":
    """The models in turn; all but the last have the settings of this run that are for all."""
    from nmt_cli.translation.callers.pivot import PivotTranslator, check_pivot, shared_settings

    check_pivot(chosen_search(resolved, steps[-1].config))
    searches = [
        shared_settings(step.config, step.config.search, chosen_search(resolved, step.config))
        for step in steps[:-1]
    ]
    for step, search in zip(steps, searches, strict=False):
        step.shortlist_for(search)
    return PivotTranslator(steps, searches)
