"""The scores of the tokens that a model chose, without those of demanded terms."""

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.search.constraints import LexicalConstraints
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.quality.chosen_tokens import chosen_scores


def test_a_term_within_a_word_is_chosen() -> None:
    letters = dict.fromkeys(["न्तकिdog"], 9)
    subwords = learn_subwords(DataConfig(subwords="chars", vocab_size=32), letters, letters)
    term, inside, alone = (
        tuple(subwords.encode_target([text])[0][:-1]) for text in ("न्त", "किन्त", "न्त")
    )
    source = Source((5,), constraints=LexicalConstraints(((term,),)))
    for ids, count in ((inside, len(inside)), (alone, len(alone) - len("न्त"))):
        hypothesis = Hypothesis(ids, -1.0, -1.0, tuple(-1.0 for _ in ids))
        assert len(chosen_scores(source, hypothesis, subwords, spaced=True)) == count


def test_the_end_of_a_translation_that_is_demanded_as_a_whole_is_not_chosen() -> None:
    """As of a label that is a term of the glossary: an unlikely end says nothing of the words."""
    letters = dict.fromkeys(["dogcat"], 9)
    subwords = learn_subwords(DataConfig(subwords="chars", vocab_size=32), letters, letters)
    term, both = (tuple(subwords.encode_target([text])[0]) for text in ("dog", "dog cat"))
    source = Source((5,), constraints=LexicalConstraints(((term[:-1],),)))
    for ids, is_chosen in ((term, False), (both, True)):
        hypothesis = Hypothesis(ids, -9.0, -9.0, tuple(-1.0 for _ in ids))
        assert bool(chosen_scores(source, hypothesis, subwords, spaced=True)) == is_chosen
