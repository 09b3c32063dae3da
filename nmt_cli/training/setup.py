"""Before the first step: complete the settings, and create or check the model directory."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from nmt_cli.config.automatic import training_steps
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import (
    Config,
    PathsConfig,
    dump,
    flatten,
    load,
    of_preset,
    with_values,
)
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.text_statistics import TEXT, TextStatistics
from nmt_cli.data.preparation.options import file_options, options_for
from nmt_cli.errors import CannotCreateError, ConfigError, DataError
from nmt_cli.model.kinds import count_parameters
from nmt_cli.model_dir import SUBWORDS, read_metadata, save_model
from nmt_cli.storage import files, locks, manifest
from nmt_cli.storage.model_check import CONFIG, WEIGHTS, is_model_directory
from nmt_cli.storage.output_directory import CHECKPOINTS, DirectoryKind, kind_of, require_apart
from nmt_cli.training.changed_settings import as_in_file
from nmt_cli.training.learned_positions import require_positions
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.starting_model import require_same_subwords
from nmt_cli.training.state import TrainState

# What may change when a run is continued; everything else makes it another run. The vocabulary and
# the weights that a run began with are compared by their hashes, not by their paths.
MAY_CHANGE = frozenset(
    {
        "data.subwords_from",
        "train.init_from",
        "train.preset",
        "train.micro_batch_tokens",
        "train.parallel_shards",
        "train.compile",
        "train.max_steps",
        "train.max_epochs",
        "train.max_hours",
        "train.patience",
        "train.log_every",
        "train.checkpoint_every",
        "train.save_minutes",
        "train.validate_every",
        "train.keep_last",
        "train.keep_best",
        "train.validation_sentences",
        "train.compare_at_end",
        "train.rank_timeout",
        "train.max_restarts",
        "train.on_divergence",
    }
)
# Those of them that a hint to resume a run names, too, if they differ.
NAMED_WITH_OTHERS = (
    "train.checkpoint_every", "train.validate_every", "train.keep_last", "train.keep_best",
    "train.validation_sentences", "train.patience",
)  # fmt: skip
LOG_BYTES = 1_000_000
# Settings that the corpus determines.
CORPUS_PREFIXES = ("data.", "languages.", "model.src_vocab_size", "model.tgt_vocab_size")
# Settings that make another run if they change, apart from MAY_CHANGE.
RUN_PREFIXES = ("model.", "data.", "languages.", "train.")


def complete(config: Config, corpus: Corpus) -> Config:
    """`config` with what the corpus determines: vocabulary sizes, and the steps if `auto`.

    Raises ConfigError where vocabulary sizes, subwords or learned positions do not fit the corpus.
    """
    sizes = {
        "model.src_vocab_size": corpus.subwords.src_size,
        "model.tgt_vocab_size": corpus.subwords.tgt_size,
    }
    given = flatten(config)
    for key, size in sizes.items():
        if given[key] not in ("auto", size):
            raise ConfigError(f"{key}={given[key]}, but the corpus has {size}", "leave it at auto")
    if config.model.tie_embeddings == "all" and not corpus.subwords.same_ids:
        raise ConfigError(
            "model.tie_embeddings=all needs one vocabulary, but the corpus has two",
            "`--set model.tie_embeddings=target`, or prepare again with a joint vocabulary",
        )
    if config.train.subword_dropout and corpus.subwords.kind != "bpe":
        raise ConfigError(
            f"train.subword_dropout leaves out merges of bpe, but the corpus has subwords of the "
            f"kind {corpus.subwords.kind}",
            "leave it at 0, or prepare the corpus again with `--subwords bpe`",
        )
    require_positions(config, corpus)
    # The corpus determines how its text was prepared.
    data = {key: value for key, value in flatten(corpus.config).items() if key.startswith("data.")}
    languages = {
        key: value for key, value in flatten(corpus.config).items() if key.startswith("languages.")
    }
    steps = {"train.max_steps": config.train.max_steps}
    if config.train.max_steps == "auto":
        steps["train.max_steps"] = training_steps(int(corpus.train.tgt_lengths.sum()))
    return with_values(config, {**sizes, **data, **languages, **steps})


def require_start(config: Config, corpus: Corpus, out: Path) -> None:
    """Raise an error if a new run in `out` cannot begin with the weights of `train.init_from`.

    A run that has begun with them needs the model no more. Raises CannotCreateError if `out` is the
    model, or within it, and ConfigError if the corpus has another vocabulary.
    """
    model = Path(config.train.init_from)
    if not config.train.init_from or _begun_with(out, config.train.init_sha256):
        return
    require_apart(out, model)
    require_same_subwords(corpus.path, model)


def _begun_with(out: Path, sha256: str) -> bool:
    return is_model_directory(out) and sha256 == load(out / CONFIG).train.init_sha256 != ""


def prepare_directory(config: Config, corpus: Corpus, out: Path) -> None:
    """Create the model directory of a new run; for a resumed one, check that it is the same run.

    Raises CannotCreateError or ConfigError.
    """
    if is_new_run(config, corpus, out):
        files.make_directory(out)
        text = _text_statistics(config, corpus)
        save_model(out, {}, config, corpus.subwords, {"step": "0"}, text=text)
    else:
        manifest.add_to_manifest(out, CONFIG, dump(config).encode())
    # By this folder a run is known from a model, also while it has no log and no checkpoint yet.
    files.make_directory(out / CHECKPOINTS)


def is_new_run(config: Config, corpus: Corpus, out: Path) -> bool:
    """Whether a run begins in the model directory; False if it is resumed there.

    Raises CannotCreateError or ConfigError if another run, or something else, is there.
    """
    refuse_foreign(config, corpus, out)
    if not out.exists() or _is_unused(config, corpus, out):
        return True
    earlier, now = flatten(load(out / CONFIG)), flatten(config)
    differing = [
        key
        for key in now
        if key.startswith(RUN_PREFIXES) and key not in MAY_CHANGE and earlier[key] != now[key]
    ]
    if differing:
        others = [key for key in NAMED_WITH_OTHERS if earlier[key] != now[key]]
        shown = [
            _other_start(config, was_random=not earlier[key]) if key == "train.init_sha256"
            else f"{key} was {as_in_file(earlier[key])}, now {as_in_file(now[key])}"
            for key in differing
        ]  # fmt: skip
        raise ConfigError(
            f"`{out}` holds a run with other settings: {'; '.join(shown)}",
            _other_corpus_hint(earlier, now, [*differing, *others])
            or _resume_hint(
                {key: earlier[key] for key in differing},
                {key: earlier[key] for key in others},
                _other_preset(earlier, now),
                str(now["paths.corpus"]),
                _chosen_for_corpus(earlier, differing),
            ),
        )
    return False


def _other_preset(earlier: Mapping[str, object], now: Mapping[str, object]) -> str:
    """The preset that a run began with if the settings now are of another one, else ""."""
    preset = str(earlier["train.preset"])
    return preset if preset in PRESETS and preset != now["train.preset"] else ""


def _chosen_for_corpus(
    earlier: Mapping[str, object], differing: Sequence[str]
) -> dict[str, object]:
    """The settings of a run's corpus that its preset does not have, without those that differ."""
    usual = flatten(of_preset(str(earlier["train.preset"])))
    return {
        key: value
        for key, value in earlier.items()
        if key.startswith("data.") and key not in {*MAY_CHANGE, *differing} and value != usual[key]
    }


def _other_start(config: Config, *, was_random: bool) -> str:
    """How the weights that a run began with differ from those of `train.init_from`."""
    source = config.train.init_from
    if not source:
        return "it began with the weights of a model, now train.init_from is not set"
    began = "random weights, not with those" if was_random else "other weights than those"
    return f"it began with {began} that `{source}` has now"


def _other_corpus_hint(
    earlier: Mapping[str, object], now: Mapping[str, object], differing: Sequence[str]
) -> str:
    """The hint for a run that began with another corpus, which is still there; else "".

    differing: all settings that differ, also those that are not of the corpus.
    """
    began = str(earlier["paths.corpus"])
    if began == now["paths.corpus"] or not Path(began).is_dir():
        return ""
    words = [f"--corpus {shlex.quote(began)}"]
    if preset := _other_preset(earlier, now):
        words.append(f"--preset {preset}")
    elif "train.init_sha256" not in differing:
        others = [key for key in differing if not key.startswith(CORPUS_PREFIXES)]
        words += options_for({key: earlier[key] for key in others})
    return (
        f"it began with the corpus `{began}`: to resume it, add `{' '.join(words)}`; for a new "
        "run, use another --out"
    )


def _resume_hint(
    earlier: Mapping[str, object],
    others: Mapping[str, object],
    preset: str,
    corpus: str,
    chosen: Mapping[str, object],
) -> str:
    """The hint for a run that began with other values of some settings: how to restore them.

    others: values that differ, too, but may change; preset: that of the run if another one is used
    now, else "". Settings of the corpus, the directory `corpus`, are restored with `nmt prepare`,
    not with `nmt train`; chosen: the others that were chosen for it, which must be given again.
    """
    if "train.init_sha256" in earlier:
        return "leave out --init-from to resume the run, or use another --out for a new one"
    corpus_keys = [key for key in earlier if key.startswith(CORPUS_PREFIXES)]
    values = [earlier[key] for key in corpus_keys]
    if preset and not corpus_keys:
        return (
            f"to resume it, add `--preset {preset}`, and the other options that it began with; "
            "for a new run, use another --out"
        )
    if not corpus_keys:
        options = " ".join(options_for({**earlier, **others}))
        return (
            f"to resume it with the values that it began with, give `{options}`; for a new run, "
            "use another --out"
        )
    if any(isinstance(value, tuple) for value in values):
        return "use these settings to resume it, or another --out for a new run"
    restored = {key: earlier[key] for key in corpus_keys if not key.startswith("model.")}
    words = [*file_options(chosen), *options_for({**restored, **chosen})]
    if corpus != PathsConfig().corpus:
        words += ["--out", shlex.quote(corpus)]
    again = "use the other settings again, and " if len(corpus_keys) < len(earlier) else ""
    return (
        f"to resume it, {again}prepare the corpus as it was: "
        f"`{' '.join(['nmt prepare --force', *words])}`; for a new run, use another --out"
    )


def _text_statistics(config: Config, corpus: Corpus) -> TextStatistics | None:
    """The statistics of the corpus, joined to those of the model that the run begins with."""
    text, model = corpus.text, Path(config.train.init_from)
    if text is None or not config.train.init_from or not is_model_directory(model):
        return text
    earlier = TextStatistics.load(model)
    return text if earlier is None else text.joined_to(earlier)


def refuse_foreign(config: Config, corpus: Corpus, out: Path) -> None:
    """Raises an error where `out` holds something that training would replace or cannot continue.

    CannotCreateError where it is not a model directory or no run, DataError where it is a run whose
    model was deleted.
    """
    if not os.path.lexists(out):
        return
    if is_model_directory(out) and manifest.is_own(out):
        _refuse_finished(out)
        return
    if not (out.is_dir() and _is_unused(config, corpus, out)):
        raise CannotCreateError(
            f"`{out}` exists and is not a model directory", "choose another --out"
        )
    _refuse_other_subwords(out, corpus)


def _refuse_finished(out: Path) -> None:
    """Raises CannotCreateError where `out` is a model that training would replace.

    That is one without a run, or of a run that has lost its checkpoints. A run has the folder of
    its checkpoints from the beginning, and checkpoints before it publishes weights that it trained.
    Raises DataError where it is a run whose model was deleted.
    """
    if WEIGHTS not in manifest.read_manifest(out):
        return
    kind, step = kind_of(out), read_metadata(out).get("step", "0")
    if kind is not DirectoryKind.RUN:
        what = f"is {kind.value}, not a training run that can be resumed,"
    elif step != "0" and not Checkpoints(out / CHECKPOINTS, 1, 0).exist():
        what = f"holds the model of step {step} of a training run whose checkpoints are gone,"
    elif not (out / WEIGHTS).exists():
        raise DataError(
            f"`{out / WEIGHTS}` is missing",
            f"`nmt average {shlex.quote(str(out))} --out MODEL` makes a model of its checkpoints",
        )
    else:
        return
    raise CannotCreateError(
        f"`{out}` {what} and training would replace it",
        f"choose another --out; to begin with its weights, add --init-from {shlex.quote(str(out))}",
    )


def require_space(config: Config, out: Path) -> None:
    """Raises CannotCreateError where the disk is too full for a run's first checkpoints.

    Needed are four checkpoints (two of the interval, the newest and the next one), the model and
    the one that replaces it. Files that exist already are subtracted.
    """
    weights = 4 * count_parameters(config.model)
    # Both moments, the weights, their moving average.
    checkpoint = (4 if config.train.ema else 3) * weights
    present = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    needed = max(checkpoint + weights, 4 * checkpoint + 2 * weights - present) + LOG_BYTES
    directory = next(path for path in (out, *out.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise CannotCreateError(
            f"`{out}`: {free / 1e6:,.1f} MB are free, but the model and four checkpoints of it "
            f"take {needed / 1e6:,.1f} MB more",
            "free some space, or choose another --out",
        )


def _is_unused(config: Config, corpus: Corpus, out: Path) -> bool:
    """Whether `out` is empty, except for what an interrupted first save may have left."""
    if (out / manifest.MANIFEST).exists() and not manifest.is_own(out):
        return False
    leftovers = {locks.LOCK, manifest.MANIFEST, SUBWORDS}
    text = _text_statistics(config, corpus)
    if text is not None and _holds(out / TEXT, text):
        leftovers.add(TEXT)
    return all(
        path.name in leftovers or path.name.startswith(files.TEMPORARY_PREFIX)
        for path in out.iterdir()
    )


def _holds(path: Path, text: TextStatistics) -> bool:
    return path.is_file() and path.read_bytes() == text.to_bytes()


def _refuse_other_subwords(out: Path, corpus: Corpus) -> None:
    """Raises CannotCreateError where `out` has subwords that are not from an interrupted save.

    An interrupted save lists its files in the manifest, all but the last one written.
    """
    if (out / manifest.MANIFEST).exists():
        return
    own = dict(corpus.subwords.contents())
    for path in sorted((out / SUBWORDS).glob("*")):
        is_temporary = path.name.startswith(files.TEMPORARY_PREFIX)
        if not is_temporary and not (path.is_file() and path.read_bytes() == own.get(path.name)):
            raise CannotCreateError(
                f"`{path}` exists and does not belong to this model", "choose another --out"
            )


def check_digest(state: TrainState, corpus: Corpus) -> None:
    """Raises ConfigError where the corpus is not the one that the run began with."""
    if state.digest != corpus.digest:
        raise ConfigError(
            "the corpus differs from the one this run began with",
            "prepare it again from the same files and settings, or train into another --out",
        )
