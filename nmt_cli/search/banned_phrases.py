"""Words and phrases that may not come, however they are cut into subwords."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from nmt_cli.search.logits_processors import LiveHypotheses, LogitsEdits, forbid

# Bytes of the longest character: so much is looked at before a text, for the end of a word.
CHARACTER = 4


class BannedPhrases:
    """A `search.edits.Rule`: the id that would complete a text is forbidden.

    A text begins where a word does. It is forbidden as the beginning of a longer word too, if that
    is cut behind it: nobody knows yet how the word goes on.
    """

    looks_back = True

    def __init__(
        self, texts: Iterable[str], spellings: Sequence[bytes], *, whole_words: bool = True
    ) -> None:
        """`spellings`: of each id; `whole_words`: False where words are not told by spaces."""
        self._spellings = spellings
        self._whole_words = whole_words
        # What stands before -> ids that would complete a text, and whether a word must begin there.
        self._endings: dict[bytes, list[tuple[int, bool]]] = defaultdict(list)
        ids: dict[bytes, list[int]] = defaultdict(list)
        for one, spelling in enumerate(spellings):
            if spelling:
                ids[spelling].append(one)
        for text in texts:
            for spaced in (True, False):
                form = (" " * spaced + text).encode("utf-8")
                for cut in range(len(form)):
                    for one in ids.get(form[cut:], ()):
                        self._endings[form[:cut]].append((one, not spaced))
        self._longest = max(map(len, self._endings), default=0)

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Forbid what would complete a text."""
        rows, ids = [], []
        written = live.written.tolist()
        for row, length in enumerate(live.lengths.tolist()):
            for one in self._completing(self._end(written[row][:length])):
                rows.append(row)
                ids.append(one)
        return forbid(live.lengths.new_tensor(rows), live.lengths.new_tensor(ids))

    def _end(self, ids: Sequence[int]) -> bytes:
        """As much of the text of `ids` as matters."""
        parts, size = [], 0
        for one in reversed(ids):
            if size >= self._longest + CHARACTER:
                break
            parts.append(self._spellings[one])
            size += len(parts[-1])
        return b"".join(reversed(parts))

    def _completing(self, text: bytes) -> Iterable[int]:
        for size in range(min(len(text), self._longest) + 1):
            start = len(text) - size
            for one, begins in self._endings.get(text[start:], ()):
                if not (begins and self._whole_words and _in_word(text[:start])):
                    yield one


def _in_word(text: bytes) -> bool:
    """Whether a word may go on after `text`."""
    return text[-CHARACTER:].decode("utf-8", errors="ignore")[-1:].isalnum()
