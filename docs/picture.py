"""Draw terminal output as docs/demo.svg: nmt demo 2>&1 | python docs/picture.py "nmt demo"."""

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 104


def main(title: str) -> None:
    """Read text from stdin, write the picture beside this file."""
    console = Console(record=True, width=WIDTH, file=sys.stderr)
    for line in sys.stdin.read().splitlines():
        style = "bold green" if line.startswith("$") else "cyan" if line.startswith("  ") else ""
        console.print(Text(line, style=style))
    console.save_svg(str(Path(__file__).with_name("demo.svg")), title=title)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "nmt")
