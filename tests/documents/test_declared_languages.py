"""Documents that declare other languages than those of the model are warned of."""

import pytest
from document_samples import opened

from nmt_cli.documents.document import warnings_of

UNIT = "<trans-unit id='1'><source>A dog</source>{}</trans-unit>"
FILE = "<file {}><body>" + UNIT + "</body></file>"
FILE_2 = (
    '<xliff version="2.1"\n {}><file><unit><segment><source>A dog</source></segment></unit>'
    "</file></xliff>"
)
PO = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"{}\\n"\n\n'
    'msgid "A dog"\nmsgstr "{}"\n'
)

PAGE = "<!DOCTYPE html>\n<html{}>\n<body{}><p>A dog</body></html>"


def xliff(*files: str) -> str:
    return f'<xliff version="1.2">\n{"".join(files)}</xliff>'


def warned(text: str, kind: str, target: str = "fr", source: str = "en") -> list[str]:
    return list(warnings_of(opened(text, kind, language=target, source_language=source)))


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        (FILE_2.format('srcLang="en" trgLang="de"'), "xliff", ("line 1", "`de`", "`trgLang`")),
        (FILE_2.format('srcLang="es" trgLang="fr"'), "xliff", ("line 1", "`es`", "`srcLang`")),
        (
            xliff(FILE.format('target-language="fr"', ""), FILE.format('target-language="pt"', "")),
            "xliff",
            ("line 2", "`pt`", "`target-language`"),
        ),
        (PO.format("Language: de", ""), "po", ("line 4", "`de`", "`Language`")),
        (PAGE.format(' lang="es-MX"', ""), "html", ("line 2", "`es-MX`", "`lang`")),
        (PAGE.format(" xml:lang='pt' lang=ES ", ""), "html", ("line 2", "`ES`", "`lang`")),
        (PAGE.format(' xml:lang="pt"', ""), "html", ("line 2", "`pt`", "`xml:lang`")),
        # A page that has been translated already.
        (PAGE.format(' lang="fr"', ""), "html", ("line 2", "`fr`", "`lang`")),
        (PAGE.format(' lang="en"', ' lang="es"'), "html", ("line 3", "`es`", "`lang`")),
        (2 * PAGE.format(' lang="es"', ""), "html", ("line 4", "`es`", "`lang`")),
    ],
)
def test_other_language_is_warned_of(text: str, kind: str, parts: tuple[str, ...]) -> None:
    [warning] = warned(text, kind)
    known = "en" if kind == "html" or "`srcLang`" in parts else "fr"
    assert all(part in warning for part in ("`file`", *parts, f"`{known}`"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (FILE_2.format('srcLang="en-US" trgLang="fr-CA"'), "xliff"),
        (FILE_2.format('srcLang="und" trgLang="mul"'), "xliff"),
        (FILE_2.format(""), "xliff"),
        (xliff(FILE.format('source-language="eng" target-language="fra"', "")), "xliff"),
        # Nothing is written into it.
        (xliff(FILE.format('target-language="de"', "<target>Ein Hund</target>")), "xliff"),
        (PO.format("Language: de", "Ein Hund"), "po"),
        (PO.format("Language: ", ""), "po"),
        (PO.format("Language: fr@quot", ""), "po"),
        (PO.format("Language: French", ""), "po"),
        (PO.format("Language-Team: de", ""), "po"),
        (PO.format("Language: fr", "").replace("A dog", "Language: de"), "po"),
        (PAGE.format("", ""), "html"),
        (PAGE.format(' lang="en-GB"', ""), "html"),
        (PAGE.format(' lang="eng"', ' lang=""'), "html"),
        (PAGE.format(' lang=""', ""), "html"),
        (PAGE.format(' lang="{{ language }}"', ""), "html"),
        (PAGE.format(' lang="x-klingon"', ""), "html"),
        (PAGE.format(' lang="gsw"', ""), "html"),
        (PAGE.format(' hreflang="es" data-lang="es"', ""), "html"),
        # The text is not that of the menu around it.
        (PAGE.format(' lang="es"', ' lang="en"'), "html"),
        (PAGE.format("", "").replace("<p>", '<p lang="es">'), "html"),
        (PAGE.format(' lang="es"', "").replace("A dog", "3.5 %"), "html"),
    ],
)
def test_same_or_unknown_language_says_nothing(text: str, kind: str) -> None:
    assert warned(text, kind) == []


def test_model_whose_languages_are_not_known_says_nothing() -> None:
    text = FILE_2.format('srcLang="es" trgLang="de"')
    assert warned(text, "xliff", target="", source="") == []
    assert warned(text, "xliff", target="legal", source="") == []


@pytest.mark.parametrize(("declared", "known"), [("nn-NO", "no"), ("nb", "no"), ("iw", "he")])
def test_other_codes_of_the_same_language_say_nothing(declared: str, known: str) -> None:
    assert warned(PAGE.format(f' lang="{declared}"', ""), "html", source=known) == []
    assert warned(PAGE.format(f' lang="{known}"', ""), "html", source=declared) == []
