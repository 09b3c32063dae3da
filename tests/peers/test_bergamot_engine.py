"""Models of ours run in the engine of browsers: the npm package, in node.

`npm install --no-save @browsermt/bergamot-translator@0.4.9` in the root of the repository, and
`pip install --no-deps fxtranslate` for the other engine.
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Browser, browser
from exchange.bergamot_files import allowed_words
from exported import learnt_lines, train_letters
from peer_results import RESULTS, Record

from nmt_cli.config.search import LONGEST_SHORTLIST
from nmt_cli.data.lexical.shortlist import Shortlist
from nmt_cli.errors import QualityGateError
from nmt_cli.exchange.export import export_model
from nmt_cli.exchange.formats.bergamot import binary, target
from nmt_cli.exchange.formats.bergamot.engine import find_engine
from nmt_cli.exchange.formats.bergamot.target import TARGET
from nmt_cli.model_dir import LoadedModel, load_model
from nmt_cli.translation.translator import Translator

LINES = 100
VARIANTS = {
    "shared": {},
    "separate": {"data_joint": False, "model_tie_embeddings": "target", "model_output_bias": True,
                 "model_activation": "silu", "model_attention_bias": True},
}  # fmt: skip

# Subwords that a shortlist has in place of their own.
OTHERS = {"a": "g", "b": "d"}


def train(folder: Path, **settings: object) -> Path:
    return train_letters(
        folder, model_positions="sinusoidal_t2t", model_zero_start=True, model_norm_order="post",
        model_d_model=64, model_d_ff=128, train_max_steps=240, train_validate_every=240, **settings,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a model that copies letters, with as many subwords as a shortlist needs."""
    folder = tmp_path_factory.mktemp("letters")
    return train(folder, data_subwords="bpe", data_vocab_size=16)


def save_shortlist(model: Path, others: Mapping[str, str] | None = None) -> LoadedModel:
    """Give a model a shortlist: for each subword that of its spelling, or that of `others`."""
    loaded = load_model(model)
    subwords = loaded.subwords
    source, target = subwords.src_size, subwords.tgt_size
    places = {piece: index for index, piece in enumerate(subwords.target_pieces(range(target)))}
    candidates = np.full((source, LONGEST_SHORTLIST), -1, np.int32)
    for index, piece in enumerate(subwords.source_pieces(range(source))):
        candidates[index, 0] = places[(others or {}).get(piece, piece)]
    nothing = np.full(source, -1, np.int32)
    Shortlist(candidates, nothing, nothing[:0]).save(model, subwords)
    return load_model(model)


@pytest.mark.peers
@pytest.mark.parametrize("variant", VARIANTS)
def test_models_of_ours_run_in_bergamot(variant: str, tmp_path: Path, record: Record) -> None:
    directory = train(tmp_path / "letters", **VARIANTS[variant])
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in learnt_lines(LINES)))
    check = export_model(
        directory, "bergamot", tmp_path / "out", check_file=tmp_path / "lines"
    ).check
    versions = json.loads((tmp_path / "out/export.json").read_text())["versions"]
    [(name, number)] = (pair for pair in versions.items() if pair[0] != "nmt")
    record(peer=f"{name} {number}", precision="int8", **check.as_document())
    assert check.lines == LINES
    assert check.equal_translations >= 0.9 * LINES


def limited_by_nmt(loaded: LoadedModel, allowed: set[int], lines: list[str]) -> list[str]:
    """Greedy translations of nmt, of these subwords alone."""
    nothing = np.full((loaded.subwords.src_size, LONGEST_SHORTLIST), -1, np.int32)
    words = np.array(sorted(allowed), np.int32)
    translator = Translator(
        loaded.model, loaded.config, loaded.subwords,
        shortlist=lambda: Shortlist(nothing, nothing[:, 0], words),
    )  # fmt: skip
    texts = translator.translate(lines, beam=1, shortlist=1, sentences="line", markup="off")
    return [text.text for text in texts]


@pytest.mark.peers
def test_the_engine_generates_the_words_of_the_shortlist_alone(
    tmp_path: Path, record: Record
) -> None:
    """The engine joins the lists of a batch, so that all lines have the same subwords."""
    model = train(
        tmp_path / "letters", data_subwords="bpe", data_vocab_size=16, data_joint=False,
        model_tie_embeddings="target",
    )  # fmt: skip
    lines = ["a b", "b a", "a b a", "b b a", "a a b", "b a b", "a b a b", "b b a a", "a b b a b"]
    found: dict[str, list[str]] = {}
    for name, others in (("own", {}), ("other", OTHERS)):
        loaded = save_shortlist(model, others)
        export_model(model, "bergamot", tmp_path / name, check=False)
        found[name] = TARGET.open(tmp_path / name).greedy_translations(lines)
    [file] = (tmp_path / "other").glob("lex.*")
    [ids] = {frozenset(ids) for ids in loaded.subwords.encode_source(lines)}
    allowed, added = allowed_words(file.read_bytes(), ids, loaded.subwords.tgt_size, shared=False)
    generated = sorted((allowed | added) - set(loaded.subwords.special))
    spelt = set("".join(loaded.subwords.target_pieces(generated))) - set("▁")
    file.unlink()
    without = TARGET.open(tmp_path / "other").greedy_translations(lines)
    expected = limited_by_nmt(loaded, allowed | added, lines)
    facts = {
        "lines": len(lines),
        "equal_to_nmt_of_the_same_words": sum(map(str.__eq__, found["other"], expected)),
        "equal_without_shortlist": sum(map(str.__eq__, found["other"], without)),
        "equal_with_own_words": sum(map(str.__eq__, found["own"], without)),
    }
    package = json.loads((find_engine("")[1] / "package.json").read_text())
    record(peer=f"{package['name']} {package['version']}", **facts)
    assert set("ab") <= set("".join(without))
    assert not set("ab") & spelt
    assert set("".join(found["other"])) - {" "} <= spelt
    assert {"g", "d"} <= set("".join(found["other"]))
    assert facts["equal_without_shortlist"] == 0
    # These words are unlikely, so that int8 changes some.
    assert facts["equal_to_nmt_of_the_same_words"] > len(lines) / 2
    assert facts["equal_with_own_words"] == len(lines)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the files in a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def wait_until(tab: Browser, script: str) -> None:
    end = time.monotonic() + 60
    while not tab.evaluate(script):
        assert time.monotonic() < end, tab.evaluate("document.body.innerText")
        time.sleep(0.05)


@pytest.mark.peers
def test_the_page_translates_in_a_browser(model: Path, tmp_path: Path, record: Record) -> None:
    save_shortlist(model)
    out = tmp_path / "out"
    export_model(model, "bergamot", out, check=False)
    lines = learnt_lines(5)
    expected = TARGET.open(out).greedy_translations(lines)
    with served(out) as address, browser(tmp_path / "profile") as tab:
        tab.call("Page.navigate", url=f"{address}/index.html")
        wait_until(tab, "document.getElementById('status')?.textContent.includes('missing')")
        shutil.copytree(find_engine("")[1] / "worker", out / "worker")
        tab.call("Page.navigate", url=f"{address}/index.html")
        wait_until(tab, "document.querySelector('button')?.disabled === false")
        tab.evaluate(f"document.getElementById('text').value = {json.dumps(chr(10).join(lines))}")
        tab.point_at("button", click=True)
        wait_until(tab, "document.getElementById('translation').textContent")
        actual = tab.evaluate("document.getElementById('translation').textContent").split("\n")
        product = tab.call("Browser.getVersion")["product"]
    record(browser=product, lines=len(lines), equal_translations=sum(
        text == other for text, other in zip(actual, expected, strict=True)))  # fmt: skip
    assert actual == expected
    assert len(set(actual)) > 3


def without_transposition(monkeypatch: pytest.MonkeyPatch) -> None:
    names = binary.EMBEDDINGS
    monkeypatch.setattr(binary, "EMBEDDINGS", Everything(names))


class Everything(tuple):
    """Contains every name, and has the names of a tuple."""

    def __contains__(self, name: object) -> bool:
        return True


def scaled_alphas(factor: float):
    def apply(monkeypatch: pytest.MonkeyPatch) -> None:
        measured = target.largest_inputs

        def scaled(*arguments: Any) -> dict[str, float]:
            return {name: value * factor for name, value in measured(*arguments).items()}

        monkeypatch.setattr(target, "largest_inputs", scaled)

    return apply


def no_bans(monkeypatch: pytest.MonkeyPatch) -> None:
    padded = target._padded
    monkeypatch.setattr(
        target, "_padded",
        lambda arrays, model, rows: {
            **padded(arrays, model, rows),
            "decoder_ff_logit_out_b": np.full((1, rows[1]), 0, np.float32)
            + 9e3 * (np.arange(rows[1]) == 2),
        },
    )  # fmt: skip


def wrong_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    quantized = binary.quantized
    monkeypatch.setattr(binary, "quantized", lambda weight: (quantized(weight)[0], 1.0))


MUTATIONS = {
    "matrices are not transposed": without_transposition,
    "inputs are rounded to nothing": scaled_alphas(1_000.0),
    "inputs overflow": scaled_alphas(0.02),
    "the bias is another": no_bans,
    "the factor of the matrices is left out": wrong_factor,
}


@pytest.mark.peers
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_comparison_with_bergamot_finds_mutated_files(
    name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in learnt_lines(30)))
    (model / "shortlist.safetensors").unlink(missing_ok=True)
    MUTATIONS[name](monkeypatch)
    with pytest.raises(QualityGateError):
        export_model(model, "bergamot", tmp_path / "out", check_file=tmp_path / "lines")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("variant", VARIANTS)
def test_recorded_comparisons_with_bergamot_succeeded(variant: str) -> None:
    """The last run by hand passed; it needs no engine to be checked."""
    result = json.loads(RESULTS.read_text())[f"test_models_of_ours_run_in_bergamot[{variant}]"]
    assert result["peer"].startswith("@browsermt/bergamot-translator ")
    assert result["lines"] == LINES
    assert result["equal_translations"] >= 0.9 * LINES


def test_the_recorded_words_were_those_of_the_shortlist() -> None:
    """The last run by hand passed; an engine without the shortlist had given other words."""
    results = json.loads(RESULTS.read_text())
    result = results["test_the_engine_generates_the_words_of_the_shortlist_alone"]
    assert result["equal_without_shortlist"] == 0
    assert result["equal_to_nmt_of_the_same_words"] > result["lines"] / 2
    assert result["equal_with_own_words"] == result["lines"]


@pytest.mark.peers
def test_fxtranslate_has_no_decoder_for_models_of_ours(
    model: Path, tmp_path: Path, record: Record
) -> None:
    """It reads the model and runs the encoder, and then asks for the recurrent layer of an SSRU.

    If this fails, it has learnt to run Transformers: compare its translations then.
    """
    import fxtranslate

    (model / "shortlist.safetensors").unlink(missing_ok=True)
    export_model(model, "bergamot", tmp_path / "out", check=False)
    [weights] = (tmp_path / "out").glob("model.*.bin")
    [vocabulary] = (tmp_path / "out").glob("vocab.*.spm")
    engine = fxtranslate.Translator(
        model=weights.read_bytes(), src_vocab=vocabulary.read_bytes(),
        trg_vocab=vocabulary.read_bytes(),
    )  # fmt: skip
    with pytest.raises(BaseException, match="missing weight ") as raised:
        engine.translate("a b c")
    record(peer=f"fxtranslate {version('fxtranslate')}", message=str(raised.value))
    assert str(raised.value) == "missing weight decoder_l1_rnn_W"
