"""Lines of several sentences: each is translated on its own, and nothing between them is lost."""

import dataclasses
import json

import numpy as np
import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.data.corpus.text_statistics import (
    LENGTH_BOUNDS,
    SINGLE_SENTENCES,
    SideStatistics,
    TextStatistics,
)
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.result import SentenceTranslation
from nmt_cli.translation.translator import Translator

SENTENCES = ["The dog sleeps.", "She is at home!", "Is it late?", "Dr. Lee knows no. 5 of them."]
LINE = "The dog sleeps.  She is at home!\u00a0Is it late?"


def statistics(several_sentences: float = 0.0, **values: object) -> TextStatistics:
    """The statistics of a text with some share of lines with several sentences."""
    side = SideStatistics("en", several_sentences=several_sentences, **values)
    ratios = ((0.5, 2.0),) * len(LENGTH_BOUNDS)
    return TextStatistics(side, side, 100, ratios, np.zeros(0, np.float32))


def make_translator(
    text: TextStatistics | None = None, languages: tuple[str, str] = ("en", "de")
) -> Translator:
    config = byte_config({"languages.src": languages[0], "languages.tgt": languages[1]})
    return Translator(byte_model(config), config, byte_subwords(), text=text)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make_translator()


def alone(translator: Translator, sentences: list[str]) -> list[str]:
    return [translation.text for translation in translator.translate(sentences, sentences="line")]


def test_line_of_sentences_has_their_translations_and_their_white_space(
    translator: Translator,
) -> None:
    first, second, third = alone(translator, SENTENCES[:3])
    translation = translator.translate(LINE)
    assert translation.text == f"{first}  {second}\u00a0{third}".strip()
    assert translation.sentences == tuple(
        map(SentenceTranslation, SENTENCES, (first, second, third))
    )
    assert "split" not in translation.flags


def test_paragraphs_are_the_translations_of_their_sentences(translator: Translator) -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        chosen = [SENTENCES[index] for index in generator.integers(0, 4, 3)]
        expected = " ".join(alone(translator, chosen)).strip()
        assert translator.translate(" ".join(chosen)).text == expected


def test_sentences_line_translates_the_line_as_it_is(translator: Translator) -> None:
    whole = translator.translate(LINE, sentences="line")
    assert whole.text != translator.translate(LINE).text
    assert whole.sentences == (SentenceTranslation(LINE, whole.text),)


@pytest.mark.parametrize("share", [0.0, SINGLE_SENTENCES])
def test_lines_are_split_where_the_training_lines_were_single_sentences(share: float) -> None:
    translation = make_translator(statistics(share)).translate(LINE)
    assert len(translation.sentences) == (3 if share < SINGLE_SENTENCES else 1)


def test_learnt_abbreviations_end_no_sentence() -> None:
    line = "It was ord. Nine of them. Good."
    learnt = make_translator(statistics(titles=("ord",)))
    assert len(make_translator(statistics()).translate(line).sentences) == 3
    assert len(learnt.translate(line).sentences) == 2


def test_line_with_a_prefix_is_not_split(translator: Translator) -> None:
    [free, begun] = translator.translate([LINE, LINE], prefixes=["", "Ab. C"])
    assert len(free.sentences) == 3
    assert len(begun.sentences) == 1
    assert begun.text.startswith("Ab. C")


def test_sentences_without_spaces_get_one_in_a_language_with_spaces() -> None:
    line = "狗在睡觉。猫在吃饭。"
    to_german = make_translator(languages=("zh", "de"))
    assert to_german.translate(line).text == " ".join(
        alone(to_german, ["狗在睡觉。", "猫在吃饭。"])
    )
    to_japanese = make_translator(languages=("en", "ja"))
    texts = alone(to_japanese, SENTENCES[:2])
    assert to_japanese.translate(" ".join(SENTENCES[:2])).text == "".join(texts)


def test_long_sentence_is_split_and_belongs_to_its_line() -> None:
    translator = make_translator()
    long = "Word and " + "word and " * 200 + "end."
    translation = translator.translate(f"Short one. {long} Last one.")
    assert [sentence.source for sentence in translation.sentences] == [
        "Short one.", long, "Last one.",
    ]  # fmt: skip
    assert "split" in translation.flags


def test_n_best_translations_join_those_of_each_sentence(translator: Translator) -> None:
    search = dataclasses.replace(translator.config.search, beam=3, n_best=3, sentences="line")
    of_sentences = translator.translate(SENTENCES[:2], search=search)
    joined = translator.translate(" ".join(SENTENCES[:2]), beam=3, n_best=3)
    for rank, hypothesis in enumerate(joined.hypotheses):
        parts = [each.hypotheses[rank].text for each in of_sentences]
        assert hypothesis.text == " ".join(parts).strip()


def test_json_tells_which_sentence_became_what(translator: Translator) -> None:
    translation = translator.translate(LINE)
    document = json.loads(as_json_line(0, translation))
    assert [sentence["source"] for sentence in document["sentences"]] == SENTENCES[:3]
    assert [sentence["text"] for sentence in document["sentences"]] == [
        sentence.text for sentence in translation.sentences
    ]
