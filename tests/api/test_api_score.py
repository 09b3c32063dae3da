"""score(): the scores of nmt_cli.scoring by name, of lists of lines only."""

from unicodedata import normalize

import pytest

from nmt_cli import Score, score
from nmt_cli.errors import DataError, UsageError
from nmt_cli.scoring import score as score_lines

HYPOTHESES = ["the small dog sleeps .", "a cat sits there", "what is that"]
REFERENCES = ["the small dog sleeps .", "the cat sits there", "what is this"]
OTHERS = ["the little dog sleeps .", "a cat sat there", "what is it"]


def test_each_metric_has_its_score_and_signature():
    scores = score(HYPOTHESES, REFERENCES, OTHERS, metrics=["chrf", "bleu", "chrf"])
    assert list(scores) == ["chrf", "bleu"]
    expected = score_lines(HYPOTHESES, [REFERENCES, OTHERS], ["chrf", "bleu"])
    assert list(scores.values()) == expected
    assert isinstance(scores["bleu"], Score)
    assert "refs:2" in scores["bleu"].signature or "nrefs:2" in scores["bleu"].signature


def test_the_default_is_bleu():
    assert score(HYPOTHESES, REFERENCES) == {"bleu": score_lines(HYPOTHESES, [REFERENCES])[0]}


def test_files_and_iterators_are_lines_too(tmp_path):
    (tmp_path / "reference").write_text("".join(line + "\n" for line in REFERENCES))
    with (tmp_path / "reference").open(encoding="utf-8") as references:
        scores = score(iter(HYPOTHESES), references, metrics=["ter"])
    assert scores == score(HYPOTHESES, REFERENCES, metrics=["ter"])


def test_options_are_passed_on():
    options = {"lowercase": True, "tokenize": "none", "confidence": True}
    upper = [line.upper() for line in HYPOTHESES]
    result = score(upper, REFERENCES, baselines={"old": OTHERS}, **options)["bleu"]
    assert result.interval is not None
    assert [comparison.baseline for comparison in result.comparisons] == ["old"]
    assert result.value == score(HYPOTHESES, REFERENCES, tokenize="none")["bleu"].value
    assert "tok:none" in result.signature
    japanese = score(HYPOTHESES, REFERENCES, tgt_lang="zh")["bleu"]
    assert "tok:zh" in japanese.signature


@pytest.mark.parametrize(
    ("hypotheses", "references", "words"),
    [
        ("a b", ["a b"], "hypotheses: expected lines of text"),
        (["a b"], "a b", "reference 1: expected lines of text"),
        (b"a b", ["a b"], "not bytes"),
        (None, ["a b"], "not NoneType"),
        (["a b"], [["a b"]], "reference 1, line 1: expected str, not list"),
        ([1], ["a b"], "hypotheses, line 1: expected str, not int"),
        ({"a": 1}, ["a b"], "not dict"),
    ],
)
def test_anything_but_lines_is_refused(hypotheses, references, words):
    with pytest.raises(TypeError, match=words):
        score(hypotheses, references)


def test_metrics_are_a_list_of_names():
    with pytest.raises(TypeError, match=r"^baselines is a dict"):
        score(["a"], ["a"], baselines=[["a"]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'such as \["bleu", "chrf"\]'):
        score(HYPOTHESES, REFERENCES, metrics="bleu")
    with pytest.raises(UsageError, match="blue"):
        score(HYPOTHESES, REFERENCES, metrics=["blue"])


def test_the_language_that_a_metric_needs_is_named_as_an_argument():
    with pytest.raises(UsageError) as caught:
        score(HYPOTHESES, REFERENCES, metrics=["bleu-paper"])
    assert caught.value.hint == 'name it, for example `tgt_lang="de"`'


def test_json_in_place_of_text_is_refused():
    objects = [f'{{"schema": 1, "text": "{line}"}}' for line in HYPOTHESES]
    with pytest.raises(DataError, match="hypotheses: each line is a JSON object"):
        score(objects, REFERENCES)


def test_different_numbers_of_lines_are_refused():
    with pytest.raises(DataError, match="the hypotheses: 3, reference 1: 2"):
        score(HYPOTHESES, REFERENCES[:2])
    with pytest.raises(DataError, match="nothing to score: no lines in"):
        score([], [])
    with pytest.raises(UsageError, match="no reference"):
        score(HYPOTHESES)


def test_notes_say_what_makes_scores_too_low():
    """The command warns of the same; in Python nothing is printed."""
    words = ["été", "naïve", "forêt", "château", "garçon", "leçon", "élève"]
    lines = [
        f"{words[i % 7]} {words[i * 3 % 5]} l'{words[i % 4]} {100 + 37 * i} {words[i * i % 7]}"
        for i in range(60)
    ]
    assert score(lines, lines)["bleu"].notes == ()
    decomposed = [normalize("NFD", line) for line in lines]
    results = score(lines, decomposed, metrics=["bleu", "chrf"])
    (note,) = results["bleu"].notes
    assert note.startswith("60 lines of `reference 1` and of the hypotheses have different Unicode")
    assert 'unicodedata.normalize("NFC", line)' in note
    assert results["chrf"].notes == results["bleu"].notes
    (note,) = score(lines[1:], lines[:-1])["bleu"].notes
    assert "seem to have their lines in different orders (shifted by 1 line)" in note
    (note,) = score(lines, lines, [line.replace(" l", " \u200bl") for line in lines])["bleu"].notes
    assert note.startswith("60 lines of `reference 2`")
    assert "U+200B" in note
    (note,) = score(lines, [line.replace("'", "\u2019") for line in lines])["bleu"].notes
    assert "write apostrophes in different ways" in note
