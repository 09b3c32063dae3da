"""Attention pictures: the weights are those that the model computes with, and the text is safe."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from torch import Tensor
from variants import VARIANTS

from nmt_cli.batch import make_batch
from nmt_cli.cli import main
from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_segmenter
from nmt_cli.drawing.svg import text_width
from nmt_cli.errors import DataError, UsageError
from nmt_cli.extras.attention_map.attention import (
    END,
    KINDS,
    START,
    Attention,
    as_document,
    labels,
    sentence_attention,
)
from nmt_cli.extras.attention_map.page import page
from nmt_cli.extras.attention_map.picture import LARGE, LEAST, picture
from nmt_cli.inference.attention_maps import AttentionMaps, attention_maps
from nmt_cli.model.backends import dispatch
from nmt_cli.translation.translator import Translator

MODEL = Path(__file__).parents[1] / "golden" / "model-v1"
EOS = 3
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><script>alert(1)</script> <b>&amp; @DATA@ 'x' \"y\" שלום 🙂"


@pytest.fixture
def translator() -> Translator:
    config = byte_config({"model.layers": 2})
    return Translator(byte_model(config, seed=4), config, byte_subwords())


def weights_of_model(model, source: Sequence[int], target: Sequence[int], monkeypatch):
    """The weights of each attention in the order of the run, by the equation, number by number."""
    seen: list[Tensor] = []

    def attend(query, key, value, query_segments, key_segments, *, causal):
        weights = torch.zeros(query.shape[1], len(query), len(key), dtype=torch.float64)
        for head in range(query.shape[1]):
            for i in range(len(query)):
                last = i + 1 if causal else len(key)
                scores = [float(query[i, head] @ vector[head]) for vector in key[:last]]
                powers = np.exp(np.array(scores) / np.sqrt(query.shape[2]))
                weights[head, i, :last] = torch.tensor(powers / powers.sum())
        seen.append(weights)
        return (weights.to(value) @ value.transpose(0, 1)).transpose(0, 1)

    monkeypatch.setitem(dispatch.BACKENDS, "plain", attend)
    sides = ([np.array(source)], [np.array(target)])
    with torch.inference_mode():
        model.hidden(make_batch(*sides, [0], model.config.bos_id))
    monkeypatch.undo()
    return seen


@pytest.mark.parametrize("settings", VARIANTS[::5], ids=range(len(VARIANTS[::5])))
def test_attention_map_weights_are_those_of_the_model(settings, make_model, monkeypatch) -> None:
    model = make_model(settings)
    source, target = [4, 5, 6, 7, 9, EOS], [8, 4, 10, EOS]
    result = attention_maps(model, source, target)
    seen = weights_of_model(model, source, target, monkeypatch)
    depth = len(model.encoder)
    expected = seen[:depth], seen[depth::2], seen[depth + 1 :: 2]
    for layers, expected_layers in zip(result, expected, strict=True):
        assert len(layers) == len(expected_layers)
        for weights, by_hand in zip(layers, expected_layers, strict=True):
            torch.testing.assert_close(weights, by_hand.float(), atol=1e-5, rtol=1e-4)


def test_attention_variants_cover_positions_and_norms() -> None:
    tried = [tuple(variant.get(f"model.{key}") for key in ("positions", "norm_order"))
             for variant in VARIANTS[::5]]  # fmt: skip
    assert {"rotary", "learned", "sinusoidal"} <= {positions for positions, _ in tried}
    assert {("rotary", "pre"), ("rotary", "post")} <= set(tried)


def test_attention_rows_sum_to_one_and_are_causal(make_model) -> None:
    model = make_model({})
    maps = attention_maps(model, [4, 5, EOS], [6, 7, 8, EOS])
    assert [attention.shape[2:] for attention in maps] == [(3, 3), (4, 4), (4, 3)]
    for attention in maps:
        torch.testing.assert_close(attention.sum(-1), torch.ones(attention.shape[:3]))
    assert not maps.decoder.triu(1).any()
    assert maps.encoder.triu(1).any()
    # The hooks do not stay.
    assert not [module for module in model.modules() if module._forward_hooks]


def test_attention_map_needs_a_model_on_the_cpu(make_model) -> None:
    with pytest.raises(ValueError, match="CPU"):
        attention_maps(make_model({}).to("meta"), [EOS], [EOS])


def test_attention_map_uses_the_best_translation(translator: Translator) -> None:
    (best,) = translator.translate(["the dog"])
    assert len(best.text) > 5
    assert translator.subwords.decode_target([best.hypotheses[0].ids]) == [best.text]
    result = sentence_attention(translator, " the dog\n")
    assert (result.source, result.translation) == ("the dog", best.text)
    assert result.src == ("t", "h", "e", "␣", "d", "o", "g", END)
    assert len(result.tgt) == len(best.hypotheses[0].ids)
    source = translator.subwords.encode_source(["the dog"])[0]
    expected = attention_maps(translator.model, source, best.hypotheses[0].ids)
    for kind, weights in zip(KINDS, expected, strict=True):
        assert torch.equal(result.weights(kind), weights)
        assert weights.shape[2:] == (len(result.rows(kind)), len(result.columns(kind)))
    assert result.columns("decoder") == (START, *result.tgt[:-1])


def test_attention_map_of_a_given_translation(translator: Translator) -> None:
    result = sentence_attention(translator, "a b", target="zq\x1b[31m")
    assert (result.translation, result.tgt) == ("zq", ("z", "q", END))
    assert result.maps.cross.shape == (2, 2, 3, 4)


def test_attention_map_refuses_empty_and_split_lines(translator: Translator) -> None:
    with pytest.raises(DataError, match="no words"):
        sentence_attention(translator, " \x00 ")
    with pytest.raises(DataError, match="in segments"):
        sentence_attention(translator, "a b. " * 12)
    with pytest.raises(DataError, match="made for"):
        sentence_attention(translator, "a b", target="z" * 60)
    with pytest.raises(TypeError, match="`line` must be a str, one sentence, not list"):
        sentence_attention(translator, ["a b"])
    with pytest.raises(TypeError, match="`target` must be a str, one sentence, not list"):
        sentence_attention(translator, "a b", target=["z"])


def test_subwords_are_shown_without_markers() -> None:
    words = {"sleeping": 9, "sleep": 9, "ing": 5, "walking": 7, "walk": 5}
    subwords = Subwords(learn_segmenter(DataConfig(subwords="bpe", vocab_size=40), words))
    ids = subwords.encode_source(["sleep walkings 家"])[0]
    shown = labels(subwords.source_pieces(ids), ids, subwords)
    assert shown == ("sleep", "walking", "·s", "␣", "[unknown]", END)
    assert labels(["", "\u2581"], [20, 21], subwords) == ("#20", "␣")
    several = byte_subwords()
    ids = several.encode_source(["é"])[0]
    assert labels(several.source_pieces(ids), ids, several) == ("<0xC3>", "<0xA9>", END)
    letters = Translator.load(MODEL).subwords
    ids = letters.encode_source(["ab a"])[0]
    assert labels(letters.source_pieces(ids), ids, letters)[-4:] == ("b", "␣", "a", END)


class _Reader(HTMLParser):
    """The tags of a page, its policy, and the text of each element that has one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = [""]
        self.texts: dict[str, list[str]] = {}
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_data(self, data) -> None:
        self.texts.setdefault(self.tags[-1], []).append(data)


def made_up(source: str, src: tuple[str, ...], tgt: tuple[str, ...]) -> Attention:
    generator = torch.Generator().manual_seed(3)
    shapes = [(len(src),) * 2, (len(tgt),) * 2, (len(tgt), len(src))]
    maps = [torch.rand(2, 3, *shape, generator=generator).mul(4).softmax(-1) for shape in shapes]
    return Attention(source, source[::-1], src, tgt, AttentionMaps(*maps))


def test_hostile_text_is_escaped_in_the_page() -> None:
    attention = made_up(HOSTILE, ("<img src=x>", "\ud800", END), (HOSTILE, END))
    read = _Reader(page(attention))
    assert read.tags.count("script") == 2
    assert "img" not in read.tags
    assert "b" not in read.tags
    assert "".join(read.texts["bdi"][:1]) == HOSTILE
    data = json.loads(read.texts["script"][0])
    assert data["kinds"]["cross"]["columns"] == ["<img src=x>", "\ufffd", END]
    assert data["kinds"]["cross"]["rows"] == [HOSTILE, END]


def test_attention_page_is_self_contained() -> None:
    text = page(made_up("a b", ("a", "b", END), ("c", END)), "encoder", 2, 3)
    read = _Reader(text)
    assert not set(read.tags) & {"link", "img", "iframe", "object", "base"}
    assert text.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert read.policy.startswith("default-src 'none';")
    assert "unsafe" not in read.policy
    assert json.loads(read.texts["script"][0])["start"] == {
        "kind": "encoder",
        "layer": 1,
        "head": 2,
    }


def test_attention_page_contains_the_weights() -> None:
    attention = made_up("a b", ("a", "b", END), ("c", END))
    document = json.loads(_Reader(page(attention)).texts["script"][0])
    assert document.pop("start") == {"kind": "cross", "layer": 0, "head": "mean"}
    assert document == json.loads(json.dumps(as_document(attention)))
    for kind in KINDS:
        shown = torch.tensor(document["kinds"][kind]["weights"])
        torch.testing.assert_close(shown, attention.weights(kind), atol=6e-5, rtol=0)


@pytest.mark.parametrize("head", [None, 3])
def test_few_heads_fill_the_width_of_the_picture(head: int | None) -> None:
    attention = made_up("a b", ("a", "b", END), ("c", END))
    tree = ElementTree.fromstring(picture(attention, "cross", layer=2, head=head))
    width = float(tree.get("width", 0))
    links = tree.findall(f"{SVG}line")
    widest = text_width(END, 7 if head is None else 12)
    assert width == 620
    # Beside the lines there are the words and margins.
    assert max(float(line.get("x2", 0)) for line in links) == pytest.approx(
        width - widest - 16 - 8, abs=1
    )


def test_link_width_in_picture_follows_the_weight() -> None:
    attention = made_up("a b", ("a", "b", "<c>", END), ("d", END))
    tree = ElementTree.fromstring(picture(attention, "cross", layer=2, head=3))
    weights = attention.maps.cross[1, 2]
    lines = tree.findall(f"{SVG}line")
    expected = [float(weight) for weight in weights.flatten() if weight >= LEAST]
    assert [float(line.get("stroke-width")) for line in lines] == pytest.approx(
        [weight * LARGE.stroke for weight in expected], abs=0.006
    )
    heights = {(float(line.get("y1")), float(line.get("y2"))) for line in lines}
    assert len(heights) == len(expected)
    texts = [text.text for text in tree.findall(f"{SVG}text")]
    assert [*attention.tgt, *attention.src] == [
        text for text in texts if text in attention.src + attention.tgt
    ]
    assert [f"{float(row.max()):.0%}" for row in weights] == [
        text for text in texts if "%" in text
    ][-3:-1]


def test_picture_has_a_panel_for_each_head_not_chosen() -> None:
    attention = made_up("a b", ("a", "b", END), ("c", END))
    for chosen, panels in [((None, None), 6), ((2, None), 3), ((None, 1), 2)]:
        drawn = picture(attention, "encoder", *chosen)
        titles = re.findall(r"layer (\d) · head (\d)", drawn)
        assert len(titles) == len(set(titles)) == panels
        for at, index in enumerate(chosen):
            assert index is None or {title[at] for title in titles} == {str(index)}
        weights = attention.maps.encoder
        for at, index in enumerate(chosen):
            weights = weights if index is None else weights.narrow(at, index - 1, 1)
        assert drawn.count("<line") == int((weights >= LEAST).sum())


@pytest.mark.parametrize("draw", [page, picture])
@pytest.mark.parametrize(
    ("asked", "message"),
    [(("crosss", None, None), "no kind of attention `crosss`"), (("cross", 3, None), "only 1 to 2"),
     (("cross", None, 0), "only 1 to 3")],
)  # fmt: skip
def test_missing_layer_or_head_is_named(draw, asked, message: str) -> None:
    attention = made_up("a", ("a", END), ("c", END))
    with pytest.raises(UsageError, match=message):
        draw(attention, *asked)


def test_attention_command(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    base = ["attention", "ab", "--model", str(MODEL)]
    assert main(base) == 0
    assert _Reader(Path("attention.html").read_text("utf-8")).texts["bdi"][0] == "ab"
    assert main([*base, "--out", "one.SVG", "--layer", "1", "--head", "2"]) == 0
    assert Path("one.SVG").read_text("utf-8").count(" · head ") == 1
    assert "wrote one.SVG" in capsys.readouterr().err
    assert main([*base, "--json", "--target", "b"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["source"], document["translation"]) == ("ab", "b")
    assert np.array(document["kinds"]["cross"]["weights"]).shape == (1, 2, 2 + 1, 3 + 1)
    assert main([*base, "--json", "--out", "two.svg"]) == 2
    assert "--json writes to stdout, and --out names a file" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attention.html", "one.SVG"]


@pytest.mark.parametrize("flags", [(), ("low_confidence", "repetition")])
def test_attention_command_warns_of_a_doubtful_translation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    translate = Translator.translate

    def flagged(*arguments: Any, **named: Any) -> Any:
        return replace(translate(*arguments, **named), flags=flags)

    monkeypatch.setattr(Translator, "translate", flagged)
    assert main(["attention", "ab", "--model", str(MODEL)]) == 0
    said = capsys.readouterr().err
    warning = "warning: the translation is doubtful (low_confidence, repetition), so that"
    assert (warning in said) == bool(flags)
    assert main(["attention", "ab", "--model", str(MODEL), "--target", "b"]) == 0
    assert "doubtful" not in capsys.readouterr().err


def test_attention_command_warns_of_the_name_of_a_file(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    base = ["attention", "--model", str(MODEL), "--force"]
    assert main([*base, "ab"]) == 0
    assert "warning" not in capsys.readouterr().err
    Path("ab").write_text("The dog sleeps.\n")
    assert main([*base, "ab"]) == 0
    assert "`ab` is taken as the sentence, although there is a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["ab", "--out", "x.jpg"], 2), (["ab", "--layer", "9"], 2), ([" "], 65),
     (["ab", "--model", "nowhere"], 66)],
)  # fmt: skip
def test_attention_command_refuses_wrong_arguments(
    arguments, code, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["attention", "--model", str(MODEL), *arguments]) == code
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "hint: " in err
    assert list(tmp_path.iterdir()) == []
