"""Models from before the Transformer go through the same commands: train, resume, translate."""

import os
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus, reversal_pairs

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, SettingsLayer, dump, resolve, with_values
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError
from nmt_cli.model.baselines.convolutional import Convolutional
from nmt_cli.model.baselines.recurrent import Recurrent
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.kinds import make_model
from nmt_cli.model_dir import load_model
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.setup import complete, prepare_directory
from nmt_cli.translation.translator import Translator

both = pytest.mark.parametrize("kind", ["rnn", "conv"])
CLASSES = {"rnn": Recurrent, "conv": Convolutional}
SMALL: dict[str, object] = {
    "model.layers": 2,
    "model.d_model": 32,
    "train.batch_tokens": 300,
    "train.max_steps": 8,
    "train.warmup_steps": 5,
    "train.learning_rate": 0.01,
    "train.checkpoint_every": 5,
    "train.log_every": 1,
    "train.validation_sentences": 4,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    _, corpus = reversal_corpus(tmp_path_factory.mktemp("older"))
    return corpus


def settings(kind: str, **values: object) -> Config:
    given = {key.replace("_", ".", 1): value for key, value in values.items()}
    return resolve([SettingsLayer("test", {"train.preset": kind, **SMALL, **given})]).config


def go(config: Config, corpus: Corpus, out: Path, stop_after: int = 0) -> None:
    steps = iter(range(1, 1_000))
    for _ in train(config, corpus, out, stop=lambda: next(steps) > stop_after > 0):
        pass


def last_weights(out: Path) -> dict[str, torch.Tensor]:
    return Checkpoints(out / "checkpoints", 5, 1).all()[-1].weights()


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        assert torch.equal(tensor, expected[name]), name


@both
def test_resumed_baseline_run_equals_the_uninterrupted_one(corpus, tmp_path, kind):
    """To the last bit, dropout and all."""
    config = settings(kind, model_dropout=0.3)
    go(config, corpus, tmp_path / "straight")
    go(config, corpus, tmp_path / "resumed", stop_after=3)
    assert len(Checkpoints(tmp_path / "resumed" / "checkpoints", 5, 1).all()) == 1
    go(config, corpus, tmp_path / "resumed")
    assert_same(last_weights(tmp_path / "resumed"), last_weights(tmp_path / "straight"))
    models = [load_model(tmp_path / name).model for name in ("resumed", "straight")]
    assert_same(*(dict(model.named_parameters()) for model in models))


@both
def test_resume_with_another_model_kind_is_refused(corpus, tmp_path, kind):
    go(settings(kind, train_max_steps=1), corpus, tmp_path)
    other = "conv" if kind == "rnn" else "rnn"
    with pytest.raises(ConfigError, match=f'model.kind was "{kind}", now "{other}"'):
        go(settings(other, train_max_steps=1), corpus, tmp_path)


@both
def test_model_directory_contains_the_model_kind(corpus, tmp_path, kind):
    go(settings(kind, train_max_steps=1), corpus, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert type(loaded.model) is CLASSES[kind]
    assert_same(dict(loaded.model.named_parameters()), last_weights(tmp_path / "m"))


def one_step(config: Config, corpus: Corpus, out: Path, dtype=torch.float64):
    config = complete(config, corpus)
    prepare_directory(config, corpus, out)
    run = Run(config, corpus, out, Ranks())
    run.model.to(dtype)
    return run, run.step(Position(0, 0))


@both
def test_baseline_steps_with_threads_and_packing_agree(corpus, tmp_path, monkeypatch, kind):
    """Twins of the model have its weights and their own gradients; filler has none."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    config = settings(kind, model_dropout=0.0)
    ways = [
        {"train.parallel_shards": 1, "train.micro_batch_tokens": 75},
        {"train.parallel_shards": 2, "train.micro_batch_tokens": 75},
        {"train.packing": "packed", "train.micro_batch_tokens": 300},
    ]
    (single, alone), (two, threads), (packed, others) = (
        one_step(with_values(config, values), corpus, tmp_path / str(index))
        for index, values in enumerate(ways)
    )
    assert [len(run.replicas.models) for run in (single, two)] == [1, 2]
    assert [run.plan.shards for run in (single, two)] == [4, 4]
    assert [run.state.packed for run in (single, two, packed)] == [False, False, True]
    assert threads[:2] == pytest.approx(alone[:2], rel=1e-6)
    assert threads.gradient_norm == pytest.approx(alone.gradient_norm, rel=1e-6)
    # Of other pairs, and some filler.
    assert others.loss / others.tokens == pytest.approx(alone.loss / alone.tokens, rel=0.2)
    assert others.gradient_norm == pytest.approx(alone.gradient_norm, rel=0.5)


@both
@pytest.mark.parametrize("backend", ["tiles", "varlen"])
def test_baselines_are_neither_packed_nor_compiled(corpus, tmp_path, monkeypatch, kind, backend):
    """Where its attention on a GPU would have batches packed and compiled."""
    monkeypatch.setattr("nmt_cli.training.execution.plan.choose_backend", lambda *_: backend)
    run, _ = one_step(settings(kind), corpus, tmp_path)
    assert not run.state.packed
    assert not run.execution.compiled


@both
@pytest.mark.parametrize("values", [{"train.optimizer": "muon"}, {"train.deterministic": True}])
def test_baselines_train_with_muon_and_deterministically(corpus, tmp_path, kind, values):
    config = complete(with_values(settings(kind), values), corpus)
    begun = initialise(make_model(config.model), config.train.seed)
    run, _ = one_step(config, corpus, tmp_path, torch.float32)
    for name, weight in begun.named_parameters():
        now = dict(run.model.named_parameters())[name]
        assert now.isfinite().all()
        assert not torch.equal(now, weight), name


@pytest.mark.slow
@both
def test_baselines_memorise_letters(tmp_path, kind):
    _, few = reversal_corpus(tmp_path, pairs=40, shortest=3)
    config = settings(
        kind, train_max_steps=150, train_label_smoothing=0.0, model_dropout=0.0,
        train_schedule="linear", train_validation_sentences=0, train_checkpoint_every=150,
        train_learning_rate=0.01,
    )  # fmt: skip
    go(config, few, tmp_path / "m")
    pairs = reversal_pairs(40, seed=1, shortest=3)
    outputs = Translator.load(tmp_path / "m").translate([src for src, _ in pairs])
    assert sum(output.text == tgt for output, (_, tgt) in zip(outputs, pairs, strict=True)) >= 38


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with nmt.toml, as one has who trains Transformers, a corpus and two models."""
    folder = tmp_path_factory.mktemp("project")
    reversal_corpus(folder, pairs=60)
    written = dump(resolve([]).config).splitlines()
    kept = [line for line in written if line.startswith(("format", "[", "preset"))]
    (folder / "nmt.toml").write_text("\n".join(kept))
    here = Path.cwd()
    os.chdir(folder)
    try:
        for kind in ("rnn", "conv"):
            options = [f"--set={key}={value}" for key, value in SMALL.items()]
            assert main(["train", "--preset", kind, "--out", kind, "--quiet", *options]) == 0
    finally:
        os.chdir(here)
    return folder


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


@both
def test_baseline_commands_from_training_to_scores(inside, capsys, kind, tmp_path):
    expected = CLASSES[kind]
    assert type(load_model(Path(kind)).model) is expected
    mean = str(tmp_path / "mean")
    assert main(["average", kind, "--out", mean, "--quiet"]) == 0
    assert type(load_model(Path(mean)).model) is expected
    out = tmp_path / "out.tgt"
    assert main(["translate", "--model", mean, "valid.src", "-o", str(out), "--quiet"]) == 0
    assert len(out.read_text().splitlines()) == len(Path("valid.src").read_text().splitlines())
    capsys.readouterr()
    assert main(["score", str(out), "valid.tgt", "--metric", "chrf", "--json"]) == 0
    assert "chrF" in capsys.readouterr().out


@both
def test_baselines_report_alignment_but_no_heads(inside, capsys, kind, tmp_path):
    Path("two.src").write_text("a b c\nd e\n")
    assert main(["translate", "--model", kind, "two.src", "--alignment", "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    search = SearchConfig(alignment=True)
    (found,) = Translator.load(kind).translate(["d e"], search=search, prefixes=["a b c"])
    links = found.hypotheses[0].alignment
    assert [word for _, word in links] == list(range(len(found.text.split())))
    assert len(links) >= 3
    assert {source for source, _ in links} <= {0, 1}
    out = tmp_path / "a.html"
    assert main(["attention", "a b", "--model", kind, "--out", str(out)]) == 78
    assert f"a model of the kind {kind} has no heads to show" in capsys.readouterr().err
    assert not out.exists()


@both
def test_low_precision_is_refused_for_baselines(inside, capsys, kind):
    Path("one.src").write_text("a b c\n")
    assert main(["translate", "--model", kind, "one.src", "--precision", "int8"]) == 0
    said = capsys.readouterr()
    assert "float32, not int8" in said.err
    plain = said.out
    assert main(["translate", "--model", kind, "one.src"]) == 0
    said = capsys.readouterr()
    assert said.out == plain
    assert "float32, not" not in said.err


def test_weights_of_another_model_kind_are_refused(inside, tmp_path):
    (tmp_path / "m").mkdir()
    for file in Path("rnn").rglob("*"):
        if file.is_file() and "checkpoints" not in file.parts:
            target = tmp_path / "m" / file.relative_to("rnn")
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(file.read_bytes())
    from nmt_cli.storage.manifest import write_manifest

    (tmp_path / "m" / "config.toml").write_bytes(Path("conv/config.toml").read_bytes())
    write_manifest(tmp_path / "m")
    with pytest.raises(ConfigError, match="does not fit its settings"):
        load_model(tmp_path / "m")


def test_different_architectures_form_an_ensemble(inside):
    """An ensemble of both: its probabilities are the mean."""
    lines = ["a b c", "d e f g"]
    joint = Translator.load("rnn", others=["conv"])
    (found, _) = joint.translate(lines)
    pair = lines[0], found.text
    (mean,) = joint.score([pair])
    singles = [next(iter(Translator.load(kind).score([pair]))) for kind in ("rnn", "conv")]
    for token, *each in zip(
        mean.token_scores, *(score.token_scores for score in singles), strict=True
    ):
        assert torch.tensor(each).exp().mean().log().item() == pytest.approx(token, abs=1e-5)


@both
def test_positions_are_drawn_where_there_are_any(inside, capsys, kind):
    code = main(["plot", "positions", "--model", kind, "--out", "p.svg"])
    assert code == (78 if kind == "rnn" else 0)
    assert ("reads one token after the other" in capsys.readouterr().err) == (kind == "rnn")
