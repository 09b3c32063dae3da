"""Models from strangers: each attack is refused with its reason, and nothing of it is run."""

import ast
import os
import pickle
import random
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from byte_models import byte_config, byte_model
from faults.support.attacks import (
    WEIGHTS,
    Outcome,
    archives,
    make_model_directory,
    make_piece_model,
    pickle_bombs,
    watched,
    with_file,
)
from faults.tally import ROOT, fault

from nmt_cli import model_dir, model_weights
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.model_dir import load_config, load_model, load_subwords, refresh_weights
from nmt_cli.storage import manifest
from nmt_cli.terminal.console import escaped
from nmt_cli.training.saving.average import average

Checks = Callable[..., None]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model_directory(tmp_path_factory.mktemp("models") / "model")


def refused(path: Path, codes: tuple[int, ...] = (65, 78)) -> Outcome:
    """The outcome of loading `path`, which has to be a plain refusal."""
    outcome = watched(lambda: load_model(path))
    assert outcome.code in codes, outcome
    assert outcome.seen == []
    assert outcome.grown < 300 << 20
    return outcome


def test_audit_hook_sees_forbidden_operations(tmp_path: Path, model: Path) -> None:
    harmless = watched(lambda: load_model(model))
    assert (harmless.code, harmless.seen) == (0, [])
    bomb = pickle_bombs(tmp_path / "mark")["exec"]
    assert watched(lambda: pickle.loads(bomb)).seen
    assert (tmp_path / "mark").exists()
    assert watched(lambda: (tmp_path / "x").write_text("x")).seen
    assert watched(lambda: 1 / 0).code == 1


@fault("U1")
def test_pickle_in_place_of_a_model_is_never_loaded(tmp_path: Path, checks: Checks) -> None:
    mark = tmp_path / "mark"
    for index, (name, data) in enumerate(pickle_bombs(mark).items()):
        (tmp_path / f"{index}.pt").write_bytes(data)
        outcome = refused(tmp_path / f"{index}.pt", (78,))
        assert not mark.exists(), name
        assert "pickle" in outcome.text or name == "oldest protocol"
        checks()


@fault("U1")
def test_pickle_in_place_of_a_model_file_is_never_loaded(
    tmp_path: Path, model: Path, checks: Checks
) -> None:
    mark = tmp_path / "mark"
    names = ("model.safetensors", "config.toml", "subwords/vocabulary.json", "manifest.json")
    for index, (gadget, data) in enumerate(pickle_bombs(mark).items()):
        for two, name in enumerate(names):
            refused(with_file(model, tmp_path / f"{index}-{two}", name, data))
            assert not mark.exists(), (gadget, name)
            checks()


BANNED_CALLS = {
    "eval", "exec", "compile", "__import__", "unpack_archive", "load_state_dict_from_url",
    "torch.load", "numpy.load", "np.load", "pickle.load", "pickle.loads", "marshal.loads",
}  # fmt: skip
BANNED_MODULES = {
    "pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "yaml", "tarfile", "zipfile",
    "runpy", "urllib", "http", "requests", "ftplib", "code", "xml",
}  # fmt: skip
# Word documents, which are checked before they are unpacked into memory, and what nmt itself packs.
ALLOWED_MODULES = {
    # Reports are written, never read.
    "cli/commands/scoring/junit.py": {"xml"},
    "documents/word/package.py": {"zipfile"},
    "data/text/formats/word_documents.py": {"zipfile", "xml"},
    # Expat opens no other file, and limits how far entities expand, which is tested.
    "data/text/formats/tmx.py": {"xml"},
    # The parser alone, which refuses document types.
    "documents/xliff/elements.py": {"xml"},
    "exchange/formats/ctranslate2/argos.py": {"zipfile"},
    "exchange/formats/marian/npz.py": {"zipfile"},
    "exchange/pickled/child.py": {"zipfile"},
    # urllib.parse, which opens no connection.
    "installation.py": {"urllib"},
    "server/app.py": {"urllib"},
    "server/libretranslate/forms.py": {"urllib"},
    "server/libretranslate/handlers.py": {"urllib"},
    "server/libretranslate/translated_files.py": {"urllib"},
    # With the safe loader only.
    "exchange/formats/marian/yaml_files.py": {"yaml"},
}
# What reads checkpoints of other toolkits for `nmt import`, in a process of its own: any class
# other than those of tensors and argparse.Namespace is an error there.
ALLOWED_CALLS = {
    "exchange/pickled/child.py": ["torch.load(file, map_location='cpu', weights_only=True)"],
}


@fault("U1", "U6")
def test_no_module_can_unpickle_unpack_or_download() -> None:
    """`runpy`, `eval` and the like are what turns data into code."""
    for path in sorted((ROOT / "nmt_cli").rglob("*.py")):
        name = path.relative_to(ROOT / "nmt_cli").as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                result = {alias.name.split(".")[0] for alias in node.names} & BANNED_MODULES
                assert result <= ALLOWED_MODULES.get(name, set()), (path, result)
            elif isinstance(node, ast.ImportFrom):
                result = {str(node.module).split(".")[0]} & BANNED_MODULES
                assert result <= ALLOWED_MODULES.get(name, set()), (path, result)
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in BANNED_CALLS:
                assert ast.unparse(node) in ALLOWED_CALLS.get(name, []), (path, node.lineno)


@fault("U2", "U3")
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_with_false_header_are_refused(tmp_path: Path, model: Path, name: str) -> None:
    """Among them 40 GB in a file of some bytes, by a tensor that repeats itself."""
    path = with_file(model, tmp_path / "copy", "model.safetensors", WEIGHTS[name])
    outcome = refused(path, (65,))
    assert "is damaged" in outcome.text


@fault("U3")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("shape", "`output_bias` is F32 [7], not F32 [260]"),
        ("type", "`output_bias` is F16 [260], not F32 [260]"),
        ("missing", "`output_bias` is missing"),
        ("unknown", "`\x1b[31mextra` is not known"),
    ],
)
def test_weights_of_another_model_are_refused(
    tmp_path: Path, model: Path, kind: str, reason: str
) -> None:
    tensors = safetensors.torch.load_file(model / "model.safetensors")
    bias = tensors["output_bias"]
    if kind == "missing":
        del tensors["output_bias"]
    elif kind == "unknown":
        tensors["\x1b[31mextra"] = bias.clone()
    else:
        tensors["output_bias"] = bias[:7].clone() if kind == "shape" else bias.half()
    data = safetensors.torch.save(tensors)
    outcome = refused(with_file(model, tmp_path / "copy", "model.safetensors", data), (78,))
    assert reason in outcome.text
    assert "does not fit its settings" in outcome.text


@pytest.mark.slow
@fault("U4")
def test_a_mutated_sentencepiece_model_is_refused_before_it_is_parsed(
    tmp_path: Path, checks: Checks
) -> None:
    path = make_piece_model(tmp_path / "model")
    spm = path / "subwords" / "source.spm"
    whole, chance = spm.read_bytes(), random.Random(4)
    for _ in range(1_000):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        spm.write_bytes(data)
        with pytest.raises(DataError, match=r"source\.spm. is damaged: its SHA-256"):
            load_subwords(path)
        checks()


@pytest.mark.slow
@fault("U4")
def test_mutated_sentencepiece_model_with_valid_manifest_is_harmless(
    tmp_path: Path, checks: Checks
) -> None:
    """It is refused, or it is a segmenter; the process that reads it lives on."""
    spm = make_piece_model(tmp_path / "model") / "subwords" / "source.spm"
    whole = spm.read_bytes()

    def try_some(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(50):
            data = bytearray(whole)
            for _ in range(chance.choice((1, 1, 3, 30))):
                data[chance.randrange(len(data))] = chance.randrange(256)
            del data[chance.choice((len(data), chance.randrange(len(data)))) :]
            manifest.add_to_manifest(tmp_path / "model", "subwords/source.spm", bytes(data))
            try:
                subwords = load_subwords(tmp_path / "model")
            except NmtError:
                continue
            ids = subwords.encode_source(["hello world", "äöü", ""])
            assert all(0 <= token < subwords.src_size for line in ids for token in line)
            assert all("\n" not in line for line in subwords.decode_target(ids))

    for seed in range(4):
        # Mutants are written into the model by the child: the watch is for the parent's life.
        outcome = watched(lambda seed=seed: try_some(seed))
        assert (outcome.code, outcome.text) == (0, "")
        checks(50)


HUGE = [
    ("d_model = 16", "d_model = 1000000000"), ("layers = 1", "layers = 1000000"),
    ("heads = 2", "heads = 1000000000"), ("d_ff = 16", "d_ff = 99999999999999999999"),
    ("max_positions = 1024", "max_positions = 10000000000"), ("d_ff = 16", "d_ff = " + "9" * 5_000),
    ("layers = 1", "layers = 1000"), ("layers = 1", "layers = -1"), ("layers = 1", "layers = 0"),
    ("d_model = 16", "d_model = 17"),
    ("heads = 2", "heads = 3"), ("dropout = 0.0", "dropout = nan"),
    ("dropout = 0.0", "dropout = 1e999"), ("norm_epsilon = 1e-06", "norm_epsilon = -inf"),
    ("src_vocab_size = 260", "src_vocab_size = 16777217"), ("eos_id = 3", "eos_id = 1000"),
    ("pad_id = 0", "pad_id = -1"), ("beam = 2", "beam = 1000000"),
    ("start_id = \"auto\"", "start_id = 100000"),
    ("banned_ids = [\n    0,", "banned_ids = [\n    9999,"),
]  # fmt: skip
WRONG_TYPES = [
    ("layers = 1", 'layers = "!!python/object/apply:os.system [id]"'),
    ("layers = 1", "layers = true"),
    ("layers = 1", "layers = 1.0"), ("layers = 1", "layers = [1]"), ("layers = 1", "layers = {}"),
    ("layers = 1", "layers = 1979-05-27"), ('kind = "transformer"', 'kind = "__import__(\'os\')"'),
    ('positions = "sinusoidal"', 'positions = "../../etc/passwd"'),
    ('activation = "relu"', 'activation = "torch.hub.load"'), ('preset = "base"', 'preset = "x"'),
    ("format = 1", "format = 2"), ("format = 1", 'format = "1"'),
    ("[model]", "[model]\n__class__ = 1"), ("[model]", "[model]\n\"d_model\\u0000\" = 1"),
    ("[model]", "[extra]\nx = 1\n[model]"), ("[model]", "[[model]]"), ("[model]", "[model.model]"),
    ('src = "src"', 'src = "a\\u0000b"'), ("[model]", "a" + ".a" * 200_000 + " = 1\n[model]"),
    ("[model]", "[model]\nx = " + "[" * 200_000), ("[model]", "[model]\nx = " + "{a=" * 50_000),
    ("[model]", "".join(f"k{n} = 1\n" for n in range(30_000)) + "[model]"),
    ("[model]", "# " + "x" * (1 << 20) + "\n[model]"), ("format = 1", "format = 1\n\ufeff"),
]  # fmt: skip


@fault("U5")
@pytest.mark.timeout(60)
def test_model_settings_with_huge_or_wrong_values_are_refused(
    tmp_path: Path, model: Path, checks: Checks
) -> None:
    text = (model / "config.toml").read_text()
    for index, (old, new) in enumerate([*HUGE, *WRONG_TYPES]):
        assert old in text, old
        data = text.replace(old, new, 1).encode()
        path = with_file(model, tmp_path / f"{index}", "config.toml", data)
        outcome = refused(path)
        assert len(outcome.text) < 10_000
        checks()


@fault("U5")
@pytest.mark.timeout(60)
def test_model_too_large_for_memory_is_refused_before_allocation(
    tmp_path: Path, model: Path
) -> None:
    text = (model / "config.toml").read_text()
    for old, new in (("d_model = 16", "d_model = 65536"), ("d_ff = 16", "d_ff = 1048576")):
        assert old in text
        text = text.replace(old, new)
    path = with_file(model, tmp_path / "copy", "config.toml", text.encode())
    assert "too small for an embedding" in refused(path, (78,)).text


@fault("U6")
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_are_not_unpacked(tmp_path: Path, checks: Checks) -> None:
    for path in archives(tmp_path / "archives"):
        before = sorted(path.parent.iterdir())
        assert "is not a model directory" in refused(path, (78,)).text
        outcome = watched(lambda path=path: Corpus.open(path))
        assert (outcome.code, outcome.seen) == (66, [])
        assert sorted(path.parent.iterdir()) == before
        assert list(tmp_path.iterdir()) == [path.parent]
        checks()


@fault("U6")
@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "subwords/../../outside", ".."])
def test_manifest_with_paths_outside_is_refused(tmp_path: Path, model: Path, name: str) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "outside").write_text("x")
    text = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(text.replace('"config.toml"', f'"{name}"', 1))
    with pytest.raises(DataError, match="outside its directory"):
        manifest.check_manifest(copy)
    refused(copy)


@fault("U8")
@pytest.mark.timeout(60)
def test_model_path_that_is_a_fifo_or_link_loop_does_not_block(
    tmp_path: Path, model: Path, checks: Checks
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "loop", tmp_path / "fifo", Path("/dev/zero"), Path("/proc/self/mem"),
                 Path("/proc/self/fd"), Path("/dev/null"), Path("/")):  # fmt: skip
        refused(path, (66, 78))
        checks()
    names = ("model.safetensors", "config.toml", "manifest.json", "subwords/vocabulary.json")
    targets = (None, "/dev/zero", "/proc/self/mem", "/dev/stdin", "/")
    for index, name in enumerate(names):
        for two, target in enumerate(targets):
            copy = shutil.copytree(model, tmp_path / f"{index}-{two}")
            (copy / name).unlink()
            if target is None:
                os.mkfifo(copy / name)
            else:
                (copy / name).symlink_to(target)
            refused(copy, (65, 66, 78))
            checks()


NAMES = [
    "../../../etc", "a\nb", "\x1b[31mred\x1b[0m", "[/bold]", "[link=http://x]y", "x" * 300,
    "\u202egnp.exe", "\udcff", "-rf", "%s%n", "{0.__class__}", "$(id)", "`id`", "~root", ":smile:",
]  # fmt: skip


@fault("U9", "U11")
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_hostile_model_names_are_shown_escaped(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from nmt_cli.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["score", "--model", name, "--pairs", "a", "b"]) == 66
    Path("a").write_text("x\n")
    assert main(["score", "--model", name, "--pairs", "a", "a"]) in (66, 78)
    shown = capsys.readouterr().err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "bug" not in shown
    assert escaped(str(Path(name))).replace("\n", "\\n") in shown


@fault("U9")
@pytest.mark.parametrize("key", ["paths.model", "paths.corpus", "languages.src", "data.valid"])
def test_path_with_nul_is_refused(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from nmt_cli.cli import main

    monkeypatch.chdir(tmp_path)
    section, name = key.split(".")
    value = '["a", "b\\u0000"]' if key == "data.valid" else '"b\\u0000"'
    Path("nmt.toml").write_text(f"[{section}]\n{name} = {value}\n")
    assert main(["train"]) == 78
    assert "the character NUL" in capsys.readouterr().err


@fault("U9")
def test_a_manifest_with_a_name_too_long_is_refused(tmp_path: Path, model: Path) -> None:
    """Found by the fuzzer: no system even looks for such a file."""
    copy = shutil.copytree(model, tmp_path / "copy")
    text = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(text.replace('"subwords/', '"' + "s" * 5_000 + "/", 1))
    with pytest.raises(DataError, match="is damaged"):
        manifest.check_manifest(copy)


@fault("U5")
@pytest.mark.parametrize("value", ["Infinity", "NaN", "-1", "1e30", '"3"', "[3]", "null", "{}"])
def test_invalid_special_ids_are_refused(tmp_path: Path, model: Path, value: str) -> None:
    """Found by the fuzzer."""
    text = (model / "subwords" / "vocabulary.json").read_text()
    assert '"eos": 3' in text
    data = text.replace('"eos": 3', f'"eos": {value}').encode()
    outcome = refused(with_file(model, tmp_path / "copy", "subwords/vocabulary.json", data), (65,))
    assert "is not a vocabulary" in outcome.text


# -- what is checked is what is read ---------------------------------------------------------------


def swapped_in(path: Path, data: bytes) -> None:
    """Another file takes the place, at once."""
    path.with_name("new").write_bytes(data)
    path.with_name("new").replace(path)


@fault("U10")
def test_settings_swapped_after_the_check_are_not_used(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    wanted = load_config(copy)
    real = manifest._check_content

    def check(path: Path, *rest: object) -> None:
        real(path, *rest)
        swapped_in(path, path.read_bytes().replace(b"beam = 2", b"beam = 9"))

    monkeypatch.setattr(manifest, "_check_content", check)
    assert load_config(copy) == wanted
    assert b"beam = 9" in (copy / "config.toml").read_bytes()


@fault("U10")
def test_subwords_swapped_after_the_check_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_piece_model(tmp_path / "model")
    wanted = load_subwords(path).encode_source(["abcde"])
    real, swapped = manifest._check_content, []

    def check(path: Path, *rest: object) -> None:
        real(path, *rest)
        if path.parent.name == "subwords":
            swapped.append(path.name)
            swapped_in(path, b"swapped")

    monkeypatch.setattr(manifest, "_check_content", check)
    assert load_subwords(path).encode_source(["abcde"]) == wanted
    assert set(swapped) == {"source.spm", "vocabulary.json"}


@fault("U10")
def test_weights_swapped_before_they_are_read_are_not_used(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash is that of the good file, which is open; under its name there is another."""
    copy = shutil.copytree(model, tmp_path / "copy")
    other = byte_model(byte_config(), 2).state_dict()
    real = model_weights.read_weights

    def load(*arguments: object, **named: object) -> object:
        swapped_in(copy / "model.safetensors", model_weights.weight_bytes(other, {}))
        return real(*arguments, **named)

    monkeypatch.setattr(model_dir, "read_weights", load)
    bias = load_model(copy).model.state_dict()["output_bias"]
    assert bias.equal(byte_model(byte_config(), 1).state_dict()["output_bias"])


@fault("U10")
def test_weights_overwritten_while_being_read_are_not_used(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, and with the time of the change put back: the kernel keeps another."""
    copy = shutil.copytree(model, tmp_path / "copy")
    weights = copy / "model.safetensors"
    bad = model_weights.weight_bytes(byte_model(byte_config(), 2).state_dict(), {"step": "7"})
    good, facts = weights.read_bytes(), weights.stat()
    assert len(bad) == len(good)
    real, tries = model_weights.read_weights, []

    def load(*arguments: object, **named: object) -> object:
        # First the thread that hashes is let through.
        checked.wait()
        tries.append(1)
        if len(tries) == 1:
            weights.write_bytes(bad)
            os.utime(weights, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        result = real(*arguments, **named)
        weights.write_bytes(good)
        return result

    checked = threading.Event()
    check = manifest.check_open_file

    def checking(*arguments: object) -> None:
        try:
            return check(*arguments)
        finally:
            checked.set()

    monkeypatch.setattr(manifest, "check_open_file", checking)
    monkeypatch.setattr(model_dir, "read_weights", load)
    monkeypatch.setattr(model_dir, "ATTEMPTS", 1)
    monkeypatch.setattr(model_dir, "MAX_RETRY_SECONDS", 0.0)
    with pytest.raises(DataError, match="is written to all the time"):
        load_model(copy)


# -- text in models -------------------------------------------------------------------------------

POISON = "\x1b]0;pwned\x07\x1b[31m[/bold][link=http://x]y[/link] {0} %s \u202e"


@fault("U11")
def test_text_in_a_model_cannot_send_terminal_escapes(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, checks: Checks,
) -> None:  # fmt: skip
    from nmt_cli.cli import main

    monkeypatch.chdir(tmp_path)
    tensors = safetensors.torch.load_file(model / "model.safetensors")
    toml = (model / "config.toml").read_text()
    poison = "".join(f"\\u{ord(character):04x}" for character in POISON)
    files = {
        "model.safetensors": safetensors.torch.save({**tensors, POISON: torch.zeros(3)}),
        "config.toml": toml.replace('preset = "base"', f'preset = "{poison}"').encode(),
        "manifest.json": b'{"format": 1, "files": {}}',
        "subwords/vocabulary.json": b'{"format": 1, "kind": "' + poison.encode() + b'"}',
    }  # fmt: skip
    Path("a").write_text("x\n")
    for index, (name, data) in enumerate(files.items()):
        copy = with_file(model, tmp_path / f"{index}", name, data)
        assert main(["score", "--model", str(copy), "--pairs", "a", "a"]) in (65, 66, 78)
        checks()
    metadata = {"step": POISON, "validation": POISON, POISON: POISON}
    weights = byte_model(byte_config()).state_dict()
    copy = shutil.copytree(model, tmp_path / "card")
    refresh_weights(copy, weights, metadata)
    named = toml.replace('src = "src"', f'src = "{poison}"').replace(
        'tgt = "tgt"', f'tgt = "{poison}"'
    )
    manifest.add_to_manifest(copy, "config.toml", named.encode())
    assert main(["translate", "a", "--model", str(copy)]) == 0
    assert main(["doctor", "--config", str(copy / "config.toml")]) in (0, 1, 2)
    assert main(["config", "show", "--config", str(copy / "config.toml")]) in (0, 78)
    checks(3)
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\u202e" not in err


def test_an_average_reads_no_pickle(tmp_path: Path, model: Path) -> None:
    bad = with_file(model, tmp_path / "copy", "model.safetensors", b"\x80\x04.")
    with pytest.raises((DataError, ConfigError, NoInputError)):
        average([model, bad], tmp_path / "out")
