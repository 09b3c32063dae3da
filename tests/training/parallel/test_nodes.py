"""Several machines, as far as one can show: torchrun twice on loopback, and the SLURM recipe."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import reversal_corpus
from ranks import free_port

from nmt_cli.config.schema import dump

SBATCH = Path(__file__).resolve().parents[3] / "recipes/slurm/train.sbatch"
# Each task in turn, with its log, as srun does it; the exit code is the largest.
SRUN = """#!/usr/bin/env bash
while [[ $1 == --* ]]; do [[ $1 == --output=* ]] && log=${1#--output=}; shift; done
worst=0
for ((task = 0; task < SLURM_NTASKS; task++)); do
  SLURM_PROCID=$task SLURM_LOCALID=$((task % 2)) "$@" >> "${log//%t/$task}" 2>&1
  code=$?
  ((code > worst)) && worst=$code
done
exit $worst
"""
SCONTROL = """#!/usr/bin/env bash
if [ "$1 $2" = "show hostnames" ]; then printf 'first\\nsecond\\n'; else echo "$*" >> requeued; fi
"""
NMT = """#!/usr/bin/env bash
echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK, $MASTER_ADDR:$MASTER_PORT, $*"
exit $((RANK == 1 ? CODE : 0))
"""


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, str]:
    """An environment with commands that play SLURM and `nmt`."""
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("nmt", NMT)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return {
        **os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "SLURM_JOB_ID": "41234", "SLURM_NTASKS": "4", "SLURM_JOB_NODELIST": "node[1-2]",
    }  # fmt: skip


def test_slurm_batch_file_is_valid_shell():
    subprocess.run(["bash", "-n", SBATCH], check=True)


@pytest.mark.parametrize("code", [0, 75, 78])
def test_slurm_batch_file_requeues_only_after_exit_code_75(cluster, tmp_path, code):
    command = [SBATCH, "--preset", "big", "--set", "a=b c"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**cluster, "CODE": str(code)}, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    logs = {path.name: path.read_text() for path in (tmp_path / "logs/41234").iterdir()}
    assert logs == {
        f"rank-{rank}.log": f"rank {rank} of 4, local {rank % 2}, first:21234, "
        "train --preset big --set a=b c\n"
        for rank in range(4)
    }
    queued = tmp_path / "requeued"
    assert (queued.read_text() if queued.exists() else "") == (
        "requeue 41234\n" if code == 75 else ""
    )


def losses(out: Path) -> list[tuple[int, float]]:
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [(record["step"], record["loss"]) for record in records if record["tokens"]]


@pytest.mark.slow
def test_two_nodes_give_the_losses_of_one_process(tmp_path):
    """Two launchers that find each other by address; dropout is on."""
    config, _ = reversal_corpus(tmp_path, train_micro_batch_tokens=75, train_max_steps=6)
    (tmp_path / "nmt.toml").write_text(dump(config))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    nmt = ["-m", "nmt_cli", "train", "--config", str(tmp_path / "nmt.toml"), "--quiet"]
    nmt += ["--corpus", str(tmp_path / "corpus"), "--set", "train.log_every=1", "--out"]
    torchrun = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
        "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--rdzv-id", "7",
        "--local-addr", "127.0.0.1", *nmt, str(tmp_path / "two"),
    ]  # fmt: skip
    nodes = [
        subprocess.Popen(torchrun, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        said = [node.communicate(timeout=200)[1] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    assert [node.returncode for node in nodes] == [0, 0], said
    command = [sys.executable, *nmt, str(tmp_path / "one"), "--gpus", "1"]
    subprocess.run(command, env=environment, check=True, timeout=200)
    single, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert [step for step, _ in single] == [step for step, _ in two] == list(range(1, 7))
    for (_, loss), (_, other) in zip(single, two, strict=True):
        assert loss == pytest.approx(other, rel=1e-5)
