"""Recognises text without spaces between words, which BLEU's usual tokeniser takes for few words.

Its n-grams are then those of whole phrases, so that BLEU may be 0 even of a perfect translation.
"""

import re
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import islice

from nmt_cli.data.languages.unspaced import HAN, KANA, UNSPACED

# Enough to be sure, in some milliseconds.
LINES_LOOKED_AT = 300
_LETTER = re.compile(r"[^\W\d_]")
# Text counts as unspaced if at least this share of its letters are of these scripts.
_LEAST_SHARE = 0.5
# Where spaces divide words, as after a word segmenter, words have fewer characters on average: 1.5
# in Chinese, 2 in Japanese, 4 to 6 in the other scripts, whose vowel signs count.
_LONGEST_CJK, _LONGEST_OTHER = 4.0, 10.0
_LEAST_KANA = 0.05


def unspaced_tokenizer(lines: Iterable[str]) -> str:
    """The tokeniser of sacreBLEU that suits lines without spaces between words, else "".

    >>> unspaced_tokenizer(["ສະບາຍດີຕອນເຊົ້າທຸກຄົນ"]), unspaced_tokenizer(["今天天气很好。"])
    ('char', 'zh')
    >>> unspaced_tokenizer(["今天 天气 很 好 。"]), unspaced_tokenizer(["Guten Morgen, 北京!"])
    ('', '')
    """
    text = " ".join(islice(lines, LINES_LOOKED_AT))
    letters = len(UNSPACED.findall(text))
    words = sum(UNSPACED.search(word) is not None for word in text.split())
    if not letters or letters < _LEAST_SHARE * len(_LETTER.findall(text)):
        return ""
    kana, han = (len(script.findall(text)) for script in (KANA, HAN))
    is_cjk = 2 * (kana + han) > letters
    if letters < words * (_LONGEST_CJK if is_cjk else _LONGEST_OTHER):
        return ""
    if is_cjk and kana < _LEAST_KANA * letters:
        return "zh"
    has_mecab = find_spec("MeCab") is not None and find_spec("ipadic") is not None
    return "ja-mecab" if is_cjk and has_mecab else "char"


def unspaced_validation_note(references: Iterable[str]) -> str:
    """The warning that the BLEU of validations says little of such a target language, else ""."""
    tokenizer = unspaced_tokenizer(references)
    if not tokenizer:
        return ""
    return (
        "the target side of the validation text has next to no spaces between words, and the BLEU "
        "of validations takes what is between spaces for words: it is low also of good "
        "translations, and mostly perplexity chooses the weights; to compare models: "
        f"`nmt score --tokenize {tokenizer}`, or `nmt score --metric chrf`"
    )
