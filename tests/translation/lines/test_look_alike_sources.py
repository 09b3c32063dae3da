"""Look-alike letters of a source are repaired as those of training text are."""

import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli.display.misfit import warn_of_misfit
from nmt_cli.config.schema import DataConfig
from nmt_cli.data.corpus.text_statistics import LENGTH_BOUNDS, SideStatistics, TextStatistics
from nmt_cli.data.markup.marked_text import Placeholder, Tag, Text, raw_text
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.model.transformer import Transformer
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.markup.carrier import with_repaired_words
from nmt_cli.translation.translator import Translator

# Cyrillic letters in Latin words, Latin ones in Cyrillic words, and Greek ones for African ones.
REPAIRED = [
    ("r\u0430hõòn v\u0430zovõm", "rahõòn vazovõm"),
    ("The h\u043euse has a p\u0430th. It is \u043eld.", "The house has a path. It is \u043eld."),
    ("\u0434\u043e\u043c, м\u006fлоко", "дом, молоко"),
    ("kε kpεŋ, ɲ\u1f72", "kɛ kpɛŋ, ɲɛ̀"),
    ("v\u0430\u00adzov", "vazov"),
    (unicodedata.normalize("NFD", "v\u0430zovõm"), "vazovõm"),
    # Marks that are there twice.
    ("v\u0430zov\u00f5\u0303m l\u1ecd\u0323\u0301", "vazovõm l\u1ecd\u0301"),
]
RIGHT = [
    "a plain line",
    "rahõòn vazovõm",
    unicodedata.normalize("NFD", "Café rahõòn"),
    "для VIPа и VIPов, молоко",
    "β-Carotin, μm, TNFα",
]


def make_translator(
    clean: str = "safe",
    others: tuple[Translator, ...] = (),
    script: str | None = None,
    target_script: str = "",
) -> Translator:
    """script: that of the source of the training text; None: its statistics are missing."""
    config = byte_config({"data.clean": clean, "data.max_length": 200})
    text = None
    if script is not None:
        sides = SideStatistics("xx", script=script), SideStatistics("en", script=target_script)
        text = TextStatistics(*sides, 100, ((0.1, 9.0),) * len(LENGTH_BOUNDS), np.zeros(0))
    return Translator(byte_model(config), config, byte_subwords(), others=others, text=text)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return make_translator()


def read_by(translator: Translator, line: str, **settings: object) -> list[tuple[int, ...]]:
    """The subwords of the sources that are searched for a line."""
    read: list[tuple[int, ...]] = []
    source_search = translator._line_search._source_search
    run = source_search.run

    def listen(sources, *rest):
        read.extend(source.ids for source in sources)
        return run(sources, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_search, "run", listen)
        translator.translate(line, **settings)
    return sorted(read)


def ids_of(*lines: str) -> list[tuple[int, ...]]:
    return sorted(map(tuple, byte_subwords().encode_source(lines)))


@pytest.mark.parametrize("markup", ["keep", "off"])
@pytest.mark.parametrize(("line", "right"), REPAIRED)
def test_a_line_with_look_alikes_is_translated_as_the_right_line(
    translator: Translator, line: str, right: str, markup: str
) -> None:
    found, expected = translator.translate([line, right], markup=markup, alignment=True)
    assert found.source == line
    assert (found.text, found.hypotheses, found.flags, found.sentences) == (
        expected.text, expected.hypotheses, expected.flags, expected.sentences,
    )  # fmt: skip
    assert read_by(translator, line, markup=markup) == read_by(translator, right, markup=markup)


@pytest.mark.parametrize("line", RIGHT)
def test_other_lines_are_read_as_they_are(translator: Translator, line: str) -> None:
    assert translator.repair(line) is line
    assert read_by(translator, line, sentences="line", markup="off") == ids_of(line)


def test_only_what_training_text_was_repaired_of_is_repaired(translator: Translator) -> None:
    line = REPAIRED[0][0]
    raw = make_translator("off")
    for other in (raw, make_translator("off", (translator,)), make_translator("safe", (raw,))):
        assert read_by(other, line, markup="off", sentences="line") == ids_of(line)
    for other in (make_translator("strict"), make_translator("safe", (translator,))):
        assert read_by(other, line) == ids_of(REPAIRED[0][1])


def test_the_script_of_the_training_text_decides_of_words_with_many_look_alikes() -> None:
    line, right = "Ж\u0061\u0063 \u0063\u0069 мы CO a", "Жас сі мы CO a"
    cyrillic = make_translator(script="CYRILLIC")
    for translator in (cyrillic, make_translator(script="CYRILLIC", others=(cyrillic,))):
        assert translator.repair(line) == right
    assert read_by(cyrillic, line, sentences="line", markup="off") == ids_of(right)
    # Not every member of an ensemble was trained on such text.
    for script, others in ((None, ()), ("", ()), ("CYRILLIC", (make_translator(),))):
        assert make_translator(script=script, others=others).repair(line) == line


# Words of Cyrillic letters alone, which look like "cop", "Poca", "axe" and "hi".
COP, AXE, HI = "\u0441\u043e\u0440", "\u0430\u0445\u0435", "\u04bb\u0456"
ROCA = "\u0420\u043e\u0441\u0430"


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (f"The {COP} is here.", "The cop is here."),
        # Single letters and abbreviations may be names.
        (f"The other {COP} was \u0430 {COP.upper()}", f"The other cop was \u0430 {COP.upper()}"),
        (f"An {AXE}, Mr {ROCA}, {HI}! Th\u0435 end", "An axe, Mr Poca, hi! The end"),
        # A word with another Cyrillic letter shows that Cyrillic words are meant.
        (f"The word {COP} beside \u0436\u0443\u043a.", ""),
        # Placeholders, and lines with more Cyrillic letters than Latin ones.
        (f"The other %{COP}", ""), (f"{COP} {ROCA} is", ""), (COP, ""),
    ],
)  # fmt: skip
def test_models_of_latin_text_alone_read_words_of_cyrillic_look_alikes_as_latin_ones(
    line: str, right: str
) -> None:
    latin = make_translator(script="LATIN", target_script="LATIN")
    for translator in (latin, make_translator("safe", (latin,), "LATIN", "LATIN")):
        assert translator.repair(line) == (right or line)
    # A model that knows Cyrillic words on the other side may copy one.
    russian = make_translator(script="LATIN", target_script="CYRILLIC")
    for translator in (russian, make_translator("safe", (russian,), "LATIN", "LATIN")):
        assert COP not in line or COP in translator.repair(line)


def test_marks_and_kept_names_stay_as_they_are_written(translator: Translator) -> None:
    marked = 'The <b title="h\u043eusе">h\u043e</b>use of {n\u0430me} and N\u043erdPad.'
    right = 'The <b title="h\u043eusе">ho</b>use of {n\u0430me} and N\u043erdPad.'
    constraints = Constraints(keep=["N\u043erdPad"])
    found, expected = translator.translate([marked, right], constraints=constraints)
    assert found.text == expected.text
    for mark in ('<b title="h\u043eusе">', "{n\u0430me}", "N\u043erdPad"):
        assert mark in found.text


def test_terms_of_the_glossary_are_found_however_they_are_written(translator: Translator) -> None:
    wrong, right = "h\u043euse", "house"
    for term, word in ((wrong, wrong), (wrong, right), (right, wrong), ("kε", "kε")):
        constraints = Constraints(glossary={term: "Haus"})
        assert "Haus" in translator.translate(f"The {word}.", constraints=constraints).text


def test_repaired_letters_are_not_warned_of_as_unknown() -> None:
    subwords = learn_subwords(DataConfig(subwords="chars", vocab_size=40), {"housed": 9}, {"a": 9})
    sizes = {"model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size}
    said = []
    for clean in ("safe", "off"):
        config = byte_config({**sizes, "data.subwords": "chars", "data.clean": clean})
        translator = Translator(Transformer(config.model), config, subwords)
        console = SimpleNamespace(warning=said.append)
        warn_of_misfit(["h\u043euse h\u043euse"] * 6, translator, console)
        assert len(said) == (clean == "off")


def test_marked_texts_of_documents_are_repaired(translator: Translator) -> None:
    bold, end = Tag("<b>", "open", "b"), Tag("</b>", "close", "b")
    found, expected = translator.translate_marked(
        [
            (Text("The h"), bold, Text(f"{letter}use"), end, Text(" of "), Placeholder("%1"))
            for letter in ("\u043e", "o")
        ]
    )
    assert raw_text(found.pieces) == raw_text(expected.pieces)
    assert found.translation.hypotheses == expected.translation.hypotheses


def test_words_end_at_placeholders_and_line_breaks_and_go_on_behind_other_tags(
    translator: Translator,
) -> None:
    def repaired(*pieces: Text | Tag | Placeholder) -> list[str]:
        result = with_repaired_words(pieces, translator.repair)
        return [piece.text for piece in result if isinstance(piece, Text)]

    bold = Tag("<b>", "open", "b")
    letter = "\u043e"
    assert repaired(Text("h"), bold, Text(letter), bold, Text("use")) == ["h", "o", "use"]
    for end in (Tag("<br>", "empty", "br"), Placeholder("%s")):
        assert repaired(Text("house"), end, Text(letter)) == ["house", letter]
    # Where the accent needs a character of its own, each piece is repaired alone.
    assert repaired(Text("kpεŋ \u1f72ŋ"), bold, Text("h")) == ["kpɛŋ ɛ̀ŋ", "h"]
    pieces = (Text("a & b", "a &amp; b"), bold, Text("h\u043euse"))
    assert with_repaired_words(pieces, translator.repair)[:2] == pieces[:2]
