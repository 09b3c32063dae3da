"""How tests/golden/model-v1 was made; run once for each format, never to make a test pass.

PYTHONPATH=.:tests python tests/golden/make.py
"""

import json
import shutil
import tempfile
from pathlib import Path

from corpora import reversal_corpus

from nmt_cli.training.loop import train
from nmt_cli.translation.translator import Translator

LINES = ("a b c", "h g", "d", "", "e e f a")


def main(out: Path) -> None:
    """Train a model of a few thousand weights and record what it translates."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config, corpus = reversal_corpus(
            folder, pairs=2_000, train_max_steps=400, train_checkpoint_every=100, model_dropout=0.0
        )
        for _ in train(config, corpus, folder / "model"):
            pass
        shutil.rmtree(folder / "model" / "checkpoints")
        for extra in ("log.jsonl", ".lock"):
            (folder / "model" / extra).unlink(missing_ok=True)
        shutil.copytree(folder / "model", out)
    outputs = [
        {"source": translation.source, "text": translation.text, "score": translation.score}
        for translation in Translator.load(out).translate(LINES)
    ]
    (out.parent / f"{out.name}.json").write_text(json.dumps(outputs, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(__file__).resolve().parent / "model-v1")
