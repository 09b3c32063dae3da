"""Text as the paper's BLEU takes it: tokenised by Moses' rules, German compounds split.

The paper (section 6.1, table 2) does not say how its BLEU was computed; its authors' scripts do.
On both sides: Moses' replace-unicode-punctuation and tokenizer (sacremoses gives, token for
token, what the Perl scripts of June 2017 give); for German the substitution of
`split_compounds`; then case-sensitive BLEU over the tokens between spaces, without smoothing. For
other languages the numbers are plain tokenised BLEU. They are higher than sacreBLEU's for the
same output (by about 0.7 for en-de), so the two must not be compared.
"""

import re
from collections.abc import Iterable

_COMPOUND = re.compile(rb"(\S)-(\S)")


def split_compounds(line: str) -> str:
    """A tokenised line with every hyphen inside a word as a token `##AT##-##AT##` of its own.

    The substitution is one pass from left to right, and its matches do not overlap:

    >>> split_compounds("aa-bb-cc")
    'aa ##AT##-##AT## bb ##AT##-##AT## cc'
    >>> split_compounds("a-b-c")
    'a ##AT##-##AT## b-c'
    """
    # Over bytes, as in the Perl script: in "a-ü-c" the two bytes of ü serve both hyphens.
    data = line.encode("utf-8", "surrogatepass")
    return _COMPOUND.sub(rb"\1 ##AT##-##AT## \2", data).decode("utf-8", "surrogatepass")


def splits_compounds(language: str) -> bool:
    """Whether the paper's BLEU splits compounds of this target language."""
    return language == "de"


def has_rules_for(language: str) -> bool:
    """Whether Moses' tokeniser knows this language; it has the rules of English for all others.

    >>> has_rules_for("de"), has_rules_for("ja"), has_rules_for("xx")
    (True, True, False)
    """
    from sacremoses.corpus import NonbreakingPrefixes

    # It has no abbreviations of the last two, but rules of their scripts.
    return language in NonbreakingPrefixes().available_langs or language in ("ja", "ko")


def paper_text(lines: Iterable[str], language: str) -> list[str]:
    """Each line tokenised for `language` (such as de), with German compounds split."""
    tokenized = tokenized_text(lines, language)
    return (
        [split_compounds(line) for line in tokenized] if splits_compounds(language) else tokenized
    )


def tokenized_text(lines: Iterable[str], language: str) -> list[str]:
    """Each line tokenised for `language`, without splitting compounds."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    punctuation = MosesPunctNormalizer(language)
    tokenizer = MosesTokenizer(language)
    # One line for each call: sacremoses breaks a text with carriage returns into other lines.
    return [
        tokenizer.tokenize(punctuation.replace_unicode_punct(line), return_str=True)
        for line in lines
    ]
