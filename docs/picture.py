"""Draw terminal output as docs/demo.svg: nmt demo 2>&1 | python docs/picture.py "nmt demo"."""

import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 116


def main(title: str) -> None:
    """Read text from stdin, write the picture beside this file."""
    console = Console(record=True, width=WIDTH, file=sys.stderr)
    for line in sys.stdin.read().splitlines():
        style = "bold green" if line.startswith("$") else "cyan" if line.startswith("  ") else ""
        console.print(Text(line, style=style))
    # The picture asks no network for its fonts.
    picture = re.sub(r"@font-face\s*\{.*?\}", "", console.export_svg(title=title), flags=re.DOTALL)
    Path(__file__).with_name("demo.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "nmt")
