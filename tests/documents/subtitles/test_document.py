"""Sentences over several cues: joined for the translation, and cut into their cues again."""

import pysubs2
import pytest
from document_samples import ASS, SRT, each_text, opened, tags_last

from nmt_cli.data.markup.marked_text import MarkedText, Tag, Text, plain_text
from nmt_cli.documents.subtitles.cue_text import CUT, LINE_LENGTH


def srt(*texts: str, pause: float = 0.1) -> str:
    cues = []
    for number, text in enumerate(texts):
        start = number * (2 + pause)
        times = " --> ".join(f"00:00:{each:06.3f}".replace(".", ",") for each in (start, start + 2))
        cues.append(f"{number + 1}\n{times}\n{text}\n")
    return "\n".join(cues)


def texts_of(data: bytes) -> list[str]:
    return [event.text for event in pysubs2.SSAFile.from_string(data.decode(), "srt")]


def sentences(*texts: str, pause: float = 0.1) -> list[str]:
    segments = opened(srt(*texts, pause=pause), "subtitles").segments
    return [plain_text(segment) for segment in segments]


def test_cues_of_one_sentence_are_one_segment() -> None:
    assert sentences("I think", "that it is", "late.", "Go home.") == [
        "I think that it is late.", "Go home.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "texts",
    [
        ("It is late.", "go home"),
        ("It is late", "Go home"),
        ("- It is\n- late", "and dark"),
        ("It is late!", "and dark"),
        ("[music]", "and dark"),
    ],
)
def test_cues_of_different_sentences_are_not_joined(texts: tuple[str, str]) -> None:
    parts = [line.removeprefix("- ") for text in texts for line in text.split("\n")]
    assert sentences(*texts) == parts


def test_cues_after_a_pause_are_not_joined() -> None:
    assert sentences("I think", "that it is late.", pause=3) == ["I think", "that it is late."]


def test_at_most_five_cues_are_joined() -> None:
    assert [len(text.split()) for text in sentences(*["and"] * 12)] == [5, 5, 2]


def test_cut_stands_where_the_translator_put_it() -> None:
    document = opened(srt("I think", "that it is late."), "subtitles")
    translation: MarkedText = (Text("Es ist spät, "), CUT, Text("denke ich."))
    assert texts_of(document.render([translation])) == ["Es ist spät,", "denke ich."]


@pytest.mark.parametrize(
    "translation",
    [
        (Text("Ich glaube, dass es schon spät ist."), CUT),
        (CUT, Text("Ich glaube, dass es schon spät ist.")),
        (Text("Ich glaube, dass es schon spät ist."),),
        (Text("Ich glaube, dass es schon spät "), CUT, Text("ist.")),
    ],
    ids=["at the end", "at the start", "lost", "almost nothing left"],
)
def test_cut_in_a_useless_place_is_replaced_by_shares(translation: MarkedText) -> None:
    document = opened(srt("I believe that", "it is late now."), "subtitles")
    assert texts_of(document.render([translation])) == ["Ich glaube, dass", "es schon spät ist."]


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ((Text("L’agent de l’ "), CUT, Text("entrée ici.")), ["L’agent de", "l’entrée ici."]),
        ((Text("L’agent (d’"), CUT, Text("entrée) est.")), ["L’agent", "(d’entrée) est."]),
        (
            (Text("Il dit <l'agent> dell' "), Tag("<i>", "open", "i"), CUT, Text("acqua."),
             Tag("</i>", "close", "i")),
            ["Il dit <l'agent>", "dell'<i>acqua.</i>"],
        ),
        # Nothing is left before the cut, so that it is cut by shares.
        ((Text("L’ "), CUT, Text("entrée de la date.")), ["L’entrée de", "la date."]),
        ((Text("Il voit l’ auto ici."),), ["Il voit", "l’ auto ici."]),
        ((Text("the dogs’ "), CUT, Text("house is here")), ["the dogs’", "house is here"]),
    ],
)  # fmt: skip
def test_no_cue_ends_with_an_elided_word(translation: MarkedText, expected: list[str]) -> None:
    document = opened(srt("I believe that", "it is late now."), "subtitles")
    written = document.render([translation]).decode().splitlines()
    assert [written[2], written[6]] == expected


def test_no_line_ends_with_an_elided_word() -> None:
    document = opened(srt("I see\nit"), "subtitles")
    translation = (Text("Je l’ "), Tag("<i>", "open", "i"), Text("entrée."))
    written = document.render([(*translation, Tag("</i>", "close", "i"))]).decode()
    assert written.splitlines()[2:] == ["Je", "l’ <i>entrée.</i>"]
    assert b"the dogs\xe2\x80\x99\nhouse" in document.render([(Text("the dogs’ house"),)])


def test_more_cues_than_words_keep_their_number_and_times() -> None:
    data = srt("and so", "it went", "on")
    document = opened(data, "subtitles")
    written = document.render([(Text("Weiter."),)]).decode()
    assert len(pysubs2.SSAFile.from_string(written, "srt")) == 3
    assert [line for line in written.split("\n") if "-->" in line] == [
        line for line in data.split("\n") if "-->" in line
    ]


def test_times_and_indices_are_unchanged_whatever_is_translated() -> None:
    document = opened(SRT, "subtitles")
    for words in ("", "x", "two words", "a --> b", "1\n00:00:01,000 --> 00:00:02,000\nnew\n\n2"):
        for segments in (
            each_text(document.segments, lambda _, words=words: words),
            [tags_last(segment, lambda _, words=words: words) for segment in document.segments],
        ):
            written = document.render(segments).decode()
            times = [line for line in written.split("\n") if "-->" in line]
            assert times == [line for line in SRT.split("\n") if "-->" in line]


def test_lines_of_a_cue_are_balanced() -> None:
    document = opened(srt("one two three four\nfive six"), "subtitles")
    long = "This is a much longer translation than the source was, but in two lines."
    [text] = texts_of(document.render([(Text(long),)]))
    first, second = text.split("\\N")
    assert max(len(first), len(second)) <= LINE_LENGTH
    assert f"{first} {second}" == long
    three = opened(srt("one\ntwo\nthree"), "subtitles")
    assert texts_of(three.render([(Text("eins zwei drei vier fünf sechs"),)])) == [
        "eins zwei\\Ndrei vier\\Nfünf sechs"
    ]


def test_tag_over_two_cues_is_closed_in_each() -> None:
    document = opened(srt("I <i>think", "that</i> it is late."), "subtitles")
    [segment] = document.segments
    [changed] = each_text([segment], str.upper)
    written = document.render([changed]).decode()
    assert "I <i>THINK</i>\n" in written
    assert "<i>THAT</i> IT IS LATE." in written


def test_marks_at_the_start_of_a_cue_stay_there() -> None:
    document = opened(srt("{\\an8}I think", "{\\an8}that it is late."), "subtitles")
    [segment] = document.segments
    assert not any(isinstance(piece, Tag) and piece != CUT for piece in segment)
    written = document.render([(Text("Ich denke, dass es spät ist."),)]).decode()
    assert written.count("\n{\\an8}") == 2


def test_speakers_of_one_cue_are_translated_apart() -> None:
    document = opened(srt("- Who is it?\n- It is me."), "subtitles")
    assert [plain_text(segment) for segment in document.segments] == ["Who is it?", "It is me."]
    assert document.places == ["cue 1", "cue 1"]


@pytest.mark.parametrize(
    "text",
    [
        "<i>- Who is it?</i>", "<i>- Who is it?</i>\n- It is me.",
        "<i>- Who is it?</i>\n<i>- It is me.</i>", "<font color=\"#ff0\">- Who is it?</font>",
        "- <i>Who is it?</i>", "<i>- Who is it?\n- It is me.</i>", "{\\i1}- Who is it?{\\i0}",
    ],
)  # fmt: skip
def test_a_dash_behind_a_tag_is_kept(text: str) -> None:
    document = opened(srt(text), "subtitles")
    shown = [plain_text(segment).strip() for segment in document.segments]
    assert shown == (["Who is it?", "It is me."] if "me" in text else ["Who is it?"])
    written = document.render(each_text(document.segments, str.upper)).decode()
    expected = text.replace("Who is it", "WHO IS IT").replace("It is me", "IT IS ME")
    assert f"\n{expected}\n" in written


def test_a_line_below_a_dash_belongs_to_its_speaker() -> None:
    text = "- I think that\nit is late.\n- No.\nIt is not"
    document = opened(srt(text), "subtitles")
    shown = [" ".join(plain_text(segment).split()) for segment in document.segments]
    assert shown == ["I think that it is late.", "No. It is not"]
    written = document.render(each_text(document.segments, str.upper)).decode()
    begins = [line.startswith("- ") for line in written.splitlines()[2:]]
    assert begins == [True, False, True, False]
    dash_in_the_middle = "Is it late?\n- It is, and\nit is dark"
    document = opened(srt(dash_in_the_middle), "subtitles")
    assert [plain_text(segment).split()[0] for segment in document.segments] == ["Is", "It"]


def test_signs_of_other_styles_are_not_joined() -> None:
    head = ASS[: ASS.index("Comment:")]
    line = "Dialogue: 0,0:00:0{0}.00,0:00:0{1}.00,{2},,0,0,0,,{3}\n"
    same = head + line.format(1, 2, "A", "I think") + line.format(2, 3, "A", "it is.")
    other = same.replace("0:00:03.00,A", "0:00:03.00,B")
    assert len(opened(same, "subtitles").segments) == 1
    assert len(opened(other, "subtitles").segments) == 2
