"""What a run that is resumed with other settings does otherwise than before, as messages."""

import json
from pathlib import Path

from nmt_cli.config.automatic import Intervals
from nmt_cli.config.schema import Config, flatten, load
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.plurals import counted
from nmt_cli.storage.model_check import CONFIG

# Schedules of the learning rate that depend on train.max_steps.
ENDING_SCHEDULES = ("linear", "cosine", "wsd")


def as_in_file(value: object) -> str:
    """A value as a project file has it."""
    return json.dumps(value, ensure_ascii=False)


def changed_schedule(config: Config, out: Path) -> str:
    """A message if a changed `train.max_steps` changes the learning rate of a run, else "".

    Call before `prepare_directory`, which writes the new settings.
    """
    if config.train.schedule not in ENDING_SCHEDULES or not (out / CONFIG).exists():
        return ""
    before, now = load(out / CONFIG).train.max_steps, config.train.max_steps
    if before == now or isinstance(before, str) or isinstance(now, str):
        return ""
    return f"the learning rate now ends at step {now:,} instead of {before:,}"


def changed_intervals(config: Config, out: Path) -> str:
    """A message if a run now validates or saves checkpoints at other intervals, else "".

    Call before `prepare_directory`, which writes the new settings.
    """
    if not (out / CONFIG).exists():
        return ""
    before, now = (Intervals.of(each.train) for each in (load(out / CONFIG), config))
    changes = [
        f"{name} are now every {counted(new, 'step')}, before every {old:,} (train.{setting})"
        for name, setting, old, new in (
            ("checkpoints", "checkpoint_every", before.checkpoint, now.checkpoint),
            ("validations", "validate_every", before.validate, now.validate),
        )
        if old != new
    ]
    return "; ".join(changes)


def changed_search(config: Config, out: Path) -> str:
    """A message if the search settings of an existing model directory change, else "".

    Call before `prepare_directory`, which writes the new settings.
    """
    if not (out / CONFIG).exists():
        return ""
    before, now = flatten(load(out / CONFIG)), flatten(config)
    changes = [
        f"{key} was {as_in_file(before[key])}, is {as_in_file(now[key])}"
        for key in now
        if key.startswith("search.") and before[key] != now[key]
    ]
    if not changes:
        return ""
    return f"`{out}` now translates with other settings: {'; '.join(changes)}"


def changed_validation(config: Config, corpus: Corpus, out: Path) -> str:
    """A message if validations of a run now translate another number of pairs, else "".

    Call before `prepare_directory`, which writes the new settings. Without BLEU, before or now,
    there is nothing to compare.
    """
    if corpus.valid_text is None or not (out / CONFIG).exists():
        return ""
    pairs = len(corpus.valid_text[0])
    before, now = (
        min(each.train.validation_sentences, pairs) for each in (load(out / CONFIG), config)
    )
    if before == now or not before or not now:
        return ""
    return (
        f"BLEU is now of {counted(now, 'validation pair')}, before of {before:,} "
        "(train.validation_sentences): it is not comparable with that of earlier validations, so "
        "perplexity decides between these and new weights"
    )
