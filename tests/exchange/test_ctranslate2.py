"""CTranslate2 gives the probabilities and the translations of the model, for every variant."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
from exported import (
    has_exact_int8_products,
    joint_subwords,
    largest_difference,
    learnt_lines,
    letter_lines,
    random_model,
    random_pairs,
    separate_subwords,
)
from variants import VARIANTS

from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import Bytes
from nmt_cli.exchange.checks.comparison import compare_models
from nmt_cli.exchange.export import export_model
from nmt_cli.exchange.formats.ctranslate2.target import TARGET
from nmt_cli.exchange.requirements import piece_names
from nmt_cli.exchange.target import ForeignTranslator
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model_dir import LoadedModel, load_model
from nmt_cli.translation.translator import Translator

# Those with two widths of a head are tested with one, and those without an encoder are refused.
HOLDS = [
    *(
        {**variant, "model.d_v": variant.get("model.d_k", "auto")}
        for variant in VARIANTS
        if variant.get("model.encoder_layers") != 0
    ),
    {"model.norm_epsilon": 1e-3},
    {"model.start_id": 0},
    {"model.positions": "sinusoidal_t2t", "model.position_offset": 2},
    {"model.tie_embeddings": "all", "model.output_bias": True},
]


@pytest.fixture(scope="module")
def letters(letters_model: Path) -> LoadedModel:
    return load_model(letters_model)


def written(loaded: LoadedModel, folder: Path, precision: str = "float32") -> ForeignTranslator:
    """The exported model, opened by CTranslate2."""
    folder.mkdir()
    TARGET.write(loaded, folder, precision)
    return TARGET.open(folder)


@pytest.mark.parametrize("settings", HOLDS, ids=range(len(HOLDS)))
def test_ctranslate2_gives_the_log_probabilities_of_every_variant(settings, tmp_path) -> None:
    loaded = random_model(settings)
    assert TARGET.reasons_against(loaded) == []
    assert largest_difference(loaded, written(loaded, tmp_path / "out")) < 1e-5


def test_ctranslate2_refusal_names_every_reason() -> None:
    settings = {"model.d_k": 2, "model.d_v": 5, "model.encoder_layers": 0}
    reasons = TARGET.reasons_against(random_model(settings, Subwords(Bytes())))
    problems = " ".join(reason.problem for reason in reasons)
    assert "data.subwords=bytes" in problems
    assert "model.d_k=2 differs from model.d_v=5" in problems
    assert [reason.remedy for reason in reasons] == [
        "data.subwords=bpe", "model.d_v=2", "model.encoder_layers=1",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["rnn", "conv"])
def test_ctranslate2_refuses_older_models(kind: str) -> None:
    loaded = random_model({})
    model = replace(loaded.config.model, kind=kind)
    loaded = replace(loaded, config=replace(loaded.config, model=model))
    [reason] = TARGET.reasons_against(loaded)
    assert reason.remedy == "model.kind=transformer"


@pytest.mark.parametrize("make", [lambda: joint_subwords("unigram"), separate_subwords])
def test_ctranslate2_source_ids_are_ours(make: Callable[[], Subwords], tmp_path: Path) -> None:
    subwords = make()
    ties = "all" if subwords.joint else "none"
    loaded = random_model({"model.tie_embeddings": ties}, subwords)
    foreign = written(loaded, tmp_path / "out")
    for line in ("cod netel x", "Ünknown ☂ wexis", "a", "que  quea"):
        assert foreign.source_ids(line) == subwords.encode_source([line])[0]


@pytest.mark.parametrize("beam", [1, 4])
def test_ctranslate2_translates_as_nmt(beam: int, letters: LoadedModel, tmp_path: Path) -> None:
    foreign = written(letters, tmp_path / "out")
    lines = learnt_lines(100)
    search = replace(letters.config.search, beam=beam, length_penalty="power", alpha=0.6)
    translator = Translator(letters.model, letters.config, letters.subwords)
    expected = [each.text for each in translator.translate(lines, search=search)]
    ids = letters.subwords.encode_source(lines)
    actual = [
        foreign.translate(line, beam=beam, length_penalty=0.6, max_length=len(source) + 49)
        for line, source in zip(lines, ids, strict=True)
    ]
    assert actual == expected
    assert len(set(expected)) > 50


@pytest.mark.parametrize("precision", ["int8", "float16"])
def test_ctranslate2_with_rounded_weights_translates_most_lines_as_nmt(
    precision: str, letters: LoadedModel, tmp_path: Path
) -> None:
    if precision == "int8" and not has_exact_int8_products():
        pytest.skip("without VNNI, the sums of CTranslate2's int8 products can overflow")
    foreign = written(letters, tmp_path / "out", precision)
    result = compare_models(letters, foreign, letter_lines(50), precision, "CTranslate2")
    assert result.equal_translations >= 0.8 * 50
    assert result.log_prob_difference > 0


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_ctranslate2_has_the_attention_of_word_alignment(layers: int, tmp_path: Path) -> None:
    """With `return_attention`; that to the end of the source is left out there."""
    loaded = random_model({"model.decoder_layers": layers})
    written(loaded, tmp_path / "out")
    engine = ctranslate2.Translator(str(tmp_path / "out"), device="cpu", intra_threads=1)
    source, target = list(random_pairs(loaded))[2]
    names = piece_names(loaded.subwords, "src")
    [result] = engine.translate_batch(
        [[names[token] for token in source[:-1]]],
        [[names[token] for token in target[:-1]]],
        return_attention=True,
        max_decoding_length=len(target) - 1,
    )
    [forced] = force_pairs(loaded.model, [(source, target)], attention=True)
    actual, expected = np.array(result.attention[0]), forced.attention.numpy()
    assert len(actual) == 4
    assert actual == pytest.approx(expected[:4, :-1], abs=1e-5)


def test_long_sentences_are_translated_whole(tmp_path: Path) -> None:
    """By default CTranslate2 cuts them off, without a word."""
    loaded = random_model({"data.max_length": 2})
    written(loaded, tmp_path / "out")
    engine = ctranslate2.Translator(str(tmp_path / "out"), device="cpu", intra_threads=1)
    options = {**TARGET.search_options(loaded).options, "max_decoding_length": 2}
    names = piece_names(loaded.subwords, "src")[4:]
    subwords = [names[index % 7 if index < 1_500 else -1] for index in range(1_600)]
    whole, cut = engine.translate_batch([subwords, subwords[:1_500]], return_scores=True, **options)
    assert whole.scores != cut.scores


def test_writing_int8_leaves_the_model_unchanged(letters: LoadedModel, tmp_path: Path) -> None:
    before = {name: weight.clone() for name, weight in letters.model.state_dict().items()}
    written(letters, tmp_path / "out", "int8")
    for name, weight in letters.model.state_dict().items():
        assert weight.equal(before[name]), name


def test_model_card_shows_how_to_translate(
    letters_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    export_model(letters_model, "ctranslate2", tmp_path / "out", check=False)
    monkeypatch.chdir(tmp_path / "out")
    card = Path("README.md").read_text()
    assert "library_name: ctranslate2" in card
    code = card.partition("```python\n")[2].partition("```")[0]
    line = letter_lines(1)[0]
    assert "A line to translate." in code
    assert "translate_batch(subwords, **search)" in code
    exec(code.replace("A line to translate.", line), {})
    translator = Translator.load(letters_model)
    search = replace(load_model(letters_model).config.search, length_penalty="power")
    [translation] = translator.translate([line], search=search)
    assert capsys.readouterr().out == f"{translation.text}\n"
