"""Lines and sentences without a letter are copied, unless symbols are the model's words."""

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.corpus.text_statistics import (
    LENGTH_BOUNDS,
    SideStatistics,
    TextStatistics,
)
from nmt_cli.data.markup.marked_text import Tag, Text, raw_text
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.model.transformer import Transformer
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.result import SentenceTranslation
from nmt_cli.translation.translator import Translator

WORDLESS = [
    "12345", "030/123456", "9:00-18:00", "---", "...", "  12.50 €  ", "1. 2. 3.", "½ °", "٣٫٥",
    "\u200d", "🙂!", "<b>12</b> - 34", "{name} 12",
]  # fmt: skip
MIXED = "The dog sleeps. 12 - 30. She is here."


@pytest.fixture(scope="module")
def translator() -> Translator:
    config = byte_config()
    return Translator(byte_model(config), config, byte_subwords())


@pytest.mark.parametrize(
    "options",
    [{}, {"n_best": 2}, {"sample": True}, {"min_length": 5}, {"keep_numbers": True},
     {"alignment": True}, {"retry": True}, {"sentences": "line"}],
)  # fmt: skip
def test_lines_without_a_letter_are_copied(translator: Translator, options) -> None:
    translations = translator.translate(["A dog.", *WORDLESS], **options)
    assert translations[0] == translator.translate("A dog.", **options)
    assert [translation.text for translation in translations[1:]] == WORDLESS
    for translation in translations[1:]:
        # As a line of marks alone.
        assert translation == dataclasses.replace(
            translator.translate("{name}", **options),
            source=translation.source, text=translation.text,
            hypotheses=(dataclasses.replace(translation.hypotheses[0]),),
        )  # fmt: skip
        [alternative] = translation.hypotheses
        assert (alternative.log_prob, alternative.tokens, alternative.alignment) == (0.0, (), ())


def test_json_of_a_copied_line_is_that_of_marks_alone(translator: Translator) -> None:
    marks, copied = (
        json.loads(as_json_line(0, translator.translate(line))) for line in ("{x}", "12345")
    )
    assert copied["text"] == "12345"
    assert copied.keys() == marks.keys()
    assert [copied[key] for key in ("score", "flags", "sentences")] == [0.0, [], []]


def test_sentence_without_a_letter_is_copied_within_its_line(translator: Translator) -> None:
    first, last = translator.translate(["The dog sleeps.", "She is here."])
    translation = translator.translate(MIXED)
    assert translation.text == f"{first.text} 12 - 30. {last.text}".strip()
    assert translation.sentences[1] == SentenceTranslation("12 - 30.", "12 - 30.")
    tokens = (*first.hypotheses[0].tokens, *last.hypotheses[0].tokens)
    assert translation.hypotheses[0].tokens == tokens


def test_copied_sentence_has_no_flags() -> None:
    # Translations of 8 characters have at most 6, and those of the model are short.
    side, ratios = SideStatistics("en"), ((0.0, 0.1),) * len(LENGTH_BOUNDS)
    text = TextStatistics(side, side, 100, ratios, np.zeros(0, np.float32))
    config = byte_config({"search.max_length": 8})
    translator = Translator(byte_model(config), config, byte_subwords(), text=text)
    translation = translator.translate("The dog sleeps. 12 - 30.")
    assert translation.sentences[1].text == "12 - 30."
    assert "length_outlier" not in translation.flags


def test_words_of_a_copied_sentence_are_aligned_with_themselves(translator: Translator) -> None:
    first = translator.translate("The dog sleeps.", alignment=True)
    translation = translator.translate(MIXED, alignment=True)
    words = len(first.text.split())
    links = [(3, words), (4, words + 1), (5, words + 2)]
    assert [link for link in translation.hypotheses[0].alignment if 3 <= link[0] < 6] == links
    assert translator.translate(MIXED).hypotheses[0].alignment == ()


def test_tags_in_a_copied_sentence_stay_at_their_words(translator: Translator) -> None:
    translation = translator.translate("The dog sleeps. 1 <b>2</b> - {x} 3. She is here.")
    assert " 1 <b>2</b> - " in translation.text
    numbers = translator.translate("The dog sleeps. 1 <b>1</b> 3. She is here.", keep_numbers=True)
    assert " 1 <b>1</b> 3. " in numbers.text
    assert "markup_moved" not in numbers.flags


def test_marked_texts_without_a_letter_are_copied(translator: Translator) -> None:
    text = (Tag("<b>", "open", "b"), Text("12"), Tag("</b>", "close", "b"), Text(" - 30"))
    [copied] = translator.translate_marked([text])
    assert raw_text(copied.pieces) == "<b>12</b> - 30"
    [translated] = translator.translate_marked(
        [text], search=dataclasses.replace(translator.config.search, markup="off")
    )
    assert translated.translation.hypotheses[0].tokens


def test_without_markup_all_lines_are_words(translator: Translator) -> None:
    for translation in translator.translate([*WORDLESS, MIXED], markup="off"):
        assert translation.hypotheses[0].tokens
    assert len(translator.translate(MIXED, markup="off").sentences) == 3


def test_line_with_a_term_of_the_glossary_is_translated(translator: Translator) -> None:
    constraints = Constraints(glossary={"24/7": "immer"})
    texts = ["24/7", "<b>24/7</b>", "12/7"]
    terms = [each.text for each in translator.translate(texts, constraints=constraints)]
    assert ["immer" in text.lower() for text in terms] == [True, True, False]
    assert terms[2] == "12/7"


def test_long_line_without_a_letter_is_copied_whole(translator: Translator) -> None:
    line = ", ".join(map(str, range(2_000)))
    assert translator.translate(line).text == line
    # Within a sentence that is split, the segments with words alone are translated.
    translation = translator.translate(f"Numbers: {line}.")
    assert translation.text.endswith(", 1997, 1998, 1999.")
    assert "split" in translation.flags


def test_wrong_bytes_are_flagged_in_copied_lines(translator: Translator) -> None:
    assert translator.translate("12 \ufffd").flags == ("unknown_words",)


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize(("sign", "is_translated"), [("+", True), ("x", False)])
def test_model_without_letters_translates_symbols(
    sign: str, is_translated: bool, byte_fallback: bool
) -> None:
    data = DataConfig(subwords="bpe", vocab_size="auto", byte_fallback=byte_fallback)
    subwords = learn_subwords(data, Counter({"12": 5, "34": 4, sign: 3}), {})
    size = subwords.src_size
    config = byte_config({"model.src_vocab_size": size, "model.tgt_vocab_size": size})
    model = Transformer(config.model)
    for weight in model.parameters():
        torch.nn.init.constant_(weight, 0.1)
    translator = Translator(model, config, subwords)
    tokens = translator.translate("12 34").hypotheses[0].tokens
    assert bool(tokens) is is_translated
