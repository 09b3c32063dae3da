"""Imports Transformers of fairseq: a checkpoint, its dictionaries and a sentencepiece model.

The checkpoint is a pickle: a process of its own reads it, which runs no code of it.
"""

from functools import partial
from pathlib import Path

from nmt_cli.config.schema import Config, SettingsLayer, resolve
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.exchange.formats.fairseq.dictionaries import (
    EOS,
    banned_ids,
    locate_vocabulary,
    make_subwords,
    read_dictionary,
    vocabulary_reasons,
)
from nmt_cli.exchange.formats.fairseq.settings import flat_settings, model_settings, reasons_against
from nmt_cli.exchange.formats.fairseq.weights import (
    WITHOUT_EFFECT,
    embedding_rows,
    foreign_names,
    lacks_last_norm,
    read_state,
    renamed,
)
from nmt_cli.exchange.importer import ForeignModel, ImportOptions
from nmt_cli.exchange.pickled.reading import ForeignCheckpoint, read_checkpoint
from nmt_cli.exchange.weight_files import weight_shapes

SUFFIX = ".pt"
# The file of a directory that is imported: the first of these that is there.
CHECKPOINTS = ("checkpoint_best.pt", "model.pt", "checkpoint_last.pt")
PARTS = ("model", "args", "cfg")
DICTIONARY = "dict.*.txt"
# What fairseq-generate does without options.
SEARCH = {"beam": 5, "length_penalty": "power", "alpha": 1.0}
NOTE = (
    "The beam size 5 and the length penalty (the log-probability is divided by the length) are "
    "those of fairseq-generate. fairseq may write `<unk>`, and nmt never does."
)


class FairseqImporter:
    """The format `--from fairseq`."""

    title = "fairseq"
    # No version of fairseq can be installed for the Python of nmt.
    libraries = ()
    extra = ""

    def matches(self, path: Path) -> bool:
        """Whether `path` is a checkpoint beside dictionaries, or a directory of both."""
        folder = path if path.is_dir() else path.parent
        has_dictionary = any(folder.glob(DICTIONARY))
        if path.is_dir():
            return has_dictionary and any(folder.glob(f"*{SUFFIX}"))
        return has_dictionary and path.suffix == SUFFIX

    def read(self, path: Path, options: ImportOptions) -> ForeignModel:
        """Read a checkpoint, its dictionaries and the sentencepiece model."""
        file = _checkpoint_file(path)
        checkpoint = read_checkpoint(file, PARTS)
        try:
            return _read(file, checkpoint, options)
        except ConfigError as error:
            raise ConfigError(
                f"`{path}` cannot be imported: {error.message}", error.hint
            ) from error
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise DataError(
                f"a setting of `{file}` has a value of a wrong type: {error}", "copy it again"
            ) from error

    def open(self, path: Path, options: ImportOptions) -> None:
        """Nothing: there is no library to compare with."""


IMPORTER = FairseqImporter()


def _checkpoint_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    files = [path / name for name in CHECKPOINTS if (path / name).is_file()]
    if not files:
        files = sorted(path.glob(f"*{SUFFIX}"))
        if len(files) != 1:
            raise NoInputError(
                f"`{path}` has {len(files)} checkpoints, and none is named `{CHECKPOINTS[0]}`",
                "name the checkpoint itself",
            )
    return files[0]


def _read(file: Path, checkpoint: ForeignCheckpoint, options: ImportOptions) -> ForeignModel:
    settings = flat_settings(checkpoint.values)
    tensors = renamed(checkpoint.part("model"))
    languages = tuple(
        given or settings.get(f"{side}_lang")
        for side, given in (("source", options.src_lang), ("target", options.tgt_lang))
    )
    reasons = reasons_against(settings)
    if settings["encoder_normalize_before"] and lacks_last_norm(tensors):
        reasons.append("it is of an old version of fairseq, without a norm after the last layer")
    reasons += [
        f"it does not say the {side} language: give it with --{name}-lang"
        for side, name, language in zip(
            ("source", "target"), ("src", "tgt"), languages, strict=True
        )
        if not isinstance(language, str) or not language
    ]
    source, target = (str(language) for language in languages)
    if any(Path(language).name != language for language in (source, target)):
        raise DataError(f"the languages of `{file}` are no language codes", "give --src-lang")
    located = locate_vocabulary(file.parent, (source, target), options)
    try:
        source_ids, target_ids = (read_dictionary(name) for name in located.dictionaries)
        reasons += vocabulary_reasons((source_ids, target_ids), located.segmenters)
    except NmtError:
        # Without the languages the names of the dictionaries are not known.
        if not reasons:
            raise
    if reasons:
        raise ConfigError("; ".join(reasons))
    rows = embedding_rows(tensors)
    subwords = make_subwords((source_ids, target_ids), located.segmenters, rows)
    model = {
        **model_settings(settings),
        **{f"{name}_id": token for name, token in subwords.special._asdict().items()},
        "src_vocab_size": subwords.src_size,
        "tgt_vocab_size": subwords.tgt_size,
        "start_id": EOS,
        "banned_ids": banned_ids(subwords, target_ids),
    }
    values: dict[str, object] = {
        "languages.src": source,
        "languages.tgt": target,
        **{f"model.{name}": value for name, value in model.items()},
        **{f"search.{name}": value for name, value in SEARCH.items()},
        "data.subwords": subwords.kind,
        "data.joint": subwords.joint,
    }
    config: Config = resolve([SettingsLayer(str(file), values)]).config
    named = partial(foreign_names, ties=config.model.tie_embeddings)
    state = read_state(tensors, weight_shapes(config.model, len(tensors)), named, WITHOUT_EFFECT)
    read = (file, *dict.fromkeys(located.dictionaries), *dict.fromkeys(located.segmenters))
    return ForeignModel(config, subwords, state, (NOTE,), read)
