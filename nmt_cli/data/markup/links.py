"""Tells the tags of links from others, and finds links whose text is a domain."""

import re
from collections.abc import Sequence

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text

# The names of links in HTML, in lines, in documents of Markdown and in Word documents. Images are
# among them: what stands in their alternative text is lost.
_LINKS = frozenset(("a", "link", "[", "w:hyperlink"))
# Elements of XLIFF that are links.
_LINK_TYPE = re.compile(
    r"<(?:g|pc|bpt|ept|x|sc|ec)\b[^>]*?\s(?:ctype|subType|type|id|equivStart)="
    r"[\"'](?:x-a|link|START_LINK\w*)[\"']"
)
# The whole text of a link, `acme.example`: elsewhere a space may be missing behind a full stop.
_DOMAIN = re.compile(r"(?:[a-z\d][a-z\d-]*+\.)++[a-z]{2,}")


def is_link_tag(tag: Tag) -> bool:
    """Whether a tag begins or ends a link or an image.

    >>> [is_link_tag(Tag(f"<{name}>", "open", name)) for name in ("a", "b")]
    [True, False]
    """
    return tag.name in _LINKS or bool(_LINK_TYPE.match(tag.raw))


def with_domains(pieces: Sequence[MarkedPiece], *, in_address: bool) -> MarkedText:
    """The pieces, where the text of a link that is only a domain is a placeholder.

    in_address: only if the tags of the link have this domain, too, as those of Word never do.

    >>> link = Tag("<a>", "open", "a"), Text("acme.example"), Tag("</a>", "close", "a")
    >>> with_domains(link, in_address=False)[1], with_domains(link, in_address=True) == link
    (Placeholder(raw='acme.example'), True)
    """
    result = list(pieces)
    for index, piece in enumerate(pieces[1:-1], 1):
        before, after = pieces[index - 1], pieces[index + 1]
        if (
            isinstance(piece, Text)
            and piece.raw in (None, piece.text)
            and isinstance(before, Tag)
            and isinstance(after, Tag)
            and (before.kind, after.kind) == ("open", "close")
            and is_link_tag(before)
            and _DOMAIN.fullmatch(piece.text)
            and (not in_address or piece.text in before.raw or piece.text in after.raw)
        ):
            result[index] = Placeholder(piece.text)
    return tuple(result)
