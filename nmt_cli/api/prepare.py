"""prepare(): makes a corpus for training from parallel text, as `nmt prepare` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.api.arguments import (
    PathLike,
    optional_path,
    path_text,
    require_functions,
    resolve_arguments,
)
from nmt_cli.config.python_spelling import in_python, python_errors

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config, ResolvedConfig
    from nmt_cli.data.cleaning.clean import Progress
    from nmt_cli.data.preparation.passes import PreparedCorpus

_PAIRS = 'a list of pairs of files, such as [("train.en", "train.de")]'
_PAIR = 'a pair of files, such as ("valid.en", "valid.de")'
_OPTIONS = (
    "train", "valid", "test", "valid_split", "test_split", "vocab_size", "subwords_from", "workers",
    "force", "out", "dropped", "repaired", "train_tsv", "src_lang", "tgt_lang", "preset",
    "settings",
)  # fmt: skip


def prepare(
    train: Sequence[tuple[PathLike, PathLike]] = (),
    valid: tuple[PathLike, PathLike] | None = None, *, train_tsv: Sequence[PathLike] = (),
    test: tuple[PathLike, PathLike] | None = None, valid_split: int | None = None,
    test_split: int | None = None, src_lang: str | None = None, tgt_lang: str | None = None,
    subwords_from: PathLike | None = None, out: PathLike | None = None, preset: str | None = None,
    vocab_size: int | str | None = None, settings: Mapping[str, object] | None = None,
    config: PathLike | None = None, dropped: PathLike | None = None,
    repaired: PathLike | None = None, workers: int = 0, force: bool = False,
    on_progress: Callable[[str, int, int | None], None] | None = None,
) -> PreparedCorpus:  # fmt: skip
    """Clean parallel text, learn subwords, and write the corpus that `train` reads.

    A corpus that was prepared from the same files and settings is kept as it is. The function
    prints nothing: warnings are in the `notes` of the result.

    Args:
        train: pairs of training files, source and target; plain, gz, xz, zstd or bz2.
        valid: the two validation files.
        test: the two test files, whose sentences are counted in the training text.
        train_tsv: training files that have source and target in one line, separated by a tab.
        valid_split: take this many random training pairs for validation, instead of `valid`.
        test_split: take this many random training pairs for testing; the result names their files.
        src_lang: code of the source language, such as "en".
        tgt_lang: code of the target language, such as "de".
        out: the directory to write; "corpus" by default.
        preset: the preset of the model, which sets the vocabulary size; "base" by default.
        vocab_size: the number of subwords, or "auto" to choose it from the number of words.
        subwords_from: a model directory or corpus whose vocabulary is used, not a new one.
        settings: any other setting by its dotted key, such as {"data.clean": "strict"}.
        config: a project file (nmt.toml), whose values the other arguments override. Without it,
            no project file and no environment variable is read.
        dropped: write the pairs that are dropped to this TSV file.
        repaired: write the pairs that repairs changed to this TSV file, before and after.
        workers: number of processes; 0 for one per core. The corpus does not depend on it.
        force: replace an existing corpus, and lists of dropped and repaired pairs that nmt wrote.
        on_progress: called with the name of a stage, the pairs done, and all pairs or None.

    Returns:
        What was read, kept and found: the numbers that `nmt prepare --json` writes.

    Raises:
        TypeError: an argument is of a wrong type.
        NmtError: NoInputError where a file is missing, CannotCreateError where `out` exists and is
            other, TryAgainError while it is in use, DataError for text, ConfigError for a setting.
    """
    require_functions(on_progress=on_progress)
    with python_errors(_OPTIONS):
        values = {
            **_given_files(train, train_tsv, valid, test), "train.preset": preset,
            "paths.corpus": optional_path("out", out),
            "data.valid_split": valid_split, "data.test_split": test_split,
            "data.vocab_size": vocab_size, "languages.src": src_lang, "languages.tgt": tgt_lang,
            "data.subwords_from": optional_path("subwords_from", subwords_from),
        }  # fmt: skip
        resolved = resolve_arguments("prepare", values, settings, config)
        return _prepare(
            resolved, force=force, workers=_worker_count(workers), progress=on_progress,
            dropped=optional_path("dropped", dropped), repaired=optional_path("repaired", repaired),
        )  # fmt: skip


def _prepare(
    resolved: ResolvedConfig, *, force: bool, workers: int, progress: Progress | None,
    dropped: str | None, repaired: str | None,
) -> PreparedCorpus:  # fmt: skip
    """Prepare a corpus, with all warnings of the command among the notes of the result."""
    from nmt_cli.data.preparation.existing_subwords import with_existing_subwords

    config = with_existing_subwords(resolved)
    notes: list[str] = []
    prepared = prepare_corpus(
        config, resolved.origins, force=force, workers=workers,
        dropped=None if dropped is None else Path(dropped),
        repaired=None if repaired is None else Path(repaired),
        progress=progress, warn=notes.append,
    )  # fmt: skip
    notes += [*language_notes(config), *prepared.notes]
    notes += [
        f"`{listed}` was not written: the corpus was there already; use force=True"
        for listed in (dropped, repaired)
        if prepared.reused and listed is not None
    ]
    if not prepared.valid:
        from nmt_cli.data.preparation.split_sizes import no_validation_note

        notes.append(no_validation_note(prepared.kept, "`valid`", "`valid_split`="))
    return replace(
        prepared,
        notes=tuple(in_python(note, _OPTIONS) for note in notes),
        remarks=tuple(in_python(remark, _OPTIONS) for remark in prepared.remarks),
    )


def file_settings(
    train: Sequence[Sequence[str]],
    train_tsv: Sequence[str],
    valid: Sequence[str] | None,
    test: Sequence[str] | None,
) -> dict[str, object]:
    """The dotted keys of the files that the command and the function are given."""
    files = [*(list(pair) for pair in train), *([name] for name in train_tsv)]
    held_out = {"data.valid": valid, "data.test": test}
    return {
        "data.train": files or None,
        **{key: list(pair) if pair else None for key, pair in held_out.items()},
    }


def prepare_corpus(
    config: Config,
    origins: Mapping[str, str],
    *,
    force: bool,
    workers: int,
    dropped: Path | None,
    repaired: Path | None,
    progress: Progress | None,
    warn: Callable[[str], None],
) -> PreparedCorpus:
    """Prepare `config.data` into `paths.corpus`.

    origins: where the value of each dotted key comes from.
    warn: called after the checks and before the work if a model was trained on the corpus that is
    replaced.
    Raises UsageError, besides other errors, for the name of a language in place of its code.
    """
    from nmt_cli.config.held_out_text import is_of_project, naming_origins
    from nmt_cli.config.schema import SETTINGS
    from nmt_cli.data.preparation.prepare import prepare as prepare_into

    out = Path(config.paths.corpus)
    options = {key: setting.option for key, setting in SETTINGS.items()}
    with naming_origins(origins, options):
        return prepare_into(
            config, out, force=force, workers=workers, dropped=dropped, repaired=repaired,
            progress=progress, warn=warn,
            project_settings=[key for key, origin in origins.items() if is_of_project(origin)],
        )  # fmt: skip


def language_notes(config: Config) -> list[str]:
    """A note on language codes that were given and are not known, if there are any."""
    from nmt_cli.data.languages.names import unknown_codes_note

    languages = config.languages
    note = (
        "" if languages == type(languages)() else unknown_codes_note(languages.src, languages.tgt)
    )
    return [note] if note else []


def _given_files(
    train: object, train_tsv: object, valid: object, test: object
) -> dict[str, object]:
    """The `file_settings` of the arguments of the function; raises TypeError for a wrong one."""
    held_out = _optional_pair("valid", valid), _optional_pair("test", test)
    return file_settings(_file_pairs(train), _files("train_tsv", train_tsv), *held_out)


def _file_pairs(train: object) -> list[list[str]]:
    if isinstance(train, str | bytes) or not isinstance(train, Sequence):
        raise TypeError(f"train is {_PAIRS}, not {type(train).__name__}")
    expected = _PAIR.replace("valid", "train")
    return [_file_pair("each entry of train", pair, expected) for pair in train]


def _optional_pair(argument: str, pair: object) -> list[str] | None:
    return None if pair is None else _file_pair(argument, pair, _PAIR.replace("valid", argument))


def _file_pair(argument: str, pair: object, expected: str) -> list[str]:
    if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TypeError(f"{argument} is {expected}, not {pair!r}; train_tsv takes TSV files")
    return [path_text(argument, path) for path in pair]


def _files(argument: str, paths: object) -> list[str]:
    if isinstance(paths, str | bytes) or not isinstance(paths, Sequence):
        raise TypeError(f"{argument} is a list of paths, not {type(paths).__name__}")
    return [path_text(argument, path) for path in paths]


def _worker_count(workers: object) -> int:
    if not isinstance(workers, int) or isinstance(workers, bool):
        raise TypeError(f"workers is a whole number, not {type(workers).__name__}")
    if workers < 0:
        from nmt_cli.errors import UsageError

        raise UsageError(f"workers is {workers}, which is below 0", "0 means one per core")
    return workers
