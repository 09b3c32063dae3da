"""Draws the paper's formulas with the functions that training uses (3.5, 5.3, 5.4)."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.config.schema import Config, ModelConfig, with_values
from nmt_cli.drawing.charts import Axis, Box, Curve, bars, curves, field
from nmt_cli.drawing.svg import document, label
from nmt_cli.errors import ConfigError, UsageError, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor

    from nmt_cli.model.positions import Positions

WIDTH = 760.0
# The number of cells of the picture of positions; more would be too small to see.
ROWS, COLUMNS = 64, 128
# The height of the part of that picture that shows the positions of one side.
PANEL = 660.0
POINTS = 240
# The schedules are drawn to their end if that is at most so many times the steps of a run, or else
# to so many times these steps.
MOST_BEYOND, SHOWN_BEYOND = 4, 2
WORDS = 8


class Plot(NamedTuple):
    """A picture as SVG, and the numbers in it as a document for JSON."""

    picture: str
    numbers: Mapping[str, object]


def plot(what: str, config: Config, model: Path | None = None) -> Plot:
    """One of PLOTS; `model`: directory of a model whose learned positions are drawn.

    Raises UsageError for an unknown name, ConfigError if there is nothing to draw.
    """
    if what not in PLOTS:
        meant = did_you_mean(what, list(PLOTS))
        raise UsageError(
            f"there is no plot `{what}`",
            f"{meant}{'' if meant.endswith('?') else ';'} `nmt runs --out FILE` draws the loss and "
            "BLEU of training runs",
        )
    return PLOTS[what](config, model)


def positions_table(config: ModelConfig, positions: "Positions") -> "Tensor":
    """(ROWS, width): what is added to embeddings; with rotary positions, a rotated query.

    The query consists of ones and zeros in turn, so that its rotation gives cosines and sines.
    """
    import torch

    indices = torch.arange(ROWS)
    with torch.no_grad():
        added = positions.add(torch.zeros(ROWS, config.d_model), indices, ROWS)
        if added.any():
            return added
        width = config.d_model // config.heads if config.d_k == "auto" else config.d_k
        query = torch.tensor([1.0, 0.0]).repeat(width // 2).expand(ROWS, 1, width)
        return positions.rotate(query, indices, ROWS)[:, 0]


def _positions(config: Config, model: Path | None) -> Plot:
    shape, sides = _positions_of(config, model)
    tables = {side: positions_table(shape, positions) for side, positions in sides.items()}
    # The paper has no rotary positions.
    section = "" if shape.positions == "rotary" else " (section 3.5)"
    elements = [label(20, 28, f"Positions: {shape.positions}{section}", kind="title")]
    for index, (side, table) in enumerate(tables.items()):
        top = 90 + index * PANEL if side else 70
        if side:
            elements.append(label(20, top - 34, f"of the {side} side", kind="faint"))
        elements += _panel(table, top)
    about = "What each position adds to the embedding, and how similar two positions are."
    names = {"": "rows", "source": "rows", "target": "tgt_rows"}
    numbers = {
        "positions": shape.positions,
        **{names[side]: table.tolist() for side, table in tables.items()},
    }
    height = 690 if len(tables) == 1 else 70 + PANEL * len(tables)
    return Plot(document(WIDTH, height, "Positions", about, elements), numbers)


def _positions_of(config: Config, model: Path | None) -> "tuple[ModelConfig, dict[str, Positions]]":
    """The positions by the side that they are of, "" for both; and the settings of their model."""
    from nmt_cli.model.positions import POSITIONS

    shape = config.model
    if model is not None:
        from nmt_cli.model_dir import load_model

        loaded = load_model(model)
        shape, positions = loaded.config.model, getattr(loaded.model, "positions", None)
        if shape.positions == "learned" and positions is not None:
            # Each side has learnt its own.
            return shape, {"source": positions, "target": loaded.model.tgt_positions}
    elif shape.positions == "learned":
        raise ConfigError(
            "learned positions have values only after training",
            "`--model MODEL` draws the positions of a model",
        )
    else:
        positions = POSITIONS[shape.positions](shape)
    if shape.kind == "rnn" or positions is None:
        raise ConfigError(
            "a model of the kind rnn has no positions: it reads one token after the other",
            "draw those of a model of the kind transformer or conv",
        )
    return shape, {"": positions}


def _panel(table: "Tensor", top: float) -> list[str]:
    """Draw a table of positions and the similarity of its rows, from `top` downwards."""
    # Sines and cosines are neighbours, so dimensions are left out in pairs.
    step = math.ceil(table.shape[1] / COLUMNS)
    columns = [column for column in range(table.shape[1]) if column // 2 % step == 0]
    shown = table[:, columns] / max(1.0, float(table.abs().max()))
    every = f"; one pair of {step} is shown" if step > 1 else ""
    return [
        *field(
            Box(64, top, 600, 260), Axis(0, table.shape[1], f"dimension{every}"),
            Axis(0, ROWS, "position"), shown.tolist(),
        ),
        *_nearness(table, Box(64, top + 350, 600, 160)),
    ]  # fmt: skip


def _nearness(table: "Tensor", box: Box) -> list[str]:
    """Draw the cosines between the vectors of positions."""
    unit = table / table.norm(dim=1, keepdim=True).clamp(min=1e-9)
    alike = (unit @ unit.T).tolist()
    shown = [
        Curve(
            f"similarity to position {position}",
            list(enumerate(alike[position])),
            bold=not position,
        )
        for position in (0, ROWS // 4, ROWS // 2)
    ]
    low = min(0.0, *(value for curve in shown for _, value in curve.points))
    return list(curves(box, Axis(0, ROWS - 1, "position"), Axis(low, 1, "cosine"), shown))


def _schedule(config: Config, model: Path | None) -> Plot:
    from nmt_cli.config.automatic import STEPS, max_steps
    from nmt_cli.training.optimizers.factory import DECAYS, learning_rate

    train, d_model = config.train, config.model.d_model
    guessed = ""
    if train.max_steps == "auto":
        guessed = " (max_steps: auto, here for a million tokens; of a run: --model)"
        config = with_values(config, {"train.max_steps": STEPS})
        train = config.train
    trained = _trained_rates(model)
    planned = max_steps(train)
    last = max(planned, 2)
    if trained:
        # The picture is of the run, which may have ended long before the planned end.
        done = trained[-1][0]
        is_whole = planned <= MOST_BEYOND * done
        last = max(2, done, planned if is_whole else SHOWN_BEYOND * done)
    steps = sorted({*(round(1 + n * (last - 1) / POINTS) for n in range(POINTS + 1)),
                    min(last, max(1, train.warmup_steps))})  # fmt: skip
    # The chosen one comes first.
    names = sorted(DECAYS, key=lambda name: name != train.schedule)
    shown = []
    for name in names:
        settings = with_values(config, {"train.schedule": name}).train
        points = [(step, learning_rate(step, settings, d_model)) for step in steps]
        shown.append(Curve(name, points, bold=name == train.schedule and not trained))
    learning_rates = {curve.name: [list(point) for point in curve.points] for curve in shown}
    highest = max(value for _, value in shown[0].points)
    shown = _without_doubles(shown)
    drawn = f"schedule {train.schedule} (bold){guessed}"
    if trained:
        drawn = f"bold: {trained[-1][0]:,} steps of the run; thin: schedules of {planned:,} steps"
        if last < planned:
            drawn += f", here the first {last:,}"
        shown.insert(0, Curve("of the run", trained, bold=True))
    peak = max(value for curve in shown for _, value in curve.points)
    is_paper = train.schedule == "inverse_sqrt" and isinstance(train.learning_rate, str)
    equation = " (section 5.3, equation 3)" if is_paper else ""
    scale = f"d_model {d_model:,}" if is_paper else f"highest {highest:.3g}"
    box = Box(84, 70, 640, 320)
    elements = [
        label(20, 28, f"Learning rate{equation}", kind="title"),
        label(
            20, 48, f"{scale}, warmup_steps {train.warmup_steps:,}, {drawn}", kind="faint"
        ),
        *curves(box, Axis(1, last, "step"), Axis(0, 1.05 * peak, ""), shown),
    ]  # fmt: skip
    about = "The learning rate of each step by each schedule."
    numbers = {
        "schedule": train.schedule, "warmup_steps": train.warmup_steps, "max_steps": planned,
        "learning_rates": learning_rates,
        **({"trained": [list(point) for point in trained]} if trained else {}),
    }  # fmt: skip
    return Plot(document(WIDTH, 510, "Learning rate", about, elements), numbers)


def _without_doubles(shown: Sequence[Curve]) -> list[Curve]:
    """The curves, where equal ones are one: wsd and constant before the decay."""
    result: list[Curve] = []
    for curve in shown:
        same = next((other for other in result if other.points == curve.points), None)
        if same is None:
            result.append(curve)
        else:
            result[result.index(same)] = same._replace(name=f"{same.name}, {curve.name}")
    return result


def _trained_rates(model: Path | None) -> list[tuple[int, float]]:
    """(step, learning rate) as the log of a model's training has them; [] without a log.

    A run that was ended early or was resumed with other steps has not followed one schedule.
    """
    from nmt_cli.extras.tracking.records import read_log
    from nmt_cli.storage.output_directory import LOG

    if model is None or not (model / LOG).is_file():
        return []
    rates = [
        (int(record["step"]), float(record["learning_rate"]))
        for record in read_log(model)
        if record.get("tokens") and "learning_rate" in record
    ]
    every = max(1, len(rates) // POINTS)
    return [*rates[:-1:every], *rates[-1:]]


def _smoothing(config: Config, _: Path | None) -> Plot:
    from nmt_cli.training.loss.cross_entropy import smoothed_target

    epsilon = config.train.label_smoothing
    target = smoothed_target(WORDS, WORDS // 3, epsilon).tolist()
    amounts = sorted({epsilon, 0.0, 0.1, 0.3}, key=lambda amount: amount != epsilon)
    shown = [
        Curve(f"label_smoothing {amount:g}", losses(amount), bold=amount == epsilon)
        for amount in amounts
    ]
    top = 4.0
    elements = [
        label(20, 28, "Label smoothing (section 5.4)", kind="title"),
        label(
            20, 48, f"Target distribution with smoothing {epsilon:g}, {WORDS} words, of which word "
            f"{WORDS // 3} is correct", kind="faint",
        ),
        *bars(Box(84, 80, 640, 180), Axis(0, WORDS, "word"), Axis(0, 1.1, ""), target),
        label(
            20, 330, f"Loss of one token if the other {WORDS - 1} words are equally likely",
            kind="faint",
        ),
        *curves(
            Box(84, 360, 640, 240), Axis(0, 1, "the model's probability of the correct word"),
            Axis(0, top, ""),
            [curve._replace(points=[(x, y) for x, y in curve.points if y <= top])
             for curve in shown],
        ),
    ]  # fmt: skip
    about = "The smoothed target, and the loss by the probability of the correct word."
    numbers = {
        "label_smoothing": epsilon, "target": target,
        "losses": {curve.name: [list(point) for point in curve.points] for curve in shown},
    }  # fmt: skip
    return Plot(document(WIDTH, 710, "Label smoothing", about, elements), numbers)


def losses(epsilon: float) -> list[tuple[float, float]]:
    """(probability of the correct word, training loss) of one token."""
    import torch

    from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy

    points = []
    target = torch.tensor([0])
    for index in range(1, POINTS):
        right = index / POINTS
        shares = torch.full((1, WORDS), (1 - right) / (WORDS - 1), dtype=torch.float64)
        shares[0, 0] = right
        loss = label_smoothed_cross_entropy(shares.log(), target, epsilon)
        points.append((right, float(loss.total)))
    return points


PLOTS: dict[str, Callable[[Config, Path | None], Plot]] = {
    "positions": _positions,
    "schedule": _schedule,
    "smoothing": _smoothing,
}
