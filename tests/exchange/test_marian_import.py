"""A model that Marian trained gives Marian's words and scores here.

Its weights and what Marian made of some lines are recorded by marian_recipe.py.
"""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from marian_models import LANGUAGES, RECORDED, copied, rewrite, settings_of, with_settings
from marian_mutations import MUTATIONS
from marian_recipe import BEAM, DATA, NORMALIZE

from nmt_cli.cli import main
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.exchange.checks.comparison import TOLERANCE
from nmt_cli.exchange.formats.marian.importer import IMPORTER
from nmt_cli.exchange.formats.marian.settings import model_settings
from nmt_cli.exchange.import_model import import_model
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.exchange.importers import detect_format
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model_dir import LoadedModel, load_model
from nmt_cli.translation.translator import Translator

LINES = [entry["source"] for entry in RECORDED]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model directory that the recorded model is imported as."""
    out = tmp_path_factory.mktemp("imported") / "model"
    import_model(DATA, out, options=LANGUAGES, check=False)
    return out


def translated(loaded: LoadedModel, **search: object) -> list:
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    return translator.translate(LINES, sentences="line", max_extra_length=70, **search)


@pytest.fixture(scope="module")
def greedy(imported: Path) -> list:
    return translated(load_model(imported), beam=1)


def test_greedy_words_and_their_scores_equal_those_of_marian(greedy: list) -> None:
    for entry, result in zip(RECORDED, greedy, strict=True):
        expected = entry["word_scores"]
        scores = result.hypotheses[0].token_scores
        # Marian cuts the last translation off at four words for each of the source.
        assert entry["greedy"] == result.text[: len(entry["greedy"])]
        assert scores[: len(expected)] == pytest.approx(expected, abs=1e-3)
        assert len(scores) == len(expected) or entry is RECORDED[-1]
    assert len(RECORDED[-1]["word_scores"]) > 70


def test_letters_are_not_repaired_as_in_training_text_of_nmt(imported: Path) -> None:
    loaded = load_model(imported)
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    assert translator.repair("h\u043euse") == "h\u043euse"


def test_default_translations_equal_those_of_decoder_yml(imported: Path) -> None:
    loaded = load_model(imported)
    assert loaded.config.search.beam == BEAM
    assert (loaded.config.search.length_penalty, loaded.config.search.alpha) == ("power", NORMALIZE)
    results = translated(loaded)[:-1]
    expected = [entry["beam"] for entry in RECORDED[:-1]]
    assert [result.text for result in results] == expected
    assert expected != [entry["greedy"] for entry in RECORDED[:-1]]


@pytest.mark.parametrize("positions", ["sinusoidal_t2t", "sinusoidal_halves", "sinusoidal"])
def test_only_the_sinusoids_of_marian_give_its_scores(
    imported: Path, greedy: list, positions: str
) -> None:
    """Hugging Face and CTranslate2 give Marian's models the wavelengths of the paper."""
    loaded = load_model(imported)
    other = type(loaded.model)(dataclasses.replace(loaded.config.model, positions=positions)).eval()
    other.load_state_dict(loaded.model.state_dict())
    sources = loaded.subwords.encode_source(LINES)
    targets = [list(result.hypotheses[0].ids) for result in greedy]
    # Without the translation that Marian cuts off.
    forced = force_pairs(other, list(zip(sources, targets, strict=True))[:-1])
    difference = max(
        abs(sum(pair.token_scores) - sum(entry["word_scores"]))
        for pair, entry in zip(forced, RECORDED[:-1], strict=True)
    )
    assert difference < 1e-3 if positions == "sinusoidal_t2t" else difference > 0.1


@pytest.mark.parametrize(
    ("tied", "ties"),
    [
        ((), "none"),
        (("tied-embeddings",), "target"),
        (("tied-embeddings", "tied-embeddings-src"), "all"),
        (("tied-embeddings-all",), "all"),
    ],
)
def test_settings_of_tied_embeddings(tied: tuple[str, ...], ties: str) -> None:
    names = ("tied-embeddings", "tied-embeddings-src", "tied-embeddings-all")
    settings = {**settings_of(DATA / "model.npz"), **{name: name in tied for name in names}}
    assert model_settings(settings)["tie_embeddings"] == ties


@pytest.mark.parametrize("mutation", [None, *MUTATIONS])
def test_mutated_files_do_not_give_the_recorded_words_and_scores(
    mutation: str | None, greedy: list, tmp_path: Path
) -> None:
    """Without a mutation they do."""
    folder = copied(tmp_path / "copy")
    if mutation is not None:
        MUTATIONS[mutation](folder / "model.npz")
    import_model(folder, tmp_path / "model", options=LANGUAGES, check=False)
    loaded = load_model(tmp_path / "model")
    sources = loaded.subwords.encode_source(LINES)
    targets = [list(result.hypotheses[0].ids) for result in greedy]
    forced = force_pairs(loaded.model, list(zip(sources, targets, strict=True))[:-1])
    differences = [
        abs(sum(pair.token_scores) - sum(entry["word_scores"]))
        for pair, entry in zip(forced, RECORDED[:-1], strict=True)
    ]
    # The tolerance of the comparison that `nmt import` makes.
    assert (max(differences) <= TOLERANCE) == (mutation is None)


def test_the_decoder_begins_with_zeros_that_no_text_has(imported: Path) -> None:
    loaded = load_model(imported)
    model, subwords = loaded.config.model, loaded.subwords
    start = model.start_id
    assert start == subwords.tgt_size - 1 == model.bos_id
    assert model.zero_start
    assert start in model.banned_ids
    assert subwords.unk_id in model.banned_ids
    assert not loaded.model.embedding.matrix("tgt")[start].any()
    assert loaded.model.output_bias[start] == -1e9
    assert subwords.target_pieces([start]) == ["<start>"]
    assert start not in subwords.encode_source(["<start> bado"])[0]
    logits = force_pairs(loaded.model, [([2, 0], [start, 0])])[0].token_scores
    assert logits[0] < -1e8


def test_unknown_words_are_written_if_decoder_yml_allows_them(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    with (folder / "decoder.yml").open("a") as file:
        file.write("allow-unk: true\nword-penalty: 0.5\n")
    model = IMPORTER.read(folder, LANGUAGES)
    assert model.config.model.unk_id not in model.config.model.banned_ids
    assert "word-penalty" in model.notes[0]


def test_weights_alone_need_their_vocabularies(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--vocab"):
        IMPORTER.read(DATA / "model.npz", LANGUAGES)
    for count in (1, 2):
        vocabularies = (DATA / "vocab.spm",) * count
        model = IMPORTER.read(DATA / "model.npz", ImportOptions("en", "xx", vocabularies))
        assert model.subwords.joint
        assert model.config.search.beam == 4
        assert "no decoder.yml" in model.notes[0]
    with pytest.raises(ConfigError, match="at most two"):
        IMPORTER.read(DATA / "model.npz", ImportOptions("en", "xx", (DATA / "vocab.spm",) * 3))


def test_weights_find_the_settings_that_training_wrote_beside_them(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    weights = (folder / "model.npz").rename(folder / "model.npz.best-chrf.npz")
    text = (folder / "decoder.yml").read_text()
    (folder / "decoder.yml").unlink()
    # It names the weights by the path that they had on the machine of the training.
    beside = folder / "model.npz.best-chrf.npz.decoder.yml"
    beside.write_text(text.replace("model.npz", "/of/others/model.npz"))
    model = IMPORTER.read(weights, LANGUAGES)
    assert [file.name for file in model.files] == [weights.name, beside.name, "vocab.spm"]
    assert model.config.search == IMPORTER.read(DATA, LANGUAGES).config.search
    beside.write_text(text.replace("vocab.spm", "other.spm"))
    with pytest.raises(NoInputError, match=r"names `other.spm`"):
        IMPORTER.read(weights, LANGUAGES)
    options = ImportOptions("en", "xx", (folder / "vocab.spm",))
    assert IMPORTER.read(weights, options).config == model.config


def test_formats_are_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert detect_format(DATA) == "marian"
    assert detect_format(DATA / "model.npz") == "marian"
    options = ["--src-lang", "en", "--tgt-lang", "xx", "--no-check", "--json"]
    out = ["--out", str(tmp_path / "model")]
    assert main(["import", str(DATA), *out, "--from", "auto", *options]) == 0
    assert json.loads(capsys.readouterr().out)["from"] == "marian"
    other = ["--out", str(tmp_path / "other")]
    assert main(["import", str(DATA), *other, "--from", "huggingface", *options]) != 0


def test_the_command_imports_unchecked_without_pymarian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nmt_cli.exchange import target

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(target, "find_spec", lambda name: None)
    arguments = ["import", str(DATA / "model.npz"), "--vocab", str(DATA / "vocab.spm"),
                 "--src-lang", "en", "--tgt-lang", "xx", "--out", "model"]  # fmt: skip
    assert main(arguments) == 69
    assert "pymarian" in (error := capsys.readouterr().err)
    assert "--no-check" in error
    assert list(tmp_path.iterdir()) == []
    assert main([*arguments, "--no-check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["from"] == "marian"
    record = json.loads(Path("model/import.json").read_text())
    assert set(record["source"]["sha256"]) == {"model.npz", "vocab.spm"}


def test_what_cannot_be_imported_is_refused_before_pymarian_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nmt_cli.exchange import target

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(target, "find_spec", lambda name: None)
    Path("y.npz").write_text("text")
    arguments = ["import", "y.npz", "--vocab", str(DATA / "vocab.spm"),
                 "--src-lang", "en", "--tgt-lang", "xx", "--out", "model"]  # fmt: skip
    assert main(arguments) == 65
    error = capsys.readouterr().err
    assert "is damaged, or is not an .npz file" in error
    assert "pymarian" not in error


def test_import_needs_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(NmtError, match=r"(?s)PyYAML.*\[marian\]") as raised:
        IMPORTER.read(DATA, LANGUAGES)
    assert raised.value.exit_code == 69


REFUSED = [
    ({"transformer_preprocess": "n"}, "pre-norm"),
    ({"transformer_postprocess": "da"}, "`transformer-postprocess: da`"),
    ({"transformer_postprocess_emb": "dn"}, "`transformer-postprocess-emb: dn`"),
    ({"transformer_postprocess_top": "n"}, "`transformer-postprocess-top: n`"),
    ({"transformer_decoder_autoreg": "rnn"}, "`transformer-decoder-autoreg: rnn`"),
    ({"transformer_decoder_autoreg": "average-attention"}, "decoder's self-attention"),
    ({"transformer_tied_layers": [1, 1]}, "shares weights between layers"),
    ({"transformer_train_position_embeddings": True}, "learned positions"),
    ({"transformer_ffn_activation": "gelu"}, "`transformer-ffn-activation: gelu`"),
    ({"transformer_decoder_dim_ffn": 32}, "differs from the encoder's width"),
    ({"transformer_attention_mask": "alibi"}, "attention by distance"),
    ({"lemma_dim_emb": 8}, "factors"),
    ({"input_types": ["sequence", "class"]}, "inputs that are not text"),
    ({"type": "s2s"}, "`type: s2s`"),
    ({"enc_depth": "2"}, "no whole number as `enc-depth`"),
    ({"dim_emb": True}, "no whole number as `dim-emb`"),
    ({"transformer_rms_norm": True}, "does not know its settings `transformer-rms-norm`"),
    ({"right_left": True}, "right to left"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_settings_that_nmt_lacks_are_refused(tmp_path: Path, changes: dict, message: str) -> None:
    folder = copied(tmp_path / "copy")
    with_settings(folder / "model.npz", **changes)
    with pytest.raises(ConfigError) as raised:
        import_model(folder, tmp_path / "model", options=LANGUAGES, check=False)
    assert message in str(raised.value)
    assert not (tmp_path / "model").exists()


HARMLESS = {
    "transformer_guided_alignment_layer": "1", "transformer_depth_scaling": True,
    "bert_type_vocab_size": 3, "transformer_postprocess_emb": "", "new_setting": False,
    "version": "v1.9.43",
}  # fmt: skip


def test_settings_without_effect_are_accepted(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    with_settings(folder / "model.npz", **HARMLESS)
    changed, original = (IMPORTER.read(path, LANGUAGES) for path in (folder, DATA))
    assert changed.config == original.config
    assert all(torch.equal(changed.weights[name], original.weights[name])
               for name in original.weights)  # fmt: skip


def test_every_reason_is_named_at_once(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    with_settings(folder / "model.npz", transformer_preprocess="n", ulr=True, other=3)
    with pytest.raises(ConfigError) as raised:
        IMPORTER.read(folder, ImportOptions())
    for part in ("pre-norm", "`ulr: True`", "`other`", "--src-lang", "--tgt-lang"):
        assert part in str(raised.value)


def test_arrays_without_a_place_are_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    weight = torch.zeros(32, 32).numpy()
    rewrite(folder / "model.npz", encoder_l1_self_Wgate=weight)
    with pytest.raises(ConfigError, match=r"1 of its arrays: `encoder_l1_self_Wgate`"):
        IMPORTER.read(folder, LANGUAGES)


def test_missing_and_misshapen_arrays_are_refused(tmp_path: Path) -> None:
    weight = torch.zeros(31, 32).numpy()
    for number, (array, message) in enumerate([(None, "no array"), (weight, r"shape \[31, 32\]")]):
        folder = copied(tmp_path / str(number))
        rewrite(folder / "model.npz", decoder_l1_self_Wk=array)
        with pytest.raises(DataError, match=message):
            IMPORTER.read(folder, LANGUAGES)


def opus_folder(tmp_path: Path) -> Path:
    """The recorded model with a vocabulary as OPUS-MT has it: YAML, and segmenters beside it."""
    from sentencepiece import SentencePieceProcessor

    folder = copied(tmp_path / "opus")
    pieces = SentencePieceProcessor(str(folder / "vocab.spm"))
    lines = (
        f"{json.dumps(pieces.id_to_piece(index), ensure_ascii=False)}: {index}\n"
        for index in range(len(pieces))
    )
    (folder / "opus.vocab.yml").write_text("".join(lines))
    (folder / "vocab.spm").rename(folder / "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    decoder = (folder / "decoder.yml").read_text()
    (folder / "decoder.yml").write_text(decoder.replace("vocab.spm", "/of/others/opus.vocab.yml"))
    return folder


def test_yaml_vocabulary_with_segmenters_beside_it(imported: Path, tmp_path: Path) -> None:
    model = IMPORTER.read(opus_folder(tmp_path), LANGUAGES)
    expected = load_model(imported).subwords
    assert model.subwords.encode_source(LINES) == expected.encode_source(LINES)
    assert [file.name for file in model.files] == [
        "model.npz", "decoder.yml", "opus.vocab.yml", "source.spm", "target.spm"
    ]  # fmt: skip
    assert model.subwords.decode_target([[5, 7, 2, 0]]) == expected.decode_target([[5, 7, 2, 0]])


def test_yaml_vocabulary_without_segmenters_is_refused(tmp_path: Path) -> None:
    folder = opus_folder(tmp_path)
    (folder / "target.spm").unlink()
    with pytest.raises(ConfigError, match="without a segmenter"):
        IMPORTER.read(folder, LANGUAGES)
    (folder / "source.bpe").write_text("#version: 0.2\n")
    with pytest.raises(ConfigError, match="subword-nmt"):
        IMPORTER.read(folder, LANGUAGES)
    options = ImportOptions("en", "xx", (folder / "opus.txt",))
    with pytest.raises(ConfigError, match="neither sentencepiece"):
        IMPORTER.read(folder / "model.npz", options)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("[1, 2]", DataError, "holds no settings"),
        ("models: [a.npz, b.npz]\nvocabs: [a, b]", ConfigError, "2 models"),
        ("models: [model.bin]\nvocabs: [a, b]", ConfigError, "not an .npz file"),
        ("models: [model.npz]", ConfigError, "0 vocabularies"),
        ("models: [../../model.npz]\nvocabs: [vocab.spm, none.spm]", NoInputError, "`none.spm`"),
        ("models: [model.npz]\nvocabs: [vocab.spm, '..']", NoInputError, "not in"),
        ("models: [model.npz]\nvocabs: [vocab.spm]\nbeam-size: [x]", ConfigError, "no.*number"),
        ("models: [model.npz]\nvocabs: [vocab.spm]\nbeam-size: 0", ConfigError, "beam"),
    ],
)
def test_wrong_decoder_yml_is_refused(tmp_path: Path, text: str, error: type, message: str) -> None:
    folder = copied(tmp_path / "copy")
    (folder / "decoder.yml").write_text(text)
    with pytest.raises(error, match=message):
        IMPORTER.read(folder, LANGUAGES)


def test_vocabularies_of_another_model_are_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    settings = settings_of(folder / "model.npz")
    rows = settings["dim-vocabs"][0]
    with_settings(folder / "model.npz")
    import numpy as np

    with np.load(folder / "model.npz") as arrays:
        fewer = arrays["Wemb"][: rows - 3], arrays["decoder_ff_logit_out_b"][:, : rows - 3]
    rewrite(folder / "model.npz", Wemb=fewer[0], decoder_ff_logit_out_b=fewer[1])
    with pytest.raises(DataError, match=f"the embeddings have {rows - 3} rows"):
        IMPORTER.read(folder, LANGUAGES)
