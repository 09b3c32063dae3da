"""`nmt demo`: runs the five commands on the demo's sentences and reports each step."""

import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.lines import read_lines
from nmt_cli.extras.demo.files import LABELS, DemoTexts, write_demo
from nmt_cli.extras.demo.folder import (
    AVERAGE,
    OUTPUT,
    replacing_result,
    require_own_corpus,
    require_own_data,
)
from nmt_cli.extras.demo.grammar.pairs import PHENOMENA
from nmt_cli.machine import trim_heap
from nmt_cli.scoring import Score, score
from nmt_cli.storage import files
from nmt_cli.storage.output_directory import CHECKPOINTS
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.events import Listener, ignore
from nmt_cli.training.reporting.report import Report
from nmt_cli.training.saving.average import average
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.translation.translator import Translator

METRICS = ("bleu", "chrf")
HELD_OUT_ABOUT = "exact matches where a word has a form that training does not show"


@dataclass(frozen=True)
class Command:
    """A report: the command line that does the same as the next step."""

    text: str


@dataclass(frozen=True)
class Accuracy:
    """How many sentences with a phenomenon were translated exactly as by the grammar."""

    label: str
    about: str
    right: int
    total: int

    @property
    def percent(self) -> float:
        """100 times right / total."""
        return 100.0 * self.right / max(1, self.total)


@dataclass(frozen=True)
class Outcome:
    """The quality of the model: scores, and exact matches in all and for each phenomenon.

    held_out: exact matches of combinations of words and forms that do not occur in training.
    """

    scores: tuple[Score, ...]
    exact: Accuracy
    phenomena: tuple[Accuracy, ...]
    held_out: Accuracy
    seconds: float


TRAIN = Command("nmt train")
Event = Command | PreparedCorpus | Report | Outcome


def run_demo(
    folder: Path,
    config: Config,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[str, int, int | None], None] | None = None,
    tell: Listener = ignore,
    texts: DemoTexts | None = None,
    cache: Path | None = None,
) -> Iterator[Event]:
    """Write the demo into `folder` and run it there; steps that are done are not repeated.

    `config` holds the settings of the demo's nmt.toml, with paths in `folder`. If `stop()` returns
    true, the run ends early with everything saved. tell: as for `train`; texts: the sentences, if
    they are being made already; cache: as for `Translator.load`. Raises CannotCreateError if
    `folder` contains a file that the demo did not write and would have to replace.
    """
    # The sentences may be made while torch is loaded, before this module is.
    started = texts.started if texts is not None else time.monotonic()
    require_own_data(folder, config)
    write_demo(folder, texts, progress)
    require_own_corpus(config)
    corpus, model = Path(config.paths.corpus), Path(config.paths.model)
    yield Command("nmt prepare")
    if not corpus.exists():
        yield prepare(config, corpus, progress=progress)
    # Free the memory that making and preparing the sentences took: training would not reuse it.
    trim_heap()
    yield TRAIN
    yield from train(config, Corpus.open(corpus), model, Ranks(), stop, tell)
    if stop():
        return
    # Free the memory that training used.
    trim_heap()
    yield from _average(folder, model, config)
    yield Command(f"nmt translate test.en -o {OUTPUT}")
    translator = Translator.load(model, cache=cache)
    outputs = translate_split(translator, folder, "test")
    with replacing_result(folder, OUTPUT) as path:
        files.write_text(path, "".join(line + "\n" for line in outputs))
    yield Command(f"nmt score {OUTPUT} test.de --metric bleu --metric chrf")
    held_out = translate_split(translator, folder, "held_out")
    yield assess(folder, outputs, held_out, time.monotonic() - started)


def _average(folder: Path, model: Path, config: Config) -> Iterator[Command]:
    """Average the last checkpoints; a very short run has only one."""
    train = config.train
    checkpoints = Checkpoints(model / CHECKPOINTS, train.keep_last, train.keep_best)
    if checkpoints.members():
        yield Command("nmt average --out average")
        with replacing_result(folder, AVERAGE) as path:
            average([model], path, force=True)
        return
    last = checkpoints.all()[-1].directory
    yield Command(f"nmt average {shlex.quote(str(last.relative_to(folder)))} --out average")
    with replacing_result(folder, AVERAGE) as path:
        average([last], path, force=True)


def translate_split(translator: Translator, folder: Path, split: str) -> list[str]:
    """Translate one of the demo's files with the model."""
    lines = read_lines(folder / f"{split}.en")
    return [translation.text for translation in translator.translate(lines)]


def assess(folder: Path, outputs: list[str], held_out: list[str], seconds: float) -> Outcome:
    """Compare the translations with those of the grammar."""
    references = list(read_lines(folder / "test.de"))
    labels = [set(line.split()) for line in read_lines(folder / f"test.{LABELS}")]
    right = [output == reference for output, reference in zip(outputs, references, strict=True)]
    phenomena = []
    for label, about in PHENOMENA.items():
        with_label = [
            is_right for is_right, present in zip(right, labels, strict=True) if label in present
        ]
        if with_label:
            phenomena.append(Accuracy(label, about, sum(with_label), len(with_label)))
    held_out_references = read_lines(folder / "held_out.de")
    unseen = [
        output == reference for output, reference in zip(held_out, held_out_references, strict=True)
    ]
    return Outcome(
        tuple(score(outputs, [references], METRICS)),
        Accuracy("exact", "exact matches", sum(right), len(right)),
        tuple(phenomena),
        Accuracy("held out", HELD_OUT_ABOUT, sum(unseen), len(unseen)),
        seconds,
    )
