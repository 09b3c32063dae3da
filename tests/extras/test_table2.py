"""A run beside Table 2: what is compared, what passes, what is only shown, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.config.schema import SettingsLayer, dump, resolve
from nmt_cli.errors import ConfigError, DataError, NoInputError
from nmt_cli.extras.paper_tables.earlier_systems import EARLIER
from nmt_cli.extras.paper_tables.table2 import LOG, PAPER, Figure, compare, notes, rows
from nmt_cli.scoring import score

REPORT = {
    "step": 100_000, "flops": 9.5e17, "gpu_time_flops": 3.31e18, "seconds": 43_200.0,
    "devices": "8 x NVIDIA H100",
}  # fmt: skip
FINISHED = {**REPORT, "note": "finished: 100,000 steps are done; 9.5e+17 FLOPs counted"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """What a run of `base` leaves, as far as it is looked at."""
    folder = tmp_path / "model"
    folder.mkdir()
    configure(folder)
    log(folder, {**REPORT, "step": 50_000, "flops": 1.0}, FINISHED)
    return folder


def configure(model: Path, **values: str) -> None:
    settings = {"languages.src": "en", "languages.tgt": "de", **values}
    (model / "config.toml").write_text(dump(resolve([SettingsLayer("test", settings)]).config))


def log(model: Path, *records: dict[str, object]) -> None:
    (model / LOG).write_text("".join(json.dumps(record) + "\n" for record in records))


def text(folder: Path, name: str, line: str, count: int) -> str:
    (folder / name).write_text(f"{line}\n" * count)
    return str(folder / name)


@pytest.fixture
def tests(tmp_path: Path) -> list[tuple[str, str]]:
    """The paper's test set and the official one, by their numbers of lines."""
    reference = "Der US-Präsident hat's heute nicht gesagt."
    translation = "Der US-Präsident hat's heute gesagt."
    return [
        (text(tmp_path, f"{n}.hyp", translation, n), text(tmp_path, f"{n}.ref", reference, n))
        for n in (3_003, 2_737)
    ]


def test_table2_rows_are_those_of_the_paper() -> None:
    assert PAPER["base"] == ({"de": 27.3, "fr": 38.1}, 3.3e18, 12, 100_000)
    assert PAPER["big"] == ({"de": 28.4, "fr": 41.8}, 2.3e19, 3.5 * 24, 300_000)
    # Section 5.2 and table 2 agree: 8 P100 of 9.5 TFLOPS for so many hours.
    for row in PAPER.values():
        assert float(f"{8 * 9.5e12 * row.hours * 3_600:.1e}") == row.flops
    for name, row in PAPER.items():
        assert (
            resolve([SettingsLayer("test", {"train.preset": name})]).config.train.max_steps
            == row.steps
        )


@pytest.mark.slow
def test_table2_bleu_equals_that_of_nmt_score(model: Path, tests) -> None:
    result = compare(model, tests).figures
    metrics = ["bleu-paper", "bleu-tokenized", "bleu"]
    lines = (
        ["Der US-Präsident hat's heute gesagt."],
        ["Der US-Präsident hat's heute nicht gesagt."],
    )
    for figures, count in ((result[:3], 3_003), (result[3:6], 2_737)):
        expected = score(lines[0] * count, [lines[1] * count], metrics, tgt_lang="de")
        got = [(figure.name, figure.value, figure.signature) for figure in figures]
        assert got == [(figure.name, figure.value, figure.signature) for figure in expected]
        assert {figure.lines for figure in figures} == {count}
    assert len({figure.value for figure in result[:3]}) == 3
    # Nothing but the paper's own metric on its own test set is compared.
    assert [figure.paper for figure in result[:6]] == [27.3, *[None] * 5]
    assert [figure.paper for figure in compare(model, tests[::-1]).figures[:6]] == [None] * 6


def test_table2_cost_is_read_from_the_last_log_line(model: Path) -> None:
    result = {figure.name: figure for figure in compare(model, []).figures}
    assert {
        name: (figure.value, figure.paper, figure.verdict) for name, figure in result.items()
    } == {
        "flops": (9.5e17, None, ""),
        "gpu_time_flops": (3.31e18, 3.3e18, "fail"),
        "hours": (12.0, 12.0, "pass"),
        "steps": (100_000, 100_000, ""),
    }
    big = {figure.name: figure for figure in compare(model, [], "big").figures}
    assert big["gpu_time_flops"].verdict == "pass"
    assert big["hours"].paper == 84
    log(model, FINISHED, {"step": 100_001, "seconds": 43_201.0})
    result = {figure.name: figure for figure in compare(model, []).figures}
    assert result["hours"].verdict == "fail"
    assert result["flops"].value is None


def test_table2_counted_work_is_never_missed(model: Path) -> None:
    """The paper's FLOPs are GPU time x peak, so a count of operations is not compared with them."""
    log(model, {**FINISHED, "flops": 1e20, "gpu_time_flops": 3.3e18})
    comparison = compare(model, [])
    assert comparison.missed == []
    shown = {row[0]: [cell.strip() for cell in row[2:]] for row in rows(comparison)}
    assert shown["FLOPs, counted work"] == ["1.0e+20", "", ""]
    assert shown["FLOPs, GPU-time x peak"] == ["3.3e+18", "3.3e+18", ""]


@pytest.mark.parametrize(("value", "verdict"), [(27.24, "fail"), (27.26, "pass"), (31.0, "pass")])
def test_table2_bleu_is_compared_at_the_papers_precision(
    model: Path, tests, monkeypatch, value: float, verdict: str
) -> None:
    from nmt_cli.scoring import Score

    monkeypatch.setattr(
        "nmt_cli.extras.paper_tables.table2.score",
        lambda *_, **__: [Score("BLEU-paper", value, "sig")],
    )
    assert compare(model, tests).figures[0].verdict == verdict


@pytest.mark.slow
def test_table2_run_passes_as_a_whole(model: Path, tests) -> None:
    log(model, {**FINISHED, "gpu_time_flops": 3.3e18})
    passed = compare(model, tests)
    assert passed.passed
    assert passed.missed == []
    assert not compare(model, []).passed  # no BLEU
    assert not compare(model, tests[1:]).passed  # another test set
    log(model, FINISHED)
    failed = compare(model, tests)
    assert not failed.passed
    assert failed.missed == ["gpu_time_flops 3.3e+18 misses the paper's 3.3e+18"]


def test_table2_splits_no_compounds_in_french(model: Path, tests) -> None:
    configure(model, **{"languages.tgt": "fr", "train.preset": "big"})
    result = compare(model, tests[:1])
    assert (result.pair, result.row) == ("en-fr", "big")
    assert [figure.name for figure in result.figures[:2]] == ["BLEU-paper", "BLEU"]
    assert "compounds:whole" in result.figures[0].signature
    assert result.figures[0].paper == 41.8


def test_table2_refuses_json_in_place_of_translations(model: Path, tmp_path: Path) -> None:
    (tmp_path / "hyp").write_text('{"schema": 1, "text": "a"}\n')
    (tmp_path / "ref").write_text("a\n")
    with pytest.raises(DataError, match="each line is a JSON object"):
        compare(model, [(str(tmp_path / "hyp"), str(tmp_path / "ref"))])


def test_table2_numbers_several_test_sets(model: Path, tests) -> None:
    labels = [row[0] for row in rows(compare(model, [tests[0], tests[0]]))]
    assert labels[:6] == [
        f"{name}, test set {number}"
        for number in (1, 2)
        for name in ("BLEU as the paper", "BLEU, tokenised", "BLEU, sacreBLEU")
    ]
    assert rows(compare(model, tests[:1]))[0][0] == "BLEU as the paper"


def test_table2_notes_below_the_table(model: Path, tests) -> None:
    said = list(notes(compare(model, tests)))
    assert [note.split(":")[0] for note in said[:3]] == [
        "BLEU as the paper", "BLEU, tokenised", "BLEU, sacreBLEU",
    ]  # fmt: skip
    assert "compounds:split" in said[0]
    assert "compounds:whole" in said[1]
    assert "tok:13a|smooth:exp|version:" in said[2]
    assert said[3:] == ["trained on 8 x NVIDIA H100"]
    log(model, {**FINISHED, "devices": "CPU"}, {**REPORT, "step": 100_500})
    *_, devices, unfinished, lines, costs = notes(compare(model, tests[1:]))
    assert devices == "trained on CPU, then 8 x NVIDIA H100"
    assert unfinished == "training has not finished"
    assert lines.startswith("2,737 lines are not the paper's test set, which has 3,003")
    assert costs == "a cost below the paper's passes only together with BLEU on its test set"
    log(model, {"step": 1})
    said = list(notes(compare(model, [])))
    assert said[0] == "trained on devices that the log does not name"


def test_table2_names_the_trained_model_before_the_row_of_an_average(model: Path) -> None:
    configure(model, **{"train.preset": "tiny"})
    (model / LOG).unlink()
    with pytest.raises(NoInputError) as caught:
        compare(model, [])
    assert "name the model that was trained" in caught.value.hint


def test_table2_ignores_an_incomplete_log_line(model: Path) -> None:
    with (model / LOG).open("a") as file:
        file.write('[1]\n{"step": 100_0')
    assert compare(model, []).finished


def test_table2_shows_unknown_values(model: Path) -> None:
    log(model, {**FINISHED, "gpu_time_flops": None})
    shown = {row[0]: [cell.strip() for cell in row[1:]] for row in rows(compare(model, []))}
    assert shown == {
        "FLOPs, counted work": ["", "9.5e+17", "", ""],
        "FLOPs, GPU-time x peak": ["", "not known", "3.3e+18", ""],
        "hours of training": ["", "12.00", "12.00", ""],
        "steps": ["", "100,000", "100,000", ""],
    }


def test_table2_cost_passes_only_where_bleu_passes(model: Path) -> None:
    log(model, {**FINISHED, "gpu_time_flops": 3.4e18})
    alone = compare(model, [])
    bleu = Figure("BLEU-paper", 27.3, 27.3, True, 3_003)
    together = replace(alone, figures=(bleu, *alone.figures))
    missed = replace(alone, figures=(replace(bleu, value=27.0), *alone.figures))
    other_set = replace(alone, figures=(replace(bleu, paper=None), *alone.figures))
    assert [row[-1] for row in rows(alone)] == ["", "fail", "", ""]
    assert [row[-1] for row in rows(together)] == ["pass", "", "fail", "pass", ""]
    assert [row[-1] for row in rows(missed)] == ["fail", "", "fail", "", ""]
    assert [row[-1] for row in rows(other_set)] == ["", "", "fail", "", ""]
    verdicts = [figure["verdict"] for figure in together.as_document()["figures"]]
    assert verdicts == ["pass", None, "fail", "pass", None]
    verdicts = [figure["verdict"] for figure in missed.as_document()["figures"]]
    assert verdicts == ["fail", None, "fail", None, None]
    hint = "a cost below the paper's passes only together with BLEU on its test set"
    assert [hint in notes(comparison) for comparison in (together, missed, alone)] == [
        False, True, True,
    ]  # fmt: skip


def test_table2_has_the_earlier_systems(model: Path) -> None:
    """Table 2 says that big surpasses each of them in BLEU, and base all of English-German."""
    assert [len(EARLIER[tgt]) for tgt in ("de", "fr")] == [6, 7]
    assert len({system.system for systems in EARLIER.values() for system in systems}) == 8
    for tgt, systems in EARLIER.items():
        assert max(system.bleu for system in systems) < PAPER["big"].bleu[tgt]
        for system in systems:
            # The paper: FLOPs of base are below those of any competitor.
            assert system.flops is None or system.flops > PAPER["base"].flops
    # The abstract: "over 2 BLEU" better than the best, including ensembles.
    assert PAPER["big"].bleu["de"] - max(system.bleu for system in EARLIER["de"]) > 2


def test_table2_shows_the_run_beside_earlier_systems(model: Path) -> None:
    comparison = compare(model, [])
    bytenet, gnmt, *_, convs2s = comparison.as_document()["earlier"]
    assert bytenet == {
        "system": "ByteNet", "bleu": 23.75, "flops": None,
        "source": "Kalchbrenner et al. 2016, arXiv:1610.10099",
        "difference": None, "flops_ratio": None,
    }  # fmt: skip
    assert (gnmt["flops"], gnmt["flops_ratio"]) == (2.3e19, 0.144)
    assert convs2s["system"] == "ConvS2S, ensemble"
    assert comparison.earlier_rows()[1] == (
        "GNMT + RL", "24.60", "", "2.3e+19", "0.144 x", "Wu et al. 2016, arXiv:1609.08144",
    )  # fmt: skip
    measured = Figure("BLEU-paper", 27.34, 27.3, True, 3_003)
    earlier = replace(comparison, figures=(measured,)).as_document()["earlier"]
    assert [system["difference"] for system in earlier] == [3.59, 2.74, 2.18, 1.31, 1.04, 0.98]
    # Another test set than the paper's is compared with nobody.
    unlike = replace(comparison, figures=(replace(measured, paper=None, lines=2_737),))
    assert {system["difference"] for system in unlike.as_document()["earlier"]} == {None}


def test_table2_needs_a_model_directory(model: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(model.parent)
    assert main(["bench", "table2", "--model", f"{model.name}x"]) == 66
    error = capsys.readouterr().err
    assert f"there is no model directory `{model.name}x`" in error


@pytest.mark.slow
def test_table2_command(model: Path, tests, monkeypatch, capsys) -> None:
    monkeypatch.chdir(model.parent)
    command = ["bench", "table2"]
    for pair in tests:
        command += ["--test", *pair]
    assert main(command) == 0
    table, said = capsys.readouterr().out.split("BLEU as the paper: ")
    assert table.startswith("Table 2, en-de, base\n")
    assert [row.split()[-1] for row in table.splitlines() if "pass" in row] == ["pass"] * 2
    assert [row.split()[0] for row in table.splitlines() if row.endswith("fail")] == ["FLOPs,"]
    assert "nrefs:1" in said
    assert "ConvS2S, ensemble" in said
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is False
    assert document["schema"] == 1
    (paper, *_) = document["figures"]
    assert (paper["name"], paper["paper"], paper["verdict"]) == ("BLEU-paper", 27.3, "pass")
    assert document["figures"][1]["verdict"] is None
    assert main([*command, "--fail-if-missed", "-q"]) == 3
    shown = capsys.readouterr()
    assert "gpu_time_flops 3.3e+18 misses the paper's" in shown.err
    assert "nrefs:1" not in shown.out
    log(model, {**FINISHED, "gpu_time_flops": 1.0})
    assert main([*command, "--fail-if-missed"]) == 0
    assert main(["bench", "table2", "--fail-if-missed"]) == 3
    assert "no BLEU could be compared" in capsys.readouterr().err


def test_table2_refuses_unknown_row_and_missing_files(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no row `tiny`") as caught:
        compare(model, [], "tiny")
    assert "--row base" in caught.value.hint
    configure(model, **{"train.preset": "small"})
    with pytest.raises(ConfigError, match="no row `small`"):
        compare(model, [])
    for src, tgt in (("de", "en"), ("en", "es")):
        configure(model, **{"languages.src": src, "languages.tgt": tgt})
        with pytest.raises(ConfigError, match=f"no {src}-{tgt}"):
            compare(model, [])
    configure(model)
    (model / LOG).write_text("")
    with pytest.raises(DataError, match="no record of a step"):
        compare(model, [])
    (model / LOG).unlink()
    with pytest.raises(NoInputError, match="not what `nmt train` wrote"):
        compare(model, [])
    with pytest.raises(NoInputError):
        compare(tmp_path / "none", [])
