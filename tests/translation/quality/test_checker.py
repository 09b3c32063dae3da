"""Flags of doubtful translations."""

import dataclasses

import numpy as np
import pytest

from nmt_cli.data.cleaning.letters.mojibake import undo_mojibake
from nmt_cli.data.cleaning.numbers.comparison import numbers_changed
from nmt_cli.data.cleaning.numbers.enumerations import is_enumeration_lost
from nmt_cli.data.corpus.text_statistics import LENGTH_BOUNDS, SideStatistics, TextStatistics
from nmt_cli.data.languages.trigrams import trigram_counts
from nmt_cli.translation.quality.checker import CheckedSentence, Confidence, QualityChecker
from nmt_cli.translation.quality.flags import FLAGS, NEED_STATISTICS, in_order

ENGLISH = ["the small dog sleeps in the house", "where is the train to the city"] * 40
GERMAN = ["der kleine hund schläft im haus", "wo ist der zug in die stadt"] * 40


def text_of(lines: list[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)


def odds() -> np.ndarray:
    counts = np.stack([trigram_counts(text_of(lines)) for lines in (ENGLISH, GERMAN)]) + 1.0
    shares = np.log(counts / counts.sum(1, keepdims=True))
    return (shares[0] - shares[1]).astype(np.float32)


STATISTICS = TextStatistics(
    SideStatistics("en"), SideStatistics("de"), 80, ((0.5, 2.0),) * len(LENGTH_BOUNDS), odds()
)
CHECKER = QualityChecker(("en", "de"), STATISTICS, Confidence(-1.0, -5.0))
GOOD = CheckedSentence(
    "The small dog sleeps.", "Der kleine Hund schläft.", [-0.1, -0.2, -0.1, -0.05]
)


def flags(source: str, text: str, scores: tuple[float, ...] = ()) -> set[str]:
    return CHECKER.flags([CheckedSentence(source, text, scores)])


def test_good_translation_has_no_flags() -> None:
    assert CHECKER.flags([GOOD]) == set()


@pytest.mark.parametrize(
    ("source", "text", "mismatch"),
    [
        ("I have 3 dogs.", "Ich habe 5 Hunde.", True),
        ("I have 3 dogs.", "Ich habe drei Hunde.", False),
        ("It costs 1,000 dollars.", "Es kostet 1.000 Dollar.", False),
        ("We met in 1989.", "Wir trafen uns 1998.", True),
        ("We met in 1989.", "Wir trafen uns.", True),
        ("They came with 47 men.", "Sie kamen mit Männern.", True),
        ("It is 20 miles away.", "Es ist zwanzig Meilen weg.", False),
        ("At 3 pm.", "Um 15 Uhr.", False),
        ("Nine dogs.", "9 Hunde.", False),
        ("Some dogs.", "87 Hunde.", True),
        ("It costs 250 euros.", "Es kostet 2.", True),
        ("It costs 1000 euros.", "Es kostet 100 Euro.", True),
        ("It costs 20 euros.", "Es kostet 200 Euro.", True),
        ("It costs 347 euros.", "Es kostet 3,47 Euro.", True),
        ("It costs 3.47 euros.", "Es kostet 3,47 Euro.", False),
        ("It costs 1.5 million.", "Es kostet 1.500.000.", False),
        ("In the 1990s.", "In den 90er Jahren.", False),
        # References: their digits may occur in other numbers, and are never written out.
        ("Under subsection 12(3).", "Nach Absatz 12(1).", True),
        ("Under subsection 15(3).", "Nach Absatz 15(10).", True),
        ("Under subsection 12(11).", "Nach Absatz 12(10).", True),
        ("Under subsection 11(1).", "Nach dem Absatz.", True),
        ("Under subsection (1).", "Nach dem Absatz.", True),
        ("Under this subsection.", "Nach Absatz (1).", True),
        ("Under subsection 5(1)(b).", "Nach Absatz 5(1) b).", False),
        ("The fee [1] is due.", "Die Gebühr ist fällig.", True),
        ("The fee [1] is due.", "Die Gebühr [1] ist fällig.", False),
        # Superscript and subscript numbers.
        ("A hall of 65 m².", "Eine Halle von 65 m.", True),
        ("A hall of 65 m.", "Eine Halle von 65 m².", True),
        ("A hall of 65 m².", "Eine Halle von 65 Quadratmetern.", False),
        ("A hall of 65 m².", "Eine Halle von 65 m2.", False),
        ("The Minister² decides.", "Der Minister entscheidet.", True),
        ("The Minister² decides.", "Der Minister ² entscheidet.", False),
        ("The “fee”¹² is due.", "Die Gebühr² ist fällig.", True),
        ("CO₂ is a gas.", "CO ist ein Gas.", True),
        ("CO₂ is a gas.", "Kohlendioxid ist ein Gas.", False),
        ("Use 10⁶ of them.", "Nimm 10 davon.", True),
        ("Use 10⁶ of them.", "Nimm 10⁶ davon.", False),
        ("Up to 1000² times.", "Bis zu millionenmal.", False),
        # The same digits elsewhere do not stand for it.
        ("Rules 12(3)¹ and 13(4)².", "Regeln 12(3) und 13(4).", True),
        ("The licence² in section 2.", "Die Lizenz in Abschnitt 2.", True),
        ("The licence² in section 2.", "Die Lizenz2 in Abschnitt 2.", False),
        # Amounts of money, parts of numbers, and numbers that became one.
        ("Replace it by $1,375.20 of it.", "Ersetze es.", True),
        ("Replace it by $12,480.00 of it.", "Ersetze es.", True),
        ("Replace it by $4,500 of it.", "Ersetze es.", True),
        ("Replace it by 50 € of it.", "Ersetze es.", True),
        ("Replace it by 4\u2009500 $ of it.", "Ersetze es.", True),
        ("Replace it by $4,500.", "Ersetze es durch viertausendfünfhundert Dollar.", False),
        ("Replace it by 4,500 of it.", "Ersetze es durch viertausendfünfhundert.", False),
        ("Give 10 € of it.", "Gib zehn davon.", True),
        ("Give 10 € of it.", "Gib zehn Euro davon.", False),
        ("1,250 dollars (5%).", "1 250 Dollar (10 %).", True),
        ("Sections 5, 6 and 7.", "Artikel 5, 5 und 7.", True),
        ("The act of 1990-91, no. 6.", "Das Gesetz von 1990-1991, Nr. 6.", False),
        ("Under 7(1)(e)(ii)(A).", "Nach 7(1)e)(iii)(A).", True),
        ("Under 7(1)(e)(ii)(A).", "Nach 7(1)e)(ii)(B).", True),
        ("Under 7(1)(e)(ii)(A).", "Nach 7 Absatz 1 e) ii) A).", False),
        ("A field of 12,500.20 acres.", "Ein Feld.", True),
        ("A field of 12,480.00 acres.", "Ein Feld.", True),
        ("A field of 12,500.00 acres.", "Ein Feld von zwölfeinhalbtausend Morgen.", False),
        ("The amounts of 125, 12 and 55.", "Die Beträge 12-55.", True),
        ("The policy 10-200-3000.", "Die Police 10-200.", True),
        ("The amount of 125 in section 5.", "Der Betrag 1255.", True),
        ("Since 2020-01-23.", "Seit 20200123.", False),
        # Several numbers, all of which differ.
        ("$1,300 and $1,300.", "1 000 000 000 $.", True),
        ("$1,250.50 or $1'250.50.", "250 000 000 $.", True),
        ("From $5,000 to $7,000.", "Von 5 000 000 bis 7 000 000 $.", True),
        ("From 5 to 7 million.", "Von 5 000 000 bis 7 000 000.", False),
        ("Under subsection 12(3).", "Nach Absatz (3) von 12.", False),
        ("Since May 5, 2015.", "Seit 05.05.2015.", False),
        ("On May 5 three came.", "Am 05.05. kamen 3.", False),
        ("Of 15 dogs, 5 sleep.", "Von 15 Hunden schläft 1.", True),
        ("Call 12345.", "Ruf 12-345 an.", False),
        ("From 1990 to 91.", "Von 1990 bis 1991.", False),
        # The same numbers in another context.
        ("Under section 12A.", "Nach Artikel 12B.", True),
        ("Under section 12A.", "Nach Artikel 12.", True),
        ("Under section 12A.", "Nach Artikel 12 a.", False),
        ("Under section 12-A.", "Nach Artikel 12-B.", True),
        ("Under section 12-A.", "Nach Artikel 12‑A.", False),
        ("Under section 12-A.3.", "Nach Artikel 12.A.3.", False),
        ("A cable of 20C and 5M.", "Ein Kabel von 20 und 5 Mio.", False),
        ("At -5 °C it stops.", "Bei 5 °C steht es.", True),
        ("At -5 °C it stops.", "Bei minus 5 °C steht es.", False),
        ("At −5 % it stops.", "Bei - 5 % steht es.", False),
        ("It costs $20 for 30 days.", "Es kostet 30 $ für 20 Tage.", True),
        ("It costs $20 for 30 days.", "In 30 Tagen 20 $.", False),
        ("5% of 20 men.", "20 % von 5 Leuten.", True),
        ("A debt of $3.5 billion.", "Eine Schuld von 3,5 Millionen $.", True),
        ("A debt of 3.5 million.", "Eine Schuld von 3,5 Milliarden.", True),
        ("A debt of $3.5 billion.", "Eine Schuld von 3,5 Mrd. $.", False),
        ("A debt of $3.5 billion.", "Eine Schuld von 3.500 Millionen $.", False),
        ("It costs $1,000.", "Es kostet 1 $.", True),
        ("It costs $1 million.", "Es kostet 1 Million $.", False),
        ("It costs $5 or $5,000.", "Es kostet 5 $ oder 5.000 $.", False),
        ("A debt of $1.5 million.", "Eine Schuld von 1.500.000 $.", False),
        ("Under section 12F.", "Nach Artikel 12G.", True),
        ("Since 5 March 2026.", "Seit März 2026.", True),
        ("Since March 5, 2026.", "Seit März 2026.", True),
        ("Since 1 March 2026.", "Seit dem ersten März 2026.", False),
        ("Since May 1, 2023.", "Seit 2023.", True),
        ("Since May 1, 2023.", "Depuis le premier mai 2023.", False),
        # Zeros make another number, unless a word such as million stands for them.
        ("Of 2 men and 100 women.", "Von 200 Leuten.", True),
        ("After 60 days and 9 hours.", "Nach 90.", True),
        ("From 8:30 on.", "Ab 830.", True),
        ("With $2.5 million.", "Mit 2.500.000 $.", False),
        # What is never written out.
        ("Under section 7.", "Nach diesem Gesetz.", True),
        ("Under section 7.", "Nach Artikel VIII.", True),
        ("Under section 12.", "Selon l'article XII.", False),
        ("The chapter of 3 men.", "Das Kapitel von drei Leuten.", False),
        ("At 40 °C it stops.", "Bei Hitze steht es.", True),
        ("At 30 km/h it stops.", "Bei dieser Fahrt steht es.", True),
        ("Write to K1A 0N5.", "Schreib.", True),
        ("An A320 and an A4.", "Ein A 320 und ein Blatt.", False),
        ("The carrier[1] of 8(1).", "Der Träger von 8(1).", True),
        ("The carrier[1] of 8(1).", "Der Träger [1] von 8(1).", False),
        ("Of the 19th century.", "Du XIXe siècle.", False),
        ("Of the 19th century.", "Du XXIe siècle.", True),
        # A century by its first year.
        ("Of the 1700s and 1800's.", "Des 18. und 19. Jahrhunderts.", False),
        ("Of the 1800s.", "Des 18. Jahrhunderts.", True),
        ("Of the 1800s.", "Du XIXe siècle.", False),
        ("Of the 19th century.", "Der 1800er Jahre.", False),
        ("Of the 19th century.", "Des années 1800.", False),
        ("Of the year 1800.", "Des 19. Jahrhunderts.", True),
        # Marks of items in running text.
        ("He shall (a) keep it, (b) send it and (c) pay.", "Il doit a) a) garder.", True),
        ("He shall (a) keep it and (b) send it.", "Il doit a) garder, b) envoyer.", False),
        ("He shall (c) keep it and (d) send it.", "Il doit garder et l’envoyer.", False),
        ("He shall (a) keep it and (b) send it.", "Er muss es a halten und b senden.", False),
        ("He shall (c) keep (d) it, (a) it, (b) it.", "Il doit a) d’un b’un.", True),
        ("He must 1) keep it, 2) send it and 3) pay.", "Il doit le garder et payer.", True),
        ("He must 1) keep it and 2) send it.", "Il doit 1° le garder, 2° l’envoyer.", False),
        ("a record, and (b) a report", "un dossier et un rapport", True),
        ("a record, and (b) a report", "un dossier et b) un rapport", False),
        ("under paragraph (b) of it", "en vertu de cela", False),
        ("the dog(s) (see 1) or cat(s) (see 2)", "les chiens (1) et les chats (2)", False),
        ("He sees (i) a dog, (ii) a cat.", "Il voit un chien, un chat.", True),
        ("See (a) a dog, (b) a cat.", "Смотри (а) собаку, (б) кошку.", False),
        ("See （1） a dog, （2） a cat.", "Voir un chien.", True),
        # A letter before the sentence, or an initial.
        ("A. The dog sleeps.", "Le chien dort.", True),
        ("A. The dog sleeps.", "Un chien dort a.", True),
        ("B. Smith sleeps.", "Il dort, B. Smith.", False),
        ("B. Smith sleeps.", "Б. Смит спит.", False),
        ("M. Smith dort.", "Mr Smith sleeps.", False),
        ("A. small dog", "un petit chien", False),
    ],
)
def test_number_mismatch(source: str, text: str, mismatch: bool) -> None:
    assert ("number_mismatch" in flags(source, text)) == mismatch


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # A number is dropped, though nothing stands in its place.
        ("fr", "200 judges came.", "Des juges sont venus.", True),
        ("fr", "200 judges came.", "Un juge est venu.", True),
        ("fr", "200 judges came.", "Deux cents juges sont venus.", False),
        ("fr", "200 judges came.", "Trois juges sont venus.", True),
        ("fr", "12 judges came.", "Une douzaine de juges est venue.", False),
        ("de", "200 judges came.", "Richter kamen.", True),
        ("es", "200 judges came.", "Vinieron unos jueces.", True),
        ("de-AT", "200 judges came.", "Richter kamen.", True),
        ("fi", "200 judges came.", "Tuomarit tulivat.", False),
        # One or zero may be an article, and others stand for something else than a number.
        ("fr", "1 judge came.", "Le juge est venu.", False),
        ("fr", "0 judges came.", "Personne n'est venu.", False),
        ("fr", "15 per cent of it.", "15 p.\u00a0100 de cela.", False),
        ("fr", "15 per cent of it.", "15\u2009p.\u2009100 de cela.", False),
        ("fr", "100% of it.", "La totalité.", False),
        ("de", "2-butanone is a gas.", "Butanon ist ein Gas.", False),
        ("de", "He came on December 7, 1941.", "Er kam am 7.12.1941.", False),
        ("de", "He came on 2026-12-07.", "Er kam am 7. Dezember 2026.", False),
        ("de", "20 years in prison.", "Eine zwanzigjährige Strafe.", False),
        ("de", "Once I am in my thirties.", "Wenn ich über 30 bin.", False),
        ("fr", "The men of group 12.", "Les hommes du groupe XII.", False),
        # Numbers in words, also in those of ordinals.
        ("fr", "21 men came.", "Vingt et un hommes sont venus.", False),
        ("fr", "21 men came.", "Vingt-deux hommes sont venus.", True),
        ("fr", "The 21st man.", "Le vingt et unième homme.", False),
        ("de", "The 21st man.", "Der einundzwanzigste Mann.", False),
        ("es", "1,234 men.", "Mil doscientos treinta y cuatro hombres.", False),
        ("de", "twenty-one men", "21 Leute", False),
        ("fi", "twenty-one men", "21", False),
        ("fr", "It is -5 °C.", "Il fait moins cinq degrés.", False),
        ("fr", "It is -5 °C.", "Il fait cinq degrés.", True),
        ("fr", "It costs $1 billion.", "Il coûte 1 000 000 000 $.", False),
        ("fr", "At 8:30 he came.", "À huit heures trente il est venu.", False),
        # References have digits; a word is no reference.
        ("fr", "Under subsection (2).", "Les deux chambres.", True),
        ("fr", "Under section 2.", "Les deux chambres.", True),
    ],
)
def test_number_words(language: str, source: str, text: str, mismatch: bool) -> None:
    checker = QualityChecker(("en", language))
    assert ("number_mismatch" in checker.flags([CheckedSentence(source, text)])) == mismatch


@pytest.mark.parametrize(
    ("source", "text", "mismatch"),
    [
        ("Lies Mk 4,4.", "Read Mk 4:4.", False),
        ("Lies Mk 4.4.", "Read Mk 4:4.", False),
        ("Lies Mk 4,4 und 5,5.", "Read Mk 5:5 and 4:4.", False),
        ("Lies Mk 4,4.", "Read Mk 4:5.", True),
    ],
)
def test_verses_may_have_a_colon_or_a_comma(source: str, text: str, mismatch: bool) -> None:
    assert numbers_changed(source, text, ("de", "en")) == mismatch
    assert numbers_changed(text, source, ("en", "de")) == mismatch


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "中文",
        "ab",
        "7",
        "7 ",
        "1,",
        "a² ",
        "²",
        "12-3",
        "$5 ",
        "(7)",
        "7(a)",
        "(a) b, (b) ",
        "a) (",
        "É…",
        "Ã©",
        "7A ",
        "-5 °",
        "5 $",
        "5 % ",
        "5 bn ",
        "5 March 2026 ",
        "March 5, ",
        "XIX ",
        "1:1 ",
        "4,4 4:4 ",
        "two ",
        "hundert",
        "twenty-",
        "ein",
        "two hundred and ",
        "5 million ",
    ],
)
def test_numbers_of_endless_text_are_compared_in_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    numbers_changed(text, text[: len(text) // 2])
    for language in ("en", "de", "fr", "es"):
        numbers_changed(text, f"{text[: len(text) // 2]} 21", (language, language))
    is_enumeration_lost(text, text[: len(text) // 2])
    undo_mojibake(text)


def test_half_a_character() -> None:
    assert "unknown_words" in flags("A dog.", "Ein Hund r\ufffd")
    assert "unknown_words" not in flags("A \ufffd dog.", "Ein \ufffd Hund.")
    assert "unknown_words" not in flags(GOOD.source, GOOD.text)


def test_copied() -> None:
    assert "copied" in flags("The small dog sleeps.", "the small dog sleeps")
    assert "copied" in flags("Lee sleeps here.", "Lee sleeps here.")
    assert "copied" not in flags("Anna Berg 5100", "Anna Berg 5100")
    # One word, although its vowel signs are no letters.
    assert "copied" not in flags("लिव्रेस\u200cमे 7", "लिव्रेस\u200cमे 7")
    assert "copied" in flags("मे लिव्रेस क्हि", "मे लिव्रेस क्हि")
    assert "copied" not in flags(GOOD.source, GOOD.text)


def test_untranslated_is_text_in_the_source_language() -> None:
    source = "the small dog sleeps in the house"
    assert "untranslated" in flags(source, "where is the train to the city")
    assert "untranslated" not in flags(source, "wo ist der zug in die stadt")
    # Neither language, and bytes that are no text.
    assert "untranslated" not in flags("Anna", "Anna")
    assert "untranslated" not in flags("Anna", "\udcff")


def test_languages_that_are_too_similar_are_not_checked() -> None:
    similar = dataclasses.replace(STATISTICS, language_odds=np.zeros(0, np.float32))
    checker = QualityChecker(("en", "de"), similar)
    assert checker.flags([CheckedSentence(ENGLISH[0], ENGLISH[1])]) == set()


def test_length_outlier() -> None:
    source = "x" * 20
    for length, is_outlier in ((9, True), (10, False), (40, False), (41, True), (0, True)):
        assert ("length_outlier" in flags(source, "y" * length)) == is_outlier


def test_length_ratios_are_those_of_the_length() -> None:
    ratios = ((0.1, 9.0),) + ((0.5, 2.0),) * (len(LENGTH_BOUNDS) - 1)
    checker = QualityChecker(("en", "de"), dataclasses.replace(STATISTICS, length_ratios=ratios))
    short, long = (CheckedSentence("x" * length, "y" * length * 4) for length in (10, 11))
    assert "length_outlier" not in checker.flags([short])
    assert "length_outlier" in checker.flags([long])


def test_translation_of_one_character_is_never_too_long() -> None:
    ratios = ((0.0, 0.4),) * len(LENGTH_BOUNDS)
    checker = QualityChecker(("en", "zh"), dataclasses.replace(STATISTICS, length_ratios=ratios))
    assert checker.flags([CheckedSentence("x", "y")]) == set()
    assert checker.flags([CheckedSentence("x", "yyy")]) == {"length_outlier"}


@pytest.mark.parametrize(("source", "usual"), [(4, (0, 8)), (16, (8, 24)), (100, (80, 120))])
def test_repeated_templates_of_one_length_do_not_make_others_outliers(
    source: int, usual: tuple[int, int]
) -> None:
    """All training pairs are alike, so that their lengths say nothing about those of others."""
    ratios = ((1.0, 1.0),) * len(LENGTH_BOUNDS)
    checker = QualityChecker(("en", "de"), dataclasses.replace(STATISTICS, length_ratios=ratios))
    for length in range(2 * source + 1):
        found = checker.flags([CheckedSentence("x" * source, "y" * length)])
        assert ("length_outlier" in found) == (not usual[0] <= length <= usual[1])


def test_sentences_lost() -> None:
    source = "The dog sleeps. It is late."
    assert "sentences_lost" in flags(source, "Der Hund schläft.")
    assert "sentences_lost" not in flags(source, "Der Hund schläft. Es ist spät.")
    assert "sentences_lost" not in flags("At 5 p.m. it rained.", "Um 17 Uhr regnete es.")
    assert "sentences_lost" in flags("The dog sleeps.", "")
    assert "sentences_lost" not in flags("The dog sleeps.", "Der Hund ist da. Er schläft.")


def test_sentences_are_counted_with_the_languages_of_each_side() -> None:
    with_ordinal = CheckedSentence("Am 3. Mai kam er.", "On the third of May he came.")
    back = CheckedSentence("He slept. On May 3 he came.", "Er schlief am 3. Mai bis um acht.")
    for languages, lost in ((("de", "en"), (False, False)), (("en", "de"), (True, True))):
        checker = QualityChecker(languages)
        for sentence, is_lost in zip((with_ordinal, back), lost, strict=True):
            assert ("sentences_lost" in checker.flags([sentence])) == is_lost


def test_sentences_are_counted_with_the_abbreviations_of_each_side() -> None:
    source = CheckedSentence("It was ord. Nine of them came here.", "Es kamen neun davon hierher.")
    target = CheckedSentence("It was late. Lee went home.", "Es ging ord. Lee spät nach Hause.")
    learnt = SideStatistics("en", titles=("ord",))
    for sides, lost in (
        ({}, (True, False)), ({"src": learnt}, (False, False)), ({"tgt": learnt}, (True, True))
    ):  # fmt: skip
        checker = QualityChecker(("en", "de"), dataclasses.replace(STATISTICS, **sides))
        for sentence, is_lost in zip((source, target), lost, strict=True):
            assert ("sentences_lost" in checker.flags([sentence])) == is_lost


def test_low_confidence_by_mean_and_by_lowest_token() -> None:
    for scores, is_low in (
        ((-1.0, -1.0), False),
        ((-1.0, -1.1), True),
        ((-0.1, -5.0, -0.1, -0.1, -0.1, -0.1), False),
        ((-0.1, -5.1, -0.1, -0.1, -0.1, -0.1), True),
        ((), False),
    ):
        found = flags(GOOD.source, GOOD.text, scores)
        assert ("low_confidence" in found) == is_low


def test_flags_of_a_line_are_those_of_its_sentences() -> None:
    bad = CheckedSentence("I have 3 dogs.", "Ich habe 5 Hunde.")
    assert CHECKER.flags([GOOD, bad, GOOD]) == CHECKER.flags([bad]) == {"number_mismatch"}


def test_without_statistics_the_other_checks_are_left() -> None:
    checker = QualityChecker(("en", "de"))
    assert checker.left_out == NEED_STATISTICS
    assert checker.flags([CheckedSentence("x 3" * 20, "5", [-9.0])]) == {"number_mismatch"}
    similar = dataclasses.replace(STATISTICS, language_odds=np.zeros(0, np.float32))
    assert QualityChecker(("en", "de"), similar).left_out == ("untranslated", "low_confidence")
    assert CHECKER.left_out == ()


def test_flags_are_listed_in_one_order() -> None:
    assert in_order({"copied", "split", "low_confidence"}) == ("split", "copied", "low_confidence")
    assert in_order(set(FLAGS)) == tuple(FLAGS)


def test_confidence_is_measured_and_comes_back_from_text() -> None:
    scores = [[-0.1 * index, -0.2 * index] for index in range(1, 101)]
    confidence = Confidence.measured(scores, 0.01)
    assert confidence is not None
    assert confidence.mean == pytest.approx(-14.85, abs=0.02)
    assert confidence.lowest == pytest.approx(-19.8, abs=0.02)
    assert Confidence.parse(str(confidence)) == pytest.approx(confidence, abs=1e-4)
    assert Confidence.measured([[]], 0.01) is None
    for text in ("", "1", "a b", "nan 1", "1 2 3"):
        assert Confidence.parse(text) is None
