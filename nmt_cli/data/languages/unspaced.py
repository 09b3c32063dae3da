"""Where words end, and how many there are, also in scripts without spaces between words.

Whatever counts the words of a text takes them from here: `spaced_words` where the words themselves
matter, `length_in_words` where the length of the text does.
"""

import re

KANA = re.compile("[\u3040-\u30ff\uff66-\uff9f]")
HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# Thai, Lao, Tibetan, Burmese, Khmer, and the scripts of other languages of South-East Asia.
OTHERS = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9df"
    "\uaa60-\uaa7f]"
)
UNSPACED = re.compile("|".join(part.pattern for part in (KANA, HAN, OTHERS)))
# So many letters of these scripts are taken for a word; it has 1.5 in Chinese and 4 or 5 in Thai.
LETTERS_OF_WORD = 3
# What Ethiopic texts may have between words in place of a space.
ETHIOPIC_SPACE = "\u1361"
_SEPARATED = re.compile(f"[^{ETHIOPIC_SPACE}]*{ETHIOPIC_SPACE}+|[^{ETHIOPIC_SPACE}]+")


def spaced_words(sentence: str) -> list[str]:
    """What stands between spaces, and between Ethiopic word separators.

    >>> spaced_words("the dog."), spaced_words("ሰላም፡ለዓለም።")
    (['the', 'dog.'], ['ሰላም', 'ለዓለም።'])
    """
    return sentence.replace(ETHIOPIC_SPACE, " ").split()


def separated_words(text: str) -> list[str]:
    """The parts of a text behind Ethiopic word separators, which stay at the end of their words.

    >>> separated_words("ሰላም፡ለዓለም።"), separated_words("the dog.")
    (['ሰላም፡', 'ለዓለም።'], ['the dog.'])
    """
    return _SEPARATED.findall(text)


def length_in_words(sentence: str) -> int:
    """How many words a sentence has, in any script; signs between spaces are words, too.

    >>> length_in_words("The dog sleeps ."), length_in_words("今天的天气非常好啊。")
    (4, 4)
    """
    if sentence.isascii():
        return len(sentence.split())
    text = UNSPACED.sub("", sentence)
    return len(spaced_words(text)) + (len(sentence) - len(text)) // LETTERS_OF_WORD


def rough_word_count(sentence: str) -> int:
    """About how many words a sentence has, in any script, without signs between spaces.

    >>> rough_word_count("The dog sleeps ."), rough_word_count("今天的天气非常好啊。")
    (3, 3)
    """
    text = UNSPACED.sub("", sentence)
    words = sum(any(map(str.isalnum, word)) for word in spaced_words(text))
    return words + (len(sentence) - len(text)) // LETTERS_OF_WORD
