"""Vocabularies that a corpus takes from a model or another corpus (data.subwords_from)."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import (
    MAX_BYTES,
    Config,
    ResolvedConfig,
    flatten,
    parse_layer,
    resolve,
    with_values,
)
from nmt_cli.data.corpus.layout import CONFIG, SUBWORDS, read_description
from nmt_cli.data.preparation.encode import Tally
from nmt_cli.data.preparation.unknown_characters import UnknownCharacter, named
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError
from nmt_cli.storage import manifest
from nmt_cli.storage.model_check import CORPUS, require_model_directory

# Settings that the vocabulary, or the text that it was learnt from, depends on.
VOCABULARY_SETTINGS = (
    "data.subwords", "data.vocab_size", "data.joint", "data.tgt_vocab_size", "data.byte_fallback",
    "data.normalize",
)  # fmt: skip
LANGUAGES = ("languages.src", "languages.tgt")
# Characters of tags and placeholders, which translations keep without the model.
MARKUP = frozenset("<>{}")
# A vocabulary of the text's own has one to two and a half subwords per word. Lines of fewer words
# on average are in a language without spaces, or lists of single words.
MOST_SUBWORDS_PER_WORD, LEAST_WORDS_PER_LINE = 3.0, 3


class ExistingSubwords(NamedTuple):
    """The vocabulary of a model directory or of a prepared corpus, with its settings."""

    config: Config
    subwords: Subwords

    @classmethod
    def read(cls, directory: Path) -> "ExistingSubwords":
        """Read and check them; raises NoInputError, DataError or ConfigError."""
        if (directory / CORPUS).is_file():
            read_description(directory)
        else:
            require_model_directory(directory)

        def read(path: Path, _: str, max_bytes: int) -> bytes:
            return manifest.read_checked(directory, f"{SUBWORDS}/{path.name}", max_bytes)

        settings = manifest.read_checked(directory, CONFIG, MAX_BYTES)
        return cls(
            resolve([parse_layer(settings, directory / CONFIG)]).config,
            Subwords.load(directory / SUBWORDS, read),
        )


def with_existing_subwords(resolved: ResolvedConfig) -> Config:
    """The settings with those of the vocabulary of `data.subwords_from`, if it is set.

    The languages are those of the same directory unless they are given. Raises ConfigError, naming
    them all, for other settings of a vocabulary, and the errors of `ExistingSubwords.read`.
    """
    config, origins = resolved
    name = config.data.subwords_from
    if not name:
        return config
    now, before = flatten(config), flatten(ExistingSubwords.read(Path(name)).config)
    differing = [
        f"{key} is {_text(now[key])} ({origins[key]}), but {_text(before[key])} in `{name}`"
        for key in VOCABULARY_SETTINGS
        if _is_given(origins[key]) and now[key] != before[key]
    ]
    if differing:
        raise ConfigError(
            f"the vocabulary is that of `{name}`: {'; '.join(differing)}",
            "leave out the settings of the vocabulary, or --subwords-from to learn another one",
        )
    languages = [key for key in LANGUAGES if not _is_given(origins[key])]
    return with_values(config, {key: before[key] for key in (*VOCABULARY_SETTINGS, *languages)})


def _is_given(origin: str) -> bool:
    return not origin.startswith(("default", "preset "))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def fit_notes(
    config: Config, src: Tally, tgt: Tally, unknown: Sequence[UnknownCharacter]
) -> list[str]:
    """Warnings about text that an existing vocabulary does not fit; none for one learnt from it.

    src, tgt: counts of the training text; unknown: its characters that the vocabulary lacks.
    """
    if not config.data.subwords_from:
        return []
    name = config.data.subwords_from
    languages = ExistingSubwords.read(Path(name)).config.languages
    notes = [
        f"unknown to the vocabulary of `{name}`: {tally.unknowns:,} of {tally.tokens:,} tokens of "
        f"the kept {text} text ({tally.unknown_share:.2%})"
        + named([each for each in unknown if each.side == side])
        for side, text, tally in (("src", "source", src), ("tgt", "target", tgt))
        if tally.unknowns
    ]
    if notes:
        notes[-1] += (
            "; a model cannot learn characters that its vocabulary lacks: replace them in the text "
            "if it has others for them; or learn a vocabulary with them, without --subwords-from, "
            "for a new model; or train the first model again, on text that has them or with "
            "`--set data.byte_fallback=true`"
        )
        if any(each.character in MARKUP for each in unknown):
            notes[-1] += (
                "; those of tags and placeholders, such as <b> and {0}, need no training, since "
                "`nmt translate` takes them out and puts them back: in training text, delete tags, "
                "and write a name or a number in place of a placeholder, on both sides"
            )
    # A vocabulary of characters or bytes cuts each word of any text into its letters.
    cuts_words = config.data.subwords not in ("chars", "bytes")
    notes += [
        f"the vocabulary of `{name}` cuts a word of the {text} text into {tally.fertility:.2f} "
        "subwords on average: it does not fit this text, and a new model with a vocabulary of its "
        "own, without --subwords-from, trains faster"
        for text, tally in (("source", src), ("target", tgt))
        if cuts_words
        and tally.words >= LEAST_WORDS_PER_LINE * tally.sentences
        and tally.fertility > MOST_SUBWORDS_PER_WORD
    ]
    if languages != config.languages:
        notes.append(
            f"the text is {config.languages.src}-{config.languages.tgt}, but `{name}` is "
            f"{languages.src}-{languages.tgt}"
        )
    return notes
