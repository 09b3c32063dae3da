"""`nmt parse`: converts lines of words to trees by a model that translates into brackets (6.3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from nmt_cli.config.schema import Config, with_values
from nmt_cli.config.search import SearchConfig
from nmt_cli.extras.parsing.linearize import from_line
from nmt_cli.extras.parsing.punctuation import fitting_tag
from nmt_cli.extras.parsing.search import SEARCH
from nmt_cli.extras.parsing.trees import Tree, tree_words
from nmt_cli.translation.lines.inputs import windows
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator


class Parse(NamedTuple):
    """The tree over the words of one line.

    tree: None if the line has no words; repairs: the number of tokens of `translation` that were
    dropped or added to make a tree of it.
    """

    words: tuple[str, ...]
    tree: Tree | None
    repairs: int
    translation: Translation


def for_parsing(config: Config) -> Config:
    """Replace the search settings by those of the paper: beam 21, alpha 0.3, input + 300."""
    return with_values(config, SEARCH)


def parse(
    translator: Translator, lines: Iterable[str], search: SearchConfig | None = None
) -> Iterator[Parse]:
    """Yield one parse per line, in order: always a tree over exactly the words of the line.

    Words are separated by ASCII white space; their round brackets become -LRB- and -RRB-. Tags that
    decide whether a word counts in scores are corrected (`punctuation.fitting_tag`).
    """
    for window in windows(iter(lines)):
        yield from parse_window(translator, window, search)


def parse_window(
    translator: Translator, lines: Sequence[str], search: SearchConfig | None = None
) -> list[Parse]:
    """Parse some lines, which are searched together."""
    config = search or for_parsing(translator.config).search
    config = replace(config, sentences="line", markup="off")
    words = [tree_words(line) for line in lines]
    translations = translator.translate_window(
        [" ".join(line_words) for line_words in words], search=config
    )
    return [
        _parse(line_words, translation)
        for line_words, translation in zip(words, translations, strict=True)
    ]


def _parse(words: list[str], translation: Translation) -> Parse:
    if not words:
        return Parse((), None, 0, translation)
    return Parse(tuple(words), *from_line(translation.text, words, fitting_tag), translation)
