"""A model that Marian trains on generated lines, with its translations and scores of words.

`python tests/exchange/marian_recipe.py` makes tests/exchange/data/marian again; it needs pymarian
and sentencepiece. Each training starts a process: Marian ends its process when it meets an error.
"""

import io
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data/marian"
WORDS = ["bado", "kelim", "nosu", "tirap", "wolce", "fad", "jum", "eri", "osk", "upa"]
SWAPPED = str.maketrans("aeiou", "eioua")
TIES = {
    "all": "--tied-embeddings-all", "target": "--tied-embeddings", "src": "--tied-embeddings-src",
    "none": "",
}  # fmt: skip
TRAIN = "import sys; from pymarian import Trainer; Trainer(sys.argv[1]).train()"
TRANSLATE = """
import json, sys
from pymarian import Translator
translator = Translator(sys.argv[1])
json.dump([translator.translate([line]) for line in json.load(sys.stdin)], open(sys.argv[2], "w"))
"""
# As decoder.yml has them.
BEAM, NORMALIZE = 4, 0.8
# Marian cuts translations off at this many words for each of the source.
LENGTH_FACTOR = 4


def source_lines(count: int, seed: int) -> list[str]:
    """Lines of words that have no meaning."""
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(WORDS, k=chooser.randint(1, 8))) + "." for _ in range(count)]


def translation(line: str) -> str:
    """The same words with other vowels."""
    return line.translate(SWAPPED)


def segmenter(lines: list[str], size: int = 60) -> bytes:
    """A sentencepiece file with the special ids that Marian trains it with."""
    import sentencepiece

    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=content, vocab_size=size, num_threads=1,
        hard_vocab_limit=False, minloglevel=4, bos_id=-1, eos_id=0, unk_id=1, pad_id=-1,
        normalization_rule_name="identity",
    )  # fmt: skip
    return content.getvalue()


def _run(folder: Path, program: str, *arguments: str, text: str = "") -> None:
    subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, check=True, input=text, text=True,
        capture_output=True,
    )  # fmt: skip


def train(
    folder: Path, *, ties: str = "all", joint: bool = True, batches: int = 600, options: str = ""
) -> None:
    """Write model.npz, its vocabularies and decoder.yml."""
    lines = source_lines(2_000, seed=1)
    targets = [translation(line) for line in lines]
    vocabularies = ["vocab.spm", "vocab.spm"]
    if joint:
        (folder / "vocab.spm").write_bytes(segmenter(lines + targets))
    else:
        vocabularies = ["source.spm", "target.spm"]
        (folder / "source.spm").write_bytes(segmenter(lines, 40))
        (folder / "target.spm").write_bytes(segmenter(targets, 34))
    (folder / "train.src").write_text("".join(f"{line}\n" for line in lines))
    (folder / "train.tgt").write_text("".join(f"{line}\n" for line in targets))
    _run(
        folder, TRAIN,
        f"--type transformer --model model.npz --train-sets train.src train.tgt --vocabs "
        f"{' '.join(vocabularies)} --dim-vocabs 0 0 --dim-emb 32 --transformer-dim-ffn 64 "
        f"--transformer-heads 4 --enc-depth 2 --dec-depth 1 {TIES[ties]} --mini-batch 32 "
        f"--maxi-batch 10 --after-batches {batches} --learn-rate 0.005 --transformer-dropout 0 "
        f"--cpu-threads 1 --seed 3 --workspace 200 --quiet {options}",
    )  # fmt: skip
    (folder / "decoder.yml").write_text(
        "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n"
        + "".join(f"  - {name}\n" for name in vocabularies)
        + f"beam-size: {BEAM}\nnormalize: {NORMALIZE}\nword-penalty: 0\nmini-batch: 16\n"
    )


def marian_translations(folder: Path, lines: list[str]) -> list[dict[str, object]]:
    """What Marian itself writes, greedily and with the settings of decoder.yml."""
    vocabularies = " ".join(re.findall(r"- (\S+\.spm)", (folder / "decoder.yml").read_text()))
    common = (
        f"--models model.npz --vocabs {vocabularies} --cpu-threads 1 --mini-batch 1 --maxi-batch 1 "
        f"--workspace 200 --quiet --max-length-factor {LENGTH_FACTOR} "
    )
    runs = {
        "greedy": "--beam-size 1 --n-best --word-scores",
        "beam": f"--beam-size {BEAM} --normalize {NORMALIZE}",
    }
    outputs = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, options in runs.items():
            file = Path(temporary, name)
            _run(folder, TRANSLATE, common + options, str(file), text=json.dumps(lines))
            outputs[name] = [output for [output] in json.loads(file.read_text())]
    result: list[dict[str, object]] = []
    for line, greedy, beam in zip(lines, outputs["greedy"], outputs["beam"], strict=True):
        _, text, scores, *_ = greedy.split(" ||| ")
        words = [float(score) for score in scores.removeprefix("WordScores= ").split()]
        result.append({"source": line, "greedy": text, "word_scores": words, "beam": beam})
    return result


def main() -> None:
    """Make the recorded data."""
    from importlib.metadata import version

    DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        train(folder)
        lines = [*source_lines(38, seed=2), "bado xyz jum.", "upa kelim " * 9 + "osk."]
        document = {
            "peer": f"pymarian {version('pymarian')}",
            "translations": marian_translations(folder, lines),
        }
        for name in ("model.npz", "vocab.spm", "decoder.yml"):
            (DATA / name).write_bytes((folder / name).read_bytes())
    (DATA / "translations.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
