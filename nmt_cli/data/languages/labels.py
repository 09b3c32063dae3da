"""Finds the columns, fields and segments of a language by the label that a file gives them."""

from collections.abc import Sequence

from nmt_cli.data.languages.names import code_of_name
from nmt_cli.data.languages.words import base_code


def place_of(labels: Sequence[str], language: str) -> int | None:
    """The index of the label that is this code or names its language, or None.

    The same code goes before another one of the same language.

    >>> place_of(["id", "pt-PT", "pt-BR"], "pt_BR"), place_of(["No", "English"], "en")
    (2, 1)
    >>> place_of(["swh", "swc"], "sw"), place_of(["en-US"], "en"), place_of(["eng"], "en")
    (None, 0, 0)
    """
    cleaned = [label.strip().lower().replace("_", "-") for label in labels]
    wanted, base = language.lower().replace("_", "-"), base_code(language)
    if wanted in cleaned:
        return cleaned.index(wanted)
    for index, label in enumerate(cleaned):
        if base in (code_of_name(label), base_code(label)):
            return index
    return None


def in_given_order(
    labels: Sequence[str], chosen: tuple[int, int], languages: Sequence[str]
) -> tuple[int, int]:
    """The indices of source and target; languages: their codes, or none if they are not known.

    chosen: the indices that are taken, in this order, where the labels do not name the languages.

    >>> in_given_order(["id", "Ndara", "English"], (1, 2), ("en", "xnd"))
    (2, 1)
    >>> in_given_order(["en", "fr", "de"], (0, 1), ("de", "en")), in_given_order(["a"], (0, 1), ())
    ((2, 0), (0, 1))
    """
    if not languages:
        return chosen
    src, tgt = (place_of(labels, language) for language in languages)
    if src is not None and tgt is not None and src != tgt:
        return src, tgt
    if (src, tgt) in ((chosen[1], None), (None, chosen[0])):
        return chosen[1], chosen[0]
    return chosen
