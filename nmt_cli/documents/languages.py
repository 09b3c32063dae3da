"""Compares the languages that a document declares with those of the model."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from nmt_cli.data.languages.codes import base_code
from nmt_cli.documents.document import ReadOptions

# Names of languages, such as `French`, are no codes.
_CODE = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")
# Codes of former times, and one of the two written forms of Norwegian.
_SAME = {"in": "id", "iw": "he", "ji": "yi", "nn": "no"}
# Codes that say that the language is not known, that there are several, or that there is none.
_NO_LANGUAGE = frozenset(("und", "mul", "mis", "zxx"))


class Declared(NamedTuple):
    """The language that a document declares for one of its sides.

    code: as it is written; name: of the attribute or field that says it; line: where it stands.
    """

    side: Literal["source", "target"]
    code: str
    name: str
    line: int


def language_warnings(options: ReadOptions, declared: Iterable[Declared]) -> list[str]:
    """The warnings that a document has other languages than the model: one for each side.

    Codes are compared without country and script. What is no code, a model whose languages are
    not known, and codes of two and of three letters that are not known to be the same language,
    say nothing.

    >>> options = ReadOptions("a.po", language="fr", source_language="en")
    >>> language_warnings(options, [Declared("target", "fr_CA", "Language", 3)])
    []
    >>> language_warnings(options, [Declared("target", "de", "Language", 3)])[0].partition(":")[0]
    '`a.po`, line 3'
    """
    first: dict[str, str] = {}
    for declaration in declared:
        side = declaration.side
        model_language = options.source_language if side == "source" else options.language
        if side not in first and _differ(declaration.code, model_language):
            first[side] = _warning(options, declaration, model_language)
    return list(first.values())


def _differ(code: str, model_language: str) -> bool:
    """Whether a declared code surely is that of another language than the model's."""
    if not (_CODE.match(code) and _CODE.match(model_language)):
        return False
    codes = [base_code(code.partition("@")[0]), base_code(model_language)]
    first, second = (_SAME.get(base, base) for base in codes)
    # `gsw` may be a kind of `de`.
    return first != second and len(first) == len(second) and _NO_LANGUAGE.isdisjoint(codes)


def _warning(options: ReadOptions, declared: Declared, model_language: str) -> str:
    where = f"`{options.name}`, line {declared.line}"
    code, name = declared.code, declared.name
    if declared.side == "source":
        return (
            f"{where}: its texts are in `{code}` by its `{name}`, but the model translates from "
            f"`{model_language}`; translate it with a model from `{code}`, or correct `{name}`"
        )
    return (
        f"{where}: its translations are in `{code}` by its `{name}`, but those of the model are "
        f"in `{model_language}`; translate it with a model into `{code}`, or change `{name}` to "
        f"`{model_language}`"
    )
