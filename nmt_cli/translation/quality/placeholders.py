"""Whether a translation lacks what looks like a placeholder, a tag or a name in a program.

Recognised tags and placeholders are taken out before a line is translated, and put back. What is
checked here are those that are not recognised, and all of them with `search.markup=off`.
"""

import re

_CODE = re.compile(
    r"""
      (?<!\{)\{{1,3}[^\s{}]{1,60}\}{1,3} | \{\{[^{}]{1,60}\}\} | \[\[[^\[\]]{1,60}\]\] | \\[ntr]
    | </?[A-Za-z\d][^<>]{0,100}>
    # $name, @name, %name%, %(name)s, %1$s
    | (?<![\w$@%\\])(?!\$[A-Z]{1,3}\b)[$@%]\(?[A-Za-z_]\w*+[%$)]?s?
    | (?<![\w%])%\d+\$[a-z]
    # options of commands
    | (?<![^\s"'“”‘’«»„(\[{|/])--[a-z][\w-]*+
    # snake_case, call()
    | (?<!\w)\w*?[^\W\d_]_[^\W_]\w*+
    | (?<!\w)[A-Za-z]\w*+\(\)
    """,
    re.VERBOSE,
)
_MAY_HAVE_CODE = re.compile(r"[{<$@%_\\]|--[a-z]|\[\[|\(\)")


def is_placeholder_lost(source: str, text: str) -> bool:
    """Whether there is less of anything in a translation that stands in the source as it is.

    >>> is_placeholder_lost("Set max_length.", "Setze max_length."), \\
    ... is_placeholder_lost("Call [[name]].", "Ruf Namen an.")
    (False, True)
    """
    if not _MAY_HAVE_CODE.search(source):
        return False
    found = dict.fromkeys(match[0] for match in _CODE.finditer(source))
    return any(text.count(code) < source.count(code) for code in found)
