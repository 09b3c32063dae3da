"""Draw docs/demo.svg from docs/demo.txt, the recorded output of `nmt demo`: `make docs`.

To record it anew: `nmt demo > docs/demo.txt 2>&1`, in an empty directory and without a terminal.
The picture leaves lines out, so that it fits on a page; `[...]` stands where some are missing.
"""

import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

RECORD = Path(__file__).with_name("demo.txt")
PICTURE = Path(__file__).with_name("demo.svg")
WIDTH = 116
CUT = "[...]"
# What the picture leaves out: most of the tables, all sentences but the first, and the advice.
LEFT_OUT = re.compile(
    r"pairs |(?:validation|test) pairs|found  |same pair|  +tokens|source  \d|target  \d|wrote "
    r"|\d+ steps = |about |training: |finished: |best |published |on \d+ validation|model: "
    r"|Your own|  nmt |  echo |next: "
    r"|(?:modal|compound|weak_masculine|genitive|address|pronoun|subordinate|comparative) "
    r"|imperative "
)
SENTENCE = re.compile(r"  (?:source|output|reference) ")


def shown_lines(record: str) -> list[str]:
    """The lines of the picture: those of `record` but for what is left out.

    >>> shown_lines("$ nmt prepare\\npairs read  60\\nvalidation pairs  4\\n$ nmt train\\n")
    ['$ nmt prepare', '[...]', '$ nmt train']
    """
    shown: list[str] = []
    sentences = 0
    for line in record.splitlines():
        sentences += bool(SENTENCE.match(line))
        if not LEFT_OUT.match(line) and not (SENTENCE.match(line) and sentences > 3):
            shown.append(line)
        elif shown[-1:] != [CUT]:
            shown.append(CUT)
    return shown


def draw(record: str) -> str:
    """The picture of a terminal that shows these lines, as SVG."""
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere)
        for line in shown_lines(record):
            style = "bold green" if line.startswith("$") else "cyan" if line[:2] == "  " else ""
            console.print(Text(line, style="dim" if line == CUT else style))
        picture = console.export_svg(title="nmt demo")
    # The picture asks no network for its fonts.
    return re.sub(r"@font-face\s*\{.*?\}", "", picture, flags=re.DOTALL)


def main() -> None:
    """Read the record and write the picture, both beside this file."""
    PICTURE.write_text(draw(RECORD.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
