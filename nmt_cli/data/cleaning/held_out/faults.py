"""Warns of faults in validation and test text of which training text is repaired."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from unicodedata import is_normalized

from nmt_cli.data.cleaning.chunks import FIRST_LINES
from nmt_cli.data.cleaning.held_out.texts import HeldOutText
from nmt_cli.data.cleaning.kinds import ENTITY, KINDS, MARK, SUBWORD_MARK, UNICODE_FORM
from nmt_cli.data.cleaning.letters.combining_marks import mark_change, without_repeated_marks
from nmt_cli.data.cleaning.letters.side_letters import with_repaired_letters
from nmt_cli.data.cleaning.repairs import (
    WRONG_ENCODINGS,
    Repaired,
    escaped_characters,
    repair_lines,
    undo_wrong_encodings,
    unescape,
)
from nmt_cli.data.text.repair_commands import compose_command, encoding_command, mark_command
from nmt_cli.data.text.sanitize import remove_direction_marks, remove_invisible
from nmt_cli.data.text.shell_commands import JOIN_SUBWORDS

# Fewer lines, and a smaller share of them, hardly change a score, and may be right.
LEAST_LINES = 4
LEAST_SHARE = 0.005


def fault_notes(texts: Iterable[HeldOutText]) -> list[str]:
    """Return a warning for each held-out text whose lines have such faults."""
    return [
        f"{text.counted('pair')}: {faults}; training text is repaired of this, but this text "
        "is not changed, and is scored as it is, so that scores on these lines are too "
        f"low: correct its files{_remedy(faults, text)}"
        for text in texts
        if (faults := pairs_with_faults(text.src, text.tgt, first_line=text.line(0)))
    ]


def _remedy(faults: str, text: HeldOutText) -> str:
    """How files are corrected that have such faults, if a short command does it."""
    remedy = f", `@@` by `{JOIN_SUBWORDS}`" if KINDS[SUBWORD_MARK].name in faults else ""
    if KINDS[MARK].name in faults:
        sides = [without_repeated_marks(line) for line in text.src], text.tgt
        files = _files_to_change(text, sides, [mark_change(side) for side in sides])
        remedy += _by_commands("combining marks", map(mark_command, files))
    if any(KINDS[kind].name in faults for kind in WRONG_ENCODINGS):
        files = _files_to_change(text, (text.src, text.tgt), [undo_wrong_encodings] * 2)
        remedy += _by_commands("text read in another encoding", map(encoding_command, files))
    return remedy


def _by_commands(fault: str, commands: Iterable[str]) -> str:
    """What to correct by these commands; "" for none, as where a fault is written as entities."""
    shown = " and ".join(f"`{command}`" for command in commands)
    return f", {fault} by {shown}" if shown else ""


def _files_to_change(
    text: HeldOutText,
    sides: Sequence[Sequence[str]],
    changes: Sequence[Callable[[str], str]],
) -> list[str]:
    """The files of source or target of which these changes change a line; always a table."""
    if len(text.files) == 1:
        return [text.files[0]]
    return [
        file
        for file, side, change in zip(text.files, sides, changes, strict=False)
        if any(change(line) != line for line in side)
    ]


def form_notes(texts: Iterable[HeldOutText]) -> list[str]:
    """Return a warning for each held-out text with targets that are not in NFC.

    The form of a source does not matter: subwords change it.
    """
    notes = []
    for text in texts:
        lines = enumerate(text.tgt)
        forms = {UNICODE_FORM: {i for i, line in lines if not is_normalized("NFC", line)}}
        if faults := _listed(forms, len(text.tgt), text.line(0)):
            notes.append(
                f"{text.counted('target')}: {faults}, in which the same letters count "
                "as others; translations have the form NFC, so that scores on these lines are too "
                f"low; this command writes a copy in NFC: {compose_command(text.files[:2][-1])}"
            )
    return notes


def pairs_with_faults(src: Sequence[str], tgt: Sequence[str], *, first_line: int = 1) -> str:
    """How many pairs have faults of each kind, with the first lines; "" for none.

    first_line: the number of the first pair's line.

    What translating a source removes from it or repairs is no fault: the model does not see it.
    Another Unicode form has a warning of its own.
    """
    repaired = Repaired()
    read = with_repaired_letters(without_repeated_marks(_without_invisible(line)) for line in src)
    repair_lines(read, tgt, repaired)
    return _listed(_without_forms(repaired.lines), len(tgt), first_line)


def references_with_faults(hypotheses: Sequence[str], references: Sequence[str]) -> str:
    """How many references have faults that their hypotheses have not; as `pairs_with_faults`.

    A fault of both would not lower the score. Where other hypotheses have HTML entities, too, only
    lines count whose hypothesis has the character itself.
    """
    repaired = Repaired()
    repaired_hypotheses, repaired_references = repair_lines(hypotheses, references, repaired)
    only_references = {
        index
        for index, line in enumerate(hypotheses)
        if line == repaired_hypotheses[index] and references[index] != repaired_references[index]
    }
    faults = {
        kind: indices & only_references for kind, indices in _without_forms(repaired.lines).items()
    }
    if ENTITY in faults and first_entity(hypotheses):
        faults[ENTITY] = {
            index
            for index in faults[ENTITY]
            if any(mark in hypotheses[index] for mark in escaped_characters(references[index]))
        }
    return _listed(faults, len(references))


def lines_with_entities(lines: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    """How many lines have HTML entities where no line of the other texts has; "" for few.

    Where the other texts have some in other lines, only lines count of which one of the others has
    the character itself.

    >>> lines_with_entities(["a &amp; b"] * 4, [["a & b"] * 4])
    '4 have HTML entities (lines 1, 2, 3, 4)'
    >>> lines_with_entities(["a &quot;"] * 4 + ["b"], [["a"] * 4 + ["&quot; b"]])
    ''
    """
    indices = {
        index
        for index, (line, *rest) in enumerate(zip(lines, *others, strict=False))
        if has_entity(line) and not any(has_entity(text) for text in rest)
    }
    if indices and any(first_entity(other) for other in others):
        indices = {
            index
            for index in indices
            if any(
                mark in other[index]
                for mark in escaped_characters(lines[index])
                for other in others
            )
        }
    return _listed({ENTITY: indices}, len(lines))


def has_entity(line: str) -> bool:
    """Whether a line has an HTML entity."""
    return "&" in line and unescape(line) != line


def first_entity(lines: Sequence[str]) -> int:
    """The number of the first line with an HTML entity, counted from 1; 0 if there is none.

    >>> first_entity(["AT&T", "AT&amp;T"]), first_entity(["AT&T"])
    (2, 0)
    """
    return next((number for number, line in enumerate(lines, 1) if has_entity(line)), 0)


def _without_invisible(line: str) -> str:
    """Return a source without the characters that translating removes from it."""
    if not line.isprintable():
        line = remove_direction_marks(remove_invisible(line.replace("\ufeff", "")))
    return line


def _without_forms(faults: Mapping[int, set[int]]) -> dict[int, set[int]]:
    return {kind: indices for kind, indices in faults.items() if kind != UNICODE_FORM}


def _listed(faults: Mapping[int, set[int]], count: int, first_line: int = 1) -> str:
    """Name the kinds that many of `count` lines have; faults: the indices of lines by kind.

    first_line: the number of the line with the index 0.
    """
    named = []
    for kind, indices in sorted(faults.items()):
        if len(indices) >= max(LEAST_LINES, LEAST_SHARE * count):
            lines = first_lines(sorted(indices), first_line)
            named.append(f"{len(indices):,} have {KINDS[kind].name} (lines {lines})")
    return ", ".join(named)


def first_lines(indices: Sequence[int], first_line: int, most: int = FIRST_LINES) -> str:
    """The numbers of the first of some lines; first_line: that of the line with the index 0.

    most: so many are shown.

    >>> first_lines([0, 7], 2), first_lines(range(9), 1)
    ('2, 9', '1, 2, 3, 4, 5, ...')
    """
    numbers = ", ".join(f"{index + first_line:,}" for index in indices[:most])
    return f"{numbers}, ..." if len(indices) > most else numbers
