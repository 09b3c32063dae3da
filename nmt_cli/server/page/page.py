"""The page of a server as one HTML file, which loads nothing from elsewhere."""

from importlib.resources import files

from nmt_cli.drawing.html_page import as_data, filled, policy_hash
from nmt_cli.translation.quality.flags import FLAGS


def page_and_policy(src: str, tgt: str, characters: int, terms: int = 0) -> tuple[str, str]:
    """The page and its Content-Security-Policy.

    src, tgt: the codes of the languages; characters: the most that a request may have; terms: how
    many the glossary of the server has.
    """
    folder = files(__package__)
    style, script, template = (
        (folder / name).read_text("utf-8") for name in ("page.css", "page.js", "page.html")
    )
    policy = (
        f"default-src 'none'; style-src {policy_hash(style)}; script-src {policy_hash(script)}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    data = {"src": src, "tgt": tgt, "characters": characters, "terms": terms, "flags": FLAGS}
    parts = {"STYLE": style, "SCRIPT": script, "DATA": as_data(data)}
    return filled(template, parts), policy
