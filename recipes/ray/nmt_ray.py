"""Translates a column of a Parquet data set with Ray Data, one model for each actor. NOT RUN.

    python recipes/ray/nmt_ray.py MODEL INPUT OUTPUT [--column text] [--actors 4] [--gpus 1]

This recipe has not been run: Ray did not start on the machine that nmt is developed on. For CPUs,
recipes/spark does the same and is tested; it also has --partitions, --precision and text files.
"""

import argparse


class Translating:
    """An actor with the model: on a GPU if it has one, else on one core."""

    def __init__(self, model: str, column: str) -> None:
        import torch
        from nmt_cli import Translator

        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu":
            torch.set_num_threads(1)
        self._translator = Translator.load(model, device)
        self._column = column

    def __call__(self, batch: dict) -> dict:
        """Add the column `translation` to a batch of rows. A null stays null."""
        import numpy as np

        column = batch[self._column]
        # A null is None, or NaN, which is unequal to itself.
        known = [row for row, text in enumerate(column) if text is not None and text == text]
        translations = self._translator.translate([str(column[row]) for row in known])
        texts = np.full(len(column), None)
        for row, translation in zip(known, translations, strict=True):
            texts[row] = translation.text
        return {**batch, "translation": texts}


def main() -> None:
    """Read, translate and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="model directory, at the same path on every machine")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--column", default="text")
    parser.add_argument("--actors", type=int, default=4)
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each actor")
    given = parser.parse_args()

    import ray

    rows = ray.data.read_parquet(given.input)
    translated = rows.map_batches(
        Translating, fn_constructor_args=(given.model, given.column), batch_size=2_000,
        concurrency=given.actors, num_gpus=given.gpus, num_cpus=1,
    )  # fmt: skip
    translated.write_parquet(given.output)


if __name__ == "__main__":
    main()
