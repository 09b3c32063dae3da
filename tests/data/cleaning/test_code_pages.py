"""UTF-8 that was read as Windows-1251 or in another encoding of one byte a letter is repaired."""

import itertools

import pytest

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.letters.code_pages import (
    CODE_PAGE_SIGN,
    has_cut_code_page_letters,
    undo_code_pages,
)
from nmt_cli.data.cleaning.letters.mojibake import undo_mojibake
from nmt_cli.data.cleaning.repairs import Repaired, repair_sides

# Sentences by the encoding that they are read in.
SENTENCES = {
    "cp1251": (
        "Пі бұл жаґқын хөхү зотдо разон.", "Это «правда» — сказал Иван… Да!", "СССР, 1991 год.",
        "Її ґанок, ЄС і Європа", "Ђак је Џон, њега љуби.", "Größe für 5 €", "Příliš žluťoučký kůň",
    ),
    "koi8-r": ("Пі бұл хөхү.", "Это «правда» — сказал Иван…"),
    "cp1250": ("Příliš žluťoučký kůň pěl", "Zażółć gęślą jaźń", "Größe für 5 €", "știință, măr"),
    "cp1253": ("Ο γάτος είναι εδώ, «ναι»!", "Ξένοι"),
    "cp1254": ("Это правда, Иван!", "Ο γάτος"),
    "cp1255": ("שלום עולם, מה שלומך?",),
    "cp1256": ("السلام عليكم، كيف حالك؟", "این گربه است"),
    "cp1257": ("Mēs dzīvojam mājā.", "Täna õhtul sööme.", "Mes gyvename name, ačiū."),
}  # fmt: skip
CASES = [(encoding, text) for encoding, texts in SENTENCES.items() for text in texts]
CLEAN = [
    "«СССР», США» и РФ… №5 – ООН™", "НІ, СІРІ ВІ РІ!", "Сієста, Рівне, Її, Ні.", "РЋ СЂ",
    "Montenegrinisch (Kyrillisch, »З« und »Ж« vertauscht), »ß«", "Р. С. Т", "ЗакљСлова, об’єктів",
    "COMINCIÒ PIÙ", "ÎN ȚARĂ™ și MĂRĂŞTI", "ὁ Ἀχιλλεύς, «Ώ»", "المحدّد·لقيم·الموقع·الأفقي",
    "ĞŞİ, ağaç ışık", "Łódź, ŻÓŁĆ, Ĺ", "گربه، چه؟",
    # Words of letters of Windows-1256 in pairs, such as the Urdu word for `was`.
    "رہا تھا، اس", "١١ا، ١١ب، ڠون", "اور، ا؛ ض؟",
    # Samoan.
    "VAEGĀ’AU, Ā’AU",
]  # fmt: skip


def misread(text: str, encoding: str) -> str:
    """As browsers and editors read it: bytes that the encoding lacks are control characters."""
    characters = (
        chr(byte) if byte < 0x80 else bytes([byte]).decode(encoding, "replace")
        for byte in text.encode()
    )
    return "".join(
        chr(byte) if character == "\ufffd" else character
        for byte, character in zip(text.encode(), characters, strict=True)
    )


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_all_of_a_line_is_repaired(encoding: str, text: str) -> None:
    wrong = misread(text, encoding)
    assert CODE_PAGE_SIGN.search(wrong)
    # Some letters are the same bytes in Windows-1252.
    assert undo_mojibake(undo_code_pages(wrong)) == text
    if encoding not in ("cp1254", "cp1257"):
        assert undo_code_pages(misread(wrong, encoding)) == text


@pytest.mark.parametrize("text", [*itertools.chain(*SENTENCES.values()), *CLEAN])
def test_correct_text_is_left_alone(text: str) -> None:
    assert undo_code_pages(text) == text
    assert not has_cut_code_page_letters(text)


def test_single_words_are_repaired_beside_correct_ones() -> None:
    wrong = misread("правды нет", "cp1251")
    assert undo_code_pages(f"Вот {wrong} у нас") == "Вот правды нет у нас"
    # A single sequence may be meant.
    assert undo_code_pages("вот Р±") == "вот Р±"


@pytest.mark.parametrize("mark", ["\x98", "\ufffd", "?"])
def test_the_byte_that_windows_1251_lacks_may_be_a_mark(mark: str) -> None:
    text = "Иван и Илья?"
    wrong = misread(text, "cp1251")
    assert wrong.count("\x98") == 2
    assert undo_code_pages(wrong.replace("\x98", mark)) == text


@pytest.mark.parametrize("lost", ["\xa0", "\x98"])
def test_letters_that_have_lost_bytes_are_not_repaired_in_part(lost: str) -> None:
    """Other programs make a space of U+00A0, and remove U+0098."""
    damaged = misread("Решение: Россия и Иван", "cp1251").replace(
        lost, " " if lost > "\x9f" else ""
    )
    assert undo_code_pages(damaged) == damaged
    assert has_cut_code_page_letters(damaged)
    assert find_doubts([damaged], ["So it is."], ("xx", "en")).tolist() == [kinds.LOST_LETTERS]


def test_the_repair_is_counted_as_one_of_the_encoding() -> None:
    repaired = Repaired()
    text = "Пі бұл, Größe"
    src, _ = repair_sides([misread(text, "cp1251"), text], ["a", "b"], repaired)
    assert src == [text, text]
    assert repaired.lines == {kinds.MOJIBAKE: {0}}
    # Windows-1252 has some of these characters, too.
    text = "Příliš žluťoučký… kůň’s"
    src, _ = repair_sides([misread(text, "cp1250")], ["a"], repaired)
    assert src == [text]
