"""Finds the sentences of validation and test text in the training text.

Training text is repaired, and held-out text is not. Either may have the faults that are repaired,
or numbers of lines and verses on both sides, which stay. So both are compared as they were read, as
they are after the repairs, and without these numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.held_out.digests import loose_digests, sentence_digests
from nmt_cli.data.languages.unspaced import rough_word_count

# Shorter target sentences translate many sources in any text; they are not looked for.
LEAST_WORDS = 5
# A smaller share of target sentences beside other sources may be formulas of the kind of text.
LEAST_SHARE = 0.01

Sides = tuple[Sequence[str], Sequence[str]]


class _Forms(NamedTuple):
    """The digests of sentences in all their forms.

    lines: (forms,) int, the sentence of each form; digests: (forms,) SENTENCE_DIGEST.
    """

    lines: np.ndarray
    digests: np.ndarray

    @classmethod
    def of(
        cls,
        texts: Sequence[Sequence[str]],
        digests_of: Callable[[Sequence[str]], np.ndarray],
        is_used: Callable[[str], bool] = bool,
    ) -> "_Forms":
        """Take the forms for which `is_used`; texts: the lines as they are, then other forms."""
        lines, sentences = [], []
        for number, forms in enumerate(zip(*texts, strict=True)):
            used = [form for form in dict.fromkeys(forms) if is_used(form)]
            lines += [number] * len(used)
            sentences += used
        return cls(np.array(lines, np.int64), digests_of(sentences))

    def mark_found(self, found: np.ndarray, digests: np.ndarray) -> None:
        """Set `found`, (sentences,) bool, to True where a form of a sentence is among `digests`."""
        found[self.lines[np.isin(self.digests, digests)]] = True


class HeldOut:
    """The sentences of a validation or test set, to be found in the training text."""

    def __init__(self, name: str, translations: Sequence[Sequence[Sides]]) -> None:
        """Take the forms of the sources beside each of one or several translations of them.

        translations: for each, both sides cleaned, and in other forms in which copies are looked
        for. Lines with an empty source are ignored.
        """
        self.name = name
        (src, _), *_ = translations[0]
        kept = [line for line, source in enumerate(src) if source]

        def forms_of(texts: Iterable[Sequence[str]]) -> list[list[str]]:
            return [[text[line] for line in kept] for text in texts]

        sources = forms_of(src for forms in translations for src, _ in forms)
        self._src = _Forms.of(sources, sentence_digests)
        # Short ones say the same in many texts.
        self._loose_src = _Forms.of(sources, loose_digests, _is_long)
        self._targets = [
            _Forms.of(forms_of(tgt for _, tgt in forms), sentence_digests, _is_long_target)
            for forms in translations
        ]
        self._found_loose = np.zeros(len(kept), bool)
        self._found_src = np.zeros(len(kept), bool)
        self._found_tgt = np.zeros(len(kept), bool)

    def mark_found(self, pairs: np.ndarray, loose: np.ndarray) -> None:
        """Mark the sentences that some training pairs have.

        pairs: their digests, (pairs,) PAIR_DIGEST; loose: those of the sources that ignore capital
        letters and punctuation, (pairs,) SENTENCE_DIGEST.
        """
        self._src.mark_found(self._found_src, pairs["src"])
        self._loose_src.mark_found(self._found_loose, loose)
        for targets in self._targets:
            targets.mark_found(self._found_tgt, pairs["tgt"])

    @property
    def sources(self) -> np.ndarray:
        """The digests of the source sentences in all forms."""
        return self._src.digests

    @property
    def loose_sources(self) -> np.ndarray:
        """The loose digests of the source sentences that are not short, in all forms."""
        return self._loose_src.digests

    @property
    def long_targets(self) -> np.ndarray:
        """The digests of the target sentences that are not short, in all forms."""
        return np.concatenate([targets.digests for targets in self._targets])

    @property
    def count(self) -> int:
        """The number of sources that are not empty."""
        return len(self._found_src)

    @property
    def found_sources(self) -> int:
        """The number of source sentences found so far."""
        return int(self._found_src.sum())

    @property
    def found_loose_sources(self) -> int:
        """The number of long sources found only with other capital letters or punctuation."""
        return int((self._found_loose & ~self._found_src).sum())

    @property
    def found_targets(self) -> int:
        """The number of sources found only by a long translation so far."""
        return int((self._found_tgt & ~self._found_src & ~self._found_loose).sum())


class HeldOutSearch:
    """Looks for the sentences of several held-out sets in the training pairs, some at a time."""

    def __init__(self, held_out: Sequence[HeldOut]) -> None:
        """Take the sets, in which the sentences that are found will be marked."""
        self._held_out = held_out
        # For np.concatenate, which needs an array even if there are no sets.
        none = [sentence_digests([])]
        self._sources = np.concatenate([*none, *(one_set.sources for one_set in held_out)])
        self._loose_sources = np.concatenate(
            [*none, *(one_set.loose_sources for one_set in held_out)]
        )
        self._targets = np.concatenate([*none, *(one_set.long_targets for one_set in held_out)])

    def find(self, pairs: np.ndarray, loose: np.ndarray) -> np.ndarray:
        """Return whether each pair has a held-out source or long target: (pairs,) bool.

        pairs, loose: (pairs,), as of `HeldOut.mark_found`.
        """
        found: np.ndarray = (
            np.isin(pairs["src"], self._sources)
            | np.isin(loose, self._loose_sources)
            | np.isin(pairs["tgt"], self._targets)
        )
        if found.any():
            for one_set in self._held_out:
                one_set.mark_found(pairs[found], loose[found])
        return found


def _is_long(sentence: str) -> bool:
    return rough_word_count(sentence) >= LEAST_WORDS


def _is_long_target(sentence: str) -> bool:
    # Lines of capitals alone may be the brackets of a parser's trees, which many trees share.
    return _is_long(sentence) and not sentence.isupper()
