"""EVALB's parameters: which labels and words count, which are equal; reads parameter files."""

from dataclasses import dataclass
from pathlib import Path

from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError, did_you_mean

Pairs = frozenset[tuple[str, str]]
# Parameters that do not change the scores; they make EVALB print more.
_IDLE = ("DEBUG",)


@dataclass(frozen=True)
class Parameters:
    """The parameters of EVALB; the defaults are those that EVALB has without a parameter file.

    deleted: brackets and tags that do not count, with their words; deleted_for_length: tags whose
    words do not count in a sentence's length; quotes: tags that quotation marks may have;
    equal_labels, equal_words: pairs, each in both orders; cutoff: longest sentence, in words, of
    the second summary; max_errors: the number of sentences whose words may differ from the gold
    ones; None: any number.
    """

    labeled: bool = True
    deleted: frozenset[str] = frozenset()
    deleted_for_length: frozenset[str] = frozenset()
    quotes: frozenset[str] = frozenset()
    equal_labels: Pairs = frozenset()
    equal_words: Pairs = frozenset()
    cutoff: int = 40
    max_errors: int | None = 10

    def same_label(self, first: str, second: str) -> bool:
        """Whether two labels or tags count as equal."""
        return first == second or (first, second) in self.equal_labels

    def same_word(self, first: str, second: str) -> bool:
        """Whether two words count as equal."""
        return first == second or (first, second) in self.equal_words

    @property
    def deleted_brackets(self) -> frozenset[str]:
        """Labels of brackets that do not count: deleted labels and those equal to them."""
        equal = {label for label, other in self.equal_labels if other in self.deleted}
        return self.deleted | equal


# The parameters of COLLINS.prm, with which results on the Penn Treebank are usually computed:
# punctuation is left out. Its MAX_ERROR 10 is not used, since a large test set may have more
# errors, and the summary says how many.
COLLINS = Parameters(
    deleted=frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."}),
    deleted_for_length=frozenset({"-NONE-"}),
    equal_labels=frozenset({("ADVP", "PRT"), ("PRT", "ADVP")}),
    max_errors=None,
)


class _Collected:
    """The parameters that have been read from a file so far."""

    def __init__(self) -> None:
        self.numbers = {"LABELED": 1, "CUTOFF_LEN": 40, "MAX_ERROR": 10}
        self.labels: dict[str, set[str]] = {
            "DELETE_LABEL": set(), "DELETE_LABEL_FOR_LENGTH": set(), "QUOTE_LABEL": set(),
        }  # fmt: skip
        self.pairs: dict[str, set[tuple[str, str]]] = {"EQ_LABEL": set(), "EQ_WORD": set()}

    def take(self, line: str) -> None:
        """Read one line; raises ValueError that says what is wrong with it."""
        keyword, *rest = line.split(maxsplit=1)
        value = rest[0].rstrip() if rest else ""
        known = [*self.numbers, *self.labels, *self.pairs, *_IDLE]
        if keyword not in known:
            raise ValueError(f"unknown parameter `{keyword}`; {did_you_mean(keyword, known)}")
        if not value:
            raise ValueError(f"{keyword} has no value")
        if keyword in self.numbers:
            if not value.isdecimal():
                raise ValueError(f"{keyword} `{value}` is not a number")
            self.numbers[keyword] = int(value)
        elif keyword in self.labels:
            self.labels[keyword].add(value)
        elif keyword in self.pairs:
            first, *others = value.split()
            if len(others) != 1:
                raise ValueError(f"{keyword} needs two values, `{value}` are {len(others) + 1}")
            self.pairs[keyword] |= {(first, others[0]), (others[0], first)}


def read_parameters(path: Path | str) -> Parameters:
    """Read a parameter file as EVALB does; raises DataError naming file and line.

    An unknown keyword and a missing value are errors here; EVALB only warns.
    """
    collected = _Collected()
    with read_lines(path) as lines:
        for line_number, line in enumerate(lines, 1):
            if line.startswith("#") or len(line.strip()) < 3:
                continue
            try:
                collected.take(line)
            except ValueError as error:
                raise DataError(
                    f"`{lines.name}`, line {line_number}: {error}",
                    "each line is a parameter of EVALB and its value, such as CUTOFF_LEN 40",
                ) from error
    labels = {keyword: frozenset(values) for keyword, values in collected.labels.items()}
    pairs = {keyword: frozenset(values) for keyword, values in collected.pairs.items()}
    return Parameters(
        labeled=bool(collected.numbers["LABELED"]),
        deleted=labels["DELETE_LABEL"],
        deleted_for_length=labels["DELETE_LABEL_FOR_LENGTH"],
        quotes=labels["QUOTE_LABEL"],
        equal_labels=pairs["EQ_LABEL"],
        equal_words=pairs["EQ_WORD"],
        cutoff=collected.numbers["CUTOFF_LEN"],
        max_errors=collected.numbers["MAX_ERROR"],
    )
