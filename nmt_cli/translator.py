"""Lines in, translations out, in order: what `nmt translate` and Python users call."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from nmt_cli.config import Config, Search
from nmt_cli.data.lines import clean_line
from nmt_cli.data.pieces import Piece, split_line
from nmt_cli.data.subwords import Subwords
from nmt_cli.errors import ConfigError, UnavailableError
from nmt_cli.inference.cpu import Engine, fastest_engine, int8_engine, reference_engine
from nmt_cli.model.precision import check_precision, use_fast_float32
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_dir import load_model
from nmt_cli.search.beam import search as beam_search
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.length import length_penalty

# The first windows are small, so that the first translations come soon.
FIRST_WINDOW, LARGEST_WINDOW = 32, 2_048
WINDOW_CHARACTERS = 1 << 20
MAX_SLOTS = 128
LONGEST_PIECE, SHORTEST_PIECE = 1_024, 16
# So many copies of the same few subwords in a row are taken for a model that got stuck.
REPEATS, LONGEST_REPEATED = 5, 8
WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my"})
# The numbers that a model is loaded in.
PRECISIONS = {"float32": torch.float32, "bf16": torch.bfloat16, "int8": torch.float32}


@dataclass(frozen=True)
class Alternative:
    """One of the n best translations of a line; score: length-normalised log-probability."""

    text: str
    score: float
    log_prob: float


@dataclass(frozen=True)
class Translation:
    """One line's translation, always one line.

    source: the line as it came; hypotheses: best first, the first is `text` and `score`; flags:
    `empty` (nothing to translate), `split` (a long line, translated in pieces), `at_limit` (cut off
    at the greatest length), `repetition`, `failed` (the model gives no finite numbers).
    """

    source: str
    text: str
    score: float
    hypotheses: tuple[Alternative, ...]
    flags: tuple[str, ...] = ()


class _Job(NamedTuple):
    """A line's pieces and the ids of each."""

    pieces: list[Piece]
    ids: list[tuple[int, ...]]


class Translator:
    """A model with its subwords and settings."""

    def __init__(
        self,
        model: Transformer,
        config: Config,
        subwords: Subwords,
        engine: Callable[[Transformer], Engine] = reference_engine,
    ) -> None:
        """`model` is put into evaluation mode and stays on its device.

        engine: makes what runs the model; the reference engine follows changes of its weights.
        """
        self.model = model.eval()
        self.engine = engine(self.model)
        self.config = config
        self.subwords = subwords

    @classmethod
    def load(
        cls,
        path: Path | str,
        device: torch.device | str = "cpu",
        *,
        precision: str = "float32",
        cache: Path | None = None,
    ) -> "Translator":
        """The translator of a model directory; raises as `model_dir.load_model` does.

        device: cpu, cuda, cuda:N; precision: float32, bf16, or int8 (CPU), whose kernels are
        compiled into the folder `cache`; without one it computes with the rounded weights.
        """
        place = find_device(device)
        if precision == "int8" and place.type != "cpu":
            raise ConfigError("int8 is for the CPU", "`--device cpu`, or `--precision bf16`")
        loaded = load_model(Path(path), place)
        check_precision(precision, place)
        use_fast_float32(place)
        model = loaded.model.to(PRECISIONS[precision])
        engine = partial(int8_engine, cache=cache) if precision == "int8" else fastest_engine
        return cls(model, loaded.config, loaded.subwords, engine)

    def translate(
        self, lines: Iterable[str], *, search: Search | None = None
    ) -> Iterator[Translation]:
        """One translation a line, in order; `search` replaces the model's own settings.

        Lines are read and translated in windows that grow: neither of them is held as a whole.
        """
        for window in windows(iter(lines)):
            yield from self.translate_window(window, search=search)

    def translate_window(
        self, lines: Sequence[str], *, search: Search | None = None
    ) -> list[Translation]:
        """The translations of some lines, searched together."""
        config = search or self.config.search
        jobs = self._jobs(lines)
        # The longest first: padding is little among neighbours. Equal lines are translated once.
        different = sorted(
            {ids for job in jobs for ids in job.ids}, key=lambda one: (-len(one), one)
        )
        slots = min(len(different), MAX_SLOTS)
        decoder = self.engine.decoder(slots, config.beam)
        sources = iter([Source(ids) for ids in different])
        found = {
            different[number]: hypotheses
            for number, hypotheses in beam_search(decoder, sources, config)
        }
        return [
            self._translation(line, job, [found[ids] for ids in job.ids], config)
            for line, job in zip(lines, jobs, strict=True)
        ]

    def _jobs(self, lines: Sequence[str]) -> list[_Job]:
        """What there is to translate of each line; nothing of a blank one."""
        texts = [clean_line(line).strip() for line in lines]
        jobs = []
        for text, ids in zip(texts, self.subwords.encode_source(texts), strict=True):
            if len(ids) - 1 <= self._longest:
                pieces, all_ids = [Piece(text, "")], [tuple(ids)]
            else:
                pieces = split_line(text, self._count, self._longest)
                encoded = self.subwords.encode_source([piece.text for piece in pieces])
                all_ids = [tuple(one) for one in encoded]
            kept = [one for one in zip(pieces, all_ids, strict=True) if len(one[1]) > 1]
            jobs.append(_Job([piece for piece, _ in kept], [one for _, one in kept]))
        return jobs

    @property
    def _longest(self) -> int:
        """Subwords of a line that the model was made for; longer ones are split."""
        model = self.config.model
        places = model.max_positions - 1 if model.positions == "learned" else LONGEST_PIECE
        return max(SHORTEST_PIECE, min(LONGEST_PIECE, places, self.config.data.max_length))

    def _count(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) - 1 for ids in self.subwords.encode_source(texts)]

    def _translation(
        self, line: str, job: _Job, found: list[list[Hypothesis]], config: Search
    ) -> Translation:
        if not job.ids:
            return Translation(line, "", 0.0, (Alternative("", 0.0, 0.0),), ("empty",))
        if not all(found):
            return Translation(line, "", 0.0, (Alternative("", 0.0, 0.0),), ("failed",))
        # The n-th translation of a line in pieces is made of the n-th ones of its pieces.
        count = max(len(hypotheses) for hypotheses in found)
        alternatives = tuple(
            self._join(job.pieces, [one[min(rank, len(one) - 1)] for one in found], config)
            for rank in range(count)
        )
        best = alternatives[0]
        flags = _flags(job, [hypotheses[0] for hypotheses in found], config)
        return Translation(line, best.text, best.score, alternatives, flags)

    def _join(
        self, pieces: Sequence[Piece], parts: Sequence[Hypothesis], config: Search
    ) -> Alternative:
        texts = self.subwords.decode_target([part.ids for part in parts])
        spaced = self.config.languages.tgt not in WITHOUT_SPACES
        joined = "".join(
            text + (piece.glue if spaced else "") for text, piece in zip(texts, pieces, strict=True)
        ).strip()
        log_prob = sum(part.log_prob for part in parts)
        length = sum(len(part.ids) for part in parts)
        score = log_prob / float(length_penalty(torch.tensor(length), config.alpha))
        return Alternative(joined, score if len(parts) > 1 else parts[0].score, log_prob)


def _flags(job: _Job, best: Sequence[Hypothesis], config: Search) -> tuple[str, ...]:
    """What a reader should know of a translation."""
    longest = [len(ids) - 1 + config.max_extra_length for ids in job.ids]
    facts = {
        "split": len(job.ids) > 1,
        "at_limit": any(
            len(one.ids) - 1 >= limit for one, limit in zip(best, longest, strict=True)
        ),
        "repetition": any(repeats(one.ids) for one in best),
    }
    return tuple(name for name, so in facts.items() if so)


def repeats(ids: Sequence[int]) -> bool:
    """Whether a few ids come over and over without anything between.

    >>> repeats([7, 8] * 5), repeats([7, 8] * 4)
    (True, False)
    """
    for period in range(1, LONGEST_REPEATED + 1):
        run = 0
        for one, earlier in zip(ids[period:], ids, strict=False):
            run = run + 1 if one == earlier else 0
            if run >= period * (REPEATS - 1):
                return True
    return False


def windows(
    lines: Iterator[str], must_wait: Callable[[], bool] = lambda: False
) -> Iterator[list[str]]:
    """Lines to translate together: more and more, but never waiting for one that does not come."""
    size = FIRST_WINDOW
    window: list[str] = []
    characters = 0
    for line in lines:
        window.append(line)
        characters += len(line)
        full = len(window) >= size or characters >= WINDOW_CHARACTERS
        if full or must_wait():
            yield window
            size = min(2 * size, LARGEST_WINDOW) if full else size
            window, characters = [], 0
    if window:
        yield window


def find_device(name: torch.device | str) -> torch.device:
    """The device of that name; raises UnavailableError where it is not there."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnavailableError(
            f"there is no device `{name}`", "known: cpu, cuda, cuda:1"
        ) from error
    count = torch.cuda.device_count() if device.type == "cuda" else 1
    if device.type not in ("cpu", "cuda") or (device.index or 0) >= count:
        raise UnavailableError(
            f"the device `{name}` is not there", "`--device cpu`, or look at `nmt doctor`"
        )
    return device
