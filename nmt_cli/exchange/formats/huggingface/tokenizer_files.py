"""Writes the files of MarianTokenizer."""

from pathlib import Path

from nmt_cli.exchange.formats.huggingface.json_files import write_json
from nmt_cli.exchange.requirements import piece_names, write_segmenters
from nmt_cli.model_dir import LoadedModel


def write_tokenizer(loaded: LoadedModel, directory: Path, longest: int) -> None:
    """Write the segmenters, the vocabularies and their settings.

    longest: the most subwords of a sentence.
    """
    subwords, languages = loaded.subwords, loaded.config.languages
    write_segmenters(subwords, directory)
    source, target = (piece_names(subwords, side) for side in ("src", "tgt"))
    write_json(directory / "vocab.json", {name: index for index, name in enumerate(source)})
    if not subwords.joint:
        names = {name: index for index, name in enumerate(target)}
        write_json(directory / "target_vocab.json", names)
    tokenizer = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages.src,
        "target_lang": languages.tgt,
        "unk_token": source[subwords.unk_id],
        "eos_token": source[subwords.eos_id],
        "pad_token": source[subwords.pad_id],
        "model_max_length": longest,
        "separate_vocabs": not subwords.joint,
        "clean_up_tokenization_spaces": False,
    }
    write_json(directory / "tokenizer_config.json", tokenizer)
