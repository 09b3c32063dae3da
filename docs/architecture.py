"""Write the layers and the folders of `nmt_cli` into CONTRIBUTING.md: `make docs`.

The layers are those of the import-linter contract in pyproject.toml, the folders those on the
disk. A folder that `PURPOSES` does not describe is an error, and so is an entry for one that is
gone.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "nmt_cli"
PAGE = "CONTRIBUTING.md"

# What each module or folder of `nmt_cli` is for, in one line.
PURPOSES = {
    "array_types": "types of arrays with their shapes",
    "batch": "batches as streams of tokens with sentence boundaries",
    "errors": "errors that a user can solve, with their exit codes",
    "installation": "what is installed: torch, nmt itself; the command for an optional library",
    "machine": "usable cores, memory limits, settings of the memory allocator",
    "model_dir": "save, load and check a model directory",
    "model_weights": "the safetensors file of a model",
    "parent_watch": "ends a helper process when its parent has ended",
    "plurals": "counts in messages: 1 line, 2 lines",
    "api": "prepare, train, average, load and score: what Python users call",
    "cli": "the command line: parses arguments, calls the library, returns an exit code",
    "cli/commands": "one file for each subcommand; longer ones have a folder beside it",
    "cli/commands/scoring": "nmt score: its texts, checks, worst lines, reports, model scores",
    "cli/commands/translation": "nmt translate: option groups, constraints, documents",
    "cli/display": "what training, translating and verifying show",
    "cli/experiments": "attention, bench, parse and plot: the commands for studying",
    "cli/options": "options: shared ones, and those built from settings",
    "config": "settings: schema, presets, where each value comes from",
    "data": "turns text files into a corpus, and a corpus into batches",
    "data/cleaning": "repairs and filters for noisy pairs",
    "data/cleaning/alignment": "whether the sides of a pair, and the lines of two files, belong together",
    "data/cleaning/held_out": "validation and test text: copies in the training text, their faults",
    "data/cleaning/letters": "damaged letters: encodings, escapes, look-alikes, other scripts",
    "data/cleaning/numbers": "compares the numbers of two sides; marks of items",
    "data/corpus": "the prepared corpus and the plan of its batches",
    "data/languages": "language names, language identification, swapped sides",
    "data/lexical": "glossary, word-translation table, shortlist",
    "data/markup": "finds tags and placeholders in lines; text as words and marks",
    "data/preparation": "nmt prepare",
    "data/sentences": "splits lines into sentences; abbreviations learnt from text",
    "data/subwords": "BPE, unigram and word-piece models; BPE-dropout",
    "data/text": "lines of text files: encodings, compression, splitting",
    "data/text/formats": "recognises TMX, JSON, HTML and other formats of pairs, and how to convert them",
    "data/text/labels": "labels and numbers that begin the lines of a text",
    "data/text/tables": "header rows and columns of tables",
    "documents": "HTML, Markdown, subtitles, .po, XLIFF, Word, JSON, tables: reads segments, writes their translations",
    "documents/html": "HTML pages",
    "documents/markdown": "Markdown",
    "documents/subtitles": "subtitles: cues and their texts",
    "documents/word": "Word documents (.docx)",
    "documents/xliff": "XLIFF 1.2 and 2.x",
    "drawing": "charts and SVG files",
    "exchange": "nmt export, import and info: models for and from other toolkits, compared",
    "exchange/checks": "comparisons with the model in the other toolkit, and checks without it",
    "exchange/formats": "the formats: one folder for each toolkit",
    "exchange/formats/bergamot": "int8 models for the engines in browsers, out",
    "exchange/formats/ctranslate2": "CTranslate2 directories and Argos packages, out",
    "exchange/formats/fairseq": "checkpoints of fairseq and their dictionaries, in",
    "exchange/formats/huggingface": "directories of MarianMTModel and Pegasus, out and in",
    "exchange/formats/marian": "Marian's model.npz, decoder.yml and vocabularies, out and in",
    "exchange/formats/onnx": "graphs for onnxruntime: encoder, decoder, decoder with past",
    "exchange/formats/opennmt": "checkpoints of OpenNMT-py 3, in",
    "exchange/pickled": "files of torch.save, read by a process that runs no code of them",
    "extras": "doctor, nmt init, plots and advice",
    "extras/attention_map": "nmt attention",
    "extras/demo": "nmt demo",
    "extras/demo/grammar": "the grammar that generates the demo's sentence pairs",
    "extras/demo/vocabulary": "the words of the demo",
    "extras/layer_bench": "nmt bench layers: Table 1 of the paper",
    "extras/paper_tables": "Tables 2 and 3 of the paper",
    "extras/tracking": "nmt train --track: experiment trackers; nmt runs: table and curves",
    "extras/parsing": "constituency parsing and its scores",
    "inference": "engines that run a trained model; ensembles, teacher forcing, attention maps",
    "inference/cuda": "decoding steps as CUDA graphs",
    "inference/native": "the engine in C for CPUs",
    "inference/native/packing": "packs weights for the kernels; the cache of packed weights",
    "inference/native/kernels": "its C sources: GEMM, attention, thread pool",
    "inference/native/kernels/amx": "products by AMX tiles",
    "inference/native/search": "a step of beam search in C: its best words, its hypotheses",
    "kernels": "compiles, caches and loads C kernels for CPUs",
    "kernels/sources": "C sources of training: attention, softmax, products; vectors and tiles",
    "inference/packed": "the engine in torch with packed weights, if no C compiler is available",
    "inference/plain": "the engine in NumPy, if neither torch nor a C compiler is available",
    "model": "the Transformer, one file for each part of section 3 of the paper",
    "model/backends": "attention backends: torch's, Triton's for GPUs, C for CPUs",
    "model/native": "parts of a layer in C for training on a CPU: norm, dropout, feed-forward",
    "model/baselines": "the recurrent and the convolutional model",
    "scoring": "BLEU, chrF, TER, the paper's BLEU, quality gates",
    "search": "beam search, sampling, constraints, length penalties",
    "search/arrays": "array operations of a search, in NumPy and in torch",
    "server": "nmt serve: translation over HTTP",
    "server/libretranslate": "the interface of LibreTranslate",
    "server/page": "the page to translate by hand",
    "storage": "writes all files atomically; locks, manifests and checks",
    "terminal": "console, progress bars, line wrapping",
    "training": "the training loop, validation, model selection",
    "training/evaluation": "validation, model selection, divergence",
    "training/execution": "how a run uses its device: threads, memory, compiled steps, prefetching",
    "training/loss": "label-smoothed cross-entropy, R-Drop",
    "training/optimizers": "Adam, Muon, Schedule-Free",
    "training/parallel": "ranks, threads, gradient synchronisation, heartbeats",
    "training/reporting": "log, speed, cost, samples",
    "training/saving": "checkpoints and averages of them",
    "translation": "the Translator: translates lines with a model or an ensemble",
    "translation/callers": "how translators are called: lines, threads, forks, a pivot language",
    "translation/continuous": "one search for several callers: a call joins at the next step",
    "translation/markup": "tags and placeholders: taken out, and put back by word alignment",
    "translation/lines": "splits lines into segments, searches them, joins the translations",
    "translation/quality": "flags of doubtful translations, and a second try",
    "translation/terms": "glossary terms: where they are, whether they are right, their placement",
}


def folders(package: Path) -> list[str]:
    """The folders below `package` that hold files, and its modules, by their paths in it."""
    below = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*"))
        if path.is_dir() and path.name != "__pycache__" and any(path.glob("*.*"))
    ]
    return [path.stem for path in sorted(package.glob("[!_]*.py"))] + below


def layers(pyproject: str) -> str:
    """The contract's layers, the highest first, those of one rank on one line."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    [contract] = [contract for contract in contracts if contract["type"] == "layers"]
    return block([layer.replace(f"{PACKAGE}.", "") for layer in contract["layers"]])


def tree(names: list[str]) -> str:
    """The folder map: each module and folder with its purpose."""
    rows = []
    for name in names:
        shown = "  " * name.count("/") + name.rpartition("/")[2]
        is_folder = (ROOT / PACKAGE / name).is_dir()
        rows.append((shown + ("/" if is_folder else ".py"), PURPOSES[name]))
    width = max(len(shown) for shown, _ in rows) + 2
    lines = [f"{shown:{width}}{purpose}" for shown, purpose in rows]
    return block([f"{PACKAGE}/", *(f"  {line}" for line in lines)])


def block(lines: list[str]) -> str:
    """Lines as a block of plain text."""
    return "".join(f"{line}\n" for line in ["```text", *lines, "```"])


def updated(page: str, pyproject: str, names: list[str]) -> str:
    """`page` with the text between its markers made anew."""
    if wrong := set(PURPOSES) ^ set(names):
        sys.exit(f"docs/architecture.py: PURPOSES does not fit: {', '.join(sorted(wrong))}")
    for marker, text in (("layers", layers(pyproject)), ("folders", tree(names))):
        pattern = rf"(<!-- {marker}: [^\n]* -->\n).*?(<!-- end of {marker} -->)"
        page, count = re.subn(pattern, lambda m, t=text: m[1] + t + m[2], page, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"docs/architecture.py: {PAGE} lacks the markers of `{marker}`")
    return page


def current() -> str:
    """CONTRIBUTING.md as it should be."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return updated(page, pyproject, folders(ROOT / PACKAGE))


def main() -> None:
    """Write CONTRIBUTING.md."""
    (ROOT / PAGE).write_text(current(), encoding="utf-8")


if __name__ == "__main__":
    main()
