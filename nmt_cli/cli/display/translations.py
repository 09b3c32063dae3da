"""Output formats of translations: plain lines and n-best lists."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.translation.result import Alternative, Translation

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
