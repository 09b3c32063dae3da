"""The glossary: reading its file, errors with line numbers, and finding terms in text."""

import subprocess
from pathlib import Path

import pytest

from nmt_cli.data.lexical.glossary import Entry, Glossary, read_glossaries, read_glossary
from nmt_cli.errors import DataError, NoInputError


def entries(*sources: str) -> list[Entry]:
    return [Entry(source, (source.upper(),), line) for line, source in enumerate(sources, 1)]


def find_terms(text: str, *sources: str, spaced: bool = True) -> list[str]:
    return [entry.source for entry in Glossary(entries(*sources), spaced=spaced).find(text)]


def test_read_glossary(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(
        "dog\tHund|Hündin | Hund\n\nhot dog\tHotdog\r\n  New  York \t New York\n", "utf-8"
    )
    assert read_glossary(path) == (
        Entry("dog", ("Hund", "Hündin"), 1, str(path)),
        Entry("hot dog", ("Hotdog",), 3, str(path)),
        Entry("New  York", ("New York",), 4, str(path)),
    )
    path.write_text("|\tPipe\n", "utf-8")
    assert read_glossary(path) == (Entry("|", ("Pipe",), 1, str(path)),)
    (tmp_path / "empty.tsv").write_text("")
    assert read_glossary(tmp_path / "empty.tsv") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dog Hund\n", "line 1: 1 column, 2 are needed"),
        ("dog\tHund\ncat\tKatze\tKater\n", "line 2: 3 columns"),
        ("dog\tHund\n\n\tKatze\n", "line 3: the source term is empty"),
        ("dog\t\n", "line 1: a target form is empty"),
        ("dog\tHund||Hündin\n", "line 1: a target form is empty"),
        ("dog\tHund\ncat|kitty\tKatze\n", "line 2: `cat|kitty` has a `|`, which separates target"),
        (
            "dog\tHund\ncat\tKatze\ndog\tKöter\n",
            "line 3: `dog` is in line 1 too, with other forms: put all of them in one line",
        ),
        ("x\na\tb\ny\n", "line 1: 1 column, 2 are needed; line 3: 1 column"),
        ("x\n" * 20, "and 15 more"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "terms.tsv").write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        read_glossary(tmp_path / "terms.tsv")
    assert words in caught.value.message
    assert "terms.tsv`" in caught.value.message
    assert "tab" in caught.value.hint


def test_repeated_lines_count_once(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("dog\tHund|Köter\ncat\tKatze\ndog\tHund|Köter\n", "utf-8")
    assert [(entry.source, entry.line) for entry in read_glossary(tmp_path / "terms.tsv")] == [
        ("dog", 1), ("cat", 2)
    ]  # fmt: skip


def test_missing_file_and_invalid_utf8_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NoInputError):
        read_glossary(tmp_path / "nothing")
    (tmp_path / "latin").write_bytes(b"a\tb\nc\t\xfc\n")
    with pytest.raises(DataError, match="line 2"):
        read_glossary(tmp_path / "latin")


def test_find_matches_whole_words_only() -> None:
    assert find_terms("A dog, a (dog) and dogs.", "dog") == ["dog"]
    assert find_terms("dogs hotdog dog's-body", "dog") == ["dog"]
    assert find_terms("dogs hotdog", "dog") == []
    assert find_terms("größer", "gr", "öß") == []


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("लिव्र", "लिव्रेस"),
        ("न्त", "साउतेन्त"),
        ("क्हि", "क्हिएं"),
        ("होम्\u200cमे", "होम्\u200cमेस"),
        ("होम्", "होम्\u200cमे"),
        ("मे", "होम्\u200cमे"),
        ("\u07d3\u07cf", "\u07d3\u07cf\u07eb\u07df"),  # N'Ko, with a tone mark
        ("cafe", "cafe\u0301s"),
        ("caf", "cafe\u0301"),
        ("ते", "साउ\u0941तेन"),
    ],
)
def test_marks_and_joiners_are_parts_of_words(term: str, word: str) -> None:
    assert find_terms(f"a {word} b", term) == []
    assert find_terms(f"a {word} b", word) == [word]
    assert find_terms(f"a {term}, b", term) == [term]
    # A joiner at the end of a word joins nothing.
    assert find_terms(f"a {term}\u200c b", term) == [term]


def test_scripts_without_spaces_are_matched_within_text() -> None:
    for text, term in [
        ("ฉันรักแมวดำ", "แมว"),
        ("ខ្ញុំស្រឡាញ់ឆ្មា", "ឆ្មា"),
        ("我爱猫", "猫"),
        ("黒い猫がいる", "猫"),
    ]:
        assert find_terms(text, term, spaced=False) == [term]
    # Their marks divide text also in a language with spaces, as its words cannot be seen.
    assert find_terms("တူဝ်ယၢင်ႇ", "တူဝ်") == ["တူဝ်"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0958लम", "\u0915\u093cलम"),
        ("caf\u00e9", "cafe\u0301"),
        ("\u1e69a", "s\u0307\u0323a"),
        ("\uac01", "\u1100\u1161\u11a8"),
    ],
)
def test_terms_match_in_any_unicode_form(one: str, other: str) -> None:
    for term, word in [(one, other), (other, one)]:
        (match,) = Glossary(entries(term)).matches(f"é e\u0301 {word}, {word}s")
        text = f"é e\u0301 {word}, {word}s"
        assert text[match.begin : match.end] == word


def test_parts_of_composed_characters_are_no_terms() -> None:
    # The mark of か\u3099 makes another letter of it.
    assert find_terms("か\u3099", "か", spaced=False) == []
    assert find_terms("か\u3099", "が", spaced=False) == ["が"]
    # U+0F43 has no composed form.
    assert find_terms("\u0f43", "\u0f42", spaced=False) == []


def test_find_and_capital_letters() -> None:
    assert find_terms("The DOG and the Straße", "dog", "strasse") == ["dog", "strasse"]
    assert find_terms("The cpu", "CPU", "The") == ["The"]
    assert find_terms("us and US and Us", "US") == ["US"]
    assert find_terms("us and them", "US") == []
    # One capital letter in a term is enough.
    assert find_terms("a new york minute, the cpu", "New York", "the CPU") == []
    assert find_terms("The CPU, THE CPU, the CPU", "the CPU") == ["the CPU"]
    assert find_terms("The CPU", "the CPU") == []


def test_find_prefers_the_longest_term_and_returns_each_once() -> None:
    assert find_terms("a hot dog, a dog, a hot dog", "dog", "hot dog", "hot") == ["hot dog", "dog"]
    assert find_terms("New York City is not New York", "New York", "New York City") == [
        "New York City", "New York",
    ]  # fmt: skip
    assert find_terms("state of the art", "state of the union", "state") == ["state"]
    assert find_terms("e-mail me", "e-mail", "mail") == ["e-mail"]


def test_find_in_languages_without_spaces() -> None:
    assert find_terms("我喜欢北京大学", "北京", "北京大学", "大学", spaced=False) == ["北京大学"]
    assert find_terms("我喜欢北京", "北京") == []


def test_find_without_text_or_terms() -> None:
    assert find_terms("", "dog") == []
    assert find_terms("dog") == []


def test_find_among_terms_with_the_same_first_word() -> None:
    many = Glossary([Entry(f"word {n}", ("x",), n) for n in range(200)])
    assert [entry.line for entry in many.find("Word 17, word 180, word 17, word 200")] == [17, 180]


def test_several_glossaries_must_not_have_the_same_term(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("dog\tHund\ncat\tKatze\n")
    second.write_text("mouse\tMaus\n")
    assert [entry.source for entry in read_glossaries([first, second])] == ["dog", "cat", "mouse"]
    second.write_text("mouse\tMaus\ncat\tKater\n")
    with pytest.raises(DataError) as caught:
        read_glossaries([first, second])
    assert caught.value.message == f"`{second}`, line 2: `cat` is in line 2 of `{first}` too"


@pytest.mark.parametrize("separator", [";", ","])
def test_a_csv_file_is_refused_with_its_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("terms.csv").write_text(f'pump{separator}pompe\n"a hose"{separator}tuyau|boyau\n')
    with pytest.raises(DataError, match="line 1: 1 column, 2 are needed") as caught:
        read_glossary("terms.csv")
    command = caught.value.hint.partition("to convert it: ")[2]
    subprocess.run(command, shell=True, check=True)
    assert [entry[:2] for entry in read_glossary("terms.tsv")] == [
        ("pump", ("pompe",)), ("a hose", ("tuyau", "boyau")),
    ]  # fmt: skip
    Path("words.txt").write_text("pump\nhose\n")
    with pytest.raises(DataError) as caught:
        read_glossary("words.txt")
    assert "convert" not in caught.value.hint
