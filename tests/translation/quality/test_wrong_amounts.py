"""Amounts that a translation changed, lost, said twice or made up."""

import pytest

from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.kinds import NUMBERS
from nmt_cli.data.cleaning.numbers.scales import scales_differ
from nmt_cli.translation.quality.checker import CheckedSentence, QualityChecker


def has_mismatch(languages: tuple[str, str], source: str, text: str) -> bool:
    return "number_mismatch" in QualityChecker(languages).flags([CheckedSentence(source, text)])


ENGLISH = "Premiums of 100 per cent apply above 40 million dollars."


@pytest.mark.parametrize(
    ("language", "text", "mismatch"),
    [
        ("fr", "Des primes de 100 pour cent s'appliquent au-delà de 40 millions.", False),
        ("fr", "Des primes de 100 % s'appliquent au-delà de 40 000 000 $.", False),
        ("fr", "Des primes de cent pour cent, au-delà de quarante millions.", False),
        ("fr", "Des primes de 100 p. 100 s'appliquent au-delà de 0,04 milliard.", False),
        ("fr", "Des primes de 100 pour cent s'appliquent au-delà de 40 M$.", False),
        ("fr", "Des primes de 100 pour cent s'appliquent au-delà de milliards.", True),
        ("fr", "Des primes de 100 pour cent s'appliquent au-delà de millions.", True),
        ("fr", "Des primes de 100 pour cent s'appliquent au-delà de dollars.", True),
        ("fr", "Des primes de 40 millions s'appliquent au-delà de 100 milliards.", True),
        ("fr", "Des primes de 40 millions s'appliquent au-delà de 100 millions.", True),
        ("fr", "Des primes de 100 pour cent s'appliquent au-delà de 40 milliards.", True),
        ("de", "Prämien von 100 Prozent gelten über 40 Millionen Dollar.", False),
        ("de", "Prämien von hundert Prozent gelten über vierzig Millionen Dollar.", False),
        ("de", "Prämien von 100 vom Hundert gelten über 40 Mio. Dollar.", False),
        ("de", "Prämien von 100 vom Hundert gelten über Milliarden Dollar.", True),
        ("de", "Prämien von 40 Millionen gelten über 100 Milliarden.", True),
        ("de", "Prämien von 40 Millionen gelten über 100 Millionen.", True),
        ("es", "Primas del 100 por ciento para más de 40 millones de dólares.", False),
        ("es", "Primas del cien por ciento para más de cuarenta millones.", False),
        ("es", "Primas del 100 por ciento para más de millones de dólares.", True),
        ("es", "Primas del 100 por ciento para más de 40 mil millones de dólares.", True),
        ("es", "Primas de 40 millones para más de 100 millones.", True),
        ("pt", "Prémios de 100 por cento acima de 40 milhões.", False),
        ("pt", "Prémios de 40 milhões acima de 100 milhões.", True),
        ("ru", "Премии 100 процентов свыше 40 миллионов.", False),
        ("ru", "Премии 40 миллионов свыше 100 миллиардов.", True),
        # Languages whose words for millions are known, but not their number words.
        ("ha", "Kuɗin 100 bisa miliyan 40.", False),
        ("ha", "Kuɗin 100 bisa miliyan arba'in.", False),
        ("ha", "Kuɗin 100 bisa 40 na dala.", True),
        ("ha", "Kuɗin 100 bisa biliyan 40.", True),
        ("sw", "Asilimia 100 zaidi ya milioni 40.", False),
        ("sw", "Asilimia 100 zaidi ya dola 40.", True),
        ("yo", "100 ju mílíọ̀nù 40 lọ.", False),
        ("yo", "100 ju bílíọ̀nù 40 lọ.", True),
        ("zu", "100 ngaphezu kwezigidi ezingama-40.", False),
        ("zu", "100 ngaphezu kwezigidigidi ezingama-40.", True),
        ("lg", "100 okusukka obukadde 40.", False),
        ("lg", "100 okusukka obuwumbi 40.", True),
        ("tw", "100 boro ɔpepem 40.", False),
        ("tw", "100 boro ɔpepepem 40.", True),
        ("sn", "100 kupfuura mamiriyoni 40.", False),
        ("sn", "100 kupfuura mabhiriyoni 40.", True),
        ("am", "100 ከ40 ሚሊዮን በላይ", False),
        ("am", "100 ከ40 ቢሊዮን በላይ", True),
        # Others may have other words.
        ("ig", "Pasenti 100 karịa nde 40.", False),
    ],
)
def test_amounts_have_their_scale(language: str, text: str, mismatch: bool) -> None:
    assert has_mismatch(("en", language), ENGLISH, text) == mismatch
    assert has_mismatch((language, "en"), text, ENGLISH) == mismatch


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # A number that stands before another one has its scale; so has one of a table.
        ("fr", "from 5 to 7 million", "de 5 millions à 7 millions", False),
        ("fr", "between $325 million and $340 million", "entre 325 et 340 M$", False),
        ("fr", "more than 1.1 billion and less than 2.1 billion",
         "plus de 1,1 et de moins de 2,1 milliards", False),
        ("fr", "In millions of dollars: 40", "40 millions de dollars", False),
        ("fr", "5 % of 7 million", "5 millions de 7 millions", True),
        # Numbers in other forms.
        ("fr", "$5.3tn a day", "5,3 billions par jour", False),
        ("fr", "In 2015 40 million came.", "En 2015, 40 millions sont venus.", False),
        ("de", "12 million men", "Ein Dutzend Millionen", False),
        ("de", "12 million men in half", "12 Milliarden zur Hälfte", True),
        ("fr", "40 million million", "40 mille milliards", False),
    ],
)  # fmt: skip
def test_amounts_may_have_other_forms(
    language: str, source: str, text: str, mismatch: bool
) -> None:
    assert has_mismatch(("en", language), source, text) == mismatch


@pytest.mark.parametrize(
    ("language", "source", "text"),
    [
        ("fr", "one billion, two hundred and fifty million", "1,25 milliard"),
        ("fr", "2.5 million", "2 millions et demi"),
        ("de", "3.125 million", "3.125.000"),
        ("zh", "40 million", "4000万"),
        ("vi", "40 million", "40 triệu"),
    ],
)
def test_scales_are_not_doubted(language: str, source: str, text: str) -> None:
    assert not scales_differ(source, text, ("en", language))
    assert not scales_differ(text, source, (language, "en"))


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # The words of other numbers do not stand for it.
        ("fr", "40 dollars and 100 per cent", "des dollars et 100 pour cent", True),
        ("fr", "40 dogs of two men", "des chiens de deux hommes", True),
        ("fr", "The two judges came.", "Les deux juges 5 sont venus.", True),
        ("fr", "Two judges and 5 dogs.", "Deux juges et 5 chiens 7.", True),
        ("fr", "The two judges came.", "Les 2 juges sont venus.", False),
        ("fr", "40 dogs of two men", "quarante chiens de deux hommes", False),
        ("fr", "5 pour cent francs", "5 for a hundred francs", False),
        # A number said twice.
        ("fr", "It costs 40 dollars.", "Il coûte 40 dollars 40 dollars.", True),
        ("fr", "It costs 40 dollars.", "Il coûte 40 dollars et 40 dollars.", True),
        ("fr", "Sections 4 to 7 apply.", "Les articles 4 à 7 à 7.", True),
        ("de", "It costs 1,000 dollars.", "Es kostet 1.000 Dollar 1.000 Dollar.", True),
        ("fr", "He has 40 dollars, she has forty dollars.",
         "Il a 40 dollars, 40 dollars elle a.", False),
        ("fr", "40 men and 40 dogs", "40 hommes et 40 chiens", False),
        ("fr", "From 2 dogs or two cats", "De 2 ou 2 chats", False),
        ("fr", "more than 5 m in width or height", "largeur de 5 m ou hauteur de 5 m", False),
        ("de", "On 5/5 he came.", "Am 5. 5. kam er.", False),
        # Digits within words.
        ("fr", "It costs 40 dollars.", "Il coûte 40 dollars II5.", True),
        ("fr", "Chapter II costs 40 dollars.", "Le chapitre II5 coûte 40 dollars.", True),
        ("fr", "Chapter II costs 40 dollars.", "Le chapitre II coûte 40 dollars.", False),
        ("fr", "It has 40 square metres.", "Il a 40 m2.", False),
        ("de", "CO₂ and the seven of 40", "CO2 und die G7 von 40", False),
        ("ja", "at 1200 on 5 days", "5日の標準時12:00", False),
    ],
)  # fmt: skip
def test_added_numbers(language: str, source: str, text: str, mismatch: bool) -> None:
    assert has_mismatch(("en", language), source, text) == mismatch


def test_training_pairs_lack_no_amount() -> None:
    pairs = [
        (ENGLISH, "Des primes de 100 pour cent, au-delà de milliards.", True),
        (ENGLISH, "Des primes de 100 pour cent, au-delà de quarante millions.", False),
    ]
    src, tgt = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    doubts = find_doubts(src, tgt, ("en", "fr"))
    assert [kind == NUMBERS for kind in doubts] == [pair[2] for pair in pairs]


@pytest.mark.parametrize(
    ("source", "text", "mismatch"),
    [
        # Without a sign or word of a currency, or of a percentage.
        ("The fee is $200.", "Le droit est de 200.", True),
        ("The fee is $200.", "Le droit est de 200 dollars.", False),
        ("It is 12.5% of it.", "C’est 12,5 de cela.", True),
        ("It is 12.5% of it.", "C’est 12,5 p. 100 de cela.", False),
        ("It is 100% of it.", "C’est le tout.", False),
        # A thousand times as much, and moved decimal points beside other numbers.
        ("The buyer shall pay $5 each month.", "L’acheteur paie 5 000 $ chaque mois.", True),
        ("The buyer shall pay $57.00.", "L’acheteur paie 57 000 $.", True),
        ("It owes €500 now.", "Il doit 500.000 € maintenant.", True),
        ("The rate is 2.5%.", "Le taux est de 2 500 %.", True),
        ("It owes $490.25 within 30 days.", "Il doit 49 025 $ dans les 30 jours.", True),
        ("It owes 106% under section 12(3).", "Il doit 10,6 % selon le paragraphe 12(3).", True),
        ("It owes $100 and $200.", "Il doit 100 $ et 300 $.", True),
        ("It owes $490.25 within 30 days.", "Il doit 490,25 $ dans les 30 jours.", False),
        ("It owes $5.", "Il doit cinq dollars.", False),
        ("It owes $1.5 million.", "Il doit 1 500 000 $.", False),
        ("It owes $20K.", "Il doit 20 000 $.", False),
        ("The rate is 3.000% of $5.", "Le taux est de 3 % de 5,00 $.", False),
        ("$0.095724 per stick", "0,095 724 $ le bâtonnet", False),
        # Other signs.
        ("It owes $688.50.", "Il doit 688,50 €.", True),
        ("The rate is 4%.", "Le taux est de 4 $.", True),
        ("It owes EUR 5 and $6.", "Il doit 5 € et 6 $.", False),
        ("It owes 5 dollars or 4%.", "Il doit 5 $ ou 4 %.", False),
    ],
)
def test_sums_and_percentages_keep_their_number_and_sign(
    source: str, text: str, mismatch: bool
) -> None:
    assert has_mismatch(("en", "fr"), source, text) == mismatch


def test_training_pairs_with_another_sum_are_doubted() -> None:
    pairs = [
        ("It owes $490.25 within 30 days.", "Il doit 49 025 $ dans les 30 jours."),
        ("It owes $490.25 within 30 days.", "Il doit 490,25 $ dans les 30 jours."),
    ]
    doubts = find_doubts(*map(list, zip(*pairs, strict=True)), ("en", "fr"))
    assert (doubts == NUMBERS).tolist() == [True, False]
