"""Damaged and hostile files of every format that is imported: a clear error, in little memory.

Whatever the header of a file says, the import ends with an error of nmt, or the damage changed
nothing that matters; nothing is written, and neither memory nor time grow.
"""

import json
import random
import resource
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import safetensors.torch
from damaged_files import DAMAGES
from fairseq_models import make_directory
from marian_models import copied
from opennmt_models import make_checkpoint
from pickles import saved
from test_marian_import import opus_folder
from test_pickled import forked

from nmt_cli.errors import NmtError
from nmt_cli.exchange.import_model import import_model
from nmt_cli.exchange.importer import ImportOptions
from nmt_cli.exchange.pickled import reading
from nmt_cli.model_dir import load_model

OF_ANOTHER_FORMAT = ("config.json", "model.safetensors")
RUBBISH = (b"", b"\0" * 5_000, b"\xff" * 5_000, b"PK\x03\x04", b"{" * 100_000)
DAMAGED, ABSENT, NOT_HELD = 65, 66, 78
# Beyond what the process has. An import of these models takes less than 50 MiB.
SPARE_BYTES = 1 << 30
MOST_CPU_SECONDS = 10.0
# Damaged headers of each format in the slow test. The checkpoints are pickles, and are 1,000.
HEADERS = {"fairseq": 500, "opennmt": 500}


class Foreign(NamedTuple):
    """A model of another toolkit: what to import, and the files that may be damaged."""

    folder: Path
    path: Path
    format_name: str
    options: ImportOptions
    files: tuple[str, ...]


def make_marian(folder: Path, opus: Path) -> Foreign:
    folder = copied(folder / "marian")
    files = ("model.npz", "decoder.yml", "vocab.spm")
    return Foreign(folder, folder, "marian", ImportOptions("en", "xx"), files)


def make_marian_yaml(folder: Path, opus: Path) -> Foreign:
    folder = opus_folder(folder)
    files = ("model.npz", "decoder.yml", "opus.vocab.yml", "source.spm", "target.spm")
    return Foreign(folder, folder, "marian", ImportOptions("en", "xx"), files)


def make_huggingface(folder: Path, opus: Path) -> Foreign:
    folder = Path(shutil.copytree(opus, folder / "opus"))
    files = ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json",
             "model.safetensors", "source.spm", "target.spm")  # fmt: skip
    return Foreign(folder, folder, "huggingface", ImportOptions(), files)


def make_huggingface_pickle(folder: Path, opus: Path) -> Foreign:
    model = make_huggingface(folder, opus)
    weights = model.folder / "model.safetensors"
    content = saved(safetensors.torch.load_file(weights))
    weights.unlink()
    (model.folder / "pytorch_model.bin").write_bytes(content)
    return model._replace(files=("pytorch_model.bin",))


def make_fairseq(folder: Path, opus: Path) -> Foreign:
    make_directory(folder / "fairseq")
    files = ("checkpoint_best.pt", "dict.en.txt", "dict.xx.txt", "spm.model")
    return Foreign(folder / "fairseq", folder / "fairseq", "fairseq", ImportOptions(), files)


def make_opennmt(folder: Path, opus: Path) -> Foreign:
    folder = folder / "opennmt"
    folder.mkdir()
    make_checkpoint(folder / "a.pt")
    options = ImportOptions("en", "xx", (folder / "spm.model",))
    return Foreign(folder, folder / "a.pt", "opennmt", options, ("a.pt", "spm.model"))


MODELS = {
    "marian": make_marian, "marian with YAML": make_marian_yaml, "huggingface": make_huggingface,
    "huggingface as a pickle": make_huggingface_pickle, "fairseq": make_fairseq,
    "opennmt": make_opennmt,
}  # fmt: skip


@pytest.fixture(params=MODELS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path, opus: Path, monkeypatch) -> Foreign:
    # Python is not started for each checkpoint; test_pickled.py does.
    monkeypatch.setattr(reading, "_run", forked)
    return MODELS[request.param](tmp_path, opus)


@contextmanager
def little_memory() -> Iterator[None]:
    """More than SPARE_BYTES cannot be allocated in the block."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + SPARE_BYTES, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def imported(foreign: Foreign) -> int:
    """The exit code of an import, 0 if it succeeds; it leaves nothing behind if it does not."""
    out = foreign.folder.parent / "model"
    before = {path.name for path in out.parent.iterdir()}
    started = time.process_time()
    error = None
    try:
        with little_memory():
            import_model(
                foreign.path, out, format_name=foreign.format_name, options=foreign.options,
                check=False,
            )  # fmt: skip
    except NmtError as raised:
        error = raised
    assert error is None or 0 < len(error.message) < 2_000
    assert time.process_time() - started < MOST_CPU_SECONDS
    if error is None:
        # What comes in can be loaded.
        load_model(out)
        shutil.rmtree(out)
    assert {path.name for path in out.parent.iterdir()} == before
    return error.exit_code if error else 0


def damaged(foreign: Foreign, name: str, content: bytes) -> int:
    """The exit code of an import with another content of one file."""
    path = foreign.folder / name
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        return imported(foreign)
    finally:
        path.write_bytes(before)


def fuzz(foreign: Foreign, count: int, seed: int) -> Counter[int]:
    """The exit codes of imports with one damaged file each."""
    chooser = random.Random(seed)
    codes: Counter[int] = Counter()
    for number in range(count):
        name = foreign.files[number % len(foreign.files)]
        damage = chooser.choice(list(DAMAGES.values()))
        content = (foreign.folder / name).read_bytes()
        codes[damaged(foreign, name, damage(content, chooser))] += 1
    return codes


def test_models_are_imported_before_they_are_damaged(foreign: Foreign) -> None:
    assert imported(foreign) == 0


def test_a_file_under_the_name_of_another_is_refused(foreign: Foreign, opus: Path) -> None:
    """Files of one kind are not exchanged: only a comparison finds the wrong segmenter."""
    others = {name: (foreign.folder / name).read_bytes() for name in foreign.files}
    others |= {str(opus / name): (opus / name).read_bytes() for name in OF_ANOTHER_FORMAT}
    others |= {content[:9].hex(): content for content in RUBBISH}
    for name in foreign.files:
        for other, content in others.items():
            if Path(other).suffix != Path(name).suffix:
                code = damaged(foreign, name, content)
                assert code in (DAMAGED, ABSENT, NOT_HELD), (name, other)


def test_damaged_headers(foreign: Foreign) -> None:
    codes = fuzz(foreign, 12, seed=1)
    assert set(codes) <= {0, DAMAGED, ABSENT, NOT_HELD}
    assert codes[DAMAGED] >= 4


@pytest.mark.slow
def test_many_damaged_headers(foreign: Foreign) -> None:
    """With all formats, 2,000 headers."""
    count = HEADERS.get(foreign.format_name, 250)
    codes = fuzz(foreign, count, seed=2)
    assert sum(codes.values()) == count
    assert set(codes) <= {0, DAMAGED, ABSENT, NOT_HELD}
    assert codes[DAMAGED] > 0.6 * count


LIES = [
    ("config.json", {"vocab_size": 30_000_000}, "at most 6"),
    ("config.json", {"encoder_layers": 1_000, "decoder_layers": 1_000}, "2000 layers"),
    ("generation_config.json", {"bad_words_ids": [[10**15]]}, "no id of its vocabulary"),
    ("generation_config.json", {"bad_words_ids": [["x"]]}, "no id of its vocabulary"),
]


@pytest.mark.parametrize(("name", "values", "message"), LIES)
def test_sizes_of_settings_are_compared_with_the_weights(
    name: str, values: dict, message: str, tmp_path: Path, opus: Path
) -> None:
    foreign = make_huggingface(tmp_path, opus)
    path = foreign.folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    with pytest.raises(NmtError, match=message) as raised, little_memory():
        import_model(foreign.path, tmp_path / "model", check=False)
    assert raised.value.exit_code == DAMAGED
