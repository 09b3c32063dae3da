"""The setting of the columns that hold source and target in the training tables."""

import re

from nmt_cli.errors import ConfigError

_NUMBERS = re.compile(r"([1-9]\d{0,3}) *, *([1-9]\d{0,3})")


def column_numbers(value: str) -> tuple[int, int] | None:
    """The numbers, which count from 1, of `data.tsv_columns`; None where it is not set.

    Raises ConfigError.

    >>> column_numbers("3,1"), column_numbers("")
    ((3, 1), None)
    """
    if not value:
        return None
    match = _NUMBERS.fullmatch(value.strip())
    if match is None or int(match[1]) == int(match[2]):
        raise ConfigError(
            f"data.tsv_columns is `{value}`, which is not the numbers of two columns",
            "name the column of the source and that of the target, counted from 1, as in 3,1",
        )
    return int(match[1]), int(match[2])
