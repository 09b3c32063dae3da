"""Constraints on words: banned phrases and a glossary, in a model's ids, and kept names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from nmt_cli.config.schema import LanguagesConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.glossary import Entry, Glossary, Match, capitalised, entries_of
from nmt_cli.data.markup.kept import KeptNames
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import (
    WITHOUT_SPACES,
    begins_inside,
    ends_inside,
    source_spellings,
    target_spellings,
    unwritable_hint,
)
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.errors import DataError, UsageError
from nmt_cli.search.banned_phrases import BannedPhrases
from nmt_cli.search.constraints import Form, LexicalConstraints, Place, WordIds
from nmt_cli.search.logits_processors import LogitsProcessor


@dataclass(frozen=True)
class Constraints:
    """Words that translations must not, or must, contain.

    ban: words and phrases that never occur in them; glossary: the terms that they use, from
    `read_glossary`, or as a dict, {"dog": "Hund", "cat": ["Katze", "Katzen"]}; keep: names and
    other texts that are copied wherever they occur in the source as whole words, in this case.
    Raises UsageError for other glossaries and for kept names that are blank or have tabs or line
    breaks, TypeError for banned words and kept names that are no list of str.
    """

    ban: Sequence[str] = ()
    glossary: tuple[Entry, ...] | Mapping[str, str | Sequence[str]] = ()
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        for field, example in (("ban", "dog"), ("keep", "NordPad")):
            given = getattr(self, field)
            if not isinstance(given, list | tuple) or not all(
                isinstance(phrase, str) for phrase in given
            ):
                raise TypeError(f'{field} is a list of str, such as ["{example}"], not {given!r}')
            object.__setattr__(self, field, tuple(given))
        for name in self.keep:
            if problem := _problem_of_name(name):
                raise UsageError(
                    f"the kept name {name!r} {problem}", 'write Constraints(keep=["NordPad"])'
                )
        try:
            if isinstance(self.glossary, Mapping):
                object.__setattr__(self, "glossary", entries_of(self.glossary))
        except ValueError as error:
            raise UsageError(f"the glossary, {error}") from None
        if not all(isinstance(entry, Entry) for entry in self.glossary):
            raise UsageError(
                "the glossary is neither a dict nor what `read_glossary` returns",
                'write Constraints(glossary={"dog": "Hund", "cat": ["Katze", "Katzen"]})',
            )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of the glossary."""
        assert not isinstance(self.glossary, Mapping)
        return self.glossary

    def over(self, general: "Constraints") -> "Constraints":
        """These constraints and general ones; for a term that both have, these forms are taken.

        Where one of the two is empty, it is the other object itself, which may be bound already.
        """
        if self == NO_CONSTRAINTS:
            return general
        if general == NO_CONSTRAINTS:
            return self
        # Of two terms that match the same words, as `dog` and `Dog` may, the first one is taken.
        return Constraints(
            (*self.ban, *general.ban),
            self.entries + general.entries,
            (*self.keep, *general.keep),
        )

    @cached_property
    def only_kept(self) -> "Constraints":
        """The kept names alone, which hold for every model of several that work in turn."""
        return Constraints(keep=self.keep) if self.keep else NO_CONSTRAINTS


def _problem_of_name(name: str) -> str:
    """What is wrong with a kept name; "" for nothing."""
    if not name.strip():
        return "is blank"
    return "has a tab or a line break" if {*name} & {*"\t\n\r"} else ""


NO_CONSTRAINTS = Constraints()


def check_constraints(
    constraints: Constraints, search: SearchConfig, *, typed: bool = False
) -> None:
    """Raise UsageError for a glossary with sampling, and for kept names without markup.

    typed: whether messages name options of the command line instead of arguments of Python.
    """
    if constraints.glossary and search.sample:
        raise UsageError(
            "a glossary needs beam search: sampled translations cannot be made to contain a term",
            "leave out --sample (search.sample=true), or --glossary"
            if typed
            else "set sample=False, or leave out the glossary of the constraints",
        )
    if constraints.keep and search.markup == "off":
        without = "--markup off" if typed else 'markup="off"'
        raise UsageError(
            f"names are kept like placeholders, and {without} translates these like words",
            "leave out --markup off, or --keep"
            if typed
            else 'set markup="keep", or leave out the kept names of the constraints',
        )


def read_banned(path: Path | str) -> tuple[str, ...]:
    """Words and phrases of a file, one per line; blank lines are skipped."""
    with read_lines(path, strict=True) as lines:
        return tuple(line.strip() for line in lines if line.strip())


def read_kept(paths: Iterable[Path | str]) -> tuple[str, ...]:
    """Names of several files, one per line; blank lines are skipped.

    Raises DataError for a line with a tab.
    """
    names: dict[str, None] = {}
    for path in paths:
        with read_lines(path, strict=True) as lines:
            for number, line in enumerate(lines, 1):
                if "\t" in line.strip():
                    raise DataError(
                        f"`{lines.name}`, line {number:,}: the name has a tab",
                        "each line must be one name",
                    )
                names[clean_line(line).strip()] = None
    return tuple(filter(None, names))


class BoundConstraints:
    """Constraints in the ids of a model's target language.

    processors: the logits processors that the banned phrases need; kept_names: finds the names that
    are kept; languages: the codes of source and target.
    """

    def __init__(
        self,
        constraints: Constraints,
        subwords: Subwords,
        languages: LanguagesConfig,
        known: "BoundConstraints | None" = None,
        repair: Callable[[str], str] | None = None,
    ) -> None:
        """Raises DataError for a term that the model's subwords cannot spell.

        repair: of the letters of the source texts.
        known: others of the same model; entries that they have, too, are not encoded again.
        """
        self.processors: list[LogitsProcessor] = []
        self.languages = languages.src, languages.tgt
        spaced_source = languages.src not in WITHOUT_SPACES
        self.kept_names = KeptNames(constraints.keep, spaced=spaced_source)
        self._glossary = Glossary(constraints.entries, spaced=spaced_source, repair=repair)
        self._forms: dict[Entry, tuple[Form, ...]] = {}
        self._words = WordIds()
        if not constraints.ban and not constraints.glossary:
            return
        spaced = languages.tgt not in WITHOUT_SPACES
        if constraints.ban:
            phrases = _respelled(constraints.ban, subwords)
            self.processors.append(
                BannedPhrases(phrases, target_spellings(subwords), whole_words=spaced)
            )
        if constraints.glossary:
            self._words = _word_ids(subwords) if spaced else WordIds()
            encoded = known._forms if known else {}
            new = [entry for entry in constraints.entries if entry not in encoded]
            self._forms = {**encoded, **_forms(new, subwords)}
            self._source_spellings = source_spellings(subwords)

    def has_term(self, text: str) -> bool:
        """Whether a term of the glossary occurs in `text`."""
        return bool(self._glossary.find(text))

    def terms_in(self, text: str) -> list[Match]:
        """Each occurrence of a term of the glossary in `text`."""
        return list(self._glossary.matches(text))

    def for_source(self, text: str, ids: Sequence[int]) -> LexicalConstraints | None:
        """The terms that a translation of `text` must contain; None where there are none.

        ids: those of `text`; the places of the terms are searched in what they spell.
        """
        # Two terms with the same forms are one constraint.
        forms = tuple(dict.fromkeys(self._forms[entry] for entry in self._glossary.find(text)))
        if not forms:
            return None
        spelled = SpelledIds(ids, self._source_spellings)
        places = [
            Place(forms.index(self._forms[match.entry]), positions)
            for match in self._glossary.matches(spelled.text)
            if self._forms[match.entry] in forms
            if (positions := spelled.positions(match.begin, match.end))
        ]
        return LexicalConstraints(forms, self._words, tuple(places))


def _respelled(phrases: Sequence[str], subwords: Subwords) -> list[str]:
    """Phrases as the model spells them, without those that its subwords cannot spell."""
    encoded = subwords.encode_target(phrases)
    known = [ids for ids in encoded if subwords.unk_id not in ids]
    return [phrase for phrase in subwords.decode_target(known) if phrase]


@lru_cache(maxsize=1)
def _word_ids(subwords: Subwords) -> WordIds:
    spellings = [
        (token_id, spelling)
        for token_id, spelling in enumerate(target_spellings(subwords))
        if spelling
    ]
    return WordIds(
        frozenset(token_id for token_id, spelling in spellings if begins_inside(spelling)),
        frozenset(token_id for token_id, spelling in spellings if ends_inside(spelling)),
    )


def _forms(glossary: Sequence[Entry], subwords: Subwords) -> dict[Entry, tuple[Form, ...]]:
    """The ids of the forms of each entry, then of those that begin with a capital instead.

    A form that is the source term itself, such as the name of a command, never has a capital.
    """
    result = {}
    for entry in glossary:
        # Without EOS.
        forms = [tuple(ids[:-1]) for ids in subwords.encode_target(entry.forms)]
        for form, text in zip(forms, entry.forms, strict=True):
            if not form or subwords.unk_id in form:
                place = f"`{entry.file}`, line {entry.line}" if entry.file else "the glossary"
                term = "" if entry.file else f" for the term `{entry.source}`"
                raise DataError(
                    f"{place}: the model cannot write `{text}`{term}",
                    unwritable_hint(text, subwords),
                )
        names = [capitalised(form) for form in entry.forms if form != entry.source]
        capitals = (tuple(ids[:-1]) for ids in subwords.encode_target(names))
        forms += [form for form in capitals if form and subwords.unk_id not in form]
        result[entry] = tuple(dict.fromkeys(forms))
    return result
