"""`nmt parse prepare`: writes trees as the parallel text on which a parser is trained (6.3)."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.protected_files import needed_files, require_replaceable
from nmt_cli.errors import DataError
from nmt_cli.extras.parsing.linearize import Tags, to_line
from nmt_cli.extras.parsing.trees import cleaned, read_trees, sentence, tree_text
from nmt_cli.storage.files import make_directory, writing

# The source and the target language of a parser, which are also the suffixes of its text files.
WORDS, BRACKETS, GOLD = "words", "brackets", "trees"


class Written(NamedTuple):
    """The number of trees that were written, and of trees that contain only traces."""

    trees: int
    without_words: int


def output_files(out: Path) -> list[Path]:
    """The files that `write_text_of_trees` writes.

    >>> [path.name for path in output_files(Path("train"))]
    ['train.words', 'train.brackets', 'train.trees']
    """
    return [out.with_name(f"{out.name}.{end}") for end in (WORDS, BRACKETS, GOLD)]


def require_other_files(out: Path, trees: Iterable[Path | str]) -> None:
    """Raise CannotCreateError if one of the files to write is one of the files of `trees`."""
    needed = needed_files("is one of the files of trees", *trees)
    require_replaceable(output_files(out), needed, force=True)


def write_text_of_trees(paths: Iterable[Path | str], out: Path, tags: Tags = "all") -> Written:
    """Write the trees of `paths`, cleaned, as `out`.words, `out`.brackets and `out`.trees.

    Line n of each file belongs to one tree: its words, the line that represents the tree without
    them (`linearize.to_line`), and the tree itself. Raises CannotCreateError if one of these files
    is among `paths`, NoInputError, and DataError naming file and line, or if there is no tree with
    words; nothing is written then.
    """
    paths = list(paths)
    require_other_files(out, paths)
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
        if not count:
            raise DataError(
                "there is no tree with words in the files of trees",
                "each tree is written in brackets, such as `(S (NP (NN dogs)) (VP (VBP sleep)))`",
            )
    return Written(count, without_words)
