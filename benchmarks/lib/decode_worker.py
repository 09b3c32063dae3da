"""One translator in a process of its own, which translates the sentences each time it is told to.

    python -m lib.decode_worker KIND FOLDER SETTINGS

The folder holds config.json, weights.safetensors, ct2/ and sources.json, and for a trained model
names.json, the names of the ids in ct2/. It tells when it is ready, in a line of JSON, and then
obeys lines of JSON on stdin: `beam`, `batch`, `sentences`, and `seconds`, for which it translates
these sentences again and again, but at least once.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lib.measure import Clock, Json, peak_memory_megabytes
from lib.vocabulary import EOS, token_name

ALPHA = 0.6
MOST_STEPS = 128
Ids = list[list[int]]
Translate = Callable[[Ids, int, int], Ids]


def main(arguments: Sequence[str]) -> None:
    """Be the worker `KIND` until stdin ends."""
    kind, folder, settings = arguments[0], Path(arguments[1]), json.loads(arguments[2])
    sources: Ids = json.loads((folder / "sources.json").read_text())
    translate = KINDS[kind](folder, settings)
    tell({"ready": kind})
    for line in sys.stdin:
        order = json.loads(line)
        chosen = [sources[number] for number in order["sentences"]]
        clock = Clock.now()
        outputs: Ids = []
        turns, gone = 0, clock.since()
        while not turns or gone.wall < order["seconds"]:
            outputs = translate(chosen, order["beam"], order["batch"])
            turns, gone = turns + 1, clock.since()
        tell(
            {
                "tokens": sum(map(len, outputs)) * turns,
                "cpu": gone.cpu,
                "wall": gone.wall,
                "megabytes": peak_memory_megabytes(),
                "outputs": outputs,
            }
        )


def tell(facts: Json) -> None:
    """One line for the parent."""
    print(json.dumps(facts), flush=True)


def planted(folder: Path) -> Any:
    """The model that all of them run."""
    from lib.settings import make_config
    from nmt_cli.model_weights import load_weights, open_weights

    config = make_config(json.loads((folder / "config.json").read_text()))
    with open_weights(folder / "weights.safetensors") as weights:
        model, _ = load_weights(weights, config)
    return model.requires_grad_(False).eval()


def engine_of(folder: Path, cache: Path | None, precision: str) -> Any:
    """The engine that `nmt translate` chooses, with packed weights of the cache, or new ones."""
    from lib.settings import make_config
    from nmt_cli.inference.engines import fastest_engine, kernels_of, packed_weights_engine
    from nmt_cli.inference.native.packing.packed_cache import PackedCache
    from nmt_cli.inference.native.packing.packed_weights import PackedWeights
    from nmt_cli.inference.weights import TransformerArrays
    from nmt_cli.model_weights import LazyWeights, open_weights
    from nmt_cli.storage.files import sha256_of

    kernels, _ = kernels_of(cache, precision)
    if kernels is None or cache is None:
        return fastest_engine(planted(folder), None, precision)
    config = make_config(json.loads((folder / "config.json").read_text()))
    path, packed = folder / "weights.safetensors", PackedCache(cache, kernels.precision)
    digest = sha256_of(path)
    packed.begin(digest)
    weights = packed.weights(config.model)
    if weights is None:
        with open_weights(path) as file:
            lazy = LazyWeights(file, config)
        arrays = TransformerArrays(config.model, lazy, consumes=True)
        weights = PackedWeights.of(arrays, kernels.library, kernels.precision)
        weights = packed.keep(digest, weights)
    return packed_weights_engine(weights, kernels, packed.notice)


def ours(folder: Path, settings: Json) -> Translate:
    """The engine that `nmt translate` chooses, with its search."""
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.machine import give_back_freed_memory
    from nmt_cli.search.beam import search
    from nmt_cli.search.decoder import Source

    give_back_freed_memory()
    os.environ["OMP_NUM_THREADS"] = str(settings["threads"])
    cache = Path(settings["cache"]) if settings["kernels"] else None
    engine = engine_of(folder, cache, settings["precision"])
    print(engine.about, file=sys.stderr)

    def translate(sources: Ids, beam: int, batch: int) -> Ids:
        config = SearchConfig(
            beam=beam, alpha=ALPHA, length_penalty="power", max_extra_length=MOST_STEPS,
            max_length=MOST_STEPS, patience=settings["patience"],
            batch_tokens=beam * batch * max(map(len, sources)),
        )  # fmt: skip
        outputs = []
        for first in range(0, len(sources), batch):
            given = sorted(sources[first : first + batch], key=len, reverse=True)
            decoder = engine.decoder(len(given), beam)
            found = dict(search(decoder, iter([Source(ids) for ids in given]), config))
            best = {tuple(ids): found[index][0] for index, ids in enumerate(given)}
            outputs += [list(best[tuple(source)].ids) for source in sources[first : first + batch]]
        return outputs

    return translate


def ctranslate2(folder: Path, settings: Json) -> Translate:
    """CTranslate2 with the same weights."""
    import ctranslate2

    # No torch in this process: its memory would count as CTranslate2's.
    settings_of_model = json.loads((folder / "config.json").read_text())
    kinds = {"float32": "float32", "split": "float32", "bf16": "bfloat16", "int8": "int8"}
    translator = ctranslate2.Translator(
        str(folder / "ct2"), compute_type=kinds[settings["precision"]], inter_threads=1,
        intra_threads=settings["threads"],
    )  # fmt: skip
    if (folder / "names.json").exists():
        # This model's CTranslate2 form adds EOS to sources itself.
        names, end = json.loads((folder / "names.json").read_text()), -1
    else:
        size = settings_of_model["model.tgt_vocab_size"]
        names, end = {side: [*map(token_name, range(size))] for side in ("src", "tgt")}, None
    numbers = {name: number for number, name in enumerate(names["tgt"])}

    def translate(sources: Ids, beam: int, batch: int) -> Ids:
        tokens = [[names["src"][number] for number in source[:end]] for source in sources]
        found = translator.translate_batch(
            tokens, beam_size=beam, max_batch_size=batch, length_penalty=ALPHA,
            max_decoding_length=MOST_STEPS, patience=settings["patience"] or 1,
        )  # fmt: skip
        return [[numbers[name] for name in result.hypotheses[0]] + [EOS] for result in found]

    return translate


def transformers(folder: Path, settings: Json) -> Translate:
    """Hugging Face's generate."""
    import torch

    from lib.decode_peers import marian_weights
    from lib.peers import make_marian
    from lib.settings import make_config

    torch.set_num_threads(settings["threads"])
    config = make_config(json.loads((folder / "config.json").read_text()))
    model = make_marian(config).eval()
    missing = model.load_state_dict(marian_weights(planted(folder)), strict=False)
    assert not missing.unexpected_keys, missing.unexpected_keys

    def translate(sources: Ids, beam: int, batch: int) -> Ids:
        outputs = []
        for first in range(0, len(sources), batch):
            given = sources[first : first + batch]
            longest = max(map(len, given))
            pad, eos = config.model.pad_id, config.model.eos_id
            ids = torch.tensor([ids + [pad] * (longest - len(ids)) for ids in given])
            found = model.generate(
                input_ids=ids, attention_mask=(ids != pad).long(), num_beams=beam, do_sample=False,
                length_penalty=ALPHA, max_new_tokens=longest + MOST_STEPS,
            )  # fmt: skip
            outputs += [
                row[: row.index(eos) + 1] if eos in row else row for row in found[:, 1:].tolist()
            ]
        return outputs

    return translate


KINDS: dict[str, Callable[[Path, Json], Translate]] = {
    "ours": ours, "ctranslate2": ctranslate2, "ctranslate2-avx512": ctranslate2,
    "transformers": transformers,
}  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1:])
