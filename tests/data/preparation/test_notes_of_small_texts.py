"""A small text is said to tell too little of pairs that are no translations of each other."""

import pytest

from nmt_cli.data.preparation.notes import uncompared_remarks


@pytest.mark.parametrize(
    ("pairs", "compared", "is_said"),
    [(500, 0, True), (499, 0, False), (1_999, 0, True), (2_500, 2_500, False), (900, None, False)],
)
def test_pairs_that_were_not_compared_are_said(
    pairs: int, compared: int | None, is_said: bool
) -> None:
    remarks = uncompared_remarks(pairs, compared)
    assert (
        any("2,000 pairs without other faults are needed" in remark for remark in remarks)
        is is_said
    )
