"""`nmt score --pairs` and `--n-best-list`: the probability of given translations."""

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from nmt_cli.cli.commands.scoring.languages import LINES_LOOKED_AT, are_in_each_others_language
from nmt_cli.cli.commands.scoring.texts import check_files
from nmt_cli.cli.options.declarations import FILE_PAIR, FilePair
from nmt_cli.cli.text_io import note_waiting, warn_of_invalid
from nmt_cli.errors import DataError, UsageError
from nmt_cli.plurals import counted
from nmt_cli.translation.json_lines import SCHEMA, as_one_line

if TYPE_CHECKING:
    from nmt_cli.config.schema import LanguagesConfig, ResolvedConfig
    from nmt_cli.data.text.lines import Lines
    from nmt_cli.search.ranking import HypothesisRanker
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.scoring import ScoredPair
    from nmt_cli.translation.translator import Translator

BETWEEN = " ||| "
LIST_HINT = (
    "each line is `N ||| translation`, where N is the index of the source line, from 0; further "
    "fields after ||| are kept"
)


Pairs = Annotated[
    FilePair | None,
    typer.Option(
        "--pairs", click_type=FILE_PAIR, metavar="SRC TGT",
        help="Compute the perplexity of given translations instead of a metric",
    ),
]  # fmt: skip
Each = Annotated[
    bool,
    typer.Option(
        "--each",
        help="With --pairs: print the log-probability, the perplexity and the number of tokens of "
        "each line",
    ),
]
NBestList = Annotated[
    FilePair | None,
    typer.Option(
        "--n-best-list", click_type=FILE_PAIR, metavar="SRC LIST",
        help="Rescore an n-best list and sort the translations of each line, best first",
    ),
]  # fmt: skip


class ScoredCandidate(NamedTuple):
    """A line of an n-best list: the index of its source line, its text, the whole line."""

    source_index: int
    text: str
    line: str


def score_by_model(
    pairs: FilePair | None,
    n_best_list: FilePair | None,
    resolved: "ResolvedConfig",
    console: "Console",
    *,
    each: bool,
    as_json: bool,
) -> None:
    """Score pairs or rescore an n-best list; raises UsageError if both are given."""
    if pairs and n_best_list:
        raise UsageError("--pairs and --n-best-list cannot be combined", "leave out one of them")
    check_files([*(pairs or ()), *(n_best_list or ())])
    note_waiting(console, *(pairs or ()), *(n_best_list or ()))
    if n_best_list:
        rescore(n_best_list, resolved, console)
    elif pairs:
        score_pairs(pairs, resolved, console, each=each, as_json=as_json)


def score_pairs(
    files: tuple[str, str],
    resolved: "ResolvedConfig",
    console: "Console",
    *,
    each: bool,
    as_json: bool,
) -> None:
    """Write the perplexity of all pairs and, if requested, the log-probability of each pair."""
    from nmt_cli.data.text.line_pairs import read_pairs
    from nmt_cli.translation.scoring import perplexity

    translator = _load(resolved, console)
    if warning := _swapped(files, translator.config.languages):
        console.warning(warning)
    reading = read_pairs(files, strict=resolved.config.data.strict)
    log_prob, tokens, count = 0.0, 0, 0
    with console.progress("scoring", unit="line") as progress:
        for pair in translator.score(reading):
            if as_json or each:
                typer.echo(_pair_as_json(count, pair) if as_json else _pair_as_text(pair), nl=False)
            log_prob, tokens = log_prob + pair.log_prob, tokens + len(pair.tokens)
            count += 1
            progress.update(count)
    warn_of_invalid(console, reading.src, reading.tgt)
    if not count:
        raise DataError(
            "nothing to score: the files have no lines", "check the step that writes these files"
        )
    total = {
        "schema": SCHEMA, "lines": count, "tokens": tokens, "log_prob": log_prob,
        "perplexity": perplexity(log_prob, tokens),
    }  # fmt: skip
    if as_json:
        typer.echo(as_one_line(total), nl=False)
    elif not each:
        typer.echo(
            f"perplexity {total['perplexity']:.4f}, log-probability {log_prob:.4f} "
            f"({counted(tokens, 'token')}, {counted(count, 'line')})"
        )


def _pair_as_text(pair: "ScoredPair") -> str:
    return f"{pair.log_prob:.6f}\t{pair.perplexity:.4f}\t{len(pair.tokens)}\n"


def _pair_as_json(index: int, pair: "ScoredPair") -> str:
    return as_one_line(
        {
            "schema": SCHEMA,
            "line": index,
            "source": pair.source,
            "target": pair.target,
            "log_prob": pair.log_prob,
            "perplexity": pair.perplexity,
            "tokens": pair.tokens,
            "token_scores": [round(score, 6) for score in pair.token_scores],
        }
    )


def rescore(files: tuple[str, str], resolved: "ResolvedConfig", console: "Console") -> None:
    """Write an n-best list with the scores of the model, sorted by score for each source line.

    The source lines keep the order in which the list first names them, so that joined lists are
    sorted as one.
    """
    from nmt_cli.cli.settings import chosen_search
    from nmt_cli.data.text.lines import read_lines
    from nmt_cli.data.text.sanitize import clean_line
    from nmt_cli.search.ranking import HypothesisRanker

    translator = _load(resolved, console)
    ranker = HypothesisRanker(chosen_search(resolved, translator.config))
    strict = resolved.config.data.strict
    source_lines, listed_lines = (read_lines(name, strict=strict) for name in files)
    sources = list(source_lines)
    candidates: dict[int, list[ScoredCandidate]] = {}
    for candidate in _candidates(listed_lines, len(sources)):
        candidates.setdefault(candidate.source_index, []).append(candidate)
    for index, listed in candidates.items():
        scores = _scores(
            translator, ranker, sources[index], [candidate.text for candidate in listed]
        )
        order = sorted(range(len(listed)), key=lambda rank: -scores[rank])
        for rank in order:
            typer.echo(f"{clean_line(listed[rank].line)}{BETWEEN}{scores[rank]:.6f}")
    warn_of_invalid(console, source_lines, listed_lines)


def _scores(
    translator: "Translator", ranker: "HypothesisRanker", source: str, texts: list[str]
) -> list[float]:
    """The scores of several translations of a source, as a search would rank them."""
    pairs = list(translator.score((source, text) for text in texts))
    return [ranker.score_of(pair.log_prob, len(pair.tokens)) for pair in pairs]


def _candidates(listed: "Lines", sources: int) -> Iterator[ScoredCandidate]:
    """The lines of an n-best list; raises DataError for one that is not of so many sources."""
    with listed as lines:
        for line_number, line in enumerate(lines, 1):
            number, *rest = line.split(BETWEEN.strip())
            if not rest or not number.strip().isdecimal():
                raise DataError(
                    f"`{lines.name}`, line {line_number}: not of an n-best list", LIST_HINT
                )
            if int(number) >= sources:
                raise DataError(
                    f"`{lines.name}`, line {line_number}: there is no source line {int(number)}; "
                    f"the source has {counted(sources, 'line')}",
                    "give the source of this list, whose lines count from 0",
                )
            yield ScoredCandidate(int(number), rest[0].strip(), line)


def _swapped(files: tuple[str, str], languages: "LanguagesConfig") -> str:
    """A warning if the two files are in each other's language, by their names or first lines."""
    from nmt_cli.data.languages.english_names import shown_language
    from nmt_cli.data.text.lines import read_lines

    src, tgt = languages.src, languages.tgt
    sides: list[list[str]] = []
    for name in files:
        # What can be read only once is not looked at.
        if not Path(name).is_file():
            sides = [[], []]
            break
        with read_lines(name) as lines:
            sides.append(list(islice(lines, LINES_LOOKED_AT)))
    if not are_in_each_others_language(files, (sides[0], sides[1]), (src, tgt)):
        return ""
    swapped = shlex.join(["--pairs", files[1], files[0]])
    return (
        f"`{files[0]}` seems to be in {shown_language(tgt)} and `{files[1]}` in "
        f"{shown_language(src)}, but the model translates from {src} to {tgt}: {swapped}"
    )


def _load(resolved: "ResolvedConfig", console: "Console") -> "Translator":
    from nmt_cli.cli.loading import load_translator

    return load_translator(resolved.config.paths.model, console=console)
