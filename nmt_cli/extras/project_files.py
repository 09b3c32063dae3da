"""The text files of a project, as given or found in a directory, and their languages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.languages.names import guess_languages, guess_tsv_languages, is_tsv, language_of
from nmt_cli.data.preparation.file_roles import repeated_files
from nmt_cli.errors import DataError, NmtError, NoInputError, UsageError, raise_together
from nmt_cli.extras.project import Paths
from nmt_cli.storage.files import require_file

# The names that text files of each kind usually have.
_STEMS = {
    "train": ("train", "training"),
    "valid": ("valid", "val", "dev", "validation"),
    "test": ("test",),
}


class ProjectTexts(NamedTuple):
    """The files of a project; each entry is two files or one TSV file.

    valid_split, test_split: the numbers of training pairs that will be validation and test text.
    tsv_columns: the setting of this name.
    """

    train: tuple[Paths, ...] = ()
    valid: Paths | None = None
    test: Paths | None = None
    valid_split: int = 0
    test_split: int = 0
    tsv_columns: str = ""

    def entries(self) -> list[Paths]:
        """All entries."""
        return [*self.train, *(entry for entry in (self.valid, self.test) if entry)]

    def require(self) -> None:
        """Raise NoInputError naming every file that cannot be read.

        Raises UsageError if one file is given for both sides, or for training and another use.
        """
        missing: list[NmtError] = []
        for name in (name for entry in self.entries() for name in entry):
            try:
                require_file(Path(name), "text")
            except NoInputError as error:
                missing.append(error)
        if missing:
            raise NoInputError("; ".join(error.message for error in missing), missing[0].hint)
        named = [("--valid", self.valid or ()), ("--test", self.test or ())]
        raise_together(repeated_files(self.train, named, "--train"))

    def languages(self) -> tuple[str, str] | None:
        """The languages in the names of the files."""
        pairs = [(entry[0], entry[1]) for entry in self.entries() if len(entry) == 2]
        names = [entry[0] for entry in self.entries() if len(entry) == 1]
        return guess_languages(pairs) or guess_tsv_languages(names)

    def completed(self, folder: Path, src: str, tgt: str) -> "ProjectTexts":
        """Add the files of `folder` if no training files were given."""
        if self.train:
            return self
        train = find_texts(folder, "train", src, tgt)
        # Where training pairs are set apart, no file is searched for.
        valid = None if self.valid_split else find_texts(folder, "valid", src, tgt)
        test = None if self.test_split else find_texts(folder, "test", src, tgt)
        return self._replace(
            train=() if train is None else (train,),
            valid=self.valid or valid,
            test=self.test or test,
        )


def require_different(src: str, tgt: str) -> None:
    """Raise UsageError if both languages have the same code."""
    if src == tgt:
        raise UsageError(
            f"source and target are both `{src}`",
            "name two languages; where both sides are in one, such as text and simpler text, give "
            f"them two codes: --src-lang {src} --tgt-lang {src}_plain",
        )


def check_text_files(texts: ProjectTexts, src: str, tgt: str) -> list[str]:
    """Return warnings about the languages of the files, and about test text used for validation.

    Raises UsageError or DataError if they are swapped, DataError if one is empty or not UTF-8, or
    if the two files of a pair differ in their number of lines.
    """
    from nmt_cli.data.cleaning.held_out.alignment import notes_by_lengths
    from nmt_cli.data.cleaning.held_out.faults import fault_notes, form_notes
    from nmt_cli.data.cleaning.held_out.placeholders import placeholder_notes
    from nmt_cli.data.cleaning.held_out.texts import HeldOutText
    from nmt_cli.data.languages.checks import check_names, check_texts
    from nmt_cli.data.languages.text_files import head_of, texts_of
    from nmt_cli.data.preparation.encoding_check import require_utf8
    from nmt_cli.data.preparation.length_check import require_equal_lengths

    _require_lines(path for entry in texts.entries() for path in entry)
    require_utf8(path for entry in texts.entries() for path in entry)
    require_equal_lengths(texts.entries())
    _require_columns(entry for entry in (texts.valid, texts.test) if entry)
    named = texts_of(texts.train, texts.valid or (), texts.test or (), texts.tsv_columns)
    check_names(named, src, tgt)
    unaligned = notes_by_lengths(texts.train, texts.valid or (), texts.test or ())
    heads = [
        HeldOutText(text.role, *head_of(text), text.paths)
        for text in named
        if text.role != "training"
    ]
    wrong_lines = [*placeholder_notes(heads), *fault_notes(heads), *form_notes(heads)]
    return [*check_texts(named, src, tgt), *unaligned, *wrong_lines, *_shared_pairs(texts)]


def _shared_pairs(texts: ProjectTexts) -> list[str]:
    """The warning that most of the test pairs are validation pairs, if they are."""
    from nmt_cli.data.preparation.file_roles import shared_pairs_notes
    from nmt_cli.data.text.line_pairs import read_pairs

    named = [(texts.valid or ())[:2], (texts.test or ())[:2]]
    if not all(entry and all(Path(path).is_file() for path in entry) for entry in named):
        return []
    valid, test = (list(read_pairs(entry)) for entry in named)
    return shared_pairs_notes(valid, test)


def _require_columns(entries: Iterable[Paths]) -> None:
    """Raise DataError if the first rows of a table do not have two columns."""
    from nmt_cli.data.preparation.encoding_check import LINES_CHECKED
    from nmt_cli.data.text.line_pairs import read_pairs

    for entry in entries:
        if len(entry) == 1 and Path(entry[0]).is_file():
            for _ in islice(read_pairs(entry), LINES_CHECKED):
                pass


def _require_lines(paths: Iterable[str]) -> None:
    """Raise DataError naming all files without a line; what can be read only once is not read."""
    from nmt_cli.data.text.lines import read_lines

    empty = []
    for path in dict.fromkeys(paths):
        if Path(path).is_file():
            with read_lines(path) as lines:
                if next(lines, None) is None:
                    empty.append(path)
    if empty:
        names = ", ".join(f"`{path}`" for path in empty)
        raise DataError(
            f"{names} {'is' if len(empty) == 1 else 'are'} empty",
            "name files with text, one sentence per line",
        )


def valid_beside_train(texts: ProjectTexts, src: str, tgt: str) -> Paths | None:
    """Find a validation text that lies beside the training files and was not named, if any."""
    if texts.valid or texts.valid_split:
        return None
    folders = dict.fromkeys(Path(entry[0]).parent for entry in texts.train)
    named = {path for entry in texts.entries() for path in entry}
    for folder in folders:
        entry = find_texts(folder, "valid", src, tgt)
        if entry and not named.intersection(entry):
            return entry
    return None


def languages_in(folder: Path) -> list[str]:
    """The languages of the training files in `folder`, sorted."""
    codes = {language_of(path.name) for path in _text_files(folder, "train")}
    return sorted(code for code in codes if code)


def find_texts(folder: Path, split: str, src: str, tgt: str) -> Paths | None:
    """Find the two files, or the TSV file, of `split` (train, valid, test) in `folder`, if any."""
    files = [str(path) for path in _text_files(folder, split)]
    sides = [[name for name in files if language_of(name) == code] for code in (src, tgt)]
    if len(sides[0]) == 1 and len(sides[1]) == 1:
        return sides[0][0], sides[1][0]
    tables = [name for name in files if is_tsv(name)]
    return (tables[0],) if len(tables) == 1 else None


def _text_files(folder: Path, split: str) -> Sequence[Path]:
    if not folder.is_dir():
        return []
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and re.split(r"[._-]", path.name)[0] in _STEMS[split]
    ]


def given_texts(
    train: Sequence[Paths] | None,
    train_tsv: Sequence[str] | None,
    valid: Paths | None,
    test: Paths | None,
    tables: Mapping[str, str | None],
    splits: Mapping[str, int],
) -> ProjectTexts:
    """Collect the files of the command line.

    tables: TSV files by their use, valid or test; splits: by the same names, the numbers of
    training pairs to set apart. Raises UsageError where two of these are given for one use.
    """
    entries = {"valid": valid, "test": test}
    for split, table in tables.items():
        entries[split] = held_out_entry(split, entries[split], table)
    for split, text in (("valid", "validation"), ("test", "test")):
        if entries[split] and splits[split]:
            raise UsageError(
                f"--{split} names {text} text, and --{split}-split sets training pairs apart for "
                "it",
                "use one of them",
            )
    named = (*map(tuple, train or ()), *((name,) for name in train_tsv or ()))
    return ProjectTexts(named, entries["valid"], entries["test"], splits["valid"], splits["test"])


def held_out_entry(split: str, pair: Paths | None, table: str | None) -> Paths | None:
    """The files of a validation or test text, which --valid or --valid-tsv names, for instance.

    Raises UsageError if both do.
    """
    if pair and table:
        raise UsageError(f"--{split} and --{split}-tsv both name a text", "use one of them")
    return (table,) if table else pair


def options_of(texts: ProjectTexts, src: str, tgt: str, preset: str | None) -> list[str]:
    """The options of `nmt init` that name these files and languages."""
    words: list[str] = []
    named = [("--train", entry) for entry in texts.train]
    others = (("valid", texts.valid), ("test", texts.test))
    named += [(f"--{split}", entry) for split, entry in others if entry]
    for option, entry in named:
        words += [option if len(entry) > 1 else f"{option}-tsv", *entry]
    if texts.tsv_columns:
        words += ["--tsv-columns", texts.tsv_columns]
    if texts.test_split:
        words += ["--test-split", str(texts.test_split)]
    words += ["--src-lang", src, "--tgt-lang", tgt]
    return words if preset is None else [*words, "--preset", preset]
