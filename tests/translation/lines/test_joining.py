"""The translation of a line from those of its sentences and segments."""

import json
from dataclasses import replace
from typing import Any

import pytest
from byte_models import byte_subwords

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.text.splitting import Piece
from nmt_cli.search.constraints import LexicalConstraints
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.lines.inputs import SourceLine
from nmt_cli.translation.lines.joining import line_translation
from nmt_cli.translation.lines.outputs import LinePart
from nmt_cli.translation.quality.checker import Confidence, QualityChecker
from nmt_cli.translation.result import Alternative, SentenceTranslation, Translation

SUBWORDS = byte_subwords()
# The score is the mean of the log-probabilities.
CONFIG = SearchConfig(length_penalty="power", alpha=1.0)
EOS = 3


def part(text: str, token_score: float = -1.0, score: float = -9.0, **words: Any) -> LinePart:
    """A translation with this log-probability of each of its tokens."""
    ids = (*(4 + byte for byte in text.strip().encode()), EOS)
    hypothesis = Hypothesis(ids, token_score * len(ids), score, (token_score,) * len(ids))
    return LinePart(hypothesis, text, **words)


def joined(
    pieces: list[Piece],
    parts: list[list[LinePart]],
    languages: tuple[str, str] = ("en", "de"),
    confidence: Confidence | None = None,
    config: SearchConfig = CONFIG,
    **fields: Any,
) -> Translation:
    """fields: of each source."""
    sentences, text = [], ""
    for piece in pieces:
        text += piece.text
        if piece.ends_sentence:
            sentences.append(text)
            text = ""
        else:
            text += piece.glue
    sources = [
        Source((*(4 + byte for byte in piece.text.encode()), EOS), **fields) for piece in pieces
    ]
    line = "".join(piece.text + piece.glue for piece in pieces)
    quality = QualityChecker(languages, None, confidence)
    return line_translation(
        line, SourceLine(pieces, sources, sentences), parts, config, SUBWORDS, quality
    )


TWO = [Piece("One is here.", "  ", True), Piece("Two is here.", "", True)]
SEGMENTS = [Piece("One is", " "), Piece("here.", " ", True), Piece("Two.", "", True)]
# There is no space inside a word and between sentences.
CHINESE = [Piece("狗在", ""), Piece("这。", "", True), Piece("好。", "", True)]


def test_missing_terms_and_faults_of_each_translation_are_those_of_its_segments() -> None:
    of_segments = [
        [part("Eins ist hier."), part("Eins.")],
        [part("Zwei ist hier."), part("Zwei.")],
    ]
    counts = [[(0, 0), (1, 0)], [(0, 2), (1, 3)]]
    parts = [
        [
            each._replace(hypothesis=replace(each.hypothesis, missing=missing, term_faults=faults))
            for each, (missing, faults) in zip(segment, of_segment, strict=True)
        ]
        for segment, of_segment in zip(of_segments, counts, strict=True)
    ]
    found = joined(TWO, parts)
    assert [(each.missing_terms, each.term_faults) for each in found.hypotheses] == [(0, 2), (2, 3)]
    first, second = json.loads(as_json_line(0, found))["hypotheses"]
    assert first["term_faults"] == 2
    assert "missing_terms" not in first
    assert (second["missing_terms"], second["term_faults"]) == (2, 3)


def test_bytes_of_no_character_make_a_translation_broken_unlike_those_of_its_source() -> None:
    half = part("Zwei ist hier.")
    half = half._replace(hypothesis=replace(half.hypothesis, ids=(4 + 0xC5, *half.hypothesis.ids)))
    found = joined(TWO, [[part("Eins ist hier.")], [half]])
    assert found.is_broken
    assert "unknown_words" in found.flags
    found = joined(TWO, [[part("Eins ist hier.")], [part("Zwei \ufffd ist hier.")]])
    assert found.is_broken
    assert "unknown_words" in found.flags
    wrong = [Piece("One \ufffd is here.", "", True)]
    found = joined(wrong, [[part("Eins \ufffd ist hier.")]])
    assert not found.is_broken
    assert "unknown_words" in found.flags


def test_line_without_words_is_empty_and_one_without_translation_has_failed() -> None:
    assert joined([], []) == Translation(
        "", "", 0.0, (Alternative("", 0.0, 0.0),), ("empty",)
    )  # fmt: skip
    failed = joined(TWO, [[part("Eins ist hier.")], []])
    assert (failed.text, failed.flags, failed.sentences) == ("", ("failed",), ())


@pytest.mark.parametrize(
    ("pieces", "languages", "text"),
    [
        (SEGMENTS, ("en", "de"), "Ab c. Cd."),
        (SEGMENTS, ("en", "zh"), "Abc.Cd."),
        (CHINESE, ("zh", "de"), "Abc. Cd."),
        (CHINESE, ("zh", "ja"), "Abc.Cd."),
        (
            [SEGMENTS[0], Piece("here.", "\u00a0", True), SEGMENTS[2]],
            ("en", "de"),
            "Ab c.\u00a0Cd.",
        ),
    ],
)
def test_white_space_between_segments_and_sentences(
    pieces: list[Piece], languages: tuple[str, str], text: str
) -> None:
    translation = joined(pieces, [[part("Ab")], [part("c. ")], [part(" Cd.")]], languages)
    assert translation.text == text
    assert [sentence.text for sentence in translation.sentences] == [text[:-3].rstrip(), "Cd."]


def test_sentences_are_the_best_translations_and_their_sources() -> None:
    translation = joined(
        SEGMENTS, [[part("Ab"), part("xx")], [part("c."), part("x.")], [part("Cd."), part("X.")]]
    )
    assert translation.sentences == (
        SentenceTranslation("One is here.", "Ab c."), SentenceTranslation("Two.", "Cd."),
    )  # fmt: skip
    assert "split" in translation.flags


def test_alternatives_are_as_many_as_those_of_the_segment_that_has_most() -> None:
    translation = joined(TWO, [[part("A."), part("B.")], [part("C."), part("D."), part("E.")]])
    texts = [alternative.text for alternative in translation.hypotheses]
    assert texts == ["A.  C.", "B.  D.", "B.  E."]
    assert translation.text == "A.  C."


def test_scores_and_tokens_are_those_of_all_segments() -> None:
    [alternative] = joined(TWO, [[part("ab", -1.0)], [part("c", -2.0)]]).hypotheses
    assert alternative.log_prob == -7.0
    assert alternative.score == pytest.approx(-7.0 / 5)
    assert alternative.token_scores == (-1.0, -1.0, -1.0, -2.0, -2.0)
    assert alternative.ids == (4 + ord("a"), 4 + ord("b"), EOS, 4 + ord("c"), EOS)
    assert alternative.tokens == tuple(SUBWORDS.target_pieces(alternative.ids))


def test_single_segment_keeps_its_score() -> None:
    # A score may have more in it than the log-probability, such as a penalty for coverage.
    assert joined(TWO[1:], [[part("ab", score=-7.5)]]).score == -7.5


@pytest.mark.parametrize(
    ("pieces", "languages", "links"),
    [
        (SEGMENTS, ("en", "de"), ((0, 0), (1, 1), (2, 2), (3, 4))),
        # Without a space the last word and the first of the next piece are one.
        (
            [Piece("won", ""), Piece("der.", " ", True), Piece("Two.", "", True)], ("en", "de"),
            ((0, 0), (1, 1), (1, 1), (2, 3)),
        ),
        (SEGMENTS, ("en", "zh"), ((0, 0), (1, 1), (2, 1), (3, 2))),
        (CHINESE, ("zh", "de"), ((0, 0), (1, 1), (1, 1), (1, 3))),
    ],
)  # fmt: skip
def test_links_count_the_words_of_the_whole_line(
    pieces: list[Piece], languages: tuple[str, str], links: tuple[tuple[int, int], ...]
) -> None:
    parts = [
        [part("Ab cd", links=((0, 0), (1, 1)), src_words=2, tgt_words=2)],
        [part("ef gh.", links=((0, 0),), src_words=1, tgt_words=2)],
        [part("Cd.", links=((0, 0),), src_words=1, tgt_words=1)],
    ]
    assert joined(pieces, parts, languages).hypotheses[0].alignment == links


def test_segments_without_words_do_not_move_the_links_back() -> None:
    pieces = [Piece("a", ""), Piece("b", ""), Piece("c", "", True)]
    nothing = [part("", src_words=0, tgt_words=0)]
    last = [part("c", links=((0, 0),), src_words=1, tgt_words=1)]
    assert joined(pieces, [nothing, nothing, last]).hypotheses[0].alignment == ((0, 0),)


def test_flags_are_those_of_the_search_and_of_the_checks_in_one_order() -> None:
    pieces = [Piece("I have", " "), Piece("3 dogs.", "", True)]
    translation = joined(pieces, [[part("Ich habe")], [part("5 Hunde.")]])
    assert translation.flags == ("split", "number_mismatch")


def test_confidence_is_that_of_each_sentence() -> None:
    # The mean of the first sentence, of two segments, is -2.
    parts = [[part("abcde", -1.0)], [part("fghij", -3.0)], [part("klmno", -2.0)]]
    assert "low_confidence" not in joined(SEGMENTS, parts, confidence=Confidence(-2.1, -9.0)).flags
    assert "low_confidence" in joined(SEGMENTS, parts, confidence=Confidence(-1.9, -9.0)).flags
    lower = [*parts[:2], [part("klmno", -4.0)]]
    assert "low_confidence" in joined(SEGMENTS, lower, confidence=Confidence(-3.0, -9.0)).flags


@pytest.mark.parametrize(
    ("form", "prefix", "languages", "is_low"),
    [
        ("", "", ("en", "fr"), True),
        # The term is no word of the translation, or only its beginning.
        ("avi", "", ("en", "fr"), True),
        ("l", "", ("en", "fr"), True),
        # Behind an apostrophe a term is a word, too.
        ("avis", "", ("en", "fr"), False),
        ("vi", "", ("en", "zh"), True),
        ("avis", "", ("en", "zh"), False),
        ("", "l'avis", ("en", "fr"), False),
    ],
)
def test_confidence_is_that_of_the_words_that_nobody_demands(
    form: str, prefix: str, languages: tuple[str, str], is_low: bool
) -> None:
    likely, unlikely = -0.1, -12.0
    text = b"l'avis."
    ids = (*(4 + byte for byte in text), EOS)
    scores = (likely, likely, *[unlikely] * 4, likely, likely)
    hypothesis = Hypothesis(ids, sum(scores), -9.0, scores)
    form_ids = tuple(4 + byte for byte in form.encode())
    translation = joined(
        TWO[1:], [[LinePart(hypothesis, text.decode())]], languages, Confidence(-1.0, -6.0),
        constraints=LexicalConstraints(((form_ids,),)) if form else None,
        prefix=tuple(4 + byte for byte in prefix.encode()),
    )  # fmt: skip
    assert ("low_confidence" in translation.flags) == is_low
    # The scores that are shown stay those of the model.
    assert translation.hypotheses[0].token_scores == scores


@pytest.mark.parametrize(
    ("written", "is_lost"),
    [("rũ".encode(), False), ("rũ".encode()[:-1], True), (b"r\xa9", True)],
)
def test_parts_of_characters_are_left_out_and_flagged(written: bytes, is_lost: bool) -> None:
    ids = (*(4 + byte for byte in written), EOS)
    hypothesis = Hypothesis(ids, -1.0, -1.0, (-0.1,) * len(ids))
    (text,) = SUBWORDS.decode_target([ids])
    assert text == ("r" if is_lost else written.decode())
    translation = joined(TWO[1:], [[LinePart(hypothesis, text)]])
    assert ("unknown_words" in translation.flags) == is_lost
