"""Tags around a number go around the same number of the translation."""

import pytest
from projections import aligned_by, job, project

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.number_alignment import are_numbers_moved

# An alignment as that of a weak model.
LINKS = [("$500", "L’"), ("500", "L’"), ("12,500", "doit"), ("5", "L’"), ("buyer", "500"),
         ("owes", "12")]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        ("The buyer owes <b>$500</b>.", "L’acheteur doit 500 $.", "L’acheteur doit <b>500 $</b>."),
        ("The buyer owes $<b>500</b>.", "L’acheteur doit 500 $.", "L’acheteur doit <b>500</b> $."),
        ("Owes <i><b>$12,500</b></i> now.", "Il doit 12 500 $ ici.",
         "Il doit <i><b>12 500 $</b></i> ici."),
        ("Owes <b>5%</b> of 500.", "L’on doit 5 % de 500.", "L’on doit <b>5 %</b> de 500."),
        ("Owes <ins>3.5</ins> and 35.0", "L’on doit 35,0 et 3,5",
         "L’on doit 35,0 et <ins>3,5</ins>"),
    ],
)  # fmt: skip
def test_tags_follow_their_number(line: str, target: str, expected: str) -> None:
    result = project(line, target, LINKS, language="fr")
    assert raw_text(result.pieces) == expected
    assert not result.moved


def test_pair_that_grows_around_a_number_has_the_flag() -> None:
    links = [("Act", "La"), ("The", "loi"), ("big", "grande")]
    result = project("<b>The big Act</b> 1985", "La 1985 grande loi", links, language="fr")
    assert raw_text(result.pieces) == "<b>La 1985 grande loi</b>"
    assert result.moved


def test_number_that_occurs_twice_is_left_to_the_alignment() -> None:
    result = project("Owes <b>5</b>.", "L’on doit 5 et 5.", LINKS, language="fr")
    assert raw_text(result.pieces).startswith("<b>L’")


@pytest.mark.parametrize(
    ("source", "target", "moved"),
    [
        ("<b>The Act</b> of 1985", "<b>La loi de 1985</b>", True),
        ("the <b>$1,985</b> owed", "les <b>dus</b> 1 985 $", True),
        ("<b>The Act</b> of 1985", "<b>La loi</b> de 1985", False),
        ("owes <b>3</b> dogs", "doit <b>trois</b> chiens", False),
        ("<b>5</b> of 5", "5 <b>sur</b> 5", False),
    ],
)
def test_pairs_around_numbers_on_one_side(source: str, target: str, moved: bool) -> None:
    assert are_numbers_moved(parse_line(source), parse_line(target)) is moved


@pytest.mark.parametrize(
    ("line", "target", "expected"),
    [
        ("costs <b>€89</b> now", "kostet 89 € jetzt", "kostet <b>89 €</b> jetzt"),
        ("costs <b>89 €</b> now", "kostet €89 jetzt", "kostet <b>€89</b> jetzt"),
        ("costs <b>€89</b> now", "kostet €89 jetzt", "kostet <b>€89</b> jetzt"),
        ("costs €<b>89</b> now", "kostet 89 € jetzt", "kostet <b>89</b> € jetzt"),
        ("costs <b>€89</b> now", "kostet 89 jetzt", "kostet <b>89</b> jetzt"),
        ("costs <b>€89</b> now", "kostet 89 jetzt € 5", "kostet <b>89</b> jetzt € 5"),
        ("a <b>89%</b> now", "ein % 89 jetzt", "ein <b>% 89</b> jetzt"),
    ],
)
def test_sign_of_a_kept_number_stays_in_its_pair(line: str, target: str, expected: str) -> None:
    source = parse_line(line, Kept(numbers=True))
    links = [("costs", "kostet"), ("a", "ein"), ("now", "jetzt"), ("89", "89")]
    carrier = carry(source, ["89"])
    [result] = aligned_by(links).project([job(source, carrier, [target])])
    assert raw_text(result.pieces) == expected
