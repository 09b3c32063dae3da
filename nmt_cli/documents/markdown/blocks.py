"""Blocks that CommonMark does not know: footnotes, definitions, admonitions, directives.

Read as paragraphs, they would be joined with the lines around them. Each rule here is a rule for
blocks of markdown-it-py: it is called with (state, line, end, silent), and says whether a block
begins in the line; if silent, that is all it does.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

# What stands before the content of a block, and how far the lines that continue it are indented.
# `[^1]: text` and `*[HTML]: text`; `: text` below a term; `!!! note "Title"` and `=== "Tab"`, whose
# content is below.
_CONTAINERS = (
    (re.compile(r"\[\^[^\]\s]+\]:|\*\[[^\]\n]+\]:"), 4),
    (re.compile(r":(?=[ \t]+\S)"), 2),
    (re.compile(r"(?:!!!|\?\?\?\+?)[ \t]+\w[^\n]*|===[!+]?[ \t]+\"[^\n]*\"[ \t]*$", re.M), 4),
)
# `::: note` and `:::`; `[TOC]`, `[[toc]]` and `[[_TOC_]]` alone in a line.
_DIRECTIVE = re.compile(r":{3,}[^\n]*|\[(?:TOC|\[_?TOC_?\])\][ \t]*\Z", re.IGNORECASE)
# `[label]: address "title"`. CommonMark takes it for text if a paragraph stands before it.
_DEFINITION = re.compile(
    r"\[(?!\^)(?:[^\[\]\\\n]|\\.)+\]:[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*(?=\n|\Z)"
)
_ENDS = ["paragraph", "reference", "blockquote", "list"]


def add_blocks(parser: "MarkdownIt") -> None:
    """Let a parser find these blocks, also without an empty line before them."""
    for name, rule in (
        ("container", _container),
        ("directive", _directive),
        ("definition", _definition),
        ("lazy_table", _lazy_table),
    ):
        parser.block.ruler.before("table", name, rule, {"alt": _ENDS})


def _match(pattern: re.Pattern[str], state: "StateBlock", line: int) -> re.Match[str] | None:
    if state.is_code_block(line):
        return None
    return pattern.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _container(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
    for pattern, indentation in _CONTAINERS:
        if match := _match(pattern, state, line):
            if not silent:
                _parse_content(state, line, end, match.end(), indentation)
            return True
    return False


def _parse_content(state: "StateBlock", line: int, end: int, begin: int, indentation: int) -> None:
    """Parse the blocks in a container, whose content begins at `begin`."""
    saved = state.bMarks[line], state.tShift[line], state.sCount[line], state.blkIndent
    saved_type = state.parentType
    words = state.skipSpaces(begin)
    state.blkIndent = max(state.blkIndent, state.sCount[line]) + indentation
    state.bMarks[line], state.tShift[line] = begin, words - begin
    # What follows the marker is never indented code.
    state.sCount[line] = state.blkIndent
    # A paragraph that is not indented goes on within the container.
    state.parentType = "reference"
    state.level += 1
    state.md.block.tokenize(state, line, end)
    state.level -= 1
    state.parentType = saved_type
    state.bMarks[line], state.tShift[line], state.sCount[line], state.blkIndent = saved
    # A container may be empty.
    state.line = max(state.line, line + 1)


def _directive(state: "StateBlock", line: int, _end: int, silent: bool) -> bool:
    if not _match(_DIRECTIVE, state, line):
        return False
    if not silent:
        state.line = line + 1
    return True


def _definition(state: "StateBlock", line: int, _end: int, silent: bool) -> bool:
    """Whether a link definition ends the block before it; markdown-it's own rule reads it."""
    return silent and _match(_DEFINITION, state, line) is not None


def _lazy_table(state: "StateBlock", line: int, _end: int, silent: bool) -> bool:
    """Whether a table ends a paragraph in a list or footnote to which it does not belong."""
    from markdown_it.rules_block import table

    indentation = state.sCount[line]
    if not silent or not 0 <= indentation < state.blkIndent:
        return False
    saved, state.blkIndent = state.blkIndent, indentation
    try:
        return table(state, line, state.lineMax, True)
    finally:
        state.blkIndent = saved
