"""Output formats of translations: plain lines, n-best lists, JSON."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.translation.result import Alternative, Translation

SCHEMA = 1
_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")

Show = Callable[[int, "Translation"], str]


def plain_lines(*, n_best: bool, scores: bool, alignment: bool) -> Show:
    """Write a line for each translation or hypothesis; further fields follow |||."""

    def fields(line: int, hypothesis: "Alternative") -> list[str]:
        return [
            *([str(line)] if n_best else []),
            hypothesis.text,
            *([f"{hypothesis.score:.6f}"] if n_best or scores else []),
            *([" ".join(f"{score:.4f}" for score in hypothesis.token_scores)] if scores else []),
            *([" ".join(f"{src}-{tgt}" for src, tgt in hypothesis.alignment)] if alignment else []),
        ]

    def show(line: int, translation: "Translation") -> str:
        shown = translation.hypotheses if n_best else translation.hypotheses[:1]
        return "".join(" ||| ".join(fields(line, hypothesis)) + "\n" for hypothesis in shown)

    return show


def as_json_line(line: int, translation: "Translation", place: str = "") -> str:
    """A translation with all its hypotheses, as one line of JSON; place: in a document."""
    document = {
        "schema": SCHEMA,
        "line": line,
        **({"place": place} if place else {}),
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "flags": translation.flags,
        "sentences": [
            {"source": sentence.source, "text": sentence.text} for sentence in translation.sentences
        ],
        "hypotheses": [
            {
                "text": hypothesis.text,
                "score": hypothesis.score,
                "log_prob": hypothesis.log_prob,
                "tokens": hypothesis.tokens,
                "token_scores": [round(score, 6) for score in hypothesis.token_scores],
                **({"alignment": hypothesis.alignment} if hypothesis.alignment else {}),
            }
            for hypothesis in translation.hypotheses
        ],
    }
    return as_one_line(document)


def as_one_line(document: object) -> str:
    """JSON in one line, without characters that other programs take for the end of a line."""
    text = json.dumps(document, ensure_ascii=False)
    return _ENDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"
