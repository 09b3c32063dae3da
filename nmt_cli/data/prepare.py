"""`nmt prepare`: from text files to a corpus of ids; what is left out is counted, with the reason.

Three passes: clean (and find equal pairs), count words and learn subwords, encode and filter. Each
is spread over processes by stretches of text and put together in order: the files do not depend
on the number of processes.
"""

import dataclasses
import functools
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli import config as settings
from nmt_cli import files
from nmt_cli.config import Config
from nmt_cli.data.clean import Cleaning, CleanText, HeldOut, Progress, clean_training_text
from nmt_cli.data.encode import (
    Encoded,
    SavedSubwords,
    SplitWriter,
    Tally,
    choose_sample,
    count_all_words,
    encode_job,
    encoded_side,
    jobs,
)
from nmt_cli.data.layout import CONFIG, DESCRIPTION, FORMAT, SUBWORDS, check_files, read_description
from nmt_cli.data.lines import read_pairs
from nmt_cli.data.pool import Pool
from nmt_cli.data.sides import find_wrong_sides
from nmt_cli.data.streams import STDIN
from nmt_cli.data.subwords import VOCABULARY, Subwords, learn_subwords
from nmt_cli.errors import CannotCreateError, DataError, NmtError, NoInputError, UsageError
from nmt_cli.files import make_directory, remove, require_file, sha256_of, write_text
from nmt_cli.manifest import new_directory
from nmt_cli.plurals import agreeing, counted

DUPLICATE = "same pair before"
EMPTY = "empty side"
WRONG_LANGUAGE = "in the other side's language"


@dataclass(frozen=True)
class Prepared:
    """What `prepare` did: the numbers of its table.

    read, kept, valid: pairs; dropped: pairs by reason; src_size, tgt_size: vocabulary entries;
    notes: what the user should look at; reused: nothing was done, the corpus was there already.
    """

    path: Path
    read: int
    kept: int
    dropped: dict[str, int]
    src: Tally
    tgt: Tally
    src_size: int
    tgt_size: int
    valid: int
    notes: tuple[str, ...] = ()
    reused: bool = False

    def to_json(self) -> dict[str, Any]:
        """As plain values, without `path` and `reused`."""
        values = dataclasses.asdict(self)
        for side in ("src", "tgt"):
            values[side]["fertility"] = round(getattr(self, side).fertility, 4)
        del values["path"], values["reused"]
        return values

    @classmethod
    def from_json(cls, path: Path, values: dict[str, Any]) -> "Prepared":
        """What `to_json` gave, as the result of a run that found it there."""
        values = dict(values, notes=tuple(values["notes"]))
        for side in ("src", "tgt"):
            values[side] = Tally(
                **{key: one for key, one in values[side].items() if key != "fertility"}
            )
        return cls(path=path, reused=True, **values)


def prepare(
    config: Config,
    out: Path,
    *,
    force: bool = False,
    workers: int = 0,
    progress: Progress | None = None,
) -> Prepared:
    """Prepare `config.data` into the new directory `out`.

    workers: processes, 0 for one a usable core; the files are the same for any number of them.
    progress: called with the name of a stage, pairs done, and about how many there are in all.
    An `out` that was prepared from the same files and settings is left as it is, unless `force`.
    Raises UsageError, NoInputError, DataError or CannotCreateError.
    """
    check_inputs(config)
    if force or not os.path.lexists(out):
        files.require_creatable(out)
    inputs = fingerprint(config)
    files.remove_abandoned(out)
    if out.exists() and not force:
        return _existing(config, inputs, out)
    with new_directory(out, force=force) as directory, Pool(workers) as pool:
        prepared = _Run(config, out, directory, pool, progress or _silent).run()
        write_text(directory / CONFIG, settings.dump(config))
        document = {
            "format": FORMAT, "train": prepared.kept, "valid": prepared.valid,
            "inputs": inputs, "prepared": prepared.to_json(),
        }  # fmt: skip
        write_text(directory / DESCRIPTION, json.dumps(document, indent=2) + "\n")
    return prepared


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


def check_inputs(config: Config) -> None:
    """Refuse what is wrong with the settings and files, all of it, before any work starts."""
    data = config.data
    if not data.train:
        raise UsageError(
            "no training files are given",
            "use --train SRC TGT, or write them into nmt.toml: nmt init --train SRC TGT",
        )
    named = [("data.train", paths) for paths in data.train]
    named += [(name, one) for name, one in (("data.valid", data.valid), ("data.test", data.test))]
    problems: list[NmtError] = []
    for name, paths in named:
        if (len(paths) > 2 and name != "data.test") or (not paths and name == "data.train"):
            count = f"{name} has {counted(len(paths), 'file')}"
            problems.append(UsageError(count, "name two files, or one TSV file"))
        problems += [problem for path in paths if (problem := _check_file(name, path))]
    if sum(path == STDIN for _, paths in named for path in paths) > 1:
        problems.append(UsageError("stdin (`-`) can be read only once", "use files"))
    if problems:
        hints = dict.fromkeys(problem.hint for problem in problems if problem.hint)
        message = "; ".join(problem.message for problem in problems)
        raise type(problems[0])(message, "; ".join(hints))


def _check_file(name: str, path: str) -> NmtError | None:
    if path == STDIN and name == "data.train":
        return None
    try:
        require_file(Path(path), f"{name} file")
    except NoInputError as error:
        return error
    return None


def fingerprint(config: Config) -> dict[str, str] | None:
    """SHA-256 of each file that training data is made of; None where one is a pipe."""
    paths = [path for pair in (*config.data.train, config.data.valid, config.data.test)
             for path in pair]  # fmt: skip
    if not all(Path(path).is_file() for path in paths):
        return None
    return {path: sha256_of(Path(path)) for path in paths}


def _existing(config: Config, inputs: dict[str, str] | None, out: Path) -> Prepared:
    """What was prepared before, if it is whole and the same; raises CannotCreateError."""
    try:
        description = read_description(out)
        check_files(out)
        before = settings.load(out / CONFIG)
        prepared = Prepared.from_json(out, description["prepared"])
    except (NmtError, KeyError, TypeError) as error:
        raise CannotCreateError(
            f"`{out}` exists already, and is not a whole corpus of this version",
            "use --force to replace it, or another --out",
        ) from error
    changed = [
        f"{key} was {_shown(old)}, is {_shown(new)}"
        for (key, old), new in zip(
            settings.flatten(before).items(), settings.flatten(config).values(), strict=True
        )
        if old != new and key.startswith(("data.", "languages."))
    ]
    if inputs is None:
        changed.append("the text comes from a pipe")
    elif description.get("inputs") != inputs:
        changed.append("the text files have another content")
    if changed:
        raise CannotCreateError(
            f"`{out}` exists already and was prepared otherwise: {'; '.join(changed)}",
            "use --force to replace it, or another --out",
        )
    return prepared


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass
class _Run:
    """One run of `prepare`, into a directory that gets its name `out` at the end."""

    config: Config
    out: Path
    directory: Path
    pool: Pool
    progress: Progress

    def run(self) -> Prepared:
        data = self.config.data
        work = make_directory(self.directory / "work")
        valid = list(read_pairs(data.valid, strict=data.strict)) if data.valid else []
        held_out = self._held_out(valid)
        text = clean_training_text(self.config, work, self.pool, held_out, self.progress)
        if not text.pairs:
            raise DataError(
                "the training files hold no pair of lines with text on both sides",
                "check that they are the right files",
            )
        keep = ~text.duplicate if data.drop_duplicates else np.ones(text.pairs, bool)
        dropped = Counter({EMPTY: text.empty, DUPLICATE: int((~keep).sum())})
        wrong = find_wrong_sides(text, self.pool, self.progress)
        if data.drop_wrong_language:
            dropped[WRONG_LANGUAGE] = int((keep & wrong.pairs).sum())
            keep &= ~wrong.pairs
        elif wrong.notes:
            wrong.notes.append("such pairs are left out with --clean")
        subwords = self._learn(text, keep)
        train = self._encode(text, keep, dropped)
        if not train.pairs:
            raise DataError(
                f"no training pair is left: {_reasons(dropped)}",
                "see data.min_length, data.max_length and data.max_ratio (nmt config show)",
            )
        remove(work)
        self._encode_valid(valid, subwords)
        return Prepared(
            path=self.out, read=text.read, kept=train.pairs,
            dropped={reason: count for reason, count in dropped.items() if count},
            src=train.src, tgt=train.tgt,
            src_size=subwords.src_size, tgt_size=subwords.tgt_size,
            valid=len(valid), notes=(*text.notes, *wrong.notes, *_notes(valid, held_out)),
        )  # fmt: skip

    def _held_out(self, valid: list[tuple[str, str]]) -> list[HeldOut]:
        cleaning = Cleaning.of(self.config)
        data = self.config.data
        test = read_pairs(data.test[:2], strict=data.strict) if data.test else ()
        return [
            HeldOut(name, cleaning.clean("src", [src for src, _ in pairs]))
            for name, pairs in (("validation", valid), ("test", test))
        ]

    def _learn(self, text: CleanText, keep: np.ndarray) -> Subwords:
        data = self.config.data
        sample = choose_sample(keep, data.sample_lines, data.seed)
        words = count_all_words(text, sample, data, self.pool, self.progress)
        self.progress("learn subwords", 0, None)
        subwords = learn_subwords(data, *words)
        subwords.save(make_directory(self.directory / SUBWORDS))
        return subwords

    def _encode(self, text: CleanText, keep: np.ndarray, dropped: Counter[str]) -> SplitWriter:
        train = SplitWriter(self.directory, "train")
        folder = self.directory / SUBWORDS
        saved = SavedSubwords(folder, sha256_of(folder / VOCABULARY))
        work = jobs(text, keep, self.config.data)
        encoded = self.pool.map(functools.partial(encode_job, saved), work)
        done = 0
        for stretch, piece in zip(text.stretches, train.write(encoded), strict=True):
            dropped += piece.dropped
            done += stretch.pairs
            self.progress("encode", done, text.pairs)
        return train

    def _encode_valid(self, pairs: list[tuple[str, str]], subwords: Subwords) -> None:
        """Encode the validation pairs, all of them, and keep their text as it is."""
        if not pairs:
            return
        cleaning = Cleaning.of(self.config)
        raw_src, raw_tgt = [src for src, _ in pairs], [tgt for _, tgt in pairs]
        src_ids = subwords.encode_source(cleaning.clean("src", raw_src))
        tgt_ids = subwords.encode_target(cleaning.clean("tgt", raw_tgt))
        keep = [True] * len(pairs)
        src = encoded_side(raw_src, src_ids, keep, subwords.src_size, subwords.unk_id)
        tgt = encoded_side(raw_tgt, tgt_ids, keep, subwords.tgt_size, subwords.unk_id)
        for _ in SplitWriter(self.directory, "valid").write([Encoded(src, tgt, 0, Counter())]):
            pass


def _reasons(dropped: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)


def _notes(valid: list[tuple[str, str]], held_out: list[HeldOut]) -> list[str]:
    notes = [
        f"{one.found:,} of {counted(one.sentences, f'{one.name} sentence')} also "
        f"{agreeing(one.found, 'occurs', 'occur')} in the training text"
        for one in held_out
        if one.found
    ]
    empty = sum(not src.strip() or not tgt.strip() for src, tgt in valid)
    if empty:
        notes.append(
            f"{empty:,} of {counted(len(valid), 'validation pair')} "
            f"{agreeing(empty, 'has', 'have')} an empty side"
        )
    return notes
