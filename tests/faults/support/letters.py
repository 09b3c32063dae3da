"""Translators for text that is hard to read: one with a tiny model, and one that copies."""

import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from byte_models import byte_config, byte_model, byte_subwords
from faults.support.nasty_lines import LOOK_ALIKES

from nmt_cli.config.schema import Config, DataConfig
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.segmenters import Kind
from nmt_cli.model_dir import save_model
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.translator import Translator

# What no line of output may hold: what any program takes for a line's end, or steers a terminal.
NEVER_SHOWN = frozenset([*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029"])


def check_line(line: str) -> None:
    """A line of output is one line of text in UTF-8, which steers nothing."""
    assert not set(line) & NEVER_SHOWN, ascii(line)
    assert len(line.splitlines()) <= 1, ascii(line)
    line.encode("utf-8")


def save_byte_model(path: Path) -> Path:
    """A model directory of a tiny model over bytes, with beam 2."""
    config = byte_config()
    save_model(path, byte_model(config).state_dict(), config, byte_subwords(), {})
    return path


class Copying:
    """Stands for search: the translation of each source is its own ids. Counts its work."""

    def __init__(self, *_: object) -> None:
        self.sources: list[Source] = []

    def searcher(self, *_: object) -> "Copying":
        return self

    def run(self, sources: Iterator[Source], *_: object) -> Iterator[tuple[int, list[Hypothesis]]]:
        for index, source in enumerate(sources):
            self.sources.append(source)
            ids = tuple(source.ids)
            yield index, [Hypothesis(ids, -1.0, -1.0, (0.0,) * len(ids))]


def copying_translator(
    config: Config | None = None, subwords: Subwords | None = None
) -> tuple[Translator, Copying]:
    """A translator that gives back what it was given, and what was searched for."""
    chosen = config or byte_config()
    translator = Translator(byte_model(chosen), chosen, subwords or byte_subwords())
    copying = Copying()
    translator._line_search._source_search._searchers = copying  # type: ignore[assignment]
    return translator, copying


@functools.cache
def learnt_subwords(kind: Kind, *, byte_fallback: bool = False) -> Subwords:
    """Subwords learnt from a few made-up words and from text that looks special."""
    syllables = "an be cod fie gun hob jil kam lup mor net os pa que rif sul tav wex yz"
    words = Counter(syllables.split())
    words.update({f"{word}{other}": 3 for word in list(words) for other in ("a", "el", "is")})
    words.update(word for text in LOOK_ALIKES.values() for word in text.split())
    data = DataConfig(
        subwords=kind, vocab_size=350 if byte_fallback else 90, byte_fallback=byte_fallback
    )
    return learn_subwords(data, words, {})
