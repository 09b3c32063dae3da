"""Warnings about sides of texts: in another language, without letters, and columns that are empty.

Tables whose columns `--tsv-columns` names have one warning of a kind together.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_cli.data.cleaning.chunks import Cleaning
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.english_names import shown_language
from nmt_cli.data.languages.missing_words import missing_words
from nmt_cli.data.languages.text_files import SIDES, TextFiles, side_of
from nmt_cli.data.languages.third_languages import third_languages
from nmt_cli.data.languages.words import function_words, other_language
from nmt_cli.data.text.hyphenated_words import hyphenated_words, joining_command
from nmt_cli.data.text.labels.line_labels import common_label, without_labels_commands
from nmt_cli.data.text.labels.merged_verses import MERGED, joined_verses_command, merged_verses
from nmt_cli.data.text.labels.numbered_lines import numbered_lines, without_numbers_commands
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.shell_commands import JOIN_SUBWORDS, copy_command
from nmt_cli.data.text.tables.category_columns import category_values, shown_values
from nmt_cli.plurals import agreeing, counted, enumerated

# So many lines in a third language are warned of, and so many are named.
FEWEST_OF_THIRD, EXAMPLES = 4, 3
# A side is no text if this share of at least so many lines has no letter, while the same share of
# the other side has letters.
WITHOUT_LETTERS, FEWEST_WITHOUT_LETTERS = 0.9, 10
# So many words that are hyphenated as at the ends of lines are warned of.
FEWEST_HYPHENATED = 3
# So many lines, and this share of those with a mark, have a space before it in tokenised text.
FEWEST_TOKENISED, LEAST_TOKENISED = 10, 0.3
# Other marks have spaces before them in French.
_MARK, _SPACED_MARK = re.compile(r"[,.](?: |$)"), re.compile(r" [,.](?: |$)")
# A tree in brackets, such as `(S (NP DT NN )NP )S`: parsers need the words of a treebank as tokens.
_TREE = re.compile(r"\(\S+ .*\)\S*")
# So many characters of a line are shown.
SHOWN = 30


class Head(NamedTuple):
    """The first lines of both sides of a text.

    sides: as they were read; cleaned: as they would be in the training text, so that their words
    are judged as when it is cleaned; others: for each side, the known language that it looks like
    in place of the stated one, or None; codes: the stated ones.
    """

    text: TextFiles
    sides: tuple[list[str], list[str]]
    cleaned: tuple[list[str], list[str]]
    others: tuple[str | None, str | None]
    codes: tuple[str, str]

    @classmethod
    def of(cls, text: TextFiles, sides: tuple[list[str], list[str]], cleaning: Cleaning) -> "Head":
        """The lines of a text that should be in the languages of `cleaning`."""
        # Lines without a partner have an error of their own.
        pairs = min(map(len, sides))
        cleaned = cleaning.repaired(sides[0][:pairs], sides[1][:pairs])
        codes = cleaning.src, cleaning.tgt
        others = other_language(cleaned[0], codes[0]), other_language(cleaned[1], codes[1])
        return cls(text, sides, cleaned, others, codes)


def groups_of(heads: Sequence[Head]) -> list[list[Head]]:
    """The texts whose warnings are given together: tables with `--tsv-columns`, and each other."""
    tables = [head for head in heads if head.text.columns.numbers and len(head.text.paths) == 1]
    alone = [[head] for head in heads if head not in tables]
    return [tables, *alone] if tables else alone


def text_notes(group: Sequence[Head]) -> list[str]:
    """The warnings about sides without letters, labels, numbers, verses and wrong columns."""
    numbered = (_numbered_note(head) for head in group)
    labelled = (_labelled_note(head) for head in group)
    return [
        *_no_text_notes(group),
        *filter(None, numbered),
        *filter(None, labelled),
        *filter(None, map(_merged_note, group)),
        *(note for head in group for note in _tokenised_notes(head)),
        *_empty_column_notes(group),
        *_category_notes(group),
        *_hyphenation_notes(group),
    ]


def language_notes(
    group: Sequence[Head], stated: tuple[str, str], *, is_cleaned: bool
) -> Iterator[str]:
    """Yield the warnings about sides in other languages than the stated ones.

    is_cleaned: whether the training text is about to be cleaned, which counts its lines in third
    languages.
    """
    for index, code in enumerate(stated):
        others = dict.fromkeys(head.others[index] for head in group)
        for other in filter(None, others):
            found = [head.text for head in group if head.others[index] == other]
            yield (
                f"the {side_of(found, index)} {agreeing(len(found), 'looks', 'look')} like "
                f"{shown_language(other)}, not {shown_language(code)}"
            )
        unknown = [head for head in group if head.others[index] is None]
        yield from _missing_words(unknown, index, code)
    for head in group:
        if head.others == (None, None) and not (is_cleaned and head.text.role == "training"):
            yield from _third_languages(head, stated)


def _missing_words(group: Sequence[Head], index: int, code: str) -> Iterator[str]:
    """Yield the warning about sides without the commonest words of their language."""
    counts = [(head.text, missing_words(head.cleaned[index], code)) for head in group]
    found = [(text, count) for text, count in counts if count is not None]
    if not found:
        return
    texts = [text for text, _ in found]
    words, lines = sum(count.found for _, count in found), sum(count.lines for _, count in found)
    language = shown_language(code)
    check = f"is the {SIDES[index]} of this pair of files in {language}?"
    if len(texts[0].paths) == 1:
        option = "does `--tsv-columns` name" if texts[0].columns.numbers else "are these"
        check = f"{option} the right columns?"
    count = f"only {words:,}" if words else "none"
    yield (
        f"the {side_of(texts, index)} {agreeing(len(texts), 'does', 'do')} not look like "
        f"{language}: {count} of {agreeing(len(texts), 'its', 'their')} first {lines:,} lines of "
        f"several words {agreeing(words, 'has', 'have')} one of the commonest words of this "
        f"language; {check}"
    )


def _third_languages(head: Head, known: Sequence[str]) -> Iterator[str]:
    """Yield the warnings about lines in a language beside those of the text."""
    for index, lines in enumerate(head.cleaned):
        # A side in an unknown language may be similar to one that is known.
        codes = [code for code in known if function_words(code)]
        found = third_languages(lines, codes) if known[index] in codes else {}
        language, indices = max(found.items(), key=lambda item: len(item[1]), default=("", []))
        if len(indices) >= FEWEST_OF_THIRD:
            examples = ", ".join(f"{line + 1:,}" for line in indices[:EXAMPLES])
            action = "`nmt prepare --clean` drops such pairs"
            if head.text.role != "training":
                action = "no pair is dropped"
            elif len(codes) < len(known):
                action += " if it can tell the languages of the two sides apart"
            yield (
                f"{len(indices):,} of the first {len(lines):,} lines of the "
                f"{side_of([head.text], index)} look like {shown_language(language)} (lines "
                f"{examples}, ...): {action}"
            )


def _no_text_notes(group: Sequence[Head]) -> Iterator[str]:
    """Yield the warnings that one side has almost no letters and the other has."""
    for index in (0, 1):
        counts = [(head.text, _without_letters(head.sides, index)) for head in group]
        found = [(text, count) for text, count in counts if count is not None]
        if not found:
            continue
        texts = [text for text, _ in found]
        without = sum(count for _, (count, _) in found)
        lines = counted(sum(count for _, (_, count) in found), "line")
        where = "this column" if len(texts[0].paths) == 1 else "this file"
        yield (
            f"{without:,} of the first {lines} of the {side_of(texts, index)} have no letter, but "
            f"the other side has: if {where} has numbers, such as those of the rows of a table, "
            f"replace it by the {SIDES[index]} sentences"
        )


def _without_letters(
    sides: tuple[Sequence[str], Sequence[str]], index: int
) -> tuple[int, int] | None:
    """How many lines of a side have no letter, and of how many; None unless only this has none."""
    has_text = [list(map(has_letters, filter(str.strip, lines))) for lines in sides]
    if min(map(len, has_text)) < FEWEST_WITHOUT_LETTERS:
        return None
    shares = [sum(side) / len(side) for side in has_text]
    if shares[index] > 1 - WITHOUT_LETTERS or shares[1 - index] < WITHOUT_LETTERS:
        return None
    return len(has_text[index]) - sum(has_text[index]), len(has_text[index])


def _numbered_note(head: Head) -> str:
    """The warning that nearly all lines begin with the same number on both sides, or ""."""
    indices = numbered_lines(*head.sides)
    if not indices:
        return ""
    paths, columns = head.text.paths, head.text.columns
    line = head.sides[0][indices[0]]
    remedy = "write the text without them"
    if len(paths) > 1 or not columns.numbers:
        remedy = "; ".join(without_numbers_commands(paths))
    return (
        f"{len(indices):,} of the first {counted(len(head.sides[0]), 'line')} of the "
        f"{head.text.role} text {head.text.shown} begin with the same running number on both sides "
        f"(line {indices[0] + 1:,}: `{line[:SHOWN]}{'...' if len(line) > SHOWN else ''}`), which "
        f"counts as text: if it only numbers the lines, remove it: {remedy}"
    )


def _labelled_note(head: Head) -> str:
    """The warning that nearly all lines of a side begin with the same label, or ""."""
    labels = [common_label(lines) for lines in head.sides]
    found = [
        f"{len(label.indices):,} of the first {counted(len(lines), 'line')} of the "
        f"{side_of([head.text], index)} begin with the label `{label.text}:`"
        for index, (label, lines) in enumerate(zip(labels, head.sides, strict=True))
        if label
    ]
    if not found:
        return ""
    paths, columns = head.text.paths, head.text.columns
    it, names = agreeing(len(found), "it", "they"), agreeing(len(found), "names", "name")
    them = agreeing(len(found), "it", "them")
    remedy = f"write the text without {them}"
    if len(paths) > 1 or not columns.numbers:
        texts = [label.text if label else None for label in labels]
        remedy = "; ".join(without_labels_commands(paths, texts))
    return (
        f"{' and '.join(found)}, which {agreeing(len(found), 'counts', 'count')} as text: if {it} "
        f"only {names} the language or the speaker, remove {them}: {remedy}"
    )


def _merged_note(head: Head) -> str:
    """The warning about verses that are part of the line before, or ""."""
    indices = merged_verses(head.sides)
    if not indices:
        return ""
    command = joined_verses_command(head.text.paths)
    table = ""
    if command:
        table = f": {command} writes a table, in which empty rows keep the numbers of the lines"
    return (
        f"{counted(len(indices), 'pair')} of the first "
        f"{counted(len(head.sides[0]), 'line')} of the {head.text.role} text {head.text.shown} "
        f"{agreeing(len(indices), 'has', 'have')} `{MERGED}` on a side (line {indices[0] + 1:,}): "
        "the verse is part of the line before, whose other side lacks it; join such pairs with the "
        f"ones before them{table}"
    )


def _tokenised_notes(head: Head) -> Iterator[str]:
    """Yield the warnings that a side has spaces before its punctuation, as tokenised text has.

    Text for a parser has them rightly: one of its sides has trees in brackets.
    """
    if any(2 * sum(map(bool, map(_TREE.fullmatch, lines))) > len(lines) for lines in head.sides):
        return
    for index, lines in enumerate(head.sides):
        spaced = [number for number, line in enumerate(lines, 1) if _SPACED_MARK.search(line)]
        marked = sum(_MARK.search(line) is not None for line in lines)
        if len(spaced) < max(FEWEST_TOKENISED, LEAST_TOKENISED * marked):
            continue
        command = ""
        if len(head.text.paths) > 1:
            code = base_code(head.codes[index])
            detokenise = shlex.join(["sacremoses", "-l", code, "-q", "detokenize"])
            path = head.text.paths[index]
            first, then = detokenise, ""
            if any("@@ " in line for line in lines):
                # A detokeniser would take the marks for words, and attach punctuation to them.
                first, then = JOIN_SUBWORDS, detokenise
            command = copy_command(first, path, "detokenised", takes_name=False, then=then)
            command = f": {command}"
        yield (
            f"{len(spaced):,} of the first {counted(len(lines), 'line')} of the "
            f"{side_of([head.text], index)} have spaces before their punctuation (first on line "
            f"{spaced[0]:,}), as tokenised text has; translations would have them, too, and nmt "
            f"needs no tokeniser: detokenise it{command}"
        )


def _empty_column_notes(group: Sequence[Head]) -> Iterator[str]:
    """Yield the warning that most cells of columns by data.tsv_columns are empty."""
    numbers = group[0].text.columns.numbers
    if len(group[0].text.paths) > 1 or numbers is None:
        return
    notes = []
    for number, index in zip(numbers, (0, 1), strict=True):
        found = [(head.text.paths[0], head.sides[index]) for head in group]
        found = [(name, cells) for name, cells in found if _is_mostly_empty(cells)]
        if found:
            cells = [cell for _, cells in found for cell in cells]
            empty = sum(not cell.strip() for cell in cells)
            names = enumerated(f"`{name}`" for name, _ in found)
            notes.append(
                f"{empty:,} of the first {len(cells):,} cells of column {number} of {names}"
            )
    if notes:
        yield (
            f"{' and '.join(notes)} are empty, and their rows have no pair: does `--tsv-columns` "
            "name the right columns?"
        )


def _category_notes(group: Sequence[Head]) -> Iterator[str]:
    """Yield the warning about each column by data.tsv_columns that has only a few values."""
    for head in group:
        if len(head.text.paths) > 1 or head.text.columns.numbers is None:
            continue
        for number, cells in zip(head.text.columns.numbers, head.sides, strict=True):
            if values := category_values(cells):
                yield (
                    f"column {number} of `{head.text.paths[0]}` has only "
                    f"{counted(len(values), 'different value')} in the first "
                    f"{counted(len(cells), 'row')} ({shown_values(values)}), as tiers, speakers "
                    "and dates have: does `--tsv-columns` name the right columns?"
                )


def _hyphenation_notes(group: Sequence[Head]) -> Iterator[str]:
    """Yield the warning about words that are hyphenated as at the ends of lines of a PDF."""
    for head in group:
        for index, lines in enumerate(head.sides):
            found = hyphenated_words(lines)
            if len(found) < FEWEST_HYPHENATED:
                continue
            path = head.text.paths[min(index, len(head.text.paths) - 1)]
            line, example = found[0]
            yield (
                f"{len(found):,} words in the first {counted(len(lines), 'line')} of the "
                f"{side_of([head.text], index)} have a hyphen and a space within, as where a "
                f"PDF divides them at the end of a line, and are also written in one piece (line "
                f"{line + 1:,}: `{example}`): {joining_command(path)}"
            )


def _is_mostly_empty(cells: Sequence[str]) -> bool:
    empty = sum(not cell.strip() for cell in cells)
    return 2 * empty > len(cells) >= FEWEST_WITHOUT_LETTERS
