"""The English names of the languages that have a code of two letters (ISO 639-1)."""

from nmt_cli.data.languages.codes import base_code

# The usual name first.
_NAMES = {
    "aa": "afar", "ab": "abkhazian", "ae": "avestan", "af": "afrikaans", "ak": "akan, twi",
    "am": "amharic", "an": "aragonese", "ar": "arabic", "as": "assamese", "av": "avaric",
    "ay": "aymara", "az": "azerbaijani", "ba": "bashkir", "be": "belarusian", "bg": "bulgarian",
    "bi": "bislama", "bm": "bambara", "bn": "bengali, bangla", "bo": "tibetan", "br": "breton",
    "bs": "bosnian", "ca": "catalan", "ce": "chechen", "ch": "chamorro", "co": "corsican",
    "cr": "cree", "cs": "czech", "cu": "church slavonic", "cv": "chuvash", "cy": "welsh",
    "da": "danish", "de": "german", "dv": "dhivehi", "dz": "dzongkha", "ee": "ewe", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian, farsi", "ff": "fulah, fulfulde, pulaar", "fi": "finnish", "fj": "fijian",
    "fo": "faroese", "fr": "french", "fy": "frisian", "ga": "irish", "gd": "scottish gaelic",
    "gl": "galician", "gn": "guarani", "gu": "gujarati", "gv": "manx", "ha": "hausa",
    "he": "hebrew", "hi": "hindi", "ho": "hiri motu", "hr": "croatian", "ht": "haitian creole",
    "hu": "hungarian", "hy": "armenian", "hz": "herero", "ia": "interlingua", "id": "indonesian",
    "ie": "interlingue", "ig": "igbo", "ii": "sichuan yi", "ik": "inupiaq", "io": "ido",
    "is": "icelandic", "it": "italian", "iu": "inuktitut", "ja": "japanese", "jv": "javanese",
    "ka": "georgian", "kg": "kongo, kikongo", "ki": "kikuyu, gikuyu", "kj": "kuanyama",
    "kk": "kazakh", "kl": "kalaallisut, greenlandic", "km": "khmer", "kn": "kannada",
    "ko": "korean", "kr": "kanuri", "ks": "kashmiri", "ku": "kurdish, kurmanji", "kv": "komi",
    "kw": "cornish", "ky": "kyrgyz", "la": "latin", "lb": "luxembourgish",
    "lg": "ganda, luganda", "li": "limburgish", "ln": "lingala", "lo": "lao", "lt": "lithuanian",
    "lu": "luba-katanga", "lv": "latvian", "mg": "malagasy", "mh": "marshallese", "mi": "maori",
    "mk": "macedonian", "ml": "malayalam", "mn": "mongolian", "mr": "marathi", "ms": "malay",
    "mt": "maltese", "my": "burmese, myanmar", "na": "nauru", "nd": "north ndebele",
    "ne": "nepali", "ng": "ndonga", "nl": "dutch", "nn": "norwegian nynorsk", "no": "norwegian",
    "nr": "south ndebele", "nv": "navajo", "ny": "nyanja, chichewa, chewa", "oc": "occitan",
    "oj": "ojibwa, ojibwe", "om": "oromo", "or": "odia, oriya", "os": "ossetian",
    "pa": "punjabi, panjabi", "pi": "pali", "pl": "polish", "ps": "pashto", "pt": "portuguese",
    "qu": "quechua", "rm": "romansh", "rn": "rundi, kirundi", "ro": "romanian", "ru": "russian",
    "rw": "kinyarwanda", "sa": "sanskrit", "sc": "sardinian", "sd": "sindhi",
    "se": "northern sami", "sg": "sango", "si": "sinhala, sinhalese", "sk": "slovak",
    "sl": "slovenian, slovene", "sm": "samoan", "sn": "shona", "so": "somali", "sq": "albanian",
    "sr": "serbian", "ss": "swati, siswati", "st": "sotho, sesotho", "su": "sundanese",
    "sv": "swedish", "sw": "swahili, kiswahili", "ta": "tamil", "te": "telugu", "tg": "tajik",
    "th": "thai", "ti": "tigrinya", "tk": "turkmen", "tl": "tagalog, filipino",
    "tn": "tswana, setswana", "to": "tonga", "tr": "turkish", "ts": "tsonga", "tt": "tatar",
    "ty": "tahitian", "ug": "uyghur", "uk": "ukrainian", "ur": "urdu", "uz": "uzbek",
    "ve": "venda", "vi": "vietnamese", "vo": "volapük", "wa": "walloon", "wo": "wolof",
    "xh": "xhosa, isixhosa", "yi": "yiddish", "yo": "yoruba", "za": "zhuang", "zh": "chinese",
    "zu": "zulu, isizulu",
}  # fmt: skip
CODE_OF_ENGLISH_NAME = {name: code for code, names in _NAMES.items() for name in names.split(", ")}


def english_name(code: str) -> str | None:
    """The usual name of the language of a two-letter code, with capital letters; None if unknown.

    >>> english_name("my"), english_name("xx")
    ('Burmese', None)
    """
    names = _NAMES.get(code)
    return names.partition(",")[0].title() if names else None


def shown_language(language: str) -> str:
    """A language in a message: its English name and its code, or what is known of it.

    language: a code, or a script where the language is not known.

    >>> shown_language("pt_BR"), shown_language("xnd"), shown_language("Cyrillic script")
    ('Portuguese (`pt_BR`)', '`xnd`', 'Cyrillic script')
    """
    if " " in language:
        return language
    name = english_name(base_code(language))
    return f"{name} (`{language}`)" if name else f"`{language}`"
