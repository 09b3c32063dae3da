"""Bergamot: an int8 model for the engines in browsers, with calibrated inputs of its products."""

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.data.lexical.shortlist import FREQUENT, SHORTLIST, Shortlist
from nmt_cli.exchange.checks.lines import calibration_lines
from nmt_cli.exchange.formats.bergamot.binary import (
    EMBEDDINGS,
    FLOAT32,
    LARGEST,
    Item,
    make_items,
    to_bytes,
)
from nmt_cli.exchange.formats.bergamot.calibration import OUTPUT, largest_inputs
from nmt_cli.exchange.formats.bergamot.engine import (
    CONFIG,
    PACKAGE,
    BergamotTranslator,
    ExportedFiles,
    find_engine,
)
from nmt_cli.exchange.formats.bergamot.page import NAME, translation_page
from nmt_cli.exchange.formats.bergamot.shortlists import MOST, shortlist_bytes
from nmt_cli.exchange.formats.marian.npz import Array
from nmt_cli.exchange.formats.marian.settings import settings_of
from nmt_cli.exchange.formats.marian.target import (
    LEFT_OUT,
    has_ids_of_segmenters,
    kept_rows,
    marian_reasons,
)
from nmt_cli.exchange.formats.marian.weights import (
    IMPOSSIBLE,
    OUTPUT_BIAS,
    foreign_names,
    make_arrays,
)
from nmt_cli.exchange.requirements import SOURCE_SPM, TARGET_SPM, search_notes
from nmt_cli.exchange.target import Reason, SearchAdvice, WordsTranslator
from nmt_cli.model_dir import LoadedModel
from nmt_cli.storage import files
from nmt_cli.translation.translator import Translator

# What the engines multiply: rows of a multiple of these numbers, and such columns.
INPUTS, OUTPUTS = 64, 8
# Words that a shortlist may allow for a sentence; the engine breaks longer ones.
MOST_ALLOWED = 128 * (MOST + 1) + FREQUENT + OUTPUTS
ALPHA = "_QuantMultA"
# The names of the output layer's matrix: the columns that a shortlist selects have none.
OUTPUT_NAMES = ("Wemb", "decoder_Wemb", "none")


class Bergamot:
    """The target `--to bergamot`."""

    title = "Bergamot"
    libraries: tuple[str, ...] = ()
    extra = ""
    precisions = ("int8",)
    only_checks = True

    def require_engine(self, hint: str) -> dict[str, str]:
        """The version of the engine; raises UnavailableError."""
        package = find_engine(hint)[1] / "package.json"
        return {PACKAGE: str(json.loads(package.read_bytes())["version"])}

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """What Marian's Transformer does not have, and sizes that cannot be multiplied in int8."""
        reasons = marian_reasons(loaded, self.title)
        if loaded.config.model.kind == "transformer":
            reasons += _size_reasons(loaded.config.model)
            if not reasons and not has_ids_of_segmenters(loaded, kept_rows(loaded)):
                reasons.append(
                    Reason(
                        "its ids are not those of its sentencepiece files, which the engine uses",
                        "a model of nmt's own training",
                    )
                )
        return reasons

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write the model, the vocabularies, and the shortlist of the model if it has one."""
        names = _names(loaded)
        rows = kept_rows(loaded)
        padded = tuple(size + -size % OUTPUTS for size in rows)
        arrays = _padded(make_arrays(loaded.model.state_dict(), rows), loaded.config.model, padded)
        settings = settings_of(loaded.config.model, (padded[0], padded[1]), arrays)
        items = make_items(arrays, _yaml(settings)) + _alphas(loaded, arrays)
        files.write_bytes(directory / names.model, to_bytes(items))
        contents = dict(loaded.subwords.contents())
        for path, content in zip(names.vocabularies, (SOURCE_SPM, TARGET_SPM), strict=False):
            files.write_bytes(directory / path, contents[content])
        shortlist = _shortlist(loaded)
        if shortlist is not None and names.shortlist is not None:
            data = shortlist_bytes(shortlist, loaded.subwords.eos_id, loaded.subwords.src_size)
            files.write_bytes(directory / names.shortlist, data)
        else:
            names = names._replace(shortlist=None)
        languages = loaded.config.languages.src, loaded.config.languages.tgt
        files.write_text(directory / NAME, translation_page(names, languages))

    def open(self, directory: Path) -> WordsTranslator:
        """The model, run by the npm package in node."""
        [model] = directory.glob("model.*.bin")
        vocabularies = sorted(directory.glob("*vocab.*.spm"))
        shortlist = next(directory.glob("lex.*.bin"), None)
        return BergamotTranslator(ExportedFiles(model, tuple(vocabularies), shortlist))

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """The settings of the engine: it searches greedily."""
        search = replace(loaded.config.search, length_penalty="none")
        notes = search_notes(search, self.title, LEFT_OUT)
        if search.beam > 1:
            notes += (f"{self.title} searches greedily, as `nmt translate --beam 1` does.",)
        if _has_shortlist(loaded) and _shortlist(loaded) is None:
            notes += (
                f"The shortlist is left out: {self.title} needs a vocabulary of a multiple of "
                f"{OUTPUTS} for one, or of more than {MOST_ALLOWED:,} subwords.",
            )
        return SearchAdvice(dict(CONFIG), notes)


TARGET = Bergamot()


def _names(loaded: LoadedModel) -> ExportedFiles:
    """The names of the files, as the models of Firefox have them."""
    languages = loaded.config.languages.src + loaded.config.languages.tgt
    sides = ("vocab",) if loaded.subwords.joint else ("srcvocab", "trgvocab")
    return ExportedFiles(
        Path(f"model.{languages}.intgemm.alphas.bin"),
        tuple(Path(f"{side}.{languages}.spm") for side in sides),
        Path(f"lex.{MOST}.{MOST}.{languages}.s2t.bin"),
    )


def _yaml(settings: Mapping[str, object]) -> str:
    """Settings as YAML with one setting a line, as Marian writes it: some engines read no other."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())


def _shortlist(loaded: LoadedModel) -> Shortlist | None:
    """The shortlist in the model's directory, if there is one that the engine can use.

    It needs a multiple of OUTPUTS words, which a vocabulary may lack if nearly all are allowed.
    """
    size = loaded.subwords.tgt_size
    if not _has_shortlist(loaded) or (size % OUTPUTS and size < MOST_ALLOWED):
        return None
    assert loaded.directory is not None
    return Shortlist.load(loaded.directory, loaded.subwords)


def _has_shortlist(loaded: LoadedModel) -> bool:
    return loaded.directory is not None and (loaded.directory / SHORTLIST).exists()


def _padded(
    arrays: Mapping[str, Array], model: ModelConfig, rows: tuple[int, ...]
) -> dict[str, Array]:
    """The arrays with further rows of the embeddings; what is banned has no probability."""
    result = dict(arrays)
    for name in EMBEDDINGS:
        if name in result:
            size = rows[0] if name == "encoder_Wemb" else rows[1]
            result[name] = np.pad(result[name], ((0, size - len(result[name])), (0, 0)))
    bias = np.zeros((1, rows[1]), np.float32)
    if OUTPUT_BIAS in result:
        known = result[OUTPUT_BIAS]
        bias[:, : known.shape[1]] = known
    size = next(len(arrays[name]) for name in reversed(EMBEDDINGS) if name in arrays)
    bias[:, size:] = IMPOSSIBLE
    bias[:, [token for token in model.banned_ids if token < size]] = IMPOSSIBLE
    return {**result, OUTPUT_BIAS: bias}


def _alphas(loaded: LoadedModel, arrays: Mapping[str, Array]) -> list[Item]:
    """What the inputs of each product are multiplied by before they are rounded."""
    lines = calibration_lines(loaded)
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    translations = translator.translate(lines, beam=1, sentences="line", markup="off")
    sources = loaded.subwords.encode_source(lines)
    targets = [list(translation.hypotheses[0].ids) for translation in translations]
    largest = largest_inputs(loaded, list(zip(sources, targets, strict=True)))
    items = []
    for name, magnitude in largest.items():
        names = OUTPUT_NAMES if name == OUTPUT else (foreign_names(f"{name}.weight")[0],)
        data = struct.pack("<f", LARGEST / magnitude if magnitude else 1.0)
        items += [
            Item(f"{there}{ALPHA}", FLOAT32, (1, 1), data)
            for there in names
            if there in arrays or there == OUTPUT_NAMES[-1]
        ]
    return items


def _size_reasons(model: ModelConfig) -> list[Reason]:
    reasons = [
        Reason(
            f"model.{name}={size} is not a multiple of {INPUTS}, as its products in int8 need",
            f"model.{name}={size + -size % INPUTS}",
        )
        for name, size in (("d_model", model.d_model), ("d_ff", model.d_ff))
        if size % INPUTS
    ]
    if model.tie_embeddings == "none":
        reasons.append(
            Reason(
                "model.tie_embeddings=none, and its output layer is the embeddings of the target",
                "model.tie_embeddings=target",
            )
        )
    return reasons
