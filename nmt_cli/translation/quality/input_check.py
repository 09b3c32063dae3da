"""Whether the text to translate is of the kind that the model was trained on."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.data.corpus.text_statistics import TextStatistics, has_spaced_mark, is_lower_case
from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.trigrams import verdicts
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.shell_commands import JOIN_SUBWORDS
from nmt_cli.data.text.tables.source_column import source_column

# Fewer lines than this are not judged by shares.
MIN_LINES = 5
# A share of the lines that is reported, where it is rare in the training text.
MUCH, RARE = 0.5, 0.1
MIN_UNKNOWN = 0.05
_SUBWORD_MARK = re.compile(r"@@(?: |$)|(?:^| )▁|<s>|</s>")


class Misfit(NamedTuple):
    """How a text differs from the training text, on which line (from 0), and what to do."""

    message: str
    line: int
    hint: str

    def shown(self, places: Sequence[str] | None = None) -> str:
        """The warning; places: where each line stands in a document, such as `cue 3`."""
        place = f"line {self.line + 1:,}" if places is None else places[self.line]
        return f"{self.message} (first on {place}): {self.hint}"


def find_misfit(
    lines: Sequence[str], subwords: Subwords, text: TextStatistics | None
) -> Misfit | None:
    """The gravest way in which the lines do not fit the model, or None.

    lines: the first ones of the text. text: what is usual in the training text; without it only
    unknown characters and marks of subwords are found.
    """
    numbered = [(index, line) for index, line in enumerate(lines) if line.strip()]
    if not numbered:
        return None
    checks: list[Callable[[], Misfit | None]] = [
        lambda: _marks(numbered), lambda: _columns(numbered, text)
    ]  # fmt: skip
    if text is not None and len(numbered) >= MIN_LINES:
        checks.append(lambda: _language(numbered, text))
    checks.append(lambda: _unknown(numbered, subwords, text))
    if text is not None and len(numbered) >= MIN_LINES:
        checks += [lambda: _tokenized(numbered, text), lambda: _lower_case(numbered, text)]
    return next((misfit for check in checks if (misfit := check())), None)


Numbered = Sequence[tuple[int, str]]


def _marks(numbered: Numbered) -> Misfit | None:
    marked = [index for index, line in numbered if _SUBWORD_MARK.search(line)]
    if len(marked) < MUCH * len(numbered):
        return None
    advice = f", as `{JOIN_SUBWORDS}` writes it" if "@@" in dict(numbered)[marked[0]] else ""
    return Misfit(
        "the text has marks of subwords (@@, ▁)", marked[0],
        f"the model makes its own subwords; give plain text{advice}",
    )  # fmt: skip


def _columns(numbered: Numbered, text: TextStatistics | None) -> Misfit | None:
    columns = Counter(line.count("\t") + 1 for _, line in numbered)
    (count, lines), *_ = columns.most_common(1)
    if count == 1 or lines < max(MIN_LINES, MUCH * len(numbered)):
        return None
    first = next(index for index, line in numbered if line.count("\t") + 1 == count)
    return Misfit(
        f"the lines have {count} columns, which are translated as one text", first,
        _column_hint([line for _, line in numbered], text.src.language if text else ""),
    )  # fmt: skip


def _column_hint(rows: Sequence[str], language: str) -> str:
    """The command that takes the column to be translated, without the header if there is one."""
    number, name = source_column(rows, language)
    if not name:
        return f"give one column: cut -f{number}"
    return f"give one column, without the line that names it `{name}`: cut -f{number} | tail -n +2"


def _language(numbered: Numbered, text: TextStatistics) -> Misfit | None:
    if not len(text.language_odds):
        return None
    content = "".join(f"{line}\n" for _, line in numbered).encode("utf-8", "replace")
    sides = verdicts(np.frombuffer(content, np.uint8), text.language_odds)
    other = [index for (index, _), side in zip(numbered, sides, strict=True) if side < 0]
    if len(other) < MUCH * len(numbered):
        return None
    return Misfit(
        f"the text is not in `{text.src.language}` but in `{text.tgt.language}`", other[0],
        "the model translates the other way",
    )  # fmt: skip


def _unknown(numbered: Numbered, subwords: Subwords, text: TextStatistics | None) -> Misfit | None:
    encoded = subwords.encode_source([line for _, line in numbered])
    unknown = [ids.count(subwords.unk_id) for ids in encoded]
    tokens = sum(len(ids) - 1 for ids in encoded)
    usual = text.src.unknown if text else 0.0
    if sum(unknown) <= max(MIN_UNKNOWN, 2 * usual) * tokens:
        return None
    first = next(index for (index, _), count in zip(numbered, unknown, strict=True) if count)
    return Misfit(
        f"the model does not know {100 * sum(unknown) / tokens:.0f} % of the text", first,
        "is it in another language or script than the training text?",
    )  # fmt: skip


def _tokenized(numbered: Numbered, text: TextStatistics) -> Misfit | None:
    spaced = [index for index, line in numbered if has_spaced_mark(line)]
    if len(spaced) < MUCH * len(numbered) or text.src.tokenized > RARE:
        return None
    return Misfit(
        "the text has spaces before its punctuation, the training text has not", spaced[0],
        "give text that is not tokenised, as "
        f"`sacremoses -l {base_code(text.src.language)} -q detokenize` writes it",
    )  # fmt: skip


def _lower_case(numbered: Numbered, text: TextStatistics) -> Misfit | None:
    # Behind a mark or placeholder, a sentence may go on in lower case.
    lower = [index for index, line in numbered if line[:1].isalpha() and is_lower_case(line)]
    if len(lower) < (1 - RARE) * len(numbered) or text.src.lower_case > MUCH:
        return None
    return Misfit(
        "the text has no capital letters, the training text has", lower[0],
        "give text as it was written",
    )  # fmt: skip
