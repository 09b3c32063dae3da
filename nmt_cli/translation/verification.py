"""Whether translations are what each line gets alone: what `nmt translate --verify` asks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.constraints import FREE, Constraints
from nmt_cli.translation.inputs import no_shortlist
from nmt_cli.translation.result import Alternative, Translation
from nmt_cli.translation.translator import Translator


@dataclass(frozen=True)
class Difference:
    """A line, counted from 0, that gets other words among other lines than by itself.

    found, expected: the first of its hypotheses that differ. neighbours: whether the engine itself
    gives other words to the line alone; else it differs from the plain model.
    """

    line: int
    found: Alternative
    expected: Alternative
    neighbours: bool

    def __str__(self) -> str:
        who = "alone" if self.neighbours else "by the plain model"
        return (
            f"line {self.line + 1:,}: `{self.found.text}` (score {self.found.score:.6f}), "
            f"but {who} `{self.expected.text}` (score {self.expected.score:.6f})"
        )


class Verifier:
    """Translates lines again, one at a time, and compares all their hypotheses.

    checked, differing: lines so far.
    """

    def __init__(
        self,
        translator: Translator,
        search: SearchConfig,
        wording: Constraints = FREE,
        *,
        plain: bool,
        every: int = 1,
    ) -> None:
        """plain: whether the plain model judges, which has the words of engines in float32; those
        of narrow weights are compared with the same engine. every: the n-th lines are checked.
        """
        self._translator = translator
        self._judge = _plain(translator, search) if plain else translator
        # So few that no two sources, nor pieces of a line, are searched together.
        self._search = replace(search, batch_tokens=1)
        self._wording = wording
        self._every = every
        self.checked = self.differing = 0

    @property
    def judge(self) -> str:
        """What a line is compared with."""
        same = self._judge is self._translator
        return "alone" if same else "alone, by the plain model"

    def check(
        self, translations: Sequence[Translation], prefixes: Sequence[str] | None, first: int
    ) -> Iterator[Difference]:
        """Those that differ among translations of neighbouring lines, the first of which is
        number `first`; prefixes: as they were translated with.
        """
        for place, translation in enumerate(translations):
            number = first + place
            if number % self._every == 0:
                prefix = None if prefixes is None else [prefixes[place]]
                yield from self._compare(translation, prefix, number)

    def _compare(
        self, found: Translation, prefix: list[str] | None, number: int
    ) -> Iterator[Difference]:
        self.checked += 1
        expected = self._alone(self._judge, found.source, prefix, number)
        rank = _first_difference(found, expected)
        if rank is None:
            return
        self.differing += 1
        own = expected
        if self._judge is not self._translator:
            own = self._alone(self._translator, found.source, prefix, number)
        neighbours = _first_difference(found, own) is not None
        shown = own if neighbours else expected
        rank = _first_difference(found, shown) or 0
        yield Difference(number, _ranked(found, rank), _ranked(shown, rank), neighbours)

    def _alone(
        self, translator: Translator, line: str, prefix: list[str] | None, number: int
    ) -> Translation:
        [translation] = translator.translate_window(
            [line], search=self._search, wording=self._wording, prefixes=prefix, first=number
        )
        return translation


def _plain(translator: Translator, search: SearchConfig) -> Translator:
    """The same models without their engines."""
    return Translator(
        translator.model,
        translator.config,
        translator.subwords,
        others=[_plain(one, search) for one in translator.others],
        shortlist=lambda: translator.shortlist_for(search) or no_shortlist(),
    )


def _first_difference(one: Translation, other: Translation) -> int | None:
    """The rank of the first hypotheses with other subwords, None where there are none."""
    both = [[(each.text, each.tokens) for each in side.hypotheses] for side in (one, other)]
    for rank in range(max(map(len, both))):
        if both[0][rank : rank + 1] != both[1][rank : rank + 1]:
            return rank
    return None


def _ranked(translation: Translation, rank: int) -> Alternative:
    return translation.hypotheses[min(rank, len(translation.hypotheses) - 1)]
