"""Runs beside Table 3: rows are presets, the layout is the paper's, what is no row is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nmt_cli.cli import main
from nmt_cli.config.presets import BASE, TABLE3
from nmt_cli.config.schema import SettingsLayer, dump, resolve
from nmt_cli.errors import DataError, NoInputError
from nmt_cli.extras.paper_tables.table3 import (
    PAPER,
    VariationRows,
    notes,
    rank_correlation,
    read_rows,
    table,
)
from nmt_cli.model.transformer import Transformer

# Of some rows what the paper's table writes in them: heads, d_k, d_v.
CHANGES = {
    "heads-1": (1, 512, 512), "heads-4": (4, 128, 128), "heads-16": (16, 32, 32),
    "heads-32": (32, 16, 16), "d_k-16": (8, 16, 64), "d_k-32": (8, 32, 64),
    "d_model-256": (8, 32, 32), "d_model-1024": (8, 128, 128),
}  # fmt: skip


def config_of(preset: str):
    return resolve([SettingsLayer("test", {"train.preset": preset})]).config


def test_table3_rows_are_presets_with_one_change_to_base() -> None:
    assert set(PAPER) == {"base", *TABLE3, "big"}
    for name, preset in TABLE3.items():
        changed = {key: value for key, value in preset.items() if BASE.get(key, "auto") != value}
        assert len(changed) == 1, name
        assert config_of(name).train.max_steps == 100_000


@pytest.mark.parametrize("name", CHANGES)
def test_table3_head_widths_equal_the_papers(name: str) -> None:
    from nmt_cli.model.shapes import head_widths

    model = config_of(f"table3-{name}").model
    assert (model.heads, *head_widths(model)) == CHANGES[name]


@pytest.mark.parametrize("name", [name for name, row in PAPER.items() if row.parameters])
def test_table3_parameter_counts_equal_the_papers(name: str) -> None:
    """Of 37,000 subwords, nearly: the paper counts 2 million more in every row but big."""
    settings = {
        "train.preset": name, "model.src_vocab_size": 37_000, "model.tgt_vocab_size": 37_000,
    }  # fmt: skip
    with torch.device("meta"):
        model = Transformer(resolve([SettingsLayer("test", settings)]).config.model)
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    assert millions == pytest.approx(PAPER[name].parameters, rel=0.05, abs=2.5)


def add_row(folder: Path, name: str, preset: str, perplexity: float, bleu: float) -> None:
    model = folder / name / "model"
    model.mkdir(parents=True)
    (model / "config.toml").write_text(dump(config_of(preset)))
    save_file({"a": torch.zeros(1_000, 1_500), "b": torch.zeros(7)}, model / "model.safetensors")
    lines = [{"line": 0, "perplexity": 1.0}, {"perplexity": perplexity}]
    (folder / name / "perplexity.json").write_text("\n".join(map(json.dumps, lines)))
    (folder / name / "bleu.json").write_text(json.dumps({"name": "BLEU-paper", "value": bleu}))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    for name, perplexity, bleu in (
        ("big", 4.44, 26.06), ("table3-learned", 5.0, 25.0), ("base", 4.9, 25.5),
        ("table3-d_k-16", 5.5, 24.0), ("table3-layers-2", 6.0, 23.0),
    ):  # fmt: skip
        add_row(tmp_path, name, name, perplexity, bleu)
    add_row(tmp_path, "base-seed-2", "base", 4.7, 25.9)
    return tmp_path


def test_table3_has_the_papers_order_and_only_changed_values(rows: Path) -> None:
    (rows / "table3-layers-8" / "model").mkdir(parents=True)
    (rows / "base-seed-3").mkdir()
    result = read_rows(rows)
    runs, again, *_ = result
    cells = [[cell.strip() for cell in row] for row in table(runs)]
    assert [row[0] for row in cells] == ["base", "B", "C", "E", "big"]
    assert cells[0][1:11] == [
        "6", "512", "2048", "8", "64", "64", "0.1", "0.1", "sinusoidal", "100,000",
    ]  # fmt: skip
    assert cells[1][1:11] == ["", "", "", "", "16", "", "", "", "", ""]
    assert cells[3][1:11] == ["", "", "", "", "", "", "", "", "learned", ""]
    assert cells[4][1:11] == ["", "1024", "4096", "16", "", "", "0.3", "", "", "300,000"]
    assert cells[0][11:] == ["4.90", "25.5", "1.5", "4.92", "25.8", "65"]
    assert cells[3][11:] == ["5.00", "25.0", "1.5", "4.92", "25.7", ""]
    assert [run.perplexity for run in again] == [4.7]
    assert list(notes(result)) == [
        "not finished yet (no bleu.json): table3-layers-8, base-seed-3",
        "noise: 2 seeds of the base model, PPL 4.70 to 4.90, BLEU 25.5 to 25.9",
        "BLEU in the paper's order: rank correlation 1.00",
    ]
    assert list(notes(VariationRows(runs[:2], [], []))) == []
    assert list(notes(VariationRows(runs[:4], [], []))) == [
        "no rank correlation with the paper: 4 rows are too few for it to mean anything, it is "
        "computed from 5 on"
    ]
    untrained = [replace(run, bleu=0.0) for run in runs]
    assert list(notes(VariationRows(untrained, [], []))) == [
        "BLEU is the same in all rows: no rank correlation with the paper"
    ]


def test_a_row_without_its_score_is_named(tmp_path: Path) -> None:
    (tmp_path / "base" / "training").mkdir(parents=True)
    with pytest.raises(NoInputError) as caught:
        read_rows(tmp_path)
    assert caught.value.hint == (
        "no bleu.json in `base`, which recipes/table3.sh writes last: run it again; `nmt runs` "
        "compares other runs of `nmt train`"
    )


def test_rank_correlation_with_ties() -> None:
    assert rank_correlation([3.0, 1.0, 2.0], [30.0, 10.0, 20.0]) == pytest.approx(1)
    assert rank_correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1)
    # By hand: ranks 0, 1.5, 1.5, 3 beside 0, 1, 2, 3.
    assert rank_correlation([1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]) == pytest.approx(0.9486833)
    assert rank_correlation([1.0, 1.0], [1.0, 2.0]) != rank_correlation([1.0, 1.0], [1.0, 2.0])


def test_table3_refuses_directories_without_finished_rows(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match="no finished row of Table 3"):
        read_rows(tmp_path / "base")
    (rows / "base" / "bleu.json").write_text("BLEU 25.5\n")
    with pytest.raises(DataError, match=r"base/bleu\.json. is not what"):
        read_rows(rows)


def test_table3_names_folders_that_are_no_rows(rows: Path) -> None:
    add_row(rows, "heads-1", "table3-heads-1", 5.0, 25.0)
    (rows / ".cache").mkdir()
    assert "left out: `heads-1` is no row of Table 3" in list(notes(read_rows(rows)))
    for name in [*PAPER, "base-seed-2"]:
        (rows / name / "bleu.json").unlink(missing_ok=True)
    with pytest.raises(NoInputError) as caught:
        read_rows(rows)
    assert caught.value.hint.startswith("`heads-1` is no row of Table 3; recipes/table3.sh")


@pytest.mark.parametrize("named", ["work", "work/rows/base"])
def test_table3_names_the_folder_of_the_rows_that_is_near(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    finished = list(rows.iterdir())
    Path("work/rows").mkdir(parents=True)
    for row in finished:
        row.rename(Path("work/rows") / row.name)
    with pytest.raises(NoInputError) as caught:
        read_rows(Path(named))
    assert caught.value.hint == "there are some in `work/rows`: nmt bench table3 work/rows"
    with pytest.raises(NoInputError) as caught:
        read_rows(Path("absent"))
    assert caught.value.hint.startswith("recipes/table3.sh makes them")


def test_table3_command_prints_the_table(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "table3", str(rows)]) == 0
    shown = capsys.readouterr().out
    assert "Table 3" in shown
    assert "rank correlation" in shown
    assert main(["bench", "table3", str(rows), "--quiet"]) == 0
    assert "rank correlation" not in capsys.readouterr().out
    assert main(["bench", "table3", str(rows), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["preset"] for row in document["rows"]] == [
        "base", "table3-d_k-16", "table3-layers-2", "table3-learned", "big",
    ]  # fmt: skip
    assert document["rows"][0]["paper"] == {
        "group": "base", "perplexity": 4.92, "bleu": 25.8, "parameters": 65,
    }  # fmt: skip
    assert len(document["base_with_other_seeds"]) == 1
    assert document["unfinished"] == []
    assert document["no_rows"] == []
