"""How a translation is written: plain lines, n-best lists, JSON."""

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
    """A line for each translation, or for each hypothesis; what else was asked for behind |||."""

    def fields(number: int, one: "Alternative") -> list[str]:
        return [
            *([str(number)] if n_best else []),
            one.text,
            *([f"{one.score:.6f}"] if n_best or scores else []),
            *([" ".join(f"{score:.4f}" for score in one.token_scores)] if scores else []),
            *([" ".join(f"{src}-{tgt}" for src, tgt in one.alignment)] if alignment else []),
        ]

    def show(number: int, translation: "Translation") -> str:
        shown = translation.hypotheses if n_best else translation.hypotheses[:1]
        return "".join(" ||| ".join(fields(number, one)) + "\n" for one in shown)

    return show


def as_json_line(number: int, translation: "Translation") -> str:
    """All that is known of a translation, as one line of JSON."""
    document = {
        "schema": SCHEMA,
        "line": number,
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "flags": translation.flags,
        "hypotheses": [
            {
                "text": one.text,
                "score": one.score,
                "log_prob": one.log_prob,
                "tokens": one.tokens,
                "token_scores": [round(score, 6) for score in one.token_scores],
                **({"alignment": one.alignment} if one.alignment else {}),
            }
            for one in translation.hypotheses
        ],
    }
    return as_one_line(document)


def as_one_line(document: object) -> str:
    """JSON in which nothing looks like the end of a line but the one at its end."""
    text = json.dumps(document, ensure_ascii=False)
    # What other programs take for the end of a line is spelt out.
    return _ENDS.sub(lambda one: f"\\u{ord(one[0]):04x}", text) + "\n"
