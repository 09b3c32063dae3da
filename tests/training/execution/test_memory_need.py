"""Training that surely does not fit into memory is refused before a process starts."""

from pathlib import Path

import pytest
from corpora import reversal_corpus, tiny_config

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, dump, with_values
from nmt_cli.errors import UnavailableError
from nmt_cli.machine import available_memory
from nmt_cli.training.execution.memory_need import (
    BASE_BYTES,
    CorpusTokens,
    memory_needed,
    require_memory,
)

KIB = 1 << 10
# Without tokens, layers keep nothing for the backward pass.
EMPTY = CorpusTokens(0, 0)


def big() -> Config:
    return with_values(
        tiny_config(train_preset="big"),
        {
            "model.src_vocab_size": 37_000, "model.tgt_vocab_size": 37_000, "model.layers": 6,
            "model.d_model": 1_024, "model.d_ff": 4_096, "model.heads": 16,
        },
    )  # fmt: skip


def test_memory_needed_follows_from_parameters_and_optimiser() -> None:
    """The count of tests/paper/test_parameter_counts.py."""
    adam = 250_000_000 + 16 * 214_171_648
    assert memory_needed(big(), 1, EMPTY) == adam
    assert memory_needed(big(), 8, EMPTY) == 8 * adam
    # The moving average is the first rank's.
    ema = with_values(big(), {"train.ema": 0.999})
    assert memory_needed(ema, 8, EMPTY) == 8 * adam + 4 * 214_171_648
    muon = with_values(big(), {"train.optimizer": "muon"})
    assert memory_needed(muon, 1, EMPTY) == BASE_BYTES + 12 * 214_171_648


def test_the_error_names_needed_and_available_memory_and_remedies() -> None:
    with pytest.raises(UnavailableError) as caught:
        require_memory(big(), 8, EMPTY, 20_000_000_000)
    assert caught.value.message == (
        "training preset big in 8 CPU processes needs at least 29.4 GB of memory (3.7 GB each), "
        "but 20.0 GB are available"
    )
    assert caught.value.hint.startswith("fewer processes: `--gpus 5` at most; or a smaller preset")
    with pytest.raises(UnavailableError) as caught:
        require_memory(big(), 1, EMPTY, 2_000_000_000)
    assert "in 1 CPU process needs at least 3.7 GB of memory, but 2.0 GB" in caught.value.message
    assert "--gpus" not in caught.value.hint
    require_memory(big(), 5, EMPTY, 20_000_000_000)
    require_memory(big(), 8, EMPTY, None)


def test_what_layers_keep_for_the_backward_pass_is_counted() -> None:
    """Of 6 encoder layers 6 streams each, of 6 decoder layers 11, and the inner layers."""
    config = with_values(
        big(), {"train.batch_tokens": 8_192, "train.precision": "float32", "model.d_ff": 2_048}
    )
    without = memory_needed(config, 1, EMPTY)

    def kept(corpus: CorpusTokens, processes: int = 1, **values: object) -> int:
        changed = with_values(config, {f"train.{key}": value for key, value in values.items()})
        return memory_needed(changed, processes, corpus) // processes - without

    # A micro-batch of 4,096 tokens that is filled to 80 %; the source is half as long.
    tokens = int(4_096 * 0.8)
    half, full = tokens * 6 * 4 * (6 * 1_024 + 2_048), tokens * 6 * 4 * (11 * 1_024 + 2_048)
    large = CorpusTokens(5_000_000, 10_000_000)
    assert kept(large) == pytest.approx(half / 2 + full, rel=1e-3)
    assert kept(large, precision="bf16") == pytest.approx(kept(large) / 2, rel=1e-6)
    assert kept(large, micro_batch_tokens=2_048) == pytest.approx(kept(large) / 2, rel=1e-6)
    assert kept(large, processes=4) == pytest.approx(kept(large) / 2, rel=1e-6)
    # No batch has more tokens than the corpus.
    assert kept(CorpusTokens(512, 1_024)) == pytest.approx(kept(large) / 4, rel=1e-6)


def test_smaller_passes_are_advised_where_they_help() -> None:
    deep = with_values(big(), {"model.layers": 60, "train.batch_tokens": 4_096})
    corpus = CorpusTokens(1_000_000, 1_000_000)
    available = memory_needed(deep, 1, EMPTY) + 1_000_000_000
    with pytest.raises(UnavailableError) as caught:
        require_memory(deep, 1, corpus, available)
    assert "`--set train.micro_batch_tokens=1000`" in caught.value.hint
    with pytest.raises(UnavailableError) as caught:
        require_memory(deep, 1, corpus, available - 2_000_000_000)
    assert "micro_batch_tokens" not in caught.value.hint


@pytest.mark.parametrize("gpus", [[], ["--gpus", "8"]])
def test_no_process_starts_when_memory_is_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    gpus: list[str],
) -> None:  # fmt: skip
    config, _ = reversal_corpus(tmp_path)
    (tmp_path / "nmt.toml").write_text(dump(config))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("nmt_cli.training.parallel.ranks._check_hidden_gpus", lambda: None)
    monkeypatch.setattr("nmt_cli.machine.available_memory", lambda: BASE_BYTES)
    started: list[object] = []
    monkeypatch.setattr(
        "nmt_cli.training.parallel.ranks.launch", lambda *arguments: started.append(arguments)
    )
    monkeypatch.setattr(
        "nmt_cli.cli.commands.train.be_rank", lambda *arguments, **_: started.append(arguments)
    )
    assert main(["train", *gpus]) == 69
    assert "of memory" in capsys.readouterr().err
    assert started == []
    assert not (tmp_path / "model").exists()


MEMINFO = "MemTotal: 16000 kB\nMemFree: 100 kB\nMemAvailable: 8000 kB\nSwapFree: 500 kB\n"


@pytest.mark.parametrize(
    ("files", "kib"),
    [
        ({"proc/meminfo": MEMINFO}, 8_500),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/memory.max": f"{4_000 * KIB}\n",
                "sys/fs/cgroup/a/memory.current": f"{3_000 * KIB}\n",
                "sys/fs/cgroup/a/memory.stat": f"anon 5\ninactive_file {200 * KIB}\n",
                "sys/fs/cgroup/a/b/memory.max": "max\n",
                "sys/fs/cgroup/a/b/memory.current": "7\n",
            },
            1_700,
        ),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "5:memory:/c\n",
                "sys/fs/cgroup/memory/c/memory.limit_in_bytes": f"{2_000 * KIB}\n",
                "sys/fs/cgroup/memory/c/memory.usage_in_bytes": f"{2_500 * KIB}\n",
            },
            500,
        ),
    ],
    ids=["machine", "version 2", "version 1"],
)
def test_the_memory_that_is_available(tmp_path: Path, files: dict[str, str], kib: int) -> None:
    """Groups at every level, and swap beside."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_memory(tmp_path) == kib * KIB


def test_unknown_memory_refuses_nothing(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None
