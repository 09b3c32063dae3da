"""`nmt prepare`: turns text files into a corpus of ids, after checking all inputs."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path

from nmt_cli.config import schema as settings
from nmt_cli.config.schema import Config, DataConfig
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.clean import Progress
from nmt_cli.data.cleaning.pair_lists import DROPPED, REPAIRED, require_two_files
from nmt_cli.data.corpus.layout import (
    CONFIG,
    DESCRIPTION,
    FORMAT,
    PROJECT_SETTINGS,
    SUBWORDS,
    check_corpus_files,
    read_description,
)
from nmt_cli.data.corpus.users import refuse_in_use, replacement_warning, users_of
from nmt_cli.data.languages.checks import check_languages
from nmt_cli.data.languages.names import require_codes
from nmt_cli.data.preparation.differences import as_json, setting_change, text_changes
from nmt_cli.data.preparation.encoding_check import require_utf8
from nmt_cli.data.preparation.existing_subwords import ExistingSubwords
from nmt_cli.data.preparation.file_roles import repeated_files
from nmt_cli.data.preparation.length_check import require_equal_lengths
from nmt_cli.data.preparation.options import options_for
from nmt_cli.data.preparation.passes import PreparationRun
from nmt_cli.data.preparation.passes import PreparedCorpus as PreparedCorpus
from nmt_cli.data.preparation.split import changed_test_notes
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.language_hints import hints_for
from nmt_cli.data.text.streams import STDIN
from nmt_cli.errors import (
    CannotCreateError,
    NmtError,
    NoInputError,
    UsageError,
    raise_together,
    refusals,
    replace_hint,
)
from nmt_cli.plurals import counted
from nmt_cli.storage import files
from nmt_cli.storage.files import require_file, sha256_of, write_text
from nmt_cli.storage.output_directory import (
    DirectoryKind,
    new_directory,
    require_apart,
    require_free,
    require_same_kind,
    reserved,
)

OLDER_VERSION_NOTE = (
    "this corpus was prepared by an older version, which cleaned less; the same command "
    "with --force prepares it again"
)


def prepare(
    config: Config,
    out: Path,
    *,
    force: bool = False,
    workers: int = 0,
    dropped: Path | None = None,
    repaired: Path | None = None,
    progress: Progress | None = None,
    project_settings: Collection[str] = (),
    warn: Callable[[str], None] | None = None,
) -> PreparedCorpus:
    """Prepare `config.data` into the new directory `out`.

    workers: processes, 0 for one per usable core; the files are the same for any number of them.
    dropped, repaired: the files for the dropped and for the repaired pairs, as TSV.
    progress: called with the name of a stage, the pairs done, and an estimate of all pairs.
    project_settings: the dotted keys that the project file sets; they are recorded, so that a later
    command notices one that was deleted there.
    warn: called before the work if a model was trained on the corpus that is replaced.
    An `out` that was prepared from the same files and settings is kept as it is, unless `force`.
    Raises UsageError, NoInputError, DataError, CannotCreateError, or TryAgainError if a training
    uses the corpus that would be replaced, or another process writes `out`.
    """
    before_work = _BeforeWork(config, out, force=force, dropped=dropped, repaired=repaired)
    with ExitStack() as stack:
        before_work.check(stack)
        files.remove_abandoned(out)
        if before_work.existing is not None:
            return before_work.existing
        inputs, notes = before_work.inputs, before_work.notes
        warning = replacement_warning(out, Path(config.paths.model)) if force else ""
        if warning and warn is not None:
            warn(warning)
        is_reserved = before_work.is_reserved
        directory = stack.enter_context(
            new_directory(out, DirectoryKind.CORPUS, force=force, is_reserved=is_reserved)
        )
        pool = stack.enter_context(ProcessPool(workers))
        run = PreparationRun(
            config, out, directory, pool, progress or _no_progress, dropped, repaired
        )
        with hints_for(config.languages.src, config.languages.tgt):
            prepared = run.run()
        prepared = replace(prepared, notes=(*notes, *prepared.notes))
        write_text(directory / CONFIG, settings.dump(config))
        document = {
            "format": FORMAT, "train": prepared.kept, "valid": prepared.valid,
            "inputs": inputs, PROJECT_SETTINGS: sorted(project_settings),
            "prepared": prepared.to_json(),
        }  # fmt: skip
        write_text(directory / DESCRIPTION, json.dumps(document, indent=2) + "\n")
        # Not stored: the next call, which keeps this corpus, replaces nothing.
        test_files = [directory / Path(name).name for name in prepared.test_files]
        has_scores = bool(users_of(out, Path(config.paths.model)))
        replaced = changed_test_notes(out, test_files) if has_scores else []
    return replace(prepared, notes=(*replaced, *prepared.notes))


def _no_progress(stage: str, done: int, total: int | None) -> None:
    pass


class _BeforeWork:
    """What is checked before a corpus is prepared, so that one error names all reasons.

    After `check`, existing: the corpus in `out` if it was prepared from the same text and settings;
    inputs: the fingerprint of the text; notes: warnings about it; is_reserved: whether no other
    process can write `out` before the stack is closed.
    """

    def __init__(
        self,
        config: Config,
        out: Path,
        *,
        force: bool,
        dropped: Path | None,
        repaired: Path | None,
    ) -> None:
        self.config = config
        self.out = out
        self.force = force
        self.dropped = dropped
        self.repaired = repaired
        self.existing: PreparedCorpus | None = None
        self.inputs: dict[str, str] | None = None
        self.notes: list[str] = []
        self.is_reserved = False
        # Those of `data.subwords_from`.
        self.subwords: Subwords | None = None

    def check(self, stack: ExitStack) -> None:
        """Raise an error that names everything that must be mended before the work can start.

        stack: what keeps other processes from writing `out` until it is closed.
        """
        config = self.config
        languages = config.languages
        problems = refusals([lambda: require_codes(languages.src, languages.tgt)])
        problems += _wrong_inputs(config)
        has_inputs = not problems
        lists = [self._check_dropped, self._check_repaired, self._check_two_lists]
        problems += refusals(
            [lambda: kinds.check_dropped(config.data), *lists, self._check_subwords]
        )
        wrong_out = refusals([self._check_out]) if has_inputs else []
        problems += wrong_out
        if not problems and self._writes():
            # Reading the text takes long, so that a second process is refused before.
            self.is_reserved = stack.enter_context(reserved(self.out, DirectoryKind.CORPUS))
        if has_inputs and not wrong_out:
            problems += refusals([self._find_existing])
        if self.existing is None and config.data.train:
            problems += refusals([self._check_encoding, self._check_lengths, self._check_languages])
        # This comes last because its exit code means that trying again may help.
        raise_together([*problems, *refusals([self._check_not_in_use])])

    def _check_dropped(self) -> None:
        if self.dropped is not None:
            DROPPED.check_path(self.dropped, _input_files(self.config), force=self.force)

    def _check_repaired(self) -> None:
        if self.repaired is not None:
            REPAIRED.check_path(self.repaired, _input_files(self.config), force=self.force)

    def _check_two_lists(self) -> None:
        require_two_files(self.dropped, self.repaired)

    def _check_subwords(self) -> None:
        if self.config.data.subwords_from:
            source = Path(self.config.data.subwords_from)
            require_apart(self.out, source)
            self.subwords = ExistingSubwords.read(source).subwords

    def _writes(self) -> bool:
        return self.force or not os.path.lexists(self.out)

    def _check_out(self) -> None:
        if self._writes():
            files.require_creatable(self.out)
            require_free(self.out, DirectoryKind.CORPUS, force=self.force)

    def _find_existing(self) -> None:
        self.inputs = fingerprint(self.config)
        if self.out.exists() and not self.force:
            self.existing = _existing_corpus(self.config, self.inputs, self.out, self.subwords)

    def _check_encoding(self) -> None:
        if not self.config.data.strict:
            require_utf8(_input_files(self.config))

    def _check_lengths(self) -> None:
        data = self.config.data
        require_equal_lengths([*data.train, data.valid, data.test])

    def _check_languages(self) -> None:
        self.notes = check_languages(self.config)

    def _check_not_in_use(self) -> None:
        if self.force and self.out.exists():
            refuse_in_use(self.out, Path(self.config.paths.model))


def _wrong_inputs(config: Config) -> list[NmtError]:
    """Everything that is wrong with the settings of the files, and the files that are missing."""
    data = config.data
    if not data.train:
        hint = "use --train SRC TGT, or write them into nmt.toml: nmt init --train SRC TGT"
        return [UsageError("no training files are given", hint, missing="data.train")]
    named = [("data.train", paths) for paths in data.train]
    named += [("data.valid", data.valid), ("data.test", data.test)]
    problems: list[NmtError] = []
    for name, paths in named:
        if (len(paths) > 2 and name != "data.test") or (not paths and name == "data.train"):
            count = f"{name} has {counted(len(paths), 'file')}"
            problems.append(UsageError(count, "name two files, or one TSV file"))
        problems += [problem for path in paths if (problem := _check_file(name, path))]
    held_out = [("data.valid", data.valid), ("data.test", data.test)]
    problems += repeated_files(
        data.train, held_out, "data.train", drop_duplicates=data.drop_duplicates
    )
    if data.valid and data.valid_split:
        problems.append(
            UsageError(
                "data.valid names validation files, and data.valid_split chooses validation pairs",
                "remove one of the two",
            )
        )
    if data.test and data.test_split:
        problems.append(
            UsageError(
                "data.test names test files, and data.test_split chooses test pairs",
                "remove one of the two",
            )
        )
    if sum(path == STDIN for _, paths in named for path in paths) > 1:
        problems.append(UsageError("stdin (`-`) can be read only once", "use files"))
    return problems


def _check_file(name: str, path: str) -> NmtError | None:
    if path == STDIN and name == "data.train":
        return None
    try:
        require_file(Path(path), f"{name} file")
    except NoInputError as error:
        return error
    return None


def _input_files(config: Config) -> list[str]:
    data = config.data
    return [path for paths in (*data.train, data.valid, data.test) for path in paths]


def fingerprint(config: Config) -> dict[str, str] | None:
    """Return the SHA-256 of each input file; None if one of them is a pipe."""
    paths = _input_files(config)
    if not all(Path(path).is_file() for path in paths):
        return None
    return {path: sha256_of(Path(path)) for path in paths}


def _existing_corpus(
    config: Config, inputs: dict[str, str] | None, out: Path, subwords: Subwords | None
) -> PreparedCorpus:
    """Return the existing corpus if it is complete and the same; raises CannotCreateError.

    subwords: those of `data.subwords_from`, which may be in another place than before; None where
    they are learnt.
    """
    try:
        description = read_description(out)
        check_corpus_files(out)
        stored = settings.read_layer(out / CONFIG)
        before = settings.resolve([stored]).config
        prepared = PreparedCorpus.from_json(out, description["prepared"])
    except (NmtError, KeyError, TypeError) as error:
        require_same_kind(out, DirectoryKind.CORPUS)
        raise CannotCreateError(
            f"`{out}` exists already, and is not a whole corpus of this version",
            replace_hint("--out"),
        ) from error
    recorded = description.get("inputs")
    sums = (recorded if isinstance(recorded, dict) else {}, inputs or {})
    moved, changed_files = _compare_texts(*sums, before.data, config.data)
    other_subwords = subwords is not None and not _has_subwords(out, subwords)
    if subwords is not None and before.data.subwords_from:
        moved.add("data.subwords_from")
    # Older versions did not record the cleaning level; they cleaned little.
    unknown = {"data.clean"} - set(stored.values) if config.data.clean != "strict" else set()
    now = settings.flatten(config)
    differing = {
        key: old
        for key, old in settings.flatten(before).items()
        if old != now[key]
        and key.startswith(("data.", "languages."))
        and key not in unknown | moved
    }
    changed = [setting_change(key, old, now[key]) for key, old in differing.items()]
    if other_subwords:
        changed.append(f"the vocabulary of `{config.data.subwords_from}` is another one")
    if inputs is None or not recorded:
        changed.append(f"the text {'comes' if inputs is None else 'came'} from a pipe")
    else:
        changed += text_changes(changed_files)
    if changed:
        raise CannotCreateError(
            f"`{out}` exists already and was prepared differently: {'; '.join(changed)}",
            f"{replace_hint('--out')}{_way_to_keep(differing, changed)}",
        )
    if unknown and config.data.clean == "safe":
        return replace(prepared, notes=(*prepared.notes, OLDER_VERSION_NOTE))
    return prepared


def _way_to_keep(differing: Mapping[str, object], changed: Sequence[str]) -> str:
    """How to keep a corpus that differs in settings alone, to be added to a hint, or "".

    differing: its values by dotted key; changed: everything in which it differs.
    """
    options = options_for(differing)
    if len(options) < len(changed):
        return ""
    return (
        f"; to keep it as it is: {' '.join(options)}, or the same in nmt.toml "
        f"({', '.join(_as_toml(key, value) for key, value in differing.items())})"
    )


def _as_toml(key: str, value: object) -> str:
    section, name = key.split(".")
    return f"{name} = {as_json(value)} under [{section}]"


def _has_subwords(corpus: Path, subwords: Subwords) -> bool:
    return dict(Subwords.load(corpus / SUBWORDS).contents()) == dict(subwords.contents())


def _compare_texts(
    old_sums: Mapping[str, str], new_sums: Mapping[str, str], before: DataConfig, now: DataConfig
) -> tuple[set[str], list[str]]:
    """The settings that name the same files as before, and those of these files that have changed.

    Their paths may differ, because they depend on the directory in which the command runs. Files
    with the same text are the same, and so are those with the same names.
    """
    same, changed = set(), []
    texts = {
        "data.train": (before.train, now.train),
        "data.valid": ((before.valid,), (now.valid,)),
        "data.test": ((before.test,), (now.test,)),
    }
    for key, (old_entries, new_entries) in texts.items():
        if list(map(len, old_entries)) != list(map(len, new_entries)):
            continue
        files = [*zip(chain(*old_entries), chain(*new_entries), strict=True)]
        differing = [(old, new) for old, new in files if old_sums.get(old) != new_sums.get(new)]
        if all(Path(old).name == Path(new).name for old, new in differing):
            same.add(key)
            changed += [new for _, new in differing]
    return same, list(dict.fromkeys(changed))
