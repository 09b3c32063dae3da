"""`nmt prepare`: from text files to a corpus of ids; what was left out is counted, with the reason.

Three passes: clean (and find equal pairs), count words and learn subwords, encode and filter. Each
pass is spread over processes by stretches of text, and put together in order: the result does not
depend on their number.
"""

import dataclasses
import functools
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli import config as settings
from nmt_cli.config import Config
from nmt_cli.data.clean import (
    Cleaning,
    CleanText,
    Progress,
    clean_sentence,
    clean_training_text,
)
from nmt_cli.data.corpus import CONFIG, DESCRIPTION, FORMAT, SUBWORDS, Corpus
from nmt_cli.data.encode import (
    Encoded,
    SplitWriter,
    Tally,
    choose_sample,
    count_all_words,
    encode_job,
    encoded_side,
    jobs,
)
from nmt_cli.data.lines import read_pairs
from nmt_cli.data.pool import Pool
from nmt_cli.data.subwords import Subwords, learn_subwords
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import make_directory, new_directory, remove, require_file, write_text


@dataclass(frozen=True)
class Prepared:
    """What `prepare` did: the numbers of its table.

    read, kept, valid: pairs; dropped: pairs by reason; src_size, tgt_size: vocabulary entries;
    notes: what the user should look at; reused: nothing was done, the corpus was there already.
    """

    path: Path
    read: int
    kept: int
    dropped: dict[str, int]
    src: Tally
    tgt: Tally
    src_size: int
    tgt_size: int
    valid: int
    notes: tuple[str, ...] = ()
    reused: bool = False


def prepare(
    config: Config,
    out: Path,
    *,
    force: bool = False,
    workers: int = 0,
    progress: Progress | None = None,
) -> Prepared:
    """Prepare `config.data` into the new directory `out`.

    workers: processes, 0 for one a usable core; the files are the same for any number of them.
    progress: called with the name of a stage, pairs done, and pairs in all where that is known.
    Raises UsageError, NoInputError, DataError or CannotCreateError.
    """
    check_inputs(config)
    tell = progress or _silent
    with new_directory(out, force=force) as directory, Pool(workers) as pool:
        work = make_directory(directory / "work")
        cleaning = Cleaning(config.data.normalize, config.languages.src, config.languages.tgt)
        text = clean_training_text(config.data, cleaning, work, pool, tell)
        if not text.pairs:
            raise DataError("the training files hold no pair of lines with text on both sides")
        keep = ~text.duplicate if config.data.drop_duplicates else text.duplicate | True
        sample = choose_sample(keep, config.data.sample_lines, config.data.seed)
        words = count_all_words(text, sample, config.data, pool, tell)
        tell("learn subwords", 0, None)
        subwords = learn_subwords(config.data, *words)
        subwords.save(make_directory(directory / SUBWORDS))
        dropped = Counter({"empty": text.empty, "duplicate": int((~keep).sum())})
        train = SplitWriter(directory, "train")
        done = 0
        function = functools.partial(encode_job, directory / SUBWORDS)
        pieces = train.write(pool.map(function, jobs(text, keep, config.data)))
        for stretch, piece in zip(text.stretches, pieces, strict=True):
            dropped += piece.dropped
            done += stretch.pairs
            tell("encode", done, text.pairs)
        valid = encode_valid(config, cleaning, subwords, directory)
        remove(work)
        prepared = Prepared(
            out, text.read, train.pairs, dict(dropped), train.src, train.tgt,
            subwords.src_size, subwords.tgt_size, valid,
        )  # fmt: skip
        write_text(directory / CONFIG, settings.dump(config))
        document = {"format": FORMAT, "train": train.pairs, "valid": valid}
        write_text(directory / DESCRIPTION, json.dumps(document, indent=2) + "\n")
    return prepared


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


def check_inputs(config: Config) -> None:
    """Refuse what is wrong with the settings and files before any work starts."""
    if not config.data.train:
        raise UsageError(
            "no training files are given", "use --train SRC TGT, or write nmt.toml: nmt init"
        )
    for paths in (*config.data.train, config.data.valid):
        for path in paths:
            if path != "-":
                require_file(Path(path))


def encode_valid(config: Config, cleaning: Cleaning, subwords: Subwords, directory: Path) -> int:
    """Encode the validation pairs, all of them, and keep their text as it is."""
    if not config.data.valid:
        return 0
    pairs = list(read_pairs(config.data.valid))
    src = [clean_sentence(cleaning, "src", one) for one, _ in pairs]
    tgt = [clean_sentence(cleaning, "tgt", other) for _, other in pairs]
    keep = [True] * len(pairs)
    src_side = encoded_side(src, subwords.encode_source(src), keep, subwords.src_size, 1)
    tgt_side = encoded_side(tgt, subwords.encode_target(tgt), keep, subwords.tgt_size, 1)
    src_side.text = "".join(f"{one}\n" for one, _ in pairs).encode()
    tgt_side.text = "".join(f"{other}\n" for _, other in pairs).encode()
    writer = SplitWriter(directory, "valid")
    for _ in writer.write([Encoded(src_side, tgt_side, 0, Counter())]):
        pass
    return writer.pairs
