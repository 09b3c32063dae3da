"""Verification for `nmt translate --verify`: whether each line translates the same by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints
from nmt_cli.translation.lines.inputs import no_shortlist
from nmt_cli.translation.result import Alternative, Translation
from nmt_cli.translation.translator import Translator


@dataclass(frozen=True)
class Difference:
    """A line, counted from 0, whose translation in its batch differs from that by itself.

    actual, expected: the first of its hypotheses that differ. depends_on_batch: whether the engine
    itself translates the line differently by itself; otherwise it differs from the reference model.
    """

    line: int
    actual: Alternative
    expected: Alternative
    depends_on_batch: bool

    def __str__(self) -> str:
        who = "alone" if self.depends_on_batch else "by the reference engine"
        return (
            f"line {self.line + 1:,}: `{self.actual.text}` (score {self.actual.score:.6f}), "
            f"but {who} `{self.expected.text}` (score {self.expected.score:.6f})"
        )


class Verifier:
    """Translates lines again, one at a time, and compares all their hypotheses.

    checked, differing: the numbers of lines so far.
    """

    def __init__(
        self,
        translator: Translator,
        search: SearchConfig,
        constraints: Constraints = NO_CONSTRAINTS,
        *,
        against_reference: bool,
        every: int = 1,
    ) -> None:
        """Prepare to compare the translations of `translator` with these settings.

        against_reference: compare with the reference model, which a float32 engine must equal; an
        engine with rounded weights is compared with itself. every: each n-th line is checked.
        """
        self._translator = translator
        self._baseline = _reference(translator, search) if against_reference else translator
        # With this few tokens, no two sources or segments of a line are searched together.
        self._search = replace(search, batch_tokens=1)
        self._constraints = constraints
        self._every = every
        self._seen = self.checked = self.differing = 0

    @property
    def baseline(self) -> str:
        """The translation that lines are compared with, for messages."""
        same = self._baseline is self._translator
        return "alone" if same else "alone, by the reference engine"

    def check(
        self,
        translations: Sequence[Translation],
        prefixes: Sequence[str] | None,
        first: int,
        every: int = 1,
    ) -> Iterator[Difference]:
        """The differences among translations of lines, the first of which is line `first`.

        prefixes: those they were translated with; every: as for `translate_window`.
        """
        for index, translation in enumerate(translations):
            line = first + every * index
            self._seen += 1
            if (self._seen - 1) % self._every == 0:
                prefix = None if prefixes is None else [prefixes[index]]
                yield from self._compare(translation, prefix, line)

    def _compare(
        self, actual: Translation, prefix: list[str] | None, line: int
    ) -> Iterator[Difference]:
        self.checked += 1
        expected = self._translate_alone(self._baseline, actual.source, prefix, line)
        rank = _first_difference(actual, expected)
        if rank is None:
            return
        self.differing += 1
        own = expected
        if self._baseline is not self._translator:
            own = self._translate_alone(self._translator, actual.source, prefix, line)
        depends_on_batch = _first_difference(actual, own) is not None
        shown = own if depends_on_batch else expected
        rank = _first_difference(actual, shown) or 0
        yield Difference(line, _ranked(actual, rank), _ranked(shown, rank), depends_on_batch)

    def _translate_alone(
        self, translator: Translator, text: str, prefix: list[str] | None, line: int
    ) -> Translation:
        [translation] = translator.translate_window(
            [text],
            search=self._search,
            constraints=self._constraints,
            prefixes=prefix,
            first=line,
        )
        return translation


def _reference(translator: Translator, search: SearchConfig) -> Translator:
    """A translator of the same models with the reference engine."""
    return Translator(
        translator.model,
        translator.config,
        translator.subwords,
        others=[_reference(other, search) for other in translator.others],
        shortlist=lambda: translator.shortlist_for(search) or no_shortlist(),
        text=translator.quality.text,
        confidence=translator.quality.confidence,
    )


def _first_difference(actual: Translation, expected: Translation) -> int | None:
    """The rank of the first hypotheses with different subwords, None where all are the same."""
    sides = [
        [(alternative.text, alternative.tokens) for alternative in side.hypotheses]
        for side in (actual, expected)
    ]
    for rank in range(max(map(len, sides))):
        if sides[0][rank : rank + 1] != sides[1][rank : rank + 1]:
            return rank
    return None


def _ranked(translation: Translation, rank: int) -> Alternative:
    return translation.hypotheses[min(rank, len(translation.hypotheses) - 1)]
