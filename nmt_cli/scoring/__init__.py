"""How good a translation is: BLEU, chrF, TER and the paper's own BLEU, each with its signature."""

from nmt_cli.scoring.metrics import LOWER_IS_BETTER, METRICS, looks_tokenized
from nmt_cli.scoring.paper import paper_text, split_compounds
from nmt_cli.scoring.scores import Comparison, Score, check_aligned, score

__all__ = [
    "LOWER_IS_BETTER",
    "METRICS",
    "Comparison",
    "Score",
    "check_aligned",
    "looks_tokenized",
    "paper_text",
    "score",
    "split_compounds",
]
