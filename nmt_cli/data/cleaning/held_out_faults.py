"""Warns of faults in validation and test text of which training text is repaired."""

from collections.abc import Mapping, Sequence

from nmt_cli.data.cleaning.chunks import FIRST_LINES
from nmt_cli.data.cleaning.kinds import KINDS, UNICODE_FORM
from nmt_cli.data.cleaning.look_alikes import repair_look_alikes
from nmt_cli.data.cleaning.repairs import Repaired, repair_sides
from nmt_cli.data.text.sanitize import remove_direction_marks, remove_invisible
from nmt_cli.plurals import counted

# Fewer lines, and a smaller share of them, hardly change a score, and may be right.
LEAST_LINES = 4
LEAST_SHARE = 0.005

Sides = tuple[Sequence[str], Sequence[str]]


def fault_notes(texts: Mapping[str, Sides]) -> list[str]:
    """Return a warning for each held-out text, by name, whose lines have such faults."""
    return [
        f"{counted(len(tgt), f'{name} pair')}: {faults}; training text is repaired of this, but "
        "this text is not changed, and is scored as it is, so that scores on these lines are too "
        "low: correct its files"
        for name, (src, tgt) in texts.items()
        if (faults := pairs_with_faults(src, tgt))
    ]


def pairs_with_faults(src: Sequence[str], tgt: Sequence[str]) -> str:
    """How many pairs have faults of each kind, with the first lines; "" for none.

    What translating a source removes from it or repairs is no fault: the model does not see it. Nor
    is another Unicode form, since `nmt score` warns of that.
    """
    repaired = Repaired()
    repair_sides([_as_translated(line) for line in src], list(tgt), repaired)
    return _listed(repaired.lines, len(tgt))


def references_with_faults(hypotheses: Sequence[str], references: Sequence[str]) -> str:
    """How many references have faults that their hypotheses have not; as `pairs_with_faults`.

    A fault of both would not lower the score.
    """
    repaired = Repaired()
    repaired_hypotheses, repaired_references = repair_sides(
        list(hypotheses), list(references), repaired
    )
    only_references = {
        index
        for index, line in enumerate(hypotheses)
        if line == repaired_hypotheses[index] and references[index] != repaired_references[index]
    }
    faults = {kind: indices & only_references for kind, indices in repaired.lines.items()}
    return _listed(faults, len(references))


def _as_translated(line: str) -> str:
    """Return a source as the model sees it, with what translating removes from it and repairs."""
    if not line.isprintable():
        line = remove_direction_marks(remove_invisible(line.replace("\ufeff", "")))
    return repair_look_alikes(line)


def _listed(faults: Mapping[int, set[int]], count: int) -> str:
    """Name the kinds that many of `count` lines have; faults: the indices of lines by kind."""
    named = []
    for kind, indices in sorted(faults.items()):
        if kind != UNICODE_FORM and len(indices) >= max(LEAST_LINES, LEAST_SHARE * count):
            lines = ", ".join(f"{index + 1:,}" for index in sorted(indices)[:FIRST_LINES])
            more = ", ..." if len(indices) > FIRST_LINES else ""
            named.append(f"{len(indices):,} have {KINDS[kind].name} (lines {lines}{more})")
    return ", ".join(named)
