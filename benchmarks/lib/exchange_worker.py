"""One toolkit in a process of its own, which translates the lines each time it is told to.

    python -m lib.exchange_worker KIND FOLDER SETTINGS

The folder holds `model` (imported by nmt), `foreign` (the original), `ct2` and lines.json. It
tells when it is ready, in a line of JSON, and then obeys lines of JSON on stdin: `beam`, `batch`,
`count`.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lib.measure import Clock, Json, peak_memory_megabytes

ALPHA = 0.6
# The most subwords of a translation. None comes near but those of --tiny, which may not end.
MOST_STEPS = 200
Translate = Callable[[list[str], int, int], list[str]]


def main(arguments: Sequence[str]) -> None:
    """Be the worker `KIND` until stdin ends."""
    kind, folder, settings = arguments[0], Path(arguments[1]), json.loads(arguments[2])
    lines = json.loads((folder / "lines.json").read_text())
    translate = KINDS[kind](folder, settings)
    print(json.dumps({"ready": kind}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        # Every toolkit gets lines of similar length together.
        given = sorted(lines[: order["count"]], key=lambda text: -len(text.split()))
        clock = Clock.now()
        texts = translate(given, order["beam"], order["batch"])
        gone = clock.since()
        answer = {"cpu": gone.cpu, "wall": gone.wall, "megabytes": peak_memory_megabytes()}
        print(json.dumps({**answer, "texts": texts}), flush=True)


def ours(folder: Path, settings: Json) -> Translate:
    """The imported model, as `nmt translate` runs it."""
    import torch

    from nmt_cli.translation.translator import Translator

    torch.set_num_threads(settings["threads"])
    translator = Translator.load(folder / "model")

    def translate(lines: list[str], beam: int, batch: int) -> list[str]:
        del batch  # nmt forms batches by their number of tokens
        found = translator.translate(
            lines,
            beam=beam,
            length_penalty="power",
            alpha=ALPHA,
            sentences="line",
            markup="off",
            max_extra_length=MOST_STEPS,
            max_length=MOST_STEPS,
        )
        return [each.text for each in found]

    return translate


def transformers(folder: Path, settings: Json) -> Translate:
    """The original directory with `generate`."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    torch.set_num_threads(settings["threads"])
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder / "foreign").eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder / "foreign")

    def translate(lines: list[str], beam: int, batch: int) -> list[str]:
        texts: list[str] = []
        for first in range(0, len(lines), batch):
            inputs = tokenizer(lines[first : first + batch], return_tensors="pt", padding=True)
            # As OPUS-MT's models are searched; `never`, which our exports set, takes far longer.
            found = model.generate(
                **inputs, num_beams=beam, do_sample=False, length_penalty=ALPHA,
                early_stopping=False, max_new_tokens=MOST_STEPS,
            )  # fmt: skip
            texts += tokenizer.batch_decode(found, skip_special_tokens=True)
        return texts

    return translate


def ctranslate2(folder: Path, settings: Json) -> Translate:
    """The imported model, exported to CTranslate2."""
    import ctranslate2
    import sentencepiece

    translator = ctranslate2.Translator(
        str(folder / "ct2"), inter_threads=1, intra_threads=settings["threads"]
    )
    source, target = (
        sentencepiece.SentencePieceProcessor(str(folder / "ct2" / f"{side}.spm"))
        for side in ("source", "target")
    )

    def translate(lines: list[str], beam: int, batch: int) -> list[str]:
        found = translator.translate_batch(
            source.encode(lines, out_type=str), beam_size=beam, max_batch_size=batch,
            length_penalty=ALPHA, max_decoding_length=MOST_STEPS,
        )  # fmt: skip
        return [target.decode(result.hypotheses[0]) for result in found]

    return translate


def marian(folder: Path, settings: Json) -> Translate:
    """The original in Marian itself. It takes the beam when it starts: one for each beam."""
    from pymarian import Translator

    model = folder / "foreign"
    loaded: dict[tuple[int, int], Any] = {}

    def translate(lines: list[str], beam: int, batch: int) -> list[str]:
        if (beam, batch) not in loaded:
            loaded[beam, batch] = Translator(
                models=str(model / "model.npz"),
                vocabs=[str(model / f"{side}.spm") for side in ("source", "target")],
                beam_size=beam, normalize=ALPHA, mini_batch=batch, maxi_batch=1,
                cpu_threads=settings["threads"], max_length=MOST_STEPS, quiet=True,
                quiet_translation=True, workspace=1_024,
            )  # fmt: skip
        return list(loaded[beam, batch].translate(lines))

    return translate


KINDS: dict[str, Callable[[Path, Json], Translate]] = {
    "ours": ours, "transformers": transformers, "ctranslate2": ctranslate2, "marian": marian,
}  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
