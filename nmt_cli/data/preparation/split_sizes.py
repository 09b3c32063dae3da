"""How many training pairs are set apart for validation and test."""

from typing import NamedTuple

from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

# A larger share would be missed in training.
LARGEST_SPLIT = 0.2


def suitable_split(pairs: int) -> int:
    """Return a suitable size of a validation set for a number of pairs; 0: there are too few.

    >>> suitable_split(6_122), suitable_split(1_000_000), suitable_split(500), suitable_split(40)
    (300, 1000, 100, 0)
    """
    split = min(1_000, max(200, pairs // 20), int(LARGEST_SPLIT * pairs))
    return split // 100 * 100 if split >= 100 else split // 10 * 10


def no_validation_note(pairs: int, valid_option: str, split_option: str) -> str:
    """The warning that there is no validation text.

    pairs: the number of training pairs; valid_option: the option or argument that names validation
    files; split_option: the one that sets training pairs apart, up to where their number follows.
    """
    split = suitable_split(pairs)
    way = f"; to set training pairs apart: {split_option}{split}" if split else ""
    return (
        "there is no validation text: training cannot tell which checkpoint is best; "
        f"{valid_option} names it{way}"
    )


class SplitSizes(NamedTuple):
    """How many training pairs become validation pairs and test pairs."""

    valid: int
    test: int

    @property
    def total(self) -> int:
        """All pairs that are set apart."""
        return self.valid + self.test

    @property
    def name(self) -> str:
        """What the pairs become: "validation", "test" or "validation and test"."""
        names = (("validation", self.valid), ("test", self.test))
        return " and ".join(name for name, size in names if size)

    def require_small(self, pairs: int, *, share_kept: float = 1.0) -> None:
        """Raise DataError if the sets take too many of `pairs`.

        share_kept: for the advised size, the share of the pairs that cleaning is expected to keep.
        """
        if self.total > LARGEST_SPLIT * pairs:
            sets = f"{self.name} sets" if self.valid and self.test else f"a {self.name} set"
            verb = "are" if self.valid and self.test else "is"
            raise DataError(
                f"{sets} of {counted(self.total, 'pair')} {verb} too large for "
                f"{counted(pairs, 'training pair')}: more than {LARGEST_SPLIT:.0%} of them "
                f"({self.settings})",
                self.at_most(int(LARGEST_SPLIT * share_kept * pairs)),
            )

    def tight_note(self, pairs: int, *, share_kept: float) -> str:
        """The warning that cleaning, which drops some of `pairs`, may leave too few; or "".

        share_kept: as of `require_small`.
        """
        if self.total <= LARGEST_SPLIT * share_kept * pairs:
            return ""
        return (
            f"{self.total:,} {self.name} pairs are almost {LARGEST_SPLIT:.0%} of "
            f"{counted(pairs, 'training pair')}, more than which `nmt prepare` refuses, and it "
            f"counts them without those that it drops, such as duplicates: "
            + self.at_most(int(LARGEST_SPLIT * share_kept * pairs))
        )

    @property
    def settings(self) -> str:
        """The settings that ask for the pairs, with their values."""
        sizes = (("data.valid_split", self.valid), ("data.test_split", self.test))
        return ", ".join(f"{key}: {size:,}" for key, size in sizes if size)

    def at_most(self, pairs: int) -> str:
        """The hint that no more than so many `pairs` can be set apart."""
        files = f"--valid SRC TGT{' --test-split 0' if self.test else ''}"
        if pairs < bool(self.valid) + bool(self.test):
            sizes = (("--valid-split 0", self.valid), ("--test-split 0", self.test))
            no_splits = " ".join(option for option, size in sizes if size)
            more = f", or use validation text of its own: {files}" if self.valid else ""
            return f"use more text, or set no pairs apart: {no_splits}{more}"
        if self.valid and self.test:
            options = f"--valid-split and --test-split of {pairs} pairs together"
        else:
            options = f"--{'valid' if self.valid else 'test'}-split {pairs}"
        if not self.valid:
            return f"use {options} or less, or more text"
        return f"use {options} or less, more text, or validation text of its own: {files}"
