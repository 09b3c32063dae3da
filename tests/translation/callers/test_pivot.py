"""PivotTranslator: each model translates the text of the one before."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.markup.marked_text import Tag, Text, raw_text
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.model.transformer import Transformer
from nmt_cli.translation.callers.pivot import PivotTranslator
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.translator import Translator

LINES = ["abc de", "", "fgh 12 a", "a bb ccc. dd ee", "x"]


def made(seed: int, src: str = "src", tgt: str = "tgt", **settings: object) -> Translator:
    languages = {"languages.src": src, "languages.tgt": tgt}
    given = {f"search.{name}": value for name, value in settings.items()}
    config = byte_config({**languages, **given})
    return Translator(byte_model(config, seed), config, byte_subwords())


def with_few_subwords(seed: int) -> Translator:
    """A model whose vocabulary is not that of the others."""
    counts = dict.fromkeys(["abc", "de", "fgh", "bb", "ccc", "dd", "ee", "ux", "tz"], 10)
    subwords = learn_subwords(DataConfig(subwords="bpe", vocab_size=50), counts, counts)
    sizes = {"model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size}
    config = byte_config(sizes)
    model = Transformer(config.model).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            torch.nn.init.normal_(weight, 0.5, 0.4, generator=generator)
    return Translator(model, config, subwords)


@pytest.fixture(scope="module")
def models() -> tuple[Translator, Translator, Translator]:
    return made(1, "en", "de"), made(2, "de", "fr"), made(3, "fr", "it")


def test_each_step_translates_the_text_of_the_step_before(models: Any) -> None:
    first, second, third = models
    between = first.translate(LINES)
    further = second.translate([each.text for each in between])
    last = third.translate([each.text for each in further])
    for pivot in (first.then(second, third), first.then(second).then(third),
                  first.then(second.then(third))):  # fmt: skip
        found = pivot.translate(LINES)
        assert [each.source for each in found] == LINES
        assert [each.text for each in found] == [each.text for each in last]
        assert [each.score for each in found] == pytest.approx([each.score for each in last])
        texts = [[pivot.text for pivot in each.pivots] for each in found]
        assert texts == [
            [one.text, two.text] for one, two in zip(between, further, strict=True)
        ]  # fmt: skip


def test_flags_are_those_of_all_steps(models: Any) -> None:
    first, second, _ = models
    found = first.then(second).translate(LINES)
    between = first.translate(LINES)
    after = second.translate([each.text for each in between])
    for each, one, two in zip(found, between, after, strict=True):
        assert set(each.flags) == {*one.flags, *two.flags}
        assert each.pivots[0].flags == one.flags
        assert each.pivots[0].score == pytest.approx(one.score)
    assert any(set(one.flags) - set(two.flags) for one, two in zip(between, after, strict=True))


def test_types_are_those_of_the_translator(models: Any) -> None:
    pivot = models[0].then(models[1])
    one = pivot.translate("abc")
    assert one.text == pivot.translate(["abc"])[0].text
    assert [each.text for each in pivot.translate(iter(["abc"]))] == [one.text]
    assert repr(pivot).startswith("PivotTranslator(Translator(en-de")


def test_alternatives_are_those_of_the_last_step(models: Any) -> None:
    first, second, _ = models
    found = first.then(second).translate("abc de", n_best=2)
    expected = second.translate(first.translate("abc de").text, n_best=2)
    assert [each.text for each in found.hypotheses] == [each.text for each in expected.hypotheses]
    assert len(found.pivots) == 1


def test_constraints_and_prefixes_are_for_the_last_step(models: Any) -> None:
    first, second, _ = models

    def asked(word: str) -> Any:
        constraints = Constraints(ban=("e",), glossary={word: "zyx"})
        return {"constraints": constraints, "prefixes": "w", "max_extra_length": 20}

    # An untrained model does not place every term.
    line, between, word = next(
        (each.source, each.text, word)
        for each in first.translate([f"{letter} bc" for letter in "abcdefghijklmnop"])
        for word in each.text.split()
        if word.isascii() and word.isalpha()
        if "zyx" in second.translate(each.text, **asked(word)).text
    )
    found = first.then(second).translate(line, **asked(word))
    assert found.pivots[0].text == between
    assert found.text == second.translate(between, **asked(word)).text
    assert found.text.startswith("w")
    assert "zyx" in found.text


def test_names_are_kept_by_all_steps(models: Any) -> None:
    first, second, third = models
    pivot = first.then(second, third)
    constraints = Constraints(keep=["Nord Pad"], ban=["e"])
    for line in ("a Nord Pad bb", "cc <b>Nord Pad</b>, dd Nord Pad"):
        found = pivot.translate(line, constraints=constraints)
        texts = [found.text, *(each.text for each in found.pivots)]
        assert [text.count("Nord Pad") for text in texts] == [line.count("Nord Pad")] * 3
    [marked] = pivot.translate_marked([(Text("a Nord Pad bb"),)], constraints=constraints)
    assert "Nord Pad" in raw_text(marked.pieces)
    assert all("Nord Pad" in each.text for each in marked.translation.pivots)


def test_names_are_refused_where_one_step_has_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [made(1), made(2, markup="off"), made(3)]
    # Before any of them works.
    monkeypatch.setattr(steps[0], "translate_window", None)
    with pytest.raises(UsageError, match="names are kept like placeholders"):
        PivotTranslator(steps).translate("a", constraints=Constraints(keep=["b"]))


def test_some_options_are_for_all_steps_and_others_for_the_last() -> None:
    first, second = made(1, alpha=0.1, beam=2), made(2, alpha=0.9, beam=3)
    pivot = first.then(second)
    [before], after = (
        pivot._chosen(None, {}, Constraints())[:-1],
        pivot._chosen(None, {}, Constraints())[-1],
    )
    assert (before.alpha, before.beam, after.alpha, after.beam) == (0.1, 2, 0.9, 3)
    options: Any = {"beam": 4, "n_best": 2, "alpha": 0.5, "retry": True, "sample": True}
    before, after = pivot._chosen(None, options, Constraints())
    assert (before.beam, before.n_best, before.alpha, before.sample) == (4, 1, 0.1, False)
    assert (after.beam, after.n_best, after.alpha, after.sample) == (4, 2, 0.5, True)
    assert before.retry
    whole = replace(second.config.search, beam=1, alpha=0.7)
    before, after = pivot._chosen(whole, {}, Constraints())
    assert (before.beam, before.alpha, after.beam, after.alpha) == (1, 0.1, 1, 0.7)


def test_marks_are_kept_by_both_steps(models: Any) -> None:
    pivot = models[0].then(models[1])
    assert pivot.translate("abc <b>de</b> f").text.count("<b>") == 1
    text = (Text("abc "), Tag("<b>", "open", "b"), Text("de"), Tag("</b>", "close", "b"))
    [marked] = pivot.translate_marked([text])
    written = raw_text(marked.pieces)
    assert (written.count("<b>"), written.count("</b>")) == (1, 1)
    assert marked.translation.source == "abc <b>de</b>"
    assert "<b>" in marked.translation.pivots[0].text


def test_json_tells_the_text_between(models: Any) -> None:
    found = models[0].then(models[1]).translate("abc de")
    document = json.loads(as_json_line(3, found))
    assert document["source"] == "abc de"
    assert document["pivots"] == [
        {"text": each.text, "score": each.score, "flags": list(each.flags)} for each in found.pivots
    ]
    assert "pivots" not in json.loads(as_json_line(0, models[0].translate("abc")))


def test_sentences_have_the_words_of_the_source(models: Any) -> None:
    found = models[0].then(models[1]).translate("Abc de fgh. Abc dd eee.", sentences="split")
    assert " ".join(each.source for each in found.sentences) == "Abc de fgh. Abc dd eee."
    assert found.sentences[-1].text in found.text


def test_vocabularies_need_not_be_equal(models: Any) -> None:
    other = with_few_subwords(5)
    between = models[0].translate(LINES)
    found = models[0].then(other).translate(LINES)
    expected = other.translate([each.text for each in between])
    assert any(each.text for each in found)
    assert [each.text for each in found] == [each.text for each in expected]


def test_wrong_order_is_refused(models: Any) -> None:
    first, second, _ = models
    with pytest.raises(ConfigError, match=r"^the model de-fr translates to `fr`.*from `en`"):
        second.then(first)
    assert isinstance(made(1, "en", "de-AT").then(second), PivotTranslator)
    assert isinstance(made(1, "src", "tgt").then(second), PivotTranslator)


def test_alignment_is_refused(models: Any) -> None:
    with pytest.raises(ConfigError, match="no word alignment"):
        models[0].then(models[1]).translate("abc", alignment=True)


def test_progress_counts_all_steps(models: Any) -> None:
    shares: list[float] = []
    models[0].then(models[1]).translate_window(LINES, on_progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any(share < 0.5 for share in shares)
    assert any(0.5 < share < 1 for share in shares)


def test_block_closes_all_steps() -> None:
    first, second = made(1), made(2)
    with first.then(second) as pivot:
        pivot.translate("abc")
    for each in (pivot, first, second):
        with pytest.raises(ValueError, match="closed"):
            each.translate("abc")
