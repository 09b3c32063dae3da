"""Models of ours run in the engine of browsers: the npm package, in node.

`npm install --no-save @browsermt/bergamot-translator@0.4.9` in the root of the repository.
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Browser, browser
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

LINES = 100
VARIANTS = {
    "shared": {},
    "separate": {"data_joint": False, "model_tie_embeddings": "target", "model_output_bias": True,
                 "model_activation": "silu", "model_attention_bias": True},
}  # fmt: skip


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


def save_shortlist(model: Path, offset: int) -> LoadedModel:
    """Give a model a shortlist: for each subword the one with its spelling, `offset` places on."""
    loaded = load_model(model)
    subwords = loaded.subwords
    source, target = subwords.src_size, subwords.tgt_size
    places = {piece: index for index, piece in enumerate(subwords.target_pieces(range(target)))}
    candidates = np.full((source, LONGEST_SHORTLIST), -1, np.int32)
    for index, piece in enumerate(subwords.source_pieces(range(source))):
        candidates[index, 0] = (places[piece] + offset) % target
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
    [(name, version)] = (pair for pair in versions.items() if pair[0] != "nmt")
    record(peer=f"{name} {version}", precision="int8", **check.as_document())
    assert check.lines == LINES
    assert check.equal_translations >= 0.9 * LINES


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
    save_shortlist(model, 0)
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
        version = tab.call("Browser.getVersion")["product"]
    record(browser=version, lines=len(lines), equal_translations=sum(
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
