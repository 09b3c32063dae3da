"""The flag for translations that lack placeholders which are not recognised as such."""

import pytest

from nmt_cli.translation.quality.checker import CheckedSentence, QualityChecker
from nmt_cli.translation.quality.placeholders import is_placeholder_lost

CODES = (
    "{name}", "{{x}}", "{{ x }}", "[[user name]]", r"\n", "<b>", "</b>", "<1>",
    "<img src='a'>", "$name", "$HOME", "@user", "%name%", "%(name)s", "%1$s", "--force",
    "--dry-run", "max_length", "train()", "_get_a", "me@x.org",
    "{a/b-c}", "GX-4410-B", "AX-200/5", "https://x.org/a", "____", "`code`",
)  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_what_looks_like_code_must_be_in_the_translation(code: str) -> None:
    source = f"The dog {code} sleeps."
    assert is_placeholder_lost(source, "Der Hund schläft.")
    assert is_placeholder_lost(source, f"Der Hund {code[:-1]} schläft.")
    assert not is_placeholder_lost(source, f"Der {code}-Hund schläft.")
    assert is_placeholder_lost(f"{code} and {code}", f"{code} und")
    assert not is_placeholder_lost(f"{code} and {code}", f"{code} {code} und {code}")


@pytest.mark.parametrize(
    "source",
    [
        "The dog sleeps.", "{like this}", "a < b > c", "5 % of $US, $CAD or $5", "50%a", "[1]",
        "a--b -- c --D", "the _dog_ **sleeps**", "f (x) and ()", r"C:\dogs", "a__b", "tel: 5",
    ],
)  # fmt: skip
def test_other_signs_may_change(source: str) -> None:
    assert not is_placeholder_lost(source, "Der Hund")


def test_translations_are_flagged() -> None:
    checker = QualityChecker(("en", "de"))
    lost = [CheckedSentence("Call [[name]] now.", "Ruf jetzt Namen an.")]
    kept = [CheckedSentence("Call [[name]] now.", "Ruf jetzt [[name]] an.")]
    assert (checker.flags(lost), checker.flags(kept)) == ({"placeholder_lost"}, set())
