"""Placeholders of programs and comments of translators that only one side has."""

from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.preparation.prepare import prepare


def kinds_of(src: str, tgt: str) -> set[int]:
    """The kinds of a pair in both directions."""
    pairs = (src, tgt), (tgt, src)
    return {int(find_doubts([a], [b], ("xx", "yy"))[0]) for a, b in pairs}


@pytest.mark.parametrize(
    "line",
    [
        "ka {name} to", "ka {0} to", "ka {} to", "ka {{ user.name }} to", "ka ${x} to",
        "ka %(n)d to",
        "ka %s to", "%d ka", "ka %2$s to", "ka %-10d to", "ka %NAME% to", "<%= name %> ka",
        "{n, plural, one {# ka} other {# kas}}", "On {day, date} ka", "ka <0>to</0>", "ka <x/> to",
        'ka <Trans id="a">to', "ka 5% %s",
    ],
)  # fmt: skip
def test_placeholders_and_tags_on_one_side_are_found(line: str) -> None:
    assert kinds_of(line, "tra ble ing") == {kinds.ONE_PLACEHOLDER}
    assert kinds_of(line, line.replace("ka", "tra")) == {kinds.CLEAN}


@pytest.mark.parametrize(
    ("src", "tgt", "kind"),
    [
        ("ka {name}", "tra {nombre}", kinds.ONE_PLACEHOLDER),
        ("ka {a} {b}", "tra {b}", kinds.ONE_PLACEHOLDER),
        ("ka {{ name }}", "tra {{name}}", kinds.CLEAN),
        ("%s ka %s", "tra %2$s %1$s", kinds.CLEAN),
        # The format before a letter of another script.
        ("%s ka", "%s\u8bc1\u4e66", kinds.CLEAN),
        ("{n, plural, one {ka} other {kas}}", "{n, plural, other {tra}}", kinds.CLEAN),
        ("{n, plural, one {ka} other {kas}}", "{m, plural, other {tra}}", kinds.ONE_PLACEHOLDER),
        ("ka <file> to", "tra FILE ble", kinds.CLEAN),
        ("<0>ka</0>", "<b>tra</b>", kinds.CLEAN),
        ("ka 50 %Le to", "tra 50 percent", kinds.CLEAN),
        ("ka %50 to", "tra percent", kinds.CLEAN),
        ("ka ____ {n} to", "tra ... {n} ble", kinds.CLEAN),
        ("ka 100%% to", "tra cent pour cent 100", kinds.CLEAN),
        ("ka {all,none} to", "tra {tout,rien} ble", kinds.CLEAN),
        ("ka {...} to", "tra {\u2026} ble", kinds.CLEAN),
        ("5 % de ka", "5 percent", kinds.CLEAN),
    ],
)
def test_placeholders_may_be_written_in_another_way(src: str, tgt: str, kind: int) -> None:
    assert kinds_of(src, tgt) == {kind}


@pytest.mark.parametrize(
    "comment",
    [
        "[sic]", "(sic!)", "(?)", "(??)", "[unclear]", "(meaning unknown)", "(see note 3)",
        "[see the footnote below]", "(siehe Anm. 3)", "(vgl. Fu\u00dfnote 12)", "(voir la note)",
        "[translator's note: a play on words]", "(TN: his dog)", "(N.d.T.\u00a0: le chien)",
        "[Anm. d. \u00dc.: sein Hund]", "(nota del traductor)", "(lit. big house)",
        "(w\u00f6rtlich: gro\u00dfes Haus)", "[not translated]", "[illisible]", "( sic )",
        "[risas]", "(Laughter)", "[ música ]", "(Beifall)", "[rires]", "(sospiri)",
    ],
)  # fmt: skip
def test_comments_on_one_side_are_found(comment: str) -> None:
    line = f"ka to {comment} mi"
    assert kinds_of(line, "tra ble ing") == {kinds.ONE_COMMENT}
    # The other side may have it in its own language, and in brackets of another kind.
    for other in ("tra [ble] ing", "tra \uff08ble\uff09", "tra (sic) ing", "a) tra"):
        assert kinds_of(line, other) == {kinds.CLEAN}
    assert kinds_of(line, "tra (ble") == {kinds.ONE_COMMENT}


@pytest.mark.parametrize("text", ["(EU)", "[to]", "(see page 3)", "(note)", "(!)", "(sick)", "sic"])
def test_other_brackets_are_no_comments(text: str) -> None:
    assert kinds_of(f"ka to {text} mi", "tra ble ing") == {kinds.CLEAN}


def test_they_are_listed_and_dropped_by_clean(tmp_path: Path) -> None:
    dirty = [("ka {name} to", "tra ble"), ("ka lo", "tra ow %s ing"), ("ka [sic] mi", "spe ow")]
    train = write_pairs(tmp_path, "train", [*two_languages(300, 1), *dirty])
    for level, action in (("safe", "kept"), ("strict", "dropped")):
        config = tiny_config(data_train=[train], data_vocab_size=300, data_clean=level)
        corpus = prepare(config, tmp_path / "corpus", force=True, workers=1)
        found = {each.kind: (each.action, each.lines) for each in corpus.findings}
        assert found == {
            "placeholders on one side only ({name})": (action, ("301", "302")),
            "a comment on one side only ([sic])": (action, ("303",)),
        }


@pytest.mark.parametrize(
    ("side", "other", "is_found"),
    [
        ("Ka mi to da. / Mi ka to da li.", "So it is.", True),
        ("«Ka mi to da!» / «Mi ka to da?» / Ta mi to.", "So it is there.", True),
        ("Ka mi to da / Mi ka to da li", "So it is", True),
        # One of them may have a mark where the other has none by chance; these are no sentences.
        ("Ka mi to da. / Mi ka to da li", "So it is", False),
        ("Ka mi to / mi ka to da li", "So it is", False),
        ("Ka mi. / Mi ka.", "So", False),
        ("Ka mi to. / Ka mi to da ka mi to da ka mi to da.", "So it is", False),
        ("Ka mi to da. / Mi ka to da li.", "So it is. / It is so.", False),
        ("Ka mi to da. / Mi ka to da li.", "So it is there and here.", False),
        ("Ka mi to da. / 12 mi to da li.", "So it is.", False),
    ],
)
def test_several_translations_between_slashes_make_a_side_too_long(
    side: str, other: str, is_found: bool
) -> None:
    assert kinds_of(side, other) == {kinds.CUT_SHORT if is_found else kinds.CLEAN}
