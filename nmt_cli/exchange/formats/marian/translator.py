"""A Marian model, run by pymarian in a process of its own.

Marian ends its process when it meets an error, and reads and writes files. It gets words that are
ids, so that it splits nothing itself.
"""

import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from nmt_cli.errors import UnavailableError
from nmt_cli.exchange.formats.marian.vocabularies import EOS, UNK, Vocabularies, is_tag
from nmt_cli.plurals import counted

PROGRAM = "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))"
OPTIONS = [
    "--cpu-threads", "1", "--mini-batch", "1", "--maxi-batch", "1", "--workspace", "512",
    "--max-length", "1000", "--log-level", "error", "--quiet",
]  # fmt: skip


class MarianTranslator:
    """Translates and scores with pymarian."""

    def __init__(
        self,
        model: Path,
        vocabularies: Vocabularies,
        rows: tuple[int, int],
        *,
        allow_unk: bool = False,
    ) -> None:
        self._model = model.resolve()
        self._vocabularies = vocabularies
        self._rows = rows
        self._allow_unk = allow_unk
        self._segmenters = [
            sentencepiece.SentencePieceProcessor(model_proto=side.segmenter)
            for side in vocabularies
        ]
        self._pieces = {index: piece for piece, index in vocabularies.target.ids.items()}

    def source_ids(self, line: str) -> list[int]:
        """The ids of the pieces of sentencepiece, and EOS."""
        source = self._vocabularies.source
        first, _, rest = line.partition(" ")
        tags = [first] if len(source.files) > 1 and is_tag(first) and first in source.ids else []
        text = rest if tags else line
        pieces = [*tags, *self._segmenters[0].encode(text, out_type=str)]
        return [*(source.ids.get(piece, source.unk) for piece in pieces), source.eos]

    def log_prob(self, source: list[int], target: list[int]) -> float:
        """The log-probability of one pair."""
        return self.log_probs([(source, target)])[0]

    def log_probs(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """The sums of Marian's scores of the target ids, EOS included."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in ("source", "target")]
            for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
                path.write_text("".join(self._line(ids) for ids in side), encoding="utf-8")
            output = self._run(
                Path(folder), "score", "--model", "--train-sets", *map(str, paths), "--word-scores"
            )
        lines = output.split("\n")[:-1]
        if len(lines) != len(pairs):
            raise self._error(f"it scored {len(lines)} of {counted(len(pairs), 'pair')}")
        return [sum(map(float, line.partition("WordScores=")[2].split())) for line in lines]

    def translate(self, line: str, *, beam: int, length_penalty: float, max_length: int) -> str:
        """The best translation of a line."""
        [text] = self.translations(
            [line], [max_length], beam=beam, length_penalty=length_penalty
        )  # fmt: skip
        return text

    def translations(
        self, lines: Sequence[str], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[str]:
        """The best translations of lines; limits: the most subwords of each, without EOS."""
        sources = [self.source_ids(line) for line in lines]
        factor = max(
            math.ceil(limit / len(ids)) + 1 for limit, ids in zip(limits, sources, strict=True)
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "source")
            path.write_text("".join(map(self._line, sources)), encoding="utf-8")
            output = self._run(
                Path(folder), "decode", "--models", "--input", str(path),
                "--beam-size", str(beam), "--normalize", str(length_penalty),
                "--max-length-factor", str(factor),
                *(["--allow-unk"] if self._allow_unk else []),
            )  # fmt: skip
        found = output.split("\n")[:-1]
        if len(found) != len(lines):
            raise self._error(f"it translated {len(found)} of {counted(len(lines), 'line')}")
        return [self._text(line.split()[:limit]) for line, limit in zip(found, limits, strict=True)]

    def _text(self, words: Sequence[str]) -> str:
        unknown = self._segmenters[1].id_to_piece(self._segmenters[1].unk_id())
        pieces = [unknown if word == UNK else self._pieces.get(int(word[1:]), "") for word in words]
        text: str = self._segmenters[1].decode_pieces(pieces)
        return text.replace("\u2581", " ").strip()

    def _line(self, ids: Sequence[int]) -> str:
        """The ids, without EOS at their end, as words of the vocabulary that Marian gets."""
        return " ".join(self._word(token) for token in ids[:-1]) + "\n"

    def _word(self, token: int) -> str:
        special = {self._vocabularies.target.eos: EOS, self._vocabularies.target.unk: UNK}
        return special.get(token, f"w{token}")

    def _run(self, folder: Path, mode: str, model_option: str, *arguments: str) -> str:
        """What Marian writes with these arguments."""
        vocabularies = []
        for name, rows in zip(("source.yml", "target.yml"), self._rows, strict=True):
            path = folder / name
            lines = (f'"{self._word(token)}": {token}\n' for token in range(rows))
            path.write_text("".join(lines), encoding="utf-8")
            vocabularies.append(str(path))
        output = folder / "output"
        command = [
            sys.executable, "-P", "-c", PROGRAM, mode, model_option, str(self._model),
            "--vocabs", *vocabularies, *arguments, "--output", str(output), *OPTIONS,
        ]  # fmt: skip
        result = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if result.returncode or not output.exists():
            last = result.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise self._error(f"it ended with {result.returncode} {last[:300]}".rstrip())
        return output.read_text(encoding="utf-8")

    def _error(self, reason: str) -> UnavailableError:
        return UnavailableError(
            f"Marian cannot run `{self._model}` for the comparison: {reason}",
            "leave the comparison out with --no-check",
        )
