"""One definition of a line, for every command: bytes in, cut at the byte 0x0A and nowhere else.

Files are plain, gzip, xz or zstd, told by their first bytes and not by their names; `-` is stdin.
A whole file is never in memory. What is not UTF-8 becomes U+FFFD and is counted.
"""

import re
import select
from collections.abc import Generator, Iterator
from pathlib import Path

from nmt_cli.data.streams import CHUNK_BYTES, STDIN, is_broken, open_raw, open_stream
from nmt_cli.errors import DataError, NmtError, WriteError

UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

# Whole terminal sequences go (a lone `[31m` would be noise); the rest of the controls one by one.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_UNWANTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u2581\ud800-\udfff]")
_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_REPLACEMENTS = {**dict.fromkeys(_SPACES, " "), "\u2581": "_"}


def clean_line(text: str) -> str:
    """`text` as the model may see it, always one line.

    Characters that some program takes for a line's end, and tabs, become spaces; other control
    characters and terminal sequences go; a lone surrogate becomes U+FFFD; U+2581, which subwords
    use to mark a space, becomes the underscore that it looks like.

    >>> clean_line("one\\x85two\\x1b[31m\\x00 three")
    'one two three'
    """
    if text.isprintable() and "\u2581" not in text:
        return text
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _UNWANTED.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    character = match.group()
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return _REPLACEMENTS.get(character, "")


class Lines(Iterator[str]):
    """The lines of one file, as they come; counts what was not UTF-8.

    count: lines given so far; invalid: those with U+FFFD put in; first_invalid: `line:byte` of the
    first of them, both from 1, or ""; size: bytes of the file, 0 where that is not known.
    """

    def __init__(self, path: Path | str, *, strict: bool = False) -> None:
        """Open `path`; raises NoInputError where it cannot be read."""
        self.name = "stdin" if str(path) == STDIN else str(path)
        self.count = 0
        self.invalid = 0
        self.first_invalid = ""
        self._strict = strict
        self._at_hand = 0
        self._raw = open_raw(path, self.name)
        # 0: not known, a pipe.
        self.size = Path(path).stat().st_size if Path(path).is_file() else 0
        self._file = open_stream(self._raw, self.name)
        self._lines = self._decoded()

    def __next__(self) -> str:
        return next(self._lines)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading; only needed before the end of the file. stdin stays open."""
        self._lines.close()
        self._close_files()

    @property
    def bytes_read(self) -> int:
        """How far the file, compressed or not, was read: all of it once it is closed."""
        if self._raw.closed or not self.size:
            return self.size
        return self._raw.tell()

    def must_wait(self, seconds: float) -> bool:
        """Whether nothing more comes for so long: a pipe or terminal whose writer is not ready."""
        if self._at_hand or self.size:
            return False
        try:
            return not select.select([self._raw], [], [], seconds)[0]
        except (OSError, ValueError, TypeError):
            # Not something the system can watch: it does not keep anybody waiting.
            return False

    def _close_files(self) -> None:
        self._file.close()
        if self.name != "stdin":
            self._raw.close()

    def _decoded(self) -> Generator[str, None, None]:
        try:
            for line in self._split():
                self.count += 1
                line = line[:-1] if line.endswith(b"\r") else line
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    text = self._repaired(line, error)
                yield text
        finally:
            self._close_files()

    def _repaired(self, line: bytes, error: UnicodeDecodeError) -> str:
        place = f"{self.count}:{error.start + 1}"
        if self._strict:
            raise DataError(
                f"`{self.name}`, line {self.count}, byte {error.start + 1}: not UTF-8",
                f"convert it, for example: iconv -f LATIN1 -t UTF-8 {self.name}",
            ) from error
        self.invalid += 1
        self.first_invalid = self.first_invalid or place
        return line.decode("utf-8", errors="replace")

    def _split(self) -> Iterator[bytes]:
        """The raw lines; a last one without a newline counts, an empty end does not."""
        begun: list[bytes] = []
        for chunk in self._chunks():
            *whole, rest = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join([*begun, whole[0]])
                begun = []
                self._at_hand = len(whole)
                for line in whole:
                    self._at_hand -= 1
                    yield line
            if rest:
                begun.append(rest)
        if begun:
            yield b"".join(begun)

    def _chunks(self) -> Iterator[bytes]:
        """Bytes as they come, without a UTF-8 byte order mark at the start."""
        head = b""
        while len(head) < len(UTF8_BOM):
            chunk = self._read()
            head += chunk
            if not chunk or not _may_become_bom(head):
                break
        if head.startswith(UTF16_BOMS):
            raise DataError(
                f"`{self.name}` looks like UTF-16, UTF-8 is needed",
                f"convert it: iconv -f UTF-16 -t UTF-8 {self.name}",
            )
        head = head.removeprefix(UTF8_BOM)
        while True:
            if head:
                yield head
            head = self._read()
            if not head:
                return

    def _read(self) -> bytes:
        try:
            return self._file.read1(CHUNK_BYTES)
        except Exception as error:
            if is_broken(error):
                raise self._broken(error) from error
            if isinstance(error, OSError):
                raise WriteError(f"reading `{self.name}` failed: {error.strerror}") from error
            raise

    def _broken(self, error: Exception) -> NmtError:
        how = "ends in the middle" if isinstance(error, EOFError) else "is damaged"
        return DataError(
            f"`{self.name}`: the compressed stream {how}, after line {self.count}",
            "was it copied or downloaded in full?",
        )


def _may_become_bom(head: bytes) -> bool:
    return any(mark.startswith(head) for mark in (UTF8_BOM, *UTF16_BOMS))


def read_lines(path: Path | str, *, strict: bool = False) -> Lines:
    """The lines of `path`, without their newlines; `-` is stdin.

    What is not UTF-8 becomes U+FFFD and is counted; with `strict` it raises DataError with line
    and byte. Of a broken compressed stream the lines before the break are given, then DataError.
    Raises NoInputError where the file cannot be read.
    """
    return Lines(path, strict=strict)


class LinePairs(Iterator[tuple[str, str]]):
    """The pairs of two files, or of one TSV file with two columns, as they come.

    src, tgt: the files being read (the same object for TSV); count: pairs given so far.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Open one or two files; raises NoInputError where one cannot be read."""
        self.paths = paths
        self.count = 0
        self.src = read_lines(paths[0])
        self.tgt = read_lines(paths[1]) if len(paths) > 1 else self.src

    def __next__(self) -> tuple[str, str]:
        try:
            pair = self._next_of_two() if self.tgt is not self.src else self._next_row()
        except NmtError:
            self.src.close()
            self.tgt.close()
            raise
        self.count += 1
        return pair

    def _next_of_two(self) -> tuple[str, str]:
        src, tgt = next(self.src, None), next(self.tgt, None)
        if src is not None and tgt is not None:
            return src, tgt
        if src is None and tgt is None:
            raise StopIteration
        raise self._misaligned()

    def _next_row(self) -> tuple[str, str]:
        columns = next(self.src).split("\t")
        if len(columns) != 2:
            raise DataError(
                f"`{self.src.name}`, line {self.src.count}: {len(columns)} columns, 2 are needed",
                "each line is: source, a tab, target",
            )
        return columns[0], columns[1]

    def _misaligned(self) -> DataError:
        """The error for files of different length; reads on to their ends to name both counts."""
        for lines in (self.src, self.tgt):
            for _ in lines:
                pass
        message = (
            f"`{self.src.name}` has {self.src.count:,} lines, "
            f"`{self.tgt.name}` has {self.tgt.count:,}"
        )
        hint = "line n of one file must be the translation of line n of the other"
        if self.src.size and self.tgt.size:
            from nmt_cli.data.alignment import Profile, find_misalignment

            profiles = [Profile.of(read_lines(path)) for path in self.paths]
            place = find_misalignment(profiles[0], profiles[1])
            hint += f"; the first suspicious place is near line {place:,}" if place else ""
        return DataError(message, hint)


def read_pairs(paths: tuple[str, ...]) -> LinePairs:
    """Pairs of lines of two files, or of one TSV file with two columns.

    Raises DataError, while reading: with the line's number where a TSV line has not two columns;
    with both counts and the first suspicious place where one file is longer.
    """
    return LinePairs(paths)
