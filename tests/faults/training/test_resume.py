"""A run that goes on, whatever else has changed meanwhile, is the run that nothing happened to."""

import ast
import dataclasses
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from corpora import reversal_corpus, reversal_pairs, word_corpus, write_pairs
from faults.tally import ROOT, fault
from lanes import slow
from ranks import in_ranks
from runs import VARIANTS, assert_same, assert_same_run, last, settings_of

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data import process_pool
from nmt_cli.data.corpus import resegmentation
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.resegmentation import SampledPairs
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.translation.translator import Translator


def go(config: Config, corpus: Corpus, out: Path, stop_after: int = 0, **settings: object) -> list:
    """Train to the end, or stop after so many steps; the reports."""
    config = with_values(
        config, {key.replace("_", ".", 1): value for key, value in settings.items()}
    )
    steps = iter(range(1, 1_000))
    return list(train(config, corpus, out, stop=lambda: next(steps) > stop_after > 0))


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    return reversal_corpus(
        tmp_path_factory.mktemp("resume"), train_max_steps=12, train_log_every=1,
        train_validation_sentences=0, train_seed=3,
    )  # fmt: skip


def weights_after(out: Path, steps: int, config: Config, corpus: Corpus, ranks: Ranks) -> str:
    """A digest of every bit of weights and optimiser, and the losses, of a run that may go on."""
    config = with_values(config, {"train.max_steps": steps})
    for _ in train(config, corpus, out, ranks):
        pass
    if not ranks.is_first:
        return ""
    digest = hashlib.sha256()
    for path in sorted((out / "checkpoints").glob(f"step-{steps:09}*/*.safetensors")):
        digest.update(path.read_bytes())
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return f"{digest.hexdigest()} {[record['loss'] for record in records if record['tokens']]}"


@pytest.mark.slow
@fault("R2")
def test_resume_with_any_number_of_ranks_gives_the_same_bits(tmp_path, checks) -> None:
    """One, eight, eight and then two, four and then one: dropout is on."""
    config, corpus = reversal_corpus(tmp_path)
    config = with_values(config, {
        "model.dropout": 0.1, "train.deterministic": True, "train.micro_batch_tokens": 50,
        "train.batch_tokens": 400, "train.checkpoint_every": 1, "train.log_every": 1,
        "train.validation_sentences": 0, "train.validate_every": 100,
    })  # fmt: skip
    result = {}
    for plan in ((1,), (8, 2), (4, 1)):
        out = tmp_path / "-".join(map(str, plan))
        for index, world_size in enumerate(plan, 1):
            steps = index if len(plan) > 1 else 2
            done = in_ranks(
                partial(weights_after, out, steps, config, corpus), world_size, timeout=50.0
            )
            assert [outcome.error for outcome in done] == [None] * world_size
            checks()
        result[plan] = done[0].result
    assert result[1,]
    assert result[1,] == result[8, 2] == result[4, 1]


@fault("R3")
@pytest.mark.parametrize("stop_after", [slow(1), 4, slow(5)])
def test_each_pair_is_used_once_an_epoch_after_resume(stop_after, tmp_path, monkeypatch) -> None:
    """With dropout, drawn subwords and batches of several shards, stopped in an epoch's midst."""
    config, corpus = word_corpus(
        tmp_path, model_dropout=0.1, train_subword_dropout=0.2, train_batch_tokens=900,
        train_micro_batch_tokens=300, train_checkpoint_every=4, train_max_epochs=2,
        train_max_steps=1_000, train_log_every=1, train_validate_every=1_000,
    )  # fmt: skip
    used: Counter[tuple[int, int]] = Counter()
    real = Run.step

    def step(run: Run, position):
        assert run.state.shards > 1
        pairs = run.plan.epoch(position.epoch).pairs(position.batch)
        used.update((position.epoch, int(pair)) for pair in pairs)
        return real(run, position)

    go(config, corpus, tmp_path / "straight")
    monkeypatch.setattr(Run, "step", step)
    go(config, corpus, tmp_path / "resumed", stop_after=stop_after)
    assert 0 < len(used) < 2 * len(corpus.train)
    go(config, corpus, tmp_path / "resumed")
    expected = {(epoch, pair) for epoch in (0, 1) for pair in range(len(corpus.train))}
    assert used == dict.fromkeys(expected, 1)
    assert_same_run(tmp_path / "resumed", tmp_path / "straight")


@fault("R3", "R6")
@pytest.mark.parametrize("stop_after", [slow(1), 5, slow(8), slow(11)])
def test_resumed_run_equals_uninterrupted_run(setting, tmp_path, stop_after) -> None:
    """Weights, optimiser and log to the last bit, with dropout and an epoch's end on the way."""
    go(*setting, tmp_path / "straight")
    out = tmp_path / "model"
    go(*setting, out, stop_after=stop_after)
    members = Checkpoints(out / "checkpoints", 5, 1).members()
    assert [member.step for member in members] == list(range(5, stop_after + 1, 5))
    go(*setting, out)
    assert_same_run(out, tmp_path / "straight")


@pytest.mark.slow
@fault("R4")
def test_number_of_subword_workers_does_not_change_training(tmp_path, monkeypatch, checks) -> None:
    monkeypatch.setattr(resegmentation, "CHUNK_LINES", 50)
    monkeypatch.setattr(process_pool, "ALONE_SECONDS", 0.0)
    _, corpus = word_corpus(tmp_path)
    results = []
    for workers in (1, 2):
        pairs = SampledPairs(corpus, 0.3, 1, workers)
        pairs.segment(1)
        results.append(
            [[side[i].tolist() for i in range(len(pairs))] for side in (pairs.src, pairs.tgt)]
        )
        assert results[-1] == results[0]
        checks()


@fault("R5")
def test_resume_with_validation_added_and_removed(setting, tmp_path, checks) -> None:
    """Other weights are tried out in the same model object, and are no place to go on from."""
    config, corpus = setting
    config = settings_of(config, "schedule_free")
    out, undisturbed = tmp_path / "model", tmp_path / "undisturbed"
    go(config, corpus, undisturbed, train_validate_every=1_000)
    for steps, every in ((3, 1_000), (6, 1), (9, 1_000), (12, 4)):
        settings = {"train_max_steps": steps, "train_validate_every": every}
        go(config, corpus, out, train_checkpoint_every=1, **settings)
        checks()
    assert_same(last(out).weights(), last(undisturbed).weights())
    losses = [
        [
            (record["step"], record["loss"])
            for record in map(json.loads, (path / "log.jsonl").read_text().splitlines())
            if record["tokens"]
        ]
        for path in (out, undisturbed)
    ]
    assert losses[0] == losses[1]


@fault("R6")
@pytest.mark.parametrize("name", VARIANTS)
def test_resume_is_exact_for_every_optimiser_and_average(setting, tmp_path, name) -> None:
    """Stopped between two validations, and at one; dropout is on."""
    config, corpus = setting
    config = settings_of(config, name)
    go(config, corpus, tmp_path / "straight", train_max_steps=8)
    for stop_at, steps in ((3, 3), (5, 2)):
        go(config, corpus, tmp_path / "resumed", stop_after=steps, train_max_steps=8)
        assert last(tmp_path / "resumed").step == stop_at
    go(config, corpus, tmp_path / "resumed", train_max_steps=8)
    assert_same_run(tmp_path / "resumed", tmp_path / "straight")


@fault("R6")
@pytest.mark.parametrize("stop_after", [slow(2), 4, slow(6)])
def test_resume_keeps_patience_and_best_score(setting, tmp_path, stop_after) -> None:
    """Nothing becomes better: the fourth validation ends the run, wherever it was stopped."""
    settings = {
        "train_learning_rate": 0.0, "train_checkpoint_every": 2, "train_patience": 3,
        "train_max_steps": 100,
    }  # fmt: skip
    go(*setting, tmp_path / "straight", **settings)
    go(*setting, tmp_path / "resumed", stop_after=stop_after, **settings)
    state = last(tmp_path / "resumed").state()
    assert state.published_score is not None
    assert state.stale == stop_after // 2 - 1
    reports = go(*setting, tmp_path / "resumed", **settings)
    assert "3 validations without a better one" in reports[-1].note
    assert_same_run(tmp_path / "resumed", tmp_path / "straight")


@fault("R7")
def test_resume_with_another_corpus_is_refused(setting, tmp_path, checks) -> None:
    """Prepared again from text with one pair less, or with two pairs in each other's places."""
    config, corpus = setting
    go(config, corpus, tmp_path / "model", train_max_steps=3)
    pairs = reversal_pairs(400, 1)
    for name, others in {"less": pairs[:-1], "swapped": [pairs[1], pairs[0], *pairs[2:]]}.items():
        train_text = write_pairs(tmp_path, name, others)
        changed = with_values(config, {"data.train": [train_text]})
        prepare(changed, tmp_path / name / "corpus", workers=1)
        other = Corpus.open(tmp_path / name / "corpus")
        # The path of the text is another setting, which is refused before.
        other = dataclasses.replace(other, config=corpus.config)
        with pytest.raises(ConfigError, match="corpus differs"):
            go(config, other, tmp_path / "model", train_max_steps=5)
        assert ConfigError.exit_code == 78
        checks()


@fault("R7")
def test_resume_with_changed_corpus_file_is_refused(setting, tmp_path, checks) -> None:
    """One token is another: the corpus no longer agrees with its manifest."""
    config, _ = setting
    prepare(config, tmp_path / "corpus", workers=1)
    for path in sorted((tmp_path / "corpus").glob("*.ids")):
        whole = path.read_bytes()
        path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        with pytest.raises(DataError, match=f"{path.name}` is damaged"):
            Corpus.open(tmp_path / "corpus")
        path.write_bytes(whole)
        checks()


PREPARES = """
import json, sys
from pathlib import Path
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data import process_pool
from nmt_cli.data.cleaning import clean
from nmt_cli.data.preparation.prepare import prepare

values, out, workers = json.loads(sys.argv[1])
process_pool.ALONE_SECONDS, clean.CHUNK_PAIRS = 0.0, 37
if __name__ == "__main__":
    prepare(resolve([SettingsLayer("test", values)]).config, Path(out), workers=workers)
"""


@pytest.mark.slow
@fault("R8")
def test_prepare_gives_the_same_bytes_in_any_environment(tmp_path, checks) -> None:
    """Locale, time zone, hash seed, threads, processes, the order of files on disk."""
    chooser = random.Random(1)
    words = [
        "".join(chooser.choices("badugelmornis\u00fc\u00dfIi\u0131\u0130", k=5)) for _ in range(200)
    ]
    texts = [[" ".join(chooser.choices(words, k=7)) for _ in range(300)] for _ in range(2)]
    result = set()
    variants = [
        ({"LC_ALL": "C", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}, 1, "ab"),
        ({"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati"}, 1, "ba"),
        ({"LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "3"}, 3, "ab"),
        ({"LANG": "de_DE.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONHASHSEED": "3"}, 1, "ba"),
    ]  # fmt: skip
    (tmp_path / "prepares.py").write_text(PREPARES)
    for index, (environ, workers, order) in enumerate(variants):
        directory = tmp_path / str(index)
        directory.mkdir()
        for name in order:
            # What is listed first on disk depends on what was made first.
            (directory / name).write_text("\n".join(texts[name == "b"]) + "\n", encoding="utf-8")
        values = {"data.train": [["a", "b"]], "data.subwords": "unigram", "data.vocab_size": 120}
        given = json.dumps([values, "corpus", workers])
        environ |= {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(tmp_path / "prepares.py"), given]
        subprocess.run(command, check=True, cwd=directory, env=environ)
        result.add(digest_of(directory / "corpus"))
        checks()
    assert len(result) == 1


def digest_of(folder: Path) -> str:
    result = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            result.update(f"{path.relative_to(folder)} ".encode() + path.read_bytes())
    return result.hexdigest()


@fault("R9")
def test_translation_of_a_line_does_not_depend_on_other_lines(checks) -> None:
    """Sizes of batches, order, threads and beam's padding: the same words, scores to 1e-5."""
    config = byte_config()
    translator = Translator(byte_model(config), config, byte_subwords())
    chooser = random.Random(4)
    lines = ["".join(chooser.choices("abc defgh", k=chooser.randrange(1, 30))) for _ in range(16)]
    alone = [translator.translate([line])[0] for line in lines]
    threads = torch.get_num_threads()
    try:
        for tokens, count in ((1, 1), (64, 2), (100_000, 1)):
            torch.set_num_threads(count)
            order = chooser.sample(range(len(lines)), len(lines))
            search = dataclasses.replace(config.search, batch_tokens=tokens)
            translations = list(
                translator.translate([lines[index] for index in order], search=search)
            )
            for index, translation in zip(order, translations, strict=True):
                assert translation.text == alone[index].text
                assert translation.score == pytest.approx(alone[index].score, abs=1e-5)
                checks()
    finally:
        torch.set_num_threads(threads)


@fault("R10")
def test_wall_clock_changes_do_not_matter(setting, tmp_path, monkeypatch) -> None:
    """It runs backwards, jumps by years, and the hours of a run are those that it took."""
    jumps = iter(range(10**6))
    monkeypatch.setattr(time, "time", lambda: 1e9 * (-1) ** next(jumps))
    reports = go(*setting, tmp_path / "model", train_max_hours=1.0)
    assert reports[-1].step == 12
    seconds = last(tmp_path / "model").state().seconds
    assert 0 < seconds < 600
    durations = [report.seconds for report in reports]
    assert durations == sorted(durations)
    assert all(report.tokens_per_second >= 0 for report in reports)
    assert all((report.eta_seconds or 0) >= 0 for report in reports)


# What a person reads, and whether a file was replaced; no duration.
WALL_CLOCK = {
    "storage/locks.py: time.strftime", "model_weights.py: before.st_mtime_ns",
    "model_weights.py: after.st_mtime_ns", "model_weights.py: before.st_ctime_ns",
    "model_weights.py: after.st_ctime_ns",
    # The time of a request in the access log.
    "cli/commands/serve.py: time.strftime", "cli/commands/serve.py: time.gmtime",
    # Text that is younger than its corpus may have changed.
    "data/preparation/outdated.py: path.stat().st_mtime",
    "data/preparation/outdated.py: (corpus / DESCRIPTION).stat().st_mtime",
    # Whether a file of nmt itself was replaced while it ran.
    "installation.py: status.st_mtime_ns",
    # Of the cache, the oldest files are removed.
    "inference/native/packing/packed_cache.py: entry[0].st_mtime_ns",
    # A note names a run whose weights are younger than those that are used.
    "data/corpus/users.py: (model / WEIGHTS).stat().st_mtime",
}  # fmt: skip
ASKING = re.compile(
    r"time\.(time|time_ns|ctime|localtime|gmtime|strftime)|(datetime|date)\.(now|utcnow|today)"
    r"|.*\.st_[amc]time(_ns)?|.*\.get[amc]time"
)


@fault("R10")
def test_durations_use_a_monotonic_clock() -> None:
    """No source asks for the date, but to show it."""
    result = {
        f"{path.relative_to(ROOT / 'nmt_cli').as_posix()}: {ast.unparse(node)}"
        for path in (ROOT / "nmt_cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ASKING.fullmatch(ast.unparse(node))
    }
    assert result <= WALL_CLOCK
