"""Documents of every kind, and translators that need no model."""

import io
from collections.abc import Callable, Sequence

import docx

from nmt_cli.data.markup.marked_text import MarkedText, Placeholder, Tag, Text, plain_text
from nmt_cli.documents.document import Document, ReadOptions
from nmt_cli.documents.kinds import read_document

TEXT = "\ufeffTitle\r\n\r\n  An indented line, 3 %.\r\n\t\r\nmore\n\nlast {name} line"

HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Dogs &amp; cats</title>
<meta name="description" content="All about dogs."><style>p { color: red }</style></head>
<body><h1>Hello   <b>big</b>
world</h1><!-- a comment --><p class='x'>Use <code>x &lt; y</code>, a <a href="u" title="my home">link
here</a> &copy; 2020.<br>Second line<p>broken <b>bold <i>both</b></i> a < b
<ul><li>one<li>two</ul><img src=a.png alt="a dog"><input type=submit value=Go>
<pre>keep  me</pre><p translate="no">Name</p><textarea>mine</textarea>
<script>if (a < b) { say("<p>no</p>") }</script><table><tr><td>cell</td><td>42</td></tr></table>
<div><a href="v"><span>wrapped</span></a></div></body></html>
"""

MARKDOWN = """---
title: kept
---
# A *heading* ##

Setext
heading
===

A paragraph with **bold**, `code x`, a [link text](http://a.b/c_(d) "t") and
a second line\\* with <b>html</b> &amp; 2 * 3 snake_case {name}.  
hard break here\\
and here.

> quoted line
> goes on
lazy too

- [ ] task item
- item two
  continued
  1. nested

```python
keep("me")
```

    indented code

| Head one | Two |
|---|---|
| a \\| b | c |

<p align="center">Html <em>block</em></p>

![alt text](img.png) [ref] [not a ref] [full][ref] [^1]

[ref]: http://x.y "title"
[^1]: The note.
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hi there, I think
that you</i>

2
00:00:02,600 --> 00:00:03,500
{\\an8}are right about the
big house.

3
00:00:04,000 --> 00:00:05,000
- Yes, I am.
- No, you are not.

4
00:00:06,000 --> 00:00:07,000
Some text

after an empty line
5
00:00:08,000 --> 00:00:09,000
Last 42
"""

VTT = """WEBVTT

NOTE a comment

STYLE
::cue { color: red }

first
00:01.000 --> 00:02.000 align:start
<v Roger>Hello &amp; welcome
to us.

00:02.000 --> 00:03.000
<c.yellow>Fish</c> and chips.
"""

ASS = """[Script Info]
Title: kept

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,a comment
Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\an8}Hello, you,\\Nmy {\\i1}friend{\\i0}.
Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{\\p1}m 0 0 l 1 1{\\p0}
"""

PO = """# A translator.
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. for you
#: a.c:1
#, c-format
#| msgid "old"
msgctxt "menu"
msgid "one %s"
msgid_plural ""
"many"
" %s"
msgstr[0] ""
msgstr[1] ""

#~ msgid "gone"
#~ msgstr ""

msgid "Hello "
"you"
msgstr ""

msgid "done"
msgstr   "fertig"

#, fuzzy
msgid "doubtful"
msgstr "zweifelhaft"

msgid "First \\"line\\".\\n"
"Second.\\n"
msgstr ""
"""

XLIFF = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.txt" source-language="en" datatype="plaintext">
    <body>
      <trans-unit id="1">
        <source>The <g id="1">small</g> dog &amp; {name}<x id="2"/>.</source>
      </trans-unit>
      <trans-unit id="2">
        <source>done</source>
        <target>fertig</target>
      </trans-unit>
      <trans-unit id="3">
        <source>Two sentences. In one unit.</source>
        <seg-source><mrk mtype="seg" mid="0">Two sentences.</mrk> <mrk
          mtype="seg" mid="1">In one unit.</mrk></seg-source>
        <target state="new"/>
        <alt-trans><source>another</source><target>anderes</target></alt-trans>
      </trans-unit>
      <group translate="no"><trans-unit id="4"><source>Name</source></trans-unit></group>
    </body>
  </file>
</xliff>
"""

XLIFF_2 = """<?xml version="1.0"?>
<xliff version="2.1" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
  <file id="f">
    <unit id="1">
      <notes><note>a note</note></notes>
      <segment id="s">
        <source>The <pc id="1">small</pc> dog<ph id="2"/> <sc id="3"/>sleeps<ec startRef="3"/>.</source>
      </segment>
      <ignorable><source> </source></ignorable>
      <segment state="final"><source>done</source><target>fertig</target></segment>
    </unit>
  </file>
</xliff>
"""

JSONL = '{"id": 1.50, "text": "Hello you."}\n\n{"text": "two\\nlines", "a": {"b": "c"}}\n'

JSON = """{
  "title": "A dog",
  "hello" :"Hello {{name}}", "count": 1.50, "on": true, "none": null, "empty": "",
  "menu": {"open": "Open", "items": [ "Two\\nlines", 2, ["12 %"] ]},
\t"@meta": {"description": "kept"}, "last": "Last"
}
"""

CSV = (
    "\ufeffid;en;note\r\n1;A dog, a cat.;kept\r\n"
    '2;"He said ""no"".\r\nTwo lines; here.";"x;y"\r\n\r\n3;;kept\r\n"4";"Last";'
)
TSV = "text\tid\nA dog, a cat; sleeps.\t1\n\t\n12\t2\n"

SAMPLES = {
    "a.txt": TEXT, "a.html": HTML, "a.md": MARKDOWN, "a.srt": SRT, "a.vtt": VTT, "a.ass": ASS,
    "a.po": PO, "a.xlf": XLIFF, "a.xliff": XLIFF_2,
}  # fmt: skip
KINDS = {
    "txt": "text", "html": "html", "md": "markdown", "srt": "subtitles", "vtt": "subtitles",
    "ass": "subtitles", "po": "po", "xlf": "xliff", "xliff": "xliff", "jsonl": "jsonl",
    "csv": "table", "tsv": "table", "json": "json",
}  # fmt: skip


def word_document() -> bytes:
    """Formats, a table, a link, a field, a header, a footer, and a run with a tab."""
    document = docx.Document()
    document.add_heading("A title", 1)
    paragraph = document.add_paragraph("The ")
    paragraph.add_run("big").bold = True
    paragraph.add_run(" dog")
    paragraph.add_run(" sleeps.\tAfter the tab {name}.")
    document.add_table(1, 2).cell(0, 0).text = "A cell"
    document.sections[0].header.paragraphs[0].text = "The header"
    document.sections[0].footer.paragraphs[0].text = "The footer"
    paragraph = document.add_paragraph("See ")
    add_link(paragraph, "the site")
    paragraph.add_run(" on page ")
    add_field(paragraph, "PAGE", "seven")
    paragraph.add_run(" today.")
    return saved(document)


def add_link(paragraph: object, text: str) -> None:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    name = paragraph.part.relate_to("http://x.y", kind, is_external=True)  # type: ignore[attr-defined]
    link, run = docx.oxml.OxmlElement("w:hyperlink"), paragraph.add_run(text)  # type: ignore[attr-defined]
    link.set(docx.oxml.ns.qn("r:id"), name)
    link.append(run._r)
    paragraph._p.append(link)  # type: ignore[attr-defined]


def add_field(paragraph: object, code: str, shown: str) -> None:
    for kind in ("begin", "separate", "end"):
        mark = docx.oxml.OxmlElement("w:fldChar")
        mark.set(docx.oxml.ns.qn("w:fldCharType"), kind)
        paragraph.add_run()._r.append(mark)  # type: ignore[attr-defined]
        if kind == "begin":
            text = docx.oxml.OxmlElement("w:instrText")
            text.text = code
            paragraph.add_run()._r.append(text)  # type: ignore[attr-defined]
        elif kind == "separate":
            paragraph.add_run(shown)  # type: ignore[attr-defined]


def saved(document: object) -> bytes:
    data = io.BytesIO()
    document.save(data)  # type: ignore[attr-defined]
    return data.getvalue()


def opened(text: str | bytes, kind: str, **options: object) -> Document:
    data = text.encode() if isinstance(text, str) else text
    return read_document(data, kind, ReadOptions("file", **options))  # type: ignore[arg-type]


def changed(
    text: str | bytes, kind: str, change: Callable[[str], str] = str.upper, **options: object
) -> str:
    """The document with each piece of its text changed."""
    document = opened(text, kind, **options)
    return document.render(each_text(document.segments, change)).decode()


def each_text(segments: Sequence[MarkedText], change: Callable[[str], str]) -> list[MarkedText]:
    return [
        tuple(Text(change(piece.text)) if isinstance(piece, Text) else piece for piece in segment)
        for segment in segments
    ]


def tags_last(segment: MarkedText, change: Callable[[str], str] = str.upper) -> MarkedText:
    """A translation whose tags are all at its end, as a bad translator gives."""
    placeholders = [piece.raw for piece in segment if isinstance(piece, Placeholder)]
    text = plain_text(segment)
    for placeholder in placeholders:
        text = text.replace(placeholder, "")
    tags = [piece for piece in segment if not isinstance(piece, Text)]
    opening = [piece for piece in tags if isinstance(piece, Tag) and piece.kind == "open"]
    return (*opening, Text(change(text)), *(piece for piece in tags if piece not in opening))
