"""Repairs UTF-8 that was read as Latin-1 or Windows-1252, and Windows-1252 read as Latin-1."""

import re

# The characters of Windows-1252 by the control characters that Latin-1 has in their place.
_WINDOWS = {
    byte: bytes([byte]).decode("cp1252")
    for byte in range(0x80, 0xA0)
    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
WINDOWS_SIGN = re.compile("[" + "".join(map(chr, _WINDOWS)) + "]")
# Those that no text has within words, where the control characters are remains of ligatures.
_NEVER_IN_WORDS = re.compile(r"(?<=[^\W\d_])[\x80\x82\x84\x86-\x89\x8b\x95\x98\x9b](?=[^\W\d_])")
WINDOWS_BYTE_OF = {
    **{chr(byte): byte for byte in range(0x100)},
    **{character: byte for byte, character in _WINDOWS.items()},
}
_FOLLOWING = {letter for letter, byte in WINDOWS_BYTE_OF.items() if 0x80 <= byte < 0xC0}
_FOLLOWS = "[" + re.escape("".join(sorted(_FOLLOWING))) + "]"
_C1 = "[" + re.escape("".join(sorted(x for x in _FOLLOWING if WINDOWS_BYTE_OF[x] < 0xA0))) + "]"
# These may follow a letter at the end of a word: `Spaß…`, `CAFÉ”`, `qualité »`, `CRÈME™`.
_RAISED = "°©®™¹²³ª"
CLOSING = "\xa0»”“’‘›…–—•" + _RAISED
MOJIBAKE_SIGN = re.compile(f"[Â-ô]{_FOLLOWS}")
# A character of UTF-8: its bytes as characters.
_SEQUENCE = re.compile(f"[Â-ß]{_FOLLOWS}|[à-ï]{_FOLLOWS}{{2}}|[ð-ô]{_FOLLOWS}{{3}}")
_CLEAR = re.compile(
    # A single Latin letter or symbol is enough, unless it may end a word in capitals (IRMÃ»).
    rf"(?:(?<![A-ZÀ-Þ])[ÂÃ]{_FOLLOWS}|[ÂÃ]{_FOLLOWS}(?=[A-Za-z]))+"
    # So are punctuation, a byte order mark and emoji.
    rf"|â{_C1}{_FOLLOWS}|ï»¿|ð[\u0178\x9f]{_FOLLOWS}{{2}}"
    # Other letters must come in a row, because a single one may be French (qualité »).
    rf"|(?:[Â-ß]{_FOLLOWS}){{2,}}|(?:[à-ï]{_FOLLOWS}{{2}}){{2,}}"
)
# The rest of a character of three or four bytes that has lost the last ones, as where a program
# made a space of U+00A0.
_CUT = re.compile(
    rf"[à-ï](?![{re.escape(CLOSING)}]){_FOLLOWS}(?!{_FOLLOWS})"
    rf"|ð[\u0178\x9f\x90]{_FOLLOWS}?(?!{_FOLLOWS})"
)
# A character one of whose bytes Windows-1252 lacks, of which some programs make a question mark.
_UNKNOWN_BYTE = re.compile(
    rf"[Â-Þ][?\ufffd]"
    rf"|[à-ï](?:[?\ufffd](?![{re.escape(CLOSING)}]){_FOLLOWS}|{_FOLLOWS}[?\ufffd](?=[a-z]))"
)
# No word has such a capital letter behind a small one, or these signs between its letters.
_UNKNOWN_BYTE_IN_WORD = re.compile(rf"(?<=[a-z])[Â-Þ][?\ufffd]|[à-ï]{_FOLLOWS}[?\ufffd](?=[a-z])")
# A character of two bytes whose second one was U+00A0, of which a program made a space.
_LONE_LEAD = re.compile("[Â-Þ](?=[ \t]|$)")
# What remains where a tokeniser has torn the bytes of a letter apart that was misread twice.
_TWO_LEADS = re.compile("[ÂÃ]{2}")
# There it ends a word: before another space, a mark or the end of the line.
_LEAD_AND_SPACE = re.compile(r"([Â-Þ])(?: (?=[ ,.;:!?)])| ?$)")
CUT_SIGN = re.compile(rf"{_CUT.pattern}|{_UNKNOWN_BYTE.pattern}|[Â-Þ](?=[ \t]|$)", re.MULTILINE)
# These also follow such a letter in Czech and other languages (níže).
_LETTERS = "ŠŒŽšœžŸƒªº"
# Czech and Slovak have these letters in a row (VÝŠKA, KÔŠ, Úžas); as bytes they would be letters
# that hardly any text has alone.
_CZECH = re.compile("[ÉÍÓÔÖÚÜÝ][ŠŽšž]")
_CZECH_IN_WORD = re.compile(f"((?<=[A-Za-z]){_CZECH.pattern}|{_CZECH.pattern}(?=[A-Za-z]))")
# Two characters, or one in mojibake: Guarani has both as letters (KO’Ã’Ỹ).
_LETTER_AND_QUOTE = re.compile("([ÂÃ][‘’“”])")
_QUOTE = re.compile("[‘’“”]")
# What Windows-1252 and Latin-1 can write, and a word of it.
_RUN = re.compile("[" + re.escape("".join(sorted(WINDOWS_BYTE_OF))) + "]+")
_WORD = re.compile("[^ \t]+")


def undo_mojibake(text: str) -> str:
    """Repair UTF-8 that was read as Latin-1 or Windows-1252.

    Where all of a text is such UTF-8, all of it is repaired; otherwise single words are. A text
    some of whose letters have lost bytes, or have question marks in place of some, is not repaired,
    since only a part of it would be.

    >>> undo_mojibake("fÃ¼r 10 â‚¬"), undo_mojibake("« À Noël », IRMÃ»")
    ('für 10 €', '« À Noël », IRMÃ»')
    >>> undo_mojibake("ÄŒeÅ¡tina je krÃ¡snÃ½"), undo_mojibake("Tiáº¿ng Viá»‡t, Spaß ɛ")
    ('Čeština je krásný', 'Tiếng Việt, Spaß ɛ')
    >>> undo_mojibake("VÝŠKA KŘÍŽE, TÝŽDEN, TÉŽ KÔŠ"), undo_mojibake("ÄŽÃ¡bel")
    ('VÝŠKA KŘÍŽE, TÝŽDEN, TÉŽ KÔŠ', 'Ďábel')
    >>> undo_mojibake("Ð¡Ð¡Ð¡Ð , voilÃ  un cafÃ©."), undo_mojibake("Ð Ð¸Ð¼")
    ('СССР, voilà un café.', 'Ð Ð¸Ð¼')
    >>> undo_mojibake("fÉ›yÉ”wo"), undo_mojibake("FÉ”Ì€ laÌ? tse")
    ('fɛyɔwo', 'FÉ”Ì€ laÌ? tse')
    >>> undo_mojibake("à¤ à¥€à¤•"), undo_mojibake("’Ã’ó"), undo_mojibake("COMINCIÃ’ PIÃ™")
    ('à¤ à¥€à¤•', '’Ã’ó', 'COMINCIÒ PIÙ')
    >>> undo_mojibake("fÃƒÂ ¼ r"), undo_mojibake("fÃƒÂ¼r")
    ('fÃƒÂ ¼ r', 'für')
    """
    if _has_quotes_as_letters(text):
        # The parts between them are repaired.
        parts = _LETTER_AND_QUOTE.split(text)
        parts[::2] = map(undo_mojibake, parts[::2])
        return "".join(parts)
    stages = _stages(text)
    # In the repaired text, a question mark behind a capital letter may end a question (PERÒ?).
    is_partial = len(stages) > 1 and (
        any(map(_cut_letters, stages))
        or any(map(_has_lone_lead, stages[:-1]))
        or any(map(_UNKNOWN_BYTE.search, stages[:-1]))
        or _UNKNOWN_BYTE_IN_WORD.search(stages[-1])
        or _TWO_LEADS.search(stages[-1])
    )
    return text if is_partial or len(stages) == 1 else stages[-1]


def _has_quotes_as_letters(text: str) -> bool:
    """Whether quotation marks behind Â or Ã are no bytes: others are none, or the word shows it.

    >>> _has_quotes_as_letters("Ã’ỹ"), _has_quotes_as_letters("Ã’ ỹ"), _has_quotes_as_letters("Ã’")
    (True, False, False)
    """
    if not _LETTER_AND_QUOTE.search(text):
        return False
    words = (word for word in _WORD.findall(text) if _LETTER_AND_QUOTE.search(word))
    return bool(_QUOTE.search(_SEQUENCE.sub("", text))) or any(
        letter.isalpha() and letter not in WINDOWS_BYTE_OF for word in words for letter in word
    )


def has_cut_letters(text: str) -> bool:
    """Whether some letters of UTF-8 that was read as Latin-1 or Windows-1252 have lost bytes.

    >>> has_cut_letters("à¤ à¥€à¤•"), has_cut_letters("Lâ€™été à Noël"), has_cut_letters("né¡")
    (True, False, False)
    >>> has_cut_letters("Ð Ð¸Ð¼"), has_cut_letters("Ð¡Ð¡Ð¡Ð , 1991")
    (True, False)
    >>> has_cut_letters("laÌ? tse"), has_cut_letters("mÉ›Ì€ LÌ?"), has_cut_letters("PERÒ?")
    (True, True, False)
    """
    cut = _cut_letters(text)
    if cut > 1 or _UNKNOWN_BYTE_IN_WORD.search(text):
        return True
    if not (cut or _UNKNOWN_BYTE.search(text) or _LONE_LEAD.search(text)):
        return False
    stages = _stages(text)
    is_cut = cut or _UNKNOWN_BYTE.search(text) or any(map(_has_lone_lead, stages[:-1]))
    return bool(is_cut) and len(stages) > 1


def _cut_letters(text: str) -> int:
    """How many letters of a text have lost bytes, as far as these cannot be Czech or Slovak.

    >>> _cut_letters("garáž, níže"), _cut_letters("áž áž¾áž™"), _cut_letters("à¤ à¤")
    (0, 1, 2)
    """
    return sum(
        rest[0] == "ð"
        or rest[1] not in _LETTERS
        or any(
            letter.startswith(rest) and letter[2] not in CLOSING + _LETTERS
            for letter in _SEQUENCE.findall(text)
        )
        for rest in _CUT.findall(text)
    )


def _has_lone_lead(text: str) -> bool:
    """Whether the first byte of a character stands before a space, and before its bytes elsewhere.

    >>> _has_lone_lead("voilÃ un cafÃ©"), _has_lone_lead("IRMÃ e câ€™est")
    (True, False)
    """
    return not _leads(text).isdisjoint(_LONE_LEAD.findall(text))


def _leads(text: str) -> set[str]:
    return {sequence[0] for sequence in _SEQUENCE.findall(text)}


def _with_no_break_spaces(text: str) -> str:
    r"""The text with U+00A0 where a space stands for it, as the last byte of a word.

    >>> _with_no_break_spaces("voilÃ  un cafÃ©"), _with_no_break_spaces("Ã  un cafe")
    ('voilÃ\xa0 un cafÃ©', 'Ã  un cafe')
    """
    leads = _leads(text) if _LEAD_AND_SPACE.search(text) else set()
    return _LEAD_AND_SPACE.sub(
        lambda match: f"{match[1]}\xa0" if match[1] in leads else match[0], text
    )


def _stages(text: str) -> list[str]:
    """The text, and what up to two repairs make of it, as it may have been misread twice."""
    stages = [text]
    for _ in range(2):
        misread = _with_no_break_spaces(stages[-1])
        repaired = _RUN.sub(lambda run: _decoded(run[0]), misread)
        if repaired == misread:
            break
        stages[-1] = misread
        stages.append(repaired)
    return stages


def _decoded(run: str) -> str:
    """The repaired text of a run of characters that may be bytes."""
    if not MOJIBAKE_SIGN.search(run):
        return run
    is_clear, rare = bool(_CLEAR.search(run)), _count_rare_sequences(run)
    whole = _as_utf8(run)
    if whole is not None and (is_clear or rare):
        return whole
    if not is_clear and rare < 2:
        return run
    return _WORD.sub(lambda word: _decoded_word(word[0]), run)


def _decoded_word(word: str) -> str:
    """The repaired word of a line that has mojibake, and other text, too."""
    whole = _as_utf8(word)
    if whole is not None and _count_rare_sequences(word):
        return whole
    return _CLEAR.sub(lambda match: _as_utf8(match[0]) or match[0], word)


def _count_rare_sequences(text: str) -> int:
    """How often a letter is followed by signs that follow none at the end of a word.

    Also how often it is a capital letter behind a small one.

    >>> [_count_rare_sequences(text) for text in ("OÃ¹ est", "So ein Spaß…", "la qualité\xa0»")]
    [1, 0, 0]
    >>> _count_rare_sequences("lasÉ› nyofo"), _count_rare_sequences("CAFÉ”")
    (1, 0)
    """
    return sum(
        not set(match[0][1:]) <= set(CLOSING)
        or (match[0][0] == "Ã" and match[0][1] in _RAISED)
        or (match[0].isupper() and text[: match.start()][-1:].islower())
        for match in _SEQUENCE.finditer(text)
        if not _CZECH.fullmatch(match[0])
    )


def _as_utf8(text: str) -> str | None:
    """The text whose bytes in UTF-8 are these characters; None if they are none.

    Czech and Slovak letters in a row within words stay.

    >>> _as_utf8("VÝŠKA je Ä\x8deÅ¡tina"), _as_utf8("DÉŠ")
    ('VÝŠKA je čeština', 'DÉŠ')
    """
    parts = _CZECH_IN_WORD.split(text)
    try:
        for index, part in enumerate(parts[::2]):
            parts[2 * index] = bytes(map(WINDOWS_BYTE_OF.__getitem__, part)).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
    return "".join(parts)


def undo_latin1(text: str) -> str:
    r"""Repair Windows-1252 that was decoded as Latin-1: the characters that Latin-1 lacks.

    What they would be within a word but never are there, such as `‡`, is removed.

    >>> undo_latin1("\x84Ja\x93, 5 \x80"), undo_latin1("effl\x87uent, l\x92eau")
    ('„Ja“, 5 €', 'effluent, l’eau')
    """
    return _NEVER_IN_WORDS.sub("", text).translate(_WINDOWS)
