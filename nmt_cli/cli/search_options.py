"""The options of `nmt translate` that are settings of search, and which setting each one is."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class LengthPenalty(StrEnum):
    """What log-probabilities are divided by."""

    gnmt = "gnmt"
    power = "power"
    none = "none"


class Consensus(StrEnum):
    """By what hypotheses are compared with one another."""

    chrf = "chrf"
    bleu = "bleu"


Beam = Annotated[
    int | None, typer.Option("--beam", metavar="N", help="Hypotheses kept: 4; 1 is greedy.")
]
NBest = Annotated[
    int | None,
    typer.Option(
        "--n-best", metavar="N",
        help="The N best translations of each line, or fewer where some have the same text: "
        "line ||| translation ||| score; lines count from 0.",
    ),
]  # fmt: skip
BatchTokens = Annotated[
    int | None,
    typer.Option(
        "--batch-tokens", metavar="N", help="Source tokens times beam at a time; else what suits."
    ),
]

# Length.
Alpha = Annotated[
    float | None, typer.Option("--alpha", metavar="X", help="Length penalty ((5+n)/6)^X: 0.6.")
]
Penalty = Annotated[
    LengthPenalty | None,
    typer.Option("--length-penalty", help="gnmt: ((5+n)/6)^alpha; power: n^alpha; none: 1."),
]
WordReward = Annotated[
    float | None,
    typer.Option("--word-reward", metavar="X", help="Added to the score for each subword."),
]
CoveragePenalty = Annotated[
    float | None,
    typer.Option("--coverage-penalty", metavar="X", help="GNMT's beta: prefer what covers all."),
]
MinLength = Annotated[
    int | None, typer.Option("--min-length", metavar="N", help="Shortest output in subwords.")
]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", metavar="N", help="Longest output in subwords.")
]
MaxExtraLength = Annotated[
    int | None,
    typer.Option("--max-extra-length", metavar="N", help="Longest output: source + 50 subwords."),
]

# What may come, and what must.
NoRepeatNgram = Annotated[
    int | None,
    typer.Option("--no-repeat-ngram", metavar="N", help="No N subwords in a row come twice."),
]
RepetitionPenalty = Annotated[
    float | None,
    typer.Option(
        "--repetition-penalty", metavar="X", help="Subwords that came are X times less likely."
    ),
]
Ban = Annotated[
    Path | None,
    typer.Option("--ban", metavar="FILE", help="Words and phrases that may not come, one a line."),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", metavar="FILE", help="TSV: source term, tab, target forms a|b, one a line."
    ),
]
Prefix = Annotated[
    Path | None,
    typer.Option("--prefix", metavar="FILE", help="How each translation begins, one a line."),
]

Shortlist = Annotated[
    int | None,
    typer.Option(
        "--shortlist", metavar="N", help="Only N words for each of the source; see nmt shortlist."
    ),
]

# Sampling.
Sample = Annotated[bool, typer.Option("--sample", help="Draw translations by chance.")]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", metavar="X", help="Of --sample; below 1: more of the likely."),
]
TopK = Annotated[
    int | None, typer.Option("--top-k", metavar="N", help="Sample from the N likeliest subwords.")
]
TopP = Annotated[
    float | None,
    typer.Option("--top-p", metavar="X", help="Sample from those that make up probability X."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Of --sample: 1.")]
Mbr = Annotated[
    Consensus | None,
    typer.Option("--mbr", help="Of --beam hypotheses or samples, the one most like the others."),
]

# What is told.
Alignment = Annotated[
    bool, typer.Option("--alignment", help="Add ||| and source-word pairs such as 0-0 1-2.")
]
Scores = Annotated[
    bool, typer.Option("--scores", help="Add ||| score ||| log-probability of each subword.")
]
ReplaceUnknown = Annotated[
    bool, typer.Option("--replace-unknown", help="Take unknown words from the source.")
]
