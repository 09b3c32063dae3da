"""`nmt parse`: lines of words into trees, by a model that translates them into brackets (6.3)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nmt_cli.config.schema import Config, with_values
from nmt_cli.config.search import SearchConfig
from nmt_cli.extras.parsing.linearize import from_line
from nmt_cli.extras.parsing.punctuation import fitting_tag
from nmt_cli.extras.parsing.trees import Tree, tree_words
from nmt_cli.translation.inputs import windows
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator

# The paper's search for parsing, in place of the model's own.
SEARCH: Mapping[str, int | float] = {
    "search.beam": 21, "search.alpha": 0.3, "search.max_extra_length": 300,
}  # fmt: skip


class Parse(NamedTuple):
    """The tree over the words of one line.

    tree: None where the line has no words; repairs: tokens of `translation` that were dropped or
    added to make a tree of it.
    """

    words: tuple[str, ...]
    tree: Tree | None
    repairs: int
    translation: Translation


def for_parsing(config: Config) -> Config:
    """A model's settings with the paper's search for parsing: beam 21, alpha 0.3, input + 300."""
    return with_values(config, SEARCH)


def parse(
    translator: Translator, lines: Iterable[str], search: SearchConfig | None = None
) -> Iterator[Parse]:
    """One parse a line, in order: always a tree over exactly the line's words.

    Words are what ASCII's white space separates; their round brackets become -LRB- and -RRB-.
    Tags that make a word count or not count in scores are put right (`punctuation.fitting_tag`).
    """
    for window in windows(iter(lines)):
        yield from parse_window(translator, window, search)


def parse_window(
    translator: Translator, lines: Sequence[str], search: SearchConfig | None = None
) -> list[Parse]:
    """The parses of some lines, which are searched in one batch."""
    config = replace(search or for_parsing(translator.config).search, sentences="line")
    words = [tree_words(line) for line in lines]
    translations = translator.translate_window(
        [" ".join(line_words) for line_words in words], search=config
    )
    return [_parse(*pair) for pair in zip(words, translations, strict=True)]


def _parse(words: list[str], translation: Translation) -> Parse:
    if not words:
        return Parse((), None, 0, translation)
    return Parse(tuple(words), *from_line(translation.text, words, fitting_tag), translation)
