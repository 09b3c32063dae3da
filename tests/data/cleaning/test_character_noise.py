"""Characters that a line should not have: escapes, look-alikes, direction marks, lost letters."""

from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.data.cleaning.held_out.digests import digest, loose_digests
from nmt_cli.data.cleaning.letters.escapes import ESCAPE_SIGN, undo_escapes
from nmt_cli.data.cleaning.letters.look_alikes import MIXED_SIGN, mixed_words, replace_look_alikes
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.sanitize import clean_source, remove_direction_marks

CLEAN = two_languages(300, 1)


def prepared(folder: Path, **data: object) -> PreparedCorpus:
    settings = {f"data_{key}": value for key, value in data.items()}
    files = (str(folder / "train.src"), str(folder / "train.tgt"))
    config = tiny_config(data_train=[files], **{"data_vocab_size": 300, **settings})
    return prepare(config, folder / "corpus", force=True, workers=1)


def found(corpus: PreparedCorpus) -> dict[str, tuple[int, str, tuple[str, ...]]]:
    return {each.kind: (each.pairs, each.action, each.lines) for each in corpus.findings}


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("f=C3=BCr 5 =E2=82=AC=20ok", "für 5 € ok"),
        ("Stra%C3%9Fe%20und %e4%bd%a0", "Straße und 你"),
        (r"\u0159eka, \ud83d\ude00", "řeka, 😀"),
        (r"M{\"u}ller, M\"uller, M\"{u}ller", "Müller, Müller, Müller"),
        (r"\v{C}esk\'{y} gar{\c c}on Stra{\ss}e fa\ss{} {\^\i}le", "Český garçon Straße faß île"),
    ],
)
def test_escaped_letters_are_restored(escaped: str, text: str) -> None:
    assert ESCAPE_SIGN.search(escaped)
    assert undo_escapes(escaped) == text


@pytest.mark.parametrize(
    "text",
    [
        "x=C3, =20 and =3D", "f=FCr", "100%25 of 50%a 100%C3", "a%20b", "=C3=41",
        "https://de.example.org/M%C3%BCnchen", "example.org/M%C3%BCnchen", "/wiki/M%C3%BCnchen",
        r"C:\users\u00e4", r"\u12", r"\ud83d", r"\u0007", r"l\'eau d\'or",
        r'He said \"also\" and \"even\".', r"\textbf{a} \item{b} {\it a}", r"a\b \c",
    ],
)  # fmt: skip
def test_text_that_may_be_meant_is_not_unescaped(text: str) -> None:
    assert undo_escapes(text) == text


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("The h\u043euse and p\u0430ym\u0435nt", "The house and payment"),
        ("\u0391tom \u0395nergy", "Atom Energy"),
        ("эт\u006f м\u006fй д\u006fм, \u0061втор", "это мой дом, автор"),
        ("\u0421лово С\u004fЮЗ", "\u0421лово СОЮЗ"),
        # e with an acute looks like no Greek letter, so that its word is left alone.
        ("\u004bαλημ\u00e9ρα κ\u00f3σμ\u006fς", "\u004bαλημ\u00e9ρα κόσμος"),
        ("\u0451 и в\u0441\u00eb", "\u0451 и всё"),
        ("т\u0069лі", "тілі"),
    ],
)
def test_look_alikes_get_the_script_of_their_word(text: str, repaired: str) -> None:
    assert MIXED_SIGN.search(text)
    assert replace_look_alikes(text) == repaired


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("voy\u1f72\u0272i kpε\u014b kε", "voy\u025b\u0300\u0272i kp\u025b\u014b k\u025b"),
        (
            "\u0272 bє kᴐ Mιa Kυ kγ dα naη",
            "\u0272 b\u025b k\u0254 M\u0269a K\u028b k\u0263 d\u0251 na\u014b",
        ),
        ("\u0272 Єt", "\u0272 \u0190t"),
        # Words of look-alikes alone, of which a mixed word has one; `α` may be a symbol.
        ("tses\u1f72 b\u0254 ηε.", "tses\u025b\u0300 b\u0254 \u014b\u025b."),
        # Other letters show that it is Greek.
        ("kε και \u0254 ε", "k\u025b και \u0254 ε"),
        ("kε ε \u0254 \u03ad α", "k\u025b \u025b \u0254 \u025b\u0301 α"),
    ],
)
def test_keyboards_without_african_letters_are_repaired(text: str, repaired: str) -> None:
    assert MIXED_SIGN.search(text)
    assert replace_look_alikes(text) == repaired


@pytest.mark.parametrize(
    "text", ["kε hν εr", "\u0272 και ε", "\u0272 kβ", "\u0272 бєл", "\u0272 TNFβ", "\u0254 ηε ba"]
)
def test_other_greek_letters_beside_african_ones_stay(text: str) -> None:
    assert replace_look_alikes(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "COVID-19 β-Carotin μm TNFα NFκB ΔT νmax Aβ", "pН и pH", "для VIPов, VIPа и SMSка",
        "гIалгIай мотт", "Facebookа у Србији", "Београд Beograd", "СССР USSR", "iPhone'ом",
        "цæргæс", "сору", "αβγ x",
        "к\u00f4д", "10 к\u0042т", "-cТЕГ", "bs\u041d", "МетодHTTP", "рядкаs",
        "%cимя", "%-10cсписок", "\\tЭта",
    ],
)  # fmt: skip
def test_words_that_truly_mix_scripts_stay(text: str) -> None:
    assert replace_look_alikes(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("naη kpa, ηku", ["naη", "ηku"]), ("ka \u04c8a ta\u0511", ["\u04c8a", "ta\u0511"]),
        ("O\u03cd\u03b6o, Stra\u03b2e", ["O\u03cd\u03b6o", "Stra\u03b2e"]),
        ("Антиgуа", ["Антиgуа"]), ("рядкаs для VIPа", ["рядкаs"]),
        ("ka таb ta", ["таb"]), ("kaта", ["kaта"]),
        ("β-Carotin μm μmol TNFα NFκB ΔT νmax Aβ PPARγ βgal ΔEx FcγRII Tgfβ sinα 5 kΩ", []),
        ("для VIPов, VIPа и SMSка, Facebookа у Србији", []),
        ("гIалгIай мотт, цæргæс, к\u00f4д, iPhone'ом, pН", []),
        ("\u0254 ηε ba \u03ad, \u1f72γ", ["ηε", "\u1f72γ"]),
        ("ηε ba", []), ("\u0254 ηε αγβ", []), ("\u0254 η για \u03c4\u03b7\u03bd", []),
        ("\\tвсё %cимя МетодHTTP, αβγ x", []),
    ],
)  # fmt: skip
def test_words_of_mixed_scripts_are_told_from_symbols(text: str, words: list[str]) -> None:
    assert mixed_words(text) == words


def test_letters_of_another_script_that_are_not_repaired_are_warned_of(tmp_path: Path) -> None:
    dirty = [(f"ka na\u03b7 mi {word}", f"tra ble {word}") for word in ("ab", "ac", "ad")]
    # A word of look-alikes alone.
    dirty.append(("ka mi ɔ \u03b7\u03b5", "tra ble ae"))
    write_pairs(tmp_path, "train", [("", "spe"), *CLEAN, *dirty, ("ka \u03b7ku", "Stra\u03b2e")])
    corpus = prepared(tmp_path)
    [note] = [note for note in corpus.notes if "another script" in note]
    assert note.startswith(
        f"`{tmp_path}/train.src`: 5 lines keep letters of another script within words (line 302: "
        "`na\u03b7`, line 303: `na\u03b7`, line 304: `na\u03b7`, line 305: `\u03b7\u03b5`, "
        "line 306: `\u03b7ku`), which may be meant, so that they are not repaired: if they stand "
        "in place of other letters, replace them in the file"
    )
    assert "another script" not in str([corpus.findings, prepared(tmp_path, clean="off").notes])
    # Two lines may be right.
    write_pairs(tmp_path, "train", [*CLEAN, *dirty[:2]])
    assert not [note for note in prepared(tmp_path).notes if "another script" in note]


def test_letters_of_another_script_are_counted_in_all_of_a_table(tmp_path: Path) -> None:
    """Over several chunks of it, of which the second begins with the pair 8,193."""
    rows = [f"ka{word}\ttra{word}\n" for word in range(8_190)]
    rows += [f"ka{word}\tStra\u03b2e {word}\n" for word in range(8)]
    (tmp_path / "train.tsv").write_text("".join(rows), "utf-8")
    config = tiny_config(data_train=[(str(tmp_path / "train.tsv"),)], data_vocab_size=300)
    corpus = prepare(config, tmp_path / "corpus", workers=1)
    [note] = [note for note in corpus.notes if "another script" in note]
    assert note.startswith(f"the target of `{tmp_path}/train.tsv`: 8 lines keep letters")
    places = ", ".join(f"line {line:,}: `Stra\u03b2e`" for line in range(8_191, 8_196))
    assert f"({places}, ...)" in note


def test_direction_marks_are_removed_from_left_to_right_text_alone() -> None:
    assert remove_direction_marks("in\u200e force\u202c, \u2067a\u2069") == "in force, a"
    for kept in ("\u200fשלום, a", "(\u200eA) سلام", "ab \u200fܫܠܡܐ", "\u200e+1 2"):
        assert remove_direction_marks(kept) == kept
    # A model never saw them in training, so that it does not read them either.
    assert clean_source("in\u200e force") == "in force"
    assert clean_source("\u200fשלום") == "\u200fשלום"


def test_noise_in_characters_is_repaired_or_counted_with_its_lines(tmp_path: Path) -> None:
    write_pairs(tmp_path, "train", [
        *CLEAN,
        ("ka f=C3=BCr mi", "tra ble"), ("ka to\u200e mi", "tra ble ing"),
        ("ka mi t\u043en", "spe ing"), ("ka \ue000 lo", "spe spe"), ("ka \U000f1234 lo", "spe ow"),
        ("ka l\ufffd mi", "ble ing"), ("▁ka ▁lo mi", "▁spe ing ▁ow"), ("ka ▁ mi ru", "ow ow"),
    ])  # fmt: skip
    corpus = prepared(tmp_path)
    lines = list(read_lines(tmp_path / "corpus" / "train.src.txt"))[300:]
    assert lines == [
        "ka für mi", "ka to mi", "ka mi ton", "ka \ue000 lo", "ka \U000f1234 lo", "ka l\ufffd mi",
        "ka lomi", "ka _ mi ru",
    ]  # fmt: skip
    assert found(corpus) == {
        "escaped characters (=C3=BC)": (1, "repaired", ("301",)),
        "direction marks in left-to-right text": (1, "repaired", ("302",)),
        "look-alike letters of another script": (1, "repaired", ("303",)),
        "private-use characters": (2, "kept", ("304", "305")),
        "replacement characters (U+FFFD)": (1, "kept", ("306",)),
        "marks of subwords (@@, ▁)": (2, "repaired", ("307", "308")),
    }
    strict = prepared(tmp_path, clean="strict")
    dropped = {"private-use characters": 2, "replacement characters (U+FFFD)": 1}
    assert strict.dropped == dropped
    off = prepared(tmp_path, clean="off")
    assert found(off) == {"marks of subwords (@@, ▁)": (2, "repaired", ("307", "308"))}


def test_replacement_characters_are_told_from_wrong_bytes(tmp_path: Path) -> None:
    # Lines that are dropped before come first, so that the others have other positions.
    write_pairs(tmp_path, "train", [("", "spe"), *CLEAN, ("ka l\ufffd", "ow"), ("ka b?t", "ing")])
    path = tmp_path / "train.src"
    path.write_bytes(path.read_bytes().replace(b"b?t", b"b\xe4t"))
    corpus = prepared(tmp_path)
    assert found(corpus) == {
        "empty side": (1, "dropped", ("1",)),
        "not UTF-8": (1, "kept", ("303",)),
        "replacement characters (U+FFFD)": (1, "kept", ("302",)),
    }
    [note] = [note for note in corpus.notes if "has U+FFFD" in note]
    assert "1 pair has U+FFFD, which an earlier conversion wrote in place of letters" in note
    assert "1 line is not UTF-8" in corpus.notes[0]
    dropped = {"empty side": 1, "not UTF-8": 1, "replacement characters (U+FFFD)": 1}
    strict = prepared(tmp_path, clean="strict")
    assert strict.dropped == dropped
    assert not [note for note in strict.notes if "has U+FFFD" in note]


@pytest.mark.parametrize("mark", ["\u200e", "\u200f", "\u061c", "\u2066", "\u180e", "\u00ad"])
def test_invisible_characters_do_not_hide_a_test_sentence(mark: str, tmp_path: Path) -> None:
    assert digest(f"שלום {mark}לך") == digest("שלום לך")
    write_pairs(tmp_path, "train", CLEAN)
    (src, tgt) = CLEAN[0]
    test = write_pairs(tmp_path, "test", [(f"{src[:2]}{mark}{src[2:]}", f"{mark}{tgt}")])
    corpus = prepared(tmp_path, test=test)
    assert [note for note in corpus.notes if "test" in note and "training text" in note]


def test_joiners_are_ignored_only_by_the_loose_comparison() -> None:
    pairs = [("می\u200cشود", "میشود"), ("👩\u200d💻 ok", "👩💻 ok"), ("❤\ufe0f", "❤")]
    for first, second in pairs:
        assert digest(first) != digest(second)
        assert len(set(loose_digests([first, second]).tolist())) == 1
