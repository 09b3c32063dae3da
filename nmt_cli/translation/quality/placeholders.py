"""Whether a translation lacks a placeholder, a tag, a part number or a name in a program.

Recognised tags and placeholders are taken out before a line is translated, and put back. What is
checked here are those that are not recognised, and all of them with `search.markup=off`.
"""

import re
from collections.abc import Iterator

from nmt_cli.data.markup.inline import has_marks, parse_line
from nmt_cli.data.markup.marked_text import Placeholder, Tag
from nmt_cli.data.markup.part_numbers import find_part_numbers
from nmt_cli.data.markup.placeholders import without_per_cent

# What is recognised nowhere, since it may be text: it is no error to translate `{like this}`.
_CODE = re.compile(
    r"""
      \{[^\s{}]{1,60}\} | \[\[[^\[\]]{1,60}\]\]
    # @name, $Name; $US is a currency
    | (?<![\w$@\\])(?!\$[A-Z]{1,3}\b)[$@][A-Za-z_]\w*+
    # snake_case, call()
    | (?<!\w)\w*?[^\W\d_]_[^\W_]\w*+
    | (?<!\w)[A-Za-z]\w*+\(\)
    """,
    re.VERBOSE,
)
_MAY_HAVE_CODE = re.compile(r"[{$@_]|\[\[|\(\)")


def is_placeholder_lost(source: str, text: str) -> bool:
    """Whether there is less of anything in a translation that stands in the source as it is.

    >>> is_placeholder_lost("Set max_length.", "Setze max_length."), \\
    ... is_placeholder_lost("Call [[name]].", "Ruf Namen an."), \\
    ... is_placeholder_lost("The GX-4410-B leaks.", "Die GX-4410 leckt.")
    (False, True, True)
    """
    return any(text.count(code) < source.count(code) for code in dict.fromkeys(_codes(source)))


def _codes(line: str) -> Iterator[str]:
    yield from (line[mark.begin : mark.end] for mark in find_part_numbers(line))
    if _MAY_HAVE_CODE.search(line):
        yield from (match[0] for match in _CODE.finditer(line))
    if has_marks(line):
        for piece in parse_line(line):
            is_emphasis = isinstance(piece, Tag) and not piece.raw.startswith(("<", "\\"))
            if isinstance(piece, Placeholder | Tag) and not is_emphasis:
                yield without_per_cent(piece.raw)
