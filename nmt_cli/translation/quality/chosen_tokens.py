"""The scores of the tokens that a model chose, without those that a glossary or prefix demands."""

import re
from collections.abc import Sequence
from functools import lru_cache

from nmt_cli.data.languages.word_characters import borders
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import target_spellings
from nmt_cli.search.decoder import Hypothesis, Source

_BEGIN, _END = borders()
_target_spellings = lru_cache(maxsize=1)(target_spellings)


def chosen_scores(
    source: Source | None, hypothesis: Hypothesis, subwords: Subwords, *, spaced: bool
) -> Sequence[float]:
    """The scores of a hypothesis but those of the prefix and of the terms that it must contain.

    None are left of a translation that is demanded as a whole: its end is no choice either. source:
    None for a segment that is copied; spaced: whether the target language has spaces between words.
    """
    scores = hypothesis.token_scores
    if source is None or not (source.prefix or source.constraints):
        return scores
    demanded = set(range(len(source.prefix)))
    spellings = _target_spellings(subwords)
    if source.constraints:
        # By spelling, because behind an apostrophe a term has other ids than its form.
        translation = SpelledIds(hypothesis.ids, spellings)
        for forms in source.constraints.forms:
            for form in forms:
                term = re.escape(SpelledIds(form, spellings).text.strip())
                pattern = rf"{_BEGIN}{term}{_END}" if spaced else term
                for match in re.finditer(pattern, translation.text):
                    demanded.update(translation.positions(*match.span()))
    chosen = [position for position in range(len(scores)) if position not in demanded]
    rest = {hypothesis.ids[position] for position in chosen}
    # What is left may be the end, and a space.
    is_whole = demanded and subwords.eos_id in rest
    if is_whole and not any(spellings[i].strip() for i in rest - {subwords.eos_id}):
        return []
    return [scores[position] for position in chosen]
