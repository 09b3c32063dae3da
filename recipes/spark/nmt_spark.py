"""Translates a column of a table of any size with Spark: one model for each task, on CPUs.

    spark-submit recipes/spark/nmt_spark.py MODEL INPUT OUTPUT [--column text] [--partitions 64]

INPUT and OUTPUT are Parquet, or text files with one sentence per line if they end in .txt. OUTPUT
has the columns of INPUT and `translation`; it must not exist. Each Python worker of Spark loads the
model once and keeps it. See docs/scale.md.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    from nmt_cli import Translator
    from pyspark.sql import DataFrame

# Rows that reach the translator at a time: enough for its batches, little memory.
ROWS = 2_000


@cache
def load(model: str, precision: str) -> "Translator":
    """The translator of this Python worker, which serves many tasks."""
    # Each task has one core; threads of several tasks would only wait for each other.
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    from nmt_cli import Translator

    torch.set_num_threads(1)
    return Translator.load(model, precision=precision)


def translating(
    model: str, column: str, precision: str
) -> "Callable[[Iterator[pandas.DataFrame]], Iterator[pandas.DataFrame]]":
    """The function for mapInPandas: batches of rows, each with a further column."""

    def translate(batches: "Iterator[pandas.DataFrame]") -> "Iterator[pandas.DataFrame]":
        # This function is pickled with its code for each task; the module is imported once in each
        # worker, and its cache stays.
        from nmt_spark import load

        translator = load(model, precision)
        for batch in batches:
            # A null stays null; `translate` returns one translation for each line, in order.
            known = batch[column].notna()
            lines = [str(text) for text in batch.loc[known, column]]
            texts = [translation.text for translation in translator.translate(lines)]
            batch["translation"] = None
            batch.loc[known, "translation"] = texts
            yield batch

    return translate


def translated(
    table: "DataFrame", model: str, column: str, partitions: int, precision: str
) -> "DataFrame":
    """The table with the column `translation`."""
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([*table.schema.fields, StructField("translation", StringType())])
    spread = table.repartition(partitions) if partitions else table
    return spread.mapInPandas(translating(model, column, precision), schema)


def main() -> None:
    """Read, translate and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="model directory, at the same path on every machine")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--column", default="text")
    parser.add_argument("--partitions", type=int, default=0, help="tasks [default: as in INPUT]")
    parser.add_argument("--precision", default="float32", help="float32, bf16 or int8")
    given = parser.parse_args()

    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.appName("nmt")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", ROWS)
        # Python workers are used again, so the model is loaded once for each.
        .config("spark.python.worker.reuse", "true")
        .getOrCreate()
    )
    spark.sparkContext.addPyFile(__file__)
    is_text = given.input.endswith(".txt")
    table = spark.read.text(given.input) if is_text else spark.read.parquet(given.input)
    table = table.withColumnRenamed("value", given.column) if is_text else table
    result = translated(table, given.model, given.column, given.partitions, given.precision)
    if given.output.endswith(".txt"):
        result.select("translation").write.text(given.output)
    else:
        result.write.parquet(given.output)
    spark.stop()


if __name__ == "__main__":
    main()
