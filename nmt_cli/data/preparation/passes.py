"""The passes of `nmt prepare`: what is left out is counted, with the reason.

Clean (and find equal pairs), look at all pairs together, count words and learn subwords, encode
and filter. Each is spread over processes by stretches of text and put together in order: the files
do not depend on the number of processes.
"""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config.automatic import FEWEST_OCCURRENCES
from nmt_cli.config.schema import Config, DataConfig
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.clean import (
    Cleaning,
    CleanText,
    Progress,
    clean_training_text,
    read_stretch,
)
from nmt_cli.data.cleaning.findings import Finding, Ledger
from nmt_cli.data.cleaning.held_out import HeldOut, choose_candidates, find_duplicates, occurrences
from nmt_cli.data.cleaning.matching import MOST_WRONG, find_unmatched
from nmt_cli.data.corpus.layout import SUBWORDS
from nmt_cli.data.languages.wrong_sides import find_wrong_sides
from nmt_cli.data.preparation.encode import (
    Encoded,
    SavedSubwords,
    SplitWriter,
    Tally,
    choose_sample,
    count_all_words,
    encode_job,
    encode_jobs,
    encoded_side,
)
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.subwords.model import VOCABULARY, Subwords, learn_subwords
from nmt_cli.data.text.lines import read_pairs
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted
from nmt_cli.storage.files import make_directory, remove, sha256_of

# A source with more targets is a heading or a filler that stands for anything.
MOST_TARGETS = 50
# Of fewer pairs too few words may be known to say that all of them are wrong.
LEAST_PAIRS_DOUBTED = 5_000
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Prepared:
    """What `prepare` did: the numbers of its table.

    read, kept, valid: pairs; split: validation pairs that were set apart from those read; dropped:
    pairs by reason; src_size, tgt_size: vocabulary entries; findings: what was wrong with the
    text; notes: what the user should look at; reused: nothing was done, the corpus was there.
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
    findings: tuple[Finding, ...] = ()
    split: int = 0
    reused: bool = False

    def to_json(self) -> dict[str, Any]:
        """As plain values, without `path` and `reused`."""
        values = dataclasses.asdict(self)
        for side in ("src", "tgt"):
            values[side]["fertility"] = round(getattr(self, side).fertility, 4)
        del values["path"], values["reused"]
        return values

    @classmethod
    def from_json(cls, path: Path, values: dict[str, Any]) -> "Prepared":
        """What `to_json` gave, as the result of a run that found it there."""
        findings = tuple(Finding.from_json(one) for one in values.get("findings", ()))
        values = dict(values, notes=tuple(values["notes"]), findings=findings)
        for side in ("src", "tgt"):
            values[side] = Tally(
                **{key: one for key, one in values[side].items() if key != "fertility"}
            )
        return cls(path=path, reused=True, **values)


@dataclass
class PreparationRun:
    """One run of `prepare`, into a directory that gets its name `out` at the end.

    dropped: where the pairs that are left out are written, or None.
    """

    config: Config
    out: Path
    directory: Path
    pool: ProcessPool
    progress: Progress
    dropped: Path | None = None

    def run(self) -> Prepared:
        """Do all of it; raises DataError where nothing is left to train on."""
        data = self.config.data
        work = make_directory(self.directory / "work")
        valid = list(read_pairs(data.valid, strict=data.strict)) if data.valid else []
        test = self._test_pairs()
        held_out = self._held_out(valid, test)
        text = clean_training_text(
            self.config, work, self.pool, held_out, self.progress,
            keep_dropped=self.dropped is not None,
        )  # fmt: skip
        if not text.pairs:
            raise DataError(
                "the training files hold no pair of lines with text on both sides",
                "check that they are the right files",
            )
        ledger = Ledger(text, data)
        self._look(text, ledger, held_out)
        if data.valid_split:
            valid = self._set_apart(text, ledger)
        subwords = self._learn(text, ledger.keep)
        train = self._encode(text, ledger)
        dropped = ledger.dropped()
        if not train.pairs:
            raise DataError(
                f"no training pair is left: {_reasons(dropped)}",
                "see data.min_length, data.max_length and data.max_ratio (nmt config show)",
            )
        if self.dropped is not None:
            ledger.write_dropped(self.dropped)
        remove(work)
        self._encode_valid(valid, subwords)
        return Prepared(
            path=self.out, read=text.read, kept=train.pairs, dropped=dropped,
            src=train.src, tgt=train.tgt,
            src_size=subwords.src_size, tgt_size=subwords.tgt_size,
            valid=len(valid),
            notes=(
                *text.notes,
                *_notes(held_out, dropped=data.clean == "strict"),
                *_empty_sides({"validation": valid, "test": test}),
                *_rare_entries(data, train, subwords),
            ),
            findings=tuple(ledger.findings()), split=len(valid) if data.valid_split else 0,
        )  # fmt: skip

    def _test_pairs(self) -> Pairs:
        """Source and first reference of the test set; raises DataError where lines are missing."""
        data = self.config.data
        if not data.test:
            return []
        for reference in data.test[2:]:
            for _ in read_pairs((data.test[0], reference), strict=data.strict):
                pass
        return list(read_pairs(data.test[:2], strict=data.strict))

    def _held_out(self, valid: Pairs, test: Pairs) -> list[HeldOut]:
        cleaning = Cleaning.of(self.config)
        return [
            HeldOut(name, cleaning.clean("src", [src for src, _ in pairs]))
            for name, pairs in (("validation", valid), ("test", test))
        ]

    def _look(self, text: CleanText, ledger: Ledger, held_out: list[HeldOut]) -> None:
        """Look at all pairs together, and take down what is wrong with them."""
        data = self.config.data
        if data.drop_duplicates:
            ledger.mark(kinds.DUPLICATE, find_duplicates(text.digests))
        if data.clean != "off" or data.drop_wrong_language:
            ledger.mark_each(find_wrong_sides(text, self.pool, self.progress))
        if data.clean == "off":
            return
        for place in text.shifts:
            ledger.mark_lines(kinds.SHIFTED, place)
        strict = data.clean == "strict"
        unmatched = find_unmatched(text, self.pool, self.progress, every=strict)
        ledger.mark(kinds.NOT_TRANSLATION, unmatched.pairs)
        unlike = unmatched.share is not None and unmatched.share > MOST_WRONG
        if unlike and not text.shifts and text.pairs >= LEAST_PAIRS_DOUBTED:
            text.notes.append(
                "the words of the two sides seem to have nothing to do with each other: is line n "
                "of one file the translation of line n of the other?"
            )
        places = np.flatnonzero(ledger.keep)
        for side in ("src", "tgt"):
            _, before = occurrences(text.digests[side][places])
            ledger.mark(kinds.MANY_TARGETS, _at(places[before >= MOST_TARGETS], text.pairs))
        if strict:
            known = np.concatenate([one.digests for one in held_out])
            ledger.mark(kinds.HELD_OUT, np.isin(text.digests["src"], known))

    def _set_apart(self, text: CleanText, ledger: Ledger) -> Pairs:
        """Choose the validation pairs; they are no training pairs from then on."""
        data = self.config.data
        candidates = choose_candidates(text.digests, ledger.keep, data.valid_split, data.seed)
        chosen: dict[int, tuple[str, str]] = {}
        for begin in range(0, len(candidates), data.valid_split):
            numbers = candidates[begin : begin + data.valid_split]
            read = _read_numbered(text, np.sort(numbers))
            for number in numbers.tolist():
                if len(chosen) < data.valid_split and self._has_usual_length(*read[number]):
                    chosen[number] = read[number]
        if len(chosen) < data.valid_split:
            raise DataError(
                f"only {counted(len(chosen), 'training pair')} can become validation pairs, "
                f"{data.valid_split:,} are asked for: the others are too long",
                f"use --valid-split {len(chosen)} or less",
            )
        ledger.set_apart[list(chosen)] = True
        return list(chosen.values())

    def _has_usual_length(self, src: str, tgt: str) -> bool:
        data = self.config.data
        short, long = sorted((len(src.split()), len(tgt.split())))
        return long <= data.max_length // 2 and long <= max(4, data.max_ratio / 2 * short)

    def _learn(self, text: CleanText, keep: np.ndarray) -> Subwords:
        data = self.config.data
        sample = choose_sample(keep, data.sample_lines, data.seed)
        words = count_all_words(text, sample, data, self.pool, self.progress)
        self.progress("learn subwords", 0, None)
        subwords = learn_subwords(data, *words)
        subwords.save(make_directory(self.directory / SUBWORDS))
        return subwords

    def _encode(self, text: CleanText, ledger: Ledger) -> SplitWriter:
        train = SplitWriter(self.directory, "train")
        folder = self.directory / SUBWORDS
        saved = SavedSubwords(folder, sha256_of(folder / VOCABULARY))
        work = encode_jobs(text, ledger.keep, self.config.data)
        encoded = self.pool.map(functools.partial(encode_job, saved), work)
        done = 0
        for stretch, piece in zip(text.stretches, train.write(encoded), strict=True):
            ledger.mark_encoded(stretch, piece.reasons)
            done += stretch.pairs
            self.progress("encode", done, text.pairs)
        return train

    def _encode_valid(self, pairs: Pairs, subwords: Subwords) -> None:
        """Encode the validation pairs, all of them, and keep their text as it is."""
        if not pairs:
            return
        cleaning = Cleaning.of(self.config)
        raw_src, raw_tgt = [src for src, _ in pairs], [tgt for _, tgt in pairs]
        src_ids = subwords.encode_source(cleaning.clean("src", raw_src))
        tgt_ids = subwords.encode_target(cleaning.clean("tgt", raw_tgt))
        keep = [True] * len(pairs)
        src = encoded_side(raw_src, src_ids, keep, subwords.src_size, subwords.unk_id)
        tgt = encoded_side(raw_tgt, tgt_ids, keep, subwords.tgt_size, subwords.unk_id)
        reasons = np.zeros(len(pairs), np.uint8)
        for _ in SplitWriter(self.directory, "valid").write([Encoded(src, tgt, 0, reasons)]):
            pass


def _at(places: np.ndarray, count: int) -> np.ndarray:
    found = np.zeros(count, bool)
    found[places] = True
    return found


def _read_numbered(text: CleanText, numbers: np.ndarray) -> dict[int, tuple[str, str]]:
    """The text of some pairs, whose numbers ascend."""
    read: dict[int, tuple[str, str]] = {}
    for one in text.stretches:
        wanted = numbers[(numbers >= one.first) & (numbers < one.first + one.pairs)].tolist()
        if wanted:
            src = read_stretch(text.directory, "src", one.src_start, one.src_end)
            tgt = read_stretch(text.directory, "tgt", one.tgt_start, one.tgt_end)
            read |= {number: (src[number - one.first], tgt[number - one.first])
                     for number in wanted}  # fmt: skip
    return read


def _rare_entries(data: DataConfig, train: SplitWriter, subwords: Subwords) -> list[str]:
    """A warning for each vocabulary whose entries occur too seldom on average to be learnt."""
    if data.vocab_size == "auto" or data.subwords in ("bytes", "chars"):
        return []
    vocabularies = [("", train.src.tokens + train.tgt.tokens, subwords.src_size)]
    if not data.joint:
        vocabularies = [
            ("source ", train.src.tokens, subwords.src_size),
            ("target ", train.tgt.tokens, subwords.tgt_size),
        ]
    return [
        f"the {name}vocabulary of {size:,} is large for {tokens:,} tokens: an entry occurs "
        f"{tokens / size:.1f} times on average; `--vocab-size auto` chooses a smaller one"
        for name, tokens, size in vocabularies
        if tokens < FEWEST_OCCURRENCES * size
    ]


def _reasons(dropped: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())


def _notes(held_out: list[HeldOut], *, dropped: bool) -> list[str]:
    """dropped: whether training pairs that are held out, too, were left out."""
    return [
        f"{one.found:,} of {counted(one.sentences, f'{one.name} sentence')} also occur "
        f"in the training text{'; these training pairs were dropped' if dropped else ''}"
        for one in held_out
        if one.found
    ]


def _empty_sides(held_out: Mapping[str, Pairs]) -> list[str]:
    """A warning for each of the texts that are never cleaned, by name, which has empty sides."""
    notes = []
    for name, pairs in held_out.items():
        empty = sum(not src.strip() or not tgt.strip() for src, tgt in pairs)
        if empty:
            has = "has" if empty == 1 else "have"
            notes.append(f"{empty:,} of {len(pairs):,} {name} pairs {has} an empty side")
    return notes
