"""Constraints, reranking, alignment and scores, from lines of text to lines of text."""

import dataclasses
import random
from functools import partial

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.data.markup.marked_text import Text
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.spelling import source_spellings, target_spellings, word_numbers
from nmt_cli.errors import DataError, UsageError
from nmt_cli.inference.engines import fastest_engine, reference_engine
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.length_penalty import length_penalty
from nmt_cli.translation.constraints import BoundConstraints, Constraints
from nmt_cli.translation.lines.outputs import HypothesisSelector, _reranked
from nmt_cli.translation.translator import Translator

LINES = ["some words", "", "a dog, a cat", "the dog " * 12, "x y z"]
WORDS = "the small dog sees a large cat in the old garden and a small bird sings"
TEXT = WORDS.split()


def make_translator(
    settings: dict[str, object] | None = None, engine=reference_engine
) -> Translator:
    config = byte_config({"search.max_extra_length": 12, **(settings or {})})
    return Translator(byte_model(config), config, byte_subwords(), engine)


def make_word_translator(kind: str, engine=fastest_engine) -> Translator:
    """A model with random weights over subwords of a few words."""
    counts = {word: 10 + n for n, word in enumerate(TEXT)}
    data = DataConfig(subwords=kind, vocab_size=24 if kind == "unigram" else 60)
    subwords = learn_subwords(data, counts, counts)
    sizes: dict[str, object] = {
        "model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size,
        "search.max_extra_length": 20,
    }  # fmt: skip
    config = byte_config(sizes)
    model = Transformer(config.model).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for path, weight in model.named_parameters():
            mean = 1.0 if path.endswith("norm.weight") else 0.0
            torch.nn.init.normal_(weight, mean, 0.4, generator=generator)
    return Translator(model, config, subwords, engine)


def settings_of(translator: Translator, **settings: object):
    return dataclasses.replace(translator.config.search, **settings)


ENGINES = [reference_engine, fastest_engine]


@pytest.mark.parametrize(
    "settings",
    [
        {"no_repeat_ngram": 2, "repetition_penalty": 1.3},
        {"min_length": 6, "max_length": 9, "word_reward": 0.2},
        {"sample": True, "n_best": 2, "top_p": 0.9},
        {"sample": True, "top_k": 4},
        {"length_penalty": "power", "coverage_penalty": 0.3, "n_best": 2, "beam": 4},
        {"beam": 4, "mbr": "chrf", "alignment": True},
        {"beam": 1, "no_repeat_ngram": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("constrained", [False, True])
def test_every_engine_translates_the_same_in_any_batch(settings, constrained: bool) -> None:
    constraints = Constraints(
        ("a", "th"), () if settings.get("sample") else (Entry("dog", ("Hu",), 1),)
    )
    prefixes = ["", "", "pre", "Q", ""]
    given = {"constraints": constraints, "prefixes": prefixes} if constrained else {}
    results = []
    for engine in ENGINES:
        translator = make_translator(engine=engine)
        search = settings_of(translator, **settings)
        results.append(list(translator.translate(LINES, search=search, **given)))
    for ours, theirs in zip(*results, strict=True):
        assert (ours.text, ours.flags) == (theirs.text, theirs.flags)
        assert ours.hypotheses[0].alignment == theirs.hypotheses[0].alignment
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)
    for index, line in enumerate(LINES):
        start = [prefixes[index]] if constrained else None
        (alone,) = translator.translate_window(
            [line], search=search, constraints=given.get("constraints", Constraints()),
            prefixes=start, first=index,
        )  # fmt: skip
        assert alone.text == results[1][index].text
        if constrained and prefixes[index] and alone.text:
            assert alone.text.startswith(prefixes[index])
        if constrained and "dog" in line and not settings.get("sample"):
            assert "Hu" in alone.text or "term_missing" in alone.flags


@pytest.mark.parametrize("kind", ["bpe", "unigram", "chars", "wordpiece"])
class TestTerms:
    def test_terms_are_produced_as_whole_words(self, kind: str) -> None:
        translator = make_word_translator(kind)
        chooser = random.Random(1)
        lines = [" ".join(chooser.choices(TEXT, k=5)) for _ in range(12)]
        terms = (Entry("dog", ("bird", "old bird"), 1), Entry("small", ("large",), 2))
        for beam in (1, 4):
            search = settings_of(translator, beam=beam)
            free = list(translator.translate(lines, search=search))
            results = list(
                translator.translate(lines, search=search, constraints=Constraints(glossary=terms))
            )
            for line, plain, held in zip(lines, free, results, strict=True):
                words = held.text.split()
                assert ("bird" in words) or "dog" not in line.split()
                assert ("large" in words) or "small" not in line.split()
                assert "term_missing" not in held.flags
                if not {"dog", "small"} & set(line.split()):
                    assert held.text == plain.text

    def test_banned_words_are_never_produced(self, kind: str) -> None:
        translator = make_word_translator(kind)
        lines = [" ".join(random.Random(n).choices(TEXT, k=4)) for n in range(12)]
        search = settings_of(translator, beam=4, n_best=4)

        def words(constraints: Constraints) -> set[str]:
            return {
                word
                for translation in translator.translate(
                    lines, search=search, constraints=constraints
                )
                for alternative in translation.hypotheses
                for word in alternative.text.split()
            }

        plain = words(Constraints())
        banned = tuple(sorted(plain)[::2])
        assert banned
        assert not words(Constraints(banned)) & set(banned)

    def test_word_numbers_count_the_words_of_the_text(self, kind: str) -> None:
        translator = make_word_translator(kind)
        line = "the small dog sees a bird"
        for spellings, ids, text in (
            (
                source_spellings(translator.subwords),
                translator.subwords.encode_source([line])[0],
                line,
            ),
            (
                target_spellings(translator.subwords),
                translator.subwords.encode_target(["a dog"])[0],
                "a dog",
            ),
        ):
            numbers = word_numbers(ids, spellings, translator.subwords.unk_id)
            assert max(numbers) + 1 == len(text.split())
            assert [n for n in numbers if n >= 0] == sorted(n for n in numbers if n >= 0)
            joined = [b"".join(spellings[i] for i, n in zip(ids, numbers, strict=True) if n == word)
                      for word in range(len(text.split()))]  # fmt: skip
            assert [word.decode().strip() for word in joined] == text.split()


class TestLongLines:
    LINE = "The first part of them all is this, the second one is about as long, and a third one."

    def test_each_segment_has_the_terms_that_it_triggers(self) -> None:
        translator = make_translator()
        constraints = Constraints(
            glossary=(Entry("first", ("ONE",), 1), Entry("second", ("TWO",), 2))
        )
        (translation,) = translator.translate([self.LINE], constraints=constraints)
        assert "split" in translation.flags
        assert translation.text.index("ONE") < translation.text.index("TWO")

    def test_a_prefix_belongs_to_the_first_segment(self) -> None:
        translator = make_translator()
        (translation,) = translator.translate([self.LINE], prefixes=["PRE"])
        assert translation.text.startswith("PRE")
        assert translation.text.count("PRE") == 1

    def test_alignment_counts_words_of_the_whole_line(self) -> None:
        translator = make_translator()
        (translation,) = translator.translate(
            [self.LINE], search=settings_of(translator, alignment=True)
        )
        links = translation.hypotheses[0].alignment
        assert [word for _, word in links] == sorted(word for _, word in links)
        assert len(links) <= len(translation.text.split())
        sources = [src for src, _ in links]
        assert 0 <= min(sources) <= 7
        assert len(self.LINE.split()) > max(sources) > 10

    def test_segments_are_sampled_independently(self) -> None:
        translator = make_translator()
        search = settings_of(translator, sample=True)
        line = "The same sentence is here twice now. " * 2
        (translation,) = translator.translate([line], search=search)
        half = len(translation.text) // 2
        assert translation.text[:half].strip() != translation.text[half:].strip()


class TestSampling:
    def test_equal_lines_are_sampled_independently_by_seed(self) -> None:
        translator = make_translator()
        lines = ["some words"] * 8
        results = [
            [
                t.text
                for t in translator.translate(
                    lines, search=settings_of(translator, sample=True, seed=seed)
                )
            ]
            for seed in (1, 1, 2)
        ]
        assert len(set(results[0])) > 4
        assert results[0] == results[1] != results[2]

    def test_sampling_counts_lines_across_windows(self) -> None:
        translator = make_translator()
        search = settings_of(translator, sample=True, beam=1)
        lines = ["ab"] * 70
        translations = [t.text for t in translator.translate(lines, search=search)]
        again = [t.text for t in translator.translate_window(lines, search=search)]
        assert translations == again

    def test_a_glossary_may_be_a_dict(self) -> None:
        made = Constraints(glossary={"dog": "Hund", "cat": ["Katze", "Katzen"]})
        entries = Entry("dog", ("Hund",), 1), Entry("cat", ("Katze", "Katzen"), 2)
        assert made == Constraints(glossary=entries)
        assert hash(made) == hash(Constraints(glossary=entries))
        for wrong in ("dog", ["dog"]):
            with pytest.raises(UsageError, match="the glossary is neither a dict nor"):
                Constraints(glossary=wrong)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("term", "forms", "problem"),
        [
            ("cat", 3, "the forms must be texts"), ("cat", ["a", 3], "the forms must be texts"),
            ("cat", {"a"}, "the forms must be texts"), (3, "a", "the source term must be a text"),
            ("cat", "a|b", "a form has a `|`; give a list of forms"),
            ("cat", ["a|b"], "a form has a `|`; give a list of forms"),
            ("", "a", "the source term is empty"), ("cat", "", "a target form is empty"),
            ("cat", [], "a target form is empty"), ("cat", ["a", " "], "a target form is empty"),
            ("cat|kitty", "a", "`cat|kitty` has a `|`, which separates target forms only: write "
                               "an entry for each source term"),
        ],
    )  # fmt: skip
    def test_a_wrong_entry_of_a_dict_is_named(
        self, term: object, forms: object, problem: str
    ) -> None:
        with pytest.raises(UsageError) as caught:
            Constraints(glossary={"dog": "Hund", term: forms})  # type: ignore[dict-item]
        assert caught.value.message == f"the glossary, entry 2 (`{term}`): {problem}"

    def test_tabs_and_line_breaks_of_a_dict_are_spaces(self) -> None:
        (entry,) = Constraints(glossary={"hot\tdog": "Hot\nDog"}).entries
        assert entry[:2] == ("hot dog", ("Hot Dog",))

    def test_kept_names_are_texts_of_one_line(self) -> None:
        assert Constraints(keep=["NordPad", "Nord Pad"]).keep == ("NordPad", "Nord Pad")
        assert hash(Constraints(keep=["NordPad"])) == hash(Constraints(keep=("NordPad",)))
        for wrong in ("NordPad", ["a", 1], None, {"a"}):
            with pytest.raises(TypeError, match="keep is a list of str"):
                Constraints(keep=wrong)  # type: ignore[arg-type]
        for name in ("", "  ", "a\tb", "a\nb", "a\r\nb"):
            with pytest.raises(UsageError, match="the kept name") as refused:
                Constraints(keep=[name])
            assert "Constraints(keep=" in refused.value.hint

    def test_kept_names_without_markup_are_refused(self) -> None:
        translator = make_translator()
        constraints = Constraints(keep=["a"])
        search = settings_of(translator, markup="off")
        for translate in (
            partial(translator.translate_window, ["a"]),
            partial(translator.translate_marked, [(Text("a"),)]),
            partial(translator.translate, "a"),
        ):
            with pytest.raises(UsageError, match="names are kept like placeholders"):
                translate(search=search, constraints=constraints)

    def test_a_glossary_is_refused(self) -> None:
        translator = make_translator()
        with pytest.raises(UsageError, match="glossary"):
            translator.translate_window(
                ["x"],
                search=settings_of(translator, sample=True),
                constraints=Constraints(glossary=(Entry("a", ("b",), 1),)),
            )


class TestUnknownWords:
    @pytest.fixture
    def wordy(self) -> Translator:
        translator = make_word_translator("bpe")
        with torch.no_grad():
            translator.model.embedding.shared[translator.subwords.unk_id] *= 3.0
        return Translator(translator.model, translator.config, translator.subwords, fastest_engine)

    def test_unknown_words_are_copied_from_the_aligned_source_word(self, wordy: Translator) -> None:
        lines = ["the QQQ dog ZZZ", "small bird WWW", "the ÄÄÄ dog ÖÖÖ"]
        search = settings_of(wordy, replace_unknown=True, alignment=True)
        replaced = 0
        for line, result in zip(lines, wordy.translate(lines, search=search), strict=True):
            best = result.hypotheses[0]
            assert "⁇" not in result.text
            links = {tgt: src for src, tgt in best.alignment}
            spelt = "".join(best.tokens).replace("</s>", "").replace("▁", " ").split()
            for index, word in enumerate(spelt):
                if "<unk>" in word:
                    replaced += 1
                    assert result.text.split()[index] == line.split()[links[index]]
        assert replaced, "there must be something to replace"

    def test_unknown_words_are_not_produced_without_replacement(self, wordy: Translator) -> None:
        for translation in wordy.translate(["the QQQ dog ZZZ", "small bird WWW"]):
            assert "<unk>" not in translation.hypotheses[0].tokens

    def test_texts_that_a_copied_word_makes_equal_are_listed_once(self, wordy: Translator) -> None:
        subwords = wordy.subwords
        (source_ids,), (ids,) = subwords.encode_source(["dog"]), subwords.encode_target(["dog"])
        found = [
            Hypothesis((subwords.unk_id, subwords.eos_id), -1.0, -1.0, ()),
            Hypothesis(tuple(ids), -2.0, -2.0, ()),
        ]
        chooser = HypothesisSelector(lambda _: wordy.forcer, subwords)
        search = settings_of(wordy, replace_unknown=True, beam=2, n_best=2)
        (parts,) = chooser.parts({Source(tuple(source_ids), text="dog"): found}, search).values()
        assert [(part.text, part.hypothesis.score) for part in parts] == [("dog", -1.0)]


class TestReranking:
    def test_coverage_penalty_changes_scores_and_order(self) -> None:
        translator = make_translator()
        plain = settings_of(translator, beam=4, n_best=4)
        ranked = dataclasses.replace(plain, coverage_penalty=2.0)
        orders = []
        for free, covered in zip(
            translator.translate(LINES[:1] + LINES[2:], search=plain),
            translator.translate(LINES[:1] + LINES[2:], search=ranked), strict=True,
        ):  # fmt: skip
            scores = [alternative.score for alternative in covered.hypotheses]
            assert all(
                ours.score <= max(h.score for h in free.hypotheses) for ours in covered.hypotheses
            )
            if "split" not in covered.flags:
                assert scores == sorted(scores, reverse=True)
            orders.append([h.text for h in free.hypotheses] == [h.text for h in covered.hypotheses])
        assert not all(orders), "some order must change"

    def test_mbr_chooses_among_the_whole_beam(self) -> None:
        from nmt_cli.scoring.consensus import expected_scores

        translator = make_translator()
        search = settings_of(translator, beam=6, n_best=6)
        (whole,) = translator.translate(["some words"], search=search)
        texts = [alternative.text for alternative in whole.hypotheses]
        votes = expected_scores(texts, "chrf")
        chosen = dataclasses.replace(search, n_best=1, mbr="chrf")
        (translation,) = translator.translate(["some words"], search=chosen)
        assert translation.text == texts[votes.index(max(votes))]
        assert len(translation.hypotheses) == 1

    def test_hypotheses_that_miss_a_term_rank_last(self) -> None:
        translator = make_translator()
        source = Source((5, translator.subwords.eos_id))
        texts = ["the dog", "the dog", "a cat", "a cow"]
        results = [
            Hypothesis(tuple(ids), -1.0, -1.0, (-1.0,) * len(ids), missing)
            for ids, missing in zip(
                translator.subwords.encode_target(texts), (1, 2, 0, 0), strict=True
            )
        ]
        chooser = HypothesisSelector(lambda: translator.model, translator.subwords)
        search = settings_of(translator, beam=4, n_best=4, mbr="chrf")
        parts = chooser.parts({source: results}, search)[source]
        # The same text is given once, with the fewest terms that it lacks.
        assert [part.hypothesis.missing for part in parts] == [0, 0, 1]

    def test_of_translations_with_all_terms_those_with_faults_rank_behind_worse_keys(self) -> None:
        counts = [(0, 2), (0, 0), (0, 1), (1, 0), (0, 1)]
        results = [
            Hypothesis((rank,), -1.0, -1.0, (-1.0,), missing, faults)
            for rank, (missing, faults) in enumerate(counts)
        ]
        ranked = _reranked(results, [0.9, 0.1, 0.2, 0.8, 0.3])
        assert [each.ids[0] for each in ranked] == [1, 4, 2, 0, 3]

    def test_token_scores_add_up_to_the_log_probability(self) -> None:
        translator = make_translator()
        for translation in translator.translate(["some words", TestLongLines.LINE]):
            best = translation.hypotheses[0]
            assert len(best.tokens) == len(best.token_scores)
            assert sum(best.token_scores) == pytest.approx(best.log_prob, abs=1e-3)
            pieces = [int(token[1:-1], 16) for token in best.tokens if token != "</s>"]
            text = bytes(pieces).decode("utf-8", errors="ignore")
            assert text.replace(" ", "")[:3] == translation.text.replace(" ", "")[:3]


def test_a_form_that_the_model_cannot_spell_is_named() -> None:
    """With its line in a file, or with the term of a dict, which has no lines."""
    translator = make_word_translator("bpe")
    forms = ("bird", "bird Ωd§Ω")
    for glossary, message in (
        ((Entry("dog", forms, 7, "a.tsv"),), "`a.tsv`, line 7: the model cannot write `bird Ωd§Ω`"),
        ({"dog": forms}, "the glossary: the model cannot write `bird Ωd§Ω` for the term `dog`"),
    ):
        with pytest.raises(DataError) as caught:
            translator.bind(Constraints(glossary=glossary))
        assert caught.value.message == message
        assert caught.value.hint.startswith("its subwords lack `Ω`, `§`: remove the term or")
        assert "data.byte_fallback=true" in caught.value.hint


def test_terms_may_begin_with_a_capital_unless_they_are_copied() -> None:
    entries = (
        Entry("dog", ("hund", "köter"), 1),
        Entry("Bird", ("iPod",), 2),
        Entry("ls", ("ls",), 3),
    )
    translator = Translator(
        byte_model(byte_config()), byte_config(), byte_subwords(), reference_engine
    )
    bound = BoundConstraints(
        Constraints(glossary=entries), translator.subwords, translator.config.languages
    )
    found = bound.for_source("a dog, a Bird, ls", translator.subwords.encode_source(["ls"])[0])
    assert found is not None
    spelled = [
        translator.subwords.decode_target([[*form, translator.subwords.eos_id] for form in forms])
        for forms in found.forms
    ]
    assert spelled == [["hund", "köter", "Hund", "Köter"], ["iPod"], ["ls"]]


def test_banned_phrases_that_cannot_be_spelt_are_ignored() -> None:
    translator = make_word_translator("bpe")
    constraints = Constraints(("Ω", "  "))
    translations = [t.text for t in translator.translate(["a dog"], constraints=constraints)]
    assert translations == [t.text for t in translator.translate(["a dog"])]


def test_too_few_prefixes_are_an_error() -> None:
    translator = make_translator()
    with pytest.raises(DataError, match="ends before line 2"):
        list(translator.translate(["a", "b"], prefixes=["x"]))


def test_constraints_match_inside_words_of_a_language_without_spaces() -> None:
    translator = make_translator({"languages.tgt": "ja", "languages.src": "zh"})
    constraints = Constraints(("a",), (Entry("og", ("Q",), 1),))
    (translation,) = translator.translate(["a dog runs"], constraints=constraints)
    assert "a" not in translation.text
    assert "Q" in translation.text


def test_alignment_does_not_change_the_translation() -> None:
    translator = make_translator()
    lines = LINES[:3]
    plain = list(translator.translate(lines))
    aligned = list(translator.translate(lines, search=settings_of(translator, alignment=True)))
    assert [t.text for t in aligned] == [t.text for t in plain]
    assert [t.score for t in aligned] == [t.score for t in plain]
    best = plain[0].hypotheses[0]
    penalty = length_penalty(len(best.tokens), translator.config.search.alpha)
    assert best.score == pytest.approx(best.log_prob / penalty, abs=1e-5)


def test_special_ids_have_no_spelling() -> None:
    subwords: Subwords = byte_subwords()
    spellings = target_spellings(subwords)
    assert spellings[:4] == [b""] * 4
    assert spellings[4 + ord("a")] == b"a"
    assert b"".join(spellings[4:]) == bytes(range(256))


class TestScores:
    def test_score_keeps_the_order_across_windows(self, monkeypatch) -> None:
        monkeypatch.setattr("nmt_cli.translation.scoring.SCORE_WINDOW", 3)
        translator = make_translator()
        pairs = [("a\tb", f"c\t{n}" * (n % 4)) for n in range(8)]
        results = list(translator.score(pairs))
        assert [(pair.source, pair.target) for pair in results] == pairs
        for pair, given in zip(results, pairs, strict=True):
            (alone,) = translator.score([given])
            assert pair.token_scores == pytest.approx(alone.token_scores, abs=1e-4)
        assert list(translator.score([])) == []

    def test_score_refuses_pairs_longer_than_learned_positions(self) -> None:
        translator = make_translator({"model.positions": "learned", "model.max_positions": 24})
        assert len(list(translator.score([("a" * 23, "b" * 23)]))) == 1
        with pytest.raises(DataError, match="24 positions"):
            list(translator.score([("a", "b"), ("a" * 10, "b" * 24)]))
