"""Letters of another script that look like those of the word that they stand in."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

# Rows of letters that look alike. Missing on purpose: the Latin I, which many languages of the
# Caucasus write for the Cyrillic palochka; æ, which Ossetian texts have in both scripts; and small
# Greek letters other than omicron beside Latin ones, which are symbols (hν, ρmax).
_LATIN_CYRILLIC = (
    "aceopsxyhijwABCEHJKMOPSTXYəƏɵ",
    "асеорѕхуһіјԝАВСЕНЈКМОРЅТХҮәӘө",
)
_LATIN_GREEK = ("oABEHIKMNOPTXYZ", "οΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
# Beside Greek letters these are no symbols.
_LATIN_TO_GREEK = ("v", "ν")
_CYRILLIC_GREEK = ("оАВЕНКМОРТХІ", "οΑΒΕΗΚΜΟΡΤΧΙ")

# Keyboards without the letters of African alphabets lead to these, which are symbols elsewhere.
_AFRICAN_LETTERS = "ɛƐɣŋɩʋɑɔ"
_AFRICAN_LOOK_ALIKES = {
    **dict(zip("εЄγηιυαᴐ", _AFRICAN_LETTERS, strict=True)),
    **dict(zip("єԑԐͻϽↄↃ", "ɛɛƐɔƆɔƆ", strict=True)),
}  # fmt: skip
# Those that are of no script here: of phonetic symbols and Roman numerals.
_REVERSED = "ᴐↄↃ"
# Letters that show that a text is written in such an alphabet, the last ones beside Latin letters.
_AFRICAN = re.compile("[ɛƐɔƆŋŊɲƝɓɗƙƴɖƒɣʋɩʊǝԑԐͻϽↄ]")


def _table(*rows: tuple[str, str]) -> dict[str, str]:
    return {letter: other for row in rows for letter, other in zip(*row, strict=True)}


def _reversed(row: tuple[str, str]) -> tuple[str, str]:
    return row[1], row[0]


# By the script that a letter should have and the one that it has.
_LOOK_ALIKES = {
    ("CYRILLIC", "LATIN"): {
        # Almost only Macedonian has the letter that looks like an s.
        letter: other
        for letter, other in _table(_LATIN_CYRILLIC, ("Y", "У")).items()
        if letter not in "sS"
    },
    ("LATIN", "CYRILLIC"): _table(_reversed(_LATIN_CYRILLIC), ("УԑԐҫҪ", "YɛƐçÇ")),
    ("GREEK", "LATIN"): _table(_LATIN_GREEK, _LATIN_TO_GREEK),
    ("LATIN", "GREEK"): _table(_reversed(_LATIN_GREEK)),
    ("GREEK", "CYRILLIC"): _table(_CYRILLIC_GREEK),
    ("CYRILLIC", "GREEK"): _table(_reversed(_CYRILLIC_GREEK)),
}
_LATIN = "A-Za-zªºÀ-ÖØ-öø-\u02af\u1e00-\u1eff"
_GREEK = "\u0370-\u03ff\u1f00-\u1fff"
_CYRILLIC = "\u0400-\u052f"
# Two neighbouring letters of different scripts. It begins with what is rare in Latin text, which is
# searched in a tenth of the time of three alternatives.
MIXED_SIGN = re.compile(
    rf"[{_GREEK}{_CYRILLIC}{_REVERSED}](?:(?=[{_LATIN}])|(?<=[{_LATIN}].)"
    rf"|(?<=[{_GREEK}])(?=[{_CYRILLIC}])|(?<=[{_CYRILLIC}])(?=[{_GREEK}]))"
)
# The signs before the letter of a placeholder (%s, %-10d, $n, \\t, &a), which are not of the word.
_PLACEHOLDER = re.compile(r"[%\\$&][-+#.*0-9]*\Z")
_LETTERS = rf"{_LATIN}{_GREEK}{_CYRILLIC}{_REVERSED}\u0300-\u036f"
WORD = re.compile(f"[{_LETTERS}]+")
SCRIPT_RUNS = {
    "LATIN": re.compile(f"[{_LATIN}]+"),
    "CYRILLIC": re.compile(f"[{_CYRILLIC}]+"),
    "GREEK": re.compile(f"[{_GREEK}]+"),
}
_FOREIGN = re.compile(f"[{_GREEK}{_CYRILLIC}{_REVERSED}]")
# Words of several letters, all of them look-alikes of African ones.
_ALIKE = _REVERSED + "".join(
    letter
    for letter in map(chr, (*range(0x370, 0x460), *range(0x1F00, 0x2000)))
    if unicodedata.normalize("NFD", letter)[0] in _AFRICAN_LOOK_ALIKES
)
_ALIKE_WORD = re.compile(rf"(?<![{_LETTERS}])[{_ALIKE}\u0300-\u036f]{{2,}}(?![{_LETTERS}])")
# A word of Cyrillic letters that all look like Latin ones.
_LATIN_ALIKE_WORD = re.compile(rf"(?<![{_LETTERS}])[{_LATIN_CYRILLIC[1]}У]+(?![{_LETTERS}])")
# A line that contains it may have words that `mixed_words` finds.
MIXED_WORD_SIGN = re.compile(f"{MIXED_SIGN.pattern}|{_ALIKE_WORD.pattern}")
# A Latin name with an ending of the language around it: VIPов, Facebookа.
_INFLECTED = re.compile(rf"[{_LATIN}\u0300-\u036f]+[а-џα-ώ]+")
# A small letter of another script behind one (`naη`), or a Greek one before two (`ηku`) that no
# symbol is, as those of μmol and βgal. Missing on purpose: the palochka, Ossetian æ, vowels with a
# circumflex, which Serbian has (кôд), and names such as FcγRII.
_SMALL_LATIN = "a-zß-áãäåç-éëìíïñ-óõöøùúüýþÿ\u0101-\u02af\u1e00-\u1eff"
_SMALL_GREEK = "ά-ώ\u1f00-\u1fff"
_SMALL_CYRILLIC = "а-џ\u0460-\u04bf\u04c1-\u052f"
_MIXED_LETTERS = re.compile(
    rf"[{_SMALL_LATIN}](?:[{_SMALL_GREEK}](?![A-Z])|[{_SMALL_CYRILLIC}])"
    rf"|(?:\A[Ѐ-Я]|[{_SMALL_CYRILLIC}])[{_SMALL_LATIN}{_SMALL_GREEK}]|[{_SMALL_GREEK}][{_SMALL_CYRILLIC}]"
    rf"|[εηιο{_REVERSED}][{_SMALL_LATIN}]{{2}}|(?:ο|[{_SMALL_GREEK}]{{2}})[{_SMALL_LATIN}]"
)
# The sine of an angle, and proteins: sinα, Tgfβ.
_SYMBOL = re.compile(r"(?:(?:arc)?(?:sin|cos|tan|cot)|exp|log|ln|d)[α-ω]|[A-Z][a-z]{2,3}[α-δ]")


def replace_look_alikes(text: str, script: str = "", frequent: Collection[str] = ()) -> str:
    """Replace letters in words of another script with the letters that they look like.

    A word is changed only if most of its letters are of one script, one of them with no look-alike
    in the other, and all others look like letters of this script.

    script: LATIN, CYRILLIC or GREEK where nearly all letters of the text around it are of this
    script; a word with letters of it, whose others all look like such letters, becomes one of it.
    So does a word of several look-alikes that is among the `frequent` ones, in a line most of whose
    letters are of the script, or that is in small letters, in a line where another word became one
    of the script. Capital letters may be an abbreviation or a name.

    >>> replace_look_alikes("Ж\u0061\u0063 \u0063\u0069, HTC", "CYRILLIC")
    'Жас сі, HTC'

    >>> replace_look_alikes("The h\u043euse"), replace_look_alikes("м\u006fлоко")
    ('The house', 'молоко')
    >>> replace_look_alikes("літара «\u041d»") == "літара «\u041d»"
    True
    >>> replace_look_alikes("β-Carotin, μm, COVID-19, TNFα"), replace_look_alikes("для VIPа")
    ('β-Carotin, μm, COVID-19, TNFα', 'для VIPа')

    In text with letters of African alphabets, Greek letters in Latin words are look-alikes, too,
    and so are words of nothing but look-alikes, some of which the Latin words have.

    >>> replace_look_alikes("kε kpεŋ, ɲ\u1f72"), replace_look_alikes("kε, α-tokoferol")
    ('kɛ kpɛŋ, ɲɛ̀', 'kε, α-tokoferol')
    >>> replace_look_alikes("Sԑ wͻfrↄ yԑԑ ԑԑ ↄde"), replace_look_alikes("iҫün", "LATIN")
    ('Sɛ wɔfrɔ yɛɛ ɛɛ ɔde', 'içün')
    >>> replace_look_alikes("ɔ kε ηε"), replace_look_alikes("ɔ kε α"), replace_look_alikes("ɔ ηε")
    ('ɔ kɛ ŋɛ', 'ɔ kɛ α', 'ɔ ηε')
    """
    if _AFRICAN.search(text):
        text = _with_african_letters(text)
    if not script:
        return WORD.sub(lambda match: _repaired(match, text), text)
    own = WORD.sub(lambda match: _in_script(match, text, script) or match[0], text)
    is_typed_so = own != text
    text = WORD.sub(lambda match: _repaired(match, own, script), own)

    def repair_whole(match: re.Match[str]) -> str:
        word = match[0]
        is_alike = (is_typed_so and word.islower()) or (
            word in frequent and _has_more(script, text, word)
        )
        if not is_alike or _PLACEHOLDER.search(text, 0, match.start()):
            return word
        return whole_word_in(script, word) or word

    return WORD.sub(repair_whole, text) if is_typed_so or frequent else text


def repair_look_alikes(text: str, script: str = "", other: str = "") -> str:
    r"""Return `replace_look_alikes` in NFC, as training text has it, or else `text` itself.

    script: that of the training text, see `replace_look_alikes`; other: that of its other side.
    Where both are LATIN, words of several Cyrillic look-alikes in small letters are repaired too,
    if most letters of the text are Latin, and all Cyrillic ones are in such words: a model of such
    text knows no Cyrillic word.

    >>> repair_look_alikes("The h\u043euse"), repair_look_alikes("caf\u0301e") == "caf\u0301e"
    ('The house', True)
    >>> repair_look_alikes("A good \u0441\u043e\u0440.", "LATIN", "LATIN")
    'A good cop.'
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text)
    repaired = composed
    if MIXED_SIGN.search(composed):
        repaired = replace_look_alikes(composed, script)
    if script == other == "LATIN":
        repaired = _with_latin_words(repaired)
    return text if repaired == composed else repaired


def _with_latin_words(text: str) -> str:
    """Text with Latin words in place of those of Cyrillic look-alikes; see `repair_look_alikes`."""
    if not _LATIN_ALIKE_WORD.search(text):
        return text
    has_cyrillic = SCRIPT_RUNS["CYRILLIC"].search(_LATIN_ALIKE_WORD.sub(" ", text))
    if has_cyrillic or not _has_more("LATIN", text):
        return text

    def repair_whole(match: re.Match[str]) -> str:
        is_placeholder = _PLACEHOLDER.search(text, 0, match.start())
        return match[0] if is_placeholder else whole_word_in("LATIN", match[0]) or match[0]

    return _LATIN_ALIKE_WORD.sub(repair_whole, text)


def mixed_words(text: str) -> list[str]:
    """The words with small letters of several scripts, apart from symbols and inflected names.

    In a repaired text, these are the words that `replace_look_alikes` leaves as they are. In text
    with letters of African alphabets, words of several look-alikes and no other letter are among
    them.

    >>> mixed_words("naη kpa, μmol, TNFα, sinα"), mixed_words("рядкаs для VIPа")
    (['naη'], ['рядкаs'])
    >>> mixed_words("ɔ ηε, α"), mixed_words("ηε"), mixed_words("ɔ για την")
    (['ηε'], [], [])
    """
    words = [
        match[0]
        for match in WORD.finditer(text)
        if _MIXED_LETTERS.search(match[0]) and not _is_mixed_on_purpose(match, text)
    ]
    if _AFRICAN.search(text) and _has_only_african_look_alikes(text):
        words += _ALIKE_WORD.findall(text)
    return words


def _is_mixed_on_purpose(match: re.Match[str], text: str) -> bool:
    """Whether a word of `text` is a placeholder with text, a symbol, or an inflected name."""
    word = match[0]
    if _PLACEHOLDER.search(text, 0, match.start()) or _SYMBOL.fullmatch(word):
        return True
    is_inflected = _INFLECTED.fullmatch(word) is not None
    return is_inflected and any(_has_more(script, text, word) for script in ("CYRILLIC", "GREEK"))


def _with_african_letters(text: str) -> str:
    """Text with letters of African alphabets in place of their look-alikes in Latin words.

    Also in words of nothing but look-alikes, if one of these was replaced in a Latin word, and the
    text has no other Greek or Cyrillic letter, as words of such a language would.
    """
    replaced: set[str] = set()

    def repair_mixed(match: re.Match[str]) -> str:
        others = _foreign_letters(match[0])
        if not MIXED_SIGN.search(match[0]) or not others <= _AFRICAN_LOOK_ALIKES.keys():
            return match[0]
        replaced.update(others)
        return _replace_african(match[0])

    def repair_whole(match: re.Match[str]) -> str:
        is_alike = not replaced.isdisjoint(_foreign_letters(match[0]))
        return _replace_african(match[0]) if is_alike else match[0]

    text = WORD.sub(repair_mixed, text)
    if _has_only_african_look_alikes(text):
        text = WORD.sub(repair_whole, text)
    return text


def _replace_african(word: str) -> str:
    letters = unicodedata.normalize("NFD", word)
    letters = "".join(_AFRICAN_LOOK_ALIKES.get(letter, letter) for letter in letters)
    return unicodedata.normalize("NFC", letters)


def _has_only_african_look_alikes(text: str) -> bool:
    """Whether all Greek and Cyrillic letters of a text look like letters of African alphabets."""
    return _foreign_letters(text) <= _AFRICAN_LOOK_ALIKES.keys()


def _foreign_letters(text: str) -> set[str]:
    """The Greek and Cyrillic letters of a text, without their accents."""
    return set(_FOREIGN.findall(unicodedata.normalize("NFD", text)))


def _repaired(match: re.Match[str], text: str, script: str = "") -> str:
    """The word that was found in `text`, with letters of its main script in place of look-alikes.

    It stays as it is if it does not meet the conditions of `replace_look_alikes`; script: as there.
    """
    word = match[0]
    if not MIXED_SIGN.search(word) or _PLACEHOLDER.search(text, 0, match.start()):
        return word
    letters = unicodedata.normalize("NFD", word)
    pairs = [(letter, _script(letter)) for letter in letters]
    counts = Counter(each for _, each in pairs if each).most_common()
    if len(counts) != 2 or counts[0][1] == counts[1][1]:
        return word
    main, other = counts[0][0], counts[1][0]
    ambiguous = _LOOK_ALIKES[other, main]
    if all(letter in ambiguous for letter, each in pairs if each == main):
        return word
    if not _has_one_case(pairs, main):
        return word
    is_inflected = main == "LATIN" and _INFLECTED.fullmatch(word) is not None
    if is_inflected and (script == other or _has_more(other, text, word)):
        return word
    return _replaced(pairs, main, other) or word


def _in_script(match: re.Match[str], text: str, main: str) -> str:
    """The word that was found in `text`, which has letters of several scripts, as one of `main`.

    "" if it has none of this script, or others than look-alikes.
    """
    word = match[0]
    if not MIXED_SIGN.search(word) or _PLACEHOLDER.search(text, 0, match.start()):
        return ""
    letters = unicodedata.normalize("NFD", word)
    pairs = [(letter, _script(letter)) for letter in letters]
    others = {script for _, script in pairs} - {main, ""}
    if len(others) != 1 or all(script != main for _, script in pairs):
        return ""
    other = others.pop()
    ambiguous = _LOOK_ALIKES[other, main]
    # An abbreviation that may be of either script.
    if word.isupper() and all(letter in ambiguous for letter, each in pairs if each == main):
        return ""
    return _replaced(pairs, main, other) if _has_one_case(pairs, main) else ""


def whole_word_in(script: str, word: str) -> str:
    """A word of several small letters of another script, all look-alikes, as one of this script.

    Its first letter may be a capital. "" for other words.

    >>> whole_word_in("CYRILLIC", "poc"), whole_word_in("CYRILLIC", "HTC")
    ('рос', '')
    """
    if not word[1:].islower():
        return ""
    pairs = [(letter, _script(letter)) for letter in unicodedata.normalize("NFD", word)]
    scripts = {each for _, each in pairs} - {""}
    return _replaced(pairs, script, scripts.pop()) if len(scripts) == 1 else ""


def _replaced(pairs: Sequence[tuple[str, str]], main: str, other: str) -> str:
    """The word of these letters and their scripts with those of `main` for look-alikes of `other`.

    "" if not all of them have one.
    """
    if main == other:
        return ""
    replaced = _LOOK_ALIKES[main, other]
    if any(letter not in replaced for letter, script in pairs if script == other):
        return ""
    letters = "".join(replaced[letter] if script == other else letter for letter, script in pairs)
    repaired = unicodedata.normalize("NFC", letters)
    word = unicodedata.normalize("NFC", "".join(letter for letter, _ in pairs))
    # An accented letter that the script has no character for is written on purpose (Serbian кôд).
    return repaired if len(repaired) <= len(word) else ""


def _has_one_case(pairs: Sequence[tuple[str, str]], main: str) -> bool:
    """Whether the letters of the other script have the case of those of `main`, unlike in `bsН`.

    pairs: letters with their scripts. The first letter may be a capital.
    """
    own = "".join(letter for letter, script in pairs[1:] if script == main)
    other = "".join(letter for letter, script in pairs[1:] if script not in (main, ""))
    if own.isupper():
        return (other or pairs[0][0]).isupper()
    return not (own.islower() and other) or other.islower()


def _has_more(script: str, text: str, word: str = "") -> bool:
    """Whether a text has more letters of this script than of others, apart from a word."""
    others = text.replace(word, " ") if word else text
    scripts = Counter(_script(letter) for letter in "".join(WORD.findall(others)))
    return 2 * scripts[script] > scripts.total() - scripts[""]


def _script(letter: str) -> str:
    """LATIN, GREEK or CYRILLIC; "" for an accent."""
    if "\u0300" <= letter <= "\u036f":
        return ""
    code = ord(letter)
    if code < 0x300 or 0x1E00 <= code < 0x1F00:
        return "LATIN"
    return "CYRILLIC" if 0x400 <= code < 0x530 else "GREEK"
