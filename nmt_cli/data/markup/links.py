"""Tells the tags of links from others."""

import re

from nmt_cli.data.markup.marked_text import Tag

# The names of links in HTML, in lines, in documents of Markdown and in Word documents. Images are
# among them: what stands in their alternative text is lost.
_LINKS = frozenset(("a", "link", "[", "w:hyperlink"))
# Elements of XLIFF that are links.
_LINK_TYPE = re.compile(
    r"<(?:g|pc|bpt|ept|x|sc|ec)\b[^>]*?\s(?:ctype|subType|type|id|equivStart)="
    r"[\"'](?:x-a|link|START_LINK\w*)[\"']"
)


def is_link_tag(tag: Tag) -> bool:
    """Whether a tag begins or ends a link or an image.

    >>> [is_link_tag(Tag(f"<{name}>", "open", name)) for name in ("a", "b")]
    [True, False]
    """
    return tag.name in _LINKS or bool(_LINK_TYPE.match(tag.raw))
