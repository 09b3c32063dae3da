"""Numbers that a translation made up, swapped or changed, and other spellings that it may have."""

import pytest

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # Thousands without the number before them.
        ("fr", "He owes {amount} in dollars.", "Il doit {amount} 000 $.", True),
        ("fr", "The two of them owe  units.", "Les deux doivent  000 unités.", True),
        ("fr", "He owes {amount} under 12(1).", "Il doit {amount} 000 $ selon 12(1).", True),
        ("fr", "He owes {amount} thousand units.", "Il doit {amount} 000 unités.", False),
        ("fr", "He owes $5,000.", "Il doit 5 000 $.", False),
        ("fr", "Dial 000.", "Faites le 000.", False),
        ("de", "He owes it.", "Er schuldet 1 000.", True),
        ("de", "He owes thousands.", "Er schuldet 1 000.", False),
        # A currency sign on a number that has none.
        ("fr", "He owes 425 units.", "Il doit 425 $.", True),
        ("fr", "He owes 425 pounds.", "Il doit 425 £.", False),
        ("fr", "It is $-425.", "Il est de -425 $.", False),
        # The same number for two things.
        ("fr", "He receives 177 units.", "Il reçoit 177 $ pour 177 unités.", True),
        ("fr", "He receives 177 dollars.", "Il reçoit 177 $ pour 177 unités.", True),
        ("fr", "He receives 17 units.", "Il reçoit 17 unités des 17.", False),
        ("fr", "section 313, if that section", "l’article 313, si l’article 313", False),
        ("fr", "Lot 1 520 863 to its corner", "du Lot 1 520 863 au Lot 1 520 863", False),
        ("fr", "the Act of 1992 (the Act)", "la loi de 1992 (loi de 1992)", False),
        # Units that changed places.
        ("fr", "$100 and €200", "100 € et 200 $", True),
        ("fr", "100 kg or 200 km", "100 km ou 200 kg", True),
        ("fr", "100 kg or 200 km", "200 km ou 100 kg", False),
        ("fr", "$300 of $500", "500 $ de 300 $", False),
        # A number in the place of another one with the same digits.
        ("fr", "The filter 2.5 every 25 hours", "Le filtre 25 toutes les 2 heures", True),
        ("fr", "The filter 2/5 every 25 hours", "Le filtre 25 toutes les 2 heures", True),
        ("fr", "The filter 1/2 every 12 hours", "Le filtre 12 toutes les 12 heures", True),
        ("fr", "The filter 2.5 every 25 hours", "Le filtre 2,5 toutes les 25 heures", False),
        ("fr", "25 of 2.5 and 25", "25 de 2,5 et 25", False),
        ("fr", "on 12 May, every twelve hours", "le 12 mai, toutes les 12 heures", False),
        # Units that stand on one side only.
        ("fr", "Set it to 4.5 bar.", "Réglez à 4,5.", True),
        ("fr", "A width of 38 cm fits.", "Une largeur de 38 Nm convient.", True),
        ("fr", "A width of 38 cm fits.", "Une largeur de 0,38 m convient de 38 cm.", False),
        ("fr", "At 65 km per hour.", "À 65 km/h.", False),
        ("fr", "At 65 km/h.", "À 65 km à l’heure.", False),
        ("fr", "It is 5 m to the end.", "Il y a 5 km à la fin.", True),
        ("fr", "Set it to 4.5.", "Réglez à 4,5 bar.", True),
        ("fr", "A hose of 20 m in a bag", "Un tuyau de 20 dans un sac", True),
        ("fr", "Set it to 4.5 bar.", "Réglez à 4,5 bars.", False),
        ("fr", "150 or fewer kilowatts", "d’au plus 150 kW", False),
        ("fr", "between 100 and 1000 hertz", "entre 100 Hz et 1000 Hz", False),
        ("fr", "Notes1 To scale.2 In place", "Remarques1L’échelle2L’image", False),
        # Digits for words that say another number.
        ("fr", "a 5-year lease", "un bail de six ans", True),
        ("fr", "a 5-year lease", "un bail de cinq ans", False),
        ("fr", "within 30 days", "dans les vingt jours", True),
        ("fr", "the first 30 days", "les trente premiers jours", False),
        ("fr", "for 60 seconds", "pendant soixante secondes", False),
        ("fr", "$500", "cinq mille dollars", True),
        ("fr", "5 million dollars", "cinq millions de dollars", False),
        ("fr", "in the year 1945", "l’an mille neuf cent quarante-cinq", False),
        ("fr", "at 3 p.m.", "à quinze heures", False),
        ("fr", "at 9:40", "à dix heures moins vingt", False),
        ("de", "for 30 days", "zwanzig Tage lang", True),
        ("de", "for 30 days", "dreißig Tage lang", False),
        ("de", "for 30 days", "mit dreißigtägiger Frist", False),
        # Thousands, hours and years that nothing in the text speaks of.
        ("fr", "Payment of 5 dollars", "Paiement de 500 000 $", True),
        ("fr", "Payment of 5 dollars", "Paiement de 5 000 $", True),
        ("fr", "a period of 25 months", "une période de 25 000 mois", True),
        ("fr", "a weight of 3,000 kg", "un poids de 3 kg", True),
        ("fr", "5 thousand dollars", "5 000 dollars", False),
        ("fr", "5M people", "5 000 000 personnes", False),
        ("fr", "2.5 million people", "2 500 000 personnes", False),
        ("fr", "a weight of 76 kg", "un poids de 88 kg", True),
        ("fr", "within 12 days", "dans les 24 jours", True),
        ("fr", "at 3 p.m.", "à 15 heures", False),
        ("fr", "It is 2:30 now.", "Il est 14 h 30.", False),
        ("fr", "Payment of $99", "Paiement de 1699", True),
        ("fr", "within 30 days", "dans les 2030 jours", True),
        ("fr", "in the '90s", "dans les années 1990", False),
        ("fr", "from 1990-91", "de 1990 à 1991", False),
        # Words of other languages may stand there unknown.
        ("sw", "Payment of 5 dollars", "Malipo 5 000", False),
        # Words behind the digits.
        ("fr", "$30,000", "30 000 trente mille $", True),
        ("fr", "within 30 days", "dans les 30 trente jours", True),
        ("fr", "within 30 days", "dans les 30 (trente) jours", False),
        # Roman numerals of parts.
        ("fr", "Part IV applies.", "La partie VI s’applique.", True),
        ("fr", "Part I applies.", "La partie V s’applique.", True),
        ("fr", "Part IV of Schedule II", "l’annexe II, partie IV", False),
        ("fr", "Part IV applies.", "La partie 4 s’applique.", False),
        ("fr", "the part I like", "la partie que j’aime", False),
        ("de", "Annex IV applies.", "Anhang VI gilt.", True),
    ],
)  # fmt: skip
def test_wrong_numbers(language: str, source: str, text: str, mismatch: bool) -> None:
    assert numbers_changed(source, text, ("en", language)) == mismatch


@pytest.mark.parametrize(
    ("language", "source", "text", "mismatch"),
    [
        # Hours that are also other numbers.
        ("fr", "on 5 May at 5 p.m.", "le 5 mai à 17 h", False),
        ("fr", "on 5 May at 5 p.m.", "le 5 mai à 18 h", True),
        ("fr", "The 2 meet at 2:30 p.m.", "Les 2 se rencontrent à 14 h 30.", False),
        ("de", "The 2 meet at 2 in the afternoon.", "Die 2 treffen sich um 14 Uhr.", False),
        ("de", "The 2 meet at 14:00.", "Die 2 treffen sich um 2:00 Uhr nachmittags.", False),
        # Cents.
        ("fr", "It costs $0.10.", "Il coûte 10 cents.", False),
        ("fr", "It costs $0.10.", "Il coûte 20 cents.", True),
        ("fr", "It costs 50 cents.", "Il coûte 50 $.", True),
        ("es", "It costs 50 ¢.", "Cuesta 50 centavos.", False),
        # The first part of a text.
        ("fr", "Article 1 of it", "l’article premier", False),
        ("fr", "Article 1 of it", "l’article", True),
        ("fr", "Article 2 of it", "l’article premier", True),
        ("es", "Article 1 of it", "el artículo primero", False),
        # Units of time.
        ("fr", "of 12 months", "d’un an", False),
        ("fr", "of twelve months after 5 days", "d’un an après 5 jours", False),
        ("fr", "of 24 months", "de deux ans", False),
        ("fr", "of 12 months", "de deux ans", True),
        ("de", "for 48 hours", "zwei Tage lang", False),
        ("es", "a year", "12 meses", False),
        ("fr", "2 weeks", "quinze jours", False),
        ("de", "2 weeks", "fünfzehn Tage", True),
        # One number of several words.
        ("fr", "one billion, two hundred and fifty million", "1,25 milliard", False),
        ("fr", "one billion, two hundred and fifty million", "1,35 milliard", True),
        ("de", "two million, five hundred thousand", "2,5 Millionen", False),
    ],
)  # fmt: skip
def test_other_spellings(language: str, source: str, text: str, mismatch: bool) -> None:
    assert numbers_changed(source, text, ("en", language)) == mismatch
    assert numbers_changed(text, source, (language, "en")) == mismatch
