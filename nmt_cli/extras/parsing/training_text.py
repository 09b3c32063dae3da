"""`nmt parse prepare`: trees as the parallel text that a parser is trained on (6.3)."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.protected_files import needed_files, require_replaceable
from nmt_cli.extras.parsing.linearize import Tags, to_line
from nmt_cli.extras.parsing.trees import cleaned, read_trees, sentence, tree_text
from nmt_cli.storage.files import make_directory, writing

# The languages, and so the ends of the files' names, between which a parser translates.
WORDS, BRACKETS, GOLD = "words", "brackets", "trees"


class Written(NamedTuple):
    """How many trees were written, and how many held nothing but traces."""

    trees: int
    without_words: int


def output_files(out: Path) -> list[Path]:
    """The files that `write_text_of_trees` writes.

    >>> [path.name for path in output_files(Path("train"))]
    ['train.words', 'train.brackets', 'train.trees']
    """
    return [out.with_name(f"{out.name}.{end}") for end in (WORDS, BRACKETS, GOLD)]


def write_text_of_trees(paths: Iterable[Path | str], out: Path, tags: Tags = "all") -> Written:
    """Write the trees of `paths`, cleaned, as `out`.words, `out`.brackets and `out`.trees.

    Line n of each is of one tree: the words, the line that stands for the tree without them
    (`linearize.to_line`), the tree itself. Raises CannotCreateError where one of these is among
    `paths`, NoInputError, and DataError naming file and line; nothing is written then.
    """
    paths = list(paths)
    require_replaceable(output_files(out), needed_files("is one of the files of trees", *paths))
    make_directory(out.parent)
    count, without_words = 0, 0
    with ExitStack() as stack:
        words, brackets, gold = (stack.enter_context(writing(path)) for path in output_files(out))
        for tree in (cleaned(raw) for path in paths for raw in read_trees(path)):
            if tree is None:
                without_words += 1
                continue
            count += 1
            words.write(f"{sentence(tree)}\n".encode())
            brackets.write(f"{to_line(tree, tags)}\n".encode())
            gold.write(f"{tree_text(tree)}\n".encode())
    return Written(count, without_words)
