"""Generated lines of text, JSON, JSON lines, tables, catalogues and subtitles."""

import csv
import json
from html import escape
from io import StringIO

from generated_documents.words import Words


def lines(words: Words) -> str:
    """Text with empty and indented lines, and all endings of lines."""
    return "".join(
        words.random.choice(["", "", "  ", "\t"])
        + (_line(words) if words.chance(0.8) else "")
        + words.random.choice(["\n", "\n", "\r\n", "\r", "\n\n"])
        for _ in range(words.random.randint(1, 6))
    )


def _line(words: Words) -> str:
    word, keep, inner = words.word, words.keep, words.words
    return " ".join(
        words.pick([
            word, inner, lambda: f"<b>{inner()}</b>", lambda: f"{{{keep()}}}", lambda: "3.5 %",
            lambda: f"%({keep()})s", lambda: f"https://{keep()}.org/a", lambda: f"`{keep()}`",
            lambda: f"*{inner()}*", lambda: f"[{inner()}](http://{keep()})", lambda: "a < b",
            lambda: f"{word()} &amp; {word()}", lambda: f"<i>{word()}", lambda: f"{word()}</p>",
            lambda: f"<code>{keep()}</code>", lambda: f"{keep()}@a.org", lambda: f"({word()})",
        ])
        for _ in range(words.random.randint(1, 5))
    )  # fmt: skip


def json_lines(words: Words) -> str:
    """Objects with a text of one or more lines, and other fields."""
    rows = [
        {"id": words.keep(), "text": "\n".join(_line(words) for _ in range(number % 3 + 1))}
        for number in range(words.random.randint(1, 4))
    ]
    return "\n".join(json.dumps(row, ensure_ascii=words.chance(0.5)) for row in rows) + "\n"


def json_file(words: Words) -> str:
    """Nested objects and lists of texts, with metadata and values that are no texts."""
    return json.dumps(
        _json_value(words, 3), ensure_ascii=words.chance(0.5),
        indent=words.random.choice([None, 2, "\t"]),
    )  # fmt: skip


def _json_value(words: Words, depth: int) -> object:
    if depth == 3 or (depth and words.chance(0.5)):
        entries = [_json_value(words, depth - 1) for _ in range(words.random.randint(1, 4))]
        if words.chance(0.4):
            return entries
        pairs = {words.keep(): entry for entry in entries}
        return {**pairs, f"@{words.keep()}": {words.keep(): [words.keep()]}}
    if words.chance(0.2):
        return words.random.choice([None, True, 1.5, "", "12 %", []])
    return "\n".join(_line(words) for _ in range(words.random.randint(1, 2)))


def table(words: Words) -> str:
    """Records with a text of one or more lines in one of their columns."""
    delimiter, ending = words.random.choice(",;\t"), words.random.choice(["\n", "\r\n"])
    file = StringIO()
    writer = csv.writer(
        file, delimiter=delimiter, lineterminator=ending,
        quoting=words.random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    )  # fmt: skip
    writer.writerow([words.keep(), "text", words.keep()])
    for number in range(words.random.randint(1, 4)):
        text = "\n".join(_line(words) for _ in range(number % 3 + 1))
        writer.writerow([words.keep(), text, f"{words.keep()}{delimiter} {words.keep()}"])
        file.write(words.random.choice(["", "", ending]))
    return file.getvalue()


def catalogue(words: Words) -> str:
    """Entries with and without a translation, with plural forms and comments."""
    text = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
    for _ in range(words.random.randint(1, 5)):
        comment = words.pick([
            lambda: "", lambda: f"# {words.keep()}\n", lambda: f"#: {words.keep()}.c:1\n",
            lambda: "#, c-format\n", lambda: f'#| msgid "{words.keep()}"\n',
            lambda: f'#. {words.keep()}\nmsgctxt "{words.keep()}"\n',
        ])  # fmt: skip
        text += "\n" + comment + words.pick([
            lambda: f'msgid "{_entry(words)}"\nmsgstr ""\n',
            lambda: f'msgid ""\n"{_entry(words)}\\n"\n"{_entry(words)}"\nmsgstr ""\n',
            lambda: f'msgid "{_entry(words)}"\nmsgid_plural "{_entry(words)}"\n'
                    'msgstr[0] ""\nmsgstr[1] ""\n',
            lambda: f'msgid "{words.keep()}"\nmsgstr "{words.keep()}"\n',
        ])  # fmt: skip
    return text.replace("\n", words.random.choice(["\n", "\r\n"]))


def _entry(words: Words) -> str:
    return _line(words).replace('"', '\\"')


def units(words: Words) -> str:
    """XLIFF of both versions, with and without translations, with inline elements."""
    is_first = words.chance(0.5)
    version, name = ("1.2", "trans-unit") if is_first else ("2.1", "unit")
    rows = [f'<xliff version="{version}"><file><!-- {words.keep()} -->']
    for number in range(words.random.randint(1, 5)):
        is_done = words.chance(0.2)
        text = words.keep() if is_done else " ".join(
            _inline(words, is_first) for _ in range(words.random.randint(1, 4))
        )  # fmt: skip
        target = f"<target>{words.keep()}</target>" if is_done else words.random.choice(
            ["", "<target/>", "<target> </target>"]
        )  # fmt: skip
        source = f"  <source>{text}</source>{target}"
        space = words.random.choice(["", "", ' xml:space="preserve"'])
        rows += [
            f'<{name} id="{number}"{space}>',
            *([source] if is_first else ["<segment>", source, "</segment>"]),
            f"<note>{words.keep()}</note></{name}>",
        ]
    ending = words.random.choice(["\n", "\r\n"])
    return ending.join([*rows, "</file></xliff>", ""])


def _inline(words: Words, is_first: bool) -> str:
    word, keep, inner = words.word, words.keep, words.words
    container, begin, end = ("g", "bx", "ex") if is_first else ("pc", "sc", "ec")
    return words.pick([
        word, inner, inner, lambda: f'<{container} id="1">{inner()}</{container}>',
        lambda: f'<{container} id="1">{inner()}\n<{container} id="2">{word()}</{container}>'
                f"</{container}>",
        lambda: f'<{begin} id="3"/>{inner()}<{end} id="3"/>', lambda: '<ph id="4"/>',
        lambda: f'<mrk translate="no">{keep()}</mrk>', lambda: escape(_line(words)),
        lambda: f"<![CDATA[<b>{inner()}</b>]]>", lambda: f"<ph>{keep()}</ph>",
        lambda: f"{word()}\n{word()}", lambda: f'{word()}<{end} id="5"/>', lambda: "&lt;b&gt;",
        lambda: f'&lt;b&gt;<{container} id="6">{word()}&lt;/b&gt;</{container}>',
    ])  # fmt: skip


def cues(words: Words) -> str:
    """Subtitles of one of the kinds: cues of some lines, sentences over several cues."""
    kind = words.random.choice(["srt", "vtt", "ass"])
    head = {"srt": "", "vtt": f"WEBVTT\n\nNOTE {words.keep()}\n\n", "ass": "[Events]\n"}[kind]
    text = ("[Script Info]\n" if kind == "ass" else "") + head
    if kind == "ass":
        text += "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    for number in range(1, words.random.randint(2, 6)):
        start, stop = f"00:00:{number * 4:02d}", f"00:00:{number * 4 + 3:02d}"
        if kind == "ass":
            rows = "\\N".join(_cue_line(words, kind) for _ in range(words.random.randint(1, 3)))
            text += f"Dialogue: 0,0:{start[3:]}.00,0:{stop[3:]}.00,Default,,0,0,0,,{rows}\n"
            continue
        rows = "\n".join(_cue_line(words, kind) for _ in range(words.random.randint(1, 3)))
        point = "," if kind == "srt" else "."
        text += f"{number}\n{start}{point}000 --> {stop}{point}000\n{rows}\n\n"
    return text.replace("\n", words.random.choice(["\n", "\n", "\r\n"]))


def _cue_line(words: Words, kind: str) -> str:
    marks = [("{\\i1}", "{\\i0}"), ("{\\an8}", "")] if kind == "ass" else [("<i>", "</i>")]
    begin, end = words.random.choice([("", ""), ("- ", ""), *marks])
    inner = words.pick([
        words.words, words.words, words.words, lambda: f"{words.word()}, {words.words()}",
        lambda: f"{words.word()} {marks[0][0]}{words.word()}{marks[0][1]} {words.word()}",
        lambda: f"{words.word()} {marks[0][0]}{words.word()}", lambda: "42",
    ])  # fmt: skip
    return begin + inner + words.random.choice(["", "", ".", "?", ",", "..."]) + end
