"""onnxruntime gives the probabilities and the translations of the model, for every variant."""

import importlib.metadata
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from exported import letter_lines, random_model, random_pairs
from variants import VARIANTS

from nmt_cli.cli import main
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import Bytes
from nmt_cli.exchange import export as export_module
from nmt_cli.exchange import target as target_interface
from nmt_cli.exchange.formats.onnx import graph, layers, models
from nmt_cli.exchange.formats.onnx.target import TARGET
from nmt_cli.exchange.formats.onnx.translator import DECODER
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.installation import install_command
from nmt_cli.model_dir import LoadedModel, load_model
from nmt_cli.translation.translator import Translator

# One of four is compared with each commit, all of them with the slow tests.
HOLDS = [
    *(
        pytest.param(variant, marks=pytest.mark.slow if number % 4 else ())
        for number, variant in enumerate(VARIANTS)
    ),
    {"model.positions": "sinusoidal_t2t", "model.position_offset": 2},
    {"model.norm_epsilon": 1e-2},
    {"model.norm_epsilon": 1e-2, "model.norm": "rms_norm"},
    {"model.start_id": 0, "model.banned_ids": []},
]


@pytest.fixture
def loaded(letters_model: Path) -> LoadedModel:
    return load_model(letters_model)


def written(loaded: LoadedModel, folder: Path):
    """The exported model, opened by onnxruntime."""
    TARGET.write(loaded, folder, "float32")
    return TARGET.open(folder)


@pytest.mark.parametrize("settings", HOLDS, ids=range(len(HOLDS)))
def test_batches_with_padding_have_the_log_probabilities_of_every_variant(
    settings, tmp_path: Path
) -> None:
    model = random_model(settings)
    assert TARGET.reasons_against(model) == []
    pairs = list(random_pairs(model))
    expected = [sum(pair.token_scores) for pair in force_pairs(model.model, pairs)]
    foreign = written(model, tmp_path)
    assert foreign.log_probs(pairs) == pytest.approx(expected, abs=3e-5)
    assert foreign.log_prob(*pairs[1]) == pytest.approx(expected[1], abs=3e-5)


def test_graphs_have_the_names_of_optimum(loaded: LoadedModel, tmp_path: Path) -> None:
    written(loaded, tmp_path)
    names = {}
    for path in sorted(tmp_path.glob("*.onnx")):
        proto = onnx.load(path)
        onnx.checker.check_model(proto, full_check=True)
        names[path.name] = [
            {value.name for value in values} for values in (proto.graph.input, proto.graph.output)
        ]
    depth = len(loaded.model.decoder)
    own, source = (
        [f"{index}.{part}.{kind}" for index in range(depth) for kind in ("key", "value")]
        for part in ("decoder", "encoder")
    )
    assert names == {
        "encoder_model.onnx": [{"input_ids", "attention_mask"}, {"last_hidden_state"}],
        "decoder_model.onnx": [
            {"input_ids", "encoder_attention_mask", "encoder_hidden_states"},
            {"logits", *(f"present.{name}" for name in own + source)},
        ],
        "decoder_with_past_model.onnx": [
            {"input_ids", "encoder_attention_mask"}
            | {f"past_key_values.{name}" for name in own + source},
            {"logits", *(f"present.{name}" for name in own)},
        ],
    }


def test_banned_ids_are_excluded_by_the_graph(tmp_path: Path) -> None:
    model = random_model({"model.banned_ids": [0, 1, 2, 7]})
    written(model, tmp_path)
    session = onnxruntime.InferenceSession(tmp_path / "decoder_model.onnx")
    [logits, *_] = session.run(
        None,
        {
            "input_ids": np.array([[2, 5]]),
            "encoder_attention_mask": np.ones((1, 3), np.int64),
            "encoder_hidden_states": np.ones((1, 3, 12), np.float32),
        },
    )
    assert np.flatnonzero((logits < -1e8).all(axis=(0, 1))).tolist() == [0, 1, 2, 7]


def test_onnxruntime_translates_as_nmt(loaded: LoadedModel, tmp_path: Path) -> None:
    foreign = written(loaded, tmp_path)
    lines = [*letter_lines(60), "a b ☂ c"]
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    expected = [each.text for each in translator.translate(lines, beam=1)]
    ids = loaded.subwords.encode_source(lines)
    assert [foreign.source_ids(line) for line in lines] == ids
    limits = [len(source) + 49 for source in ids]
    assert foreign.translations(lines, limits, beam=1, length_penalty=0.0) == expected
    assert len(set(expected)) > 30


def test_translation_ends_at_its_limit(loaded: LoadedModel, tmp_path: Path) -> None:
    foreign = written(loaded, tmp_path)
    full, cut = foreign.translations(["a b c d e f"] * 2, [50, 2], beam=1, length_penalty=0.0)
    assert cut
    assert full.startswith(cut)
    assert full != cut


def test_transformers_reads_the_settings_and_the_tokenizer(tmp_path: Path) -> None:
    import transformers

    model = random_model({"model.tie_embeddings": "none", "model.encoder_layers": 1})
    written(model, tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    assert (config.model_type, config.encoder_layers, config.decoder_layers) == ("marian", 1, 2)
    assert config.decoder_start_token_id == 2
    generation = transformers.GenerationConfig.from_pretrained(tmp_path)
    assert generation.bad_words_ids == [[0], [1], [2]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer("cod netel x")["input_ids"] == model.subwords.encode_source(["cod netel x"])[0]


def test_settings_of_the_graphs_are_those_of_the_model(tmp_path: Path) -> None:
    model = random_model(
        {"model.tie_embeddings": "none", "model.encoder_layers": 1, "model.decoder_layers": 3,
         "model.d_ff": 20, "model.start_id": 5, "model.scale_embeddings": False,
         "languages.src": "en", "languages.tgt": "de"}
    )  # fmt: skip
    TARGET.write(model, tmp_path, "float32")
    generation = json.loads((tmp_path / "generation_config.json").read_bytes())
    ids = {"decoder_start_token_id": 5, "pad_token_id": 0, "eos_token_id": 3}
    assert generation == {**TARGET.search_options(model).options, **ids}
    config = model.config.model
    assert json.loads((tmp_path / "config.json").read_bytes()) == {
        **ids, "bos_token_id": 2, "forced_eos_token_id": None, "use_cache": True,
        "model_type": "marian", "architectures": ["MarianMTModel"], "is_encoder_decoder": True,
        "vocab_size": 50, "decoder_vocab_size": 44, "share_encoder_decoder_embeddings": False,
        "d_model": config.d_model, "num_hidden_layers": 1, "encoder_layers": 1,
        "decoder_layers": 3, "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads, "encoder_ffn_dim": 20, "decoder_ffn_dim": 20,
        "scale_embedding": False, "max_position_embeddings": 2_048, "source_lang": "en",
        "target_lang": "de",
    }  # fmt: skip


@pytest.mark.parametrize(("positions", "longest"), [("sinusoidal", 2_048), ("learned", 24)])
def test_the_longest_sentence_is_that_of_the_positions(
    positions: str, longest: int, tmp_path: Path
) -> None:
    model = random_model({"model.positions": positions, "model.max_positions": 24})
    TARGET.write(model, tmp_path, "float32")
    config = json.loads((tmp_path / "config.json").read_bytes())
    tokenizer = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    assert config["max_position_embeddings"] == tokenizer["model_max_length"] == longest
    assert config["scale_embedding"] is True


def test_large_weights_lie_beside_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "LARGEST_FILE", 0)
    model = random_model({"model.d_ff": 64})
    pairs = list(random_pairs(model, 3))
    foreign = written(model, tmp_path)
    expected = [sum(pair.token_scores) for pair in force_pairs(model.model, pairs)]
    assert foreign.log_probs(pairs) == pytest.approx(expected, abs=3e-5)
    assert (tmp_path / "encoder_model.onnx_data").stat().st_size > 1_000


@pytest.mark.parametrize("kind", ["rnn", "conv"])
def test_refusal_names_every_reason(kind: str) -> None:
    model = random_model({}, Subwords(Bytes()))
    architecture = replace(model.config.model, kind=kind)
    model = replace(model, config=replace(model.config, model=architecture))
    reasons = TARGET.reasons_against(model)
    assert [reason.remedy for reason in reasons] == ["model.kind=transformer", "data.subwords=bpe"]
    assert f"model.kind={kind}" in reasons[0].problem


@pytest.fixture
def folder(letters_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(letters_model, "model", ignore=shutil.ignore_patterns("checkpoints"))
    Path("lines").write_text("".join(f"{line}\n" for line in letter_lines(5)))
    return tmp_path


def export(*arguments: str) -> int:
    return main(["export", "model", "--to", "onnx", "--out", "out", *arguments])


def test_command_exports_and_compares(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("--check", "lines", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["check"]["equal_translations"] == 5
    assert shown["check"]["log_prob_difference"] < 1e-4
    assert {"encoder_model.onnx", "config.json", "vocab.json", "source.spm"} <= {*shown["files"]}
    record = json.loads((folder / "out/export.json").read_bytes())
    assert set(record["versions"]) == {"nmt", "onnx", "onnxruntime"}


def unmasked(layer_graph, mask: str) -> str:
    del mask
    return layer_graph.number(0.0)


def unplaced(self, use: str, ids: str, positions: str, embed=layers.Layers.embed) -> str:
    if use == "tgt":
        positions = self._graph.apply("Mul", positions, self._graph.integer(0))
    return embed(self, use, ids, positions)


BREAKS = {
    "the padding": (models, "_padding", unmasked),
    "positions of the target": (layers.Layers, "embed", unplaced),
    "a norm": (layers.Layers, "last_norm", lambda self, side, x: x),
    "the future": (models, "EXCLUDED", 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_broken_graphs_are_refused_and_leave_nothing(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, attribute, value = BREAKS[name]
    monkeypatch.setattr(owner, attribute, value)
    assert export("--check", "lines") == 3
    assert "in ONNX" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {"model", "lines"}


def test_library_that_cannot_read_the_export_refuses_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = type(TARGET).write

    def damage(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        write(self, loaded, directory, precision)
        (directory / DECODER).write_bytes(b"no graph")

    monkeypatch.setattr(type(TARGET), "write", damage)
    assert export("--check", "lines") == 3
    assert "ONNX cannot run the exported model" in " ".join(capsys.readouterr().err.split())
    assert {path.name for path in folder.iterdir()} == {"model", "lines"}


def test_missing_package_is_one_line_of_hint(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        target_interface, "find_spec", lambda name: None if name == "onnxruntime" else name
    )
    assert export() == 69
    err = " ".join(capsys.readouterr().err.split())
    assert "needs the package onnxruntime" in err
    assert install_command("onnx") in err
    assert not (folder / "out").exists()


@pytest.mark.parametrize("packages", [{"onnxruntime": ["onnxruntime-gpu"]}, {}])
def test_another_package_may_bring_onnxruntime(
    packages: dict, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of onnxruntime and onnxruntime-gpu, one is installed."""
    version = importlib.metadata.version

    def installed(name: str) -> str:
        if name == "onnxruntime":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.32.0" if name == "onnxruntime-gpu" else version(name)

    monkeypatch.setattr(importlib.metadata, "version", installed)
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: packages)
    assert export("--check", "lines") == 0
    versions = json.loads((folder / "out/export.json").read_bytes())["versions"]
    expected = {"onnxruntime-gpu": "1.32.0"} if packages else {"onnxruntime": "unknown"}
    assert {name: versions[name] for name in versions.keys() - {"nmt", "onnx"}} == expected


def test_older_models_are_refused_before_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(type(TARGET), "write", lambda *_: pytest.fail("wrote"))

    def load(path: Path) -> LoadedModel:
        model = load_model(path)
        architecture = replace(model.config.model, kind="rnn")
        return replace(model, config=replace(model.config, model=architecture))

    monkeypatch.setattr(export_module, "load_model", load)
    assert export() == 78
    assert "model.kind=transformer" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "out").exists()
