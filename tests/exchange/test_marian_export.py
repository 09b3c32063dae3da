"""What is written for Marian, what is refused, and that imported models go out as they came in."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from exported import random_model, random_pairs
from marian_models import LANGUAGES, SETTINGS, copied, rewrite, settings_of, with_settings
from marian_recipe import DATA
from test_marian_import import opus_folder

from nmt_cli.cli import main
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import Bytes
from nmt_cli.exchange import target
from nmt_cli.exchange.formats.ctranslate2 import target as ctranslate2
from nmt_cli.exchange.formats.huggingface import target as huggingface
from nmt_cli.exchange.formats.marian.importer import IMPORTER
from nmt_cli.exchange.formats.marian.target import TARGET
from nmt_cli.exchange.import_model import import_model
from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.kinds import make_model
from nmt_cli.model.zero_start import set_zero_start
from nmt_cli.model_dir import LoadedModel, load_model, save_model

MARIAN = {
    "model.positions": "sinusoidal_t2t", "model.zero_start": True, "model.norm_epsilon": 1e-9,
}  # fmt: skip


def zero_start_model(settings: dict | None = None) -> LoadedModel:
    loaded = random_model({**MARIAN, **(settings or {})})
    set_zero_start(loaded.model)
    return loaded


def written(loaded: LoadedModel, folder: Path) -> Path:
    folder.mkdir()
    TARGET.write(loaded, folder, "float32")
    return folder


def arrays_of(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "model.npz") as arrays:
        return {name: arrays[name] for name in arrays.files if name != SETTINGS}


def assert_same_arrays(first: Path, second: Path) -> None:
    arrays, others = arrays_of(first), arrays_of(second)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.shape == others[name].shape, name
        assert array.tobytes() == others[name].tobytes(), name
        assert others[name].flags.c_contiguous, name
        assert others[name].dtype == np.float32, name


def imported_back(folder: Path, out: Path) -> LoadedModel:
    import_model(folder, out, options=LANGUAGES, check=False)
    return load_model(out)


def test_an_imported_model_goes_out_with_the_same_arrays(tmp_path: Path) -> None:
    folder = written(imported_back(DATA, tmp_path / "model"), tmp_path / "out")
    assert_same_arrays(DATA, folder)
    settings, original = settings_of(folder / "model.npz"), settings_of(DATA / "model.npz")
    for name in settings.keys() & original.keys() - {"version"}:
        assert settings[name] == original[name], name
    rows = len(arrays_of(DATA)["Wemb"])
    assert settings["dim-vocabs"] == [rows, rows]
    decoder, before = (
        yaml.safe_load((path / "decoder.yml").read_text()) for path in (folder, DATA)
    )
    assert (decoder["beam-size"], decoder["normalize"]) == (
        before["beam-size"],
        before["normalize"],
    )
    # The paths are looked up beside the file, wherever Marian is started.
    assert decoder["relative-paths"] is True
    assert [(folder / name).read_bytes() for name in decoder["vocabs"]] == [
        (DATA / "vocab.spm").read_bytes()
    ] * 2


def test_a_model_without_output_bias_goes_out_without_one(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    rewrite(folder / "model.npz", decoder_ff_logit_out_b=None)
    with_settings(folder / "model.npz", output_omit_bias=True)
    out = written(imported_back(folder, tmp_path / "model"), tmp_path / "out")
    assert_same_arrays(folder, out)
    assert settings_of(out / "model.npz")["output-omit-bias"] is True


def test_one_vocabulary_with_two_matrices_goes_out_with_the_same_arrays(tmp_path: Path) -> None:
    folder = copied(tmp_path / "copy")
    matrix = arrays_of(folder)["Wemb"]
    rewrite(folder / "model.npz", Wemb=None, encoder_Wemb=matrix[:, ::-1].copy(),
            decoder_Wemb=matrix)  # fmt: skip
    with_settings(folder / "model.npz", tied_embeddings_all=False, tied_embeddings=True)
    out = written(imported_back(folder, tmp_path / "model"), tmp_path / "out")
    assert_same_arrays(folder, out)


def test_two_vocabularies_go_out_with_their_own_sizes(tmp_path: Path) -> None:
    loaded = zero_start_model({"model.tie_embeddings": "target"})
    settings = settings_of(written(loaded, tmp_path / "out") / "model.npz")
    assert settings["dim-vocabs"] == [50, 44]


def test_an_opus_vocabulary_goes_out_as_yaml(tmp_path: Path) -> None:
    folder = opus_folder(tmp_path)
    text = (folder / "opus.vocab.yml").read_text().splitlines()
    # Other ids than those of the segmenter.
    ids = [line.rsplit(": ", 1)[0] for line in text]
    ids = ids[:2] + ids[:1:-1]
    (folder / "opus.vocab.yml").write_text(
        # One row has no word.
        "".join(f"{piece}: {index}\n" for index, piece in enumerate(ids) if index != 9)
    )
    first = imported_back(folder, tmp_path / "model")
    out = written(first, tmp_path / "out")
    assert_same_arrays(folder, out)
    assert yaml.safe_load((out / "decoder.yml").read_text())["vocabs"] == ["vocab.yml"] * 2
    names = yaml.safe_load((out / "vocab.yml").read_text())
    assert names == yaml.safe_load((folder / "opus.vocab.yml").read_text())
    again = imported_back(out, tmp_path / "again")
    lines = ["bado kelim.", "jum upa xyz"]
    assert again.subwords.encode_source(lines) == first.subwords.encode_source(lines)


TIES = [
    {"model.tie_embeddings": "all"},
    {"model.tie_embeddings": "target"},
    {"model.tie_embeddings": "none"},
    {"model.output_bias": True, "model.attention_bias": True, "model.activation": "silu"},
    {"model.feed_forward_bias": False, "model.encoder_layers": 1, "model.decoder_layers": 3},
]


@pytest.mark.parametrize("settings", TIES, ids=range(len(TIES)))
def test_what_is_written_has_the_same_probabilities(settings: dict, tmp_path: Path) -> None:
    loaded = zero_start_model(settings)
    assert TARGET.reasons_against(loaded) == []
    folder = written(loaded, tmp_path / "out")
    back = imported_back(folder, tmp_path / "model")
    pairs = list(random_pairs(loaded))
    for pair, other in zip(
        force_pairs(loaded.model, pairs), force_pairs(back.model, pairs), strict=True
    ):
        assert other.token_scores == pytest.approx(pair.token_scores, abs=1e-4)
    assert_same_arrays(folder, written(back, tmp_path / "second"))


REFUSED = [
    ({"model.norm_order": "pre"}, "model.norm_order=post"),
    ({"model.positions": "sinusoidal"}, "model.positions=sinusoidal_t2t"),
    ({"model.positions": "sinusoidal_halves"}, "model.positions=sinusoidal_t2t"),
    ({"model.positions": "rotary"}, "model.positions=sinusoidal_t2t"),
    ({"model.position_offset": 2}, "model.position_offset=0"),
    ({"model.norm": "rms_norm"}, "model.norm=layer_norm"),
    ({"model.activation": "swiglu"}, "model.activation=relu"),
    ({"model.activation": "gelu"}, "model.activation=relu"),
    ({"model.scale_embeddings": False}, "model.scale_embeddings=true"),
    ({"model.d_k": 2, "model.d_v": 2}, "model.d_k=auto"),
    ({"model.norm_epsilon": 1e-2}, "model.norm_epsilon=1e-6"),
    ({"model.encoder_layers": 0}, "model.encoder_layers=1"),
]


@pytest.mark.parametrize(("settings", "remedy"), REFUSED)
def test_models_that_marian_cannot_hold_are_refused(settings: dict, remedy: str) -> None:
    assert [reason.remedy for reason in TARGET.reasons_against(zero_start_model(settings))] == [
        remedy
    ]


def test_a_start_that_is_not_zero_and_bytes_are_refused() -> None:
    remedies = [reason.remedy for reason in TARGET.reasons_against(random_model(MARIAN))]
    assert remedies == ["model.zero_start=true"]
    loaded = random_model(MARIAN, Subwords(Bytes()))
    assert "data.subwords=bpe" in [reason.remedy for reason in TARGET.reasons_against(loaded)]


def test_hugging_face_refuses_these_positions_and_ctranslate2_has_them(tmp_path: Path) -> None:
    loaded = zero_start_model()
    [reason] = huggingface.TARGET.reasons_against(loaded)
    assert "model.positions=sinusoidal_t2t" in reason.problem
    assert ctranslate2.TARGET.reasons_against(loaded) == []
    ctranslate2.TARGET.write(loaded, tmp_path, "float32")
    foreign = ctranslate2.TARGET.open(tmp_path)
    pairs = list(random_pairs(loaded))
    for pair, (source, to) in zip(force_pairs(loaded.model, pairs), pairs, strict=True):
        assert sum(pair.token_scores) == pytest.approx(foreign.log_prob(source, to), abs=1e-5)


def test_ctranslate2_runs_an_imported_model(tmp_path: Path) -> None:
    """The added row and its bias go along."""
    imported_back(DATA, tmp_path / "model")
    assert main(["export", str(tmp_path / "model"), "--to", "ctranslate2", "--out",
                 str(tmp_path / "out")]) == 0  # fmt: skip


def test_the_command_needs_pymarian_for_the_comparison_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(target, "find_spec", lambda name: None)
    loaded = zero_start_model()
    save_model(Path("model"), loaded.model.state_dict(), loaded.config, loaded.subwords, {})
    arguments = ["export", "model", "--to", "marian", "--out", "out"]
    assert main(arguments) == 69
    assert "--no-check" in capsys.readouterr().err
    assert not Path("out").exists()
    assert main([*arguments, "--no-check"]) == 0
    document = json.loads(Path("out/export.json").read_text())
    assert document["check"] is None
    assert {path.name for path in Path("out").iterdir()} == {
        "model.npz", "decoder.yml", "source.spm", "target.spm", "export.json", "manifest.json"
    }  # fmt: skip
    assert IMPORTER.matches(Path("out"))


def test_the_start_stays_zero_and_other_rows_are_kept() -> None:
    loaded = random_model({**MARIAN, "model.start_id": 5})
    before = loaded.model.embedding.shared.detach().clone()
    set_zero_start(loaded.model)
    after = loaded.model.embedding.shared.detach()
    assert not after[5].any()
    rows = [row for row in range(len(after)) if row != 5]
    assert torch.equal(after[rows], before[rows])
    other = make_model(loaded.config.model)
    assert other.config.zero_start
