"""Documents through a translator that copies the words: marks and white space are as before."""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import docx
import numpy as np
import pytest
from byte_models import byte_config
from document_samples import add_link, opened, saved
from faults.support.letters import copying_translator

from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.documents.document import Document
from nmt_cli.translation.markup.projection import IdPair
from nmt_cli.translation.markup.tokens import Matrix

ROOT = Path(__file__).resolve().parents[2]
STAND_INS = ("Anna", "Berlin", "Maria", "London", "Peter", "Paris", "Martin", "Madrid", "Thomas")

MORE_HTML = """<p>Contact: <a href="mailto:a@b.de">a@b.de</a> or <b>call</b> us.</p>
<p><br>E-Mail: a@b.de<br>Phone: 030/12345
<p>I don't <b>know</b>, he said: "<i>Don't</i> go!" (really <code>x &lt; y</code>)</p>
<p><em>First</em>, <strong>second</strong>; <u>third</u>: <span>fourth</span>.</p>
<ul><li><b>Note</b>: see <a href="x">here</a> (<a href="y">or there</a>).</li>
<li>Price: <b>12.50</b> € / <i>kg</i></li><li>12.50</li><li><input type=checkbox> Yes</li></ul>
<p>He said <img src=a> loudly. <img src=b> Then left<img src=c>.</p>
<p>Press <kbd>Ctrl</kbd>+<kbd>C</kbd> (or <kbd>Esc</kbd>, <kbd>q</kbd>) now.</p>
<p>“<b>Quoted</b>” and ‘<i>single</i>’ – <q>dash</q> — end</p>
<p>{{ user.name }} has {count} dogs, %s said. Visit https://example.org/a?b=c.</p>"""

MORE_MARKDOWN = """# Title with `code` and *emphasis*

**Options.** `a`, `b` (`c`, `d`), [link](u "t") and ![img](v). Don't **stop**! See `x` (or not).

- item one: `x` = `y`
- [ ] task **two** (*really*)
- **Note**: `e`, or `f`, ends. `g` shows it.

Hard break \x20
next line\\
third line. Footnote[^1] and $x^2$ formula.

[^1]: The *note*, see <https://a.b/c>.
"""

MORE_XLIFF = """<xliff version="1.2"><file><body>
<trans-unit><source>I don't <g id="1">know</g>, he said: "<g id="2">Don't</g> go!"</source>
</trans-unit><trans-unit><source><g id="1">First</g>, <bpt id="2">{</bpt>second<ept id="2">}</ept>;
<x id="3"/>third and &lt;b&gt;fourth&lt;/b&gt;<ph id="4">%</ph>.</source></trans-unit>
<trans-unit><source>Tom and Ann of <mrk mtype="protected">Press Corp</mrk> have {count} dogs, %s
said (<g id="1">really</g>).</source></trans-unit>
<trans-unit><source>One. Two, <x/>three.</source><seg-source><mrk mtype="seg">One.</mrk>
<mrk mtype="seg">Two, <x/>three.</mrk></seg-source></trans-unit>
<trans-unit xml:space="preserve"><source>A line
  another <g>line</g> with 12 %.</source></trans-unit>
</body></file></xliff>"""

MORE_TABLE = """id,text
1,"I don't <b>know</b>, he said: ""<i>Don't</i> go!"" {count} of %s."
2,"First line, 12 %.

  Second ""line"" of <a href=""x"">two</a>."
"""

MORE_JSON = r"""{"a": "I don't <b>know</b>, he said: \"<i>Don't</i> go!\" {count} of %s.",
"b": ["First line, 12 %.\n\n  Second \"line\" of <a href=\"x\">two</a>.", "See $t(menu.open) now."],
"c": "Hello {{ user }}, see @:menu.dog.",
"d": "$USER$ has {n, plural, one {# dog} other {# dogs}}!"}
"""


def copied(document: Document, stand_ins: Sequence[str]) -> list[str]:
    """The segments of a document, translated by a model that copies and aligns the same words."""
    translator, _ = copying_translator(byte_config({"data.max_length": 4_000}))

    def attend(pairs: Sequence[IdPair]) -> list[Matrix]:
        return [np.eye(len(target), len(source)) for source, target in pairs]

    translator._markup._projector._attend = attend
    translator._markup._stand_ins.__dict__.update(words=tuple(stand_ins), numbers=())
    return [raw_text(each.pieces) for each in translator.translate_marked(document.segments)]


def normal(text: str) -> str:
    """A text as the model reads it."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


@pytest.mark.parametrize("stand_ins", [STAND_INS, ()], ids=["stand-ins", "none"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("html", MORE_HTML),
        ("markdown", MORE_MARKDOWN),
        ("xliff", MORE_XLIFF),
        ("table", MORE_TABLE),
        ("json", MORE_JSON),
        ("markdown", (ROOT / "README.md").read_text(encoding="utf-8")),
        ("markdown", (ROOT / "docs/translating.md").read_text(encoding="utf-8")),
    ],
    ids=["html", "markdown", "xliff", "table", "json", "readme", "guide"],
)
def test_copied_document_is_the_document(kind: str, text: str, stand_ins: Sequence[str]) -> None:
    document = opened(text, kind)
    sources = [raw_text(segment) for segment in document.segments]
    for source, translation in zip(sources, copied(document, stand_ins), strict=True):
        assert normal(translation) == normal(source)
        assert "  " not in translation.replace("  \n", "")


def test_words_around_a_break_or_tab_of_word_stay_apart() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("One")
    paragraph.add_run().add_break()
    paragraph.add_run("two")
    add_link(paragraph, "three")
    paragraph._p[-1][0].insert(0, docx.oxml.OxmlElement("w:tab"))
    paragraph.add_run("\nfour.")
    opened_again = opened(saved(document), "docx")
    translator, copying = copying_translator()
    translator.translate_marked(opened_again.segments)
    texts = translator.subwords.decode_source([source.ids for source in copying.sources])
    assert texts == ["One two three four."]
    [result] = translator.translate_marked(opened_again.segments)
    assert [sentence.text for sentence in result.translation.sentences] == ["One two three four."]
    assert copied(opened_again, ()) == [raw_text(segment) for segment in opened_again.segments]
