"""What the texts of hypotheses and references show that makes their scores too low."""

from collections.abc import Sequence

from nmt_cli.plurals import counted
from nmt_cli.scoring.invisible import invisible_difference
from nmt_cli.scoring.line_order import other_order
from nmt_cli.scoring.line_shifts import find_line_shift
from nmt_cli.scoring.typography import typography_note
from nmt_cli.scoring.unicode_forms import form_difference


def text_notes(
    hypotheses: Sequence[str], references: Sequence[tuple[str, Sequence[str]]]
) -> list[str]:
    """The notes on references in another order, or written with other characters.

    references: the lines of each, with its name.
    """
    orders = (order_note(hypotheses, *reference) for reference in references)
    notes = [next(filter(None, orders), "")]
    if forms := form_difference(hypotheses, references):
        notes.append(f'{forms.note}, as `unicodedata.normalize("NFC", line)` gives it')
    if invisible := invisible_difference(hypotheses, references):
        notes.append(invisible.note)
    notes.append(typography_note(hypotheses, references))
    return list(filter(None, notes))


def order_note(hypotheses: Sequence[str], name: str, reference: Sequence[str]) -> str:
    """The note on lines of a reference that belong to other hypotheses, or "".

    name: of the reference.
    """
    run = find_line_shift(hypotheses, reference)
    # Of texts that are shifted as a whole, an example of two lines says more.
    if run is not None and run.first > 1 + abs(run.offset):
        return (
            f"the hypotheses and the reference `{name}` seem shifted against each other "
            f"from line {run.first:,} to {run.last:,}, by {counted(abs(run.offset), 'line')}: "
            f"line {run.first:,} of the hypotheses resembles line {run.first + run.offset:,} of "
            "the reference; look for a line near there that one of them lacks or has twice"
        )
    order = other_order(hypotheses, reference)
    if order is None:
        return ""
    how = f" (shifted by {counted(abs(order.shift), 'line')})" if order.shift else ""
    return (
        f"the hypotheses and the reference `{name}` seem to have their lines in different "
        f"orders{how}: line {order.hypothesis:,} of the hypotheses resembles line "
        f"{order.reference:,} of the reference"
    )
