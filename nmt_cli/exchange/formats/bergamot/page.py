"""The page that translates with an exported model in a browser."""

import html
import json
from importlib.resources import files

from nmt_cli.exchange.formats.bergamot.engine import CONFIG, PACKAGE, ExportedFiles

NAME = "index.html"


def translation_page(exported: ExportedFiles, languages: tuple[str, str]) -> str:
    """The text of the page; it lies beside the files, which a web server has to serve with it.

    languages: the codes of source and target. The engine splits text into sentences there.
    """
    template = (files(__package__) / "page.html").read_text("utf-8")
    names = {
        "model": exported.model.name,
        "vocabularies": [path.name for path in exported.vocabularies],
        "shortlist": exported.shortlist and exported.shortlist.name,
    }
    config = {name: value for name, value in CONFIG.items() if name != "ssplit-mode"}
    parts = {
        "SOURCE": html.escape(languages[0]),
        "TARGET": html.escape(languages[1]),
        "PACKAGE": PACKAGE,
        "FILES": _in_script(names),
        "CONFIG": _in_script(config),
    }
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template


def _in_script(value: object) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(value).replace("<", "\\u003c")
