"""Names the command that converts two languages of a TMX file to TSV."""

import re
from collections.abc import Sequence

from nmt_cli.data.languages.labels import place_of
from nmt_cli.data.languages.names import guess_tsv_languages
from nmt_cli.data.text.shell_commands import AS_LINE, tsv_command

_LANGUAGE = re.compile(r'<tuv\b[^>]*\blang\s*=\s*["\']([\w-]+)["\']')
_TMX_TO_TSV = (
    f"import sys, xml.etree.ElementTree as E; {AS_LINE}; codes = []; "
    # The codes of a format, such as <bpt>, are left out; only <hi> has text of the sentence.
    't = lambda s: (s.text or "") + "".join(t(e) * (e.tag == "hi") + (e.tail or "") for e in s); '
    # en stands for en-US, too, but where a unit has both, the same code is taken.
    'n = lambda c: c.lower().replace("_", "-"); '
    'f = lambda u, c: min(((n(l) != n(c), s) for v in u.iter("tuv") for k, l in v.items() '
    'if k.endswith("lang") and (n(l) + "-").startswith(n(c) + "-") for s in v.iter("seg")), '
    'key=lambda x: x[0], default=("", E.Element("seg")))[1]; '
    'has_codes = lambda s: any(e.tag not in ("seg", "hi") for e in s.iter()); '
    "[(row := [f(u, c) for c in sys.argv[1:]], codes.extend(s.tag for s in row if has_codes(s)), "
    'print(*(as_line(t(s)) for s in row), sep="\\t"), u.clear()) '
    'for _, u in E.iterparse(sys.stdin.buffer) if u.tag == "tu"]; '
    'codes and print("segments from which codes of formats, such as <ph> and <bpt>, were left '
    'out:", len(codes), "(see the documentation of nmt, data.md, Other formats)", file=sys.stderr)'
)


def tmx_hint(start: str, name: str, languages: Sequence[str] = ()) -> str:
    """Return how to convert a TMX file, which begins with `start`.

    languages: the codes of source and target, if they are known.
    """
    codes = dict.fromkeys(code.lower().replace("_", "-") for code in _LANGUAGE.findall(start))
    chosen = _chosen(list(codes), languages)
    if chosen is None:
        convert, chosen = "convert it, with the codes of your languages for en and de", ("en", "de")
    else:
        convert = f"convert it, with `{chosen[0]}` as source and `{chosen[1]}` as target"
    return f"{convert}: {tmx_to_tsv(name, chosen, is_named=not languages)}"


def tmx_to_tsv(name: str, codes: Sequence[str], *, is_named: bool = False) -> str:
    """Return the command that converts the segments in two languages of a TMX file to TSV.

    is_named: whether the name of the new file tells the languages, if that of the TMX does not.

    >>> tmx_to_tsv("tm.tmx", ["en", "fr"], is_named=True).rpartition(" ")[2]
    'tm.en-fr.tsv'
    """
    suffix = f".{'-'.join(codes)}.tsv" if is_named and not guess_tsv_languages([name]) else ".tsv"
    return tsv_command(["python3", "-c", _TMX_TO_TSV, *codes], name, suffix)


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
