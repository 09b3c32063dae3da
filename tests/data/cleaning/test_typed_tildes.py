"""Tildes behind letters become letters with a tilde, where the side has these."""

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.repairs import Repaired, repair_sides

SPANISH = ["El niño", "La señora", "El año", "Mañana", "España", "Un sueño"]


def repaired(*lines: str) -> list[str]:
    """The repaired lines behind those of a side with such letters."""
    src = [*SPANISH, *lines]
    record = Repaired()
    result, _ = repair_sides(src, ["a"] * len(src), record)
    changed = {index for index, line in enumerate(src) if result[index] != line}
    assert record.lines == ({kinds.ESCAPE: changed} if changed else {})
    return result[len(SPANISH) :]


def test_a_tilde_behind_a_letter_becomes_one_of_the_letter() -> None:
    assert repaired("man~ana y an~o", "N~ANDU", "sen~") == ["mañana y año", "ÑANDU", "señ"]


def test_letters_that_the_side_lacks_stay() -> None:
    lines = ["a~o y fla~o", "n ~ 5, ~n", "un n~ y an~~a", "/home/~nn"]
    assert repaired(*lines) == lines


def test_letters_that_are_mostly_typed_so_stay() -> None:
    for typed, is_repaired in ((6, True), (7, False)):
        assert (repaired(*["man~ana"] * typed)[0] == "mañana") == is_repaired


def test_decomposed_letters_show_it_too() -> None:
    side = [f"n\u0303a {number}" for number in range(5)]
    assert repair_sides([*side, "n~a"], ["a"] * 6, Repaired())[0][-1] == "ña"
