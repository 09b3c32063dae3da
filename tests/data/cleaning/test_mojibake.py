"""UTF-8 that was read in another encoding is repaired as a whole; other text is left alone."""

import re
import unicodedata

import pytest

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.letters.mojibake import has_cut_letters, undo_latin1, undo_mojibake
from nmt_cli.data.text.sanitize import clean_line

SENTENCES = (
    "Čeština je krásný jazyk.", "Ɛkúm Ɛ.", "Tiếng Việt rất đẹp và phong phú.",
    "Zażółć gęślą jaźń", "Où est-il ?", "ọjọ́ ìbí ẹ̀gbọ́n", "«Да», сказал он…", "አማርኛ", "ខ្មែរ", "ᏣᎳᎩ",
    "« Déjà vu », “so” – 10 €", "ʼŋɔ́n kʷa", "😀 oké",
)  # fmt: skip


def as_latin1(text: str) -> str:
    return text.encode().decode("latin-1")


def as_windows(text: str) -> str:
    """As browsers and editors read it: bytes that Windows-1252 lacks are control characters."""
    return "".join(
        bytes([byte]).decode("cp1252") if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else chr(byte)
        for byte in text.encode()
    )


@pytest.mark.parametrize("misread", [as_latin1, as_windows])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_all_of_a_line_is_repaired(sentence: str, misread) -> None:
    assert undo_mojibake(misread(sentence)) == sentence
    assert undo_mojibake(misread(misread(sentence))) == sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("für krÃ¡snÃ½ ÄŒech", "für krásný Čech"),
        ("für ÄŒech, ÄŒechy", "für Čech, Čechy"),
        ("ɛ: Tiáº¿ng Viá»‡t", "ɛ: Tiếng Việt"),
        ("Ã  la krÃ¡snÃ½ jazyk", "à la krásný jazyk"),
        ("Ã  la je â€“ jazyk", "Ã  la je – jazyk"),
    ],
)
def test_words_of_other_lines_are_repaired(text: str, expected: str) -> None:
    assert undo_mojibake(text) == expected


@pytest.mark.parametrize(
    "text",
    ["So ein Spaß…", "Viel Spaß“, sagt er. Spaß™", "CAFÉ” or CITTÀ’", "la qualité\xa0»", "IRMÃ»",
     "né…” là\xa0»", "Ä… I do not know", "ÄÖÜ äöü ß", "ASÍ¿o no? Sí.", "PREÇO: 5°", "“É…” – disse",
     # Guarani: a quotation mark as the letter of the glottal stop, and nasal vowels.
     "’Ã’ó", "ÑE’Ã’Ã Ã’Í", "Ko’Ã’ỹ", "Ã’ỹ",
     # Czech and Slovak.
     "PROHLÍŽEČ", "VÝŠKA A TÝŽDEN", "TÉŽ NÍŽE", "KŘÍŽ, KÔŠ", "Úžas.", "Úžasné"],
)  # fmt: skip
def test_correct_text_is_left_alone(text: str) -> None:
    assert undo_mojibake(text) == text


@pytest.mark.parametrize(
    "sentence", ["“PERÒ” COMINCIÒ l’été", "« Ò » — “Ò”", "PERÒ ỹ “Ò”", "你好 “Ò” ỹ"]
)
def test_letters_that_are_misread_as_a_letter_and_a_quotation_mark_are_repaired(
    sentence: str,
) -> None:
    assert undo_mojibake(as_windows(sentence)) == sentence


@pytest.mark.parametrize("misread", [as_latin1, as_windows])
@pytest.mark.parametrize(
    ("right", "damaged"),
    [("VÝŠKA je", "čeština"), ("TÝŽDEN", "žluťoučký kůň"), ("TÉŽ VÝŠKA", "je 5 m – dobrá"),
     ("KÔŠ a", "už „ano“"), ("ÚŽAS", "úžas"), ("KŘÍŽE", "kříže č. 5")],
)  # fmt: skip
def test_czech_words_in_capitals_stay_beside_repaired_words(
    right: str, damaged: str, misread
) -> None:
    for text in (f"{right} {misread(damaged)}", f"{misread(damaged)} {right}"):
        assert undo_mojibake(text) == text.replace(misread(damaged), damaged)


@pytest.mark.parametrize("misread", [as_latin1, as_windows])
def test_letters_whose_last_byte_became_a_space_are_repaired_at_the_end_of_a_word(misread) -> None:
    for text in ("СССР, 1991 г.", "В СССР", "voilà un café", "là, été ; (déjà)"):
        damaged = misread(text).replace("\xa0", " ")
        assert undo_mojibake(damaged) == text
        assert undo_mojibake(misread(damaged)) == text
        assert not has_cut_letters(text)
    # Elsewhere the space may be one between words, too.
    for text in ("Россия, СССР", "Рим", "СОТРУДНИКУ И", "à la déjà"):
        damaged = " ".join(misread(text).split())
        assert undo_mojibake(damaged) == damaged
        assert has_cut_letters(damaged)
        kind = find_doubts([damaged], ["So it is."], ("xx", "en")).tolist()
        assert kind == [kinds.LOST_LETTERS]


@pytest.mark.parametrize("misread", [as_latin1, as_windows])
@pytest.mark.parametrize(
    "sentence",
    ["ठीक अदेप है।", "यह ठीक है, अभी", "አማርኛ ሠላም ነው", "ហើយ ខ្មែរ",
     "C’est 🤠 bien"],
)  # fmt: skip
def test_letters_that_have_lost_bytes_are_not_repaired_in_part(sentence: str, misread) -> None:
    """Other programs make spaces of U+0085 and U+00A0, which are bytes of letters."""
    damaged = " ".join(misread(sentence).split())
    assert damaged != misread(sentence)
    assert has_cut_letters(damaged)
    assert undo_mojibake(damaged) == damaged
    # The bytes may have been lost between two misreadings.
    assert undo_mojibake(misread(damaged)) == misread(damaged)
    cleaned = clean_line(undo_latin1(damaged))
    assert find_doubts([cleaned], ["So it is."], ("xx", "en")).tolist() == [kinds.LOST_LETTERS]


@pytest.mark.parametrize("misread", [as_latin1, as_windows])
def test_letters_of_four_bytes_may_have_lost_some(misread) -> None:
    damaged = " ".join(misread("𐓏𐓠 𐓘𐓠 é").split())
    assert has_cut_letters(damaged)
    assert undo_mojibake(damaged) == damaged


@pytest.mark.parametrize("text", ["garáž nebo garáž, „garáž“", "níže a níže, „níž“", "áž áž™"])
def test_letters_that_czech_has_side_by_side_have_lost_no_bytes(text: str) -> None:
    assert not has_cut_letters(text)


@pytest.mark.parametrize(
    "sentence",
    ["Fɔ̀ mɛ̀ lá tse pɛ, nɔ gbu fan.", "Kudɔla ŋukpun bɔ̀má Kofi mà.", "Ni puno tsò men gbí.",
     "Čí byl náš Ďábel, Árpád", "Người Việt rất đẹp và phong phú", "Ŋ́ lá KPƐ", "mɛ̀ Ŋ́ LÁ",
     "Ni puno tsó men."],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["?", "\ufffd"])
def test_text_with_question_marks_in_place_of_bytes_is_not_repaired_in_part(
    sentence: str, mark: str
) -> None:
    """Some programs write them for the bytes that Windows-1252 lacks."""
    form = "NFC" if "ệ" in sentence else "NFD"
    misread = as_windows(unicodedata.normalize(form, sentence))
    damaged = re.sub("[\x81\x8d\x8f\x90\x9d]", lambda _: mark, misread)
    assert damaged != misread
    assert undo_mojibake(damaged) == damaged
    # The bytes may have been lost between two misreadings.
    assert undo_mojibake(as_windows(damaged)) == as_windows(damaged)
    kind = kinds.LOST_LETTERS if mark == "?" else kinds.REPLACEMENT
    assert find_doubts([damaged], ["Is it so?"], ("xx", "en")).tolist() == [kind]


@pytest.mark.parametrize("text", ["mÉ›Ì€ PERÃ’?", "é? Ã©tÃ©", "mÉ›Ì€? lÉ”Ì€?"])
def test_questions_in_misread_text_have_lost_nothing(text: str) -> None:
    repaired = undo_mojibake(text)
    assert repaired != text
    assert not has_cut_letters(repaired)
    assert repaired.count("?") == text.count("?")


@pytest.mark.parametrize("text", ["PERÒ?", "PERÒ? « CAFÉ? »", "Spaß? été?", "l’été, quoi?"])
def test_questions_have_lost_nothing(text: str) -> None:
    assert not has_cut_letters(text)
    assert undo_mojibake(text) == text


@pytest.mark.parametrize(
    "sentence", ["Kofi numu Abla wi fɛyɔwo.", "Nye lasɛ nyofo.", "fɛ, ŋ̈ yɔ", "Kɔ ba. Ɛ yɛ."]
)
def test_letters_that_are_misread_as_a_capital_and_a_quotation_mark_are_repaired(
    sentence: str,
) -> None:
    assert undo_mojibake(as_windows(sentence)) == sentence


def test_remains_of_ligatures_within_words_are_removed() -> None:
    assert (
        undo_latin1("effl\x87uent, fl\x80ap, signi\x82fication") == "effluent, flap, signification"
    )
    assert undo_latin1("feble\x97essent, l\x91eau, 5\x80") == "feble—essent, l‘eau, 5€"
