"""A trained model that several tests export."""

from pathlib import Path

import pytest
from exported import train_letters
from opus_model import make_opus_model


@pytest.fixture(scope="session")
def letters_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a pre-norm model that was trained for some steps to copy letters."""
    return train_letters(tmp_path_factory.mktemp("letters"), model_norm_order="pre")


@pytest.fixture(scope="session")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a MarianMTModel that transformers trained for some steps."""
    directory = tmp_path_factory.mktemp("opus") / "opus-mt"
    make_opus_model(directory)
    return directory
