"""Shows the flags of a run of `nmt translate`: counts, a file of the lines, an exit code."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from nmt_cli.errors import QualityGateError, UsageError, did_you_mean
from nmt_cli.plurals import agreeing, counted
from nmt_cli.terminal.console import Console
from nmt_cli.translation.quality.flags import FLAGS

if TYPE_CHECKING:
    from nmt_cli.translation.result import Translation

# These are no reason to doubt a translation, have a warning of their own, or come with the flag
# that gives the reason. --flag-file lists the lines that have no other flag, too.
NOT_COUNTED = frozenset({"empty", "split", "failed", "term_missing", "source_kept"})
# What a reader of a translated document cannot see by its text alone.
OF_DOCUMENTS = ("number_mismatch", "markup_moved")
# So many empty translations are warned of even where there is no terminal.
FEWEST_EMPTY = 5
COLUMNS = ("line", "flags", "source", "translation")


def check_flags(names: list[str] | None) -> list[str] | None:
    """The names of --fail-on; raises UsageError if one of them is no flag."""
    for name in names or ():
        if name not in FLAGS:
            parts = [part.strip() for part in name.split(",")]
            if all(part in FLAGS for part in parts):
                hint = "repeat the option: " + " ".join(f"--fail-on {part}" for part in parts)
            else:
                hint = did_you_mean(name, list(FLAGS))
            raise UsageError(f"--fail-on: there is no flag `{name}`", hint)
    return names


class FlagReport:
    """Counts the flags of a run as its lines are translated."""

    def __init__(
        self, console: Console, fail_on: Collection[str] = (), file: BinaryIO | None = None
    ) -> None:
        """fail_on: flags that end the run with exit code 3; file: gets the flagged lines."""
        self._console = console
        self._fail_on = fail_on
        self._file = file
        self._counts: Counter[str] = Counter()
        self._doubtful = self._failing = 0
        # Empty translations of lines with text that did not fail.
        self._without_text = 0
        # The flags of the lines that are not doubtful, and the number of these lines.
        self._other_flags: Counter[str] = Counter()
        self._others = 0
        self._first_failing = ""
        if file is not None:
            file.write(("\t".join(COLUMNS) + "\n").encode())

    def add(self, index: int, translation: "Translation", place: str = "") -> None:
        """Count the flags of a line; index: from 0; place: where it stands in a document."""
        flags = translation.flags
        self._counts.update(flags)
        is_empty = translation.source.strip() and not translation.text.strip()
        if is_empty and "failed" not in flags:
            self._without_text += 1
        if not NOT_COUNTED.issuperset(flags):
            self._doubtful += 1
        elif flags:
            self._others += 1
            self._other_flags.update(flags)
        failing = [flag for flag in flags if flag in self._fail_on]
        if failing:
            self._failing += 1
            self._first_failing = self._first_failing or (
                f"{place or f'line {index + 1:,}'}: {failing[0]}"
            )
        if self._file is not None and flags:
            texts = (_cell(translation.source), _cell(translation.text))
            row = "\t".join([place or str(index + 1), ",".join(flags), *texts])
            self._file.write(f"{row}\n".encode("utf-8", "replace"))

    def show(self, left_out: Sequence[str], *, in_document: str = "") -> None:
        """Show the number of lines with each flag: on a terminal, or where flags are asked for.

        left_out: flags that this model never gives; in_document: how wrong numbers of a document
        are prevented, or "" for lines. Of a document, wrong numbers and tags are always counted.
        """
        failed, missing = self._counts["failed"], self._counts["term_missing"]
        if failed:
            self._console.warning(
                f"{counted(failed, 'line')} {agreeing(failed, 'has', 'have')} no translation: "
                "the model computes NaN or infinite values"
            )
        if missing:
            self._console.warning(
                f"{counted(missing, 'line')} {agreeing(missing, 'lacks', 'lack')} a term of the "
                "glossary: raise --max-extra-length"
            )
        is_asked = bool(self._fail_on) or self._file is not None
        if self._doubtful and (is_asked or self._console.interactive):
            counts = _listed(self._counts, [flag for flag in FLAGS if flag not in NOT_COUNTED])
            more = " (--flag-file lists them)" if self._file is None else ""
            if in_document and self._counts["number_mismatch"]:
                more += f"; {in_document}"
            self._console.note(f"{counted(self._doubtful, 'doubtful line')}: {counts}{more}")
        elif in_document:
            self._show_of_document(in_document)
        if self._without_text and not in_document:
            self._show_empty(is_asked=is_asked)
        if self._file is not None and self._others:
            self._console.note(
                f"--flag-file also lists {counted(self._others, 'other line')}: "
                f"{_listed(self._other_flags, FLAGS)}"
            )
        if left_out and is_asked:
            self._console.note(
                f"this model has no statistics for the flags {', '.join(left_out)}: `nmt prepare` "
                "and `nmt train` of this version keep them"
            )

    def _show_empty(self, *, is_asked: bool) -> None:
        """Show how many lines with text have no translation; is_asked: whether flags are."""
        text = (
            f"{counted(self._without_text, 'translation')} of text "
            f"{agreeing(self._without_text, 'is', 'are')} empty: --min-length 1 forbids this"
        )
        if self._without_text >= FEWEST_EMPTY:
            self._console.warning(text)
        elif is_asked or self._console.interactive:
            self._console.note(text)

    def _show_of_document(self, remedy: str) -> None:
        """Show how many segments have flags of OF_DOCUMENTS; remedy: against wrong numbers."""
        flags = [flag for flag in OF_DOCUMENTS if self._counts[flag]]
        if flags:
            segments = " and ".join(
                f"{counted(self._counts[flag], 'segment')} with {flag}" for flag in flags
            )
            more = f"; {remedy}" if "number_mismatch" in flags else ""
            self._console.note(f"{segments}: --flag-file FILE lists them{more}")

    def end(self) -> None:
        """Raise QualityGateError if a line has one of the flags of --fail-on."""
        if self._failing:
            raise QualityGateError(
                f"--fail-on: {counted(self._failing, 'line')} with a flag; the first is "
                f"{self._first_failing}",
                "the file of --flag-file lists them"
                if self._file
                else "--flag-file FILE lists them",
            )


def _listed(counts: Counter[str], flags: Iterable[str]) -> str:
    """The number of lines with each of these flags that occur."""
    return ", ".join(f"{counts[flag]:,} {flag}" for flag in flags if counts[flag])


def _cell(text: str) -> str:
    """A text as a cell of a table, on one line."""
    return " ".join(text.split())
