"""Identifies the language of a text by its script and by the commonest words of 28 languages."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from nmt_cli.data.languages.codes import base_code

# The commonest function words of each language; they are a fifth to a half of any text.
FUNCTION_WORDS = {
    "bg": "и на да се в за от не е с че са по как той това ще си ме като до или но има го "
          "му",
    "ca": "de la que i el a en un per les amb els no una és del se al va com més però seva "
          "aquest",
    "cs": "a se v na je že to s z do o i jako by ale po za ve jsem jeho tak při pro od které "
          "si už",
    "da": "og i at det er en til på som af for de med den ikke der har et var jeg han sig fra "
          "vi kan",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als "
          "auch es ich er sie wir war hat wie bei noch nach einen",
    "en": "the of and to in a is that it was for on with he as you be at his by i not are "
          "this but have they from she we had an or her",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más "
          "pero sus le ha me si sin este",
    "et": "ja on ei et ta see oli kui ma ka aga mis oma siis nii või nagu seda kes mida pole "
          "veel",
    "fi": "ja on ei se että hän oli olla mutta kun ovat joka myös niin minä tämä mitä kuin "
          "sen ole tai sitä hänen",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se "
          "ce il elle je nous vous avec sont ou",
    "hr": "i je u na se da za su od s o kao što ne koji bi ili ali iz nije to sam će koje do "
          "kako",
    "hu": "a az és hogy nem is egy volt meg ez csak de már mint el van ki azt vagy még ha én "
          "ezt",
    "id": "yang dan di dengan ini untuk dari pada dalam tidak itu adalah ke akan saya juga "
          "atau oleh ada kami",
    "it": "di che e la il un a per in una non è con del si da i le al sono come ma dei lo più "
          "anche della nel ho gli",
    "lt": "ir kad į su iš tai yra kaip bet buvo o per jo ne tik už nuo ar taip jis jau dar po "
          "man",
    "lv": "un ir ka no ar par uz bija kas kā bet to arī ne vai viņš tas es ko nav lai pēc",
    "nl": "de van het een en in is dat op te zijn met voor niet die aan er om ook als bij dan "
          "naar hij ik maar uit ze was",
    "no": "og i det er en til på som av for de med den ikke har et var jeg han fra vi kan men "
          "om seg",
    "pl": "i w na z się nie do to że jest o jak ale po co za od tak dla przez był ma czy tym "
          "już",
    "pt": "de a que o e do da em um para com não uma os no se na por mais as dos como mas ao "
          "ele das foi eu é",
    "ro": "și de a în la cu pe o nu că un este se din care mai pentru ce sunt ca am fost au "
          "lui dar",
    "ru": "и в не на я что он с как а это по она но его к так из у же за все только ее был "
          "бы от меня",
    "sk": "a sa v na je že to s z do o aj ako by ale po za vo som jeho tak pri pre od ktoré "
          "si už",
    "sl": "in je v na se da za so od s kot ki ne bi ali pa tudi iz ni to sem bo do kako",
    "sv": "och i att det är en på som för av med den till inte ett de har om jag var han vi "
          "kan men",
    "tr": "ve bir bu da de için ile çok ne o gibi daha var ben mi ama kadar her değil sonra "
          "olan en",
    "uk": "і в не на що з як а це до та за але й він у я так його від вона про то ще ми був "
          "для є або",
    "vi": "và là của có không trong được cho một các người đã tôi với này những để khi ở đó",
}  # fmt: skip
WORDS = {code: frozenset(text.split()) for code, text in FUNCTION_WORDS.items()}
_CYRILLIC_WORDS = ("bg", "ru", "uk")
_SCRIPTS = {
    "Cyrillic": "[\u0400-\u04ff]", "Greek": "[\u0370-\u03ff]", "Hebrew": "[\u0590-\u05ff]",
    "Arabic": "[\u0600-\u06ff]", "Devanagari": "[\u0900-\u097f]", "Thai": "[\u0e00-\u0e7f]",
    "Hangul": "[\uac00-\ud7af]", "Kana": "[\u3040-\u30ff]", "Han": "[\u4e00-\u9fff]",
    "Latin": "[A-Za-z\u00c0-\u024f\u1e00-\u1eff]",
}  # fmt: skip
_SCRIPT_PATTERNS = {name: re.compile(pattern) for name, pattern in _SCRIPTS.items()}
_SCRIPTS_OF = {
    **dict.fromkeys(("ru", "uk", "bg", "mk", "be", "kk", "mn"), ("Cyrillic",)),
    "el": ("Greek",), "he": ("Hebrew",), "ar": ("Arabic",), "fa": ("Arabic",), "ur": ("Arabic",),
    "hi": ("Devanagari",), "ne": ("Devanagari",), "mr": ("Devanagari",), "th": ("Thai",),
    "ko": ("Hangul",), "ja": ("Kana", "Han"), "zh": ("Han",), "sr": ("Cyrillic", "Latin"),
    **dict.fromkeys(WORDS.keys() - _CYRILLIC_WORDS, ("Latin",)),
}  # fmt: skip
_TOKEN = re.compile(r"[^\W\d_]+")
MIN_TOKENS = 200
MIN_SHARE = 0.12
# Another language must fit this many times better than the stated one to be reported.
MIN_SHARE_RATIO = 3.0
MIN_SHARE_OF_SCRIPT = 0.9


def is_known(code: str) -> bool:
    """Return whether text can be checked to be in the language of this code.

    >>> is_known("deu"), is_known("xx")
    (True, False)
    """
    return base_code(code) in _SCRIPTS_OF


def function_words(code: str) -> frozenset[str]:
    """The commonest function words of a language; none if they are not known."""
    return WORDS.get(base_code(code), frozenset())


def other_language(lines: Iterable[str], stated: str) -> str | None:
    """Return the language or script of `lines` if it is clearly not the `stated` language.

    Returns None if they may be in that language, if there are too few words, or if the language is
    not known to this module.
    """
    stated = base_code(stated)
    if stated not in _SCRIPTS_OF:
        return None
    text = " ".join(lines).lower()
    script = _script(text)
    if script is not None and script not in _SCRIPTS_OF[stated]:
        by_words = _best_language(text, "")[0] if script == "Latin" else None
        return by_words or f"{script} script"
    if stated not in WORDS:
        return None
    best, share, own = _best_language(text, stated)
    return best if best and best != stated and share > MIN_SHARE_RATIO * own else None


def differing_languages(
    first_text: Iterable[str], second_text: Iterable[str]
) -> tuple[str, str] | None:
    """Return the languages or scripts of two texts if they clearly differ.

    Returns None if they may be in the same language or if there are too few words.
    """
    texts = [" ".join(lines).lower() for lines in (first_text, second_text)]
    scripts = [_script(text) for text in texts]
    if None in scripts:
        return None
    languages = [
        _best_language(text, "")[0] if script == "Latin" else None
        for text, script in zip(texts, scripts, strict=True)
    ]
    first, second = (
        language or f"{script} script" for language, script in zip(languages, scripts, strict=True)
    )
    if scripts[0] != scripts[1]:
        # Japanese is written in both of these scripts.
        return None if {"Kana", "Han"}.issuperset(scripts) else (first, second)
    if None in languages or first == second:
        return None
    likely = [
        share > MIN_SHARE_RATIO * of_other
        for _, share, of_other in (
            _best_language(texts[0], second),
            _best_language(texts[1], first),
        )
    ]
    return (first, second) if all(likely) else None


def is_on_other_side(lines: Iterable[str], others: Iterable[str], code: str) -> bool:
    """Whether `others` are clearly in the language of this code, which `lines` should be in.

    For languages whose text on the other side cannot be recognised by itself.
    """
    code = base_code(code)
    if code not in WORDS:
        return False
    best, share, _ = _best_language(" ".join(others).lower(), code)
    words = _TOKEN.findall(" ".join(lines).lower())
    if best != code or len(words) < MIN_TOKENS:
        return False
    own = sum(word in WORDS[code] for word in words) / len(words)
    return share > MIN_SHARE_RATIO * own


def only_known_language_is_swapped(
    src_lines: Sequence[str], tgt_lines: Sequence[str], src: str, tgt: str
) -> bool:
    """Whether the only language of the two that is known to nmt is on the other side."""
    if is_known(src) == is_known(tgt):
        return False
    if is_known(src):
        return is_on_other_side(src_lines, tgt_lines, src)
    return is_on_other_side(tgt_lines, src_lines, tgt)


def sides_are_swapped(
    src_lines: Sequence[str], tgt_lines: Sequence[str], src: str, tgt: str
) -> bool:
    """Whether the text of each side is clearly in the language of the other one.

    Where only one of the languages is known to nmt, whether that one is on the other side.
    """
    others = other_language(src_lines, src), other_language(tgt_lines, tgt)
    return others == (base_code(tgt), base_code(src)) or only_known_language_is_swapped(
        src_lines, tgt_lines, src, tgt
    )


def known_language(lines: Iterable[str]) -> str | None:
    """The language of a text whose function words are known, or None; also for too few words."""
    return _best_language(" ".join(lines).lower(), "")[0]


def share_of_language(lines: Iterable[str], code: str) -> float:
    """The share of function words of this language if the text is clearly in it, or else 0.

    Of a language that is known by its script alone, it is 1 for text in its script.

    >>> share_of_language(["Ka mi to"] * 99, "en"), share_of_language(["το σπίτι"] * 99, "el")
    (0.0, 1.0)
    """
    code, text = base_code(code), " ".join(lines).lower()
    if code in WORDS:
        best, share, _ = _best_language(text, code)
        return share if best == code else 0.0
    return float(code in _SCRIPTS_OF and _script(text) in _SCRIPTS_OF[code])


def _script(text: str) -> str | None:
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPT_PATTERNS.items()}
    letters = sum(counts.values())
    name = max(counts, key=lambda script: counts[script])
    if letters < MIN_TOKENS or counts[name] < MIN_SHARE_OF_SCRIPT * letters:
        return None
    return name


def _best_language(text: str, stated: str) -> tuple[str | None, float, float]:
    """Return the language with the most frequent words, their share, and that of `stated`."""
    tokens = Counter(_TOKEN.findall(text))
    total = sum(tokens.values())
    if total < MIN_TOKENS:
        return None, 0.0, 0.0
    shares = {code: sum(tokens[word] for word in words) / total for code, words in WORDS.items()}
    best = max(shares, key=lambda code: shares[code])
    if shares[best] < MIN_SHARE:
        return None, 0.0, 0.0
    return best, shares[best], shares.get(stated, 0.0)
