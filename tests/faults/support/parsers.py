"""Everything of `nmt` that reads what others may have written: good inputs, and what reads them."""

import bz2
import gzip
import lzma
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from byte_models import byte_config
from corpora import reversal_corpus
from document_samples import JSON
from faults.support.attacks import make_model_directory, make_piece_model
from faults.support.mutation import mutated, random_text

from nmt_cli.cli.settings import resolve_settings
from nmt_cli.config.schema import SETTINGS, dump, parse_layer, resolve
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.lexical.glossary import Glossary, read_glossary
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.kinds import read_document
from nmt_cli.extras.parsing.linearize import from_line, to_line
from nmt_cli.extras.parsing.parameters import read_parameters
from nmt_cli.extras.parsing.trees import cleaned, read_trees, sentence, tree_text, tree_words
from nmt_cli.model_dir import load_model
from nmt_cli.storage.manifest import add_to_manifest, check_manifest, write_manifest


class Parser(NamedTuple):
    """make: an input by chance, as files in a folder; read: takes them; raises NmtError or not."""

    make: Callable[[random.Random, Path], None]
    read: Callable[[Path], object]


def _file_parser(
    seeds: Sequence[bytes], read: Callable[[Path], object], tokens: Sequence[bytes] = ()
) -> Parser:
    """A parser of one file, which is called `input`."""

    def make(chance: random.Random, folder: Path) -> None:
        seed = chance.choice(seeds)
        if chance.random() < 0.1:
            data = random_text(chance, tokens)
        else:
            data = mutated(seed, chance, tokens)
        (folder / "input").write_bytes(data)

    return Parser(make, lambda folder: read(folder / "input"))


def _directory_parser(
    good: Path, read: Callable[[Path], object], confirm: Callable[[Path, str, bytes], None]
) -> Parser:
    """A parser of a directory with one file changed; mostly the manifest says that it is right."""
    names = sorted(str(path.relative_to(good)) for path in good.rglob("*") if path.is_file())

    def make(chance: random.Random, folder: Path) -> None:
        shutil.copytree(good, folder / "input")
        name = chance.choice(names)
        data = mutated((good / name).read_bytes(), chance)
        if name == "manifest.json" or chance.random() < 0.05:
            (folder / "input" / name).write_bytes(data)
        else:
            confirm(folder / "input", name, data)

    return Parser(make, lambda folder: read(folder / "input"))


def _confirm_all(directory: Path, name: str, data: bytes) -> None:
    (directory / name).write_bytes(data)
    write_manifest(directory)


# -- readers ---------------------------------------------------------------------------------------


def _read_config(path: Path) -> None:
    config = resolve([parse_layer(path.read_bytes(), path)]).config
    assert resolve([parse_layer(dump(config).encode(), path)]).config == config


def _read_overrides(path: Path) -> None:
    texts = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    resolve_settings({}, texts, environ={})


def _read_lines(path: Path) -> None:
    data = path.read_bytes()
    lines = list(read_lines(path))
    for line in lines:
        assert "\n" not in clean_line(line)
        line.encode("utf-8")
    if not data.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")):
        plain = data.removeprefix(b"\xef\xbb\xbf")
        assert len(lines) == plain.count(b"\n") + (not plain.endswith(b"\n") and plain != b"")


def _read_json(path: Path) -> None:
    data = path.read_bytes()
    document = read_document(data, "json", ReadOptions(str(path)))
    assert document.render(document.segments) == data


def _read_glossary(path: Path) -> None:
    glossary = Glossary(read_glossary(path))
    glossary.find("the dog and a hot dog of the US")
    Glossary(glossary.entries, spaced=False).find("the dog and a hot dog")


def _read_trees(path: Path) -> None:
    for tree in read_trees(path):
        kept = cleaned(tree)
        if kept is not None:
            # As `nmt parse` takes its lines; one of control characters alone has no word.
            if words := tree_words(sentence(kept)):
                from_line(to_line(kept), words)
            tree_text(kept)


def _read_model(path: Path) -> None:
    loaded = load_model(path)
    _use_subwords(loaded.subwords)


def _use_subwords(subwords: Subwords) -> None:
    for ids in subwords.encode_source(["hello, world", "äöü ▁", ""]):
        assert all(0 <= token < subwords.src_size for token in ids)
    for line in subwords.decode_target([range(subwords.tgt_size), [0, 1, 2, 3]]):
        assert "\n" not in line


def _read_corpus(path: Path) -> None:
    corpus = Corpus.open(path)
    for split in (corpus.train, corpus.valid):
        if split is not None:
            for src, tgt in split:
                assert len(src) > 0
                assert src.max() < corpus.subwords.src_size
                assert len(tgt) > 0
                assert tgt.max() < corpus.subwords.tgt_size
    _use_subwords(corpus.subwords)


# -- good inputs -----------------------------------------------------------------------------------

PLAIN = "one\ntwo words\r\n\nGrüße, 日本語\n\ufeffno end".encode()
PLACES = rb"""{"a": {"message": "b", "description": "c"}, "d": [1, "\u00e9 $t(e) @:f", -1.5e3]}"""
GLOSSARY = b"dog\tHund|Hunde\nhot dog\tHotdog\nUS\tUSA\n\nthe dog\tder Hund\n"
TREES = (
    b"(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))\n"
    b"( (S\n   (NP-SBJ (-NONE- *T*-1))\n   (VP (VBD ran))) )\n(TOP (X (Y f-LRB-x-RRB-)))\n"
)
PARAMETERS = (
    b"DEBUG 0\nMAX_ERROR 10\nCUTOFF_LEN 40\nLABELED 1\nDELETE_LABEL TOP\nEQ_LABEL ADVP PRT\n"
)


def make_parsers(folder: Path) -> dict[str, Parser]:
    """All parsers by name; their good inputs are made in `folder`."""
    _, corpus = reversal_corpus(folder / "corpus", pairs=20)
    model = make_model_directory(folder / "model")
    keys = [key.encode() for key in SETTINGS]
    words = [key.split(b".")[1] + b" = " for key in keys]
    config = dump(byte_config()).encode()
    small = b'format = 1\n[languages]\nsrc = "en"\n[model]\nheads = 4\n[train]\npreset = "tiny"\n'
    sets = b"model.heads=4\ntrain.preset=tiny\ndata.valid=a,b\nmodel.d_k=auto\ndata.joint=false"
    packed = [pack(PLAIN * 20) for pack in (gzip.compress, lzma.compress, bz2.compress)]
    return {
        "config": _file_parser([small, config], _read_config, words),
        "overrides": _file_parser([sets], _read_overrides, keys),
        "lines": _file_parser([PLAIN, *packed, *_zstd(PLAIN * 20)], _read_lines),
        "pairs": _file_parser(
            [b"a\tb\nc d\te\n"], lambda path: list(read_pairs((str(path),))), [b"\t"]
        ),
        "json": _file_parser([JSON.encode(), PLACES], _read_json, [b'"', b"{", b"\\u", b"$t("]),
        "glossary": _file_parser([GLOSSARY], _read_glossary, [b"\t", b"|"]),
        "trees": _file_parser([TREES], _read_trees, [b"(S ", b"))", b"-NONE-", b"()"]),
        "parameters": _file_parser([PARAMETERS], read_parameters, PARAMETERS.split()),
        "model": _directory_parser(model, _read_model, add_to_manifest),
        "pieces": _directory_parser(
            make_piece_model(folder / "pieces"), _read_model, add_to_manifest
        ),
        "words": _directory_parser(
            make_piece_model(folder / "words", "wordpiece"), _read_model, add_to_manifest
        ),
        "manifest": _directory_parser(model, check_manifest, add_to_manifest),
        "corpus": _directory_parser(corpus.path, _read_corpus, _confirm_all),
    }


NAMES = (
    "config", "overrides", "lines", "pairs", "json", "glossary", "trees", "parameters", "model",
    "pieces", "words", "manifest", "corpus",
)  # fmt: skip


def _zstd(data: bytes) -> list[bytes]:
    try:
        from backports import zstd
    except ImportError:
        return []
    return [bytes(zstd.compress(data))]
