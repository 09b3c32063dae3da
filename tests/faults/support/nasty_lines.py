"""About 200 lines that break programs, each with a name: our own, built from code points.

TEXTS are text, none with the byte 0x0A; BROKEN are bytes that are no UTF-8.
"""

SEPARATORS = {
    "CR": 0x0D, "VT": 0x0B, "FF": 0x0C, "FS": 0x1C, "GS": 0x1D, "RS": 0x1E, "US": 0x1F,
    "NEL": 0x85, "LS": 0x2028, "PS": 0x2029,
}  # fmt: skip
BLANK = {
    "nothing": "",
    "a space": " ",
    "many spaces": " " * 70,
    "a tab": "\t",
    "tabs and spaces": " \t \t",
    "no-break space": chr(0xA0),
    "ideographic space": chr(0x3000),
    "spaces of many widths": "".join(map(chr, range(0x2000, 0x200B))),
    "only a carriage return": "\r",
    "only a null": "\0",
    "only nulls": "\0" * 9,
    "only an escape": chr(0x1B),
    "only line separators": chr(0x2028) + chr(0x2029) + chr(0x85),
    "only control characters": "".join(map(chr, [*range(1, 9), *range(0x0E, 0x20)])),
    "only a terminal sequence": chr(0x1B) + "[2J",
}
_ESC = chr(0x1B)
CONTROLS = {
    **{f"{name} within": f"one{chr(code)}two" for name, code in SEPARATORS.items()},
    **{f"{name} at the end": f"one two{chr(code)}" for name, code in SEPARATORS.items()},
    "two carriage returns": "one\r\r",
    "a null within": "one\0two",
    "a bell": "ring\aring",
    "backspaces over a word": "secret\b\b\b\b\b\bpublic",
    "a delete": "one" + chr(0x7F) + "two",
    "all of C0": "a" + "".join(map(chr, [*range(1, 10), *range(11, 32)])) + "z",
    "all of C1": "a" + "".join(map(chr, range(0x80, 0xA0))) + "z",
    "a colour": f"{_ESC}[1;31mred{_ESC}[0m",
    "the screen cleared": f"a{_ESC}[2J{_ESC}[Hb",
    "a window's title": f"{_ESC}]0;owned\aafter",
    "a terminal's link": f"{_ESC}]8;;http://a.example\alink{_ESC}]8;;{_ESC}\\",
    "the clipboard set": f"{_ESC}]52;c;cm0gLXJm\ahello",
    "a device's answer asked for": f"{_ESC}[6n{_ESC}[c{_ESC}Z",
    "an endless sequence": f"{_ESC}[" + "1;" * 300,
    "an endless title": f"{_ESC}]2;" + "x" * 300,
    "a device control string": f"{_ESC}P1$r0m{_ESC}\\word",
    "C1 colours": chr(0x9B) + "31mred" + chr(0x9B) + "0m",
    "a nested sequence": f"{_ESC}{_ESC}[31m[31mred",
    "another character set": f"{_ESC}(0qqqq{_ESC}(B",
    "interlinear annotation": chr(0xFFF9) + "a" + chr(0xFFFA) + "b" + chr(0xFFFB),
}
LOOK_ALIKES = {
    f"looks special: {text!a}": text
    for text in (
        "</s>", "<s>", "<pad>", "<unk>", "<s></s>", "<pad> <pad>", "a</s>b", "<2de>", "<2fr> hello",
        ">>de<<", ">>fra<< hello", "__de__", "[de_DE]", "<0x0A>", "<0x1B>", "<0x00><0xFF>", "⁇",
        "@@ ", "wor@@ ds", "###ing", "|||", "a ||| b ||| 0.5", "<mask>", "[CLS] [SEP]",
        "<|endoftext|>", chr(0x2581), f"{chr(0x2581)}a{chr(0x2581)}b", chr(0x2585), "<UNK> <EOS>",
    )
}  # fmt: skip
WRITTEN_FOR_PROGRAMS = {
    f"for a program: {ascii(text)[1:25]}": text
    for text in (
        "[/b]", "[/]", "[bold]x[/bold]", "[link=http://a.example]y[/link]", "[red", "[[]]",
        ":smile: :boom:", "{}", "{0} {name!r:>{width}}", "{0.__class__}", "%s %d %n", "%(name)s",
        "$(touch owned)", "`touch owned`", "${HOME}", "$HOME %PATH%", "'; drop table lines; --",
        "\\n \\r \\x1b \\u2028", "\\", "\\\\", '"', "'", '"""', "<script>alert(1)</script>",
        "&amp; &#10; &lt;", "=1+1", "::error title=a::b", "-o", "--help", "-", "../../etc/passwd",
        "a\tb", "a\tb\tc", "#", "# comment", "//", "NaN", "None", "null", "true", "0", "-1",
        "1e309", "[" * 300, "(" * 300, "((()", ")(", "(S (NP", "\ufeffa mark within\ufeff",
    )
}  # fmt: skip
_HEBREW = "".join(map(chr, (0x5D0, 0x5D1, 0x5D2, 0x20, 0x5D3, 0x5D4)))
_ARABIC = "".join(map(chr, (0x627, 0x628, 0x62A, 0x20, 0x62B, 0x62C)))
DIRECTIONS = {
    "hebrew": _HEBREW,
    "arabic": _ARABIC,
    "arabic digits": "".join(map(chr, range(0x660, 0x66A))),
    "persian digits": "".join(map(chr, range(0x6F0, 0x6FA))),
    "both directions": f"abc {_HEBREW} 123 {_ARABIC} xyz",
    "an override left open": f"abc{chr(0x202E)}fed",
    "an override closed": f"abc{chr(0x202E)}fed{chr(0x202C)}ghi",
    "an isolate left open": f"a{chr(0x2067)}{_HEBREW}",
    "an isolate closed": f"a{chr(0x2067)}{_HEBREW}{chr(0x2069)}b",
    "closed but never opened": f"abc{chr(0x202C)}{chr(0x2069)}",
    "closed in the wrong order": f"{chr(0x202A)}{chr(0x2066)}a{chr(0x202C)}{chr(0x2069)}",
    "nested and closed": f"{chr(0x202A)}{chr(0x2066)}a{chr(0x2069)}{chr(0x202C)}",
    "marks of direction": f"{chr(0x200E)}a{chr(0x200F)}b{chr(0x61C)}",
    "many overrides": chr(0x202E) * 70 + "x",
}
_MAN, _WOMAN, _GIRL, _JOINER = "\U0001f468", "\U0001f469", "\U0001f467", "\u200d"
EMOJI = {
    "a smile": "\U0001f600",
    "a family": _JOINER.join((_MAN, _WOMAN, _GIRL)),
    "a skin tone": "\U0001f44d\U0001f3fd",
    "a lone skin tone": "\U0001f3ff",
    "a flag": "\U0001f1e9\U0001f1ea",
    "two flags": "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    "half a flag": "\U0001f1e9",
    "a flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "a keycap": "1\ufe0f\u20e3",
    "a heart as text": "\u2764\ufe0e",
    "a heart as a picture": "\u2764\ufe0f",
    "a joiner alone": _JOINER,
    "a profession": f"{_WOMAN}\U0001f3fe{_JOINER}\U0001f52c",
    "a rainbow flag": f"\U0001f3f3\ufe0f{_JOINER}\U0001f308",
    "words and emoji": "I \u2764\ufe0f you \U0001f600!",
    "many emoji": "\U0001f600" * 60,
}
WAYS_TO_WRITE = {
    "composed": "caf\u00e9 na\u00efve \u00c5",
    "decomposed": "cafe\u0301 nai\u0308ve A\u030a",
    "full width": "\uff21\uff22\uff23\uff11\uff12\uff01",
    "half width kana": "\uff76\uff9e\uff77",
    "ligatures": "\ufb01sh e\ufb00ort \ufb05",
    "roman numerals": "\u2160\u2163\u216b",
    "superscripts": "x\u00b2 + y\u00b3",
    "fractions": "\u00bd \u2153",
    "mathematical letters": "\U0001d400\U0001d401\U0001d402",
    "circled": "\u2460\u24d0",
    "hangul in parts": "\u1112\u1161\u11ab",
    "soft hyphen": "syl\u00adla\u00adble",
    "zero width space": "a\u200bb",
    "zero width joiner and non-joiner": "a\u200cb\u200dc",
    "word joiner": "a\u2060b",
    "no-break spaces": "1\u00a0000\u202f000",
    "one character, eighteen letters": "\ufdfa",
    "dots of every kind": "a\u2026b\u2024c\uff0e",
    "quotes of every kind": "\u00aba\u00bb \u201eb\u201c \u2018c\u2019 \u300cd\u300d",
    "dashes of every kind": "a\u2010b\u2011c\u2012d\u2013e\u2014f\u2212g",
    "turkish i": "\u0130stanbul \u0131",
    "sharp s": "STRA\u1e9eE stra\u00dfe",
}
SCRIPTS = {
    name: "".join(map(chr, range(start, start + 8)))
    for name, start in {
        "greek": 0x3B1, "cyrillic": 0x430, "armenian": 0x561, "georgian": 0x10D0,
        "ethiopic": 0x1208, "devanagari": 0x915, "bengali": 0x995, "tamil": 0xB95,
        "sinhala": 0xD9A, "thai": 0xE01,
        "lao": 0xE81, "tibetan": 0xF40, "burmese": 0x1000, "khmer": 0x1780, "mongolian": 0x1820,
        "cherokee": 0x13A0, "ogham": 0x1681, "runes": 0x16A0, "hiragana": 0x3041, "kanji": 0x4E00,
        "rare kanji": 0x20000, "hangul": 0xAC00, "braille": 0x2801, "hieroglyphs": 0x13000,
        "cuneiform": 0x12000, "old italic": 0x10300, "vai": 0xA500, "adlam": 0x1E922,
    }.items()
}  # fmt: skip
ODD = {
    "a hundred combining marks": "a" + "\u0301" * 100,
    "marks on every letter": "".join(f"{letter}\u0351\u036b\u0343\u0316" for letter in "zalgo"),
    "a mark on nothing": "\u0301",
    "private use": "\ue000\uf8ff\U000f0000",
    "noncharacters": "\ufffe\uffff\ufdd0\U0010ffff",
    "the replacement character": "a\ufffdb",
    "the object character": "a\ufffcb",
    "unassigned": "\u0378\U000e0fff",
    "tags": "".join(map(chr, range(0xE0041, 0xE0061))),
    "variation selectors": "a" + "".join(map(chr, range(0xFE00, 0xFE10))),
    "musical signs": "\U0001d11e\U0001d160",
}
LONG = {
    "a long word": "z" * 3_000,
    "many words": "word " * 600,
    "dots": "." * 2_000,
    "commas": "," * 2_000,
    "one long sentence": "and so on, " * 250,
    "long without spaces": "\u4e2d\u6587" * 700,
    "long words of marks": ("a" + "\u0301" * 60) * 30,
    "many half flags": "\U0001f1e9" * 301,
    "question marks and quotes": '?"' * 900,
}
TEXTS = {
    **BLANK, **CONTROLS, **LOOK_ALIKES, **WRITTEN_FOR_PROGRAMS, **DIRECTIONS, **EMOJI,
    **WAYS_TO_WRITE, **SCRIPTS, **ODD, **LONG,
}  # fmt: skip
BROKEN = {
    "a lone continuation": b"a\x80b",
    "all continuations": bytes(range(0x80, 0xC0)),
    "two bytes cut": b"a\xc3",
    "three bytes cut": b"a\xe2\x82",
    "three bytes cut early": b"a\xe2",
    "four bytes cut": b"a\xf0\x9f\x98",
    "cut in the middle of a line": b"a\xe2\x82 b",
    "lead after lead": b"\xc3\xc3\xc3",
    "overlong slash": b"\xc0\xaf",
    "overlong slash in three": b"\xe0\x80\xaf",
    "overlong slash in four": b"\xf0\x80\x80\xaf",
    "overlong null": b"a\xc0\x80b",
    "overlong newline": b"a\xc0\x8ab",
    "overlong newline in three": b"a\xe0\x80\x8ab",
    "overlong escape": b"\xc0\x9b[31m",
    "a high surrogate": b"\xed\xa0\x80",
    "a low surrogate": b"\xed\xb0\x80",
    "a pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond the last code point": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "six bytes": b"\xfc\x84\x80\x80\x80\x80",
    "bytes that never come": b"\xfe\xff\xfe"[1:],
    "latin-1": "Stra\u00dfe gro\u00df".encode("latin-1"),
    "latin-9": "5 \u20ac".encode("iso-8859-15"),
    "windows-1252": "\u201ea\u201c \u20ac".encode("cp1252"),
    "windows-1251": "\u043f\u0440\u0438\u0432\u0435\u0442".encode("cp1251"),
    "koi8-r": "\u043f\u0440\u0438\u0432\u0435\u0442".encode("koi8-r"),
    "shift-jis": "\u65e5\u672c\u8a9e".encode("shift_jis"),
    "euc-jp": "\u65e5\u672c\u8a9e".encode("euc_jp"),
    "gb18030": "\u4e2d\u6587".encode("gb18030"),
    "big5": "\u4e2d\u6587".encode("big5"),
    "euc-kr": "\ud55c\uad6d".encode("euc_kr"),
    "macroman": "caf\u00e9".encode("mac_roman"),
    "ebcdic": "hello".encode("cp500"),
    "two encodings in one line": "\u00fc".encode() + "\u00fc".encode("latin-1"),
    "random": bytes(range(0x80, 0x100)),
    "a broken mark": b"a\xef\xbbb",
    "good text with one bad byte": b"fine \xff fine",
    "a bad last byte": b"fine\xff",
    "a bad first byte": b"\xbffine",
}
