"""Cells and other segments with an amount or a unit alone are kept."""

import docx
import pytest
from document_samples import changed, opened, saved

KEPT = ["m²", "m<sup>2</sup>", "25 kg", "km/h", "$/t", "5 g", "1.5–2.0 kW·h", "20 °C", "mg/kg"]


@pytest.mark.parametrize("text", KEPT)
def test_amounts_and_units_are_kept(text: str) -> None:
    assert changed(f"<table><td>{text}</td></table>", "html") == f"<table><td>{text}</td></table>"


@pytest.mark.parametrize("text", ["3 dogs", "kg of it", "m", "mi", "25 kgs"])
def test_words_are_translated(text: str) -> None:
    assert changed(f"<td>{text}</td>", "html") == f"<td>{text.upper()}</td>"


def test_amounts_in_other_documents_are_kept() -> None:
    cells = "| dog | kg |\n|---|---|\n| a dog | 5 km/h |\n"
    assert changed(cells, "markdown") == "| DOG | kg |\n|---|---|\n| A DOG | 5 km/h |\n"
    document = docx.Document()
    document.add_paragraph("25 km")
    assert opened(saved(document), "docx").segments == []
