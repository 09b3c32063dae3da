"""Plots: each number of a picture is what the functions that train give."""

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from exported import random_model

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, SettingsLayer, dump, resolve
from nmt_cli.drawing.charts import MOST_LOOKS, SHADES, Axis, Box, Curve, bars, curves, field, ticks
from nmt_cli.drawing.svg import DARK, LIGHT, STYLE, in_light
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.extras import plots
from nmt_cli.extras.plots import PLOTS, ROWS, losses, plot, positions_table
from nmt_cli.model.positions import POSITIONS, sinusoidal_encoding
from nmt_cli.model_dir import save_model
from nmt_cli.training.optimizers.factory import DECAYS, learning_rate

GOLDEN = Path(__file__).parents[1] / "golden" / "model-v1"
SVG = "{http://www.w3.org/2000/svg}"


def config(settings: dict[str, object]) -> Config:
    return resolve([SettingsLayer("test", settings)]).config


def drawn(what: str, settings: dict[str, object], model: Path | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(plot(what, config(settings), model).picture)


def texts(tree: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in tree.iter(f"{SVG}text")]


def points(line: ElementTree.Element) -> list[tuple[float, float]]:
    return [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]


def test_positions_plot_shows_the_added_encoding() -> None:
    model = config({"model.d_model": 16}).model
    table = positions_table(model, POSITIONS["sinusoidal"](model))
    assert torch.equal(table, sinusoidal_encoding(ROWS, 16))


@pytest.mark.parametrize("d_k", ["auto", 6])
def test_positions_plot_of_rotary_shows_rotated_vectors(d_k: object) -> None:
    settings = {"model.d_model": 16, "model.heads": 2, "model.d_k": d_k}
    model = config({**settings, "model.positions": "rotary"}).model
    table = positions_table(model, POSITIONS["rotary"](model))
    width = 8 if d_k == "auto" else 6
    assert table.shape == (ROWS, width)
    rates = [10_000 ** (-2 * pair / width) for pair in range(width // 2)]
    expected = [trig(5 * rate) for rate in rates for trig in (math.cos, math.sin)]
    assert table[5].tolist() == pytest.approx(expected, abs=1e-5)


def test_positions_plot_of_learned_positions_needs_a_model() -> None:
    with pytest.raises(ConfigError, match="after training"):
        plot("positions", config({"model.positions": "learned"}))
    model = config({"model.positions": "learned", "model.d_model": 8, "model.heads": 2}).model
    learned = POSITIONS["learned"](model)
    torch.nn.init.normal_(learned.weight)
    assert torch.equal(positions_table(model, learned), learned.weight[:ROWS])
    # A model's own settings count, not those of the command.
    assert "Positions: sinusoidal (section 3.5)" in texts(
        drawn("positions", {"model.positions": "learned"}, GOLDEN)
    )


def test_learned_positions_of_both_sides_are_drawn_and_named(tmp_path: Path) -> None:
    loaded = random_model({"model.positions": "learned", "model.max_positions": 80})
    weights = loaded.model.state_dict()
    save_model(tmp_path / "model", weights, loaded.config, loaded.subwords, {})
    both = plot("positions", config({}), tmp_path / "model")
    assert both.numbers["rows"] == weights["positions.weight"][:ROWS].tolist()
    assert both.numbers["tgt_rows"] == weights["tgt_positions.weight"][:ROWS].tolist()
    picture = ElementTree.fromstring(both.picture)
    named = texts(picture)
    assert named.index("of the source side") < named.index("of the target side")
    assert named.count("similarity to position 0") == 2
    places = [float(text.get("y", "")) for text in picture.iter(f"{SVG}text")]
    assert max(places) < float(picture.get("viewBox", "").split()[3])
    assert "tgt_rows" not in plot("positions", config({})).numbers


def test_heatmap_shades_each_cell_by_its_value() -> None:
    values = [[-1.0, -1.0, 1.0], [0.0, 0.5, 7.0]]
    marks = list(field(Box(0, 0, 30, 20), Axis(0, 3, "x"), Axis(0, 2, "y"), values))
    cells = {
        round(float(mark.get("fill-opacity")) * SHADES): mark.get("d").rstrip("z").split("z")
        for mark in map(ElementTree.fromstring, marks)
        if mark.tag == "path"
    }
    assert cells == {
        0: ["M0.00 0.00H20.00V10.00H0.00"],
        SHADES: ["M20.00 0.00H30.00V10.00H20.00", "M20.00 10.00H30.00V20.00H20.00"],
        SHADES // 2: ["M0.00 10.00H10.00V20.00H0.00"],
        SHADES * 3 // 4: ["M10.00 10.00H20.00V20.00H10.00"],
    }


def test_cells_of_a_heatmap_share_their_edges() -> None:
    """Cells that overlapped by a rounding error would show a dark line."""
    values = [[(row + column) % 2 for column in range(7)] for row in range(13)]
    marks = list(field(Box(5, 3, 100, 100), Axis(0, 7, "x"), Axis(0, 13, "y"), values))
    edges = [
        tuple(map(float, re.findall(r"[\d.]+", cell)))
        for mark in marks
        for cell in re.findall(r'M[^z"]+z', mark)
    ]
    assert len(edges) == 7 * 13
    lefts, tops = ({cell[index] for cell in edges} for index in (0, 1))
    rights, bottoms = ({cell[index] for cell in edges} for index in (2, 3))
    assert lefts - {5.0} == rights - {105.0}
    assert tops - {3.0} == bottoms - {103.0}


def test_positions_plot_shows_dimensions_or_pairs_by_width() -> None:
    narrow = texts(drawn("positions", {"model.d_model": 32, "model.heads": 2}))
    assert "dimension" in narrow
    wide = drawn("positions", {"model.d_model": 512})
    assert "dimension; one pair of 4 is shown" in texts(wide)
    assert "Positions: rotary" in texts(drawn("positions", {"model.positions": "rotary"}))
    # The first position: sin 0 and cos 0 in turn, so two shades a pair.
    first = [
        cell
        for path in wide.iter(f"{SVG}path")
        for cell in path.get("d", "").split("z")
        if " 70.00H" in cell
    ]
    assert len(first) == plots.COLUMNS


def test_schedule_of_automatic_steps_says_how_many_it_draws() -> None:
    given = config({"train.max_steps": "auto", "train.schedule": "linear"})
    shown = " ".join(texts(ElementTree.fromstring(plot("schedule", given).picture)))
    assert "(max_steps: auto, here for a million tokens; of a run: --model)" in shown


@pytest.mark.parametrize(
    ("settings", "title", "scale"),
    [
        ({}, "Learning rate (section 5.3, equation 3)", "d_model 256"),
        ({"train.learning_rate": 0.00198}, "Learning rate", "highest 0.00198"),
    ],
)
def test_schedule_names_equation_3_only_where_it_gives_the_rates(
    settings: dict[str, object], title: str, scale: str
) -> None:
    given = config({"model.d_model": 256, "train.warmup_steps": 99, **settings})
    shown = texts(ElementTree.fromstring(plot("schedule", given).picture))
    assert title in shown
    assert f"{scale}, warmup_steps 99, schedule inverse_sqrt (bold)" in shown


def test_schedule_without_a_learning_rate_is_drawn() -> None:
    tree = ElementTree.fromstring(plot("schedule", config({"train.learning_rate": 0.0})).picture)
    assert "0" in texts(tree)


@pytest.mark.parametrize("schedule", DECAYS)
def test_schedule_plot_equals_the_schedule_of_training(schedule: str) -> None:
    settings = {"train.schedule": schedule, "train.warmup_steps": 300, "train.max_steps": 2_000}
    given = config({**settings, "model.d_model": 256})
    tree = ElementTree.fromstring(plot("schedule", given).picture)
    lines = list(tree.iter(f"{SVG}polyline"))
    assert len(lines) == len(DECAYS)
    assert [line.get("stroke-width") for line in lines].count("2.5") == 1
    (chosen,) = [line for line in lines if line.get("stroke-width") == "2.5"]
    assert texts(tree).count(schedule) == 1
    assert len({line.get("stroke-dasharray") for line in lines}) == len(DECAYS)
    # The box of the chart: 84 to 724 across, 390 up to 70.
    top = 1.05 * max(learning_rate(300, given.train, 256), 1e-12)
    for x, y in points(chosen):
        step = 1 + (x - 84) / 640 * 1_999
        nearest = min(
            learning_rate(moment, given.train, 256) for moment in (int(step), int(step) + 1)
        )
        furthest = max(
            learning_rate(moment, given.train, 256) for moment in (int(step), int(step) + 1)
        )
        shown = (390 - y) / 320 * top
        assert nearest - 0.006 * top <= shown <= furthest + 0.006 * top
    heights = [390 - y for _, y in points(chosen)]
    assert max(heights) == pytest.approx(320 / 1.05, abs=0.1)


@pytest.mark.parametrize("what", PLOTS)
def test_plot_json_has_the_numbers_and_writes_no_file(
    what: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"train.warmup_steps": 30, "train.max_steps": 200, "model.d_model": 16}
    options = [f"{key}={value}" for key, value in settings.items()]
    assert main(["plot", what, "--json", *(x for pair in options for x in ("--set", pair))]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["schema"] == 1
    assert main(["plot", what, "--json", "--out", "a.svg"]) == 2
    assert "--json writes to stdout, and --out names a file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    given = config(settings)
    if what == "schedule":
        rates = dict(map(tuple, numbers["learning_rates"]["inverse_sqrt"]))
        assert rates == {step: learning_rate(step, given.train, 16) for step in rates}
        assert {1, 30, 200} <= rates.keys()
    elif what == "positions":
        assert numbers["rows"] == sinusoidal_encoding(ROWS, 16).tolist()
    else:
        assert sum(numbers["target"]) == pytest.approx(1)
        chosen = numbers["losses"]["label_smoothing 0.1"]
        assert chosen == [list(pair) for pair in losses(0.1)]


def test_smoothing_plot_equals_the_smoothing_of_training() -> None:
    tree = drawn("smoothing", {"train.label_smoothing": 0.2})
    heights = [
        float(bar.get("height")) for bar in tree.iter(f"{SVG}rect") if bar.get("class") == "mark"
    ]
    expected = [0.2 / 8 + (0.8 if word == 8 // 3 else 0.0) for word in range(8)]
    assert heights == pytest.approx([180 / 1.1 * share for share in expected], abs=0.01)
    assert [text for text in texts(tree) if text == "0.825"] == ["0.825"]
    names = [text for text in texts(tree) if text.startswith("label_smoothing")]
    assert names == [f"label_smoothing {amount}" for amount in ("0.2", "0", "0.1", "0.3")]


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_smoothing_plot_loss_is_least_at_the_smoothed_target(epsilon: float) -> None:
    result = losses(epsilon)
    best, least = min(result, key=lambda point: point[1])
    target = 1 - epsilon + epsilon / 8
    assert best == pytest.approx(min(target, result[-1][0]), abs=0.005)
    others = (1 - best) / 7
    by_hand = -(1 - epsilon + epsilon / 8) * math.log(best) - 7 * epsilon / 8 * math.log(others)
    assert least == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (1, 100_000, [20_000, 40_000, 60_000, 80_000, 100_000]),
     (64, 0, [0, 20, 40, 60]), (-0.25, 1, [0, 0.5, 1])],
)  # fmt: skip
def test_axis_ticks_are_round(start: float, end: float, expected: list[float]) -> None:
    assert ticks(start, end) == expected


def test_logarithmic_axis_has_powers() -> None:
    assert Axis(64, 2048, "n", logarithmic=True).ticks == [64, 128, 256, 512, 1024, 2048]
    assert Axis(0.1, 100, "ms", logarithmic=True).ticks == pytest.approx([0.1, 1, 10, 100])
    assert Axis(1, 16, "n", logarithmic=True).share(4) == pytest.approx(0.5)


def test_bars_and_curves_stay_inside_their_box() -> None:
    box = Box(10, 20, 100, 50)
    marks = [
        *bars(box, Axis(0, 2, "x"), Axis(0, 1, "y"), [0.0, 1.0]),
        *curves(box, Axis(0, 1, "x"), Axis(0, 1, "y"), [Curve("c", [(0, 0), (1, 1)])]),
    ]
    shapes = [ElementTree.fromstring(mark) for mark in marks]
    (line,) = [shape for shape in shapes if shape.tag == "polyline"]
    assert points(line) == [(10, 70), (110, 20)]
    rects = [shape for shape in shapes if shape.get("class") == "mark"]
    assert [(rect.get("y"), rect.get("height")) for rect in rects] == [("70", "0"), ("20", "50")]


def test_curves_have_dashes_and_colours_of_their_own() -> None:
    box = Box(10, 20, 100, 50)
    shown = [Curve(str(number), [(0, 0), (1, 1)]) for number in range(MOST_LOOKS)]
    marks = curves(box, Axis(0, 1, "x"), Axis(0, 1, "y"), shown)
    shapes = [ElementTree.fromstring(mark) for mark in marks]
    lines = [shape for shape in shapes if shape.tag == "polyline"]
    looks = [(line.get("class"), line.get("stroke-dasharray")) for line in lines]
    assert len(set(looks)) == 36
    assert len({dash for _, dash in looks[:6]}) == 6
    drawn = [(line.get("class") or "").split() for line in lines[:6]]
    assert drawn == [["curve"], *(["curve", f"curve{number}"] for number in range(1, 6))]
    for _, name in drawn[1:]:
        for theme in (LIGHT, DARK):
            assert f".{name} {{ stroke: {theme[name]}; }}" in STYLE
        assert DARK[name] not in in_light(STYLE)


@pytest.mark.parametrize("what", PLOTS)
def test_plot_command_writes_svg(what: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", what, "--preset", "small"]) == 0
    assert ElementTree.parse(f"{what}.svg").getroot().tag == f"{SVG}svg"
    captured = capsys.readouterr()
    assert (captured.out, f"wrote {what}.svg" in captured.err) == ("", True)
    assert main(["plot", what]) == 0
    assert capsys.readouterr().err.endswith(f"replaced {what}.svg: open it in a browser\n")
    assert main(["plot", what, "--out", "x.jpg"]) == 2
    assert main(["plot", what, "--out", "x.svg", "-q"]) == 0
    assert capsys.readouterr().err.startswith("error: `x.jpg` is not the name of a picture")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{what}.svg", "x.svg"]


@pytest.mark.parametrize("what", ["schedule", "positions"])
def test_missing_model_of_a_plot_is_named(tmp_path: Path, monkeypatch, capsys, what: str) -> None:
    """Not its config.toml, which nobody asked for."""
    monkeypatch.chdir(tmp_path)
    assert main(["plot", what, "--model", "nomodel"]) == 66
    assert capsys.readouterr().err.startswith("error: there is no model directory `nomodel`\n")
    assert list(tmp_path.iterdir()) == []


def test_schedule_plot_of_a_model_uses_its_training_settings(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    trained = config({"train.warmup_steps": 77, "train.max_steps": 500})
    (tmp_path / "model" / "config.toml").write_text(dump(trained))
    assert main(["plot", "schedule", "--model", "model"]) == 0
    assert "warmup_steps 77" in Path("schedule.svg").read_text()
    assert main(["plot", "schedule", "--model", "model", "--set", "train.warmup_steps=88"]) == 0
    assert "warmup_steps 88" in Path("schedule.svg").read_text()


def test_schedule_of_a_model_shows_the_rates_it_was_trained_with(tmp_path: Path) -> None:
    """A run that ended early, and went on with other steps, has not followed one schedule."""
    trained = config({"train.schedule": "linear", "train.max_steps": 20})
    rates = [[step, 0.004 if step <= 12 else 0.001] for step in range(1, 17)]
    records = [{"step": step, "tokens": 9, "learning_rate": rate} for step, rate in rates]
    records.append({"step": 16, "tokens": 0, "learning_rate": 0.0})
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    drawn = plot("schedule", trained, tmp_path)
    assert drawn.numbers["trained"] == rates
    assert set(drawn.numbers["learning_rates"]) == set(DECAYS)  # type: ignore[call-overload]
    tree = ElementTree.fromstring(drawn.picture)
    shown = " ".join(texts(tree))
    assert "bold: 16 steps of the run; thin: schedules of 20 steps" in shown
    bold = [line for line in tree.iter(f"{SVG}polyline") if line.get("stroke-width") == "2.5"]
    assert [len(points(line)) for line in bold] == [16]


def test_schedule_of_a_long_run_ends_with_its_last_step(tmp_path: Path) -> None:
    records = [{"step": step, "tokens": 9, "learning_rate": 0.1} for step in range(1, 2_001)]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    steps = [step for step, _ in plot("schedule", config({}), tmp_path).numbers["trained"]]  # type: ignore[attr-defined]
    assert len(steps) < 300
    assert steps[-1] == 2_000


@pytest.mark.parametrize(("planned", "last"), [(1_440, 1_440), (1_441, 720), (200, 360)])
def test_schedules_are_whole_unless_the_run_is_a_small_part_of_them(
    planned: int, last: int, tmp_path: Path
) -> None:
    records = [{"step": step, "tokens": 9, "learning_rate": 0.1} for step in range(1, 361)]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    settings = {"train.max_steps": planned, "train.warmup_steps": 30}
    drawn = plot("schedule", config(settings), tmp_path)
    rates = drawn.numbers["learning_rates"]
    assert isinstance(rates, dict)
    assert {points[-1][0] for points in rates.values()} == {last}
    shown = " ".join(texts(ElementTree.fromstring(drawn.picture)))
    assert ("here the first 720" in shown) == (planned == 1_441)


def test_schedule_of_a_run_that_ended_early_shows_the_run(tmp_path: Path) -> None:
    records = [{"step": step, "tokens": 9, "learning_rate": 0.1} for step in range(1, 361)]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    settings = {"train.max_steps": 20_000, "train.warmup_steps": 30}
    drawn = plot("schedule", config(settings), tmp_path)
    assert (
        "bold: 360 steps of the run; thin: schedules of 20,000 steps, here the first 720"
    ) in " ".join(texts(ElementTree.fromstring(drawn.picture)))
    rates = drawn.numbers["learning_rates"]
    assert isinstance(rates, dict)
    assert {points[-1][0] for points in rates.values()} == {720}
    assert drawn.numbers["max_steps"] == 20_000
    # Before its decay, wsd is constant.
    assert "wsd, constant" in texts(ElementTree.fromstring(drawn.picture))
    assert set(rates) == set(DECAYS)


def test_unknown_plot_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    with pytest.raises(UsageError, match="no plot `scedule`") as refusal:
        plot("scedule", config({}))
    assert "schedule" in refusal.value.hint
    assert "`nmt runs --out FILE` draws" in refusal.value.hint
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "scedule"]) == 2
    assert "did you mean `schedule`? `nmt runs" in capsys.readouterr().err
    assert main(["plot", "loss"]) == 2
    assert "smoothing; `nmt runs" in capsys.readouterr().err


def test_a_model_and_other_settings_are_not_drawn_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.toml").write_text(dump(Config()))
    (tmp_path / "other.toml").write_text("")
    for what, options, said in (
        ("schedule", ["--preset", "big"], "--preset beside --model"),
        ("smoothing", ["--config", "other.toml"], "--config beside --model"),
        ("positions", ["--set", "model.positions=rotary"], "has its own positions"),
    ):
        assert main(["plot", what, "--model", "model", *options]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("*.svg"))
