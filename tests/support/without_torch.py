"""Runs commands of nmt with torch made unimportable: `python without_torch.py < cases.json`.

Each case is a list of arguments and what is written to stdin; the answers are the exit code, and
what each wrote to stdout and stderr.
"""

import contextlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

Case = tuple[list[str], str]
Answer = tuple[int, str, str]


class NoTorch:
    """Refuses to find torch, as where it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def run(cases: Sequence[Case]) -> Iterator[Answer]:
    from nmt_cli.cli import main

    for arguments, given in cases:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        stdin = sys.stdin
        path = Path("stdin.txt")
        path.write_text(given, encoding="utf-8")
        with (
            path.open(encoding="utf-8") as sys.stdin,
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
        ):
            code = main(arguments)
        sys.stdin = stdin
        written = []
        for stream in streams:
            stream.flush()
            written.append(stream.buffer.getvalue().decode())
        yield code, written[0], written[1]


if __name__ == "__main__":
    sys.meta_path.insert(0, NoTorch())
    answers = list(run([(arguments, given) for arguments, given in json.load(sys.stdin)]))
    assert "torch" not in sys.modules
    json.dump(answers, sys.stdout)
