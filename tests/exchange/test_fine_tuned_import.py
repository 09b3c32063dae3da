"""An imported model is fine-tuned, and stays a model that its toolkit can run."""

from pathlib import Path

import pytest
import torch
from marian_models import LANGUAGES, RECORDED
from marian_recipe import DATA

from nmt_cli import prepare, train
from nmt_cli.exchange.formats.marian.weights import added_rows
from nmt_cli.exchange.import_model import import_model
from nmt_cli.model_dir import load_model

QUICK = {
    "train.batch_tokens": 200, "train.max_steps": 4, "train.warmup_steps": 2,
    "train.checkpoint_every": 2, "train.validation_sentences": 4, "train.log_every": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported model, and a corpus of its own translations."""
    folder = tmp_path_factory.mktemp("imported")
    import_model(DATA, folder / "model", options=LANGUAGES, check=False)
    for side, field in (("src", "source"), ("tgt", "translation")):
        lines = [str(entry.get(field, entry["source"])) for entry in RECORDED]
        for text in ("train", "valid"):
            (folder / f"{text}.{side}").write_text("".join(f"{line}\n" for line in lines))
    files, valid = ((folder / f"{text}.src", folder / f"{text}.tgt") for text in ("train", "valid"))
    prepare([files], valid, subwords_from=folder / "model", out=folder / "corpus", workers=1)
    return folder


def test_imported_model_is_fine_tuned_with_its_own_settings(folder: Path) -> None:
    losses: list[float] = []
    result = train(
        folder / "corpus", folder / "tuned", init_from=folder / "model", settings=QUICK,
        device="cpu", on_report=lambda report: losses.append(report.loss),
    )  # fmt: skip
    assert result.step == 4
    before, after = load_model(folder / "model"), load_model(folder / "tuned")
    assert after.config.model == before.config.model
    assert after.config.search == before.config.search
    assert dict(after.subwords.contents()) == dict(before.subwords.contents())
    # Label smoothing does not add the bias of entries that are never generated.
    assert 0 < max(losses) < 20
    state = {name: weight.detach() for name, weight in after.model.named_parameters()}
    assert added_rows(state) == added_rows(dict(before.model.named_parameters())) == 1
    assert torch.isfinite(torch.cat([weight.flatten() for weight in state.values()])).all()
