"""What is written for the engines in browsers; tests/peers runs the real one."""

import json
import math
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from bergamot_files import (
    FLOAT32,
    INT8,
    INTGEMM8,
    allowed_words,
    lists_of,
    read_binary,
    values,
)
from exported import WORDS, random_model, random_pairs, segmenter
from test_marian_export import MARIAN

from nmt_cli.cli import main
from nmt_cli.config.search import LONGEST_SHORTLIST
from nmt_cli.data.lexical.shortlist import Shortlist
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import UnavailableError
from nmt_cli.exchange.formats.bergamot import engine, target
from nmt_cli.exchange.formats.bergamot.calibration import OUTPUT, largest_inputs
from nmt_cli.exchange.formats.bergamot.page import translation_page
from nmt_cli.exchange.formats.bergamot.shortlists import MAGIC, MOST, checksum, shortlist_bytes
from nmt_cli.exchange.formats.bergamot.target import TARGET
from nmt_cli.exchange.formats.marian.weights import make_arrays
from nmt_cli.model.zero_start import set_zero_start
from nmt_cli.model_dir import LoadedModel, load_model, save_model
from nmt_cli.translation.translator import Translator

SIZES = {**MARIAN, "model.d_model": 64, "model.d_ff": 64, "model.heads": 4}


def model_of(subwords: Subwords | None = None, **settings: object) -> LoadedModel:
    loaded = random_model({**SIZES, **settings}, subwords)
    set_zero_start(loaded.model)
    return loaded


def written(loaded: LoadedModel, folder: Path) -> dict:
    TARGET.write(loaded, folder, "int8")
    [path] = folder.glob("model.*.bin")
    return read_binary(path.read_bytes())


@pytest.mark.parametrize("ties", ["all", "target"])
def test_matrices_are_int8_and_the_rest_as_in_marian(ties: str, tmp_path: Path) -> None:
    loaded = model_of(**{"model.tie_embeddings": ties, "model.attention_bias": True})
    assert TARGET.reasons_against(loaded) == []
    stored = written(loaded, tmp_path)
    rows = loaded.subwords.src_size, loaded.subwords.tgt_size
    arrays = make_arrays(loaded.model.state_dict(), rows)
    assert all(array.place % 256 == 0 == len(array.data) % 256 for array in stored.values())
    matrices = {name for name, array in stored.items() if array.type == INTGEMM8}
    assert len(matrices) == 2 * 4 + 2 * 8 + 2 * 4 + (1 if ties == "all" else 2)
    for name, array in arrays.items():
        actual = values(name, stored[name])
        assert not any(size % 8 for size in actual.shape if name in matrices)
        assert stored[name].shape[-1] % 64 == 0 or name not in matrices
        # Half a step of rounding, and rows that fill up.
        step = float(np.abs(array).max()) / 127 if name in matrices else 0.0
        assert np.abs(actual[: len(array)] - array).max() <= step / 2 * 1.001, name
        assert not actual[len(array) :].any(), name
    settings = stored["special:model.yml"]
    assert settings.type == INT8
    text = settings.data.rstrip(b"\0").decode()
    # Some engines find a setting at the beginning of its line.
    assert "\ndim-emb: 64\n" in text
    document = yaml.safe_load(text)
    assert document["dim-vocabs"] == [size + -size % 8 for size in rows]
    assert document["output-omit-bias"] is False


def test_what_nmt_never_generates_has_no_probability(tmp_path: Path) -> None:
    loaded = model_of(**{"model.banned_ids": [0, 1, 2, 9], "model.output_bias": True})
    bias = values("b", written(loaded, tmp_path)["decoder_ff_logit_out_b"])[0]
    size = loaded.subwords.tgt_size
    banned = {0, 1, 2, 9, *range(size, size + -size % 8)}
    assert set(np.flatnonzero(bias <= -1e9)) == banned
    others = [token for token in range(size) if token not in banned]
    assert bias[others] == pytest.approx(loaded.model.output_bias.detach().numpy()[others])


def test_inputs_of_products_are_measured() -> None:
    loaded = model_of()
    pairs = list(random_pairs(loaded))
    largest = largest_inputs(loaded, pairs)
    linear = {name for name, _ in loaded.model.named_modules() if name.endswith(
        ("query", "key", "value", "attention.output", "inner", "outer"))}  # fmt: skip
    assert set(largest) == {*linear, OUTPUT}
    table = loaded.model.positions
    expected = 0.0
    for source, _ in pairs:
        ids = torch.tensor(source)
        x = loaded.model.embedding.shared.detach()[ids] * math.sqrt(64)
        x = table.add(x, torch.arange(len(ids)), len(ids))
        expected = max(expected, float(x.abs().max()))
    for part in ("query", "key", "value"):
        assert largest[f"encoder.0.self_attention.{part}"] == pytest.approx(expected, rel=1e-5)
    # The memory is the input of both products of each decoder layer.
    memory = {largest[f"decoder.{index}.cross_attention.{part}"]
              for index in (0, 1) for part in ("key", "value")}  # fmt: skip
    assert len(memory) == 1
    # Nothing watches the model any more.
    assert "logits" not in vars(loaded.model)
    assert not any(module._forward_pre_hooks for module in loaded.model.modules())


def test_alphas_belong_to_the_lines_that_calibrate(tmp_path: Path, monkeypatch) -> None:
    loaded = model_of()
    monkeypatch.setattr(target, "calibration_lines", lambda _: ["cod netel", "a wex"])
    stored = written(loaded, tmp_path)
    alphas = {name: values(name, array).item() for name, array in stored.items()
              if name.endswith("_QuantMultA")}  # fmt: skip
    sources = loaded.subwords.encode_source(["cod netel", "a wex"])
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    texts = translator.translate(["cod netel", "a wex"], beam=1, sentences="line", markup="off")
    targets = [list(text.hypotheses[0].ids) for text in texts]
    largest = largest_inputs(loaded, list(zip(sources, targets, strict=True)))
    for name, theirs in (("encoder.1.feed_forward.outer", "encoder_l2_ffn_W2"),
                         ("decoder.0.cross_attention.query", "decoder_l1_context_Wq"),
                         (OUTPUT, "Wemb"), (OUTPUT, "none")):  # fmt: skip
        assert alphas[f"{theirs}_QuantMultA"] == pytest.approx(127 / largest[name])
    assert len(alphas) == len(largest) + 1
    assert {stored[f"{name}"].shape for name in alphas} == {(1, 1)}
    assert {stored[f"{name}"].type for name in alphas} == {FLOAT32}


REFUSED = [
    ({"model.d_model": 96}, "model.d_model=128"),
    ({"model.d_ff": 72}, "model.d_ff=128"),
    ({"model.tie_embeddings": "none"}, "model.tie_embeddings=target"),
    ({"model.norm_order": "pre"}, "model.norm_order=post"),
    ({"model.positions": "rotary"}, "model.positions=sinusoidal_t2t"),
]


@pytest.mark.parametrize(("settings", "remedy"), REFUSED)
def test_models_that_bergamot_cannot_hold_are_refused(settings: dict, remedy: str) -> None:
    assert [reason.remedy for reason in TARGET.reasons_against(model_of(**settings))] == [remedy]


def shortlist() -> Shortlist:
    candidates = np.full((6, 3), -1, np.int32)
    candidates[4] = [5, 3, 5]
    candidates[5] = [2, -1, -1]
    return Shortlist(candidates, np.array([-1, -1, -1, -1, 4, -1], np.int32),
                     np.array([1, 4], np.int32))  # fmt: skip


def test_a_shortlist_allows_the_words_of_each_source_and_of_its_end() -> None:
    content = shortlist_bytes(shortlist(), eos_id=3, rows=7)
    assert struct.unpack_from("<2Q", content) == (MAGIC, checksum(content[16:]))
    lists = lists_of(content)
    assert lists == [[], [], [], [1, 3, 4], [3, 4, 5], [2], []]


def save_with_shortlist(loaded: LoadedModel, folder: Path) -> None:
    """Save a model with a shortlist that allows each subword for itself."""
    save_model(folder, loaded.model.state_dict(), loaded.config, loaded.subwords, {})
    size = loaded.subwords.src_size
    ids = np.arange(size, dtype=np.int32)
    candidates = np.full((size, LONGEST_SHORTLIST), -1, np.int32)
    candidates[:, 0] = ids
    Shortlist(candidates, ids, ids[:2]).save(folder, loaded.subwords)


def test_the_shortlist_of_a_model_goes_along(tmp_path: Path) -> None:
    subwords = Subwords(segmenter("bpe", 48, WORDS))
    assert subwords.tgt_size == 48
    loaded = model_of(subwords)
    save_with_shortlist(loaded, tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), "--to", "bergamot", "--no-check"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    languages = loaded.config.languages.src + loaded.config.languages.tgt
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"model.{languages}.intgemm.alphas.bin", f"vocab.{languages}.spm",
        f"lex.50.50.{languages}.s2t.bin", "index.html", "export.json", "manifest.json",
    }  # fmt: skip
    page = (tmp_path / "out/index.html").read_text()
    assert f'"shortlist": "lex.50.50.{languages}.s2t.bin"' in page
    [path] = (tmp_path / "out").glob("lex.*")
    lists = lists_of(path.read_bytes())
    assert lists[:3] == [[0], [1], [2]]
    assert lists[loaded.subwords.eos_id] == [0, 1, loaded.subwords.eos_id]


@pytest.mark.parametrize("shared", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_exported_shortlist_allows_what_nmt_allows(shared: bool, tmp_path: Path) -> None:
    """By the engine's rules; tests/peers shows that the engine has these."""
    source, other = segmenter("bpe", 48, WORDS), segmenter("bpe", 48, WORDS[:16])
    subwords = Subwords(source) if shared else Subwords(source, other)
    ties = "all" if shared else "target"
    loaded = model_of(subwords, **{"model.tie_embeddings": ties})
    save_model(tmp_path / "model", loaded.model.state_dict(), loaded.config, subwords, {})
    random = np.random.default_rng(1)
    candidates = random.integers(-1, subwords.tgt_size, (subwords.src_size, LONGEST_SHORTLIST))
    candidates[random.random(candidates.shape) < 0.96] = -1
    candidates[:, MOST:] = -1
    same = random.integers(-1, subwords.tgt_size, subwords.src_size)
    known = Shortlist(candidates.astype(np.int32), same.astype(np.int32), np.array([4], np.int32))
    known.save(tmp_path / "model", subwords)
    arguments = ["export", str(tmp_path / "model"), "--to", "bergamot", "--no-check"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    [path] = (tmp_path / "out").glob("lex.*")
    sizes = set()
    for line in (*WORDS, "an be cod", "net os", "a"):
        [ids] = subwords.encode_source([line])
        more = [subwords.eos_id, *(ids if shared else ())]
        expected = set(known.allowed(ids, MOST, more).tolist())
        allowed, added = allowed_words(path.read_bytes(), ids, subwords.tgt_size, shared=shared)
        assert allowed == expected
        assert (len(allowed) + len(added)) % 8 == 0
        sizes.add(len(allowed))
    assert 2 < min(sizes) < max(sizes) < subwords.tgt_size


@pytest.mark.parametrize("given", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_engine_is_given_the_exported_shortlist(
    given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model_of(Subwords(segmenter("bpe", 48, WORDS)))
    if given:
        save_with_shortlist(loaded, tmp_path / "model")
        loaded = load_model(tmp_path / "model")
    out = tmp_path / "out"
    out.mkdir()
    TARGET.write(loaded, out, "int8")
    (tmp_path / "package/worker").mkdir(parents=True)
    node = tmp_path / "node"
    node.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\nfolder = pathlib.Path(sys.argv[2])\n"
        "request = json.loads((folder / 'request.json').read_text())\n"
        "(folder / 'reply.json').write_text(json.dumps([request['shortlist']]))\n"
    )
    node.chmod(0o755)
    monkeypatch.setattr(engine, "find_engine", lambda hint: (str(node), tmp_path / "package"))
    [shortlist] = TARGET.open(out).greedy_translations(["a"])
    assert shortlist == (str(next(out.glob("lex.*"))) if given else None)


def test_a_shortlist_of_a_small_vocabulary_is_left_out_and_named(tmp_path: Path, capsys) -> None:
    """If nearly all words are allowed, no multiple of 8 may be left for the engine."""
    loaded = model_of()
    assert loaded.subwords.tgt_size % 8 == 2
    save_with_shortlist(loaded, tmp_path / "model")
    arguments = ["export", str(tmp_path / "model"), "--to", "bergamot", "--no-check"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert not list((tmp_path / "out").glob("lex.*"))
    assert "The shortlist is left out" in " ".join(capsys.readouterr().err.split())
    assert '"shortlist": null' in (tmp_path / "out/index.html").read_text()


def test_the_page_names_the_files_and_cannot_be_left_by_a_name() -> None:
    exported = engine.ExportedFiles(
        Path("model.</script>.bin"), (Path("srcvocab.spm"), Path("trgvocab.spm")), None
    )
    page = translation_page(exported, ("<e>", "xx"))
    assert page.count("</script>") == 1
    assert "from &lt;e&gt; to xx" in page
    assert '"vocabularies": ["srcvocab.spm", "trgvocab.spm"], "shortlist": null' in page
    assert not re.findall(r"@[A-Z]+@", page)


class Fake:
    """An engine that knows the translations, but for some lines."""

    def __init__(self, loaded: LoadedModel, wrong: int) -> None:
        self.loaded, self.wrong = loaded, wrong

    def source_ids(self, line: str) -> list[int]:
        return self.loaded.subwords.encode_source([line])[0]

    def greedy_translations(self, lines: list[str]) -> list[str]:
        translator = Translator(self.loaded.model, self.loaded.config, self.loaded.subwords)
        texts = translator.translate(list(lines), beam=1, sentences="line", markup="off")
        return ["?"] * self.wrong + [each.text for each in texts][self.wrong :]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        pytest.param(0, 0, marks=pytest.mark.slow),
        pytest.param(4, 0, marks=pytest.mark.slow),
        (5, 3),
    ],
)
def test_a_fifth_of_the_translations_may_differ(
    wrong: int, code: int, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = model_of()
    save_model(Path("model"), loaded.model.state_dict(), loaded.config, loaded.subwords, {})
    monkeypatch.setattr(type(TARGET), "require_engine", lambda self, hint: {"engine": "1"})
    monkeypatch.setattr(type(TARGET), "open", lambda self, directory: Fake(loaded, wrong))
    assert main(["export", "model", "--to", "bergamot", "--out", "out"]) == code
    err = " ".join(capsys.readouterr().err.split())
    if code:
        assert "5 of 20 lines are translated differently by Bergamot (int8)" in err
        assert {path.name for path in Path().iterdir()} == {"model"}
        return
    assert f"{20 - wrong} of 20 greedy translations equal" in err
    assert "log-prob" not in err
    record = json.loads(Path("out/export.json").read_text())
    assert record["check"]["log_prob_difference"] is None
    assert record["check"]["equal_translations"] == 20 - wrong
    assert record["versions"]["engine"] == "1"
    assert record["search"]["gemm-precision"] == "int8shiftAlphaAll"


def test_the_engine_is_found_in_a_folder_above(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(engine.shutil, "which", lambda name: f"/bin/{name}")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    with pytest.raises(UnavailableError, match=r"npm package @browsermt") as raised:
        TARGET.require_engine("; or not")
    assert raised.value.hint.endswith("`npm install @browsermt/bergamot-translator`; or not")
    package = tmp_path / "node_modules/@browsermt/bergamot-translator"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.4.9"}')
    assert TARGET.require_engine("") == {"@browsermt/bergamot-translator": "0.4.9"}
    monkeypatch.setattr(engine.shutil, "which", lambda name: None)
    with pytest.raises(UnavailableError, match="needs node"):
        TARGET.require_engine("")


def test_the_engine_is_looked_for_before_work(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = model_of()
    save_model(Path("model"), loaded.model.state_dict(), loaded.config, loaded.subwords, {})
    monkeypatch.setattr(engine.shutil, "which", lambda name: None)
    assert main(["export", "model", "--to", "bergamot", "--out", "out"]) == 69
    assert "--no-check" in capsys.readouterr().err
    assert {path.name for path in Path().iterdir()} == {"model"}


def test_an_engine_that_ends_with_an_error_is_reported(tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "package"
    (package / "worker").mkdir(parents=True)
    spm = tmp_path / "vocab.spm"
    spm.write_bytes(dict(model_of().subwords.contents())["source.spm"])
    monkeypatch.setattr(engine, "find_engine", lambda hint: ("false", package))
    foreign = engine.BergamotTranslator(engine.ExportedFiles(spm, (spm,), None))
    with pytest.raises(RuntimeError, match="node ended with 1"):
        foreign.greedy_translations(["a"])
