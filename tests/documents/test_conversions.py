"""Conversions of printf in catalogues: their arguments are those of the source, whatever moves."""

import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from document_samples import opened

from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Text, raw_text
from nmt_cli.documents.conversions import with_numbers

HEAD = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n\n'
)


def catalogue(*sources: str, flag: str = "c-format") -> str:
    """A catalogue with an entry for each source; one with `|` has two plural forms."""
    entries = []
    for source in sources:
        singular, _, plural = source.partition("|")
        entry = polib.POEntry(msgid=singular, flags=[flag] if flag else [])
        if plural:
            entry.msgid_plural, entry.msgstr_plural = plural, {0: "", 1: ""}
        entries.append(f"{entry}\n")
    return HEAD + "".join(entries)


def reversed_placeholders(segment: MarkedText) -> MarkedText:
    """A translation that has the placeholders in the opposite order."""
    placeholders = [piece for piece in segment if isinstance(piece, Placeholder)]
    return tuple(
        Text(piece.text.upper()) if isinstance(piece, Text) else placeholders.pop()
        for piece in segment
    )


def translated(text: str, translate=reversed_placeholders) -> str:
    document = opened(text, "po")
    return document.render(list(map(translate, document.segments))).decode()


def targets(text: str) -> list[str]:
    """The translations of the entries of a catalogue."""
    return [
        target
        for entry in polib.pofile(text)
        for target in ([entry.msgstr] if entry.msgstr else entry.msgstr_plural.values())
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%s of %d", "%2$d OF %1$s"),
        # Alike, but with different values.
        ("%s of %s", "%2$s OF %1$s"),
        ("%-5s has %.2f %% at %ld", "%3$ld HAS %2$.2f %% AT %1$-5s"),
        ("%s of {name} at %s", "%2$s OF {name} AT %1$s"),
        # An entry has numbers in all of its lines, or in none.
        ("%s of %d\nby %s\n%d\n", "%2$d OF %1$s\nBY %3$s\n%4$d\n"),
        ("%s is here\n\t%d gone", "%s IS HERE\n\t%d GONE"),
        ("&Copy %s to %s", "&COPY %2$s TO %1$s"),
        ("%d file of %s|%d files of %s", "%2$s FILE OF %1$d"),
        ("the %s", "THE %s"),
        # Nothing between them and a word.
        ("%sbuilt for %s", "%2$sBUILT FOR %1$s"),
        ("%d: %sbuilt", "%2$s: %1$dBUILT"),
        ("%dkg of %s", "%2$s OF %1$dkg"),
        ("no %sbuild", "NO %sBUILD"),
        ("%pB: %p of %d", "%3$d: %2$p OF %1$pB"),
        # The text of an error takes no value.
        ("%s in %d: %m", "%m IN %2$d: %1$s"),
        # What has numbers keeps them, and these move.
        ("%1$s of %2$d", "%2$d OF %1$s"),
    ],
)
def test_conversions_in_another_order_get_numbers(source: str, expected: str) -> None:
    text = translated(catalogue(source))
    assert targets(text)[0] == expected
    [entry] = polib.pofile(text)
    assert (entry.msgid, entry.msgid_plural) == tuple(source.partition("|")[::2])


@pytest.mark.parametrize(
    "source",
    [
        # These take two values.
        "%*d of %s", "%.*s of %d", "%s at %-*d",
        # These would be no placeholders, so that the model would translate them.
        "% d of %s", "5 %d of %s %", "100%d of %s",
        # Numbered already, or nothing to number.
        "%1$s of %2$s", "100%% of it", "{} of {}",
    ],
)  # fmt: skip
def test_sources_with_other_conversions_are_left_as_they_are(source: str) -> None:
    assert with_numbers(source, ["c-format"]) is None
    document = opened(catalogue(source), "po")
    assert list(map(raw_text, document.segments)) == [source]


def test_single_conversion_is_read_without_a_number() -> None:
    [segment] = opened(catalogue("the %s"), "po").segments
    assert raw_text(segment) == "the %s"


@pytest.mark.parametrize(
    ("flag", "is_numbered"),
    [("c-format", True), ("objc-format", True), ("php-format", True), ("java-printf-format", True),
     ("perl-format", True), ("ruby-format", True), ("python-format", False), ("", False),
     ("no-c-format", False), ("python-brace-format", False)],
)  # fmt: skip
def test_only_programs_that_know_numbers_get_them(flag: str, is_numbered: bool) -> None:
    [target] = targets(translated(catalogue("%s of %d", flag=flag)))
    # The others are put in order before they get into the document.
    assert target == ("%2$d OF %1$s" if is_numbered else "%d OF %s")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(" % de ", "%s %% de %d"), (" %% de ", "%s %% de %d"), (" %", "%s %%%d"), ("%", "%s%%%d"),
     (" %d’eau ", "%s %%d’eau %d")],
)  # fmt: skip
def test_per_cent_signs_of_the_model_are_literal(text: str, expected: str) -> None:
    def translate(segment: MarkedText) -> MarkedText:
        first, _, last = segment
        return first, Text(text), last

    assert targets(translated(catalogue("%s per cent of %d"), translate)) == [expected]
    single = translated(catalogue("5 of %d"), lambda segment: (Text(text), segment[-1]))
    assert targets(single) == [expected.removeprefix("%s")]
    other = translated(catalogue("%s of %d", flag=""), translate)
    assert targets(other) == [f"%s{text}%d"]


def test_gettext_accepts_the_translations(tmp_path: Path) -> None:
    if not (msgfmt := shutil.which("msgfmt")):
        pytest.skip("the tools of gettext are not installed")
    sources = (
        "%s of %d", "%s of %s at %d %%", "%s of %d\nby %s\n", "%d file of %s|%d files of %s",
        "%.2f%% of %-10s and %ld", "%sbuilt %dkg of %s", "no %sbuild", "%s: %m in %d", "%p: %d",
        "%pB: %s",
    )  # fmt: skip

    def is_valid(text: str) -> bool:
        (tmp_path / "a.po").write_text(text.replace("fuzzy, ", ""), encoding="utf-8")
        checked = subprocess.run(
            [msgfmt, "--check-format", "-o", "/dev/null", "a.po"], cwd=tmp_path, capture_output=True
        )
        return checked.returncode == 0

    text = translated(catalogue(*sources))
    assert "%2$d OF %1$s" in text
    assert is_valid(text)
    assert not is_valid(text.replace("%2$d OF %1$s", "%d OF %s"))
