"""The records of log.jsonl: the numbers and texts of each, and what a whole log says of a run."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import NmtError, NoInputError
from nmt_cli.plurals import counted
from nmt_cli.storage.files import read_bytes
from nmt_cli.storage.locks import lock_holder
from nmt_cli.storage.model_check import CONFIG, WEIGHTS, is_model_directory
from nmt_cli.storage.nearby_models import similar_model
from nmt_cli.storage.output_directory import CHECKPOINTS, LOG

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config

# How many levels deep folders are searched that may be meant by a misspelt name.
LEVELS = 4
# Settings that name files, and those of which the kind and number of subwords tell.
NOT_COMPARED = frozenset((
    "data.train", "data.valid", "data.test", "train.init_from", "train.init_sha256",
    "model.src_vocab_size", "model.tgt_vocab_size",
))  # fmt: skip
# How many bytes at the end of a log are read for the records of the last steps.
TAIL_BYTES = 1 << 17
# Runs that differ in more settings than this are no comparison of them.
MOST_DIFFERING = 8
NOT_TRACKED = frozenset({"schema", "step", "eta_seconds"})


def values_of(record: Mapping[str, Any]) -> dict[str, float]:
    """The finite numbers of a record, by names such as `train/loss` and `validation/bleu`."""
    named = {f"train/{key}": value for key, value in record.items() if key not in NOT_TRACKED}
    validation = record.get("validation")
    if isinstance(validation, Mapping):
        named.update({f"validation/{key}": value for key, value in validation.items()})
    return {
        name: float(value)
        for name, value in named.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


def texts_of(record: Mapping[str, Any]) -> dict[str, str]:
    """The note and the sample translations of a record."""
    texts = {"note": str(record["note"])} if record.get("note") else {}
    validation = record.get("validation")
    samples = validation.get("samples") if isinstance(validation, Mapping) else None
    if samples:
        texts["samples"] = "\n\n".join(
            f"source:    {source}\nreference: {reference}\noutput:    {output}"
            for source, reference, output in samples
        )
    return texts


def read_log(model: Path) -> list[dict[str, Any]]:
    """The records of a run; a line that a crash left incomplete is skipped.

    Raises NoInputError if the directory has no log: the run may not have reported yet.
    """
    return _records(read_bytes(model / LOG, "log"))


def last_state(model: Path) -> tuple[int, str]:
    """The last step of the run in `model` and its state, as in RunSummary, from the end of its log.

    Raises OSError if the log cannot be read.
    """
    with (model / LOG).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return _end_of_run(_records(file.read()))


def _records(data: bytes) -> list[dict[str, Any]]:
    records = []
    for line in data.decode("utf-8", "replace").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("step"), int):
            records.append(record)
    return records


def find_runs(folders: Sequence[Path]) -> list[Path]:
    """The directories with a run, sorted: the folders themselves and what is below them.

    Raises NoInputError for a folder that does not exist, and if there is no run at all.
    """
    runs: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            similar = similar_model(folder, lambda path: any(_runs_in(path, LEVELS)))
            hint = f"did you mean `{similar}`?" if similar else "name folders with training runs"
            raise NoInputError(f"there is no folder `{folder}`", hint)
        runs.update(dict.fromkeys(_runs_in(folder)))
    if not runs:
        names = ", ".join(f"`{folder}`" for folder in folders)
        raise NoInputError(f"no {LOG} in {names}", "`nmt train` writes one for each run")
    return sorted(runs)


def _runs_in(folder: Path, levels: int | None = None) -> Iterator[Path]:
    """The directories with a run: `folder` itself and what is below it, `levels` in all."""
    level, seen = [folder], set[Path]()
    while level and levels != 0:
        yield from (path for path in level if _has_run(path))
        # Links may lead back.
        seen.update(path.resolve() for path in level)
        below = (child for path in level for child in _folders(path))
        level = [child for child in below if child.resolve() not in seen]
        levels = None if levels is None else levels - 1


def _has_run(directory: Path) -> bool:
    """Whether there is a log in `directory`, or a run that has begun and has not reported yet."""
    return (directory / LOG).is_file() or (
        is_model_directory(directory)
        and (directory / CHECKPOINTS).is_dir()
        # A trained model whose log was deleted is none.
        and not (directory / WEIGHTS).exists()
    )


def unreported_note(model: Path) -> str:
    """A note that the run in `model` has no report in its log yet, and whether it still goes on."""
    if lock_holder(model):
        return f"{model} is in training, and has no report yet"
    return (
        f"the training of {model} stopped before its first report; the same `nmt train` command "
        "goes on with it"
    )


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(
            child
            for child in folder.iterdir()
            if child.is_dir() and not child.name.startswith(".") and child.name != CHECKPOINTS
        )
    except OSError:
        return []


# The kinds of published weights, in words.
PUBLISHED = {
    "current": "weights of one step",
    "mean": "average of checkpoints",
    "ema": "moving average",
}


@dataclass(frozen=True)
class RunSummary:
    """What the log of a run says; None where it does not say it.

    step: the last one; best_step, bleu, perplexity: of the validation that chose the weights;
    tokens_per_second: the mean of the records; hours: of the whole run with validations, which
    `--max-hours` limits; step_hours: of steps alone; state: finished with the reason, diverged, or
    `at step N`; validation_sentences: those of BLEU, in older logs as configured; validation_text:
    the beginning of its SHA-256, None in older logs; corpus: its path as configured; init_from: the
    model that training began with, "" for random weights; subwords: their kind and number on the
    target side, "" if unknown; final_bleu: that of the published weights on the final_sentences
    pairs of the comparison at the end, if there was one; weights: what was published, `current`,
    `mean` of checkpoints or `ema`, "" while training; threads: those that the run began with, on a
    CPU; settings: those of text, model and training, but for names of files, empty if unknown.
    """

    run: str
    preset: str
    step: int
    best_step: int | None
    bleu: float | None
    perplexity: float | None
    tokens_per_second: float | None
    hours: float | None
    step_hours: float | None
    flops: float | None
    state: str
    validation_sentences: int | None
    validation_text: str | None
    corpus: str
    init_from: str
    subwords: str = ""
    final_bleu: float | None = None
    final_sentences: int | None = None
    weights: str = ""
    threads: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


def summarise(model: Path, records: Sequence[Mapping[str, Any]]) -> RunSummary:
    """Summarise the records of the run in `model`."""
    last: Mapping[str, Any] = records[-1] if records else {}
    validated = [record for record in records if isinstance(record.get("validation"), Mapping)]
    best = _best(validated, last)
    validation = best.get("validation", {})
    published = last.get("published") or {}
    # The average that a comparison at the end chose has no validation record of its own.
    scores = validation if published.get("perplexity") is None else published
    speeds = [record["tokens_per_second"] for record in records if "tokens_per_second" in record]
    tokens = sum(record.get("tokens", 0) for record in records if "tokens_per_second" in record)
    # The speed of each record counts by the time that its tokens took.
    seconds = sum(
        record["tokens"] / record["tokens_per_second"]
        for record in records
        if record.get("tokens_per_second") and record.get("tokens")
    )
    config = _config(model)
    bleu = scores.get("bleu")
    configured = config.train.validation_sentences if config else None
    step, state = _end_of_run(records)
    return RunSummary(
        run=str(model),
        preset=config.train.preset if config else "",
        step=step,
        best_step=best.get("step"),
        bleu=bleu,
        perplexity=scores.get("perplexity"),
        tokens_per_second=tokens / seconds if speeds and seconds else None,
        hours=_hours(last, "elapsed_seconds"),
        step_hours=_hours(last, "seconds"),
        flops=last.get("flops"),
        state=state,
        validation_sentences=(None if bleu is None else validation.get("sentences") or configured),
        validation_text=validation.get("text") or None,
        corpus=config.paths.corpus if config else "",
        init_from=config.train.init_from if config else "",
        subwords=_subwords(config) if config else "",
        final_bleu=published.get("final_bleu"),
        final_sentences=published.get("final_sentences"),
        weights=published.get("weights", ""),
        threads=next((record["threads"] for record in records if "threads" in record), None),
        settings=_settings(config, step) if config else {},
    )


def _settings(config: "Config", step: int) -> dict[str, object]:
    """The settings by which runs are compared; step: the last one.

    A run that went on for more steps keeps the settings of the weights that it published before.
    """
    from nmt_cli.config.schema import flatten

    settings = {
        key: value
        for key, value in flatten(config).items()
        if key.startswith(("data.", "model.", "train.")) and key not in NOT_COMPARED
    }
    planned = config.train.max_steps
    if isinstance(planned, int) and step > planned:
        settings["train.max_steps"] = step
    return settings


def _subwords(config: "Config") -> str:
    size = config.model.tgt_vocab_size
    return "" if size == "auto" else f"{config.data.subwords} {size}"


def differences(summaries: Sequence[RunSummary]) -> list[str]:
    """Why the scores of some runs are not comparable, and what they were trained with.

    Those of one preset differ in few settings, which are named, and some began with a model.
    """
    notes = []
    validated = [summary for summary in summaries if summary.perplexity is not None]
    if all(summary.validation_text for summary in validated):
        texts = [(summary.validation_text or "", summary) for summary in validated]
    else:
        texts = [(f"corpus `{summary.corpus}`", summary) for summary in validated if summary.corpus]
    if named := _grouped(texts):
        notes.append(f"scores of different validation texts are not comparable: {named}")
    numbers = [
        (counted(summary.validation_sentences, "sentence"), summary)
        for summary in validated
        if summary.validation_sentences
    ]
    if named := _grouped(numbers):
        notes.append(f"BLEU of different numbers of sentences is not comparable: {named}")
    subwords = [(summary.subwords, summary) for summary in validated if summary.subwords]
    if named := _grouped(subwords):
        notes.append(f"perplexities of different subwords are not comparable: {named}")
    weights = [
        (PUBLISHED[summary.weights], summary)
        for summary in validated
        if summary.weights in PUBLISHED
    ]
    if named := _grouped(weights):
        notes.append(
            f"scores are those of the published weights, which are of different kinds: {named}; "
            "with `--set train.keep_last=1`, a run averages no checkpoints"
        )
    for preset in dict.fromkeys(summary.preset for summary in summaries):
        notes += _differing([summary for summary in summaries if summary.preset == preset])
    threads = [
        (counted(summary.threads, "thread"), summary) for summary in summaries if summary.threads
    ]
    if named := _grouped(threads):
        notes.append(
            "with other numbers of threads, the same settings and seed have other batches and "
            f"rounding: {named}"
        )
    return notes + [
        f"{summary.run} began with the weights of `{summary.init_from}`"
        for summary in summaries
        if summary.init_from
    ]


def _differing(summaries: Sequence[RunSummary]) -> list[str]:
    """The settings in which runs differ, each with its values; none if there are many."""
    known = [summary for summary in summaries if summary.settings]
    notes = []
    for key in sorted({key for summary in known for key in summary.settings}):
        values = [(str(summary.settings.get(key, "")), summary) for summary in known]
        if named := _grouped(values):
            notes.append(f"{key} differs: {named}")
    return notes if len(notes) <= MOST_DIFFERING else []


def _grouped(values: Sequence[tuple[str, RunSummary]]) -> str:
    """Each value with its runs; "" if all runs have the same."""
    runs: dict[str, list[str]] = {}
    for value, summary in values:
        runs.setdefault(value, []).append(summary.run)
    if len(runs) < 2:
        return ""
    return "; ".join(f"{value or 'none'}: {', '.join(names)}" for value, names in runs.items())


def _hours(record: Mapping[str, Any], key: str) -> float | None:
    return record[key] / 3_600 if key in record else None


def _best(validated: Sequence[Mapping[str, Any]], last: Mapping[str, Any]) -> Mapping[str, Any]:
    """The validation that chose the published weights; in logs that do not tell, the best one."""
    chosen = [record for record in validated if record["validation"].get("best")]
    step = (last.get("published") or {}).get("step")
    chosen += [record for record in validated if record.get("step") == step]
    return chosen[-1] if chosen else max(validated, key=_quality, default={})


def _quality(record: Mapping[str, Any]) -> float:
    """Higher is better: BLEU where it was measured, else the negative log-likelihood."""
    validation = record["validation"]
    bleu = validation.get("bleu")
    return float(bleu if bleu is not None else -validation.get("nll", math.inf))


def _is_end(record: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    note = str(record.get("note", ""))
    return note.startswith(("finished", "diverged")) and record.get("step") == last.get("step")


def _end_of_run(records: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """The last step of a run and its state; records: all of them or the last ones."""
    last: Mapping[str, Any] = records[-1] if records else {}
    step = int(last.get("step", 0))
    ended = [str(record["note"]) for record in records if _is_end(record, last)]
    return step, _state(ended[-1]) if ended else f"at step {step:,}"


def _state(note: str) -> str:
    """What a table of runs says of the note with which one ended.

    >>> _state("finished: 300 steps are done; 2 shards did not fit into memory and were split")
    'finished: 300 steps are done'
    >>> _state("diverged: 10 steps in a row gave NaN or infinite values, up to 11")
    'diverged'
    """
    return "diverged" if note.startswith("diverged") else note.partition(";")[0]


def _config(model: Path) -> "Config | None":
    from nmt_cli.config.schema import load

    try:
        return load(model / CONFIG)
    except NmtError:
        return None
