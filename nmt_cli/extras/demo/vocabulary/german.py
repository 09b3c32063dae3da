"""German inflection for the demo: articles, adjective endings, nouns and verb forms."""

from functools import cache
from typing import Literal

Case = Literal["nom", "acc", "dat", "gen"]
Gender = Literal["m", "f", "n", "p"]  # p: plural, which has no gender.
Person = int  # 0 ich, 1 du, 2 er, 3 wir, 4 ihr, 5 sie (and the polite Sie)
Declension = Literal["weak", "mixed", "strong"]

CASES: tuple[Case, ...] = ("nom", "acc", "dat", "gen")
GENDERS: tuple[Gender, ...] = ("m", "f", "n", "p")

_THE = {
    "nom": "der die das die",
    "acc": "den die das die",
    "dat": "dem der dem den",
    "gen": "des der des der",
}
_RELATIVE = _THE | {"dat": "dem der dem denen", "gen": "dessen deren dessen deren"}
# Endings by case, in the order of GENDERS; "-" stands for no ending.
_EIN = {"nom": "- e - e", "acc": "en e - e", "dat": "em er em en", "gen": "es er es er"}
_DIESER = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en", "gen": "es er es er"}
_ADJECTIVE = {
    "weak": {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en", "gen": "en en en en"},
    "mixed": {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en", "gen": "en en en en"},
    "strong": {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en", "gen": "en er en er"},
}
_CONTRACTED = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}


def _cell(table: dict[str, str], case: Case, gender: Gender) -> str:
    form = table[case].split()[GENDERS.index(gender)]
    return "" if form == "-" else form


@cache
def definite_article(case: Case, gender: Gender) -> str:
    """The article der, die, das.

    >>> definite_article("dat", "f")
    'der'
    """
    return _cell(_THE, case, gender)


@cache
def relative_pronoun(case: Case, gender: Gender) -> str:
    """The pronoun that opens a relative clause; `case` is its role inside that clause.

    >>> relative_pronoun("dat", "p")
    'denen'
    """
    return _cell(_RELATIVE, case, gender)


@cache
def ein_word(stem: str, case: Case, gender: Gender) -> str:
    """A word declined like ein: kein, mein, dein, sein, ihr, unser, euer.

    >>> ein_word("euer", "acc", "m"), ein_word("ein", "nom", "n")
    ('euren', 'ein')
    """
    ending = _cell(_EIN, case, gender)
    return ("eur" if stem == "euer" and ending else stem) + ending


@cache
def dieser(stem: str, case: Case, gender: Gender) -> str:
    """A word declined like dieser, given by its stem: dies, jed, welch.

    >>> dieser("welch", "nom", "n")
    'welches'
    """
    return stem + _cell(_DIESER, case, gender)


@cache
def adjective_form(stem: str, declension: Declension, case: Case, gender: Gender) -> str:
    """An adjective before a noun: weak after der, mixed after ein, strong without an article.

    >>> adjective_form("klein", "weak", "nom", "m"), adjective_form("kalt", "strong", "dat", "n")
    ('kleine', 'kaltem')
    """
    return stem + _cell(_ADJECTIVE[declension], case, gender)


def contract(preposition: str, phrase: str) -> str:
    """Join preposition and phrase, contracted as in German.

    >>> contract("in", "das alte Haus"), contract("auf", "den Tisch")
    ('ins alte Haus', 'auf den Tisch')
    """
    article, _, rest = phrase.partition(" ")
    joined = _CONTRACTED.get((preposition, article))
    return f"{joined} {rest}" if joined and rest else f"{preposition} {phrase}"


@cache
def dative_plural(plural: str) -> str:
    """The dative plural takes an -n unless the plural already ends in n or s.

    >>> dative_plural("Hunde"), dative_plural("Frauen"), dative_plural("Autos")
    ('Hunden', 'Frauen', 'Autos')
    """
    return plural if plural[-1] in "ns" else plural + "n"


def _linked(stem: str, ending: str) -> str:
    # `du arbeitest`, `ihr öffnet`: an e makes the ending pronounceable.
    hard = stem[-1] in "td" or stem.endswith("ffn")
    return stem + ("e" if hard else "") + ending


@cache
def present_form(infinitive: str, du: str, er: str, person: Person) -> str:
    """The present of a verb given by infinitive, du form and er form (the irregular two).

    >>> [present_form("warten", "wartest", "wartet", person) for person in range(6)]
    ['warte', 'wartest', 'wartet', 'warten', 'wartet', 'warten']
    >>> present_form("können", "kannst", "kann", 0)
    'kann'
    """
    stem = infinitive.removesuffix("en")
    ich = stem + "e" if er[-1] in "td" else er  # `ich kann`, `er kann`: the same form.
    return (ich, du, er, infinitive, _linked(stem, "t"), infinitive)[person]


@cache
def past_form(ich: str, person: Person) -> str:
    """The simple past from its first person, strong (schlief) or weak (machte).

    >>> past_form("schlief", 5), past_form("machte", 5), past_form("fand", 4)
    ('schliefen', 'machten', 'fandet')
    """
    if ich.endswith("e"):
        return (ich, ich + "st", ich, ich + "n", ich + "t", ich + "n")[person]
    return (ich, _linked(ich, "st"), ich, ich + "en", _linked(ich, "t"), ich + "en")[person]
