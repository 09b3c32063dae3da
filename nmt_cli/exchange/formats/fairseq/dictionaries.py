"""The dictionaries of fairseq, and the sentencepiece models whose pieces they list."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nmt_cli.data.subwords.model import MAX_BYTES, SpecialIds, Subwords
from nmt_cli.data.subwords.segmenters import SPACE, SentencePieces
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.storage import files

BOS, PAD, EOS, UNK = range(4)
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
OVERWRITE = " #fairseq:overwrite"
FILLER = "madeupword"
# fairseq-preprocess makes the size of a dictionary a multiple of this.
MULTIPLE = 8
CONTINUED = "@@"
SUFFIX = ".txt"
# Names of sentencepiece models beside a checkpoint.
SEGMENTERS = ("sentencepiece.bpe.model", "sentencepiece.model", "spm.model")
# The smallest share of a segmenter's pieces that its dictionary has.
LEAST_SHARE = 0.5


class VocabularyFiles(NamedTuple):
    """The files of both sides; segmenters: none, one for both sides, or two."""

    dictionaries: tuple[Path, Path]
    segmenters: tuple[Path, ...]


def locate_vocabulary(
    folder: Path, languages: tuple[str, str], options: ImportOptions
) -> VocabularyFiles:
    """The files given with --vocab (dictionaries end with .txt), else those of the folder."""
    given = [path for path in options.vocabularies if path.suffix == SUFFIX]
    segmenters = tuple(path for path in options.vocabularies if path.suffix != SUFFIX)
    if len(given) > 2 or len(segmenters) > 2:
        raise ConfigError(
            "a model has at most two dictionaries and two sentencepiece models",
            "give --vocab once or twice for each",
        )
    dictionaries = (given[0], given[-1]) if given else _dictionaries(folder, languages)
    if not segmenters:
        segmenters = tuple(folder / name for name in SEGMENTERS if (folder / name).is_file())[:1]
    return VocabularyFiles(dictionaries, segmenters)


def _dictionaries(folder: Path, languages: tuple[str, str]) -> tuple[Path, Path]:
    source, target = (folder / f"dict.{language}{SUFFIX}" for language in languages)
    return source, target


def read_dictionary(path: Path) -> dict[str, int]:
    """The ids of the entries: four special ones, then the lines. Raises NoInputError, DataError."""
    data = files.read_bytes(path, "dictionary", MAX_BYTES)
    ids = {entry: index for index, entry in enumerate(SPECIAL)}
    size = len(ids)
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"the dictionary `{path}` is not UTF-8", "copy it again") from error
    for number, line in enumerate(lines, 1):
        if not line.strip("\r"):
            continue
        entry, _, count = line.rstrip("\r").removesuffix(OVERWRITE).rpartition(" ")
        if not entry or not count.isdecimal():
            raise DataError(
                f"line {number} of the dictionary `{path}` is not an entry and its count",
                "copy the dictionary again",
            )
        if entry in ids and not line.rstrip("\r").endswith(OVERWRITE):
            raise DataError(f"the dictionary `{path}` has the entry of line {number} twice")
        ids[entry] = size
        size += 1
    return ids


def vocabulary_reasons(
    dictionaries: tuple[Mapping[str, int], Mapping[str, int]], segmenters: tuple[Path, ...]
) -> list[str]:
    """Why nmt cannot split text as the model needs it."""
    if any(entry.endswith(CONTINUED) for ids in dictionaries for entry in ids):
        return [
            f"its subwords end with `{CONTINUED}`: subword-nmt or fastBPE has split words that a "
            "tokeniser such as that of Moses had split before, and nmt has neither of them (it "
            "imports models of sentencepiece)"
        ]
    if segmenters:
        return []
    if any(SPACE in entry for entry in dictionaries[0]):
        return [
            "its dictionary has pieces of sentencepiece: name the sentencepiece model (--vocab)"
        ]
    return [
        "nothing says how its text was split into words: name the sentencepiece model (--vocab), "
        "which is the only segmenter of fairseq's models that nmt imports"
    ]


def make_subwords(
    dictionaries: tuple[Mapping[str, int], Mapping[str, int]],
    segmenters: tuple[Path, ...],
    rows: tuple[int, int],
) -> Subwords:
    """The subwords of an imported model; rows: of the source and target embeddings."""
    paths = (segmenters[0], segmenters[-1])
    contents = [files.read_bytes(path, "sentencepiece model", MAX_BYTES) for path in paths]
    pieces = [SentencePieces.of_another_toolkit(content) for content in contents]
    ids = []
    for index, side in enumerate(("source", "target")):
        ids.append(_filled(dictionaries[index], rows[index], side))
        check_pieces(paths[index], pieces[index], ids[index], side)
    joint = contents[0] == contents[1] and ids[0] == ids[1]
    return Subwords(
        pieces[0],
        None if joint else pieces[1],
        source_ids=ids[0],
        target_ids=None if joint else ids[1],
        special=SpecialIds(pad=PAD, unk=UNK, bos=BOS, eos=EOS),
    )


def check_pieces(path: Path, pieces: SentencePieces, ids: Mapping[str, int], side: str) -> None:
    """Raise DataError if a segmenter does not belong to a vocabulary."""
    names = pieces.pieces()
    share = sum(name in ids for name in names) / max(len(names), 1)
    if share < LEAST_SHARE:
        raise DataError(
            f"only {share:.0%} of the pieces of `{path}` are in the {side} vocabulary",
            "name the sentencepiece model that the text of the training was split with",
        )


def _filled(ids: Mapping[str, int], rows: int, side: str) -> dict[str, int]:
    """The ids, with names that no text has for rows without an entry."""
    size = max(ids.values()) + 1
    if not size <= rows < size + MULTIPLE:
        raise DataError(
            f"the {side} dictionary has {size} entries, but the embeddings have {rows} rows",
            "name the dictionaries that the model was trained with",
        )
    used = set(ids.values())
    return {**ids, **{f"<unused {index}>": index for index in range(rows) if index not in used}}


def banned_ids(subwords: Subwords, ids: Mapping[str, int]) -> list[int]:
    """What is never generated: the special entries except the end, and those that fill up."""
    fillers = {index for entry, index in ids.items() if entry.startswith(FILLER)}
    unused = set(range(subwords.tgt_size)) - set(ids.values())
    return sorted({BOS, PAD, UNK} | fillers | unused)
