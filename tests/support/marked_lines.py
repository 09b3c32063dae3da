"""Lines with marks at random: well-formed HTML sentences, and strings of any characters."""

import random
from collections.abc import Iterator

WORDS = (
    "the", "small", "dog", "sleeps", "in", "Berlin,", "she", "can't", "see", "3.5", "AT&T", "über",
    "“it”", "5 %", "a_b", "日本", "x < y",
)  # fmt: skip
ELEMENTS = ("b", "i", "em", "a", "span", "p", "div", "li")
ATTRIBUTES = ("", ' class="x y"', " href='https://x.org/?a=1&b=2'", ' id="1"')
EMPTY = ("<br>", "<br/>", '<img src="a.png" alt="b">', "<x id=1/>", "<!-- note -->")
PLACEHOLDERS = (
    "{name}", "{0}", "%s", "%1$d", "${home}", "{{ user }}", "https://x.org/a?b=1", "me@x.org",
    "<code>a < b</code>", '<i translate="no">Nix</i>',
)  # fmt: skip
# Parts of marks, and of what looks like one.
FRAGMENTS = (
    *EMPTY, *PLACEHOLDERS, *WORDS, "<b>", "</b>", "<i>", "</i>", "</p>", "<", ">", "</", "/>",
    "<!--", "-->", "<![CDATA[", "]]>", "<?", "**", "*", "_", "__", "~~", "`", "[", "](", "](u)",
    "![", "{", "}", "{{", "%", "$", "&amp;", "&lt;", "&#", ";", "://", "www.", "@", "mailto:", "\\",
    " ", "  ", "\t", "\u00a0", "\u200f", "\u2581", "\ufffc", "\U0001f600", "e\u0301", ".", "! ",
    "? ", "\x1b[31m", "\x00", "'", '"', "=", "<a href=", "<script>", "</script>", "<b", "5",
    "12.50",
    "{a, plural, one {# x}}", "translate", "%%", "%d%", "<x:y z='1'>",
)  # fmt: skip


def html_sentence(chooser: random.Random) -> str:
    """A sentence or several with nested elements, void elements and placeholders."""
    return " ".join(_content(chooser, depth=0)) + chooser.choice([".", "!", ". She is here.", ""])


def _content(chooser: random.Random, depth: int) -> Iterator[str]:
    for _ in range(chooser.randint(1, 4 if depth else 7)):
        kind = chooser.random()
        if kind < 0.3 and depth < 3:
            name, attributes = chooser.choice(ELEMENTS), chooser.choice(ATTRIBUTES)
            space = chooser.choice(["", "", "", " "])
            inside = " ".join(_content(chooser, depth + 1))
            yield f"<{name}{attributes}>{space}{inside}{space}</{name}>"
        elif kind < 0.4:
            yield chooser.choice(EMPTY)
        elif kind < 0.5:
            yield chooser.choice(PLACEHOLDERS)
        else:
            yield chooser.choice(["dog", "cat sleeps", "old", "she is, he was", "Ann &amp; Tom"])


def random_string(chooser: random.Random) -> str:
    """Fragments of marks, and sometimes any characters."""
    parts = [chooser.choice(FRAGMENTS) for _ in range(chooser.randint(0, 14))]
    if chooser.random() < 0.2:
        parts += [chr(chooser.choice([chooser.randrange(1, 0x250), chooser.randrange(0xD800)]))]
    return chooser.choice(["", " "]).join(parts).replace("\n", " ")
