"""A model that transformers trained gives the same logits and translations here."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest
import safetensors.torch
import torch
import transformers
from exported import letter_lines, random_model
from opus_model import TAGS, source_line
from pickles import Gadget, saved

from nmt_cli.cli import main
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.exchange.formats.huggingface.importer import IMPORTER, _model_settings
from nmt_cli.exchange.formats.huggingface.target import TARGET
from nmt_cli.exchange.import_model import import_model
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model_dir import load_model
from nmt_cli.translation.translator import Translator


@pytest.fixture(scope="module")
def imported(opus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model directory that it is imported as."""
    out = tmp_path_factory.mktemp("imported") / "model"
    import_model(opus, out)
    return out


@pytest.fixture
def copy(opus: Path, tmp_path: Path) -> Path:
    """A copy of the directory to damage."""
    return Path(shutil.copytree(opus, tmp_path / "copy"))


def changed(path: Path, **values: object) -> None:
    """Change keys of a JSON file; None removes one."""
    document = json.loads(path.read_text()) | values
    kept = {key: value for key, value in document.items() if value is not None}
    path.write_text(json.dumps(kept))


def lines_of(count: int) -> list[str]:
    chooser = random.Random(9)
    return [source_line(chooser) for _ in range(count)]


def test_log_probabilities_equal_those_of_transformers(opus: Path, imported: Path) -> None:
    loaded, foreign = load_model(imported), IMPORTER.open(opus)
    chooser = random.Random(2)
    size = loaded.subwords.tgt_size
    sources = loaded.subwords.encode_source(lines_of(8))
    pairs = [(source, [*chooser.choices(range(2, size - 1), k=7), 0]) for source in sources]
    for forced, (source, target) in zip(force_pairs(loaded.model, pairs), pairs, strict=True):
        assert sum(forced.token_scores) == pytest.approx(foreign.log_prob(source, target), abs=1e-4)


def test_logits_equal_those_of_transformers(opus: Path, imported: Path) -> None:
    loaded, foreign = load_model(imported), IMPORTER.open(opus)
    source = loaded.subwords.encode_source(lines_of(1))[0]
    target = [5, 9, 3, 3, 12, 0]
    scores = force_pairs(loaded.model, [(source, target)])[0].token_scores
    before = torch.tensor([[loaded.config.model.start_id, *target[:-1]]])
    with torch.inference_mode():
        logits = foreign.model(input_ids=torch.tensor([source]), decoder_input_ids=before).logits
    expected = logits[0].log_softmax(-1).gather(1, torch.tensor(target)[:, None])[:, 0]
    assert torch.allclose(torch.tensor(scores), expected, atol=1e-5, rtol=0)


def test_default_translations_equal_those_of_generate(opus: Path, imported: Path) -> None:
    loaded, foreign = load_model(imported), IMPORTER.open(opus)
    lines = lines_of(50)
    inputs = foreign.tokenizer(lines, return_tensors="pt", padding=True)
    expected = foreign.tokenizer.batch_decode(
        foreign.model.generate(**inputs), skip_special_tokens=True
    )
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    assert [each.text for each in translator.translate(lines)] == expected
    assert len(set(expected)) > 30
    assert loaded.config.search.beam == 3
    assert loaded.config.search.alpha == 0.8


def test_ids_equal_those_of_its_tokenizer(opus: Path, imported: Path) -> None:
    loaded, foreign = load_model(imported), IMPORTER.open(opus)
    lines = [*lines_of(5), "bado ☂ kelim", "jum >>abj<< eri", ">>xx<< jum", "", ">>abj<<"]
    for line in lines:
        if not line.startswith(">>xx<<"):
            assert loaded.subwords.encode_source([line])[0] == foreign.source_ids(line)
    unknown_tag = loaded.subwords.encode_source([">>xx<< jum"])[0]
    assert unknown_tag[-2:] == foreign.source_ids("jum")[-2:]
    assert loaded.subwords.tags.keys() == set(TAGS)
    # A piece that only the source segmenter has is spelled as a translation too.
    source_only = [
        (piece, token)
        for piece, token in loaded.subwords._source.vocabulary.items()
        if piece not in loaded.subwords._target.segmenter.pieces() and piece.startswith("\u2581")
    ]
    piece, token = source_only[0]
    assert loaded.subwords.decode_target([[token, 0]]) == [piece[1:]]


def test_each_sentence_of_a_line_gets_the_tag(imported: Path) -> None:
    loaded = load_model(imported)
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    parts = ["Bado kelim.", "Nosu tirap."]
    for tag in TAGS:
        whole = translator.translate([f"{tag} {' '.join(parts)}"], sentences="split")[0]
        alone = translator.translate([f"{tag} {part}" for part in parts])
        assert whole.text == " ".join(each.text for each in alone)
        assert [each.source for each in whole.sentences] == parts


def test_export_of_an_imported_model_has_the_same_bytes(
    opus: Path, imported: Path, tmp_path: Path
) -> None:
    TARGET.write(load_model(imported), tmp_path, "float32")
    ours, theirs = (
        safetensors.torch.load_file(folder / "model.safetensors") for folder in (tmp_path, opus)
    )
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert ours[name].numpy().tobytes() == tensor.numpy().tobytes(), name


@pytest.mark.parametrize("name", ["MarianConfig", "PegasusConfig"])
def test_settings_that_config_json_lacks_are_the_defaults_of_transformers(name: str) -> None:
    complete = getattr(transformers, name)().to_dict()
    left_out = {
        "activation_function", "dropout", "scale_embedding", "share_encoder_decoder_embeddings",
        "tie_word_embeddings",
    }  # fmt: skip
    given = {key: value for key, value in complete.items() if key not in left_out}
    assert _model_settings(given, {}) == _model_settings(complete, {})


VARIANTS = [
    {"model.norm_order": "post"}, {"model.norm_order": "pre"},
    {"model.norm_order": "post", "model.tie_embeddings": "target"},
    {"model.norm_order": "post", "model.tie_embeddings": "none"},
    {"model.norm_order": "post", "model.attention_bias": True, "model.output_bias": True,
     "model.activation": "silu", "model.positions": "sinusoidal_halves"},
    {"model.norm_order": "pre", "model.encoder_layers": 1, "model.decoder_layers": 3,
     "model.feed_forward_bias": False, "model.scale_embeddings": False,
     "model.activation": "gelu", "search.beam": 1},
]  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(settings, id=str(number), marks=[pytest.mark.slow] if number > 1 else [])
        for number, settings in enumerate(VARIANTS)
    ],
)
def test_an_export_comes_in_and_goes_out_with_the_same_files(settings, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    TARGET.write(random_model({**settings, "model.norm_epsilon": 1e-5}), first, "float32")
    check = import_model(first, tmp_path / "model").check
    assert check.equal_translations == 20
    assert check.log_prob_difference < 3e-4
    TARGET.write(load_model(tmp_path / "model"), second, "float32")
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_default_translations_are_equal_after_export_and_import(
    letters_model: Path, tmp_path: Path
) -> None:
    assert main(["export", str(letters_model), "--to", "huggingface",
                 "--out", str(tmp_path / "hf")]) == 0  # fmt: skip
    assert main(["import", str(tmp_path / "hf"), "--out", str(tmp_path / "model")]) == 0
    original, back = (Translator.load(folder) for folder in (letters_model, tmp_path / "model"))
    lines = letter_lines(40)
    expected = original.translate(lines, length_penalty="power")
    assert [each.text for each in back.translate(lines)] == [each.text for each in expected]


def test_command_reports_the_comparison_and_records_it(
    opus: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines").write_text("\n".join(lines_of(7)) + "\n")
    assert main(["import", str(opus), "--out", "model", "--check", "lines", "--json",
                 "--src-lang", "xx"]) == 0  # fmt: skip
    document = json.loads(capsys.readouterr().out)
    assert document["from"] == "huggingface"
    assert document["check"]["equal_translations"] == document["check"]["lines"] == 7
    record = json.loads(Path("model/import.json").read_text())
    assert record["check"] == document["check"]
    assert set(record["source"]["sha256"]) == {
        "config.json", "generation_config.json", "model.safetensors", "source.spm", "target.spm",
        "tokenizer_config.json", "vocab.json",
    }  # fmt: skip
    languages = load_model(Path("model")).config.languages
    assert (languages.src, languages.tgt) == ("xx", "mul")
    assert main(["import", str(opus), "--out", "model"]) == 73
    assert main(["import", str(opus), "--out", "model", "--force", "--no-check"]) == 0
    assert json.loads(Path("model/import.json").read_text())["check"] is None


def test_a_difference_ends_with_3_and_leaves_nothing(
    opus: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    """transformers runs the original, so weights that differ here differ from it."""
    monkeypatch.chdir(tmp_path)
    from nmt_cli.exchange.formats.huggingface import importer

    read_state = importer.read_state

    def damaged(*arguments):
        state = read_state(*arguments)
        state["decoder.0.feed_forward.outer.weight"] *= 1.2
        return state

    monkeypatch.setattr(importer, "read_state", damaged)
    assert main(["import", str(opus), "--out", "model"]) == 3
    assert "the imported model gives other probabilities in Hugging Face" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_positions_of_the_paper_in_place_of_halves_are_noticed(
    opus: Path, tmp_path: Path, monkeypatch
) -> None:
    from nmt_cli.exchange.formats.huggingface import importer

    settings = importer._model_settings
    monkeypatch.setattr(
        importer, "_model_settings",
        lambda *arguments: settings(*arguments) | {"positions": "sinusoidal"},
    )  # fmt: skip
    with pytest.raises(NmtError, match="other probabilities"):
        import_model(opus, tmp_path / "model")


REFUSED = [
    ("config.json", {"model_type": "bart"}, ConfigError, "model_type is `bart`"),
    ("config.json", {"decoder_ffn_dim": 32}, ConfigError, "`ffn_dim` differs"),
    ("config.json", {"activation_function": "gelu_new"}, ConfigError, "`gelu_new`"),
    ("config.json", {"forced_bos_token_id": 4}, ConfigError, "begin with a certain token"),
    ("config.json", {"d_model": 48}, DataError, "has the shape"),
    ("config.json", {"d_model": "32"}, DataError, "`d_model`"),
    ("config.json", {"encoder_layers": 3}, DataError, "no tensor `model.encoder.layers.2."),
    ("config.json", {"encoder_attention_heads": 5, "decoder_attention_heads": 5}, ConfigError,
     "heads"),
    ("config.json", {"vocab_size": 7, "decoder_vocab_size": 7}, DataError, "7 rows"),
    ("config.json", {"vocab_size": "many"}, DataError, "vocab_size"),
    ("tokenizer_config.json", {"tokenizer_class": "PegasusTokenizer"}, ConfigError,
     "`PegasusTokenizer`"),
    ("tokenizer_config.json", {"source_lang": None}, ConfigError, "--src-lang"),
    ("tokenizer_config.json", {"unk_token": "<other>"}, NoInputError, "`<other>`"),
    ("vocab.json", {"bado": "x"}, DataError, "maps pieces to ids"),
    ("vocab.json", {"bado": 10**9}, DataError, "the id 1000000000"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "error", "message"), REFUSED)
def test_refused_settings(copy: Path, tmp_path: Path, name, values, error, message) -> None:
    changed(copy / name, **values)
    with pytest.raises(error) as raised:
        import_model(copy, tmp_path / "model", format_name="huggingface")
    assert message in str(raised.value)
    assert not (tmp_path / "model").exists()


def test_every_reason_is_named_at_once(copy: Path, tmp_path: Path) -> None:
    changed(copy / "config.json", activation_function="quick_gelu", decoder_attention_heads=2)
    changed(copy / "tokenizer_config.json", target_lang=None)
    with pytest.raises(ConfigError) as raised:
        import_model(copy, tmp_path / "model")
    for part in ("`quick_gelu`", "`attention_heads` differs", "--tgt-lang"):
        assert part in str(raised.value)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "other"])
def test_damaged_files_are_refused(copy: Path, tmp_path: Path, name: str, damage: str) -> None:
    content = (copy / name).read_bytes()
    (copy / name).unlink()
    if damage != "missing":
        other = b'["no", "object"]' if name.endswith("json") else b"\0" * 100
        (copy / name).write_bytes(content[: len(content) // 2] if damage == "truncated" else other)
    with pytest.raises(NmtError) as raised:
        import_model(copy, tmp_path / "model", format_name="huggingface")
    assert raised.value.exit_code in (65, 66)
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_fuzzed_files_are_read_or_refused(copy: Path) -> None:
    """Nothing but the errors of nmt, whatever bytes change."""
    chooser = random.Random(4)
    names = ["config.json", "generation_config.json", "tokenizer_config.json", "vocab.json",
             "model.safetensors", "source.spm"]  # fmt: skip
    refused = 0
    for _ in range(1_000):
        name = chooser.choice(names)
        content = (copy / name).read_bytes()
        damaged = bytearray(content)
        # Headers are at the start.
        end = min(len(damaged), 2_000)
        for _ in range(chooser.randint(1, 4)):
            damaged[chooser.randrange(end)] = chooser.choice(b'\0\xff{}[]":,-19ae. ')
        (copy / name).write_bytes(damaged)
        try:
            IMPORTER.read(copy, ImportOptions())
        except (ConfigError, DataError, NoInputError):
            refused += 1
        (copy / name).write_bytes(content)
    assert 300 < refused < 1_000


@pytest.mark.parametrize("legacy", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_weights_of_torch_save_are_imported_and_compared(
    copy: Path, tmp_path: Path, imported: Path, legacy: bool
) -> None:
    """transformers gets them as safetensors: it unpickles nothing."""
    tensors = safetensors.torch.load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(saved(tensors, legacy=legacy))
    check = import_model(copy, tmp_path / "model").check
    assert check.equal_translations == 20
    result = (tmp_path / "model/model.safetensors").read_bytes()
    assert result == (imported / "model.safetensors").read_bytes()
    record = json.loads((tmp_path / "model/import.json").read_text())
    assert "pytorch_model.bin" in record["source"]["sha256"]


def test_a_hostile_pickle_as_weights_is_refused(copy: Path, tmp_path: Path, capsys) -> None:
    (copy / "model.safetensors").unlink()
    gadget = Gadget(os.system, f"touch {tmp_path / 'mark'}")
    (copy / "pytorch_model.bin").write_bytes(saved({"model.shared.weight": gadget}))
    assert main(["import", str(copy), "--out", str(tmp_path / "model")]) == 65
    assert "`posix.system`" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_weights_in_several_files(opus: Path, copy: Path, tmp_path: Path) -> None:
    tensors = safetensors.torch.load_file(opus / "model.safetensors")
    (copy / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, of_file in parts.items():
        safetensors.torch.save_file(
            {name: tensors[name] for name in of_file}, copy / file, {"format": "pt"}
        )
    index = {name: file for file, of_file in parts.items() for name in of_file}
    path = copy / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": index}))
    assert import_model(copy, tmp_path / "model").check.equal_translations == 20
    path.write_text(json.dumps({"weight_map": {"x": "../a.safetensors"}}))
    with pytest.raises(DataError, match="outside its directory"):
        import_model(copy, tmp_path / "other")


def test_settings_of_generation_that_nmt_lacks_are_named(copy: Path) -> None:
    changed(
        copy / "generation_config.json", early_stopping=True, repetition_penalty=1.2,
        bad_words_ids=[[3], [4, 5]], no_repeat_ngram_size=3, num_beam_groups=3,
    )  # fmt: skip
    model = IMPORTER.read(copy, ImportOptions())
    text = " ".join(model.notes)
    for part in ("repetition_penalty=1.2", "bad_words_ids", "num_beam_groups=3", "early_stopping"):
        assert part in text
    assert model.config.model.banned_ids == (3,)
    assert model.config.search.no_repeat_ngram == 3


@pytest.mark.parametrize("format_name", [None, "huggingface"])
@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("ONNX", ("encoder_model.onnx", "config.json")),
        ("CTranslate2", ("model.bin", "config.json")),
        ("Argos Translate", ("en_de.argosmodel",)),
        ("Bergamot", ("model.ende.intgemm.alphas.bin", "vocab.ende.spm")),
    ],
)
def test_formats_of_exports_are_named(tmp_path: Path, format_name, title: str, names) -> None:
    for name in names:
        (tmp_path / name).write_text('{"model_type": "marian"}')
    for path in (tmp_path, tmp_path / names[0]):
        with pytest.raises(ConfigError, match=f"for {title}, and such models cannot be imported"):
            import_model(path, tmp_path / "out", format_name=format_name, check=False)


def test_weights_may_lie_beside_those_of_another_format(copy: Path, tmp_path: Path) -> None:
    (copy / "model.onnx").write_bytes(b"")
    import_model(copy, tmp_path / "out", check=False)


def test_a_model_of_nmt_is_not_imported(imported: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a model of nmt already"):
        import_model(imported, tmp_path / "out", check=False)


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="Hugging Face"):
        import_model(tmp_path, tmp_path / "model")
    with pytest.raises(NoInputError):
        import_model(tmp_path / "absent", tmp_path / "model")
