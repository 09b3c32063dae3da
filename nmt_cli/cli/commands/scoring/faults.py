"""Warnings of `nmt score` about texts with faults, such as HTML entities, that others lack."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console

NamedLines = tuple[str, Sequence[str]]


def warn_of_placeholders(
    hypotheses: Sequence[str], references: Sequence[NamedLines], console: "Console"
) -> None:
    """Warn of lines of a reference that stand in place of translations, such as `TODO`."""
    from nmt_cli.data.cleaning.held_out.placeholders import lines_with_placeholders

    if console.quiet:
        return
    for name, lines in references:
        if faults := lines_with_placeholders(hypotheses, lines):
            console.warning(
                f"{_reference(name, lines)}, of which {faults}: all words of their hypotheses "
                "count as wrong; translate them, or remove these lines from all files"
            )


def warn_of_faults(
    hypotheses: NamedLines, references: Sequence[NamedLines], console: "Console"
) -> None:
    """Warn of references with faults of which training text is repaired, such as entities.

    The name of the hypotheses is "" if they are no file.
    """
    from nmt_cli.data.cleaning.held_out.faults import references_with_faults
    from nmt_cli.data.cleaning.kinds import ENTITY, KINDS, MARK
    from nmt_cli.data.cleaning.repairs import WRONG_ENCODINGS
    from nmt_cli.data.text.repair_commands import encoding_command, mark_command, unescape_command

    if console.quiet:
        return
    for name, lines in references:
        if faults := references_with_faults(hypotheses[1], lines):
            command = ""
            if KINDS[ENTITY].name in faults:
                command = f", for HTML entities by this command: {unescape_command(name)}"
                command += _same_command(hypotheses)
            if KINDS[MARK].name in faults:
                command += f", for combining marks by this command: {mark_command(name)}"
            if any(KINDS[kind].name in faults for kind in WRONG_ENCODINGS):
                command += ", for text read in another encoding by this command: "
                command += encoding_command(name)
            console.warning(
                f"{_reference(name, lines)}, of which {faults}, unlike their hypotheses; "
                "`nmt prepare` repairs training text of this, but references are scored as they "
                f"are, so that the scores are too low: correct the reference{command}"
            )


def warn_of_entities(
    hypotheses: NamedLines, references: Sequence[NamedLines], console: "Console"
) -> None:
    """Warn of hypotheses with HTML entities where no reference has any: they count as wrong."""
    from nmt_cli.data.cleaning.held_out.faults import lines_with_entities
    from nmt_cli.data.text.repair_commands import unescape_command

    if console.quiet:
        return
    name, lines = hypotheses
    if faults := lines_with_entities(lines, [text for _, text in references]):
        console.warning(
            f"`{name}` has {counted(len(lines), 'line')}, of which {faults}, unlike the "
            "references, so that these words count as wrong; if a tokeniser wrote them, this "
            f"command gives the characters: {unescape_command(name)}{_same_command(*references)}"
        )


def _same_command(*texts: NamedLines) -> str:
    """The commands for other files, if these have HTML entities in other lines; else ""."""
    from nmt_cli.data.cleaning.held_out.faults import first_entity
    from nmt_cli.data.text.repair_commands import unescape_command

    found = [(name, first_entity(lines)) for name, lines in texts]
    return "".join(
        f"; `{name}` has HTML entities, too (line {line:,}), so replace them in both files: "
        f"{unescape_command(name)}"
        for name, line in found
        if name and line
    )


def _reference(name: str, lines: Sequence[str]) -> str:
    return f"the reference `{name}` has {counted(len(lines), 'line')}"
