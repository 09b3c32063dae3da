"""Reads two languages of a TMX file."""

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from nmt_cli.data.languages.labels import place_of
from nmt_cli.data.languages.names import guess_tsv_languages
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.language_hints import FormatAdvice
from nmt_cli.errors import DataError

_LANGUAGE = re.compile(r'<tuv\b[^>]*\blang\s*=\s*["\']([\w-]+)["\']')


def tmx_advice(start: str, name: str, languages: Sequence[str] = ()) -> FormatAdvice:
    """How to convert a TMX file, which begins with `start`.

    languages: the codes of source and target, if they are known.
    """
    codes = dict.fromkeys(code.lower().replace("_", "-") for code in _LANGUAGE.findall(start))
    chosen = _chosen(list(codes), languages)
    if chosen is None:
        what, chosen = "convert it, with the codes of your languages for en and de", ("en", "de")
    else:
        what = f"convert it, with `{chosen[0]}` as source and `{chosen[1]}` as target"
    # The name of the new file tells the languages, if that of the TMX does not.
    is_named = not languages and not guess_tsv_languages([name])
    suffix = f".{'-'.join(chosen)}.tsv" if is_named else ".tsv"
    return FormatAdvice.of(Conversion("TMX", _unit_rows, chosen, suffix=suffix), name, what)


def _unit_rows(source: SourceFile, columns: Columns) -> Iterator[Row]:
    """The segments of each unit in two languages; "" where it has none."""
    wanted = [_normal(code) for code in columns]
    with_codes = 0
    try:
        with source.binary() as file:
            for _, unit in ElementTree.iterparse(file):
                if unit.tag == "tu":
                    segments = [_segment(unit, code) for code in wanted]
                    with_codes += sum(_has_codes(segment) for segment in segments)
                    yield [_text_of(segment) for segment in segments]
                    unit.clear()
    except ElementTree.ParseError as error:
        raise DataError(
            f"`{source.name}` is no complete XML: {error}", "write or download it again, in full"
        ) from error
    if with_codes:
        source.notes.append(
            "segments from which codes of formats, such as <ph> and <bpt>, were left out: "
            f"{with_codes:,} (docs/data.md, Other formats)"
        )


def _segment(unit: ElementTree.Element, code: str) -> ElementTree.Element:
    """The segment in a language: `en` finds en-US, too, but where a unit has both, en counts."""
    found = [
        (_normal(value) != code, segment)
        for variant in unit.iter("tuv")
        for name, value in variant.items()
        if name.endswith("lang") and f"{_normal(value)}-".startswith(f"{code}-")
        for segment in variant.iter("seg")
    ]
    return min(found, key=lambda entry: entry[0])[1] if found else ElementTree.Element("seg")


def _text_of(node: ElementTree.Element) -> str:
    """The text without the codes of a format, such as <bpt>; only <hi> has text of the sentence."""
    within = ((_text_of(child) if child.tag == "hi" else "") + (child.tail or "") for child in node)
    return (node.text or "") + "".join(within)


def _has_codes(segment: ElementTree.Element) -> bool:
    return any(node.tag not in ("seg", "hi") for node in segment.iter())


def _normal(code: str) -> str:
    return code.lower().replace("_", "-")


def _chosen(codes: Sequence[str], languages: Sequence[str]) -> tuple[str, str] | None:
    """The codes of source and target, of those of a file; None if it has only one.

    Where the languages are not known, or the file lacks them, they are the first ones.

    >>> _chosen(["quz", "qu", "en-us"], ("en", "qu")), _chosen(["quz", "qu"], ("en", "qu"))
    (('en', 'qu'), ('quz', 'qu'))
    >>> _chosen(["en-us", "de-de"], ()), _chosen(["pt-br", "pt-pt"], ()), _chosen(["en-us"], ())
    (('en', 'de'), ('pt-br', 'pt-pt'), None)
    """
    primary = list(dict.fromkeys(code.partition("-")[0] for code in codes))
    first = primary if len(primary) > 1 else codes
    if len(first) < 2:
        return None
    src, tgt = (_code_of(codes, language) for language in languages or ("", ""))
    # A file may lack one of them, or both; what is taken in its place is another language.
    src = src or next((code for code in first if not tgt or not _fits(code, tgt)), None)
    tgt = tgt or next((code for code in first if src and not _fits(code, src)), None)
    return (src, tgt) if src and tgt and src != tgt else (first[0], first[1])


def _code_of(codes: Sequence[str], language: str) -> str | None:
    """The code that finds a language in a file with these codes, or None.

    >>> _code_of(["en-us", "pt-br"], "en"), _code_of(["en-us", "eng"], "eng")
    ('en', 'eng')
    >>> _code_of(["pt-pt", "pt-br"], "pt_BR"), _code_of(["swh"], "sw")
    ('pt-br', None)
    """
    place = place_of(codes, language)
    if place is None:
        return None
    code, wanted = codes[place], language.lower().replace("_", "-")
    return wanted if code.startswith(f"{wanted}-") else code


def _fits(code: str, other: str) -> bool:
    """Whether one of two codes stands for the other."""
    return code == other or f"{code}-".startswith(f"{other}-") or f"{other}-".startswith(f"{code}-")
