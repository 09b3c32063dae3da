"""The glossary: what a file may hold, which line is wrong, and what a text triggers."""

from pathlib import Path

import pytest

from nmt_cli.data.lexical.glossary import Entry, Glossary, read_glossary
from nmt_cli.errors import DataError, NoInputError


def entries(*sources: str) -> list[Entry]:
    return [Entry(source, (source.upper(),), line) for line, source in enumerate(sources, 1)]


def found(text: str, *sources: str, spaced: bool = True) -> list[str]:
    return [one.source for one in Glossary(entries(*sources), spaced=spaced).find(text)]


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(
        "dog\tHund|Hündin | Hund\n\nhot dog\tHotdog\r\n  New  York \t New York\n", "utf-8"
    )
    assert read_glossary(path) == (
        Entry("dog", ("Hund", "Hündin"), 1),
        Entry("hot dog", ("Hotdog",), 3),
        Entry("New  York", ("New York",), 4),
    )
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
        ("dog\tHund\ncat\tKatze\ndog\tKöter\n", "line 3: `dog` is in line 1 too"),
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


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NoInputError):
        read_glossary(tmp_path / "nothing")
    (tmp_path / "latin").write_bytes(b"a\tb\nc\t\xfc\n")
    with pytest.raises(DataError, match="line 2"):
        read_glossary(tmp_path / "latin")


def test_whole_words_only() -> None:
    assert found("A dog, a (dog) and dogs.", "dog") == ["dog"]
    assert found("dogs hotdog dog's-body", "dog") == ["dog"]
    assert found("dogs hotdog", "dog") == []
    assert found("größer", "gr", "öß") == []


def test_case() -> None:
    assert found("The DOG and the Straße", "dog", "strasse") == ["dog", "strasse"]
    assert found("The cpu", "CPU", "The") == ["The"]
    assert found("us and US and Us", "US") == ["US"]
    assert found("us and them", "US") == []
    # One capital of a term is enough.
    assert found("a new york minute, the cpu", "New York", "the CPU") == []
    assert found("The CPU, THE CPU, the CPU", "the CPU") == ["the CPU"]
    assert found("The CPU", "the CPU") == []


def test_the_longest_term_first_and_each_once() -> None:
    assert found("a hot dog, a dog, a hot dog", "dog", "hot dog", "hot") == ["hot dog", "dog"]
    assert found("New York City is not New York", "New York", "New York City") == [
        "New York City", "New York",
    ]  # fmt: skip
    assert found("state of the art", "state of the union", "state") == ["state"]
    assert found("e-mail me", "e-mail", "mail") == ["e-mail"]


def test_languages_without_spaces() -> None:
    assert found("我喜欢北京大学", "北京", "北京大学", "大学", spaced=False) == ["北京大学"]
    assert found("我喜欢北京", "北京") == []


def test_nothing_triggers_nothing() -> None:
    assert found("", "dog") == []
    assert found("dog") == []


def test_terms_that_begin_alike() -> None:
    many = Glossary([Entry(f"word {n}", ("x",), n) for n in range(200)])
    assert [one.line for one in many.find("Word 17, word 180, word 17, word 200")] == [17, 180]
