"""Numbers of --keep-numbers that the model writes in words."""

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.text.splitting import Piece
from nmt_cli.translation.markup.carrier import carry, placeholders_of
from nmt_cli.translation.markup.segments import Segment, copies_in
from nmt_cli.translation.translator import Translator


def words_replaced(line: str, text: str, languages: tuple[str, str]) -> list[str | None]:
    """The words of the translation that the numbers of the line are put in the place of."""
    source = parse_line(line, Kept(numbers=True))
    carrier = carry(source, [piece.raw for piece in placeholders_of(source)])
    segment = Segment(Piece(line, ""), 0, len(carrier.text), -1, ((1,), (1,)), text, languages)
    return [copy and text[copy.begin : copy.end] for copy in copies_in(carrier, segment)]


@pytest.mark.parametrize(
    ("line", "text", "replaced"),
    [
        ("2 dogs and 7 cats", "Zwei Hunde und 7 Katzen", ["Zwei", "7"]),
        ("21 of 3 of 3", "einundzwanzig, drei von drei", ["einundzwanzig", "drei", "drei"]),
        # Another number of such words, and words of the source, which they may translate.
        ("2 dogs", "Zwei Hunde und zwei Katzen", [None]),
        ("2 dogs and two cats", "Zwei Hunde und Katzen", [None]),
        # Other values, ordinals, what is no whole number, and the word of 1, which is an article.
        ("2 dogs", "Drei Hunde", [None]), ("2 dogs", "Der zweite Hund", [None]),
        ("2.0 dogs", "Zwei Hunde", [None]), ("1 dog", "Ein Hund", [None]),
    ],
)  # fmt: skip
def test_the_words_of_a_number_are_its_place(
    line: str, text: str, replaced: list[str | None]
) -> None:
    assert words_replaced(line, text, ("en", "de")) == replaced


def test_the_words_are_those_of_the_language_of_the_translation() -> None:
    assert words_replaced("2 chiens", "Zwei Hunde", ("fr", "de-AT")) == ["Zwei"]
    for languages in (("de", "en"), ("en", "nl"), ("", "")):
        assert words_replaced("2 dogs", "Zwei Hunde", languages) == [None]


def test_a_number_in_the_place_of_its_words_is_not_moved() -> None:
    config = byte_config({"languages.src": "en", "languages.tgt": "de"})
    translator = Translator(byte_model(config), config, byte_subwords())
    for prefix, is_moved in (("Zwei Hunde", False), ("Drei Hunde", True)):
        translation = translator.translate("2 dogs.", prefixes=prefix, keep_numbers=True)
        assert ("markup_moved" in translation.flags) is is_moved
        assert translation.text.startswith("2 Hunde") is not is_moved
