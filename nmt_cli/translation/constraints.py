"""What words a translation must and must not have, in the ids of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.config.schema import LanguagesConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.glossary import Entry, Glossary
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelling import (
    WITHOUT_SPACES,
    begins_inside,
    ends_inside,
    target_spellings,
)
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError, UsageError
from nmt_cli.search.banned_phrases import BannedPhrases
from nmt_cli.search.constraints import Form, LexicalConstraints, WordIds
from nmt_cli.search.logits_processors import LogitsProcessor


@dataclass(frozen=True)
class Constraints:
    """banned: words and phrases that may not come; glossary: terms that must, once each."""

    banned: tuple[str, ...] = ()
    glossary: tuple[Entry, ...] = ()


FREE = Constraints()


def check_constraints(wording: Constraints, search: SearchConfig) -> None:
    """Raise UsageError for what does not go together."""
    if wording.glossary and search.sample:
        raise UsageError(
            "a glossary needs beam search: what is drawn by chance cannot be made to hold a term",
            "leave out --sample, or --glossary",
        )


def read_banned(path: Path | str) -> tuple[str, ...]:
    """Words and phrases, one a line; blank lines do not count."""
    with read_lines(path, strict=True) as lines:
        return tuple(line.strip() for line in lines if line.strip())


class BoundConstraints:
    """A wording in the ids of a model's target language."""

    def __init__(
        self, wording: Constraints, subwords: Subwords, languages: LanguagesConfig
    ) -> None:
        """Raises DataError for a term that the model has no letters for."""
        self.rules: list[LogitsProcessor] = []
        self._glossary = Glossary(wording.glossary, spaced=languages.src not in WITHOUT_SPACES)
        self._forms: dict[int, tuple[Form, ...]] = {}
        self._words = WordIds()
        if not wording.banned and not wording.glossary:
            return
        spellings = target_spellings(subwords)
        spaced = languages.tgt not in WITHOUT_SPACES
        if wording.banned:
            texts = _as_written(wording.banned, subwords)
            self.rules.append(BannedPhrases(texts, spellings, whole_words=spaced))
        if wording.glossary:
            self._words = _word_ids(spellings) if spaced else WordIds()
            self._forms = _forms(wording.glossary, subwords)

    def terms(self, text: str) -> LexicalConstraints | None:
        """What a translation of `text` must hold."""
        forms = [self._forms[entry.line] for entry in self._glossary.find(text)]
        # Terms with the same forms need them once.
        return LexicalConstraints(tuple(dict.fromkeys(forms)), self._words) if forms else None


def _as_written(texts: Sequence[str], subwords: Subwords) -> list[str]:
    """Texts as the model would write them; those that it has no letters for can never come."""
    ids = subwords.encode_target(texts)
    known = [one for one in ids if subwords.unk_id not in one]
    return [text for text in subwords.decode_target(known) if text]


def _word_ids(spellings: Sequence[bytes]) -> WordIds:
    numbered = list(enumerate(spellings))
    return WordIds(
        frozenset(one for one, spelling in numbered if spelling and begins_inside(spelling)),
        frozenset(one for one, spelling in numbered if spelling and ends_inside(spelling)),
    )


def _forms(glossary: Sequence[Entry], subwords: Subwords) -> dict[int, tuple[Form, ...]]:
    found = {}
    for entry in glossary:
        ids = [tuple(one[:-1]) for one in subwords.encode_target(entry.forms)]
        for form, text in zip(ids, entry.forms, strict=True):
            if not form or subwords.unk_id in form:
                raise DataError(
                    f"the glossary, line {entry.line}: the model cannot write `{text}`",
                    "its subwords lack a letter of it: another spelling may do",
                )
        found[entry.line] = tuple(dict.fromkeys(ids))
    return found
