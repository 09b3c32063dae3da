"""Look-alike letters are repaired by the script of the side that they stand in."""

from pathlib import Path

import pytest
from corpora import tiny_config

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.held_out.faults import pairs_with_faults
from nmt_cli.data.cleaning.letters.look_alikes import mixed_words, replace_look_alikes
from nmt_cli.data.cleaning.letters.side_letters import main_script, with_repaired_letters
from nmt_cli.data.cleaning.repairs import Repaired, repair_sides
from nmt_cli.data.preparation.prepare import prepare

# Latin letters that stand for Cyrillic ones.
LATIN = str.maketrans("аеорсхі", "aeopcxi")
CYRILLIC_SIDE = [
    f"Жас рел тоғок сі ғә дітлүк {word}." for word in ["қалру", "пыр", "мы", "зотдо", "хөхү"]
]
LATIN_SIDE = [f"The peace of {word} is a hope." for word in ["house", "tree", "garden", "river"]]


def repaired(side: list[str], *lines: str) -> list[str]:
    """The repaired lines behind those of a side of this script."""
    src, _ = repair_sides([*side * 10, *lines], ["a"] * (10 * len(side) + len(lines)), Repaired())
    return src[-len(lines) :]


@pytest.mark.parametrize(
    ("line", "right"),
    [
        # As many letters of the other script, or more.
        ("Жас тоғок сара".translate(LATIN), "Жас тоғок сара"),
        # A word of look-alikes alone, where others of the line are repaired.
        ("Жac xope", "Жас хоре"),
        # A frequent word.
        ("пыр ci мы", "пыр сі мы"),
        ("C\u0456 мы", "Сі мы"),
    ],
)
def test_words_of_a_cyrillic_side_become_cyrillic(line: str, right: str) -> None:
    assert repaired(CYRILLIC_SIDE, line) == [right]
    # A text in two scripts does not show it.
    assert repaired([*CYRILLIC_SIDE, *LATIN_SIDE], line) != [right]


@pytest.mark.parametrize(
    "line",
    [
        "Жас CO, HTC x a", "Жас cope мы", "для VIPа и SMSка", "pН и pH", "10 к\u0042т, P\u0421",
        "рядкаs", "гIалгIай мотт", "%cсi", "ci", "Hope ci Windows", "к\u00f4д", "Facebookа",
        "«\u041d» у \u0440\u041d", "«\u0410»",
    ],
)  # fmt: skip
def test_other_words_of_a_cyrillic_side_stay(line: str) -> None:
    assert repaired(CYRILLIC_SIDE, line) == [line]


def test_rare_words_and_names_that_are_rarer_in_look_alikes_stay() -> None:
    assert repaired(CYRILLIC_SIDE, "мы хоре", "мы xope") == ["мы хоре", "мы xope"]
    names = ["мы СО", "мы Хоре"] * 9
    assert repaired([*CYRILLIC_SIDE, *names], "мы CO", *["мы Xope"] * 20)[0] == "мы CO"
    assert repaired([*CYRILLIC_SIDE, *names], "мы CO", *["мы Xope"] * 20)[1] == "мы Xope"


def test_abbreviations_and_single_letters_stay_beside_repaired_words() -> None:
    assert repaired(CYRILLIC_SIDE, "Жac CO a Hope HTC") == ["Жас CO a Hope HTC"]


def test_words_of_a_latin_side_become_latin() -> None:
    assert repaired(LATIN_SIDE, "h\u043eр\u0435", "t\u0440\u0435\u0435", "a х\u043e\u0440") == [
        "hope", "tpee", "a х\u043e\u0440",
    ]  # fmt: skip
    assert repaired(LATIN_SIDE, "of \u0440\u0435\u0430\u0441\u0435 is") == ["of peace is"]
    # Cyrillic and Greek letters, and a Roman numeral, in place of those of Akan, Ewe and Crimean
    # Tatar.
    assert repaired(LATIN_SIDE, "yԑԑ s\u0511, Ԑno", "ts\u037b \u03fdo \u2184de", "iҫ\u00fcn") == [
        "yɛɛ sɛ, Ɛno", "tsɔ Ɔo ɔde", "içün",
    ]  # fmt: skip
    # Letters without look-alikes show that it is Cyrillic.
    assert repaired(LATIN_SIDE, "the м\u006fлоко") == ["the молоко"]


def test_the_script_is_that_of_nearly_all_letters() -> None:
    assert main_script({"слово": 200}) == "CYRILLIC"
    assert main_script({"λόγος": 190, "word": 10}) == "GREEK"
    assert main_script({"слово": 180, "word": 60}) == ""
    # A text of few letters may have any by chance.
    assert main_script({"слово": 20}) == ""


def test_what_stays_is_counted_in_lines() -> None:
    for word in ("Жac", "peлмiп", "йұкa"):
        wrong = word.replace("\u0430", "a")
        assert mixed_words(f"тоғок {wrong}") == [wrong]
        assert mixed_words(replace_look_alikes(f"тоғок {wrong}", "CYRILLIC")) == []
    assert mixed_words("ПРЕФИКСaa Ж") == []


def test_prepare_repairs_all_words_of_a_side_and_warns_of_none(tmp_path: Path) -> None:
    lines = [f"{line} {number}" for number in range(60) for line in CYRILLIC_SIDE]
    lines = [line.translate(LATIN) if index % 30 == 0 else line for index, line in enumerate(lines)]
    (tmp_path / "train.src").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (tmp_path / "train.tgt").write_text(
        "".join(f"the cat number {index}\n" for index in range(len(lines))), "utf-8"
    )
    config = tiny_config(
        data_train=[(str(tmp_path / "train.src"), str(tmp_path / "train.tgt"))], data_vocab_size=300
    )
    corpus = prepare(config, tmp_path / "corpus", workers=1)
    [finding] = [each for each in corpus.findings if each.kind.startswith("look-alike")]
    assert finding.pairs == 10
    assert not [note for note in corpus.notes if "another script" in note]


def test_sources_that_translating_repairs_have_no_fault() -> None:
    src = [*CYRILLIC_SIDE * 10, *["Жac xopa тоғок"] * 9]
    assert with_repaired_letters(src)[-1] == "Жас хора тоғок"
    assert pairs_with_faults(src, ["a"] * len(src)) == ""
    assert kinds.KINDS[kinds.LOOK_ALIKE].name in pairs_with_faults(["a"] * len(src), src)
