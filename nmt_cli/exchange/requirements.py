"""Requirements that several formats share, and settings of search that no format has."""

from collections.abc import Sequence
from pathlib import Path

from nmt_cli.config.schema import Config, ModelConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.exchange.target import Reason
from nmt_cli.model_dir import LoadedModel
from nmt_cli.storage import files

SOURCE_SPM, TARGET_SPM = "source.spm", "target.spm"
SENTENCEPIECE_KINDS = ("bpe", "unigram", "chars")
# Settings of search without a counterpart, and the values that leave them out.
ONLY_HERE = {
    "word_reward": 0.0,
    "coverage_penalty": 0.0,
    "repetition_penalty": 1.0,
    "mbr": "off",
    "keep_numbers": False,
    "replace_unknown": False,
    "shortlist": 0,
    "retry": False,
}


def shared_reasons(loaded: LoadedModel, title: str) -> list[Reason]:
    """The reasons against a model that hold for every format of a Transformer with subwords."""
    model = loaded.config.model
    if model.kind != "transformer":
        return [
            Reason(
                f"model.kind={model.kind} is not a Transformer, and {title} runs only Transformers",
                "model.kind=transformer",
            )
        ]
    reasons = segmenter_reasons(loaded, title)
    d_k, d_v = head_widths(model)
    if d_k != d_v:
        reasons.append(
            Reason(
                f"model.d_k={d_k} differs from model.d_v={d_v}, and {title} has one width of a "
                "head",
                f"model.d_v={d_k}",
            )
        )
    return reasons


def head_width_reasons(model: ModelConfig) -> list[Reason]:
    """The reason against a model whose heads together are not as wide as it, if so."""
    width = head_widths(model)[0]
    if width * model.heads == model.d_model:
        return []
    return [
        Reason(
            f"model.d_k={width} times model.heads={model.heads} is not "
            f"model.d_model={model.d_model}",
            "model.d_k=auto",
        )
    ]


def segmenter_reasons(loaded: LoadedModel, title: str) -> list[Reason]:
    """The reasons against a model whose words are not split as by a sentencepiece file."""
    kind = loaded.subwords.kind
    reasons = []
    if kind not in SENTENCEPIECE_KINDS:
        reasons.append(
            Reason(
                f"data.subwords={kind} has no sentencepiece file, which {title} splits words with",
                "data.subwords=bpe",
            )
        )
    if not loaded.subwords.source_eos:
        reasons.append(
            Reason(
                f"it was imported from a toolkit whose source sentences have no end symbol, and "
                f"nmt exports to {title} only models that have one",
                "a model of nmt's own training",
            )
        )
    return reasons


def head_widths(model: ModelConfig) -> tuple[int, int]:
    """The widths of a head's keys and values."""
    width = model.d_model // model.heads
    d_k = width if model.d_k == "auto" else model.d_k
    d_v = width if model.d_v == "auto" else model.d_v
    return d_k, d_v


def start_id(model: ModelConfig) -> int:
    """The first input of the decoder."""
    return model.bos_id if model.start_id == "auto" else model.start_id


def piece_names(subwords: Subwords, side: str) -> list[str]:
    """The spelling of each id of a side (src or tgt), without duplicates and gaps."""
    if side == "src":
        names = subwords.source_pieces(range(subwords.src_size))
    else:
        names = subwords.target_pieces(range(subwords.tgt_size))
    seen: set[str] = set()
    result = []
    for index, name in enumerate(names):
        unique = name if name and name not in seen else f"<unused {index}>"
        seen.add(unique)
        result.append(unique)
    return result


def write_segmenters(subwords: Subwords, directory: Path) -> None:
    """Write the sentencepiece files of both sides."""
    contents = {name: data for name, data in subwords.contents() if name.endswith(".spm")}
    source = contents[SOURCE_SPM]
    files.write_bytes(directory / SOURCE_SPM, source)
    files.write_bytes(directory / TARGET_SPM, contents.get(TARGET_SPM, source))


def power_exponent(search: SearchConfig) -> float:
    """The exponent for toolkits that divide the log-probability by a power of the length."""
    return 0.0 if search.length_penalty == "none" else search.alpha


def longest_output(config: Config) -> int:
    """The most subwords of a translation, for toolkits without a limit by the source's length."""
    longest = config.data.max_length + config.search.max_extra_length
    return min(longest, config.search.max_length or longest)


def search_notes(search: SearchConfig, title: str, left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """What of the model's search the toolkit does not have.

    left_out: further settings that this toolkit does not have, if they are set.
    """
    notes = []
    if search.length_penalty == "gnmt" and search.alpha:
        notes.append(
            f"{title} does not have the length penalty ((5 + length) / 6)^{search.alpha:g} of this "
            f"model: it divides by length^{search.alpha:g}, as `nmt translate --length-penalty "
            "power` does."
        )
    defaults = SearchConfig()
    only_here = [name for name, unset in ONLY_HERE.items() if getattr(search, name) != unset]
    only_here += [name for name in left_out if getattr(search, name) != getattr(defaults, name)]
    if only_here:
        settings = ", ".join(f"search.{name}={getattr(search, name)}" for name in only_here)
        notes.append(f"{title} does not have these settings of the model: {settings}.")
    return tuple(notes)


def text_notes(config: Config, reader: str) -> tuple[str, ...]:
    """The text that nmt changes before the model reads it, for one that does not do so.

    reader: what will read the text as it is.
    """
    if not config.data.normalize:
        return ()
    command = f"sacremoses -l {base_code(config.languages.src)} -q normalize < FILE"
    return (
        "The model was trained on text with normalised quotation marks, dashes and spaces "
        f"(`--normalize`). {reader} reads text as it is: write it in the same way first, as with "
        f"`{command}`.",
    )
