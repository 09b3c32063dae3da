"""Finds the numbers of lines, exercises and verses, and letters of lists, that lines begin with.

Those that one side of a text has and the other lacks are noise.
`12.` and `1:4` are recognised in a single pair. `12` alone may be a number of the sentence (12
dogs) that the other side writes out, so that it counts only in a run of numbers that rise by one.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from nmt_cli.data.cleaning.letter_labels import LABEL, without_letter_label
from nmt_cli.data.cleaning.numbers.notation import with_ascii_digits
from nmt_cli.data.cleaning.signs import joined_lines, lines_with
from nmt_cli.data.languages.codes import base_code

# The codes of books in the files of Bible translations (USFM).
_BOOKS = (
    "GEN|EXO|LEV|NUM|DEU|JOS|JDG|RUT|[12]SA|[12]KI|[12]CH|EZR|NEH|EST|JOB|PSA|PRO|ECC|SNG|ISA|JER|"
    "LAM|EZK|DAN|HOS|JOL|AMO|OBA|JON|MIC|NAM|HAB|ZEP|HAG|ZEC|MAL|MAT|MRK|LUK|JHN|ACT|ROM|[12]CO|"
    "GAL|EPH|PHP|COL|[12]TH|[12]TI|TIT|PHM|HEB|JAS|[12]PE|[123]JN|JUD|REV|TOB|JDT|ESG|WIS|SIR|BAR|"
    "LJE|[1-4]MA"
)
_BEGINS_WITH_NUMBER = re.compile(rf"^[ \t]*[(\[]?(?:\d|(?:{_BOOKS})[ \t])", re.MULTILINE)
# A word follows, which may begin direct speech or a question.
_WORD = r"[\"'«»‹›“”„‟‘’‚¿¡(\[]{0,3}[^\W\d_]"
_WORD_FOLLOWS = rf"[ \t]+(?={_WORD})"
# `12.`, `12)`, `(3)`, `[4]`, `12-`, before a word; `12)` also before a number, unlike `(030) 1234`.
_MARKED = re.compile(
    r"[ \t]*(?:[(\[](?!\d+[)\]] +\d))?(\d{1,6})([.)\]:]{1,2}|[-–—])[ \t]+(?=[^\s\d]|(?<=[)\]] )\d)"
)
# Chapter and verse, `1:4`, `(1:4)`, `MRK 1:4` or `1:4-5`; the verse alone, which may have a mark;
# a number without one.
_CHAPTER_AND_VERSE = (
    rf"[ \t]*[(\[]?(?:(?P<book>{_BOOKS})[ \t]+)?(?P<chapter>\d{{1,3}}):(?P<verse>\d{{1,3}})"
    r"(?P<range>[-–]\d{1,3})?[.)\]]?"
)
_VERSE = re.compile(_CHAPTER_AND_VERSE + _WORD_FOLLOWS)
# Where both sides have the verse, it may also be followed by a number of the sentence.
_BEFORE_SENTENCE = rf"(?:{_WORD_FOLLOWS}|[ \t]+(?=(?P<number>\d+)))"
_VERSE_OF_BOTH = re.compile(_CHAPTER_AND_VERSE + _BEFORE_SENTENCE)
_VERSE_ALONE = re.compile(rf"[ \t]*[(\[]?(?P<verse>\d{{1,3}})[.)\]:]?{_BEFORE_SENTENCE}")
_BARE = re.compile(rf"[ \t]*(\d{{1,3}}){_WORD_FOLLOWS}")
# `2004: Text` begins the note of a year, unless it is one of a run of numbered lines.
_YEAR = r"(?:1\d{3}|20\d\d)"
_BEGINS_WITH_YEAR = re.compile(rf"[ \t]*[(\[]?{_YEAR}[.)\]:]")
# `1982- Text` does, too, unless most numbers before a dash are no years.
_DASHED = re.compile(r"[ \t]*\d{1,6}[-–—]")
_YEAR_AND_DASH = re.compile(rf"[ \t]*{_YEAR}[-–—]")
# Before any text, or directly before a word: chapter and verse, or a marked number.
_FIRST = re.compile(
    rf"(?:{_CHAPTER_AND_VERSE}(?:[ \t]+(?=\S)|(?={_WORD}))"
    rf"|(?!{_YEAR}:)[ \t]*[(\[]?\d{{1,6}}[.)\]:]{{1,2}}(?:[ \t]+(?=[^\s\d])|(?={_WORD}))"
    r"|[ \t]*\d{1,6}[-–—][ \t]+(?=[^\s\d]))"
)
# A line that is only a number or the place of a verse, and one that begins with it.
_PLACE = rf"[ \t]*[(\[]?(?:(?:{_BOOKS})[ \t]+)?(?:\d{{1,3}}:)?(\d{{1,6}})[.)\]:]{{0,2}}[ \t]*"
_ONLY_NUMBER = re.compile(_PLACE)
_NUMBER_BEFORE = re.compile(rf"{_PLACE}(?<=[ \t])(?=\S)")
# What the other side may have in place of a marked number: `XII`, or at the start `2.Text`, `b)`,
# `9-` or `-`. In `World War I`, the last word is no pronoun.
_OTHER_NUMBER = re.compile(
    r"\s*(?:[(\[]?\d+[.)\]:]|(?:[(\[]?(?:[IVXLC]+|[ivxlc]+|\w)[.)\]]|\d{0,6}[-–—]|[•*])\s)"
    r"|.*\b(?:[IVXLC]{2,}|[VX])\b|.*[a-z] [A-Z][a-z]+ I\b"
)
# Direct speech, or a cell of a spreadsheet, may begin before the number.
_QUOTES = " \t\"'«»‹›“”„‟‘’‚"
_DIGITS = re.compile(r"\d+")
# The only nouns behind ordinals that begin lines often; German writes them with a capital letter.
_GERMAN_MONTH = re.compile(
    r"(?:Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November"
    r"|Dezember)\b"
)
# Languages whose ordinal numbers do not end with a full stop.
_WITHOUT_ORDINALS = frozenset(
    ["bg", "ca", "en", "es", "fr", "id", "it", "nl", "pt", "ro", "ru", "sv", "uk", "vi"]
)
HOURS = 24
MINUTES = 60
# A run has so many numbers at least, and so many words after each; a verse may have several lines.
LEAST_RUN = 4
LEAST_WORDS = 3
MOST_LINES_APART = 4


def without_line_numbers(
    lines: Sequence[str], others: Sequence[str], language: str = ""
) -> dict[int, str]:
    """Return the lines that change when their numbers are removed, by index.

    lines, others: as many lines of two sides; language: the code of that of `lines`. A number is
    removed from the start of a line if the other side lacks it. Where one side is nothing but the
    number of the other one, the number is removed from both, which leaves this side empty.

    >>> without_line_numbers(["1:4 So it is.", "12 dogs"], ["So ist es.", "zwölf Hunde"])
    {0: 'So it is.'}
    >>> without_line_numbers(["(3) b) So it is."], ["So ist es."])
    {0: 'So it is.'}
    >>> verses = [f"{verse} And so it was." for verse in range(1, 5)]
    >>> without_line_numbers(verses, ["Und so war es."] * 4)[2]
    'And so it was.'
    """
    shortened = {}
    verses = {}
    # Verses that both sides have: they tell which of `verses` follow them.
    verses_of_both = {}
    bare = {}
    marked = {}
    for index in lines_with(_BEGINS_WITH_NUMBER, joined_lines(lines), lines):
        line, other = lines[index], others[index]
        if _is_untranslated(line, other):
            shortened[index] = line[match.end() :] if (match := _NUMBER_BEFORE.match(line)) else ""
        elif (match := _same_verse(line, other)) is not None:
            shortened[index] = line[match.end() :]
            if match.groupdict().get("chapter"):
                verses_of_both[index] = match
        elif (match := _VERSE.match(line)) is not None and _DIGITS.search(other) is None:
            verses[index] = match
        elif (match := _BARE.match(line)) is not None and _may_be_verse(match, other):
            bare[index] = match
        elif (shorter := without_line_number(line, other, language)) != line:
            marked[index] = shorter
    shortened |= _without_years(lines, marked)
    in_sequence = _in_sequence(
        {
            index: (int(match["chapter"]), int(match["verse"]))
            for index, match in sorted({**verses, **verses_of_both}.items())
        }
    )
    certain = {
        index for index, match in verses.items() if index in in_sequence or not _is_time(match)
    }
    removed = certain | _in_rising_runs([(index, int(match[1])) for index, match in bare.items()])
    for index, match in [*verses.items(), *bare.items()]:
        if index in removed:
            shortened[index] = lines[index][match.end() :]
    return shortened | _without_letters(lines, others, shortened)


def _without_letters(
    lines: Sequence[str], others: Sequence[str], shortened: Mapping[int, str]
) -> dict[int, str]:
    """The lines without the letters of lists that they begin with, also behind removed numbers."""
    found = {index: lines[index] for index in lines_with(LABEL, joined_lines(lines), lines)}
    return {
        index: shorter
        for index, line in {**found, **shortened}.items()
        if (shorter := without_letter_label(line, others[index])) != line
    }


def _without_years(lines: Sequence[str], marked: Mapping[int, str]) -> dict[int, str]:
    """The lines without their marked numbers, apart from those that may begin with a year.

    marked: by index, the lines without their numbers. Numbers of lines in a run are no years.

    >>> _without_years(["2004: So", "1. So"], {0: "So", 1: "So"})
    {1: 'So'}
    >>> _without_years(["1982- So", "1. So"], {0: "So", 1: "So"})
    {1: 'So'}
    >>> _without_years(["1982- So", "21- So", "5316- So"], {0: "So", 1: "So", 2: "So"})
    {0: 'So', 1: 'So', 2: 'So'}
    """
    numbers = [(index, int(_DIGITS.findall(lines[index])[0])) for index in marked]
    in_runs = _in_rising_runs(numbers)
    dashed = [index for index in marked if _DASHED.match(lines[index])]
    years = {index for index in dashed if _YEAR_AND_DASH.match(lines[index])}
    if 2 * len(years) < len(dashed):
        years = set()
    return {
        index: line
        for index, line in marked.items()
        if index in in_runs or not (index in years or _BEGINS_WITH_YEAR.match(lines[index]))
    }


def without_first_numbers(src: Sequence[str], tgt: Sequence[str]) -> dict[int, tuple[str, str]]:
    """Return the pairs that change when the numbers that their sides begin with are removed.

    By index. This is for the comparison of sentences only: a number may be a part of its sentence.
    One without a mark is removed only if both sides begin with it and several words follow.

    >>> without_first_numbers(["1:4 So it is.", "3. Yes"], ["1:4 So ist es.", "Ja"])
    {0: ('So it is.', 'So ist es.'), 1: ('Yes', 'Ja')}
    >>> without_first_numbers(["12 So it is.", "12 dogs"], ["12 So ist es.", "12 Hunde"])
    {0: ('So it is.', 'So ist es.')}
    >>> without_first_numbers(["(128)So it is.", "1.5 km", "2D"], ["(128)So ist es.", "1,5", "2D"])
    {0: ('So it is.', 'So ist es.')}
    >>> without_first_numbers(["2004: Yes", "2104: Yes"], ["2004: Ja", "2104: Ja"])
    {1: ('Yes', 'Ja')}
    >>> without_first_numbers(["5316- So it is."], ["So ist es."])
    {0: ('So it is.', 'So ist es.')}
    """
    begin = {
        index
        for side in (src, tgt)
        for index in lines_with(_BEGINS_WITH_NUMBER, joined_lines(side), side)
    }
    shortened = {}
    for index in sorted(begin):
        line, other = src[index], tgt[index]
        pair = _without_first_number(line), _without_first_number(other)
        if pair == (line, other):
            pair = _without_bare_numbers(line, other)
        if pair != (line, other):
            shortened[index] = pair
    return shortened


def _without_first_number(line: str) -> str:
    match = _FIRST.match(line)
    return line[match.end() :] if match else line


def _without_bare_numbers(line: str, other: str) -> tuple[str, str]:
    """Both sides without the number that they begin with if it is the same, before a sentence."""
    match, there = _BARE.match(line), _BARE.match(other)
    if match is None or there is None or int(match[1]) != int(there[1]):
        return line, other
    words = line[match.end() :]
    return (words, other[there.end() :]) if len(words.split()) >= LEAST_WORDS else (line, other)


def without_line_number(line: str, other: str, language: str = "") -> str:
    """Remove the marked number of a line, unless its other side has one, too.

    Two numbers that differ are no noise: the lines may not belong together. `5. kapitola` keeps its
    number, unless it is in a language, a code, in which no ordinal number ends with a full stop.

    >>> without_line_number("12. The dog", "Der Hund"), without_line_number("(3) A", "III. B")
    ('The dog', '(3) A')
    >>> without_line_number("12) 3 dogs", "drei Hunde"), without_line_number("12. 3. 2010", "Am")
    ('3 dogs', '12. 3. 2010')
    >>> without_line_number("(030) 1234", "Ruf an"), without_line_number("[4] A", "Ein")
    ('(030) 1234', 'A')
    >>> without_line_number("12. The dog", "13. Der Hund"), without_line_number("8. A", '"9- B"')
    ('12. The dog', '8. A')
    >>> without_line_number("8. Februar 1963", "On that day"), without_line_number("8. Maid", "A")
    ('8. Februar 1963', 'Maid')
    >>> without_line_number("2. So", "1.Thus"), without_line_number("1. Ka", "in World War I, it")
    ('2. So', '1. Ka')
    >>> without_line_number("5316- Agbà", "Le temps"), without_line_number("5- bis 6-mal", "often")
    ('Agbà', '5- bis 6-mal')
    >>> without_line_number("3. Mai", "May 3rd"), without_line_number("5. kapitola", "Chapter five")
    ('3. Mai', '5. kapitola')
    >>> without_line_number("5. chapter", "kapitola", "en")
    'chapter'
    >>> without_line_number("𞥑𞥒. 𞤢𞤣𞤤", "The dog"), without_line_number("12. The dog", "𞥑𞥒. 𞤢𞤣𞤤")
    ('𞤢𞤣𞤤', '12. The dog')
    """
    match = _MARKED.match(line)
    if match is None or _is_among(match[1], other) or _has_own_number(other):
        return line
    words = line[match.end() :]
    is_word = words[0].islower() or _GERMAN_MONTH.match(words) is not None
    # Languages with such ordinals have ASCII digits; Adlam has small letters, too.
    may_be_ordinal = base_code(language) not in _WITHOUT_ORDINALS
    is_ordinal = may_be_ordinal and match[2] == "." and is_word and match[1].isascii()
    # Half of a word, as in `14- und 15-jährige`.
    is_half = match[2] in "-–—" and is_word
    return line if is_ordinal or is_half else words


def _has_own_number(line: str) -> bool:
    """Whether a line has a marked number or list mark, or may refer to one in Roman digits."""
    text = line.lstrip(_QUOTES)
    return bool(_MARKED.match(text) or _OTHER_NUMBER.match(text))


def _is_among(number: str, text: str) -> bool:
    """Whether a text has these digits, in any script."""
    digits = with_ascii_digits(number)
    return digits in _DIGITS.findall(with_ascii_digits(text))


def _same_verse(line: str, other: str) -> re.Match[str] | None:
    """The number of a line if both sides begin with the same verse, but write it differently.

    One has chapter and verse and the other the verse alone, or only one names the book or a range.

    >>> [_same_verse(*pair) is not None for pair in (("1:4 So", "4 Also"), ("4 Also", "1:4 So"))]
    [True, True]
    >>> _same_verse("MRK 1:4 So", "1:4 Also") is None, _same_verse("1:4 So", "1:4 Also") is None
    (False, True)
    >>> _same_verse("1:4-5 So", "1:4 Also") is None, _same_verse("1:4-5 So", "4 Also") is None
    (False, False)
    >>> _same_verse("1:4 90 eyes", "4 Augen, 90") is None, _same_verse("1:4 9 eyes", "4 A") is None
    (False, True)
    """
    for own, others in ((_VERSE_OF_BOTH, _VERSE_ALONE), (_VERSE_ALONE, _VERSE_OF_BOTH)):
        match, there = own.match(line), others.match(other)
        if match and there and match["verse"] == there["verse"]:
            return match if _has_number(other, match) and _has_number(line, there) else None
    match, there = _VERSE_OF_BOTH.match(line), _VERSE_OF_BOTH.match(other)
    if match and there and match.group("chapter", "verse") == there.group("chapter", "verse"):
        optional = match.group("book", "range"), there.group("book", "range")
        differ = any((own is None) != (other is None) for own, other in zip(*optional, strict=True))
        return match if differ else None
    return None


def _is_untranslated(line: str, other: str) -> bool:
    """Whether one side is only the number that the other has before a sentence.

    >>> _is_untranslated("MRK 3:11 Do you want it?", "11"), _is_untranslated("(7)", "7 So it was.")
    (True, True)
    >>> _is_untranslated("12 o'clock", "12"), _is_untranslated("11 So it was.", "12")
    (False, False)
    """
    for side, sentence in ((line, other), (other, line)):
        only, before = _ONLY_NUMBER.fullmatch(side), _NUMBER_BEFORE.match(sentence)
        if only and before and only[1] == before[1]:
            return len(sentence[before.end() :].split()) >= LEAST_WORDS
    return False


def _has_number(other: str, verse: re.Match[str]) -> bool:
    """Whether a number that follows the verse, if there is one, is in the other side, too."""
    return verse["number"] is None or verse["number"] in _DIGITS.findall(other)


def _is_time(numbers: re.Match[str]) -> bool:
    """Whether a chapter and a verse may as well be a time of day, such as 10:30."""
    chapter, verse = numbers["chapter"], numbers["verse"]
    is_possible = len(verse) == 2 and int(chapter) < HOURS and int(verse) < MINUTES
    return is_possible and numbers["book"] is None


def _in_sequence(verses: dict[int, tuple[int, int]]) -> set[int]:
    """The indices of verses that follow one another in the text.

    >>> _in_sequence({0: (1, 14), 2: (1, 15), 5: (10, 30)})
    {0, 2}
    """
    in_sequence = set()
    for (first, (chapter, verse)), (second, next_verse) in pairwise(verses.items()):
        if next_verse == (chapter, verse + 1) and second - first <= MOST_LINES_APART:
            in_sequence |= {first, second}
    return in_sequence


def _may_be_verse(number: re.Match[str], other: str) -> bool:
    """Whether a sentence follows a number, and the other side begins with none."""
    words = number.string[number.end() :].split()
    begins_alike = _BARE.match(other) or _MARKED.match(other)
    return len(words) >= LEAST_WORDS and not (begins_alike or _is_among(number[1], other))


def _in_rising_runs(numbers: Sequence[tuple[int, int]]) -> set[int]:
    """The indices of lines whose numbers rise by one, in runs of some length.

    >>> sorted(_in_rising_runs([(0, 1), (1, 2), (4, 3), (5, 4), (6, 9), (7, 10), (8, 11)]))
    [0, 1, 4, 5]
    """
    runs: list[list[int]] = []
    last = None
    for index, number in numbers:
        if last is None or number != last[1] + 1 or index - last[0] > MOST_LINES_APART:
            runs.append([])
        runs[-1].append(index)
        last = index, number
    return {index for run in runs if len(run) >= LEAST_RUN for index in run}
