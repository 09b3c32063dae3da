"""Abbreviations and ordinal numbers that are learnt from the full stops of training text."""

from nmt_cli.data.sentences.learning import StopCounts
from nmt_cli.data.sentences.splitter import SentenceSplitter


def texts(splitter: SentenceSplitter, line: str) -> list[str]:
    return [sentence.text for sentence in splitter.split(line)]


def learnt(lines: list[str], language: str = "xx") -> SentenceSplitter:
    counts = StopCounts()
    words: dict[str, int] = {}
    counts.add(lines)
    for word in " ".join(lines).split():
        words[word] = words.get(word, 0) + 1
    return counts.splitter(language, words)


def test_abbreviations_are_learnt_from_text_that_goes_on_in_lower_case() -> None:
    lines = [f"das ist rd. so {number} mal gut." for number in range(5)] + ["Es ist gut."] * 5
    splitter = learnt(lines)
    assert splitter.abbreviations == {"rd"}
    assert texts(splitter, "Es sind rd. Zehn da. Gut.") == ["Es sind rd. Zehn da.", "Gut."]
    assert texts(SentenceSplitter("xx"), "Es sind rd. Zehn.") == ["Es sind rd.", "Zehn."]


def test_titles_are_learnt_where_a_word_nearly_always_has_its_full_stop() -> None:
    lines = [f"Wir sahen Abg. Nummer {number}." for number in range(5)]
    lines += [f"Es war Tag. Der {number}." for number in range(5)] + ["Ein Tag am Meer"] * 5
    splitter = learnt(lines)
    assert splitter.titles == {"abg"}
    assert texts(splitter, "Es kam Abg. Der. Am Tag. Nun") == ["Es kam Abg. Der.", "Am Tag.", "Nun"]


def test_ordinals_are_learnt_from_numbers_within_lines() -> None:
    dates = [f"Am {day}. Mai" for day in range(1, 9)]
    assert learnt(dates).ordinals is learnt([date.lower() for date in dates]).ordinals is True
    assert learnt([f"Es sind {day}." for day in range(1, 9)]).ordinals is False
    assert learnt(["Am Ende"]).ordinals is None


def test_ordinals_need_enough_numbers_and_a_share_within_lines() -> None:
    dates, counts = [f"Am {day}. Mai" for day in range(1, 4)], [f"Es sind {day}." for day in "12"]
    assert learnt(dates[:2]).ordinals is None
    assert learnt(dates).ordinals is True
    assert learnt(dates[:2] + counts).ordinals is False
    assert learnt(dates + counts * 10).ordinals is False


def test_numbers_are_neither_abbreviations_nor_titles() -> None:
    for month in ("mai", "Mai"):
        splitter = learnt([f"Am {day}. {month}" for day in range(1, 9)])
        assert splitter.abbreviations == splitter.titles == set()


def test_abbreviations_are_learnt_before_numbers_and_behind_brackets() -> None:
    assert learnt(["es gilt par. 5 hier"] * 3).abbreviations == {"par"}
    assert learnt(["es sind (rd. (so gut"] * 3).abbreviations == {"rd"}


def test_abbreviations_are_learnt_from_a_count_and_a_share_of_the_word() -> None:
    line = "das ist Rd. so gut"
    assert learnt([line] * 2).abbreviations == set()
    assert learnt([line] * 2 + ["das ist Rd. So gut"]).abbreviations == set()
    assert learnt([line] * 3 + ["das Rd ist gut"] * 12).abbreviations == {"rd"}
    assert learnt([line] * 3 + ["das Rd ist gut"] * 13).abbreviations == set()


def test_marks_alone_ellipses_and_long_words_are_no_abbreviations() -> None:
    for line in ("das haus . und so", "nun ja.. wir gehen", "das war irgendwie. so gut"):
        splitter = learnt([line] * 5)
        assert splitter.abbreviations == splitter.titles == set()


def test_titles_are_short_and_rarely_stand_without_their_full_stop() -> None:
    line = "Wir sahen Abg. Nummer"
    assert learnt([line] * 5).titles == {"abg"}
    for other in ("Das ABG gilt", "Das Abg gilt", "das abg gilt", "Es war Abg."):
        assert learnt([line] * 5 + [other]).titles == set()
    assert learnt(["Wir sahen Ratsam. Nummer"] * 5).titles == set()


def test_counts_of_spans_add_up() -> None:
    lines = ["das ist rd. so gut.", "Wir sahen Abg. Nummer 5.", "Am 3. Mai"] * 2
    first, second, whole = StopCounts(), StopCounts(), StopCounts()
    first.add(lines[:3])
    second.add(lines[3:])
    first.merge(second)
    whole.add(lines)
    assert first == whole
    assert (whole.before_lower, whole.before_upper) == ({"rd": 2}, {"abg": 2, "0": 2})
    assert whole.ending == {"gut": 2, "0": 2}
