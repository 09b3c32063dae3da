"""Scores of translations: BLEU, chrF, TER and the paper's own BLEU, each with its signature."""

from nmt_cli.scoring.gates import Gate, make_gate, missed, verdict
from nmt_cli.scoring.given import GivenScores
from nmt_cli.scoring.grouping import GroupScore
from nmt_cli.scoring.metrics import METRICS, check_metrics, looks_tokenized
from nmt_cli.scoring.notes import text_notes
from nmt_cli.scoring.paper import has_rules_for, paper_text, split_compounds
from nmt_cli.scoring.plain_text import require_plain_text
from nmt_cli.scoring.scores import Comparison, Score, check_aligned, score
from nmt_cli.scoring.unspaced import unspaced_tokenizer, unspaced_validation_note

__all__ = [
    "METRICS",
    "Comparison",
    "Gate",
    "GivenScores",
    "GroupScore",
    "Score",
    "check_aligned",
    "check_metrics",
    "has_rules_for",
    "looks_tokenized",
    "make_gate",
    "missed",
    "paper_text",
    "require_plain_text",
    "score",
    "split_compounds",
    "text_notes",
    "unspaced_tokenizer",
    "unspaced_validation_note",
    "verdict",
]
