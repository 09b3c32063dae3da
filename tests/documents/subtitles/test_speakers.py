"""Labels of speakers are kept at their lines; items of lists over several cues stay apart."""

import pytest
from document_samples import ASS, each_text, opened
from test_document import sentences, srt


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["JUDGE: It is late."], ["It is late."]),
        (["JUDGE (whispering): It is\nlate."], ["It is late."]),
        (["JUDGE:\nIt is late."], ["It is late."]),
        (["Is it late?\nJUDGE: It is."], ["Is it late?", "It is."]),
        (["Is it\nJUDGE: Yes"], ["Is it", "Yes"]),
        (["- JUDGE: Who is it?\n- MR. O’HARA: It is me."], ["Who is it?", "It is me."]),
        (["<i>JUDGE: It is late.</i>"], ["It is late."]),
        (["<b>JUDGE:</b> It is late."], ["It is late."]),
        # The sentence goes on in the next cue, but not behind the label there.
        (["JUDGE: I think", "that it is late."], ["I think that it is late."]),
        (["I think that", "JUDGE: it is late."], ["I think that", "it is late."]),
        (["It is.\nJUDGE: I think", "that it is late."], ["It is.", "I think", "that it is late."]),
        (["JUDGE:", "it is late."], ["it is late."]),
        # No labels.
        (["The JUDGE: it is late."], ["The JUDGE: it is late."]),
        (["Judge: it is late."], ["Judge: it is late."]),
        (["IT IS:LATE in the house."], ["IT IS:LATE in the house."]),
        (["A MAN OF THE COURT: it is late now."], ["A MAN OF THE COURT: it is late now."]),
        (["JUDGE: IT IS LATE."], ["JUDGE: IT IS LATE."]),
    ],
)
def test_labels_of_speakers_are_kept_at_their_lines(texts: list[str], expected: list[str]) -> None:
    assert [" ".join(text.split()) for text in sentences(*texts)] == expected
    document = opened(srt(*texts), "subtitles")
    written = document.render(each_text(document.segments, str.upper)).decode()
    shown = [line.upper().replace("</I>", "</i>") for line in "\n".join(texts).splitlines()]
    lines = [line for line in written.splitlines() if line and line[0] not in "0123456789"]
    assert [line.upper().replace("</I>", "</i>") for line in lines] == shown


def test_labels_of_speakers_in_ass_files_are_kept() -> None:
    head = ASS[: ASS.index("Comment:")]
    line = "Dialogue: 0,0:00:01.00,0:00:02.00,A,,0,0,0,,{\\i1}JUDGE:{\\i0} it is\\NANNA: no it is"
    document = opened(head + line, "subtitles")
    written = document.render(each_text(document.segments, lambda _: "x y")).decode()
    assert written.endswith("{\\i1}JUDGE:{\\i0} x y\\NANNA: x y")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["The employer shall", "(a) keep a record", "of all dogs; and", "(b) send it."],
            ["The employer shall", "keep a record of all dogs; and", "send it."],
        ),
        (["You need", "1. a dog", "2. a cat"], ["You need", "a dog", "a cat"]),
        (["You need", "• a dog", "• a cat"], ["You need", "a dog", "a cat"]),
        # These are no lists. The marks are kept at the beginnings of their cues.
        (["as in section", "(a) of the law"], ["as in section of the law"]),
        (
            ["as in section", "(a) of the law and", "its part", "(3)"],
            ["as in section of the law and its part (3)"],
        ),
    ],
)
def test_items_of_a_list_over_several_cues_are_not_joined(
    texts: list[str], expected: list[str]
) -> None:
    assert sentences(*texts) == expected
