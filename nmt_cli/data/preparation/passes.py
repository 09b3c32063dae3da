"""Runs the passes of `nmt prepare` and counts the dropped pairs by reason.

The passes are: clean the text and find duplicates, check all pairs together, count words and learn
subwords, encode and filter. Each pass distributes spans of text over processes and combines the
results in order, so the files do not depend on the number of processes.
"""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.alignment.cut_sides import find_cut_sides
from nmt_cli.data.cleaning.alignment.matching import MAX_WRONG_SHARE, find_unmatched
from nmt_cli.data.cleaning.alignment.wrong_blocks import wrong_block_notes
from nmt_cli.data.cleaning.chunks import Cleaning
from nmt_cli.data.cleaning.clean import CleanText, Progress, clean_training_text
from nmt_cli.data.cleaning.findings import Finding, Ledger
from nmt_cli.data.cleaning.held_out.alignment import alignment_notes
from nmt_cli.data.cleaning.held_out.copies import HeldOut
from nmt_cli.data.cleaning.held_out.digests import find_duplicates, occurrences
from nmt_cli.data.cleaning.held_out.other_languages import other_language_notes
from nmt_cli.data.cleaning.held_out.texts import HeldOutText, read_held_out
from nmt_cli.data.cleaning.pair_lists import write_repaired
from nmt_cli.data.cleaning.placeholder_lines import find_placeholder_lines
from nmt_cli.data.corpus.layout import SUBWORDS, test_name
from nmt_cli.data.corpus.text_statistics import TEXT, TextStatistics, digest_of_pairs
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
from nmt_cli.data.preparation.existing_subwords import ExistingSubwords, fit_notes
from nmt_cli.data.preparation.file_roles import shared_pairs_notes
from nmt_cli.data.preparation.measure import measure_text
from nmt_cli.data.preparation.notes import (
    few_kept,
    format_reasons,
    header_remarks,
    held_out_notes,
    mixed_notes,
    overlap_notes,
    overlap_remarks,
    rare_entries,
    replaced_notes,
    sentence_remarks,
    swapped_notes,
    uncompared_remarks,
)
from nmt_cli.data.preparation.split import Pairs, Split, set_apart
from nmt_cli.data.preparation.unknown_characters import UnknownCharacter, UnknownCharacters
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.subwords.model import VOCABULARY, Subwords, learn_subwords
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.errors import DataError
from nmt_cli.storage.files import make_directory, remove, sha256_of, write_bytes, write_text

# A side beside more others than this, which is no placeholder, is a heading or a frequent line.
MAX_TARGETS = 50
# With fewer pairs too few words may be known to conclude that all pairs are wrong.
MIN_PAIRS_DOUBTED = 5_000
# The warning of shifted lines is enough where such a share of the text is shifted.
LEAST_SHIFTED = 0.1


@dataclass(frozen=True)
class PreparedCorpus:
    """The result of `prepare`: the numbers of its table.

    read, kept, valid, test: pairs; split, test_split: validation and test pairs taken from the
    pairs read; doubtful_split, doubtful_test: how many of these are of kinds of noise that are
    kept; test_files: the text of the test pairs; dropped: pairs by reason; src_size,
    tgt_size: vocabulary entries; findings: problems of the text; notes: warnings for the
    user; remarks: what was done about the text where nothing is left to do;
    unknown_characters: those that an existing vocabulary lacks; reused: whether an existing
    corpus was kept and nothing was done; repaired: repaired pairs in the list of these, None if
    none was written; letters_left: the others in it, which keep letters of another script.
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
    test_split: int = 0
    test_files: tuple[str, ...] = ()
    reused: bool = False
    repaired: int | None = None
    letters_left: int = 0
    unknown_characters: tuple[UnknownCharacter, ...] = ()
    test: int = 0
    remarks: tuple[str, ...] = ()
    doubtful_split: int = 0
    doubtful_test: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values, without `path`, `reused`, and counts of the list of repairs."""
        values = dataclasses.asdict(self)
        for side in ("src", "tgt"):
            values[side]["fertility"] = round(getattr(self, side).fertility, 4)
        values["unknown_characters"] = [each.to_json() for each in self.unknown_characters]
        del values["path"], values["reused"], values["repaired"], values["letters_left"]
        return values

    @classmethod
    def from_json(cls, path: Path, values: dict[str, Any]) -> "PreparedCorpus":
        """Build the result from `to_json`, as that of a run that reused the corpus in `path`."""
        findings = tuple(Finding.from_json(finding) for finding in values.get("findings", ()))
        values = dict(values, notes=tuple(values["notes"]), findings=findings)
        for name in ("test_files", "remarks"):
            values[name] = tuple(values.get(name, ()))
        # Older versions counted only the test pairs that they had set apart.
        values.setdefault("test", values.get("test_split", 0))
        characters = values.get("unknown_characters", ())
        values["unknown_characters"] = tuple(map(UnknownCharacter.from_json, characters))
        for side in ("src", "tgt"):
            values[side] = Tally(
                **{key: count for key, count in values[side].items() if key != "fertility"}
            )
        return cls(path=path, reused=True, **values)


@dataclass
class PreparationRun:
    """One run of `prepare`, into a directory that is renamed to `out` at the end.

    dropped: the file for the dropped pairs, or None; repaired: the same for the repaired ones.
    """

    config: Config
    out: Path
    directory: Path
    pool: ProcessPool
    progress: Progress
    dropped: Path | None = None
    repaired: Path | None = None
    _alignment_notes: list[str] = field(default_factory=list)
    _compared: int | None = None
    _language_notes: list[str] = field(default_factory=list)

    def run(self) -> PreparedCorpus:
        """Run all passes; raises DataError if no pair is left to train on."""
        data = self.config.data
        work = make_directory(self.directory / "work")
        texts = read_held_out(self.config)
        held_out = self._held_out(*texts)
        text = clean_training_text(
            self.config, work, self.pool, held_out, self.progress,
            keep_dropped=self.dropped is not None, keep_repaired=self.repaired is not None,
        )  # fmt: skip
        if not text.pairs:
            raise DataError(
                "the training files hold no pair of lines with text on both sides",
                "check that they are the right files",
            )
        ledger = Ledger(text, data)
        self._check_together(text, ledger, texts)
        try:
            _require_pairs(int(ledger.keep.sum()), ledger)
            subwords, split = self._learn_beside_split(text, ledger)
        except DataError as error:
            raise self._explained(error, text, ledger) from error
        valid, test = split.valid or texts[0].pairs, texts[1].pairs
        test_files = self._write_test(split.test)
        unknown = UnknownCharacters(data)
        train = self._encode(text, ledger, unknown)
        dropped = ledger.dropped()
        if self.dropped is not None:
            ledger.write_dropped(self.dropped)
        _require_pairs(train.pairs, ledger)
        left = write_repaired(work, self.repaired) if self.repaired is not None else 0
        statistics = self._measure(text, ledger.keep, train, split.test)
        remove(work)
        self._encode_valid(valid, subwords)
        return PreparedCorpus(
            path=self.out, read=text.read, kept=train.pairs, dropped=dropped,
            src=train.src, tgt=train.tgt, src_size=subwords.src_size, tgt_size=subwords.tgt_size,
            valid=len(valid),
            notes=(
                *few_kept(train.pairs, int(ledger.set_apart.sum()), text.read, dropped),
                *self._training_notes(text, ledger),
                *overlap_notes(data, held_out),
                *self._alignment_notes, *self._language_notes,
                *shared_pairs_notes(valid, test),
                *held_out_notes(data, texts),
                *rare_entries(data, train, subwords),
                *fit_notes(self.config, train.src, train.tgt, unknown.listed()),
            ),
            findings=tuple(ledger.findings()), split=data.valid_split,
            test_split=data.test_split, test_files=test_files,
            repaired=None if self.repaired is None else text.repaired_rows - left,
            letters_left=left,
            unknown_characters=unknown.listed(), test=len(split.test or test),
            doubtful_split=ledger.doubtful(split.indices[: len(split.valid)]),
            doubtful_test=ledger.doubtful(split.indices[len(split.valid) :]),
            remarks=(
                *header_remarks(texts), *overlap_remarks(held_out, dropped),
                *sentence_remarks(statistics), *uncompared_remarks(train.pairs, self._compared),
            ),
        )  # fmt: skip

    def _training_notes(self, text: CleanText, ledger: Ledger) -> list[str]:
        """The warnings about single training files."""
        data = self.config.data
        return [
            *text.notes,
            *swapped_notes(data, ledger.counts_by_file(kinds.SWAPPED)),
            *replaced_notes(data, ledger.counts_by_file(kinds.REPLACEMENT)),
            *mixed_notes(data, text.mixed, text.pairs),
        ]

    def _explained(self, error: DataError, text: CleanText, ledger: Ledger) -> DataError:
        """`error`, with the reasons if most pairs were dropped; the dropped pairs are listed."""
        hints, notes = [error.hint] if error.hint else [], []
        if self.dropped is not None:
            ledger.write_dropped(self.dropped)
            hints.append(f"`{self.dropped}` lists the dropped pairs")
        if ledger.keep.any():
            notes = few_kept(int(ledger.keep.sum()), 0, text.read, ledger.dropped())
        return DataError("; ".join([error.message, *notes]), "; ".join(hints))

    @property
    def _codes(self) -> tuple[str, str]:
        return self.config.languages.src, self.config.languages.tgt

    def _held_out(self, valid: HeldOutText, test: HeldOutText) -> list[HeldOut]:
        """Return both held-out sets; raises DataError if references differ in their lengths.

        Of the test set, all references are looked for.
        """
        cleaning, data = Cleaning.of(self.config), self.config.data
        more = [
            [tgt for _, tgt in read_pairs((data.test[0], reference), strict=data.strict)]
            for reference in data.test[2:]
        ]
        held_out = []
        for text, others in ((valid, []), (test, more)):
            forms = [cleaning.forms(text.src, tgt) for tgt in (text.tgt, *others)]
            held_out.append(HeldOut(text.name, forms))
        return held_out

    def _check_together(
        self, text: CleanText, ledger: Ledger, held_out: Sequence[HeldOutText]
    ) -> None:
        """Mark the pairs whose problems show only when all pairs are compared."""
        data = self.config.data
        if data.drop_duplicates:
            ledger.mark(kinds.DUPLICATE, find_duplicates(text.digests))
        if data.clean != "off" or data.drop_wrong_language:
            found = find_wrong_sides(text, self._codes, self.pool, self.progress)
            ledger.mark_each(found.kinds)
            cleaning = Cleaning.of(self.config)
            self._language_notes = other_language_notes(held_out, cleaning, found.judge)
        if data.clean != "off":
            self._check_meaning(text, ledger)
        if kinds.drops(data, kinds.HELD_OUT):
            ledger.mark(kinds.HELD_OUT, text.repeats)

    def _check_meaning(self, text: CleanText, ledger: Ledger) -> None:
        """Mark pairs that do not translate each other, and sides beside too many others."""
        shifted = text.is_shifted()
        ledger.mark(kinds.SHIFTED, shifted)
        ledger.mark(kinds.PLACEHOLDER, find_placeholder_lines(text, ~shifted))
        unmarked = ledger.kinds == kinds.CLEAN
        ledger.mark(kinds.CUT_SHORT, find_cut_sides(text, unmarked, self._codes, self.pool))
        strict = self.config.data.clean == "strict"
        # What is marked already keeps its kind, and would raise the estimate of wrong pairs.
        marked = ledger.kinds != kinds.CLEAN
        unmatched = find_unmatched(text, marked, self.pool, self.progress, every=strict)
        ledger.mark(kinds.NOT_TRANSLATION, unmatched.pairs)
        self._alignment_notes = alignment_notes(self.config, unmatched.matcher)
        self._compared = unmatched.scored
        text.notes += wrong_block_notes(text, unmatched.pairs, self.config.data.train)
        has_few_right = unmatched.share is not None and unmatched.share > MAX_WRONG_SHARE
        is_doubtful = has_few_right and text.pairs >= MIN_PAIRS_DOUBTED
        # Chance makes a short block of shuffled lines look shifted.
        if (is_doubtful or unmatched.is_unrelated) and shifted.mean() < LEAST_SHIFTED:
            text.notes.append(
                "the words of the two sides do not seem to be related: is line n "
                "of one file the translation of line n of the other?"
            )
        kept = np.flatnonzero(ledger.keep)
        for side, kind in (("src", kinds.MANY_TARGETS), ("tgt", kinds.MANY_SOURCES)):
            _, earlier = occurrences(text.digests[side][kept])
            too_many = np.zeros(text.pairs, bool)
            too_many[kept[earlier >= MAX_TARGETS]] = True
            ledger.mark(kind, too_many)

    def _write_test(self, pairs: Pairs) -> tuple[str, ...]:
        """Write the text of the test pairs into the corpus; return where it will be."""
        if not pairs:
            return ()
        languages = self.config.languages
        names = [test_name(language) for language in (languages.src, languages.tgt)]
        for name, lines in zip(names, zip(*pairs, strict=True), strict=True):
            write_text(self.directory / name, "".join(f"{line}\n" for line in lines))
        return tuple(str(self.out / name) for name in names)

    def _learn_beside_split(self, text: CleanText, ledger: Ledger) -> tuple[Subwords, Split]:
        """Set pairs apart and learn the subwords from the others.

        Only the subwords show which pairs are too long to train on. These give their places to the
        next ones, which the subwords were learnt from, too.
        """
        data, keep = self.config.data, ledger.keep
        if not (data.valid_split or data.test_split):
            return self._learn(text, keep), Split()
        split = set_apart(text, keep, data)
        ledger.set_apart[split.indices] = True
        subwords = self._learn(text, ledger.keep)
        if not split.is_trainable(data, subwords):
            split = set_apart(text, keep, data, subwords)
            ledger.set_apart[:] = False
            ledger.set_apart[split.indices] = True
        return subwords, split

    def _learn(self, text: CleanText, keep: np.ndarray) -> Subwords:
        """Learn the subwords, or copy those of `data.subwords_from`."""
        data = self.config.data
        if data.subwords_from:
            existing = ExistingSubwords.read(Path(data.subwords_from)).subwords
            existing.save(make_directory(self.directory / SUBWORDS))
            return existing
        sample = choose_sample(keep, data.sample_lines, data.seed)
        words = count_all_words(text, sample, data, self.pool, self.progress)
        self.progress("learn subwords", 0, None)
        subwords = learn_subwords(data, *words)
        subwords.save(make_directory(self.directory / SUBWORDS))
        return subwords

    def _encode(self, text: CleanText, ledger: Ledger, unknown: UnknownCharacters) -> SplitWriter:
        train = SplitWriter(self.directory, "train")
        folder = self.directory / SUBWORDS
        saved = SavedSubwords(folder, sha256_of(folder / VOCABULARY))
        work = encode_jobs(text, ledger.keep, self.config.data)
        encoded = self.pool.map(functools.partial(encode_job, saved), work)
        done = 0
        for span, chunk in zip(text.spans, train.write(encoded), strict=True):
            ledger.mark_encoded(span, chunk.reasons)
            unknown.add(span.corpus, chunk.unknown)
            done += span.pairs
            self.progress("encode", done, text.pairs)
        return train

    def _measure(
        self, text: CleanText, keep: np.ndarray, train: SplitWriter, test_set: Pairs
    ) -> TextStatistics:
        """Write statistics of the kept pairs, which the checks of translations need."""
        unknown = (train.src.unknown_share, train.tgt.unknown_share)
        statistics = measure_text(text, keep, self.config, unknown, self.pool, self.progress)
        if test_set:
            digest = digest_of_pairs(test_set)
            statistics = dataclasses.replace(statistics, test_digest=digest)
        write_bytes(self.directory / TEXT, statistics.to_bytes())
        return statistics

    def _encode_valid(self, pairs: Pairs, subwords: Subwords) -> None:
        """Encode all validation pairs and keep their text unchanged."""
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


def _require_pairs(pairs: int, ledger: Ledger) -> None:
    """Raise DataError with the reasons if all training pairs were dropped."""
    if not pairs:
        raise DataError(
            f"no training pair is left: {format_reasons(ledger.dropped())}",
            "--dropped FILE lists them; data.min_length, data.max_length and data.max_ratio "
            "decide about lengths (nmt config show)",
        )
