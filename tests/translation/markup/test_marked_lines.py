"""Lines with marks from end to end, with untrained models: nothing is lost, whatever they say."""

import dataclasses
import json
import random
import re
from collections import Counter

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from marked_lines import html_sentence, random_string

from nmt_cli.data.markup.inline import is_marked, marks_of, parse_line
from nmt_cli.data.markup.kept import Kept, KeptNames
from nmt_cli.data.markup.marked_text import Placeholder, Tag, Text, raw_text, shown_text
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.lines.line_search import Request
from nmt_cli.translation.markup import results, window
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.projection import Projector, is_kept
from nmt_cli.translation.markup.separation import separated
from nmt_cli.translation.markup.stand_ins import StandIns
from nmt_cli.translation.result import copied_translation
from nmt_cli.translation.translator import Translator

LANGUAGES = ("en", "de")
LINE = "The <b>small</b> dog sleeps in {place}. She is at https://x.org/a?b=1!"


def make_translator(**settings: object) -> Translator:
    config = byte_config({"search.max_extra_length": 2, **settings})
    return Translator(byte_model(config), config, byte_subwords())


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make_translator()


def pairs_of(line: str) -> list[tuple[str, str]]:
    pieces = parse_line(line)
    return sorted((pieces[a].raw, pieces[b].raw) for a, b in tag_pairs(pieces).items())


def test_three_hundred_html_sentences_stay_well_formed_with_the_same_marks(
    translator: Translator,
) -> None:
    chooser = random.Random(5)
    lines = [html_sentence(chooser) for _ in range(300)]
    translations = translator.translate(lines, beam=1)
    kept = [
        marks_of(parse_line(translation.text)) == marks_of(parse_line(line))
        and pairs_of(translation.text) == pairs_of(line)
        for line, translation in zip(lines, translations, strict=True)
    ]
    assert kept.count(True) == 300
    assert [translation.source for translation in translations] == lines


def test_random_strings_keep_their_marks(translator: Translator) -> None:
    chooser = random.Random(6)
    # Control characters are removed from marks, too.
    lines = [clean_line(random_string(chooser)) for _ in range(200)]
    for line, translation in zip(lines, translator.translate(lines, beam=1), strict=True):
        assert "\n" not in translation.text
        if marks_of(parse_line(line)) != marks_of(parse_line(translation.text)):
            # Where marks cannot stand side by side, each is still there as it is written.
            assert all(raw in translation.text for raw in marks_of(parse_line(line)))
            assert "markup_moved" in translation.flags


def test_a_tag_around_a_term_of_the_glossary_goes_around_its_form(translator: Translator) -> None:
    constraints = Constraints(glossary={"small": ["Hund"]})
    lines = [f"The {word} <b>small</b> dog sleeps." for word in ("old", "white", "other", "seven")]
    found = [
        translation.text
        for translation in translator.translate(lines, beam=1, constraints=constraints)
    ]
    assert all("<b>Hund</b>" in text for text in found), found


def test_a_form_of_the_glossary_is_no_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = StandIns.choices
    chosen = []

    def recorded(self: StandIns, *given: object) -> list[list[str | None]]:
        chosen.append(choices(self, *given))
        return chosen[-1]

    monkeypatch.setattr(StandIns, "words", ("Anna", "Paris"))
    monkeypatch.setattr(StandIns, "choices", recorded)
    constraints = Constraints(glossary={"small": ["Anna"], "cat": ["Paris"]})
    translator = make_translator()
    translator.translate(["The small dog of {name}."], beam=1, constraints=constraints)
    translator.translate(["The dog of {name}."], beam=1, constraints=constraints)
    assert chosen == [[["Paris"]], [["Anna"], ["Paris"]]]


def test_lines_without_marks_are_translated_as_without_markup(translator: Translator) -> None:
    lines = ["The dog sleeps. She is at home!", "a < b", "5 * 3 * 2 % of it", "", "snake_case"]
    assert not any(is_marked(parse_line(line)) for line in lines)
    kept = translator.translate(lines)
    assert kept == translator.translate(lines, markup="off")
    # Beside lines with marks, too.
    beside = translator.translate([*lines, LINE])[: len(lines)]
    assert [each.hypotheses[0].ids for each in beside] == [each.hypotheses[0].ids for each in kept]


def test_markup_off_translates_the_line_as_it_is(translator: Translator) -> None:
    [translation] = translator.translate([LINE], markup="off")
    assert [sentence.source for sentence in translation.sentences] == [
        "The <b>small</b> dog sleeps in {place}.", "She is at https://x.org/a?b=1!",
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["{x}", "<br/>", " <b> {x} </b>, ", "**…**", "<td>-</td>"])
def test_line_of_marks_only_is_its_own_translation(translator: Translator, line: str) -> None:
    translation = translator.translate(line)
    assert (translation.text, translation.source, translation.flags) == (line, line, ())


def test_all_alternatives_have_the_marks(translator: Translator) -> None:
    translation = translator.translate(LINE, beam=4, n_best=4)
    assert len(translation.hypotheses) > 1
    for alternative in translation.hypotheses:
        assert marks_of(parse_line(alternative.text)) == marks_of(parse_line(LINE))
    assert translation.hypotheses[0].text == translation.text


def test_sentences_are_split_without_the_marks(translator: Translator) -> None:
    translation = translator.translate("<p>The dog sleeps.</p><p><i>She is in.</i></p>")
    assert [sentence.source for sentence in translation.sentences] == [
        "The dog sleeps.", "She is in.",
    ]  # fmt: skip
    first, second = translation.text.split("</p>")[:2]
    assert first.startswith("<p>")
    assert second.lstrip().startswith("<p><i>")


def test_json_has_the_marks_in_its_texts_and_placeholders_in_its_sentences(
    translator: Translator,
) -> None:
    document = json.loads(as_json_line(0, translator.translate(LINE)))
    assert document["source"] == LINE
    assert document["hypotheses"][0]["text"] == document["text"]
    assert "<b>" in document["text"]
    assert not any("<b>" in sentence["source"] for sentence in document["sentences"])


def test_placeholders_without_stand_ins_are_flagged(translator: Translator) -> None:
    assert "markup_moved" in translator.translate("The dog of {name} sleeps.").flags
    assert "markup_moved" not in translator.translate("<b>The dog sleeps.</b>").flags


@pytest.mark.parametrize(
    ("line", "kept", "lost"),
    [("{x} permit", "", True), ("{x} permit", "Wort ", False), ("{x} 12", "", False)],
)
def test_translation_without_the_words_of_its_line_is_flagged(
    translator: Translator, monkeypatch, line: str, kept: str, lost: bool
) -> None:
    """The stand-in of a placeholder is a word, of which nothing is seen in the end."""
    project = Projector.project

    def without_words(self: Projector, jobs) -> list:
        pieces = (*([Text(kept)] if kept else []), Placeholder("{x}"), Text("."))
        return [each._replace(pieces=pieces) for each in project(self, jobs)]

    monkeypatch.setattr(Projector, "project", without_words)
    for translation in translator.translate([line, f"<b>{line}</b>"]):
        assert ("sentences_lost" in translation.flags) is lost


def test_prefix_of_a_marked_line_is_without_its_tags(translator: Translator) -> None:
    [translation] = translator.translate(["The <b>dog</b>."], prefixes=["<i>Ab c"])
    words = "".join(piece.text for piece in parse_line(translation.text) if isinstance(piece, Text))
    assert words.startswith("Ab c")
    assert "<i>" not in translation.text


def test_prefix_of_a_plain_line_is_without_its_tags(translator: Translator) -> None:
    """Also where no other line has marks; in a prefix without tags, `<` is a sign of the text."""
    expected = translator.translate("The dog.", prefixes="Ab c").text
    assert translator.translate("The dog.", prefixes="Ab <i>c</i>").text == expected
    beside = translator.translate(["The dog.", "The <b>dog</b>."], prefixes=["Ab <i>c</i>", ""])
    assert beside[0].text == expected
    for prefix in ("a &amp; b", "Ab < c", "Ab {c}"):
        plain = translator.translate("The dog.", prefixes=prefix, markup="off").text
        assert translator.translate("The dog.", prefixes=prefix).text == plain


def test_second_try_keeps_the_marks(translator: Translator) -> None:
    [translation] = translator.translate([LINE], retry=True)
    assert marks_of(parse_line(translation.text)) == marks_of(parse_line(LINE))


def test_marked_texts_are_translated_piece_by_piece(translator: Translator) -> None:
    texts = [
        (Text("Tom & Ann", "Tom &amp; Ann"), Tag("{\\i1}", "empty"), Text(" sleep in {x}.")),
        (Tag("<w>", "open", "w"), Text("The dog"), Tag("</w>", "close", "w")),
        (Tag("<w/>", "empty", "w"),),
        (),
    ]
    seen: list[float] = []
    results = translator.translate_marked(texts, first=7, on_progress=seen.append)
    assert len(results) == 4
    for text, result in zip(texts, results, strict=True):
        wanted = (*text, Placeholder("{x}")) if text and "sleep" in str(text) else text
        assert marks_of(result.pieces) == marks_of(wanted)
        assert all(piece.raw is None for piece in result.pieces if isinstance(piece, Text))
        assert result.translation.source == shown_text(text)
        assert result.translation.text == raw_text(result.pieces)
    assert seen
    assert results[2].pieces == texts[2]
    assert is_kept(texts[1], results[1].pieces)
    plain = translator.translate("The dog")
    assert raw_text(results[1].pieces) == f"<w>{plain.text}</w>"
    search = dataclasses.replace(translator.config.search, markup="off")
    [off] = translator.translate_marked(texts[:1], search=search)
    assert marks_of(off.pieces) == {"{\\i1}": 1}


def test_numbers_are_kept_as_they_are_written_where_asked(translator: Translator) -> None:
    line = "I have 3 dogs for 12.50, <b>not</b> 7."
    kept = translator.translate(line, keep_numbers=True)
    for number in ("3", "12.50", "7"):
        assert marks_of(parse_line(kept.text, Kept(numbers=True)))[number] >= 1
    assert "12.50" not in translator.translate(line).text


def test_part_numbers_are_kept_whole_where_asked(translator: Translator) -> None:
    kept = translator.translate("I have 3 dogs for AX-200/5, <b>not</b> HM71-B.", keep_numbers=True)
    for number in ("3", "AX-200/5", "HM71-B"):
        assert marks_of(parse_line(kept.text, Kept(numbers=True)))[number] >= 1


def test_numbers_that_are_put_back_are_no_mismatch(translator: Translator) -> None:
    """The flag is given for the words that the model wrote, which lack them."""
    line = "Section 114(2)"
    source = parse_line(line, Kept(numbers=True))
    flagged = dataclasses.replace(translator.translate(line), flags=("number_mismatch", "split"))
    for pieces, flags in ((source, ("split",)), (source[:1], ("number_mismatch", "split"))):
        result = results.MarkedResult([pieces], flagged)
        found = results.as_line(line, source, result, Kept(numbers=True), LANGUAGES)
        assert set(found.flags) - {"markup_moved"} == set(flags)
        of_document = results.as_marked(line, source, result, Kept(numbers=True), LANGUAGES)
        assert set(of_document.translation.flags) == set(flags)
        of_document = results.as_marked(line, source, result, Kept(), LANGUAGES)
        assert set(of_document.translation.flags) == set(flagged.flags)


@pytest.mark.parametrize(
    ("before", "behind", "flags"),
    [
        # The model's own numbers beside those that are put back.
        (" 1 1 ", " 00 $", ("number_mismatch",)),
        (" $ ", " and 12", ("number_mismatch",)),
        (" $ ", " in 1999", ("number_mismatch",)),
        (" $ ", "", ()),
    ],
)
def test_numbers_of_the_model_beside_kept_ones_are_a_mismatch(
    before: str, behind: str, flags: tuple[str, ...]
) -> None:
    source = (Text("The fee is $"), Placeholder("1,250.00"), Text(" in "), Placeholder("12(3)"))
    pieces = (Text(f"Le{before}"), source[1], Text(" dans "), source[3], Text(behind))
    for given in ((), ("number_mismatch",)):
        flagged = dataclasses.replace(copied_translation("", ""), flags=given)
        result = results.MarkedResult([pieces], flagged)
        found = results.as_marked("", source, result, Kept(numbers=True), LANGUAGES)
        assert found.translation.flags == flags


def test_lost_marks_of_items_stay_a_mismatch_where_numbers_are_put_back() -> None:
    source = (Text("He sees (a) "), Placeholder("1937"), Text(" dogs, (b) a cat."))
    flagged = dataclasses.replace(copied_translation("", ""), flags=("number_mismatch",))
    for last, flags in ((" chiens, b) un chat.", ()), (" chiens, un chat.", flagged.flags)):
        pieces = (Text("Il voit a) "), source[1], Text(last))
        result = results.MarkedResult([pieces], flagged)
        found = results.as_marked("", source, result, Kept(numbers=True), LANGUAGES)
        assert found.translation.flags == flags


def test_numbers_of_tags_are_no_mismatch() -> None:
    source = (Tag('<a href="2017.html">', "open", "a"), Text("In 1937"), Tag("</a>", "close", "a"))
    kept = Kept(numbers=True)
    flagged = dataclasses.replace(copied_translation("", ""), flags=("number_mismatch",))
    for words, flags in (("1937", ()), ("2017", ("number_mismatch",))):
        result = results.MarkedResult([(Text(words),)], flagged)
        found = results.as_marked(raw_text(source), source, result, kept, LANGUAGES)
        assert found.translation.flags == flags


def test_number_words_of_the_languages_are_known_where_numbers_are_put_back() -> None:
    flagged = dataclasses.replace(copied_translation("", ""), flags=("number_mismatch",))
    result = results.MarkedResult([(Text("einundzwanzig Hunde"),)], flagged)
    for languages, flags in ((LANGUAGES, ()), (("en", "xx"), ("number_mismatch",))):
        source = (Text("21 dogs"),)
        found = results.as_marked("", source, result, Kept(numbers=True), languages)
        assert found.translation.flags == flags


NAMES = ("Nord", "NordPad", "Nord Pad 3", "C++", "Schließen")


def test_names_are_copied_as_often_as_they_occur(translator: Translator) -> None:
    chooser = random.Random(7)
    words = [*NAMES, "dog", "sleeps", "the", "<b>small</b>", "{x}", "NordPads", "nord", "7", "and"]
    lines = [" ".join(chooser.choices(words, k=chooser.randint(1, 9))) + "." for _ in range(150)]
    constraints = Constraints(keep=NAMES)
    kept = Kept(names=KeptNames(NAMES))
    for beam, n_best in ((1, 1), (2, 2)):
        found = translator.translate(lines, constraints=constraints, beam=beam, n_best=n_best)
        for line, translation in zip(lines, found, strict=True):
            for text in {each.text for each in translation.hypotheses}:
                assert marks_of(parse_line(text, kept)) >= marks_of(parse_line(line, kept)), text
    assert translator.translate(lines) != found


def test_line_of_names_and_signs_is_its_own_translation(translator: Translator) -> None:
    constraints = Constraints(keep=NAMES)
    for line in ("NordPad", "“NordPad”, C++ 2.0!", "<b>Schließen</b>"):
        translation = translator.translate(line, constraints=constraints)
        assert (translation.text, translation.score, translation.flags) == (line, 0.0, ())


def test_names_are_found_within_words_of_languages_without_spaces() -> None:
    for language, text in (("ja", "aNordPadb"), ("en", "aNordPadb")):
        translator = make_translator(**{"languages.src": language})
        found = translator.bind(Constraints(keep=["NordPad"])).kept_names.find(text)
        assert len(list(found)) == (language == "ja")


def test_names_win_over_terms_of_the_glossary(translator: Translator) -> None:
    constraints = Constraints(glossary={"dog": "Hund", "nord": "NORD"}, keep=("hot dog", "Nord"))
    both = translator.translate("a dog of Nord, a hot dog.", constraints=constraints)
    assert ["Hund" in both.text, "NORD" in both.text] == [True, False]
    alone = translator.translate("a hot dog sleeps.", constraints=constraints)
    assert ["Hund" in alone.text, "hot dog" in alone.text] == [False, True]


def test_names_are_kept_with_numbers_and_sampling(translator: Translator) -> None:
    constraints = Constraints(keep=["Nord Pad 3"])
    options: list[dict[str, object]] = [{}, {"sample": True, "seed": 3}, {"retry": True}]
    for option in options:
        found = translator.translate(
            "The dog of Nord Pad 3 has 12.50 dogs.",
            constraints=constraints, keep_numbers=True, **option,
        )  # fmt: skip
        assert "Nord Pad 3" in found.text
        assert "12.50" in found.text


def test_names_of_a_prefix_are_those_of_the_line_or_stay() -> None:
    kept = Kept(names=KeptNames(["Nord Pad", "dog"]))
    carrier = carry(parse_line("The Nord Pad of {x}.", kept), ["Anna", "Berlin"])
    for prefix, expected in (
        ("Das Nord Pad von {x}", "Das Anna von Berlin"),
        ("Ein dog <b>und {y}</b>", "Ein dog und "),
    ):
        request = Request("The Nord Pad of {x}.", 3, prefix)
        assert window.replace_text(request, carrier, kept) == Request(
            "The Anna of Berlin.", 3, expected, is_repaired=True
        )


def test_names_in_marked_texts_are_kept(translator: Translator) -> None:
    text = (Text("5$ for ", "5\\$ for "), Tag("<w>", "open", "w"), Text("NordPad a", "NordPad\\ a"),
            Tag("</w>", "close", "w"))  # fmt: skip
    constraints = Constraints(keep=["NordPad"])
    [found] = translator.translate_marked([text], constraints=constraints)
    assert marks_of(found.pieces) == {"<w>": 1, "</w>": 1, "NordPad": 1}
    assert found.translation.source == shown_text(text)


def test_marks_of_notes_alone_are_copied(translator: Translator) -> None:
    for line in ("<sup>a</sup>", '<a href="#n">[note 2]</a> <b>*</b>'):
        assert translator.translate(line, beam=1).text == line


def test_what_users_of_programs_type_is_copied(translator: Translator) -> None:
    lines = [
        "Use --force or the --verbose dog.", "The $name dog of v2.4.1 sleeps.",
        r"The dog sleeps.\nThe small dog eats.\r\n", r"Open\tThe\nDog",
    ]  # fmt: skip
    wanted = [{"--force", "--verbose"}, {"$name", "v2.4.1"}, {r"\n", r"\r\n"}, {r"\t", r"\n"}]
    for translation, marks in zip(translator.translate(lines), wanted, strict=True):
        assert all(translation.text.count(mark) == 1 for mark in marks - {r"\n"}), translation.text
        assert all(mark in translation.text for mark in marks)
    # The sentences on both sides of a line break are translated on their own.
    sentences = [sentence.source for sentence in translator.translate(lines[2]).sentences]
    assert sentences == ["The dog sleeps.", "The small dog eats."]


def test_words_that_join_what_is_typed_do_not_move_it(translator: Translator) -> None:
    """A reader of the line `die --verbose-Option` sees no mark in it that could be a wrong one."""
    source = parse_line("the --verbose option")
    target = (Text("die "), Placeholder("--verbose"), Text("-option v2.4.1"))
    assert results.safe_line(target, source) == ("die --verbose-option v2.4.1", False)


def test_kept_numbers_stay_apart(translator: Translator) -> None:
    """12 and 3 side by side would be 123."""
    lines = [
        "Section 12(3) applies.", "1 to 3 and 5 to 7", "Of 1985, $1,234.56 in 2024.",
        "<b>4</b><i>5</i> of 6 7 8 9",
    ]  # fmt: skip
    number = re.compile(r"\d+(?:[.,]\d+)*")
    for line, kept in zip(lines, translator.translate(lines, keep_numbers=True), strict=True):
        words = re.sub("<[^>]*>", "", kept.text)
        assert not Counter(number.findall(line)) - Counter(number.findall(words)), kept.text


@pytest.mark.parametrize(
    ("source", "target", "spaced", "expected"),
    [
        ("12|(|3|)", "12|3", True, "12 3"),
        ("12|(|3|)", "12|3", False, "12 3"),
        ("12| dogs", "12|Hunde", True, "12 Hunde"),
        ("12|kg", "12|kg", True, "12kg"),
        ("12|kg", "12|4 kg", True, "12 4 kg"),
        ("12| dogs", "12|只狗", False, "12只狗"),
        ("dogs: |12|.", "(|12|).", True, "(12)."),
        ("a |12", "vor|12", True, "vor 12"),
        ("a |12", "हिन्दी|12", True, "हिन्दी 12"),
        ("May |1|", "le |1|er mai", True, "le 1er mai"),
        ("May |1|", "le |1|erreur", True, "le 1 erreur"),
    ],
)
def test_placeholders_do_not_become_part_of_words(source, target, spaced, expected) -> None:
    sides = [
        [Placeholder(part) if part.isdigit() else Text(part) for part in side.split("|")]
        for side in (source, target)
    ]
    assert raw_text(separated(*sides, spaced=spaced)) == expected
