"""Models whose packed weights are kept in a cache."""

from pathlib import Path

from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.model_dir import save_model
from nmt_cli.translation.translator import Translator

LINES = ["ab cd", "the red house", "x"]


def saved_model(path: Path, seed: int, **settings: object) -> Path:
    config = byte_config({f"model.{name}": value for name, value in settings.items()})
    save_model(path, byte_model(config, seed).state_dict(), config, byte_subwords(), {"step": "1"})
    return path


def answers(translator: Translator) -> list[tuple[str, float]]:
    return [(each.text, each.score) for each in translator.translate(LINES)]


def kept_file(cache: Path) -> Path:
    (path,) = cache.glob("packed-*.bin")
    return path
