"""`nmt translate --part K/N` and `--join`: a text in parts, for several machines or processes.

Part K has every Nth line, from line K on, so parts are equally long and need no count of the lines.
"""

import contextlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nmt_cli.cli.display.flags import COLUMNS
from nmt_cli.cli.options.typed import typed_options
from nmt_cli.cli.text_io import STDIN, STDOUT
from nmt_cli.errors import DataError, NoInputError, UsageError
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.data.text.lines import Lines

# What stands for the part in the names of outputs.
PLACE = "{part}"
# Options of a command that joins which its parts do not have, or which the hint gives itself.
_NOT_FOR_PARTS = ("--join", "--part", "--output", "--force", "--quiet")
_LISTED = re.compile(r"\d+ \|\|\| .* \|\|\| -?\d")
_WRONG_PART = (
    "translate this part again, with --force: the file may be a copy of another part, or a part of "
    "another number of parts"
)
T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """A part of a text: the one with this number, from 1, of `count` parts."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str | None) -> "Part":
        """The part that `--part` says; None: the whole text. Raises UsageError."""
        if text is None:
            return WHOLE
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"--part {text}: not a part", "K/N with K from 1 to N, such as --part 1/8"
            )
        return cls(int(match[1]), int(match[2]))

    def lines(self, lines: Iterator[T]) -> Iterator[T]:
        """The lines of this part.

        >>> list(Part(2, 3).lines(iter("abcdef")))
        ['b', 'e']
        """
        return islice(lines, self.number - 1, None, self.count)

    def index(self, own: int) -> int:
        """The index in the whole text of the line with the index `own` in this part; from 0.

        >>> [Part(2, 3).index(own) for own in (0, 1)]
        [1, 4]
        """
        return self.number - 1 + own * self.count

    def size(self, lines: int) -> int:
        """The lines of this part of a text of so many lines.

        >>> [Part(number, 3).size(7) for number in (1, 2, 3)]
        [3, 2, 2]
        """
        return (lines - self.number) // self.count + 1

    def named(self, output: Path | None) -> Path | None:
        """The output with `3-of-8` in place of `{part}`."""
        if output is None or PLACE not in output.name:
            return output
        return output.with_name(output.name.replace(PLACE, f"{self.number}-of-{self.count}"))


WHOLE = Part()


class PartFile(NamedTuple):
    """The output of a part."""

    part: Part
    path: Path


def part_of(
    text: str | None, output: Path | None, flag_file: Path | None
) -> tuple[Part, Path | None, Path | None]:
    """The part that `--part` says, and the files for its output and its flags.

    Raises UsageError for a part whose output is not named as one, and the other way round.
    """
    part = Part.parse(text)
    if text is None:
        _refuse_place({"--output": output, "--flag-file": flag_file})
        return part, output, flag_file
    if output is not None and _is_file(output) and output.name.count(PLACE) != 1:
        named = output.with_name(f"{output.stem}.{PLACE}{output.suffix}")
        raise UsageError(
            f"--part {text} --output {output}: the name needs `{PLACE}` once, so that each part "
            "has a file of its own, which --join finds",
            f"name it {shlex.quote(str(named))}",
        )
    return part, part.named(output), part.named(flag_file)


def _is_file(output: Path) -> bool:
    """Whether each part needs an output of its own: stdout and devices take those of all parts."""
    from nmt_cli.storage.special_files import is_special

    return str(output) != STDOUT and not is_special(output)


def _refuse_place(outputs: Mapping[str, Path | None]) -> None:
    """Raise UsageError if the name of an output is that of parts, but there are none."""
    for option, output in outputs.items():
        if output is not None and PLACE in output.name:
            raise UsageError(
                f"{option} {output}: `{PLACE}` is the number of a part, but there is no --part",
                "add --part K/N, such as --part 1/8, or choose another name",
            )


def join_parts(
    pattern: str | None,
    text: str,
    output: Path | None,
    resolved: "ResolvedConfig",
    *,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> bool:
    """Write the lines of all parts to `output`, or stdout, in the order of the text.

    pattern: the name of the parts, with `{part}`; None: nothing is done, and False is returned.
    text: the file that they are of; `-` where it is not known. Lines of JSON and of n-best lists
    are sorted by their index, and rows of --flag-file by their line. Raises DataError if the parts
    are not of as many lines as `text`.
    """
    if pattern is None:
        return False
    _refuse_place({"--output": output})
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.cli.text_io import open_text_file, require_output, require_text_file
    from nmt_cli.config.protected_files import needed_files
    from nmt_cli.data.text.lines import read_lines

    files = find_parts(Path(pattern), text)
    require_text_file(text)
    read = needed_files("is one of the parts", *(file.path for file in files))
    check_outputs([output], read, resolved=resolved, force=force)
    require_output(output)
    has_flags = _are_flag_files(files)
    has_indices = not has_flags and (as_json or resolved.config.search.n_best > 1)
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(read_lines(str(file.path))) for file in files]
        if has_flags:
            joined = _flag_rows(lines, files)
        elif has_indices:
            joined = _by_index(lines, files, as_json=as_json)
        else:
            joined = _in_turn(lines, files)
        out = stack.enter_context(open_text_file(output, *lines, force=force))
        count, line = 0, ""
        for line in joined:
            out.write(f"{line}\n".encode("utf-8", "replace"))
            count += 1
        out.flush()
        # Files of flags lack the lines without any.
        if has_flags:
            text = STDIN
        last = _index_of(line, as_json=as_json, where=pattern) if count and has_indices else None
        _require_whole(text, count if last is None else last + 1)
    make_console(quiet=quiet).note(
        f"joined {counted(len(files), 'part')}: {counted(count, 'line')}"
    )
    return True


def _require_whole(text: str, translated: int) -> None:
    """Raise DataError if the parts are not of as many lines as the text; `-`: it is not known."""
    from nmt_cli.data.text.line_count import count_lines

    lines = None if text == STDIN else count_lines(text)
    if lines is not None and lines != translated:
        raise DataError(
            f"`{text}` has {counted(lines, 'line')}, and the parts are of {translated:,}",
            "translate again what is incomplete, with --force, or name the text of these parts",
        )


def find_parts(pattern: Path, text: str = STDIN) -> list[PartFile]:
    """The files whose name is `pattern` with `K-of-N` in place of `{part}`, by K.

    Raises UsageError for a pattern without `{part}`, NoInputError if parts are missing, DataError
    for a name of a part that cannot be.
    """
    if pattern.name.count(PLACE) != 1:
        raise UsageError(
            f"--join {pattern}: the name needs `{PLACE}` once", f"such as --join 'out.{PLACE}.de'"
        )
    before, after = (re.escape(text) for text in pattern.name.split(PLACE))
    name = re.compile(rf"{before}([1-9]\d{{0,8}})-of-([1-9]\d{{0,8}}){after}")
    names = sorted(pattern.parent.iterdir()) if pattern.parent.is_dir() else []
    paths = {
        Part(int(match[1]), int(match[2])): path
        for path in names
        if (match := name.fullmatch(path.name))
    }
    foreign = [path for part, path in paths.items() if part.number > part.count]
    if foreign:
        raise DataError(
            f"--join {pattern}: `{foreign[0]}` is named like a part that there cannot be",
            "move it away, or give the parts another name",
        )
    counts = sorted({part.count for part in paths})
    if len(counts) != 1:
        problem = f"parts of {' and of '.join(map(str, counts))}" if counts else "no part"
        raise NoInputError(
            f"--join {pattern}: {problem} in `{pattern.parent}`",
            f"to write part K of N: {_command_for('K/N', pattern, text)}",
        )
    parts = [Part(number, counts[0]) for number in range(1, counts[0] + 1)]
    missing = [str(part.number) for part in parts if part not in paths]
    if missing:
        raise NoInputError(
            f"--join {pattern}: of {counts[0]} parts, {', '.join(missing[:9])} "
            f"{'is' if len(missing) == 1 else 'are'} missing",
            f"to write part {missing[0]}: "
            f"{_command_for(f'{missing[0]}/{counts[0]}', pattern, text)}",
        )
    return [PartFile(part, paths[part]) for part in parts]


def _command_for(part: str, pattern: Path, text: str) -> str:
    """The command that translates a part, for a hint; text: as in `join_parts`.

    It repeats the options of the command that joins, some of which change the lines of the parts.
    """
    name, about = shlex.quote(text), ""
    if text == STDIN:
        name, about = "TEXT", "TEXT is the file that was translated; "
    return (
        f"`nmt translate {name} --part {part} -o {shlex.quote(str(pattern))}"
        f"{typed_options(*_NOT_FOR_PARTS)}` ({about}add the options of the other parts, such as "
        "--model)"
    )


def _are_flag_files(files: Sequence[PartFile]) -> bool:
    """Whether the parts are files of --flag-file, which begin with the names of their columns."""
    from nmt_cli.data.text.lines import read_lines

    header = "\t".join(COLUMNS)
    for file in files:
        with read_lines(str(file.path)) as lines:
            if next(lines, None) != header:
                return False
    return True


def _flag_rows(lines: Sequence["Lines"], files: Sequence[PartFile]) -> Iterator[str]:
    """The rows of files of flags by their line, below one header.

    Raises DataError for a row that is not of its part.
    """
    import heapq

    def keyed(rows: "Lines", part: Part) -> Iterator[tuple[int, str]]:
        next(rows)
        for number, row in enumerate(rows, 2):
            line = row.partition("\t")[0]
            if not line.isdecimal() or (int(line) - 1) % part.count + 1 != part.number:
                raise DataError(
                    f"`{rows.name}`, line {number:,}: not a row of part {part.number} of "
                    f"{part.count}",
                    _WRONG_PART,
                )
            yield int(line), row

    yield "\t".join(COLUMNS)
    keyed_parts = [
        keyed(part_lines, file.part) for part_lines, file in zip(lines, files, strict=True)
    ]
    for _, row in heapq.merge(*keyed_parts, key=lambda pair: pair[0]):
        yield row


def _in_turn(lines: Sequence["Lines"], files: Sequence[PartFile]) -> Iterator[str]:
    """One line of each part in turn; raises DataError if parts have lost lines."""
    ends: dict[int, int] = {}
    round_number = 0
    while not ends:
        for index, part_lines in enumerate(lines):
            line = next(part_lines, None)
            if line is not None and not round_number and _LISTED.match(line):
                raise DataError(
                    f"`{files[index].path}` is an n-best list",
                    "add `--n-best N`, with the N of the parts",
                )
            if line is not None and not ends:
                yield line
            elif line is not None:
                raise _unequal(files[min(ends)], files[index], round_number)
            else:
                ends[index] = round_number
        round_number += 1
    for index in set(range(len(lines))) - set(ends):
        if next(lines[index], None) is not None:
            raise _unequal(files[min(ends)], files[index], round_number - 1)


def _unequal(ended: PartFile, longer: PartFile, lines: int) -> DataError:
    return DataError(
        f"`{ended.path}` ends after {counted(lines, 'line')}, but `{longer.path}` goes on",
        "translate again what is incomplete, with --force, or name parts of the same text",
    )


def _by_index(
    lines: Sequence["Lines"], files: Sequence[PartFile], *, as_json: bool
) -> Iterator[str]:
    """Lines of JSON or of n-best lists by their index.

    Raises DataError where a line is missing, repeated, or in the wrong part.
    """
    import heapq

    def keyed(part_lines: "Lines", part: Part) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(part_lines, 1):
            where = f"`{part_lines.name}`, line {number:,}"
            index = _index_of(line, as_json=as_json, where=where)
            own = index % part.count + 1
            if own != part.number:
                raise DataError(
                    f"{where}: a translation of line {index + 1:,}, which is in part {own} of "
                    f"{part.count}",
                    _WRONG_PART,
                )
            yield index, line

    keyed_parts = [
        keyed(part_lines, file.part) for part_lines, file in zip(lines, files, strict=True)
    ]
    expected = -1
    for index, line in heapq.merge(*keyed_parts, key=lambda pair: pair[0]):
        if index < expected or (as_json and index == expected):
            raise DataError(
                f"the parts have line {index + 1:,} twice, or not in order",
                "translate each part again in one run, with --force",
            )
        if index > expected + 1:
            raise DataError(
                f"the parts have no translation of line {expected + 2:,}",
                "translate again the part that has it, with --force",
            )
        expected = index
        yield line


def _index_of(line: str, *, as_json: bool, where: str) -> int:
    """The index of the source line, from 0, that an output line gives; raises DataError."""
    try:
        index = json.loads(line)["line"] if as_json else int(line.split(" ||| ", 1)[0])
    except (ValueError, KeyError, TypeError):
        index = None
    if not isinstance(index, int):
        form = "of nmt translate --json" if as_json else "of an n-best list"
        raise DataError(f"{where}: not a line {form}", "join with the options of the parts")
    return index
