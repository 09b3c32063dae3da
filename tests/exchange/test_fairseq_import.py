"""Checkpoints of fairseq give the logits of fairseq's arithmetic here, or are refused."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq_models import BASE, WORDS, Reference, checkpoint, make_directory
from pickles import Gadget, saved
from test_pickled import forked

from nmt_cli.batch import make_batch
from nmt_cli.cli import main
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.exchange.formats.fairseq.dictionaries import read_dictionary
from nmt_cli.exchange.formats.fairseq.importer import IMPORTER
from nmt_cli.exchange.import_model import import_model
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.exchange.importers import detect_format
from nmt_cli.exchange.pickled import reading
from nmt_cli.model_dir import load_config, load_model
from nmt_cli.translation.translator import Translator

PRE = {"encoder_normalize_before": True, "decoder_normalize_before": True}
SEPARATE = {"share_all_embeddings": False}
UNTIED = {**SEPARATE, "share_decoder_input_output_embed": False}
# The form of the settings, what is set, and the embeddings that nmt ties.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("args", {}, "all"),
    ("cfg", PRE, "all"),
    ("nested", {**PRE, **SEPARATE, "activation_fn": "gelu"}, "target"),
    ("args", {**UNTIED, "activation_fn": "swish", "no_scale_embedding": True}, "none"),
    ("cfg", {"encoder_layers": 1, "decoder_layers": 3, **SEPARATE}, "target"),
]


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not start Python for each checkpoint; test_pickled.py does."""
    monkeypatch.setattr(reading, "_run", forked)


def options_of(folder: Path, settings: dict[str, Any]) -> ImportOptions:
    if settings["share_all_embeddings"]:
        return ImportOptions()
    return ImportOptions(vocabularies=(folder / "spm.model", folder / "target.model"))


def lines_of(count: int) -> list[str]:
    chooser = random.Random(5)
    return [" ".join(chooser.choices(WORDS, k=chooser.randint(1, 5))) for _ in range(count)]


def largest_difference(made: dict[str, Any], out: Path) -> float:
    """Between the logits of the imported model and those of the reference."""
    loaded, reference = load_model(out), Reference(**made)
    chooser = random.Random(1)
    differences = []
    for source in loaded.subwords.encode_source(lines_of(4)):
        target = [*chooser.choices(range(4, loaded.subwords.tgt_size - 8), k=9), 2]
        before = [2, *target[:-1]]
        start = loaded.config.model.start_id
        batch = make_batch([np.array(source)], [np.array(target)], [0], start)
        with torch.inference_mode():
            logits = loaded.model(batch)
        expected = reference.logits(source, before)
        differences.append(float((logits - expected).abs().max()))
    return max(differences)


@pytest.mark.parametrize(("form", "changes", "ties"), CASES)
def test_logits_equal_those_of_fairseq(
    form: str, changes: dict[str, Any], ties: str, tmp_path: Path
) -> None:
    made = make_directory(tmp_path / "fairseq", form, **changes)
    options = options_of(tmp_path / "fairseq", made["settings"])
    import_model(tmp_path / "fairseq", tmp_path / "model", options=options)
    assert largest_difference(made, tmp_path / "model") < 1e-5
    assert load_config(tmp_path / "model").model.tie_embeddings == ties


def test_greedy_translations_equal_those_of_fairseq(tmp_path: Path) -> None:
    """The fastest engine of this machine computes positions with their offset too."""
    made = make_directory(tmp_path / "fairseq", **PRE)
    import_model(tmp_path / "fairseq", tmp_path / "model")
    translator = Translator.load(tmp_path / "model")
    reference, banned = Reference(**made), set(translator.config.model.banned_ids)
    sources = translator.subwords.encode_source(lines_of(6))
    results = translator.translate(lines_of(6), beam=1, max_extra_length=10, sentences="line")
    for source, result in zip(sources, results, strict=True):
        expected = reference.greedy(source, banned, len(source) + 9)
        assert list(result.hypotheses[0].ids) == expected


def test_imported_model_has_the_ids_and_the_search_of_fairseq(tmp_path: Path) -> None:
    make_directory(tmp_path / "fairseq")
    model = IMPORTER.read(tmp_path / "fairseq", ImportOptions())
    config, subwords = model.config, model.subwords
    assert (config.languages.src, config.languages.tgt) == ("en", "xx")
    assert subwords.special == (1, 3, 0, 2)
    assert config.model.start_id == 2
    lines = (tmp_path / "fairseq/dict.en.txt").read_text().splitlines()
    entries = [line.split(" ")[0] for line in lines]
    assert subwords.source_pieces(range(4, len(entries) + 4)) == entries
    fillers = [index + 4 for index, entry in enumerate(entries) if entry.startswith("madeupword")]
    assert fillers
    assert list(config.model.banned_ids) == [0, 1, 3, *fillers]
    assert (config.search.beam, config.search.length_penalty, config.search.alpha) == (
        5, "power", 1.0,
    )  # fmt: skip
    line = lines_of(1)[0]
    assert subwords.decode_target([subwords.encode_target([line])[0]]) == [line]
    assert [file.name for file in model.files] == [
        "checkpoint_best.pt", "dict.en.txt", "dict.xx.txt", "spm.model",
    ]  # fmt: skip


def test_names_of_older_versions_are_read(tmp_path: Path) -> None:
    """Fused projections, numbered norms, `embed_out`, half precision and the legacy format."""
    made = make_directory(tmp_path / "fairseq", **UNTIED, **PRE)
    weights = {name: weight.half() for name, weight in made["weights"].items()}
    made["weights"] = {name: weight.float() for name, weight in weights.items()}
    for side, norms in (("encoder", 2), ("decoder", 3)):
        names = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
        for index in range(made["settings"][f"{side}_layers"]):
            layer = f"{side}.layers.{index}"
            for number, name in enumerate(names if norms == 3 else names[::2]):
                for kind in ("weight", "bias"):
                    old = f"{layer}.layer_norms.{number}.{kind}"
                    weights[old] = weights.pop(f"{layer}.{name}.{kind}")
            for attention in ("self_attn", "encoder_attn")[: norms - 1]:
                for kind in ("weight", "bias"):
                    parts = [
                        weights.pop(f"{layer}.{attention}.{letter}_proj.{kind}") for letter in "qkv"
                    ]
                    weights[f"{layer}.{attention}.in_proj_{kind}"] = torch.cat(parts)
    weights["decoder.embed_out"] = weights.pop("decoder.output_projection.weight")
    content = checkpoint(made["settings"], weights, "args")
    (tmp_path / "fairseq/checkpoint_best.pt").write_bytes(saved(content, legacy=True))
    options = options_of(tmp_path / "fairseq", made["settings"])
    import_model(tmp_path / "fairseq", tmp_path / "model", options=options)
    assert largest_difference(made, tmp_path / "model") < 1e-5


def test_the_command_says_what_its_check_can_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_directory(Path("fairseq"))
    assert detect_format(Path("fairseq")) == "fairseq"
    assert detect_format(Path("fairseq/checkpoint_best.pt")) == "fairseq"
    assert main(["import", "fairseq", "--out", "model", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "not compared with the original, because fairseq cannot run here" in err
    assert "0.0% unknown subwords" in err
    check = json.loads(out)["check"]
    assert (check["compared"], check["lines"]) == (False, 20)
    assert json.loads(Path("model/import.json").read_text())["check"] == check
    Path("text").write_text("bado \u4e16\u754c\u4f60\u597d \u597d\n")
    arguments = ["import", "fairseq", "--out", "other"]
    assert main([*arguments, "--check", "text"]) == 3
    assert "unknown to the imported model" in capsys.readouterr().err
    assert not Path("other").exists()
    assert main([*arguments, "--no-check"]) == 0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"arch": "lightconv"}, "its architecture is `lightconv`"),
    ({"task": "translation_multi_simple_epoch"}, "its task is `translation_multi_simple_epoch`"),
    ({"encoder_learned_pos": True}, "`encoder_learned_pos` has learned positions"),
    ({"layernorm_embedding": True}, "`layernorm_embedding` normalises the embeddings"),
    ({"adaptive_softmax_cutoff": [10]}, "adaptive softmax"),
    ({"activation_fn": "gelu_accurate"}, "activation function `gelu_accurate`"),
    ({"encoder_normalize_before": True}, "`normalize_before` differs"),
    ({"decoder_attention_heads": 2}, "`attention_heads` differs"),
    ({"decoder_output_dim": 8}, "`decoder_output_dim` differs"),
    ({"target_lang": None}, "--tgt-lang"),
    ({"encoder_attention_heads": 5, "decoder_attention_heads": 5}, "not divisible"),
]


def with_settings(folder: Path, **changes: Any) -> None:
    """Write the checkpoint again with other settings for the same weights."""
    content = torch.load(folder / "checkpoint_best.pt", weights_only=False)
    vars(content["args"]).update(changes)
    torch.save(content, folder / "checkpoint_best.pt")


def refusal(folder: Path, error: type[NmtError], **options: Any) -> str:
    with pytest.raises(error) as raised:
        import_model(folder, folder.parent / "model", options=ImportOptions(**options))
    assert not (folder.parent / "model").exists()
    return f"{raised.value.message} {raised.value.hint}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The directory of a model with default settings."""
    make_directory(tmp_path / "fairseq")
    return tmp_path / "fairseq"


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_settings_that_nmt_lacks_are_refused(folder: Path, changes, words: str) -> None:
    with_settings(folder, **changes)
    assert words in refusal(folder, ConfigError)


def test_every_reason_is_named_at_once(folder: Path) -> None:
    with_settings(folder, activation_fn="tanh", no_cross_attention=True, source_lang=None)
    text = refusal(folder, ConfigError)
    for words in ("`tanh`", "`no_cross_attention`", "--src-lang"):
        assert words in text


def test_segmentation_that_nmt_lacks_is_refused(folder: Path) -> None:
    (folder / "spm.model").unlink()
    assert "name the sentencepiece model (--vocab)" in refusal(folder, ConfigError)
    for name in ("dict.en.txt", "dict.xx.txt"):
        text = (folder / name).read_text().replace("\u2581", "=")
        (folder / name).write_text(text)
    assert "nothing says how its text was split" in refusal(folder, ConfigError)
    with (folder / "dict.en.txt").open("a") as file:
        file.write("ba@@ 5\n")
    assert "`@@`: subword-nmt or fastBPE" in refusal(folder, ConfigError)


def test_dictionaries_of_another_model_are_refused(folder: Path) -> None:
    text = (folder / "dict.en.txt").read_text()
    (folder / "dict.en.txt").write_text("".join(text.splitlines(keepends=True)[:-9]))
    assert "but the embeddings have" in refusal(folder, DataError)
    (folder / "dict.en.txt").write_text(text.replace("\n", "x\n"))
    assert "line 1 of the dictionary" in refusal(folder, DataError)
    (folder / "dict.en.txt").write_text(text.replace("\u2581", "="))
    (folder / "dict.xx.txt").unlink()
    assert "dict.xx.txt" in refusal(folder, NoInputError)


def test_lines_of_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "dict.en.txt"
    path.write_text("a 5\n\u2581b 4\n<unk> 3 #fairseq:overwrite\n")
    assert read_dictionary(path) == {
        "<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 6, "a": 4, "\u2581b": 5,
    }  # fmt: skip
    path.write_text("a 5\na 4\n")
    with pytest.raises(DataError, match="line 2 twice"):
        read_dictionary(path)


@pytest.mark.parametrize("damage", ["missing", "unknown", "shape", "tie", "norm"])
def test_other_weights_than_the_settings_ask_for_are_refused(tmp_path: Path, damage: str) -> None:
    made = make_directory(tmp_path / "fairseq", **PRE)
    weights, error, words = made["weights"], DataError, ""
    if damage == "missing":
        del weights["decoder.layers.0.fc1.bias"]
        words = "no tensor `decoder.layers.0.fc1.bias`"
    elif damage == "unknown":
        weights["decoder.layers.0.adapter.weight"] = torch.ones(3)
        error, words = ConfigError, "no place for 1 of its tensors: `decoder.layers.0.adapter"
    elif damage == "shape":
        weights["encoder.layers.0.fc1.bias"] = torch.ones(3)
        words = "has the shape [3]"
    elif damage == "tie":
        weights["decoder.output_projection.weight"] = torch.zeros(3)
        words = "differ, but its settings share them"
    else:
        weights["decoder.version"] = torch.tensor([2.0])
        error, words = ConfigError, "without a norm after the last layer"
    content = checkpoint(made["settings"], weights, "args")
    torch.save(content, tmp_path / "fairseq/checkpoint_best.pt")
    assert words in refusal(tmp_path / "fairseq", error)


def test_a_hostile_checkpoint_is_refused_and_runs_no_code(folder: Path, tmp_path: Path) -> None:
    import os

    content = checkpoint(BASE, {}, "args")
    content["extra_state"] = Gadget(os.system, f"touch {tmp_path / 'mark'}")
    (folder / "checkpoint_best.pt").write_bytes(saved(content))
    assert main(["import", str(folder), "--out", str(tmp_path / "model")]) == 65
    assert [path.name for path in tmp_path.iterdir()] == ["fairseq"]


def test_languages_of_a_checkpoint_name_no_other_folder(folder: Path) -> None:
    with_settings(folder, source_lang="/../../en")
    assert "no language codes" in refusal(folder, DataError)
