"""Names the command that converts the tables of an HTML page to TSV."""

from nmt_cli.data.text.shell_commands import AS_LINE, one_line, tsv_command

# Rows and cells need no end tags in HTML.
_HTML_TO_TSV = """\
import sys
AS_LINE
from html.parser import HTMLParser
sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
class Tables(HTMLParser):
 row = []
 def end(self):
  if self.row: print(*(as_line(cell) for cell in self.row), sep="\\t")
  self.row = []
 def handle_starttag(self, tag, _):
  if tag in ("tr", "table"): self.end()
  elif tag in ("td", "th"): self.row.append("")
  elif tag in ("br", "p", "div", "li") and self.row: self.row[-1] += "\\n"
 def handle_endtag(self, tag):
  if tag in ("tr", "table"): self.end()
 def handle_data(self, text):
  if self.row: self.row[-1] += text
tables = Tables()
tables.feed(sys.stdin.read())
tables.close()
tables.end()"""


def is_html(line: str) -> bool:
    r"""Whether a file of pairs that begins with `line` is HTML, a whole page or only a table.

    >>> is_html("<!DOCTYPE html>"), is_html('<table class="a">'), is_html("<html>\t<html>")
    (True, True, False)
    """
    start = line.lstrip("\ufeff ").lower()
    return "\t" not in line and start.startswith(("<!doctype html", "<html", "<table"))


def html_hint(name: str) -> str:
    """Return how to convert the tables of an HTML page; cells become columns."""
    program = one_line(_HTML_TO_TSV.replace("AS_LINE", AS_LINE))
    command = tsv_command(["python3", "-c", program], name)
    return f"convert its tables, a row to a line and a cell to a column: {command}"
