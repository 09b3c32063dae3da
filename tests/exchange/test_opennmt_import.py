"""Checkpoints of OpenNMT-py 3 give the logits of its arithmetic here, or are refused."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from opennmt_models import Reference, make_checkpoint
from pickles import named_class
from test_fairseq_import import lines_of
from test_pickled import forked

from nmt_cli.batch import make_batch
from nmt_cli.cli import main
from nmt_cli.errors import ConfigError, DataError, NmtError
from nmt_cli.exchange.import_model import import_model
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.exchange.importers import detect_format
from nmt_cli.exchange.pickled import reading
from nmt_cli.exchange.targets import MODULES, load_target
from nmt_cli.model_dir import load_model
from nmt_cli.translation.translator import Translator

SEPARATE = {"share_embeddings": False}
# What is set, and the embeddings that nmt ties.
CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "all"),
    (
        {"pos_ffn_activation_fn": "silu", "layer_norm": "rms", "add_qkvbias": False, **SEPARATE},
        "target",
    ),
    ({"pos_ffn_activation_fn": "gelu", "add_ffnbias": False, "norm_eps": 1e-5}, "all"),
    (
        {**SEPARATE, "share_decoder_embeddings": False,
         "position_encoding_type": "SinusoidalConcat"},
        "none",
    ),
    ({"share_decoder_embeddings": False, "enc_layers": 1, "dec_layers": 3}, "none"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not start Python for each checkpoint; test_pickled.py does."""
    monkeypatch.setattr(reading, "_run", forked)


def imported(folder: Path, **changes: Any) -> dict[str, Any]:
    """Write a checkpoint and import it as `model`; returns its settings and weights."""
    made = make_checkpoint(folder / "a.pt", **changes)
    vocabularies = (folder / "spm.model", folder / "target.model")
    if made["opt"]["share_embeddings"]:
        vocabularies = vocabularies[:1]
    options = ImportOptions("en", "xx", vocabularies)
    import_model(folder / "a.pt", folder / "model", options=options)
    return made


@pytest.mark.parametrize(("changes", "ties"), CASES)
def test_logits_equal_those_of_opennmt(changes: dict[str, Any], ties: str, tmp_path: Path) -> None:
    made = imported(tmp_path, **changes)
    loaded, reference = load_model(tmp_path / "model"), Reference(**made)
    assert loaded.config.model.tie_embeddings == ties
    for source in loaded.subwords.encode_source(lines_of(4)):
        assert source[-1] != 3
        target = [9, 14, 5, 22, 8, 4, 3]
        batch = make_batch(
            [np.array(source)], [np.array(target)], [0], loaded.config.model.start_id
        )
        with torch.inference_mode():
            logits = loaded.model(batch)
        expected = reference.logits(source, [2, *target[:-1]])
        assert float((logits - expected).abs().max()) < 1e-5


def test_greedy_translations_equal_those_of_opennmt(tmp_path: Path) -> None:
    """Sources have no end symbol, in a saved model too; blank lines stay blank."""
    made = imported(tmp_path)
    translator = Translator.load(tmp_path / "model")
    reference, banned = Reference(**made), set(translator.config.model.banned_ids)
    pieces = sentencepiece.SentencePieceProcessor(str(tmp_path / "spm.model"))
    entries = torch.load(tmp_path / "a.pt", weights_only=False)["vocab"]["src"]
    lines = [*lines_of(4), "bado", "a"]
    results = translator.translate([*lines, " "], beam=1, max_extra_length=10, sentences="line")
    for line, result in zip(lines, results, strict=False):
        source = [
            entries.index(piece) if piece in entries else 0
            for piece in pieces.encode(line, out_type=str)
        ]
        expected = reference.greedy(source, banned, len(source) + 9)
        assert list(result.hypotheses[0].ids) == expected
    assert results[-1].text == ""


def test_alignments_and_scores_of_a_model_without_source_end(tmp_path: Path) -> None:
    imported(tmp_path)
    translator = Translator.load(tmp_path / "model")
    results = translator.translate(["bado jum", "fad"], beam=2, alignment=True)
    assert all(result.hypotheses[0].alignment for result in results)


def test_a_model_without_source_end_is_not_exported(tmp_path: Path) -> None:
    imported(tmp_path)
    loaded = load_model(tmp_path / "model")
    for name in MODULES:
        problems = [reason.problem for reason in load_target(name).reasons_against(loaded)]
        assert any("no end symbol" in problem for problem in problems), name


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"decoder_type": "rnn"}, "`decoder_type` is `rnn`"),
    ({"position_encoding": False}, "`position_encoding` is `False`"),
    ({"max_relative_positions": 20}, "`max_relative_positions` has relative or rotary"),
    ({"pos_ffn_activation_fn": "gated-gelu"}, "`pos_ffn_activation_fn` is `gated-gelu`"),
    ({"copy_attn": True}, "`copy_attn` copies words"),
    ({"transforms": ["onmt_tokenize"]}, "the transform `onmt_tokenize`"),
    ({"src_word_vec_size": 8}, "`src_word_vec_size` differs"),
]


def refusal(folder: Path, error: type[NmtError], *options: Any) -> str:
    with pytest.raises(error) as raised:
        import_model(folder / "a.pt", folder / "model", options=ImportOptions(*options))
    assert not (folder / "model").exists()
    return f"{raised.value.message} {raised.value.hint}"


def test_models_that_nmt_lacks_are_refused_with_all_reasons(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "a.pt")
    content = torch.load(tmp_path / "a.pt", weights_only=False)
    plain = dict(vars(content["opt"]))
    for changes, words in REFUSED:
        content["opt"] = argparse.Namespace(**{**plain, **changes})
        torch.save(content, tmp_path / "a.pt")
        assert words in refusal(tmp_path, ConfigError)
    text = refusal(tmp_path, ConfigError)
    for words in ("`src_word_vec_size` differs", "--vocab", "--src-lang", "--tgt-lang"):
        assert words in text


def test_a_checkpoint_of_fairseq_leads_to_its_format(tmp_path: Path) -> None:
    """A `.pt` file without dictionaries beside it is taken for one of OpenNMT-py."""
    for name in ("args", "cfg"):
        torch.save({name: {"arch": "transformer"}, "model": {}}, tmp_path / "a.pt")
        assert "name this format with --from fairseq" in refusal(tmp_path, DataError)
    torch.save({"model": {}}, tmp_path / "a.pt")
    assert "fairseq" not in refusal(tmp_path, DataError)


def test_segmentation_that_nmt_lacks_is_refused(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "a.pt")
    content = torch.load(tmp_path / "a.pt", weights_only=False)
    options = ("en", "xx", (tmp_path / "spm.model",))
    for entry, words in (("ba@@", "subword-nmt"), ("\uffedba", "pyonmttok")):
        content["vocab"]["src"][5] = entry
        torch.save(content, tmp_path / "a.pt")
        assert words in refusal(tmp_path, ConfigError, *options)
    content["vocab"]["src"][5] = content["vocab"]["src"][6]
    torch.save(content, tmp_path / "a.pt")
    assert "an entry twice" in refusal(tmp_path, DataError, *options)


def test_checkpoints_of_older_versions_name_the_converter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(named_class("torchtext.data.field", "Field"))
    assert detect_format(path) == "opennmt"
    assert main(["import", str(path), "--out", str(tmp_path / "model")]) == 65
    error = capsys.readouterr().err
    assert "`torchtext.data.field.Field`" in error
    assert "convertv2_v3.py" in error
    assert not (tmp_path / "model").exists()
