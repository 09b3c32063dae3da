"""Labels in their own tags before a sentence, which are segments of their own."""

import pytest
from document_samples import changed, each_text, opened

from nmt_cli.data.markup.marked_text import plain_text


@pytest.mark.parametrize(
    ("kind", "text", "segments", "expected"),
    [
        ("html", "<p>\n <b>Note 1:</b> A dog sleeps.</p>", ["Note 1:", "A dog sleeps."],
         "<p>\n <b>NOTE 1:</b> A DOG SLEEPS.</p>"),
        ("html", "<p><b>Q:</b> Who is it?<p><i>A:</i> A <b>cat</b>.", ["Who is it?", "A cat."],
         "<p><b>Q:</b> WHO IS IT?<p><i>A:</i> A <b>CAT</b>."),
        ("markdown", "**See also:** (a) a dog; (b) a cat\n", ["See also:", "a dog;", "a cat"],
         "**SEE ALSO:** (a) A DOG; (b) A CAT\n"),
        ("json", '{"a": "<b>Remarque :</b> a dog"}', ["Remarque :", "a dog"],
         '{"a": "<b>REMARQUE :</b> A DOG"}'),
        # No label, or nothing behind it.
        ("html", "<p><b>Note</b> a dog", ["Note a dog"], "<p><b>NOTE</b> A DOG"),
        ("html", "<p><b>He must keep:</b> a dog", ["He must keep: a dog"],
         "<p><b>HE MUST KEEP:</b> A DOG"),
        ("html", "<p>A <b>dog:</b> a cat", ["A dog: a cat"], "<p>A <b>DOG:</b> A CAT"),
        ("html", "<p><b>Dogs:</b>", ["Dogs:"], "<p><b>DOGS:</b>"),
        ("html", "<p><b>https:</b>//a dog", ["https://a dog"], "<p><b>HTTPS:</b>//A DOG"),
    ],
)  # fmt: skip
def test_labels_are_segments(kind: str, text: str, segments: list[str], expected: str) -> None:
    document = opened(text, kind)
    assert [plain_text(segment) for segment in document.segments] == segments
    assert document.render(document.segments).decode() == text
    assert changed(text, kind) == expected


def test_labels_in_subtitles_get_no_lines_of_the_words_behind_them() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n<b>Note 1:</b> A dog\nsleeps.\n"
    document = opened(cue, "subtitles")
    written = document.render(each_text(document.segments, str.upper)).decode()
    assert written.endswith("\n<b>NOTE 1:</b> A DOG\nSLEEPS.\n")
