"""A translation as one line of JSON, as `nmt translate --json` and the server give it."""

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.translation.result import Alternative, Translation

SCHEMA = 1
_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")


def as_json_line(line: int, translation: "Translation", place: str = "") -> str:
    """A translation with all its hypotheses, as one line of JSON; place: in a document."""
    document = {
        "schema": SCHEMA,
        "line": line,
        **({"place": place} if place else {}),
        "source": translation.source,
        **({"pivots": list(map(asdict, translation.pivots))} if translation.pivots else {}),
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
                **_faults_of_terms(hypothesis),
            }
            for hypothesis in translation.hypotheses
        ],
    }
    return as_one_line(document)


def _faults_of_terms(hypothesis: "Alternative") -> dict[str, int]:
    """The numbers of missing terms and of other faults, of those that are not 0."""
    numbers = {
        "missing_terms": hypothesis.missing_terms,
        "term_faults": hypothesis.term_faults,
    }
    return {name: number for name, number in numbers.items() if number}


def as_one_line(document: object) -> str:
    """JSON in one line, without characters that other programs take for the end of a line."""
    text = json.dumps(document, ensure_ascii=False)
    return _ENDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"
