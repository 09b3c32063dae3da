"""What a run keeps beside its weights: every optimiser and average goes on exactly; candidates."""

import pytest
import torch
from corpora import reversal_corpus
from runs import VARIANTS, assert_same, go, last, make_run, settings_of, take_steps

from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.data.corpus.corpus import Pairs
from nmt_cli.data.corpus.resegmentation import SampledPairs
from nmt_cli.model_dir import load_model
from nmt_cli.training.evaluation import validation
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.saving.tensor_files import OPTIMIZER, read_tensors
from nmt_cli.training.setup import complete, prepare_directory


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    config, corpus = reversal_corpus(tmp_path_factory.mktemp("run"))
    values = {"train.max_steps": 8, "train.log_every": 1, "train.validation_sentences": 0}
    return with_values(config, values), corpus


@pytest.mark.parametrize("name", ["schedule_free", "ema"])
def test_validation_does_not_touch_what_is_trained(setting, tmp_path, name):
    """Other weights than those in training are tried out in the same model object."""
    config, corpus = setting
    go(settings_of(config, name), corpus, tmp_path / "often")
    go(settings_of(config, name, **{"train.validate_every": 1_000}), corpus, tmp_path / "never")
    assert_same(last(tmp_path / "often").weights(), last(tmp_path / "never").weights())


def test_schedule_free_saves_and_validates_the_mean(setting, tmp_path):
    """The checkpoint's weights are x, which is not where the gradients were taken."""
    config, corpus = setting
    run = make_run(settings_of(config, "schedule_free"), corpus, tmp_path / "m")
    take_steps(run, 3)
    run.save()
    run.checkpoints.flush()
    x = {name: run.optimizer.state[weight]["x"] for name, weight in run.model.named_parameters()}
    assert_same(last(tmp_path / "m").weights(), x)
    assert_same(next(run.selector.candidates(run.optimizer, run.ema)).weights, x)
    assert not torch.equal(x["embedding.shared"], run.model.embedding.shared)


def test_a_moving_average_is_a_candidate_of_its_own(setting, tmp_path):
    """It is judged like the others, and published where it is the best."""
    config, corpus = setting
    run = make_run(settings_of(config, "ema"), corpus, tmp_path / "m")
    take_steps(run, 3)
    run.save()
    run.checkpoints.flush()
    current, moving = run.selector.candidates(run.optimizer, run.ema)
    assert (current.kind, moving.kind) == ("current", "ema")
    assert_same(moving.weights, run.ema.weights())
    assert_same(moving.weights, last(tmp_path / "m").moving_average())
    # Weights that have gone far astray: their average is the better model.
    with torch.no_grad():
        for weight in run.model.parameters():
            weight.mul_(30.0)
    found = run.validate()
    assert found.weights == "ema"
    assert_same(dict(load_model(tmp_path / "m").model.named_parameters()), moving.weights)
    assert not torch.equal(run.model.embedding.shared, moving.weights["embedding.shared"])


def test_other_ranks_keep_no_moving_average(setting, tmp_path):
    config, corpus = setting
    config = complete(settings_of(config, "ema"), corpus)
    prepare_directory(config, corpus, tmp_path / "m")
    assert Run(config, corpus, tmp_path / "m", Ranks(1, 2)).ema is None


def test_r_drop_takes_two_passes_in_training_and_one_in_validation(setting, tmp_path):
    config, corpus = setting
    losses, validations = {}, []
    for alpha in (0.0, 1e-9, 5.0):
        run = make_run(with_values(config, {"train.r_drop": alpha}), corpus, tmp_path / f"{alpha}")
        calls: list[int] = []
        hidden = run.model.hidden
        run.model.hidden = lambda batch, hidden=hidden, calls=calls: (
            calls.append(1) or hidden(batch)
        )
        losses[alpha] = run.step(Position(0, 0)).loss
        assert len(calls) == (2 if alpha else 1) * run.plan.shards
        calls.clear()
        run.validate()
        validations.append(len(calls))
    assert validations[0] == validations[1] == validations[2]
    # Two passes cost about what one does; that they differ costs more.
    assert losses[1e-9] == pytest.approx(losses[0.0], rel=0.05)
    assert losses[5.0] > losses[1e-9] * 1.001


def test_the_optimiser_s_file_names_what_each_keeps(setting, tmp_path):
    config, corpus = setting
    kinds = {}
    for name in VARIANTS:
        run = make_run(settings_of(config, name), corpus, tmp_path / name)
        take_steps(run, 1)
        run.save()
        run.checkpoints.flush()
        tensors = read_tensors(last(tmp_path / name).optimizer_directory / OPTIMIZER)
        kinds[name] = {key.rpartition("/")[2] for key in tensors}
    adam = {"step", "exp_avg", "exp_avg_sq"}
    assert kinds == {
        "schedule_free": {"x", "z", "v", "progress"},
        "muon": {"momentum", *adam},
        "ema": adam,
        "r_drop": adam,
    }


def test_several_ranks_compile_encoder_and_decoder_separately(setting, tmp_path, monkeypatch):
    """One graph of both would give all gradients at its end: too late to be sent on the way."""
    config, corpus = setting
    config = with_values(config, {"train.compile": "on", "train.packing": "packed"})
    config = complete(config, corpus)
    asked = []

    def compile_hidden(model, shape, *, separate_graphs: bool) -> None:
        asked.append(separate_graphs)
        # Longer than the first sentence of the first batch, so that no graph makes it grow.
        assert len(model.positions.table) >= shape.width > 2

    monkeypatch.setattr("nmt_cli.model.positions.TABLE_ROWS", 2)
    monkeypatch.setattr("nmt_cli.training.run.compile_hidden", compile_hidden)
    for count in (1, 2):
        prepare_directory(config, corpus, tmp_path / str(count))
        Run(config, corpus, tmp_path / str(count), Ranks(0, count))
    assert asked == [False, True]


def test_ranks_share_the_cores_that_draw_subwords(setting, tmp_path, monkeypatch):
    config, corpus = setting
    config = complete(config, corpus)
    prepare_directory(config, corpus, tmp_path / "m")
    asked = []

    class Sampled(SampledPairs):
        def __init__(self, corpus, share, seed, workers):
            asked.append((share, seed, workers))
            Pairs.__init__(self, corpus.train.src, corpus.train.tgt, corpus.train.origin)

    monkeypatch.setattr("nmt_cli.data.corpus.resegmentation.SampledPairs", Sampled)
    monkeypatch.setattr("nmt_cli.training.execution.plan.usable_cores", lambda: 6)
    config = with_values(config, {"train.subword_dropout": 0.1, "train.seed": 5})
    for count in (1, 2, 8):
        Run(config, corpus, tmp_path / "m", Ranks(0, count))
    assert asked == [(0.1, 5, 6), (0.1, 5, 3), (0.1, 5, 1)]


@pytest.mark.parametrize(("deterministic", "shards"), [(False, 3), (True, 4)])
def test_deterministic_runs_have_a_power_of_two_of_shards(setting, tmp_path, deterministic, shards):
    """Three passes of 100 tokens make a step of 300."""
    values = {"train.deterministic": deterministic, "train.micro_batch_tokens": 100}
    run = make_run(with_values(setting[0], values), setting[1], tmp_path / "m")
    assert run.state.shards == run.plan.shards == shards


def test_skipped_steps_do_not_enter_the_moving_average(setting, tmp_path):
    config, corpus = setting
    run = make_run(settings_of(config, "ema"), corpus, tmp_path / "m")
    take_steps(run, 2)
    before = run.ema.weights()
    with torch.no_grad():
        run.model.embedding.shared[:] = float("nan")
    take_steps(run, 1)
    assert_same(run.ema.weights(), before)


def test_a_validation_computes_the_losses_of_each_candidate_once(setting, tmp_path, monkeypatch):
    config, corpus = setting
    run = make_run(settings_of(config, "ema"), corpus, tmp_path / "m")
    take_steps(run, 1)
    computed = []
    losses = validation._losses
    monkeypatch.setattr(
        validation, "_losses", lambda *_: computed.append(losses(*_)) or computed[-1]
    )
    found = run.validate()
    assert len(computed) == 2
    assert found.nll == min(validation.nll for validation in computed)
