"""English inflection for the demo: a or an, plurals, genitives and verb forms."""

from functools import cache

VOWELS = "aeiou"


def with_article(phrase: str) -> str:
    """Put `a` or `an` before the phrase, by its first letter (all words of the demo follow this).

    >>> with_article("old dog"), with_article("dog")
    ('an old dog', 'a dog')
    """
    return f"an {phrase}" if phrase[0] in VOWELS else f"a {phrase}"


@cache
def plural(noun: str) -> str:
    """The regular plural.

    >>> plural("city"), plural("bus"), plural("boy")
    ('cities', 'buses', 'boys')
    """
    return third_person(noun)


@cache
def third_person(verb: str) -> str:
    """The form of the third person singular.

    >>> third_person("carry"), third_person("watch"), third_person("play"), third_person("have")
    ('carries', 'watches', 'plays', 'has')
    """
    if verb == "have":
        return "has"
    if verb[-1] == "y" and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


@cache
def progressive(verb: str) -> str:
    """The regular -ing form.

    >>> progressive("write"), progressive("see"), progressive("eat"), progressive("get")
    ('writing', 'seeing', 'eating', 'getting')
    """
    if len(verb) == 3 and [letter in VOWELS + "wxy" for letter in verb] == [False, True, False]:
        return verb + verb[-1] + "ing"
    if verb[-1] == "e" and verb[-2] != "e":
        return verb[:-1] + "ing"
    return verb + "ing"


def genitive(owner: str) -> str:
    """The owner with its apostrophe.

    >>> genitive("Anna"), genitive("my parents")
    ("Anna's", "my parents'")
    """
    return owner + ("'" if owner.endswith("s") else "'s")


def be_present(person: int) -> str:
    """The present of `be`; persons as I, you, he, we, you, they.

    >>> [be_present(person) for person in range(6)]
    ['am', 'are', 'is', 'are', 'are', 'are']
    """
    return ("am", "are", "is", "are", "are", "are")[person]


def be_past(person: int) -> str:
    """The past of `be`.

    >>> be_past(0), be_past(5)
    ('was', 'were')
    """
    return "was" if person in (0, 2) else "were"
