"""Derives languages from file names."""

import functools
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.english_names import (
    CODE_OF_ENGLISH_NAME,
    english_name,
    shown_language,
)
from nmt_cli.data.languages.words import is_known
from nmt_cli.errors import UsageError
from nmt_cli.plurals import enumerated

Pair = tuple[str, str]

_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_TWO_CODES = re.compile(r"(?:^|[._])([a-z]{2,3})[-_]([a-z]{2,3})(?=[._])")
# Suffixes of file names that look like language codes and are not.
_SIDES = {"src", "tgt", "trg", "source", "target"}
_NOT_LANGUAGES = {
    "trg",
    "txt",
    "tsv",
    "csv",
    "tok",
    "bpe",
    "src",
    "tgt",
    "ref",
    "hyp",
    "raw",
    "tc",
    "lc",
}


# Language codes by the name of the language in itself.
OWN_NAMES = {
    "dansk": "da", "deutsch": "de", "eesti": "et", "español": "es", "français": "fr",
    "hrvatski": "hr", "italiano": "it", "latviešu": "lv", "lietuvių": "lt", "magyar": "hu",
    "nederlands": "nl", "norsk": "no", "polski": "pl", "português": "pt", "română": "ro",
    "slovenčina": "sk", "slovenščina": "sl", "suomi": "fi", "svenska": "sv", "türkçe": "tr",
    "íslenska": "is", "čeština": "cs", "ελληνικά": "el", "български": "bg", "русский": "ru",
    "српски": "sr", "українська": "uk", "中文": "zh", "日本語": "ja", "한국어": "ko",
}  # fmt: skip
_CODE_OF = {**CODE_OF_ENGLISH_NAME, **OWN_NAMES}
# The same by names in German, French and Spanish, which stand for codes sometimes.
_OTHER_NAMES = {
    "ar": "arabisch arabe árabe", "bg": "bulgarisch bulgare búlgaro", "ca": "katalanisch catalán",
    "cs": "tschechisch tchèque checo", "cy": "walisisch gallois galés",
    "da": "dänisch danois danés", "de": "allemand alemán", "el": "griechisch grec griego",
    "en": "englisch anglais inglés", "es": "spanisch espagnol", "et": "estnisch estonien estonio",
    "fa": "persisch persan persa", "fi": "finnisch finnois finés", "fr": "französisch francés",
    "ga": "irisch irlandais irlandés", "he": "hebräisch hébreu hebreo",
    "hr": "kroatisch croate croata", "hu": "ungarisch hongrois húngaro",
    "id": "indonesisch indonésien indonesio", "is": "isländisch islandais islandés",
    "it": "italienisch italien", "ja": "japanisch japonais japonés",
    "ko": "koreanisch coréen coreano", "la": "latein latín", "lt": "litauisch lituanien lituano",
    "lv": "lettisch letton letón", "nl": "niederländisch néerlandais neerlandés holandés",
    "no": "norwegisch norvégien noruego", "pl": "polnisch polonais polaco",
    "pt": "portugiesisch portugais", "ro": "rumänisch roumain rumano", "ru": "russisch russe ruso",
    "sk": "slowakisch slovaque eslovaco", "sl": "slowenisch slovène esloveno",
    "sr": "serbisch serbe serbio", "sv": "schwedisch suédois sueco", "sw": "suaheli",
    "th": "thailändisch thaï tailandés", "tr": "türkisch turc turco",
    "uk": "ukrainisch ukrainien ucraniano", "vi": "vietnamesisch vietnamien",
    "zh": "chinesisch chinois chino",
}  # fmt: skip


def code_of_name(name: str) -> str | None:
    """The code of a language by its name in itself, English, German, French or Spanish.

    >>> [code_of_name(name) for name in ("Deutsch", "german", "Anglais", "Myanmar")]
    ['de', 'de', 'en', 'my']
    >>> code_of_name("dog")
    """
    return _codes_of_plain_names().get(_plain(name))


def _plain(name: str) -> str:
    """A name in lower case and without accents, as it may be typed."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@functools.cache
def _codes_of_plain_names() -> dict[str, str]:
    """The codes by all names that are known, in the spelling of `_plain`."""
    others = {name: code for code, names in _OTHER_NAMES.items() for name in names.split()}
    return {_plain(name): code for name, code in {**others, **_CODE_OF}.items()}


def require_codes(*codes: str) -> None:
    """Raise UsageError where the name of a language stands for its code: english, französisch."""
    code_of = _codes_of_plain_names()
    names = [code for code in dict.fromkeys(codes) if _plain(code) in code_of]
    if names:
        raise UsageError(
            "; ".join(f"`{name}` is not a language code" for name in names),
            "; ".join(f"for {name} use {code_of[_plain(name)]}" for name in names),
        )


def is_language_code(code: str) -> bool:
    """Return whether nmt knows which language a code stands for.

    >>> is_language_code("pt_BR"), is_language_code("zul"), is_language_code("xx")
    (True, True, False)
    """
    return is_known(code) or english_name(base_code(code)) is not None


def unknown_codes_note(*codes: str) -> str:
    """Return a note on the codes of languages that nmt does not know, or "" if there are none.

    >>> unknown_codes_note("en", "xx").partition(",")[0]
    '`xx` is not a language code that nmt knows'
    >>> unknown_codes_note("pt_BR", "deu"), unknown_codes_note("en", "zu")
    ('', 'nmt does not know the common words of Zulu (`zu`)')
    """
    distinct = dict.fromkeys(codes)
    unknown = [code for code in distinct if not is_language_code(code)]
    wordless = [
        shown_language(code) for code in distinct if is_language_code(code) and not is_known(code)
    ]
    notes = [f"nmt does not know the common words of {enumerated(wordless)}"] if wordless else []
    names = " and ".join(f"`{code}`" for code in unknown)
    if len(unknown) == 1:
        notes.append(
            f"{names} is not a language code that nmt knows, so it does not know the common words "
            "of the language"
        )
    elif unknown:
        notes.append(
            f"{names} are not language codes that nmt knows, so it does not know the common words "
            "of these languages"
        )
    return "; ".join(notes)


def language_of(name: str) -> str | None:
    """Return the language code at the end of a file name, before a compression suffix, or None.

    >>> language_of("train.de.gz"), language_of("train.txt")
    ('de', None)
    """
    path = Path(name)
    if path.suffix in _COMPRESSED:
        path = path.with_suffix("")
    code = path.suffix.removeprefix(".")
    return code if _CODE.fullmatch(code) and code not in _NOT_LANGUAGES else None


def guess_languages(pairs: Iterable[Pair]) -> Pair | None:
    """Return the languages in the names of parallel files, or None if there are none.

    The suffixes are used first (`train.en`, `train.de.gz`), then the only part in which the names
    differ (`train_en.txt`, `train_de.txt`).
    """
    for src, tgt in pairs:
        by_ending = language_of(src), language_of(tgt)
        if by_ending[0] and by_ending[1] and by_ending[0] != by_ending[1]:
            return by_ending[0], by_ending[1]
        parts = re.split(r"[._]", Path(src).name), re.split(r"[._]", Path(tgt).name)
        differing = [(a, b) for a, b in zip(*parts, strict=False) if a != b]
        if len(parts[0]) == len(parts[1]) and len(differing) == 1:
            a, b = differing[0]
            # As in `src-train.txt`, the names may only say which side is which.
            starts = {re.split("[-_]", part)[0] for part in (a, b)}
            if _CODE.fullmatch(a) and _CODE.fullmatch(b) and not starts & _SIDES:
                return a, b
    return None


def is_tsv(name: str) -> bool:
    """Return whether a file is TSV by its name, before a compression suffix.

    >>> is_tsv("train.en-de.tsv.gz"), is_tsv("train.en")
    (True, False)
    """
    path = Path(name)
    return (path.with_suffix("") if path.suffix in _COMPRESSED else path).suffix == ".tsv"


def guess_tsv_languages(names: Iterable[str]) -> Pair | None:
    """Return the two languages in the name of a TSV file, source first, or None.

    >>> guess_tsv_languages(["train.tsv", "data/news.en-de.tsv.gz"])
    ('en', 'de')
    """
    for name in names:
        match = _TWO_CODES.search(Path(name).name)
        if match and match[1] != match[2] and not {match[1], match[2]} & _NOT_LANGUAGES:
            return match[1], match[2]
    return None


def are_swapped(paths: Iterable[str], src: str, tgt: str) -> bool:
    """Return whether the names of two files carry each other's language.

    >>> are_swapped(["a.de", "a.en"], "en", "de"), are_swapped(["a.de", "b.txt"], "en", "de")
    (True, False)
    >>> are_swapped(["a_de.txt", "a_en.txt"], "en", "de"), are_swapped(["a.tsv"], "en", "de")
    (True, False)
    >>> are_swapped(["a.de", "a.en"], "EN", "de-DE")
    True
    >>> are_swapped(["a.en-US", "a.en-GB"], "en-US", "en-GB")
    False
    """
    names = tuple(paths)
    guessed = guess_languages([names]) if len(names) == 2 and src != tgt else None
    if guessed is None:
        return False
    bases = base_code(src), base_code(tgt)
    # en-GB and en-US are told apart by their countries.
    is_alike = bases[0] == bases[1]
    return guessed == (tgt, src) or (
        not is_alike and (base_code(guessed[1]), base_code(guessed[0])) == bases
    )
