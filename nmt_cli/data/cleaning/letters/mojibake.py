"""Repairs UTF-8 that was read as Latin-1 or Windows-1252, and Windows-1252 read as Latin-1."""

import re

# The characters of Windows-1252 by the control characters that Latin-1 has in their place.
_WINDOWS = {
    byte: bytes([byte]).decode("cp1252")
    for byte in range(0x80, 0xA0)
    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
WINDOWS_SIGN = re.compile("[" + "".join(map(chr, _WINDOWS)) + "]")
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
CUT_SIGN = re.compile(f"{_CUT.pattern}|{_UNKNOWN_BYTE.pattern}")
# These also follow such a letter in Czech and other languages (níže).
_LETTERS = "ŠŒŽšœžŸƒªº"
# Czech and Slovak have these letters in a row (VÝŠKA, KÔŠ, Úžas); as bytes they would be letters
# that hardly any text has alone.
_CZECH = re.compile("[ÉÍÓÔÖÚÜÝ][ŠŽšž]")
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
    >>> undo_mojibake("fÉ›yÉ”wo"), undo_mojibake("FÉ”Ì€ laÌ? tse")
    ('fɛyɔwo', 'FÉ”Ì€ laÌ? tse')
    >>> undo_mojibake("à¤ à¥€à¤•"), undo_mojibake("’Ã’ó"), undo_mojibake("COMINCIÃ’ PIÃ™")
    ('à¤ à¥€à¤•', '’Ã’ó', 'COMINCIÒ PIÙ')
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
        or any(map(_UNKNOWN_BYTE.search, stages[:-1]))
        or _UNKNOWN_BYTE_IN_WORD.search(stages[-1])
    )
    return text if is_partial else stages[-1]


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
    >>> has_cut_letters("laÌ? tse"), has_cut_letters("mÉ›Ì€ LÌ?"), has_cut_letters("PERÒ?")
    (True, True, False)
    """
    cut = _cut_letters(text)
    if cut > 1 or _UNKNOWN_BYTE_IN_WORD.search(text):
        return True
    return bool(cut or _UNKNOWN_BYTE.search(text)) and len(_stages(text)) > 1


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


def _stages(text: str) -> list[str]:
    """The text, and what up to two repairs make of it, as it may have been misread twice."""
    stages = [text]
    for _ in range(2):
        repaired = _RUN.sub(lambda run: _decoded(run[0]), stages[-1])
        if repaired == stages[-1]:
            break
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
    """The text whose bytes in UTF-8 are these characters; None if they are none."""
    try:
        return bytes(map(WINDOWS_BYTE_OF.__getitem__, text)).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None


def undo_latin1(text: str) -> str:
    """Repair Windows-1252 that was decoded as Latin-1: the characters that Latin-1 lacks.

    >>> undo_latin1("\\x84Ja\\x93, 5 \\x80")
    '„Ja“, 5 €'
    """
    return text.translate(_WINDOWS)
