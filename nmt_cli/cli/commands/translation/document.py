"""`nmt translate --document`: a document with its text translated and all else kept."""

import contextlib
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.cli.display.flags import FlagReport
from nmt_cli.cli.display.line_progress import LineProgress
from nmt_cli.cli.display.misfit import warn_of_misfit
from nmt_cli.cli.options.typed import typed_options
from nmt_cli.cli.text_io import STDIN, STDOUT, open_text_file
from nmt_cli.errors import UsageError
from nmt_cli.translation.json_lines import as_json_line

if TYPE_CHECKING:
    from nmt_cli.cli.commands.translation.work import Work
    from nmt_cli.data.markup.marked_text import MarkedText
    from nmt_cli.documents.document import Document
    from nmt_cli.translation.result import Translation

JSON_LINES, TABLE = "jsonl", "table"
_FOR_LINES = ("--scores", "--prefix", "--verify", "--verify-every", "--part")
# Options that no hint repeats for a document; `-o FILE` is a part of the hint.
_NOT_FOR_DOCUMENTS = (*_FOR_LINES, "--n-best", "--alignment", "--markup", "--output", "--force")


class DocumentOptions(NamedTuple):
    """What the command line says about documents."""

    documents: Sequence[str] | None
    fields: Sequence[str] | None
    kind: str | None
    json_input: bool
    translation_field: str
    flags_field: str
    fuzzy: bool

    @property
    def document(self) -> str | None:
        """The file of --document."""
        return self.documents[0] if self.documents else None

    @property
    def field(self) -> str | None:
        """The name of --field."""
        return self.fields[0] if self.fields else None

    @property
    def is_document(self) -> bool:
        """Whether a document is translated, and not lines."""
        return self.document is not None or self.json_input

    def check(
        self,
        file: str,
        output: Path | None,
        unfit: Sequence[object],
        flags: Mapping[str, object],
        as_json: bool,
    ) -> str:
        """The name of the file to read; raises UsageError for options that do not fit.

        file: the argument; unfit: --scores, --prefix, --verify, --verify-every, --part; flags:
        the settings that are given as options; as_json: whether JSON is written instead of the
        document.
        """
        from nmt_cli.documents.kinds import KINDS, require_same_format

        for option, given in (("--document", self.documents), ("--field", self.fields)):
            if given and len(given) > 1:
                shown = " and ".join(f"`{name}`" for name in given)
                raise UsageError(
                    f"{option} is given {len(given)} times, for {shown}, and is used once",
                    "run `nmt translate` once for each",
                )
        if not self.is_document:
            if self.kind or self._field_options() or self.fuzzy:
                raise UsageError(
                    "--kind, --field, --translation-field, --flags-field and --fuzzy are for "
                    "documents", "add --document FILE"
                )  # fmt: skip
            return file
        kind = self._kind(file)
        wrong = [name for name, value in zip(_FOR_LINES, unfit, strict=True) if value]
        wrong += ["--n-best"] if flags.get("search.n_best") not in (None, 1) else []
        wrong += ["--alignment"] if flags.get("search.alignment") else []
        if wrong:
            raise UsageError(
                f"{', '.join(wrong)}: not for documents", "leave it out, or translate lines"
            )
        self._require_fields(kind)
        if self.translation_field == self.flags_field:
            raise UsageError(
                f"--translation-field and --flags-field are both `{self.flags_field}`",
                "name two fields",
            )
        if self.fuzzy and kind not in ("po", "xliff"):
            raise UsageError("--fuzzy is for catalogues (.po) and XLIFF", "leave it out")
        to_stdout = output is None or str(output) == STDOUT
        if KINDS[kind].is_binary and to_stdout and not as_json:
            raise UsageError(f"a {kind} document is not written to stdout", "add -o FILE")
        if output is not None and not as_json:
            require_same_format(kind, self._file(file), str(output))
        return self._file(file)

    def _require_fields(self, kind: str) -> None:
        """Raise UsageError for options about fields that this kind of documents does not have."""
        from nmt_cli.documents.kinds import KINDS

        given = self._field_options()
        if given == ["--field"]:
            is_fit, names = KINDS[kind].has_fields, "JSON, JSON lines and tables"
            hint = "--kind json, --kind jsonl or --kind table"
        else:
            is_fit, names = KINDS[kind].adds_fields, "JSON lines and tables"
            hint = "--kind jsonl or --kind table"
        if given and not is_fit:
            raise UsageError(
                f"{', '.join(given)}: for {names} only", f"add {hint}, or leave it out"
            )

    def _field_options(self) -> list[str]:
        """The options about fields that differ from their defaults."""
        chosen = {
            "--field": self.field is not None,
            "--translation-field": self.translation_field != "translation",
            "--flags-field": self.flags_field != "flags",
        }
        return [name for name, is_chosen in chosen.items() if is_chosen]

    def _file(self, file: str) -> str:
        return file if self.document is None else self.document

    def _kind(self, file: str) -> str:
        from nmt_cli.documents.kinds import kind_of
        from nmt_cli.storage.files import require_file

        if self.document is not None and file != STDIN:
            raise UsageError(
                f"--document names a file, and so does the argument `{file}`",
                "give only --document",
            )
        if self.json_input and self.kind not in (None, JSON_LINES):
            raise UsageError(
                f"--json-input reads JSON lines, --kind says {self.kind}", "give only one of them"
            )
        if self.document == STDIN and self.kind is None and not self.json_input:
            raise UsageError("--document -: the kind of stdin is not known", "add --kind")
        name = self._file(file)
        if Path(name).is_dir():
            require_file(Path(name))
        return kind_of(name, JSON_LINES if self.json_input else self.kind)

    def read(self, file: str, models: tuple[str, str]) -> "Document":
        """The document; raises the errors of its kind, before a model is loaded.

        models: the directories of the first and the last one that translate, often the same.
        """
        from nmt_cli.documents.document import MAX_DOCUMENT_BYTES, ReadOptions
        from nmt_cli.documents.encoding import read_document_bytes
        from nmt_cli.documents.kinds import kind_of, read_document

        if file == STDIN:
            stdin = getattr(sys.stdin, "buffer", io.BytesIO())
            data: bytes = stdin.read(MAX_DOCUMENT_BYTES + 1)
        else:
            data = read_document_bytes(Path(file))
        kind = kind_of(file, JSON_LINES if self.json_input else self.kind)
        options = ReadOptions(
            "stdin" if file == STDIN else file, self._language(models[1], "tgt"), self.field or "",
            self.translation_field, self.flags_field, fuzzy=self.fuzzy,
            source_language=self._language(models[0], "src"),
        )  # fmt: skip
        return read_document(data, kind, options)

    def _language(self, model: str, side: str) -> str:
        """The language of a side of the model, for documents that say theirs; "" if not known."""
        import tomllib

        from nmt_cli.storage.model_check import CONFIG

        try:
            settings = tomllib.loads((Path(model) / CONFIG).read_text("utf-8"))
            language = settings["languages"][side]
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        # "src" and "tgt" are the names of languages that nobody has named.
        return language if isinstance(language, str) and language != side else ""


def require_no_document(file: str) -> None:
    """Raise UsageError for a document whose text is not in lines, such as that of a .docx file."""
    from nmt_cli.documents.kinds import KINDS, kind_by_suffix

    kind = kind_by_suffix(file)
    if kind is not None and KINDS[kind].is_binary:
        raise UsageError(
            f"`{file}` is a document, not text with a sentence on each line",
            f"to translate its text and keep its format: {document_command(file)}",
        )


def document_command(file: str, column: str = "NAME") -> str:
    """The command that translates a file as a document, with the options that were typed.

    column: the name of the column of a table.

    >>> document_command("my page.html")
    "nmt translate --document 'my page.html' -o FILE"
    >>> document_command("a.csv"), document_command("a.tsv.gz").partition(" | ")[0]
    ('nmt translate --document a.csv --field NAME -o FILE', 'gzip -dc a.tsv.gz')
    """
    from nmt_cli.data.text.shell_commands import decompressor, without_compression
    from nmt_cli.documents.kinds import kind_by_suffix

    kind, program = kind_by_suffix(without_compression(file)), decompressor(file)
    words = ["nmt", "translate", "--document", STDIN if program else file]
    words += ["--kind", str(kind)] if program else []
    words += ["--field", column] if kind == TABLE else []
    command = shlex.join([*words, "-o", "FILE"]) + typed_options(*_NOT_FOR_DOCUMENTS)
    return f"{program} -dc {shlex.quote(file)} | {command}" if program else command


def translate_document(
    chosen: DocumentOptions,
    file: str,
    models: tuple[str, str],
    start: "Callable[[], Work]",
    reporting: Callable[[], contextlib.AbstractContextManager[FlagReport]],
    output: Path | None,
    as_json: bool,
    force: bool,
) -> None:
    """Translate a document and write it, or with `as_json` a line of JSON for each segment.

    The document is read before the model is loaded by `start`, and nothing is written until all
    segments are translated. models: the first and the last one; reporting: opens the report of
    flags.
    """
    from nmt_cli.documents.document import left_note, notes_of, warnings_of

    document = chosen.read(file, models)
    work = start()
    work.show_notices()
    for note in notes_of(document):
        work.console.note(note)
    for warning in warnings_of(document):
        work.console.warning(warning)
    with reporting() as report:
        done = list(_translations(document.segments, document.places, work))
        translations = [translation for _, translation in done]
        for index, translation in enumerate(translations):
            report.add(index, translation, document.places[index])
            work.note(translation)
        if as_json:
            data = "".join(
                as_json_line(index, translation, document.places[index])
                for index, translation in enumerate(translations)
            ).encode("utf-8", "replace")
        else:
            flags = [translation.flags for translation in translations]
            data = document.render([pieces for pieces, _ in done], flags)
            if note := left_note(file, document):
                work.console.note(note)
        with open_text_file(output, force=force) as out:
            out.write(data)
            out.flush()
        report.show(work.left_out, in_document="" if as_json else _against_wrong_numbers(work))
    work.show_stats()
    report.end()


def _against_wrong_numbers(work: "Work") -> str:
    """What may be done about wrong numbers, for a note."""
    if work.search.keep_numbers:
        return "compare their numbers and units with the source"
    return "--keep-numbers keeps numbers in digits"


def _translations(
    segments: "Sequence[MarkedText]", places: Sequence[str], work: "Work"
) -> "Iterator[tuple[MarkedText, Translation]]":
    """The translation of each segment; one without words is the segment itself."""
    from nmt_cli.data.markup.inline import with_placeholders, words_alone
    from nmt_cli.data.markup.marked_text import raw_text
    from nmt_cli.translation.lines.inputs import windows
    from nmt_cli.translation.markup.results import in_document

    progress = LineProgress(work.console, lambda: len(segments), "segment")
    begin = 0
    with progress.shown():
        for window in windows(iter(segments), length=lambda segment: len(raw_text(segment))):
            if not begin:
                # Code, addresses and names are not of the language.
                kept = work.kept
                texts = [words_alone(with_placeholders(segment, kept)) for segment in window]
                warn_of_misfit(texts, work.translator.steps[0], work.console, places)
            marked = work.translator.translate_marked(
                window, search=work.search, constraints=work.constraints, first=begin,
                on_progress=partial(progress.update_within, begin, len(window)),
            )  # fmt: skip
            for result in map(in_document, window, marked):
                yield result.pieces, result.translation
            begin += len(window)
            progress.update(begin)
