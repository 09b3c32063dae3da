"""The Spark job in a real local Spark, and the manifests by the schemas of Kubernetes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from byte_models import byte_config, byte_model, byte_subwords
from peer_results import Record

from nmt_cli import Translator
from nmt_cli.model_dir import save_model

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parents[2]
VERSION = "1.37"


@pytest.mark.filterwarnings("ignore")
def test_spark_translates_every_row(tmp_path: Path, record: Record) -> None:
    import pandas

    config = byte_config({"search.beam": 3})
    save_model(tmp_path / "model", byte_model(config).state_dict(), config, byte_subwords(), {})
    lines = [("abc"[index % 3] * (index % 7)) or None for index in range(200)]
    pandas.DataFrame({"id": range(200), "text": lines}).to_parquet(tmp_path / "in.parquet")
    environment = {
        **os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    subprocess.run(
        [
            Path(sys.executable).parent / "spark-submit", "--master", "local[2]",
            "--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.ui.enabled=false",
            ROOT / "recipes/spark/nmt_spark.py", "model", "in.parquet", "out.parquet",
            "--partitions", "4",
        ],
        cwd=tmp_path, env=environment, check=True,
    )  # fmt: skip
    result = pandas.read_parquet(tmp_path / "out.parquet").sort_values("id")
    assert list(result["id"]) == list(range(200))
    translator = Translator.load(tmp_path / "model")
    for line, translation in zip(lines, result["translation"], strict=True):
        if line is None:
            assert not isinstance(translation, str)
        else:
            assert translation == translator.translate(line).text
    record(rows=len(result))


def test_manifests_fit_the_schemas_of_kubernetes(record: Record) -> None:
    import kubernetes_validate

    documents = [
        document
        for path in sorted((ROOT / "recipes/kubernetes").glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
    ]
    for document in documents:
        assert kubernetes_validate.validate(document, VERSION, strict=True) == VERSION
    wrong = {**documents[0], "specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)
    record(documents=len(documents), schemas=VERSION)
