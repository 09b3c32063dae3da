"""The page of attention in a real browser: what one sees by pointing, by keys, and in the dark."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from chromium import Browser, browser

from nmt_cli.extras.attention_map.attention import Attention
from nmt_cli.extras.attention_map.page import page
from nmt_cli.extras.attention_map.picture import picture
from nmt_cli.inference.attention_maps import AttentionMaps

HOSTILE = "<script>document.title='taken'</script>"
SRC = ("The", "שלום", "🙂", HOSTILE, "[end]")
TGT = ("Die", "·e", "[end]")


def attention() -> Attention:
    generator = torch.Generator().manual_seed(1)
    shapes = [(5, 5), (3, 3), (3, 5)]
    maps = [torch.rand(2, 3, *shape, generator=generator).mul(5).softmax(-1) for shape in shapes]
    return Attention("The " + HOSTILE, "Die \u202e", SRC, TGT, AttentionMaps(*maps))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def tab(started: Browser, tmp_path: Path) -> Iterator[Browser]:
    """The page, just opened at layer 2, head 3 of cross-attention; at its end all was well."""
    file = tmp_path / "page.html"
    file.write_text(page(attention(), "cross", 2, 3), "utf-8")
    started.call("Emulation.setEmulatedMedia", features=[])
    started.open(file)
    yield started
    assert started.problems == []
    assert started.requests == [file.as_uri()]
    assert started.evaluate("document.title") == f"Attention: The {HOSTILE}"


def row(index: int) -> str:
    return f'[data-side="row"][data-place="{index}"]'


def column(index: int) -> str:
    return f'[data-side="column"][data-place="{index}"]'


def shares(tab: Browser) -> list[tuple[str, str]]:
    """What the reading beside the picture says."""
    rows = "[...document.querySelectorAll('#reading tr')]"
    cells = tab.evaluate(f"{rows}.map(r => [...r.cells].map(c => c.textContent))")
    return [tuple(cell) for cell in cells]


def assert_shares(tab: Browser, weights: torch.Tensor, names: tuple[str, ...]) -> None:
    """The reading lists these weights, the greatest first; the page has four decimal places."""
    result = shares(tab)
    order = sorted(zip(weights.tolist(), names, strict=True), reverse=True)
    order = [(weight, name) for weight, name in order if weight >= 0.005]
    assert [name for _, name in result] == [name for _, name in order]
    for (text, _), (weight, _) in zip(result, order, strict=True):
        share = float(text.removesuffix(" %"))
        assert share == pytest.approx(100 * weight, abs=0.06 if weight < 0.0995 else 0.51)


def links(tab: Browser) -> list[list[int]]:
    lines = "[...document.querySelectorAll('#view .link')]"
    return list(tab.evaluate(f"{lines}.map(l => [+l.dataset.row, +l.dataset.column])"))


def focus(tab: Browser) -> str:
    return str(tab.evaluate("(d => d.side + d.place)(document.activeElement.dataset)"))


def test_pointing_at_a_word_shows_its_weights(tab: Browser) -> None:
    weights = attention().maps.cross[1, 2]
    tab.point_at(row(1))
    assert_shares(tab, weights[1], SRC)
    assert tab.evaluate("document.querySelector('#reading h2').textContent") == "·e attends to"
    beside = tab.evaluate(f"document.querySelector('{column(2)} .share').textContent")
    assert beside == {name: share for share, name in shares(tab)}["🙂"]
    faded = tab.evaluate(
        "[...document.querySelectorAll('.link:not(.other)')].map(l => +l.dataset.row)"
    )
    assert set(faded) == {1}
    tab.point_at(column(3))
    assert_shares(tab, weights[:, 3], TGT)
    tab.point_at("h1")
    assert shares(tab) == []


def test_click_selects_a_word_and_escape_deselects_it(tab: Browser) -> None:
    tab.point_at(row(0), click=True)
    kept = shares(tab)
    tab.point_at(row(1))
    assert shares(tab) == kept
    assert_shares(tab, attention().maps.cross[1, 2][0], SRC)
    tab.key("Escape")
    assert shares(tab) == []


def test_keyboard_can_do_what_the_pointer_does(tab: Browser) -> None:
    tab.evaluate("document.querySelector('input[name=far]').focus()")
    tab.key("Tab")
    assert focus(tab) == "row0"
    tab.key("ArrowDown")
    assert focus(tab) == "row1"
    weights = attention().maps.cross[1, 2]
    assert_shares(tab, weights[1], SRC)
    tab.key("ArrowRight")
    assert focus(tab) == "column1"
    assert_shares(tab, weights[:, 1], TGT)
    tab.key("Enter")
    tab.point_at(row(0))
    assert_shares(tab, weights[:, 1], TGT)
    tab.key("ArrowUp")
    assert focus(tab) == "column0"
    assert_shares(tab, weights[:, 0], TGT)


def choose(tab: Browser, name: str, value: object) -> None:
    """Set a control as its own keys would."""
    tab.evaluate(
        f"(c => {{ const e = c.{name}; e.value = {json.dumps(value)};"
        " (e.length && e[0].form ? [...e].find(o => o.checked) || e : e)"
        ".dispatchEvent(new Event('input', {bubbles: true})); })"
        "(document.getElementById('controls').elements)"
    )


def test_attention_kind_layer_and_head_can_be_chosen(tab: Browser) -> None:
    tab.point_at("input[value=encoder]", click=True)
    choose(tab, "layer", 0)
    choose(tab, "head", 1)
    tab.point_at(row(4))
    assert_shares(tab, attention().maps.encoder[0, 1][4], SRC)
    choose(tab, "head", "mean")
    tab.point_at(row(3))
    assert_shares(tab, attention().maps.encoder[0].mean(0)[3], SRC)
    tab.point_at("input[value=decoder]", click=True)
    assert tab.evaluate(f"document.querySelector('{column(0)} text').textContent") == "[start]"


def test_filters_draw_only_distant_and_strong_links(tab: Browser) -> None:
    weights = attention().maps.cross[1, 2]
    places = [[i, j] for i in range(3) for j in range(5)]
    assert links(tab) == [[i, j] for i, j in places if weights[i, j] >= 0.05]
    choose(tab, "far", 2)
    assert links(tab) == [[i, j] for i, j in places if weights[i, j] >= 0.05 and abs(i - j) >= 2]
    choose(tab, "far", 0)
    choose(tab, "least", 30)
    assert links(tab) == [[i, j] for i, j in places if weights[i, j] >= 0.3]
    widths = tab.evaluate(
        "[...document.querySelectorAll('.link')].map(l => +l.getAttribute('stroke-width'))"
    )
    strong = [float(weight) for weight in weights.flatten() if weight >= 0.3]
    assert widths == pytest.approx([11 * weight for weight in strong], abs=0.01)


def test_alignment_view_frames_the_largest_weight_of_each_row(tab: Browser) -> None:
    tab.point_at("input[value=alignment]", click=True)
    weights = attention().maps.cross[1, 2]
    best = tab.evaluate("[...document.querySelectorAll('td.best')].map(c => +c.dataset.column)")
    assert best == weights.argmax(1).tolist()
    shown = tab.evaluate("[...document.querySelectorAll('td b')].map(c => +c.textContent)")
    assert shown == [round(100 * float(weight)) for weight in weights.flatten() if weight >= 0.05]
    tab.point_at(f"th{column(1)}")
    assert_shares(tab, weights[:, 1], TGT)
    lit = tab.evaluate("[...document.querySelectorAll('td.lit')].map(c => +c.dataset.column)")
    assert lit == [1, 1, 1]
    tab.evaluate(f"document.querySelector('th{column(1)}').focus()")
    tab.key("ArrowRight")
    assert focus(tab) == "column2"


def test_overview_of_heads_links_to_each_head(tab: Browser) -> None:
    tab.point_at("input[value=heads]", click=True)
    titles = tab.evaluate("[...document.querySelectorAll('.panel')].map(p => p.textContent)")
    assert titles == [f"layer {layer} · head {head}" for layer in (1, 2) for head in (1, 2, 3)]
    assert tab.evaluate("document.querySelector('[aria-pressed=true]').textContent") == titles[-1]
    tab.point_at('.panel[data-layer="0"][data-head="1"]', click=True)
    tab.point_at(row(2))
    assert_shares(tab, attention().maps.cross[0, 1][2], SRC)
    assert tab.evaluate("document.querySelector('[name=head]').value") == "1"


def test_an_encoder_without_layers_cannot_be_chosen(started: Browser, tmp_path: Path) -> None:
    full = attention()
    maps = full.maps._replace(encoder=torch.empty(0, 0, 0, 0))
    file = tmp_path / "page.html"
    file.write_text(page(Attention(full.source, full.translation, SRC, TGT, maps)), "utf-8")
    started.open(file)
    free = "[...document.querySelectorAll('[name=kind]')].map(r => !r.disabled)"
    assert started.evaluate(free) == [False, True, True]
    started.point_at("input[value=encoder]", click=True)
    assert started.evaluate("document.querySelectorAll('.link').length") > 0
    assert started.problems == []


def test_hostile_text_is_shown_as_text(tab: Browser) -> None:
    assert tab.evaluate("document.querySelectorAll('script').length") == 2
    assert tab.evaluate("[...document.querySelectorAll('bdi')].map(b => b.textContent)") == [
        "The " + HOSTILE, "Die \u202e",
    ]  # fmt: skip
    assert tab.evaluate(f"document.querySelector('{column(3)} text').textContent") == HOSTILE


def test_light_and_dark_theme_have_enough_contrast(tab: Browser) -> None:
    """WCAG's contrast of 4.5 for text, in both."""
    colors = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        tab.call("Emulation.setEmulatedMedia", features=[feature])
        shown = tab.evaluate(
            "['body', 'footer', '.side', '.word text', '.link']"
            ".map(s => getComputedStyle(document.querySelector(s)))"
            ".map(s => [s.fill, s.stroke, s.color])"
        )
        paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        texts = [shown[0][2], shown[1][2], shown[2][2], shown[3][0], shown[4][1]]
        assert min(contrast(text, paper) for text in texts) >= 4.5
        colors[scheme] = paper
    assert colors["light"] != colors["dark"]


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [float(channel) / 255 for channel in color.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))


@pytest.mark.parametrize("src", [SRC, ("a", "[end]")], ids=["wide", "narrow"])
def test_svg_picture_is_rendered_as_specified(src, started: Browser, tmp_path: Path) -> None:
    full = attention()
    maps = AttentionMaps(*(weights[..., : len(src)] for weights in full.maps))
    file = tmp_path / "one.svg"
    shown = Attention(full.source, full.translation, src, TGT, maps)
    file.write_text(picture(shown, "cross", 1, 1), "utf-8")
    started.open(file)
    assert started.problems == []
    assert started.requests == [file.as_uri()]
    texts = started.evaluate("[...document.querySelectorAll('text')].map(t => t.textContent)")
    assert [text for text in texts if text in src] == ["[end]", *src]
    boxes = "[...document.querySelectorAll('text')].map(t => t.getBBox())"
    width = "document.documentElement.viewBox.baseVal.width"
    assert started.evaluate(f"{boxes}.every(b => b.x >= 0 && b.x + b.width <= {width})")
