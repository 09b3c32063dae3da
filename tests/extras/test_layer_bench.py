"""Table 1: the layers do what they are called, and what is measured is counted rightly."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from nmt_cli.cli import main
from nmt_cli.extras.layer_bench import measure as measuring
from nmt_cli.extras.layer_bench.kinds import KINDS, Sizes, recurrent, recurrent_step
from nmt_cli.extras.layer_bench.measure import (
    Chain,
    Timing,
    chains,
    crossing,
    measure,
    path_length,
    saved_bytes,
    sizes_for,
)
from nmt_cli.extras.layer_bench.report import crossing_lines, picture
from nmt_cli.model.attention import scaled_dot_product_attention

SIZES = Sizes(d=8, heads=2, neighbours=5, kernel=3)
LAYERS = {kind.name: kind for kind in KINDS}


def sequence(n: int, d: int = 8) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(2))


def attention_by_mask(x: Tensor, mask: Tensor) -> Tensor:
    parts = x.view(len(x), 2, 4).transpose(0, 1)
    return scaled_dot_product_attention(parts, parts, parts, mask).transpose(0, 1).flatten(1)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_restricted_attention_is_attention_under_a_band(n: int) -> None:
    x = sequence(n)
    places = torch.arange(n)
    near = (places[:, None] - places).abs() <= 2
    result = LAYERS["restricted"].make(SIZES)(x)
    torch.testing.assert_close(result, attention_by_mask(x, near))
    everything = LAYERS["self-attention"].make(SIZES)(x)
    torch.testing.assert_close(everything, attention_by_mask(x, torch.ones(n, n).bool()))


def test_recurrent_layer_equals_repeated_steps() -> None:
    x = sequence(3)
    torch.manual_seed(4)
    layer = recurrent(SIZES)(x)
    torch.manual_seed(4)
    step = recurrent_step(SIZES)
    torch.testing.assert_close(step(x)[0], layer[0])
    state = torch.zeros(8)
    torch.manual_seed(4)
    cell = torch.nn.RNNCell(8, 8)
    for position in range(3):
        state = cell(x[position], state)
    torch.testing.assert_close(layer[2], state)


def test_convolutional_layer_sees_only_its_kernel_width() -> None:
    torch.manual_seed(4)
    result = LAYERS["convolutional"].make(SIZES)(sequence(5))
    torch.manual_seed(4)
    kernel = torch.nn.Conv1d(8, 8, 3)
    padded = torch.cat([torch.zeros(1, 8), sequence(5), torch.zeros(1, 8)])
    by_hand = [
        sum(kernel.weight[:, :, k] @ padded[position + k] for k in range(3)) + kernel.bias
        for position in range(5)
    ]
    torch.testing.assert_close(result, torch.stack(by_hand))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("n", "sizes"), [(6, SIZES), (11, Sizes(12, 3, 7, 5))])
def test_layer_work_equals_the_flop_count_of_torch(kind, n: int, sizes: Sizes) -> None:
    with FlopCounterMode(display=False) as counter:
        kind.make(sizes)(sequence(n, sizes.d))
    assert counter.get_total_flops() == 2 * kind.work(n, sizes)


def test_path_lengths_are_those_of_table_1() -> None:
    results = list(chains((4, 9), neighbours=5, kernel=3))
    assert results == [
        Chain("self-attention", 4, 1, 1),
        Chain("restricted", 4, 1, 2),
        Chain("recurrent", 4, 4, 3),
        Chain("convolutional", 4, 1, 3),
        Chain("self-attention", 9, 1, 1),
        Chain("restricted", 9, 1, 4),
        Chain("recurrent", 9, 9, 8),
        Chain("convolutional", 9, 1, 8),
    ]
    wide = {chain.kind: chain for chain in chains((9,), neighbours=5, kernel=5)}
    assert wide["convolutional"].path_length == math.ceil(8 / 2)


def test_path_length_of_unconnected_positions() -> None:
    assert path_length(torch.eye(3).bool()) == 1
    ring = torch.eye(5).bool() | torch.eye(5).roll(1, 0).bool()
    assert path_length(ring) == 4


def test_saved_bytes_for_the_backward_pass() -> None:
    n, sizes = 24, sizes_for(128, neighbours=5, kernel=3)
    assert sizes.heads == 2
    result = {kind.name: saved_bytes(kind.make(sizes), sequence(n, 128)) for kind in KINDS}
    # The divided queries, and the weights of both heads.
    assert result["self-attention"] == 4 * (n * 128 + 2 * n * n)
    # Every state, with the one before the first.
    assert result["recurrent"] == 4 * (n + 1) * 128
    assert result["convolutional"] == 0
    # The near keys and values of each position alone are five times the sequence.
    assert result["restricted"] > 4 * 5 * n * 128


def test_every_layer_is_timed_and_the_first_round_warms_up(monkeypatch) -> None:
    calls: list[int] = []

    def seconds(layer, x: Tensor) -> float:
        calls.append(len(x))
        # Rounds of one length: 100 s to warm up, then 1, 5 and 2 s.
        rounds = (calls.count(len(x)) - 1) // 4
        return (100.0, 1.0, 5.0, 2.0)[rounds]

    monkeypatch.setattr(measuring, "_seconds", seconds)
    results = list(measure((3, 6), (8,), 3, neighbours=5, kernel=3))
    assert [(timing.kind, timing.n) for timing in results] == [
        (name, n) for n in (3, 6) for name in LAYERS
    ]
    assert {timing.milliseconds for timing in results} == {2_000.0}
    assert all(
        timing.work == LAYERS[timing.kind].work(timing.n, Sizes(8, 1, 5, 3)) for timing in results
    )


def timings(d: int = 8) -> list[Timing]:
    table = {"self-attention": (1, 4, 16), "recurrent": (4, 8, 12), "convolutional": (20, 20, 20)}
    return [
        Timing(kind, n, d, table.get(kind, (1, 1, 1))[index], 1, 1)
        for index, n in enumerate((10, 20, 40))
        for kind in LAYERS
    ]


def test_crossing_of_two_layers_is_between_two_lengths() -> None:
    # 4 / 8 at 20 and 16 / 12 at 40: at 1 after 0.6 of the way.
    crossed = crossing(timings(), "self-attention", "recurrent", 8)
    assert crossed.n == pytest.approx(32)
    assert crossed.longer_at == (40,)
    assert crossing(timings(), "self-attention", "convolutional", 8).n is None
    assert crossing_lines(timings(16)) == [
        "d = 16: self-attention takes longer than the restricted layer from n = 10",
        "d = 16: self-attention takes longer than the recurrent layer from n = 32",
        "d = 16: self-attention takes longer than the convolutional layer at none of these lengths",
    ]


@pytest.mark.parametrize(
    ("milliseconds", "where"),
    [((2, 3, 4), "at all these lengths"), ((1, 1, 1), "at none of these lengths"),
     ((0.5, 2, 0.5), "only at n = 20"), ((2, 2, 1), "only at n = 10 and 20"),
     ((2, 0, 2), "only at n = 10 and 40: the times vary, more --rounds even them out"),
     ((0, 2, 3), "from n = 15")],
)  # fmt: skip
def test_crossing_line_says_where_self_attention_is_slower(milliseconds, where: str) -> None:
    curves = [
        Timing(kind, n, 8, milliseconds[index] if kind == "self-attention" else 1, 1, 1)
        for index, n in enumerate((10, 20, 40))
        for kind in LAYERS
    ]
    assert {line.rpartition(" layer ")[2] for line in crossing_lines(curves)} == {where}
    (one_length,) = {line.rpartition(" layer ")[2] for line in crossing_lines(curves[:4])}
    assert one_length == f"at {'all' if milliseconds[0] > 1 else 'none of'} these lengths"


def test_layer_bench_picture_has_a_curve_per_layer_and_width() -> None:
    tree = ElementTree.fromstring(picture([*timings(8), *timings(16)]))
    lines = list(tree.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 2 * len(LAYERS)
    assert [line.get("stroke-width") for line in lines].count("2.5") == 2
    # From 1 to 100 ms over 260 pixels: 16 ms is log10(16) / 2 of the way up; 20 is half of 10-40.
    points = [tuple(map(float, point.split(","))) for point in lines[0].get("points").split()]
    assert points[0] == (84, 350)
    assert points[1][0] == 84 + 320
    assert points[2] == pytest.approx((724, 350 - 260 * math.log10(16) / 2), abs=0.06)


def test_layer_bench_command(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["bench", "layers", "--tiny", "--rounds", "1", "--n", "4,8", "-q"]
    small += ["--neighbours", "5", "--kernel", "7"]
    assert main([*small, "--json", "--out", "x.svg"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [timing["n"] for timing in document["timings"]] == [4] * 4 + [8] * 4
    assert len(document["chains"]) == 8
    assert (document["neighbours"], document["kernel"]) == (5, 7)
    assert [crossed["than"] for crossed in document["crossings"]] == [*LAYERS][1:]
    assert {tuple(crossed) for crossed in document["crossings"]} == {
        ("than", "d", "n", "longer_at")
    }
    assert ElementTree.parse("x.svg").getroot().tag.endswith("svg")
    assert main(small) == 0
    out = capsys.readouterr().out
    for kind in KINDS:
        assert f"O({kind.complexity})" in out
    assert (
        "\nr = 5: positions that restricted self-attention covers (--neighbours); "
        "k = 7: kernel width of the convolution (--kernel)\n"
    ) in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["leyers"], "did you mean `layers`"), (["table1"], "did you mean `layers`"),
     (["table4"], "known: layers, table2, table3"), (["layers", "--n", "4,x"], "positive sizes"),
     (["layers", "--d", "100"], "multiple"),
     (["layers", "--kernel", "4"], "--kernel must be odd and at least 1, not 4"),
     (["layers", "--neighbours", "32"], "hint: --neighbours 31 or 33"),
     (["layers", "--rounds", "0"], "--rounds must be at least 1, not 0"),
     (["layers", "--out", "x.jpg"], "not the name of a picture"),
     (["layers", "--n", "4", "--out", "x.svg"], "at least two lengths")],
)  # fmt: skip
def test_layer_bench_command_refuses_wrong_arguments(arguments, message: str, capsys) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err
