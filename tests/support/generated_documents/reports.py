"""Generated Word documents: paragraphs of runs, links, fields, tabs, tables, boxes."""

import io
import re
import zipfile

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from generated_documents.words import Words


def report(words: Words) -> bytes:
    """A document with paragraphs and tables, and sometimes a header."""
    document = docx.Document()
    body = document.element.body
    for _ in range(words.random.randint(1, 5)):
        xml = _table(words) if words.chance(0.2) else _paragraph(words)
        body.insert(len(body) - 1, parse_xml(xml))
    if words.chance(0.3):
        document.sections[0].header.paragraphs[0].text = words.words()
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def texts_of(data: bytes) -> str:
    """The texts of all parts, in the order of the archive; deleted text and fields, too."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    names = [name for name in archive.namelist() if re.match(r"word/(document|header)", name)]
    return "\n".join(re.sub(r"<[^>]*>", "", archive.read(name).decode()) for name in names)


def _paragraph(words: Words, depth: int = 0) -> str:
    return (
        f"<w:p {nsdecls('w')}>{'<w:pPr><w:keepNext/></w:pPr>' if words.chance(0.3) else ''}"
        + "".join(_content(words, depth) for _ in range(words.random.randint(1, 6)))
        + "</w:p>"
    )


def _table(words: Words) -> str:
    cells = "".join(f"<w:tc>{_paragraph(words)}</w:tc>" for _ in range(words.random.randint(1, 3)))
    return f"<w:tbl {nsdecls('w')}><w:tr>{cells}</w:tr></w:tbl>"


def _run(words: Words, content: str) -> str:
    properties = words.random.choice([
        "", "", "", "<w:b/>", "<w:i/>", "<w:b/><w:i/>", '<w:lang w:val="en"/>',
    ])  # fmt: skip
    return f"<w:r>{f'<w:rPr>{properties}</w:rPr>' if properties else ''}{content}</w:r>"


def _text(text: str) -> str:
    return f'<w:t xml:space="preserve">{text}</w:t>'


def _content(words: Words, depth: int) -> str:
    word, keep, inner = words.word, words.keep, words.words

    def run(content: str) -> str:
        return _run(words, content)

    def words_run() -> str:
        return run(_text(words.random.choice(["", " "]) + inner() + words.random.choice(" .")))

    makers = [
        words_run, words_run, words_run, words_run,
        lambda: run(_text(word()) + "<w:tab/>" + _text(word())), lambda: run("<w:tab/>"),
        lambda: run(_text(word()) + "<w:br/>" + _text(word())), lambda: run(_text("1,200.00")),
        lambda: run(_text(f"{word()} {{{keep()}}} {word()}")), lambda: run("<w:softHyphen/>"),
        lambda: f"<w:hyperlink>{words_run()}{words_run()}</w:hyperlink>",
        lambda: f"<w:ins>{words_run()}</w:ins>", lambda: run("<w:sym w:char='F0'/>"),
        lambda: f"<w:del><w:r><w:delText>{keep()}</w:delText></w:r></w:del>",
        lambda: f"<w:sdt><w:sdtPr/><w:sdtContent>{words_run()}</w:sdtContent></w:sdt>",
        lambda: f"<w:smartTag>{words_run()}</w:smartTag>", lambda: "<w:proofErr/>",
        lambda: f"<w:bookmarkStart w:id='0' w:name='{keep()}'/>{words_run()}<w:bookmarkEnd/>",
        lambda: run("<w:fldChar w:fldCharType='begin'/>")
                + run(f"<w:instrText>{keep()}</w:instrText>")
                + run("<w:fldChar w:fldCharType='separate'/>") + run(_text(keep()))
                + run("<w:fldChar w:fldCharType='end'/>"),
        lambda: f"<w:fldSimple w:instr='PAGE'>{run(_text(keep()))}</w:fldSimple>",
        lambda: run("<w:footnoteReference w:id='1'/>"),
    ]  # fmt: skip
    if depth < 1:
        makers.append(lambda: run(
            f"<w:pict><w:txbxContent>{_paragraph(words, 1)}</w:txbxContent></w:pict>"
        ))  # fmt: skip
    return words.pick(makers)
