"""`nmt score` warns of a test set that the model learnt from, or that was replaced since."""

import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from corpora import write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.cli.commands.scoring.test_set import warn_of_test_set
from nmt_cli.config.schema import load, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.languages.words import FUNCTION_WORDS
from nmt_cli.model_dir import save_model
from nmt_cli.terminal.console import Console

SEEN = "test pairs are in the training text of `model`"
REPLACED = "the test set of `corpus` is not the one that was set apart when `model` was trained"
SETTINGS = """
[languages]
src = "xx"
tgt = "yy"
[data]
train = [["train.src", "train.tgt"]]
test_split = 60
subwords = "bytes"
"""


@pytest.fixture
def score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What `nmt score` says on stderr with a model of the corpus; it copies the source."""
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "train", two_languages(400, 1))
    Path("nmt.toml").write_text(SETTINGS, "utf-8")
    assert main(["prepare"]) == 0
    corpus = Corpus.open(Path("corpus"))
    size = corpus.subwords.src_size
    values = {
        "model.d_model": 16, "model.d_ff": 16, "model.layers": 1, "model.heads": 2,
        "model.output_bias": True, "model.src_vocab_size": size, "model.tgt_vocab_size": size,
    }  # fmt: skip
    config = with_values(load(Path("corpus/config.toml")), values)
    weights = byte_model(config).state_dict()
    save_model(Path("model"), weights, config, corpus.subwords, {}, text=corpus.text)
    monkeypatch.setattr(
        "nmt_cli.cli.commands.scoring.texts.translate_test_set", lambda src, *_: list(src)
    )

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main(["score", *arguments]) == 0
        return " ".join(capsys.readouterr().err.split())

    return run


def test_its_own_test_set_is_scored_without_a_warning(score: Callable[..., str]) -> None:
    assert "warning" not in score()


def test_test_pairs_that_the_model_has_seen_are_warned_of(score: Callable[..., str]) -> None:
    assert main(["prepare", "--force", "--set", "data.seed=2"]) == 0
    old = set(two_languages(400, 1))
    test = list(zip(*(Path(f"corpus/test.{c}").read_text("utf-8").splitlines()
                      for c in ("xx", "yy")), strict=True))  # fmt: skip
    assert set(test) <= old
    said = score("--set", "data.seed=2")
    assert f" of 60 {SEEN}, which scores higher on them than on new text; {REPLACED}" in said
    assert int(said.split("warning: ")[1].split(" of 60 ")[0]) >= 40


def test_another_test_set_of_new_pairs_is_warned_of(score: Callable[..., str]) -> None:
    write_pairs(Path(), "train", two_languages(400, 9))
    assert main(["prepare", "--force"]) == 0
    said = score()
    assert SEEN not in said
    assert REPLACED in said


def test_test_files_are_checked_too(score: Callable[..., str]) -> None:
    lines = [Path(f"corpus/train.{side}.txt").read_text("utf-8") for side in ("src", "tgt")]
    for name, text in zip(("t.xx", "t.yy"), lines, strict=True):
        Path(name).write_text("".join(text.splitlines(keepends=True)[:50]), "utf-8")
    settings = SETTINGS.replace("test_split = 60", 'test = ["t.xx", "t.yy"]')
    Path("nmt.toml").write_text(settings, "utf-8")
    said = score()
    assert f"warning: 50 of 50 {SEEN}" in said
    assert REPLACED not in said
    write_pairs(Path(), "new", two_languages(50, 9))
    Path("nmt.toml").write_text(settings.replace("t.xx", "new.src").replace("t.yy", "new.tgt"))
    assert "warning" not in score()


def test_copies_are_found_and_faults_warned_of_whichever_text_has_faults(
    score: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [(src.capitalize(), tgt) for src, tgt in two_languages(400, 1)]
    # The number of a verse alone is known for one only in a run, in which a random set has none.
    verses = [(f"{n} {src}", tgt) for n, (src, tgt) in enumerate(sentences[:60], 1)]
    escaped = [(f"{src} &amp; a", f"{tgt} &amp; b") for src, tgt in sentences[60:200]]
    both = [(f"{n}:4 {src}", f"{n}:4 {tgt}") for n, (src, tgt) in enumerate(sentences[300:])]
    write_pairs(Path(), "train", [*verses, *escaped, *sentences[200:300], *both])
    Path("nmt.toml").write_text(SETTINGS.replace("test_split = 60", ""), "utf-8")
    assert main(["prepare", "--force"]) == 0
    text = TextStatistics.load(Path("corpus"))
    monkeypatch.setattr(TextStatistics, "load", lambda _: text)
    monkeypatch.setattr(
        "nmt_cli.cli.commands.scoring.texts.translate_test_set", lambda src, *_: ["ka"] * len(src)
    )
    repaired = [(src.replace("&amp;", "&"), tgt.replace("&amp;", "&")) for src, tgt in escaped]
    tagged = [(f"<b>{src}</b>", tgt) for src, tgt in sentences[200:300]]
    other_verses = [
        (f"8:{n} {src}", f"8:{n} {tgt}") for n, (src, tgt) in enumerate(sentences[300:])
    ]
    for test, kind in (
        (random.Random(3).sample(verses, 40), ""),
        (escaped[:40], "HTML entities"),
        (repaired[:40], ""),
        (tagged[:40], "tags on one side only"),
        (sentences[310:350], ""),
        (other_verses[10:50], ""),
    ):
        write_pairs(Path(), "t", test)
        said = score("--set", 'data.test=["t.src", "t.tgt"]')
        assert f"warning: 40 of 40 {SEEN}" in said
        assert (f"warning: 40 test pairs: 40 have {kind} (lines 1, " in said) is bool(kind)
        # Once, though the references have the faults, too.
        assert said.count(" have ") == bool(kind)


def test_references_of_the_test_set_are_checked_as_those_of_a_file(
    score: Callable[..., str],
) -> None:
    """Their order and language; but a translation that equals its reference is right."""
    letters = random.Random(7)
    lines = ["".join(letters.choices("aeioubdgklmnrst   ", k=40)) for _ in range(60)]
    Path("a.src").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    Path("b.tgt").write_text("".join(f"{line}\n" for line in [*lines[1:], lines[0]]), "utf-8")
    assert "(shifted by 1 line)" in score("--set", 'data.test=["a.src", "b.tgt"]')
    assert "identical" not in score("--set", 'data.test=["a.src", "a.src"]')


def test_test_set_of_another_language_than_the_model_is_warned_of(tmp_path: Path) -> None:
    config = byte_config({"languages.src": "en", "languages.tgt": "fr"})
    model = tmp_path / "model"
    save_model(model, byte_model(config).state_dict(), config, byte_subwords(), {})
    config = with_values(config, {"paths.model": str(model)})
    texts = {
        "en": ["The dog sleeps in the house of the man, and this is what we have seen."] * 20,
        "fr": ["Le chien dort dans la maison de l'homme, et c'est ce que nous avons vu."] * 20,
    }
    stream = io.StringIO()
    warn_of_test_set(["a", "b"], texts["en"], texts["fr"], config, Console(stream))
    assert stream.getvalue() == ""
    third = [FUNCTION_WORDS["de"]] * 20
    warn_of_test_set(["a", "b"], third, texts["fr"], config, Console(stream))
    said = " ".join(stream.getvalue().split())
    assert (
        f"seems to be in German (`de`), but `{model}` translates from en to fr: is another --model"
        in said
    )


NAMES = [("t.xnd", "t.en"), ("a b", "c"), ("t.tsv",)]


@pytest.mark.parametrize("files", NAMES)
def test_test_set_in_the_other_direction_than_the_model_is_warned_of(
    files: tuple[str, ...], tmp_path: Path
) -> None:
    """By its names, or by the text in the only language that nmt knows."""
    config = byte_config({"languages.src": "en", "languages.tgt": "xnd"})
    save_model(tmp_path, byte_model(config).state_dict(), config, byte_subwords(), {})
    config = with_values(config, {"paths.model": str(tmp_path)})
    english, other = [FUNCTION_WORDS["en"]] * 20, ["kag mur tol wun nef rik saw bor gul"] * 40
    if files[0].endswith("xnd"):
        english, other = ["7"], ["8"]
    stream = io.StringIO()
    warn_of_test_set(files[::-1], english, other, config, Console(stream))
    assert stream.getvalue() == ""
    warn_of_test_set(files, other, english, config, Console(stream))
    said = " ".join(stream.getvalue().split())
    assert f"but `{tmp_path}` translates from en to xnd: name another --model, or" in said
    if len(files) == 1:
        assert (
            f"`{files[0]}` seems to have `xnd` in column 1 and English (`en`) in column 2" in said
        )
        assert "swap the columns: awk" in said
    else:
        assert f"`{files[0]}` seems to be in `xnd` and `{files[1]}` in English (`en`)" in said
        assert f'--set \'data.test=["{files[1]}", "{files[0]}"]\'' in said
