"""Nasty text through a translator: a line is a line, and nothing in it is taken for a command."""

import dataclasses
import os
import resource
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from faults.support import nasty_lines
from faults.support.forked import ended, start
from faults.support.letters import check_line, copying_translator, learnt_subwords
from faults.tally import fault
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.cleaning.clean import Cleaning
from nmt_cli.data.cleaning.repairs import Repaired, repair_sides
from nmt_cli.data.subwords.segmenters import BOS, EOS, PAD, Kind
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.splitting import split_line
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator

KINDS: tuple[Kind, ...] = ("bpe", "unigram", "wordpiece", "bytes", "chars")
REAL_TEXT = Path(__file__).resolve().parents[4] / "shared" / "data" / "text"
SPECIAL_LOOKS = list(nasty_lines.LOOK_ALIKES.values())


@pytest.fixture(scope="module")
def translator() -> Translator:
    config = byte_config()
    return Translator(byte_model(config), config, byte_subwords())


def greedy(translator: Translator, lines: Sequence[str]) -> list[Translation]:
    search = dataclasses.replace(translator.config.search, beam=1)
    return list(translator.translate(lines, search=search))


def same(line: str) -> str:
    """What a translator that copies makes of a line: its text, normalised."""
    subwords = byte_subwords()
    (text,) = subwords.decode_target(subwords.encode_source([line]))
    return text.strip()


@fault("T1")
@pytest.mark.parametrize("name", nasty_lines.BLANK)
def test_blank_line_is_not_translated_by_the_model(translator, monkeypatch, name: str) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the model was called")

    monkeypatch.setattr(ReferenceDecoder, "admit", never)
    (translation,) = translator.translate([nasty_lines.BLANK[name]])
    assert (translation.text, translation.flags, len(translation.hypotheses)) == (
        "",
        ("empty",),
        1,
    )


@fault("T4")
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_ids_decode_to_one_line(kind: Kind, data: st.DataObject) -> None:
    subwords = learnt_subwords(kind)
    ids = data.draw(st.lists(st.integers(0, subwords.tgt_size - 1), max_size=30))
    (line,) = subwords.decode_target([ids])
    check_line(line)


@fault("T7")
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_byte_subwords_of_a_model_never_break_a_line(kind: Kind, checks) -> None:
    subwords = learnt_subwords(kind, byte_fallback=True)
    pieces = subwords.target_pieces(range(subwords.tgt_size))
    spelt = {byte: pieces.index(f"<0x{byte:02X}>") for byte in range(256)}
    for text in nasty_lines.CONTROLS.values():
        (line,) = subwords.decode_target([[spelt[byte] for byte in text.encode()]])
        check_line(line)
        checks()
    for name, mark in {**nasty_lines.SEPARATORS, "LF": 0x0A}.items():
        ids = [spelt[byte] for byte in f"a{chr(mark)}b".encode()]
        assert subwords.decode_target([ids]) == ["a b"], name
        checks()
    for bad in nasty_lines.BROKEN.values():
        (line,) = subwords.decode_target([[spelt[byte] for byte in bad]])
        check_line(line)
        checks()


@fault("T7")
@pytest.mark.parametrize("name", nasty_lines.CONTROLS)
def test_control_characters_are_removed(name: str) -> None:
    copying, _ = copying_translator()
    (translation,) = copying.translate([nasty_lines.CONTROLS[name]])
    check_line(translation.text)
    assert "failed" not in translation.flags


@fault("T8")
@pytest.mark.parametrize("kind", KINDS)
@given(line=st.text() | st.lists(st.sampled_from(SPECIAL_LOOKS)).map("".join))
def test_text_never_encodes_to_special_ids(kind: Kind, line: str) -> None:
    subwords = learnt_subwords(kind)
    (ids,) = subwords.encode_source([line])
    assert ids[-1] == EOS
    assert not {PAD, BOS, EOS} & set(ids[:-1])
    assert max(ids) < subwords.src_size


@fault("T8")
@pytest.mark.parametrize("kind", KINDS)
def test_text_like_special_symbols_round_trips(kind: Kind, checks) -> None:
    subwords = learnt_subwords(kind)
    for text in nasty_lines.LOOK_ALIKES.values():
        (ids,) = subwords.encode_source([text])
        (again,) = subwords.decode_source([ids])
        plain = " ".join(text.replace("\u2581", "_").replace("\u2047", "??").split())
        # What has no subword is shown as unknown, and no space gets lost or comes to be.
        assert [len(word) > 0 for word in again.split()] == [True] * len(plain.split())
        if kind == "bytes":
            assert again == plain
        checks()


LONG = {
    "words": "word and another, ",
    "sentences": "A sentence is here. ",
    "one word": "z",
    "without spaces": "\u4e2d\u6587",
    "emoji": "\U0001f469\u200d\U0001f467",
    "accents": "e\u0301",
    "half flags": "\U0001f1e9",
}


def work(line: str) -> tuple[int, int, int]:
    """What a line costs: characters made into subwords, sources, and ids searched for."""
    translator, copying = copying_translator()
    encoded, real = [0], translator.subwords.encode_source

    def encode_source(lines: Sequence[str]) -> list[list[int]]:
        encoded[0] += sum(map(len, lines))
        return real(lines)

    translator.subwords.encode_source = encode_source  # type: ignore[method-assign]
    # A line without a letter would be copied.
    (translation,) = translator.translate([line], markup="keep" if has_letters(line) else "off")
    assert "split" in translation.flags or len(translation.sentences) > 1
    assert translation.text.replace(" ", "") == same(line).replace(" ", "")
    ids = sum(len(source.ids) for source in copying.sources)
    return encoded[0], len(copying.sources), ids


@fault("T9")
@pytest.mark.parametrize("name", LONG)
def test_translation_time_is_linear_in_line_length(name: str) -> None:
    unit = LONG[name]
    small, large = (work(unit * (size // len(unit))) for size in (10_000, 100_000))
    for ten, hundred in zip(small, large, strict=True):
        assert hundred <= 12 * ten


@fault("T9")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [".", "?!", ".'", ",", " - ", '..."'])
def test_cleaning_of_a_million_marks_is_linear(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    pieces = split_line(text, lambda some: list(map(len, some)), 1_000)
    assert sum(map(len, (piece.text for piece in pieces))) >= len(text.replace(" ", ""))


@pytest.mark.slow
@fault("T9")
def test_memory_for_a_line_of_a_megabyte_is_limited() -> None:
    line = "words and words and words, " * 40_000

    def measured() -> NoReturn:
        # Built in this process: after a fork, a translator gives itself a new search.
        translator, copying = copying_translator()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (translation,) = translator.translate([line])
        assert translation.text == line.strip()
        assert max(len(source.ids) for source in copying.sources) <= 41
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os._exit(0 if taken < 500_000 else 1)

    assert ended(start(measured)) == 0


@fault("T10")
@pytest.mark.parametrize("name", nasty_lines.DIRECTIONS)
def test_bidirectional_marks_are_kept_and_closed(name: str) -> None:
    text = nasty_lines.DIRECTIONS[name]
    copying, _ = copying_translator()
    (translation,) = copying.translate([text])
    check_line(translation.text)
    letters = [character for character in text if character.isalnum()]
    assert [character for character in translation.text if character.isalnum()] == letters
    (decoded,) = byte_subwords().decode_target([[4 + byte for byte in text.encode()]])
    for line in (translation.text, decoded):
        levels = 0
        for character in line:
            levels += character in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
            levels -= character in "\u202c\u2069"
            assert levels >= 0
        assert levels == 0
    if "closed" in name.split() and "never" not in name and "wrong" not in name:
        assert decoded == text


@fault("T11")
@pytest.mark.parametrize("name", nasty_lines.EMOJI)
def test_emoji_sequences_are_not_split(name: str) -> None:
    text = nasty_lines.EMOJI[name]
    translator, copying = copying_translator()
    assert [translation.text for translation in translator.translate([text], markup="off")] == [
        same(text)
    ]
    assert "\ufffd" not in same(text)
    # A long row of them is cut between two, not within one.
    copying.sources.clear()
    (results,) = translator.translate([text.replace(" ", "") * 60], markup="off")
    assert "\ufffd" not in results.text
    pieces = translator.subwords.decode_source([source.ids for source in copying.sources])
    for piece in pieces:
        first = piece[:1]
        if name not in ("a lone skin tone", "a joiner alone"):
            assert not "\U0001f3fb" <= first <= "\U0001f3ff"
        if "flag" in name and name != "half a flag":
            assert sum("\U0001f1e6" <= character <= "\U0001f1ff" for character in piece) % 2 == 0
            assert first in ("\U0001f1e9", "\U0001f1eb", "\U0001f3f4", "\U0001f3f3", "\U0001f308")


WRITTEN_ALIKE = [
    ("caf\u00e9", "cafe\u0301"),
    ("\u00c5ngstr\u00f6m", "A\u030angstro\u0308m"),
    ("\uff21\uff22\uff23 \uff11", "ABC 1"),
    ("\uff76\uff9e", "\u30ac"),
    ("\ufb01sh", "fish"),
    ("\u1112\u1161\u11ab", "\ud55c"),
    ("\u212b", "\u00c5"),
    ("x\u00b2", "x2"),
    ("so\u2026", "so..."),
    ("\U0001d400\U0001d401", "AB"),
    ("\u0958", "\u0915\u093c"),
]


@fault("T12")
@pytest.mark.parametrize("pair", WRITTEN_ALIKE, ids=ascii)
def test_equivalent_unicode_forms_translate_alike(translator, pair: tuple[str, str]) -> None:
    composed, decomposed = greedy(translator, pair)
    assert composed.text == decomposed.text
    assert composed.score == decomposed.score
    for kind in KINDS:
        first, second = learnt_subwords(kind).encode_source(pair)
        assert first == second


def _everything() -> Iterator[tuple[str, str]]:
    yield from nasty_lines.TEXTS.items()
    for name, data in nasty_lines.BROKEN.items():
        yield name, data.decode("utf-8", "replace")


STRANGE = {**nasty_lines.SCRIPTS, **nasty_lines.ODD}


@fault("T13")
@pytest.mark.parametrize("name", STRANGE)
def test_unknown_characters_cost_no_more_than_their_bytes(translator, name: str) -> None:
    text = STRANGE[name]
    (result,) = greedy(translator, [text])
    check_line(result.text)
    assert not {"failed", "empty"} & set(result.flags) or not same(text)
    size = len(unicodedata.normalize("NFKC", text).encode())
    for kind in KINDS:
        (ids,) = learnt_subwords(kind).encode_source([text])
        assert len(ids) <= size + 3


@fault("T13")
def test_too_long_grapheme_cluster_is_split(checks) -> None:
    config = byte_config({"data.max_length": 1})
    translator, copying = copying_translator(config)
    for text in ("\ufdfa\u0301", "a" + "\u0301\u0300" * 500, "\ufdfa" * 9, "\U0001f469\u200d" * 50):
        (translation,) = translator.translate([text], markup="off")
        assert translation.text.replace(" ", "") == same(text).replace(" ", "")
        checks()
    assert max(len(source.ids) for source in copying.sources) < 40


INVISIBLE = {
    **nasty_lines.WAYS_TO_WRITE, **nasty_lines.CONTROLS,
    "a mark within": "a\ufeffb", "Thai words": "\u0e04\u0e19\u200b\u0e44\u0e17\u0e22",
    "a no-break space": "a\u00a0b", "narrow spaces": "a\u202f\u2009b",
}  # fmt: skip


@fault("T14")
@pytest.mark.parametrize("name", INVISIBLE)
def test_source_is_cleaned_like_training_text(name: str) -> None:
    text = INVISIBLE[name]
    (cleaned,) = Cleaning(False, "en", "de").clean("src", [text])
    # What `nmt prepare` repairs by default.
    (clean,), _ = repair_sides([cleaned], [""], Repaired())
    for kind in ("bytes", "bpe"):
        subwords = learnt_subwords(kind)
        config = byte_config({"data.max_length": 2_000})
        translator, copying = copying_translator(config, subwords)
        list(translator.translate([text], markup="off"))
        assert [list(source.ids) for source in copying.sources] == subwords.encode_source([clean])


@fault("T13", "T7")
@pytest.mark.parametrize("beam", [1, 2])
def test_any_line_gives_one_line_without_affecting_others(translator, beam: int, checks) -> None:
    plain = ["some words", "the last line"]
    lines = [plain[0], *(text for _, text in _everything()), plain[1]]
    search = dataclasses.replace(translator.config.search, beam=beam)
    translations = list(translator.translate(lines, search=search))
    assert [result.source for result in translations] == lines
    alone = [translation.text for translation in translator.translate(plain, search=search)]
    assert [translations[0].text, translations[-1].text] == alone
    assert len({result.text for result in translations}) > 90
    for result in translations:
        check_line(result.text)
        assert "failed" not in result.flags
        checks()


@fault("T13")
@pytest.mark.skipif(not REAL_TEXT.is_dir(), reason="there is no text of others here")
def test_naughty_strings_are_translated(translator, checks) -> None:
    lines = list(read_lines(REAL_TEXT / "blns.txt"))
    search = dataclasses.replace(translator.config.search, beam=1, max_length=12)
    translations = list(translator.translate(lines, search=search))
    assert len(translations) == len(lines)
    for result in translations:
        check_line(result.text)
        checks()
    copying, _ = copying_translator(byte_config({"data.max_length": 5_000}))
    for path in sorted((REAL_TEXT / "flores200-devtest").glob("*.devtest")):
        lines = list(read_lines(path))[::10]
        whole = copying.translate(lines, sentences="line")
        assert [translation.text for translation in whole] == list(map(same, lines))
        # Sentences without a space between them get one.
        for line, translation in zip(lines, copying.translate(lines), strict=True):
            assert translation.text.replace(" ", "") == same(line).replace(" ", "")
        checks(len(lines))
