"""Train Transformer translation models on parallel text, and translate with them.

The functions prepare, train, average and score do what the commands of the same names do;
load gives a Translator, which translates. `help(nmt_cli.train)` and docs/python.md describe them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.api.average import AveragedModel as AveragedModel
    from nmt_cli.api.average import average as average
    from nmt_cli.api.load import load as load
    from nmt_cli.api.prepare import prepare as prepare
    from nmt_cli.api.score import score as score
    from nmt_cli.api.train import TrainingResult as TrainingResult
    from nmt_cli.api.train import train as train
    from nmt_cli.data.lexical.glossary import read_glossary as read_glossary
    from nmt_cli.data.preparation.passes import PreparedCorpus as PreparedCorpus
    from nmt_cli.errors import NmtError as NmtError
    from nmt_cli.scoring.scores import Score as Score
    from nmt_cli.training.reporting.events import StepDone as StepDone
    from nmt_cli.training.reporting.report import Report as Report
    from nmt_cli.translation.callers.pivot import PivotTranslator as PivotTranslator
    from nmt_cli.translation.constraints import Constraints as Constraints
    from nmt_cli.translation.continuous.async_translator import (
        AsyncTranslator as AsyncTranslator,
    )
    from nmt_cli.translation.result import Translation as Translation
    from nmt_cli.translation.translator import Translator as Translator

__version__ = "0.1.0"

# Resolved when they are asked for: `import nmt_cli` loads nothing heavy.
_PUBLIC = {
    "AsyncTranslator": "nmt_cli.translation.continuous.async_translator",
    "AveragedModel": "nmt_cli.api.average",
    "Constraints": "nmt_cli.translation.constraints",
    "NmtError": "nmt_cli.errors",
    "PivotTranslator": "nmt_cli.translation.callers.pivot",
    "PreparedCorpus": "nmt_cli.data.preparation.passes",
    "Report": "nmt_cli.training.reporting.report",
    "Score": "nmt_cli.scoring.scores",
    "StepDone": "nmt_cli.training.reporting.events",
    "TrainingResult": "nmt_cli.api.train",
    "Translation": "nmt_cli.translation.result",
    "Translator": "nmt_cli.translation.translator",
    "average": "nmt_cli.api.average",
    "load": "nmt_cli.api.load",
    "prepare": "nmt_cli.api.prepare",
    "read_glossary": "nmt_cli.data.lexical.glossary",
    "score": "nmt_cli.api.score",
    "train": "nmt_cli.api.train",
}
__all__ = [
    "AsyncTranslator",
    "AveragedModel",
    "Constraints",
    "NmtError",
    "PivotTranslator",
    "PreparedCorpus",
    "Report",
    "Score",
    "StepDone",
    "TrainingResult",
    "Translation",
    "Translator",
    "__version__",
    "average",
    "load",
    "prepare",
    "read_glossary",
    "score",
    "train",
]


def __dir__() -> list[str]:
    return [*__all__]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        message = f"module `nmt_cli` has no attribute `{name}`"
        if not name.startswith("_"):
            from nmt_cli.errors import did_you_mean

            message += f"; {did_you_mean(name, list(_PUBLIC))}"
        raise AttributeError(message)
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)
