"""Language codes of three letters (ISO 639-2 and 639-3), and the two-letter codes of ISO 639-1."""

# Of two codes of three letters for a language, the first is that of ISO 639-3.
_THREE_LETTER_CODES = {
    "aa": "aar", "ab": "abk", "ae": "ave", "af": "afr", "ak": "aka", "am": "amh", "an": "arg",
    "ar": "ara arb", "as": "asm", "av": "ava", "ay": "aym", "az": "aze azj", "ba": "bak",
    "be": "bel", "bg": "bul", "bi": "bis", "bm": "bam", "bn": "ben", "bo": "bod tib", "br": "bre",
    "bs": "bos", "ca": "cat", "ce": "che", "ch": "cha", "co": "cos", "cr": "cre", "cs": "ces cze",
    "cu": "chu", "cv": "chv", "cy": "cym wel", "da": "dan", "de": "deu ger", "dv": "div",
    "dz": "dzo", "ee": "ewe", "el": "ell gre", "en": "eng", "eo": "epo", "es": "spa",
    "et": "est ekk", "eu": "eus baq", "fa": "fas per pes", "ff": "ful", "fi": "fin", "fj": "fij",
    "fo": "fao", "fr": "fra fre", "fy": "fry", "ga": "gle", "gd": "gla", "gl": "glg",
    "gn": "grn", "gu": "guj", "gv": "glv", "ha": "hau", "he": "heb", "hi": "hin", "ho": "hmo",
    "hr": "hrv", "ht": "hat", "hu": "hun", "hy": "hye arm", "hz": "her", "ia": "ina",
    "id": "ind", "ie": "ile", "ig": "ibo", "ii": "iii", "ik": "ipk", "io": "ido",
    "is": "isl ice", "it": "ita", "iu": "iku", "ja": "jpn", "jv": "jav", "ka": "kat geo",
    "kg": "kon", "ki": "kik", "kj": "kua", "kk": "kaz", "kl": "kal", "km": "khm", "kn": "kan",
    "ko": "kor", "kr": "kau", "ks": "kas", "ku": "kur", "kv": "kom", "kw": "cor", "ky": "kir",
    "la": "lat", "lb": "ltz", "lg": "lug", "li": "lim", "ln": "lin", "lo": "lao", "lt": "lit",
    "lu": "lub", "lv": "lav lvs", "mg": "mlg plt", "mh": "mah", "mi": "mri mao",
    "mk": "mkd mac", "ml": "mal", "mn": "mon khk", "mr": "mar", "ms": "msa may zsm", "mt": "mlt",
    "my": "mya bur", "na": "nau", "nd": "nde", "ne": "nep npi", "ng": "ndo", "nl": "nld dut",
    "nn": "nno", "no": "nor nob", "nr": "nbl", "nv": "nav", "ny": "nya", "oc": "oci",
    "oj": "oji", "om": "orm", "or": "ori ory", "os": "oss", "pa": "pan", "pi": "pli",
    "pl": "pol", "ps": "pus", "pt": "por", "qu": "que", "rm": "roh", "rn": "run",
    "ro": "ron rum", "ru": "rus", "rw": "kin", "sa": "san", "sc": "srd", "sd": "snd",
    "se": "sme", "sg": "sag", "si": "sin", "sk": "slk slo", "sl": "slv", "sm": "smo",
    "sn": "sna", "so": "som", "sq": "sqi alb", "sr": "srp", "ss": "ssw", "st": "sot",
    "su": "sun", "sv": "swe", "sw": "swa", "ta": "tam", "te": "tel", "tg": "tgk", "th": "tha",
    "ti": "tir", "tk": "tuk", "tl": "tgl", "tn": "tsn", "to": "ton", "tr": "tur", "ts": "tso",
    "tt": "tat", "ty": "tah", "ug": "uig", "uk": "ukr", "ur": "urd", "uz": "uzb uzn",
    "ve": "ven", "vi": "vie", "vo": "vol", "wa": "wln", "wo": "wol", "xh": "xho", "yi": "yid ydd",
    "yo": "yor", "za": "zha", "zh": "zho chi cmn", "zu": "zul",
}  # fmt: skip
_TWO_LETTER_CODES = {
    code: short for short, codes in _THREE_LETTER_CODES.items() for code in codes.split()
} | {"nb": "no"}


def base_code(code: str) -> str:
    """Return the language of a code without country and script, in two letters if they exist.

    >>> base_code("pt_BR"), base_code("deu_Latn"), base_code("gsw"), base_code("zul")
    ('pt', 'de', 'gsw', 'zu')
    """
    language = code.replace("_", "-").split("-")[0].lower()
    return _TWO_LETTER_CODES.get(language, language)
