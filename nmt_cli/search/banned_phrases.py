"""A logits processor that bans words and phrases, however they are split into subwords."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.logits_processors import LiveHypotheses, LogitsEdits, forbid

# The longest character in bytes: this much text before a phrase tells whether a word ended there.
CHARACTER = 4


class BannedPhrases:
    """A `search.logits_processors.LogitsProcessor`: forbids the id that would complete a phrase.

    A phrase begins at the start of a word. It is also forbidden as the beginning of a longer word
    where that word is split right after it, because the rest of the word is not known yet.
    """

    needs_history = True

    def __init__(
        self, phrases: Iterable[str], spellings: Sequence[bytes], *, whole_words: bool = True
    ) -> None:
        """spellings: of each id; whole_words: False for a language without spaces."""
        self._spellings = spellings
        self._whole_words = whole_words
        # Text so far -> ids that would complete a phrase, and whether a word has to begin there.
        self._endings: dict[bytes, list[tuple[int, bool]]] = defaultdict(list)
        ids: dict[bytes, list[int]] = defaultdict(list)
        for token_id, spelling in enumerate(spellings):
            if spelling:
                ids[spelling].append(token_id)
        for phrase in phrases:
            for spaced in (True, False):
                form = (" " * spaced + phrase).encode("utf-8")
                for cut in range(len(form)):
                    for token_id in ids.get(form[cut:], ()):
                        self._endings[form[:cut]].append((token_id, not spaced))
        self._longest = max(map(len, self._endings), default=0)

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Forbid the ids that would complete a phrase."""
        rows, ids = [], []
        live_ids = live.ids.tolist()
        for row, length in enumerate(live.lengths.tolist()):
            for token_id in self._completing_ids(self._last_text(live_ids[row][:length])):
                rows.append(row)
                ids.append(token_id)
        arrays = arrays_of(live.lengths)
        return forbid(arrays.integers(rows), arrays.integers(ids))

    def _last_text(self, ids: Sequence[int]) -> bytes:
        """The end of the text of `ids`, as long as the longest phrase needs it."""
        spellings, size = [], 0
        for token_id in reversed(ids):
            if size >= self._longest + CHARACTER:
                break
            spellings.append(self._spellings[token_id])
            size += len(spellings[-1])
        return b"".join(reversed(spellings))

    def _completing_ids(self, text: bytes) -> Iterable[int]:
        for size in range(min(len(text), self._longest) + 1):
            start = len(text) - size
            for token_id, begins in self._endings.get(text[start:], ()):
                if not (begins and self._whole_words and _in_word(text[:start])):
                    yield token_id


def _in_word(text: bytes) -> bool:
    """Whether `text` ends inside a word, or right after one."""
    return is_word_character(text[-CHARACTER:].decode("utf-8", errors="ignore")[-1:])
