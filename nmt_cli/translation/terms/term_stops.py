"""Takes out full stops behind a term of the glossary that ends with one itself: `Hund GmbH..`."""

import re
from collections.abc import Sequence

from nmt_cli.data.lexical.glossary import Match, capitalised
from nmt_cli.data.sentences.second_stops import STOPS, has_second_stop


class TermStops:
    """The stops behind the terms of one source."""

    def __init__(self, source: str, terms: Sequence[Match]) -> None:
        """terms: those of `source`."""
        self._source = source
        self._terms: dict[str, list[Match]] = {}
        for term in terms:
            for form in term.entry.forms:
                if form.endswith(STOPS):
                    for written in {form, capitalised(form)}:
                        self._terms.setdefault(written, []).append(term)
        # The longest form that stands at a place.
        longest_first = sorted(self._terms, key=len, reverse=True)
        self._forms = re.compile("|".join(map(re.escape, longest_first)))

    def __bool__(self) -> bool:
        """Whether a form of any of the terms ends with a stop."""
        return bool(self._terms)

    def without_second(self, text: str) -> str:
        """A translation without the stops that are too many."""
        result, end = "", 0
        for match in self._forms.finditer(text):
            result += text[end : match.end()]
            end = match.end()
            if all(self._is_second(match[0], text[end:], term) for term in self._terms[match[0]]):
                end += 1
        return result + text[end:]

    def _is_second(self, form: str, after: str, term: Match) -> bool:
        source = self._source
        return has_second_stop(form, after, source[term.begin : term.end], source[term.end :])
