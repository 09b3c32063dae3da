"""Models that Marian trains come in, and models of ours go out, each run by Marian itself."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from exchange.marian_mutations import MUTATIONS
from exchange.marian_recipe import (
    BEAM,
    DATA,
    LENGTH_FACTOR,
    NORMALIZE,
    marian_translations,
    source_lines,
    train,
)
from exported import letter_lines, train_letters
from peer_results import RESULTS, Record

from nmt_cli.errors import QualityGateError
from nmt_cli.exchange.export import export_model
from nmt_cli.exchange.formats.marian import importer
from nmt_cli.exchange.formats.marian.target import TARGET
from nmt_cli.exchange.import_model import import_model
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.model_dir import load_model
from nmt_cli.translation.translator import Translator

LANGUAGES = ImportOptions("en", "xx")
VARIANTS = {
    "tied": {}, "relu": {"options": "--transformer-ffn-activation relu"},
    "target": {"ties": "target", "joint": False}, "none": {"ties": "none", "joint": False},
    "source": {"ties": "src"}, "no-bias": {"options": "--output-omit-bias"},
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("variant", VARIANTS)
def test_imported_models_of_marian_give_its_words(
    variant: str, tmp_path: Path, record: Record
) -> None:
    folder = tmp_path / "marian"
    folder.mkdir()
    train(folder, batches=300, **VARIANTS[variant])
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in source_lines(60, seed=7)))
    check = import_model(
        folder, tmp_path / "model", options=LANGUAGES, check_file=tmp_path / "lines"
    ).check
    lines = source_lines(40, seed=8)
    peers = marian_translations(folder, lines)
    loaded = load_model(tmp_path / "model")
    assert (loaded.config.search.beam, loaded.config.search.alpha) == (BEAM, NORMALIZE)
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    greedy, beam = (
        translator.translate(lines, sentences="line", **search) for search in ({"beam": 1}, {})
    )
    # Marian cuts a greedy translation off, without an end, at a multiple of the source's length.
    cut = [
        len(peer["word_scores"]) >= LENGTH_FACTOR * len(ids)
        for peer, ids in zip(peers, loaded.subwords.encode_source(lines), strict=True)
    ]
    equal = {
        name: sum(
            result.text[: len(peer[name]) if is_cut else None] == peer[name]
            for peer, result, is_cut in zip(peers, results, cut, strict=True)
        )
        for name, results in (("greedy", greedy), ("beam", beam))
    }
    record(peer=f"pymarian {version('pymarian')}", **check.as_document(),
           **{f"{name}_equal_of_{len(lines)}": count for name, count in equal.items()})  # fmt: skip
    assert check.equal_translations == check.lines == 60
    assert check.log_prob_difference < 1e-3
    assert equal["greedy"] == len(lines)
    # Marian and nmt end a beam search by different rules.
    assert equal["beam"] >= len(lines) - 2


@pytest.mark.peers
def test_the_comparison_notices_the_sinusoids_of_other_importers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = importer.model_settings
    monkeypatch.setattr(
        importer, "model_settings",
        lambda *arguments: settings(*arguments) | {"positions": "sinusoidal_halves"},
    )  # fmt: skip
    with pytest.raises(QualityGateError, match="other probabilities in Marian"):
        import_model(DATA, tmp_path / "model", options=LANGUAGES)


@pytest.mark.peers
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_comparison_with_marian_finds_mutated_files(
    mutation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model goes out as it came in, but for one fault in what is written."""
    import_model(DATA, tmp_path / "model", options=LANGUAGES, check=False)
    write = type(TARGET).write

    def write_mutated(self, loaded, directory: Path, precision: str) -> None:
        write(self, loaded, directory, precision)
        MUTATIONS[mutation](directory / "model.npz")

    monkeypatch.setattr(type(TARGET), "write", write_mutated)
    with pytest.raises(QualityGateError):
        export_model(tmp_path / "model", "marian", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.peers
def test_a_model_of_ours_runs_in_marian(tmp_path: Path, record: Record) -> None:
    model = train_letters(
        tmp_path / "letters", model_positions="sinusoidal_t2t", model_zero_start=True,
        model_norm_order="post", train_max_steps=240, train_validate_every=240,
    )  # fmt: skip
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in letter_lines(40)))
    check = export_model(model, "marian", tmp_path / "out", check_file=tmp_path / "lines").check
    record(peer=f"pymarian {version('pymarian')}", **check.as_document())
    assert check.equal_translations == check.lines == 40
    assert check.log_prob_difference < 1e-3


@pytest.mark.peers
def test_the_recorded_model_gives_what_is_recorded() -> None:
    recorded = json.loads((DATA / "translations.json").read_text())["translations"]
    assert marian_translations(DATA, [entry["source"] for entry in recorded]) == recorded


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_comparisons_with_marian_succeeded(variant: str) -> None:
    """The last run by hand passed; it needs no pymarian to be checked."""
    result = json.loads(RESULTS.read_text())[
        f"test_imported_models_of_marian_give_its_words[{variant}]"
    ]
    assert result["equal_translations"] == result["lines"] == 60
    assert result["log_prob_difference"] < 1e-3
    assert result["greedy_equal_of_40"] == 40
