"""Before torch is loaded: how a training that begins with a model finds its settings."""

import shutil
from pathlib import Path

import pytest
from api_calls import TINY, digests, write_texts
from runs import assert_same_run

from nmt_cli import average, prepare, train
from nmt_cli.api.arguments import resolve_arguments
from nmt_cli.api.training_setup import optimizer_note, rate_notes, resolve_training, train_settings
from nmt_cli.config.schema import Config, load
from nmt_cli.errors import CannotCreateError, ConfigError, NoInputError
from nmt_cli.model_dir import CONFIG, read_model, refresh_weights

CHOSEN = {key: value for key, value in TINY.items() if not key.startswith("model.")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the current directory, with text, a corpus and the model `general`."""
    write_texts(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = ("train.src", "train.tgt"), ("valid.src", "valid.tgt")
    prepare([files[0]], files[1], out="corpus", settings=TINY, workers=1)
    train("corpus", "general", preset="tiny", settings=TINY, max_steps=5, device="cpu")
    return tmp_path


def settings(
    init_from: str | None = "general", out: str = "tuned", corpus: str = "corpus", **given: object
) -> Config:
    values = train_settings(
        corpus=corpus, out=out, preset=None, init_from=init_from, max_steps=9, max_epochs=None,
        max_hours=None, patience=None, seed=None, deterministic=None,
    )  # fmt: skip
    chosen = {**CHOSEN, **given}
    resolved = resolve_training(values, lambda now: resolve_arguments("train", now, chosen, None))
    return resolved.config


def test_run_records_the_model_and_has_its_preset(folder):
    config = settings()
    assert config.train.preset == "tiny"
    assert config.train.init_from == "general"
    assert config.train.init_sha256 == read_model(folder / "general").digest
    assert config.model == load(folder / "general" / CONFIG).model


def test_missing_model_is_refused(folder):
    with pytest.raises(NoInputError, match="there is no model directory `gone`"):
        settings("gone")


def test_other_vocabulary_is_refused_with_the_command_that_prepares_it(folder):
    pair = ("train.src", "train.tgt")
    other = {"data.subwords": "bytes"}
    prepare([pair], out="bytes", settings=other, workers=1)
    with pytest.raises(ConfigError, match="another vocabulary") as caught:
        settings(corpus="bytes")
    assert "`nmt prepare --subwords-from general --out NEW`" in caught.value.hint
    prepare([pair], out="again", subwords_from="general", workers=1)
    settings(corpus="again")


@pytest.mark.parametrize("out", ["general", "./general", "general/tuned", "link"])
def test_the_model_is_no_output(out, folder):
    (folder / "link").symlink_to("general")
    before = digests(folder / "general")
    with pytest.raises(CannotCreateError, match="only read here"):
        train("corpus", out, init_from="general", settings=CHOSEN, device="cpu")
    assert digests(folder / "general") == before


def test_run_is_resumed_with_and_without_the_model(folder):
    begun = {"settings": CHOSEN, "device": "cpu"}
    before = digests(folder / "general")
    whole = train("corpus", "whole", init_from="general", max_steps=9, **begun)
    assert whole.bleu_before is not None
    for name in ("same", "without", "moved"):
        train("corpus", name, init_from="general", max_steps=9, stop=_stops_at(6), **begun)
    train("corpus", "same", init_from="general", max_steps=9, **begun)
    (folder / "general").rename(folder / "other")
    train("corpus", "without", max_steps=9, **begun)
    train("corpus", "moved", init_from="other", max_steps=9, **begun)
    assert digests(folder / "other") == before
    for name in ("same", "without", "moved"):
        assert_same_run(folder / name, folder / "whole")
    shutil.rmtree(folder / "other")
    again = train("corpus", "whole", init_from="general", max_steps=9, **begun)
    assert (again.finished, again.bleu_before) == (True, whole.bleu_before)


def _stops_at(step: int):
    calls = iter(range(1, 1_000))
    return lambda: next(calls) >= step


def test_run_with_other_weights_of_the_model_is_refused(folder):
    begun = {"settings": CHOSEN, "device": "cpu"}
    train("corpus", "tuned", init_from="general", max_steps=6, stop=_stops_at(5), **begun)
    stored = read_model(folder / "general")
    weights = {name: weight + 1 for name, weight in stored.loaded().model.named_parameters()}
    refresh_weights(folder / "general", weights, {"step": "7"})
    with pytest.raises(ConfigError, match="other weights than those that `general` has now"):
        train("corpus", "tuned", init_from="general", max_steps=6, **begun)
    assert train("corpus", "tuned", max_steps=6, **begun).step == 6


def test_run_that_began_with_random_weights_is_refused(folder):
    begun = {"settings": CHOSEN, "device": "cpu"}
    train("corpus", "random", preset="tiny", settings=TINY, max_steps=5, device="cpu")
    with pytest.raises(ConfigError, match="it began with random weights, not with those"):
        train("corpus", "random", init_from="general", max_steps=9, **begun)


def test_training_without_a_learning_rate_is_refused(folder) -> None:
    with pytest.raises(ConfigError, match=r"train\.learning_rate=0 would leave the weights"):
        settings(None, "still", **{"train.learning_rate": 0.0})


def test_runs_that_began_with_one_model_are_averaged_without_a_warning(folder):
    for seed in (1, 2):
        train(
            "corpus", f"tuned-{seed}", init_from="general", settings=CHOSEN, max_steps=2,
            seed=seed, device="cpu",
        )  # fmt: skip
    assert average(["tuned-1", "tuned-2"], "mean").notes == ()
    [note] = average(["tuned-1", "general"], "mixed").notes
    assert "`tuned-1` and `general` are separate runs" in note


@pytest.mark.parametrize(
    ("given", "noted"),
    [
        ({"train.preset": "small", "train.optimizer": "adam"}, "0.005 comes from preset `small`"),
        ({"train.preset": "base", "train.optimizer": "muon"}, "auto comes from preset `base`"),
        ({"train.preset": "small"}, ""),
        ({"train.preset": "base", "train.optimizer": "schedule_free"}, ""),
        (
            {"train.preset": "small", "train.optimizer": "adam", "train.learning_rate": 1e-3},
            "",
        ),
    ],
)
def test_an_optimiser_with_the_learning_rate_of_another_is_noted(given, noted):
    given = {**given, "train.schedule": "constant"}
    note = optimizer_note(resolve_arguments("train", {}, given, None))
    assert noted in note
    assert bool(noted) == bool(note)


@pytest.mark.parametrize(
    ("given", "noted"),
    [
        (
            {"train.preset": "base", "train.warmup_steps": 1_000},
            "(equation 3), 2.0 times",
        ),
        ({"train.preset": "base", "train.warmup_steps": 1_001}, ""),
        # (16 * 4) ** -0.5 = 0.125, and (512 * 4000) ** -0.5 = 0.0007.
        (
            {"train.preset": "base", "train.warmup_steps": 4, "model.d_model": 16},
            "rises to 0.12 (equation 3), 178.9 times that of preset `base`; "
            "`--set train.learning_rate=0.0007` keeps",
        ),
        ({"train.preset": "base", "train.warmup_steps": 16_000}, ""),
        ({"train.preset": "base", "train.warmup_steps": 9, "train.learning_rate": 1e-3}, ""),
        ({"train.preset": "paper-small", "train.warmup_steps": 40}, "train.learning_rate=0.002`"),
        ({"train.preset": "small", "train.warmup_steps": 1}, ""),
        ({"train.preset": "tiny"}, ""),
    ],
)
def test_a_warm_up_that_raises_the_peak_is_noted(given, noted):
    notes = rate_notes(resolve_arguments("train", {}, given, None))
    assert len(notes) == bool(noted)
    assert noted in "".join(notes)


def test_the_peak_of_the_preset_is_not_said_to_suffice_for_post_norm_models():
    for order, said in (("post", True), ("pre", False)):
        given = {
            "train.preset": "paper-small", "train.warmup_steps": 100, "model.norm_order": order,
        }  # fmt: skip
        [note] = rate_notes(resolve_arguments("train", {}, given, None))
        assert "`--set train.learning_rate=0.002` keeps the peak of the preset" in note
        assert ("a post-norm model may not learn even so after a short warm-up" in note) is said
        assert note.endswith("`--set model.norm_order=pre` helps") is said


@pytest.mark.parametrize(
    ("given", "peak"),
    [
        # Adam's rates in the examples of OpenNMT-py, where they are factors.
        ({"train.preset": "base", "train.learning_rate": 2.0}, "1.4e-03"),
        ({"train.preset": "base", "train.learning_rate": 0.05}, "3.5e-05"),
        ({"train.preset": "base", "train.learning_rate": 0.04}, ""),
        ({"train.preset": "small", "train.learning_rate": 2.0}, "0.014"),
        ({"train.preset": "small", "train.learning_rate": 0.05}, ""),
    ],
)
def test_a_learning_rate_that_is_a_factor_elsewhere_is_noted(given, peak):
    notes = rate_notes(resolve_arguments("train", {}, given, None))
    assert len(notes) == bool(peak)
    assert not peak or f"`--set train.learning_rate={float(peak):.2g}`" in notes[0]


def test_training_returns_the_note_on_the_optimiser(folder):
    chosen = {key: value for key, value in TINY.items() if key != "train.learning_rate"}
    options = {"settings": {**chosen, "train.optimizer": "adam"}, "max_steps": 1, "device": "cpu"}
    note = train("corpus", "adam", preset="tiny", **options).notes[0]
    assert "for muon" in note
    assert 'choose one with `settings={"train.learning_rate": "X"}`' in note


def test_a_resumed_run_does_not_repeat_the_note_on_the_warm_up(folder):
    """It has begun once it has a checkpoint."""
    raised = {"train.optimizer": "adam", "train.learning_rate": "auto", "train.warmup_steps": 1}
    settings = {**TINY, **raised}

    def notes(max_steps: int) -> str:
        options = {"preset": "tiny", "settings": settings, "device": "cpu"}
        return "".join(train("corpus", "raised", max_steps=max_steps, **options).notes)

    assert "times that of preset `tiny`" in notes(1)
    assert "times that of preset `tiny`" not in notes(2)
    shutil.rmtree("raised/checkpoints")
    given = {**settings, "train.preset": "tiny", "paths.model": "raised"}
    assert len(rate_notes(resolve_arguments("train", {}, given, None))) == 1
