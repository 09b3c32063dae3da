"""Checks by file names and by the first lines whether files are in the configured languages.

Swapped files are an error; anything else that looks wrong is a warning.
"""

import itertools
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.languages.missing_words import missing_words
from nmt_cli.data.languages.names import are_swapped
from nmt_cli.data.languages.trigrams import trigram_counts, verdicts
from nmt_cli.data.languages.words import (
    base_code,
    differing_languages,
    is_known,
    is_on_other_side,
    other_language,
    third_languages,
)
from nmt_cli.data.languages.wrong_sides import MIN_DISTINCT_SHARE, MIN_LINES
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.shell_commands import decompressor, without_compression
from nmt_cli.data.text.table_columns import TWO_COLUMNS, TableColumns
from nmt_cli.data.text.tables import first_row_of_text, names_target_first
from nmt_cli.errors import DataError, NmtError, UsageError
from nmt_cli.plurals import agreeing, counted

# Removes a byte order mark and the line ends of Windows, which would end up within the lines.
PLAIN_LINES = r"""NR == 1 {sub(/^\357\273\277/, "")} {sub(/\r$/, "")}"""
LINES_CHECKED = 2_000
# So many lines in a third language are warned of, and so many are named.
FEWEST_OF_THIRD, EXAMPLES = 4, 3
# The share of lines of a held-out file that look like the other side of the training text.
MIN_WRONG_SHARE = 0.6
# A side is no text if this share of at least so many lines has no letter, while the same share of
# the other side has letters.
WITHOUT_LETTERS, FEWEST_WITHOUT_LETTERS = 0.9, 10


def swap_command(table: str, action: str = "{print $2, $1}") -> str:
    """The command that writes a table with its columns swapped into a file that does not exist.

    action: of awk, for each line. A compressed table is decompressed.
    """
    path, program = Path(without_compression(table)), decompressor(table)
    text = shlex.quote(table)
    counts = itertools.chain([""], map(str, itertools.count(2)))
    names = (f"{path.stem}.swapped{count}.tsv" for count in counts)
    free = next(name for name in map(path.with_name, names) if not name.exists())
    awk = rf"awk -F'\t' -v OFS='\t' '{PLAIN_LINES} {action}'"
    swap = f"{program} -dc {text} | {awk}" if program else f"{awk} {text}"
    return f"{swap} > {shlex.quote(str(free))}"


class TextFiles(NamedTuple):
    """Parallel files or one TSV file with these columns, and their role.

    role: training, validation or test.
    """

    role: str
    paths: tuple[str, ...]
    columns: TableColumns = TWO_COLUMNS

    @property
    def shown(self) -> str:
        """The names of the files for a message."""
        return " and ".join(f"`{path}`" for path in self.paths[:2])

    @property
    def remedy(self) -> str:
        """The option with the files swapped, or the command that swaps the columns of a table."""
        if len(self.paths) < 2 and self.columns.numbers:
            src, tgt = self.columns.numbers
            if self.columns.names_option:
                return f"--tsv-columns {tgt},{src}"
            # The option would change the other tables, too.
            action = f"{{src = ${src}; ${src} = ${tgt}; ${tgt} = src; print}}"
            return f"swap the columns: {swap_command(self.paths[0], action)}"
        if len(self.paths) < 2:
            return f"swap the columns: {swap_command(self.paths[0])}"
        option = {"training": "--train", "validation": "--valid", "test": "--test"}[self.role]
        return f"{option} {shlex.quote(self.paths[1])} {shlex.quote(self.paths[0])}"


def texts_of(
    train: Sequence[Sequence[str]],
    valid: Sequence[str],
    test: Sequence[str],
    tsv_columns: str = "",
) -> list[TextFiles]:
    """Return all files of a project with their roles; tsv_columns: the setting of this name."""
    columns = TableColumns.of_training(tsv_columns, train)
    texts = [TextFiles("training", tuple(paths), columns) for paths in train]
    named = (("validation", valid), ("test", test))
    return texts + [TextFiles(role, tuple(paths)) for role, paths in named if paths]


def check_languages(config: Config) -> list[str]:
    """Return warnings about the files; raises UsageError or DataError if files are swapped.

    With `data.clean` off only the names are checked, not the text.
    """
    data = config.data
    texts = texts_of(data.train, data.valid, data.test, data.tsv_columns)
    src, tgt = config.languages.src, config.languages.tgt
    check_names(texts, src, tgt)
    if data.clean == "off":
        return []
    hint = "; if they are right: --no-clean"
    return check_texts(texts, src, tgt, hint, is_cleaned=True)


def check_names(texts: Sequence[TextFiles], src: str, tgt: str) -> None:
    """Raise UsageError if the names of two files carry each other's language."""
    swapped = [text for text in texts if are_swapped(text.paths, src, tgt)]
    if not swapped:
        return
    named = "; ".join(f"{text.role} files {text.shown}" for text in swapped)
    hint = " ".join(text.remedy for text in swapped)
    if len(swapped) == len(texts):
        hint += f"; or, to translate from {tgt} to {src}: --src-lang {tgt} --tgt-lang {src}"
    raise UsageError(
        f"the source is {src}, the target {tgt}, but the file names say otherwise: {named}", hint
    )


def check_texts(
    texts: Sequence[TextFiles],
    src: str,
    tgt: str,
    more_hint: str = "",
    *,
    is_cleaned: bool = False,
) -> list[str]:
    """Return warnings about texts in other languages or without letters.

    Raises DataError if files are swapped. is_cleaned: whether the training text is about to be
    cleaned, which counts its lines in third languages.
    """
    heads = [(text, head_of(text)) for text in texts]
    swapped: list[tuple[TextFiles, str]] = []
    warnings = [note for text, head in heads for note in _side_notes(text, head)]
    for text, (src_lines, tgt_lines) in heads:
        others = other_language(src_lines, src), other_language(tgt_lines, tgt)
        are_others = others == (base_code(tgt), base_code(src))
        if sign := _sign_of_swapped(text, (src_lines, tgt_lines), src, tgt, are_others=are_others):
            swapped.append((text, f"the {text.role} text {text.shown} {sign}"))
        else:
            warnings += _other_languages(text, (src_lines, tgt_lines), (src, tgt), others)
            if others == (None, None) and not (is_cleaned and text.role == "training"):
                warnings += _third_languages(text, (src_lines, tgt_lines), (src, tgt))
    turned = [text for text, _ in swapped]
    # Held-out files are compared with the training text as it will be once its files are in order.
    odds = _odds(
        [head[::-1] if text in turned else head for text, head in heads if text.role == "training"]
    )
    for text, head in heads:
        if odds is None or text.role == "training" or text in turned:
            continue
        wrong = [
            _wrong_share(lines, odds * sign) for lines, sign in zip(head, (1, -1), strict=True)
        ]
        if min(wrong) >= MIN_WRONG_SHARE:
            swapped.append(
                (
                    text,
                    f"the sides of the {text.role} text {text.shown} look like each other's side "
                    "of the training text",
                )
            )
        elif max(wrong) >= MIN_WRONG_SHARE and not warnings:
            side = "source" if wrong[0] > wrong[1] else "target"
            warnings.append(
                f"the {text.role} {side} looks like the other side of the training text"
            )
    if swapped:
        message = "; ".join(problem for _, problem in swapped)
        hint = _together([text.remedy for text, _ in swapped])
        raise DataError(f"source and target are swapped: {message}", hint + more_hint)
    return warnings


def _together(remedies: Sequence[str]) -> str:
    """The remedies of several texts: options can be pasted together, commands one by one.

    >>> _together(["swap a", "--train b c", "--valid d e"])
    '--train b c --valid d e; swap a'
    """
    options = " ".join(remedy for remedy in remedies if remedy.startswith("--"))
    commands = (remedy for remedy in remedies if not remedy.startswith("--"))
    return "; ".join(filter(None, [options, *commands]))


def _is_swapped(src_lines: list[str], tgt_lines: list[str], src: str, tgt: str) -> bool:
    """Whether the only language of the two that is known to nmt is on the other side."""
    if is_known(src) == is_known(tgt):
        return False
    if is_known(src):
        return is_on_other_side(src_lines, tgt_lines, src)
    return is_on_other_side(tgt_lines, src_lines, tgt)


def _sign_of_swapped(
    text: TextFiles,
    sides: tuple[list[str], list[str]],
    src: str,
    tgt: str,
    *,
    are_others: bool,
) -> str:
    """What shows that the sides are swapped, or "": the text, or the header of a table.

    are_others: whether each side is clearly in the language of the other. A header is no sign where
    the text is clearly in the right languages.
    """
    src_lines, tgt_lines = sides
    if are_others or _is_swapped(src_lines, tgt_lines, src, tgt):
        return f"is in {tgt} and {src}"
    row = first_row_of_text(zip(src_lines, tgt_lines, strict=False))
    if len(text.paths) > 1 or row is None:
        return ""
    first, second = src_lines[row], tgt_lines[row]
    if not names_target_first(first, second, (src, tgt)):
        return ""
    is_right = differing_languages(src_lines, tgt_lines) == (base_code(src), base_code(tgt))
    return "" if is_right else f"has the header `{first}`, tab, `{second}`"


def _other_languages(
    text: TextFiles,
    sides: Sequence[Sequence[str]],
    stated: Sequence[str],
    others: Sequence[str | None],
) -> Iterator[str]:
    """Warnings about sides that are not in the stated language.

    others: the known languages that they look like in its place, or None.
    """
    for index, (lines, code, other) in enumerate(zip(sides, stated, others, strict=True)):
        side = ("source", "target")[index]
        if other is not None:
            yield f"the {text.role} {side} {_file_of(text, index)} looks like {other}, not {code}"
            continue
        missing = missing_words(lines, code)
        if missing is None:
            continue
        check = f"is the {side} of this pair of files in {code}?"
        if len(text.paths) == 1:
            option = "does `--tsv-columns` name" if text.columns.numbers else "are these"
            check = f"{option} the right columns?"
        count = f"only {missing.found:,}" if missing.found else "none"
        yield (
            f"the {text.role} {side} {_file_of(text, index)} does not look like {code}: {count} of "
            f"its first {missing.lines:,} lines of several words "
            f"{agreeing(missing.found, 'has', 'have')} one of the commonest words of this "
            f"language; {check}"
        )


def _third_languages(
    text: TextFiles, sides: Sequence[Sequence[str]], known: Sequence[str]
) -> Iterator[str]:
    """Warnings about lines in a language beside those of the text."""
    for index, lines in enumerate(sides):
        found = third_languages(lines, known)
        language, indices = max(found.items(), key=lambda item: len(item[1]), default=("", []))
        if len(indices) >= FEWEST_OF_THIRD:
            side = ("source", "target")[index]
            examples = ", ".join(f"{line + 1:,}" for line in indices[:EXAMPLES])
            action = "`nmt prepare --clean` drops such pairs"
            if text.role != "training":
                action = "no pair is dropped"
            yield (
                f"{len(indices):,} of the first {len(lines):,} lines of the {text.role} {side} "
                f"{_file_of(text, index)} look like {language} (lines {examples}, ...): "
                f"{action}"
            )


def _side_notes(text: TextFiles, sides: Sequence[Sequence[str]]) -> list[str]:
    """The warnings about sides without letters, and columns that are mostly empty."""
    notes = (_no_text_note(text, sides), _empty_column_note(text, sides))
    return [note for note in notes if note]


def _no_text_note(text: TextFiles, sides: Sequence[Sequence[str]]) -> str:
    """The warning that one side has almost no letters and the other has; "" if it is not so."""
    has_text = [list(map(has_letters, filter(str.strip, lines))) for lines in sides]
    if min(map(len, has_text)) < FEWEST_WITHOUT_LETTERS:
        return ""
    shares = [sum(side) / len(side) for side in has_text]
    if min(shares) > 1 - WITHOUT_LETTERS or max(shares) < WITHOUT_LETTERS:
        return ""
    index = shares.index(min(shares))
    side = ("source", "target")[index]
    without = len(has_text[index]) - sum(has_text[index])
    where = "this column" if len(text.paths) == 1 else "this file"
    return (
        f"{without:,} of the first {counted(len(has_text[index]), 'line')} of the {text.role} "
        f"{side} {_file_of(text, index)} have no letter, but the other side has: if {where} has "
        f"numbers, such as those of the rows of a table, replace it by the {side} sentences"
    )


def _empty_column_note(text: TextFiles, sides: Sequence[Sequence[str]]) -> str:
    """The warning that most cells of a column by data.tsv_columns are empty; "" if it is not so."""
    if len(text.paths) > 1 or text.columns.numbers is None:
        return ""
    notes = []
    for number, lines in zip(text.columns.numbers, sides, strict=True):
        empty = sum(not line.strip() for line in lines)
        if 2 * empty > len(lines) >= FEWEST_WITHOUT_LETTERS:
            notes.append(
                f"{empty:,} of the first {len(lines):,} cells of column {number} of "
                f"`{text.paths[0]}`"
            )
    if not notes:
        return ""
    return (
        f"{' and '.join(notes)} are empty, and their rows have no pair: does `--tsv-columns` name "
        "the right columns?"
    )


def _file_of(text: TextFiles, index: int) -> str:
    return f"`{text.paths[index]}`" if len(text.paths) > 1 else f"column of `{text.paths[0]}`"


def head_of(text: TextFiles) -> tuple[list[str], list[str]]:
    """Return the first lines of both sides; none if a file cannot be read, or only once."""
    if not text.paths or not all(Path(path).is_file() for path in text.paths[:2]):
        return [], []
    try:
        if len(text.paths) == 1:
            rows = map(text.columns.pair, _first_lines(text.paths[0]))
            pairs = [row for row in rows if row is not None]
            return [row[0] for row in pairs], [row[1] for row in pairs]
        return list(_first_lines(text.paths[0])), list(_first_lines(text.paths[1]))
    except NmtError:
        # The error is reported when the file is read as a whole.
        return [], []


def _first_lines(path: str) -> Iterator[str]:
    with read_lines(path) as lines:
        yield from islice(lines, LINES_CHECKED)


def _bytes(lines: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(errors="replace"), np.uint8)


def _odds(heads: Sequence[tuple[list[str], list[str]]]) -> np.ndarray | None:
    """Return how much likelier each trigram is on the training source: (BUCKETS,) log odds.

    Returns None if there is too little text or the sides are too similar.
    """
    sides = [_bytes([line for head in heads for line in head[side]]) for side in (0, 1)]
    if min(sum(len(head[0]) for head in heads), *map(len, sides)) < MIN_LINES:
        return None
    counts = np.stack([trigram_counts(side) for side in sides]) + 1.0
    shares = np.log(counts / counts.sum(1, keepdims=True))
    odds: np.ndarray = shares[0] - shares[1]
    right = [
        (verdicts(side, odds * sign) > 0).mean() for side, sign in zip(sides, (1, -1), strict=True)
    ]
    return odds if min(right) >= MIN_DISTINCT_SHARE else None


def _wrong_share(lines: Sequence[str], odds: np.ndarray) -> float:
    """Return the share of lines that clearly belong to the side that `odds` do not favour."""
    if len(lines) < MIN_LINES // 5:
        return 0.0
    return float((verdicts(_bytes(lines), odds) < 0).mean())
