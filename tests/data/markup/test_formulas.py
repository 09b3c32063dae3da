"""A formula with subscripts is one word that is kept: in lines, in HTML and in Markdown."""

import pytest
from document_samples import changed

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import Placeholder, raw_text


@pytest.mark.parametrize(
    ("line", "formulas"),
    [
        ("The H<sub>2</sub>O of it", ["H<sub>2</sub>O"]),
        ("(CO<sub>2</sub>)-Emissionen", ["CO<sub>2</sub>"]),
        ("l’Al<sub>2</sub>O<sub>3</sub>.", ["Al<sub>2</sub>O<sub>3</sub>"]),
        ("2Ca(OH)<sub>2</sub>", ["2Ca(OH)<sub>2</sub>"]),
        (
            "(NH<sub>4</sub>)<sub>2</sub>SO<sub>4</sub><sup>2−</sup>)",
            ["(NH<sub>4</sub>)<sub>2</sub>SO<sub>4</sub><sup>2−</sup>"],
        ),
        ("C<sub>2</sub>H<sub>5</sub>OH and ", ["C<sub>2</sub>H<sub>5</sub>OH"]),
        ("A &amp; H<sub>2</sub>", ["H<sub>2</sub>"]),
        ("x<sub>i</sub>, T<sub>max</sub>", ["x<sub>i</sub>", "T<sub>max</sub>"]),
        # No formulas: a word with the mark of a footnote, words below the line.
        ("The Minister<sub>1</sub> may", []),
        ("The H <sub>2</sub>O and CO<sub>of it</sub>", []),
        ("m<sup>2</sup>", []),
    ],
)
def test_formula_is_a_placeholder(line: str, formulas: list[str]) -> None:
    pieces = parse_line(line)
    assert [piece.raw for piece in pieces if isinstance(piece, Placeholder)] == formulas
    assert raw_text(pieces) == line


def test_formulas_of_documents_are_kept() -> None:
    html = "<p>The H<sub>2</sub>O tax</p><td>CO<sub>2</sub></td>"
    assert changed(html, "html") == "<p>THE H<sub>2</sub>O TAX</p><td>CO<sub>2</sub></td>"
    assert changed("The H<sub>2</sub>O \\* tax\n", "markdown") == "THE H<sub>2</sub>O \\* TAX\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a CO&lt;sub&gt;2&lt;/sub&gt; tax", "A CO&lt;sub&gt;2&lt;/sub&gt; TAX"),
        # Elements within a subscript are kept, too.
        (
            "a CO&lt;sub&gt;2<x id='1'/>&lt;/sub&gt; tax",
            "A CO&lt;sub&gt;2<x id='1'/>&lt;/sub&gt; TAX",
        ),
    ],
)
def test_formulas_of_xliff_are_kept(source: str, expected: str) -> None:
    text = (
        '<xliff version="1.2"><file original="a" source-language="en" datatype="x"><body>'
        '<trans-unit id="1"><source>{}</source>{}</trans-unit></body></file></xliff>'
    )
    states = 'state="needs-review-translation" state-qualifier="leveraged-mt"'
    target = f"<target {states}>{expected}</target>"
    assert changed(text.format(source, ""), "xliff") == text.format(source, target)
