"""Checks by file names and by the first lines whether files are in the configured languages.

Swapped files are an error; anything else that looks wrong is a warning.
"""

from collections.abc import Sequence

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning.chunks import Cleaning
from nmt_cli.data.languages.apostrophe_notes import apostrophe_notes
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.english_names import shown_language
from nmt_cli.data.languages.names import are_swapped
from nmt_cli.data.languages.side_notes import Head, groups_of, language_notes, text_notes
from nmt_cli.data.languages.spellings import spelling_notes
from nmt_cli.data.languages.text_files import TextFiles, head_of, remedies, texts_of
from nmt_cli.data.languages.trigrams import trigram_counts, verdicts
from nmt_cli.data.languages.words import differing_languages, only_known_language_is_swapped
from nmt_cli.data.languages.wrong_sides import MIN_DISTINCT_SHARE, MIN_LINES
from nmt_cli.data.text.tables.header_rows import first_row_of_text, names_target_first
from nmt_cli.errors import DataError, UsageError

# The share of lines of a held-out file that look like the other side of the training text.
MIN_WRONG_SHARE = 0.6


def check_languages(config: Config) -> list[str]:
    """Return warnings about the files; raises UsageError or DataError if files are swapped.

    With `data.clean` off only the names are checked, not the text.
    """
    data = config.data
    texts = texts_of(data.train, data.valid, data.test, data.tsv_columns)
    src, tgt = config.languages.src, config.languages.tgt
    check_names(texts, src, tgt)
    if data.clean == "off":
        return []
    hint = "; if they are right: --no-clean"
    return check_texts(texts, src, tgt, hint, is_cleaned=True, is_normalized=config.data.normalize)


def check_names(texts: Sequence[TextFiles], src: str, tgt: str) -> None:
    """Raise UsageError if the names of two files carry each other's language."""
    swapped = [text for text in texts if are_swapped(text.paths, src, tgt)]
    if not swapped:
        return
    named = "; ".join(f"{text.role} files {text.shown}" for text in swapped)
    hint = _together(remedies(swapped, texts))
    if len(swapped) == len(texts):
        hint += f"; or, to translate from {tgt} to {src}: --src-lang {tgt} --tgt-lang {src}"
    raise UsageError(
        f"the source is {shown_language(src)}, the target {shown_language(tgt)}, but the file "
        f"names say otherwise: {named}",
        hint,
    )


def check_texts(
    texts: Sequence[TextFiles],
    src: str,
    tgt: str,
    more_hint: str = "",
    *,
    is_cleaned: bool = False,
    is_normalized: bool = False,
) -> list[str]:
    """Return warnings about texts in other languages or without letters.

    Raises DataError if files are swapped. is_cleaned: whether the training text is about to be
    cleaned, which counts its lines in third languages. is_normalized: whether `data.normalize` is
    set.
    """
    heads = [Head.of(text, head_of(text), Cleaning(is_normalized, src, tgt)) for text in texts]
    groups = groups_of(heads)
    warnings = [note for group in groups for note in text_notes(group)]
    warnings += apostrophe_notes(heads, is_normalized)
    swapped = [
        (head.text, f"the {head.text.role} text {head.text.shown} {sign}")
        for head in heads
        if (sign := _sign_of_swapped(head, src, tgt))
    ]
    turned = [text for text, _ in swapped]
    for group in groups:
        right = [head for head in group if head.text not in turned]
        warnings += language_notes(right, (src, tgt), is_cleaned=is_cleaned)
    warnings += spelling_notes([head for head in heads if head.text not in turned])
    # Held-out files are compared with the training text as it will be once its files are in order.
    odds = _odds(
        [
            cleaned[::-1] if text in turned else cleaned
            for text, _, cleaned, *_ in heads
            if text.role == "training"
        ]
    )
    for text, _, cleaned, *_ in heads:
        if odds is None or text.role == "training" or text in turned:
            continue
        wrong = [
            _wrong_share(lines, odds * sign) for lines, sign in zip(cleaned, (1, -1), strict=True)
        ]
        if min(wrong) >= MIN_WRONG_SHARE:
            problem = (
                f"the sides of the {text.role} text {text.shown} look like each other's side of "
                "the training text"
            )
            swapped.append((text, problem))
        elif max(wrong) >= MIN_WRONG_SHARE and not warnings:
            side = "source" if wrong[0] > wrong[1] else "target"
            warnings.append(
                f"the {text.role} {side} looks like the other side of the training text"
            )
    if swapped:
        message = "; ".join(problem for _, problem in swapped)
        hint = _together(remedies([text for text, _ in swapped], texts))
        raise DataError(f"source and target are swapped: {message}", hint + more_hint)
    return warnings


def _together(remedies_of_texts: Sequence[str]) -> str:
    """The remedies of several texts, each once: options are pasted together, commands one by one.

    >>> _together(["swap a", "--train b c", "--valid d e"])
    '--train b c --valid d e; swap a'
    """
    each = list(dict.fromkeys(remedies_of_texts))
    options = " ".join(remedy for remedy in each if remedy.startswith("--"))
    commands = (remedy for remedy in each if not remedy.startswith("--"))
    return "; ".join(filter(None, [options, *commands]))


def _sign_of_swapped(head: Head, src: str, tgt: str) -> str:
    """What shows that the sides are swapped, or "": the text, or the header of a table.

    A header is no sign where the text is clearly in the right languages.
    """
    text, (src_lines, tgt_lines) = head.text, head.cleaned
    are_others = head.others == (base_code(tgt), base_code(src))
    if are_others or only_known_language_is_swapped(src_lines, tgt_lines, src, tgt):
        return f"is in {shown_language(tgt)} and {shown_language(src)}"
    row = first_row_of_text(zip(src_lines, tgt_lines, strict=False))
    if len(text.paths) > 1 or row is None:
        return ""
    first, second = src_lines[row], tgt_lines[row]
    if not names_target_first(first, second, (src, tgt)):
        return ""
    is_right = differing_languages(src_lines, tgt_lines) == (base_code(src), base_code(tgt))
    return "" if is_right else f"has the header `{first}`, tab, `{second}`"


def _bytes(lines: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(errors="replace"), np.uint8)


def _odds(heads: Sequence[tuple[list[str], list[str]]]) -> np.ndarray | None:
    """Return how much likelier each trigram is on the training source: (BUCKETS,) log odds.

    Returns None if there is too little text or the sides are too similar.
    """
    sides = [_bytes([line for head in heads for line in head[side]]) for side in (0, 1)]
    if min(sum(len(head[0]) for head in heads), *map(len, sides)) < MIN_LINES:
        return None
    counts = np.stack([trigram_counts(side) for side in sides]) + 1.0
    shares = np.log(counts / counts.sum(1, keepdims=True))
    odds: np.ndarray = shares[0] - shares[1]
    right = [
        (verdicts(side, odds * sign) > 0).mean() for side, sign in zip(sides, (1, -1), strict=True)
    ]
    return odds if min(right) >= MIN_DISTINCT_SHARE else None


def _wrong_share(lines: Sequence[str], odds: np.ndarray) -> float:
    """Return the share of lines that clearly belong to the side that `odds` do not favour."""
    if len(lines) < MIN_LINES // 5:
        return 0.0
    return float((verdicts(_bytes(lines), odds) < 0).mean())
