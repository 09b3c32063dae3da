"""The report of flags: what it counts, what it writes, and what it says."""

import io
from typing import Any

import pytest

from nmt_cli.cli.display.flags import FlagReport, check_flags
from nmt_cli.errors import QualityGateError, UsageError
from nmt_cli.terminal.console import Console
from nmt_cli.translation.quality.flags import FLAGS
from nmt_cli.translation.result import Translation

FLAGGED: list[tuple[str, ...]] = [
    ("copied",),
    (),
    (),
    ("empty",),
    ("split", "number_mismatch", "copied"),
    ("failed",),
    ("term_missing",),
]


def translation(flags: tuple[str, ...], source: str = "source", text: str = "text") -> Translation:
    return Translation(source, text, -1.0, (), flags)


def shown(
    *, fail_on: tuple[str, ...] = (), file: io.BytesIO | None = None, interactive: bool = False,
    flagged: list[tuple[str, ...]] = FLAGGED, left_out: tuple[str, ...] = (),
    in_document: str = "", quiet: bool = False,
) -> str:  # fmt: skip
    """The messages for a run whose lines have these flags, on one line."""
    stream = io.StringIO()
    report = FlagReport(Console(stream, interactive=interactive, quiet=quiet), fail_on, file)
    for index, flags in enumerate(flagged):
        report.add(index, translation(flags))
    report.show(left_out, in_document=in_document)
    return " ".join(stream.getvalue().split())


@pytest.mark.parametrize("asked", [{"fail_on": ("at_limit",)}, {"file": io.BytesIO()}])
def test_doubtful_lines_are_counted_where_flags_are_asked_for(asked: dict[str, Any]) -> None:
    said = shown(**asked)
    assert "2 doubtful lines: 1 number_mismatch, 2 copied" in said
    assert ("(--flag-file lists them)" in said) == ("file" not in asked)
    assert "doubtful" not in shown()


def test_doubtful_lines_are_counted_on_a_terminal() -> None:
    assert "2 doubtful lines" in shown(interactive=True)


def test_empty_translations_are_named_with_the_option_that_forbids_them() -> None:
    stream = io.StringIO()
    report = FlagReport(Console(stream, interactive=True))
    for index, (source, text) in enumerate([("A dog.", ""), ("", ""), ("A cat.", " "), ("A", "B")]):
        report.add(index, translation(("copied",) if source else ("empty",), source, text))
    report.add(4, translation(("failed",), "A", ""))
    report.show((), in_document="so")
    assert "min-length" not in stream.getvalue()
    report.show(())
    said = " ".join(stream.getvalue().split())
    assert said.endswith(" 2 translations of text are empty: --min-length 1 forbids this")
    assert "min-length" not in shown(interactive=True)


@pytest.mark.parametrize(("count", "is_warned"), [(4, False), (5, True)])
def test_many_empty_translations_are_named_in_a_pipe_too(count: int, is_warned: bool) -> None:
    stream = io.StringIO()
    report = FlagReport(Console(stream, quiet=True))
    for index in range(count):
        report.add(index, translation((), "A dog.", ""))
    report.show(())
    warning = f"warning: {count} translations of text are empty: --min-length 1 forbids this\n"
    assert stream.getvalue() == (warning if is_warned else "")


def test_wrong_numbers_and_tags_of_a_document_are_always_counted() -> None:
    flagged: list[tuple[str, ...]] = [("number_mismatch", "copied"), ("markup_moved",), ()]
    said = shown(flagged=flagged * 2, in_document="do so")
    assert said == (
        "2 segments with number_mismatch and 2 segments with markup_moved: "
        "--flag-file FILE lists them; do so"
    )
    tags = shown(flagged=flagged[1:], in_document="do so")
    assert tags == "1 segment with markup_moved: --flag-file FILE lists them"
    assert shown(flagged=[("copied",)], in_document="do so") == ""
    assert shown(flagged=flagged, in_document="do so", quiet=True) == ""
    assert shown(flagged=flagged) == ""
    assert "lists them); do so" in shown(flagged=flagged, in_document="do so", interactive=True)


def test_lines_that_are_no_reason_for_doubt_are_not_counted() -> None:
    flagged: list[tuple[str, ...]] = [("empty",), ("split",), ("empty", "split"), ("source_kept",)]
    assert shown(flagged=flagged, interactive=True, fail_on=("empty",)) == ""


def test_lines_of_the_flag_file_that_are_not_doubtful_are_counted_apart() -> None:
    file = io.BytesIO()
    text = shown(flagged=[*FLAGGED, ("empty", "split")], file=file)
    doubtful, others = 2, 4
    assert f"{doubtful} doubtful lines: " in text
    assert text.endswith(
        f"--flag-file also lists {others} other lines: 2 empty, 1 failed, 1 split, 1 term_missing"
    )
    assert file.getvalue().count(b"\n") - 1 == doubtful + others
    alone = shown(flagged=[("empty",)], file=io.BytesIO())
    assert alone == "--flag-file also lists 1 other line: 1 empty"
    assert "also" not in shown(flagged=[("copied",), ()], file=io.BytesIO())


def test_lines_without_translation_or_term_are_warned_of() -> None:
    text = shown(flagged=[("failed",), ("term_missing",), ("term_missing",)], interactive=True)
    assert text == (
        "warning: 1 line has no translation: the model computes NaN or infinite values "
        "warning: 2 lines lack a term of the glossary: raise --max-extra-length"
    )
    assert "warning" not in shown(flagged=[("copied",)], interactive=True)


def test_missing_statistics_are_named_where_flags_are_asked_for() -> None:
    missing = ("untranslated", "low_confidence")
    part = "no statistics for the flags untranslated, low_confidence:"
    assert part in shown(left_out=missing, fail_on=("copied",))
    assert part in shown(left_out=missing, file=io.BytesIO())
    assert "statistics" not in shown(left_out=missing, interactive=True)
    assert "statistics" not in shown(fail_on=("copied",))


def test_flag_file_has_one_row_of_one_line_for_each_flagged_line() -> None:
    file = io.BytesIO()
    report = FlagReport(Console(io.StringIO()), (), file)
    report.add(0, translation(("split", "copied"), "a\tb\nc", " d  e "))
    report.add(1, translation(()))
    report.add(2, translation(("copied",), "a\udcff", "é"))
    assert file.getvalue().decode() == (
        "line\tflags\tsource\ttranslation\n1\tsplit,copied\ta b c\td e\n3\tcopied\ta?\té\n"
    )


def test_run_fails_by_the_number_of_lines_and_the_first_of_them() -> None:
    report = FlagReport(Console(io.StringIO()), ("copied", "number_mismatch", "failed"))
    report.add(0, translation(("split",)))
    report.end()
    report.add(1_233, translation(("split", "number_mismatch", "copied")))
    report.add(2_000, translation(("copied",)))
    with pytest.raises(QualityGateError) as caught:
        report.end()
    assert caught.value.message == (
        "--fail-on: 2 lines with a flag; the first is line 1,234: number_mismatch"
    )
    assert caught.value.hint == "--flag-file FILE lists them"
    report = FlagReport(Console(io.StringIO()), ("copied",), io.BytesIO())
    report.add(0, translation(("copied",)))
    with pytest.raises(QualityGateError) as caught:
        report.end()
    assert caught.value.hint == "the file of --flag-file lists them"


def test_unknown_flag_is_refused_with_the_nearest_one_or_all_of_them() -> None:
    check_flags(list(FLAGS))
    with pytest.raises(UsageError) as caught:
        check_flags(["copied", "number_mismatsch"])
    assert caught.value.hint == "did you mean `number_mismatch`?"
    with pytest.raises(UsageError) as caught:
        check_flags(["xyz"])
    assert all(flag in caught.value.hint for flag in FLAGS)
