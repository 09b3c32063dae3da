"""The flags of doubtful translations, by name; needs no torch."""

from collections.abc import Collection

# What each flag means, in the order in which flags are listed.
FLAGS = {
    "empty": "there is nothing to translate",
    "failed": "the model gives NaN or infinite values",
    "split": "a sentence is too long for the model and was translated in segments",
    "at_limit": "the translation was cut off at the maximum length",
    "repetition": "the translation repeats itself",
    "term_missing": "there was no room for a term of the glossary",
    "term_moved": "a term of the glossary may be at the wrong place",
    "number_mismatch": "source and translation have different numbers",
    "placeholder_lost": "a placeholder, address, tag, part number or name in a program is missing",
    "untranslated": "the translation is in the source language",
    "copied": "the translation is the source",
    "length_outlier": "the translation is shorter or longer than usual for its source",
    "sentences_lost": "the translation has fewer sentences than the source",
    "source_kept": "a document keeps the source, since the translation has no text",
    "unknown_words": "the source has characters unknown to the model, or one side wrong bytes",
    "markup_moved": "tags, placeholders or kept numbers may be at the wrong place",
    "low_confidence": "the model finds the translation much less likely than usual",
}
# Flags that need statistics of the training text or of the validation.
NEED_STATISTICS = ("untranslated", "length_outlier", "low_confidence")
# Flags that a second translation with other settings may not have. So may `unknown_words` where the
# translation itself has them, see `Translation.is_broken`.
RETRIED = frozenset(FLAGS) - {"empty", "split", "term_moved", "unknown_words", "markup_moved"}


def in_order(flags: Collection[str]) -> tuple[str, ...]:
    """The flags in the order of FLAGS."""
    return tuple(name for name in FLAGS if name in flags)
