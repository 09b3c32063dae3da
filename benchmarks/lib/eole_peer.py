"""The peer eole: its own command, held between its steps, on the sentences of a prepared corpus."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

from lib.measure import Clock, Json, peak_memory_megabytes
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Pairs

NEVER = 1 << 30
# Of one step, since each is reported: source and target tokens.
REPORT = re.compile(r"Step +\d+/.* bsz: *(\d+)/ *(\d+)/")


def write_project(config: Config, pairs: Pairs, vocab_size: int, folder: Path) -> Path:
    """Ids as words, a vocabulary of ids, and a configuration file (JSON is YAML); its path."""
    with (folder / "src.txt").open("w") as src, (folder / "tgt.txt").open("w") as tgt:
        for number in range(len(pairs)):
            for file, ids in zip((src, tgt), pairs[number], strict=True):
                # Its own end of a sentence is put behind each.
                file.write(" ".join(map(str, ids[:-1])) + "\n")
    (folder / "vocab.txt").write_text("".join(f"{index}\t1\n" for index in range(vocab_size)))
    place = folder / "eole.yaml"
    place.write_text(json.dumps(settings(config, vocab_size, folder)))
    return place


def settings(config: Config, vocab_size: int, folder: Path) -> Json:
    """A model, an optimiser and batches like ours, in eole's words."""
    model, train = config.model, config.train
    return {
        "data": {
            "corpus": {"path_src": str(folder / "src.txt"), "path_tgt": str(folder / "tgt.txt")}
        },
        "src_vocab": str(folder / "vocab.txt"),
        "tgt_vocab": str(folder / "vocab.txt"),
        "src_vocab_size": 2 * vocab_size,
        "tgt_vocab_size": 2 * vocab_size,
        "share_vocab": True,
        "save_data": str(folder / "save"),
        "overwrite": True,
        "report_every": 1,
        "training": {
            "world_size": 0,
            "gpu_ranks": [],
            "num_workers": 0,
            "batch_type": "tokens",
            "batch_size": train.batch_tokens,
            "normalization": "tokens",
            "optim": "adamw",
            "adam_beta2": train.beta2,
            "decay_method": "noam",
            "learning_rate": 1.0,
            "warmup_steps": train.warmup_steps,
            "max_grad_norm": 0,
            "dropout": [model.dropout],
            "attention_dropout": [0.0],
            "label_smoothing": train.label_smoothing,
            "compute_dtype": "bf16" if train.precision == "bf16" else "fp32",
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
            "model_path": str(folder / "model"),
            "log_attention_entropy": False,
        },
        "model": {
            "architecture": "transformer",
            "embeddings": {
                "word_vec_size": model.d_model,
                "position_encoding_type": "SinusoidalInterleaved",
            },
            "hidden_size": model.d_model,
            "layers": model.layers,
            "heads": model.heads,
            "transformer_ff": model.d_ff,
            "mlp_activation_fn": model.activation,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
        },
    }


class EoleLoop:
    """`eole train` in a process of its own, which is stopped while it has no turn."""

    def __init__(self, python: str, configuration: Path) -> None:
        """python: the interpreter of an environment in which eole is installed."""
        program = "from eole.bin.main import main; main()"
        command = [python, "-c", program, "train", "-config", str(configuration)]
        # Its environment has packages of its own.
        variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            cwd=configuration.parent, env=variables,
        )  # fmt: skip
        self.last: list[str] = []

    def steps(self, count: int) -> Json:
        """Let it take so many steps: target tokens, seconds on the wall and of its processor."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        clock, cpu = Clock.now(), self.cpu()
        tokens = sum(self._next_step() for _ in range(count))
        facts = {"tokens": tokens, "wall": clock.since().wall, "cpu": self.cpu() - cpu}
        self.process.send_signal(signal.SIGSTOP)
        return {
            **facts,
            "process_cpu": self.cpu(),
            "megabytes": peak_memory_megabytes(self.process.pid),
        }

    def cpu(self) -> float:
        """Seconds that the process has computed."""
        if self.process.poll() is not None:
            return 0.0
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _next_step(self) -> int:
        """The target tokens of the next step that it reports."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.last = [*self.last[-9:], line]
            found = REPORT.search(line)
            if found:
                return int(found[2])
        raise RuntimeError("eole ended: " + "".join(self.last))
