"""Checks an imported model for which there is no library to compare with."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.text.sanitize import clean_words
from nmt_cli.errors import QualityGateError
from nmt_cli.model_dir import LoadedModel
from nmt_cli.translation.translator import Translator

# A larger share of unknown subwords means that the text is split in another way.
MOST_UNKNOWN = 0.2


@dataclass(frozen=True)
class AloneResult:
    """What an imported model does by itself.

    lines: the number of translated lines; unknown_share: the share of unknown subwords in them;
    ended_translations: greedy translations that end by themselves; log_prob: their mean
    log-probability per subword, in nats.
    """

    lines: int
    unknown_share: float
    ended_translations: int
    log_prob: float

    def as_document(self) -> dict[str, object]:
        """The result for JSON."""
        return {"compared": False, **asdict(self)}


def check_alone(loaded: LoadedModel, lines: Sequence[str]) -> AloneResult:
    """Translate `lines`; raises QualityGateError if the subwords or the numbers cannot be right."""
    lines = [clean_words(line) for line in lines]
    sources = loaded.subwords.encode_source(lines)
    unknown = sum(ids.count(loaded.subwords.unk_id) for ids in sources)
    share = unknown / max(sum(map(len, sources)), 1)
    if share > MOST_UNKNOWN:
        raise QualityGateError(
            f"{share:.0%} of the subwords of the lines are unknown to the imported model",
            "name the segmenter of its training with --vocab, or lines in its source language with "
            "--check",
        )
    search = SearchConfig(
        beam=1, max_extra_length=loaded.config.search.max_extra_length, sentences="line",
        markup="off",
    )  # fmt: skip
    translator = Translator(loaded.model, loaded.config, loaded.subwords)
    hypotheses = [
        translation.hypotheses[0] for translation in translator.translate(lines, search=search)
    ]
    log_prob = sum(hypothesis.log_prob for hypothesis in hypotheses)
    if not math.isfinite(log_prob):
        raise QualityGateError(
            "the imported model gives probabilities that are not numbers",
            "its weights are damaged: copy the checkpoint again",
        )
    size = sum(len(hypothesis.ids) for hypothesis in hypotheses)
    # A translation of the greatest length was cut off.
    ended = sum(
        len(hypothesis.ids) < len(source) + search.max_extra_length
        for source, hypothesis in zip(sources, hypotheses, strict=True)
    )
    return AloneResult(len(lines), share, ended, log_prob / max(size, 1))
