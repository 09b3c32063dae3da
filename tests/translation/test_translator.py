"""The translator: one translation per line, in order, independent of the other lines."""

import dataclasses
import random
from collections.abc import Iterator
from typing import get_type_hints

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError, UnavailableError
from nmt_cli.inference.engines import find_device
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model_dir import save_model
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.translation.calls import SearchOptions
from nmt_cli.translation.lines.inputs import windows
from nmt_cli.translation.lines.outputs import HypothesisSelector
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
STRANGE = {
    "control characters": "a\x00b\x07c\x1b[31md\x7f",
    "line ends": "one\rtwo\x0bthree\x85four\u2028five\nsix",
    "special tokens": "</s> <pad> <unk> <s> <2de> ▁",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 👍🏽",
    "right to left": "שלום \u202eabc\u202c مرحبا",
    "unknown scripts": "ᚠᛇᚻ 𓀀𓀁 ꙮ",
    "lone surrogate": "a\ud800b",
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞a̴l͡g͟o",
    "full width": "ＡＢＣ１２３",
    "private use": "\ue000\uf8ff\U0010ffff",
    "one letter": "x",
    "a tab": "\ta\tb\t",
}
BLANK = ["", " ", "\t \u3000\xa0", "\x00\x01", "\r"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    config = byte_config()
    return Translator(byte_model(config), config, byte_subwords())


def texts(translator: Translator, lines, **settings: object) -> list[str]:
    search = dataclasses.replace(translator.config.search, **settings)
    return [translation.text for translation in translator.translate(lines, search=search)]


def some_lines(count: int, seed: int = 1) -> list[str]:
    chooser = random.Random(seed)
    return ["".join(chooser.choices("abc defgh", k=chooser.randrange(30))) for _ in range(count)]


def test_translate_gives_one_translation_per_line_in_order(translator: Translator) -> None:
    lines = [*some_lines(40), *STRANGE.values(), *BLANK, *some_lines(10, seed=2)]
    translations = list(translator.translate(lines))
    assert [translation.source for translation in translations] == lines
    assert len({len(translation.text) for translation in translations}) > 5, "the lengths must vary"
    alone = [translator.translate([line])[0] for line in lines]
    assert [translation.text for translation in translations] == [result.text for result in alone]
    for translation, single in zip(translations, alone, strict=True):
        assert translation.score == pytest.approx(single.score, abs=1e-4)
        assert translation.flags == single.flags


@pytest.mark.parametrize("batch_tokens", [1, 64, 100_000])
def test_translations_do_not_depend_on_batches_or_order(
    translator: Translator, batch_tokens: int
) -> None:
    lines = some_lines(30)
    expected = texts(translator, lines)
    order = random.Random(batch_tokens).sample(range(30), 30)
    translations = texts(translator, [lines[index] for index in order], batch_tokens=batch_tokens)
    assert translations == [expected[index] for index in order]


@settings(max_examples=40)
@given(st.lists(st.text(max_size=12), max_size=6))
def test_every_line_gives_one_clean_line(translator: Translator, lines: list[str]) -> None:
    translations = texts(translator, lines, beam=1)
    assert len(translations) == len(lines)
    for text in translations:
        assert not set(text) & set(LINE_ENDS)
        text.encode("utf-8")


def test_equal_lines_are_translated_once(translator, monkeypatch) -> None:
    admitted = []
    real = ReferenceDecoder.admit

    def admit(self, slots, sources) -> None:
        admitted.extend(sources)
        real(self, slots, sources)

    monkeypatch.setattr(ReferenceDecoder, "admit", admit)
    translations = texts(translator, ["abc", "def", "abc", "abc"])
    assert len(admitted) == 2
    assert translations[0] == translations[2] == translations[3]
    assert translations[0] != translations[1]


class TestArguments:
    """What `translate` takes, and what it gives for each kind."""

    def test_the_return_type_follows_the_type_of_lines(self, translator: Translator) -> None:
        lines = some_lines(3)
        translation = translator.translate(lines[0])
        assert isinstance(translation, Translation)
        assert translation.source == lines[0]
        several = translator.translate(lines)
        assert isinstance(several, list)
        assert several[0].text == translation.text
        assert translator.translate(tuple(lines)) == several
        lazy = translator.translate(iter(lines))
        assert next(lazy).text == translation.text
        assert [result.text for result in lazy] == [result.text for result in several[1:]]

    def test_a_str_may_end_in_a_newline_but_is_one_line(self, translator: Translator) -> None:
        assert translator.translate("abc\n") == translator.translate("abc")
        with pytest.raises(ValueError, match=r"text\.splitlines\(\)") as refused:
            translator.translate("abc\ndef")
        assert isinstance(refused.value, NmtError)

    def test_half_a_character_is_translated_like_invalid_bytes(
        self, translator: Translator
    ) -> None:
        half, replaced = translator.translate(["\ud800 abc", "\ufffd abc"])
        assert (half.text, half.flags) == (replaced.text, replaced.flags)
        assert "unknown_words" in half.flags

    def test_search_settings_are_keyword_arguments(self, translator: Translator) -> None:
        line = some_lines(1)[0]
        given = {"beam": 3, "n_best": 2, "alpha": 1, "length_penalty": "power"}
        search = dataclasses.replace(translator.config.search, **{**given, "alpha": 1.0})
        assert translator.translate(line, **given) == translator.translate(line, search=search)
        translations = translator.translate(line, search=search, n_best=1)
        assert len(translations.hypotheses) == 1
        assert translations.score == translator.translate(line, search=search).score

    def test_search_options_equal_the_search_settings(self) -> None:
        assert get_type_hints(SearchOptions) == get_type_hints(SearchConfig)

    def test_an_unknown_option_is_named_at_the_call(self, translator: Translator) -> None:
        with pytest.raises(TypeError, match=r"no option `bem`; did you mean `beam`\?"):
            translator.translate(iter(["abc"]), bem=2)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match=r"no option `colour`; known: alignment, alpha, "):
            translator.translate(iter(["abc"]), colour=2)  # type: ignore[call-overload]
        with pytest.raises(ConfigError, match=r"`beam` must be at least 1, not 0"):
            translator.translate(iter(["abc"]), beam=0)

    @pytest.mark.parametrize(
        "lines", [5, None, b"abc", bytearray(b"abc"), {"a": "b"}, ["a", b"b"], ("a", None)]
    )
    def test_invalid_lines_are_refused_at_the_call(self, translator, lines) -> None:
        with pytest.raises(TypeError, match=r"takes a line \(str\), a list of lines"):
            translator.translate(lines)

    def test_invalid_lines_of_an_iterator_are_refused_when_read(
        self, translator: Translator
    ) -> None:
        translations = translator.translate(iter(["abc", 5]))  # type: ignore[list-item]
        with pytest.raises(TypeError, match="line 2 is of type int"):
            next(translations)

    @pytest.mark.parametrize("lines", ["abc", ["abc"], iter(["abc"])], ids=["str", "list", "iter"])
    def test_more_prefixes_than_lines_are_refused(self, translator: Translator, lines) -> None:
        with pytest.raises(DataError, match="has a line 2, but the text ends before it"):
            list(translator.translate(lines, prefixes=["x", "y"]))

    def test_wrong_numbers_of_prefixes_are_refused_before_the_work(
        self, translator: Translator, monkeypatch
    ) -> None:
        monkeypatch.setattr(translator, "translate_window", None)
        for lines, prefixes in ((["abc"], ["x", "y"]), (["abc", "d"], ["x"]), ("abc", ["x", "y"])):
            with pytest.raises(DataError, match=r"has a line 2|ends before line 2"):
                translator.translate(lines, prefixes=prefixes)

    def test_unknown_precision_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="there is no precision `int4`") as caught:
            Translator.load("m", precision="int4")
        assert "float32" in caught.value.hint or "int8" in caught.value.hint

    @pytest.mark.parametrize("pair", [("a", "b", "c"), "ab", ("a", 1), 5])
    def test_score_refuses_elements_that_are_not_pairs(self, translator: Translator, pair) -> None:
        message = r"element 1 is .*; score\(\) takes pairs \(source, target\)"
        with pytest.raises(TypeError, match=message):
            list(translator.score([("a", "b"), pair]))

    def test_prefixes_begin_the_translations(self, translator: Translator) -> None:
        translation = translator.translate("abc", prefixes="xy")
        assert translation.text.startswith("xy")
        assert translator.translate("abc", prefixes=["xy"]) == translation
        assert translator.translate(["abc"], prefixes=["xy"]) == [translation]
        for wrong in ("xy", 5):
            with pytest.raises(TypeError, match="prefixes are an iterable of str"):
                translator.translate(["abc", "def"], prefixes=wrong)  # type: ignore[call-overload]


def test_no_lines_give_no_translations(translator: Translator) -> None:
    assert list(translator.translate([])) == []


class TestLongLines:
    """The model of these tests takes 40 subwords, here bytes."""

    def test_splitting_long_lines_loses_no_text(self, translator: Translator, monkeypatch) -> None:
        sources = []
        real = ReferenceDecoder.admit

        def admit(self, slots, new) -> None:
            sources.extend(translator.subwords.decode_source([source.ids for source in new]))
            real(self, slots, new)

        monkeypatch.setattr(ReferenceDecoder, "admit", admit)
        # No two pieces are equal: those would be translated once.
        words = " ".join(f"word{index}" for index in range(30))
        endless = "".join(map(chr, range(0x21, 0x7F)))
        line = f"First sentence here. {words}, and the clause, {endless}"
        translation = translator.translate([line], markup="off")[0]
        assert translation.flags[0] == "split"
        assert sorted("".join(sources).replace(" ", "")) == sorted(line.replace(" ", ""))
        assert max(map(len, sources)) <= 40

    def test_segments_are_translated_like_lines_and_joined(self, translator) -> None:
        pieces = ["The first sentence of them all is this.", "The second one is about as long."]
        whole = translator.translate([" ".join(pieces)])[0]
        parts = list(translator.translate(pieces))
        assert all("split" not in part.flags for part in parts)
        assert whole.text == " ".join(part.text for part in parts).strip()
        log_prob = sum(part.hypotheses[0].log_prob for part in parts)
        assert whole.hypotheses[0].log_prob == pytest.approx(log_prob, abs=1e-3)
        assert min(p.score for p in parts) > whole.score > log_prob

    def test_segments_are_joined_without_spaces_for_japanese(self) -> None:
        config = byte_config({"languages.tgt": "ja"})
        japanese = Translator(byte_model(config), config, byte_subwords())
        pieces = ["The first sentence of them all is this.", "The second one is about as long."]
        parts = [translation.text for translation in japanese.translate(pieces)]
        assert japanese.translate([" ".join(pieces)])[0].text == "".join(parts).strip()

    def test_n_best_lists_a_text_once(self, translator: Translator) -> None:
        subwords = translator.subwords
        first, other, third = (tuple(ids[:-1]) for ids in subwords.encode_target(list("abc")))
        # Bytes that are no UTF-8 are left out.
        broken = [(*third, 4 + byte) for byte in (0xFE, 0xFF)]
        ids = [broken[0], first, broken[1], first, other]
        results = [
            Hypothesis((*some, subwords.eos_id), -n - 1.0, -n - 1.0, ())
            for n, some in enumerate(ids)
        ]
        chooser = HypothesisSelector(lambda: translator.model, subwords)

        def scores(**settings: object) -> list[float]:
            config = dataclasses.replace(translator.config.search, beam=5, **settings)
            (parts,) = chooser.parts({Source((5, 6)): results}, config).values()
            return [part.hypothesis.score for part in parts]

        assert scores(n_best=5) == [-1.0, -2.0, -5.0]
        assert scores(n_best=3) == [-1.0, -2.0, -5.0]
        assert scores(n_best=2) == [-1.0, -2.0]
        assert scores(n_best=1) == [-1.0]
        # What is drawn may be drawn again.
        assert scores(n_best=5, sample=True) == [-1.0, -2.0, -3.0, -4.0, -5.0]

    def test_n_best_of_a_split_line(self, translator: Translator) -> None:
        line = "The first sentence of them all is this. " * 3
        search = SearchConfig(beam=3, n_best=3, max_extra_length=4)
        translation = translator.translate([line], search=search)[0]
        scores = [hypothesis.score for hypothesis in translation.hypotheses]
        assert scores == sorted(set(scores), reverse=True)
        assert len(scores) == 3

    def test_learned_positions_are_never_exceeded(self, monkeypatch) -> None:
        config = byte_config({"model.positions": "learned", "model.max_positions": 24})
        learned = Translator(byte_model(config), config, byte_subwords())
        lengths = []
        real = ReferenceDecoder.admit

        def admit(self, slots, new) -> None:
            lengths.extend(len(source.ids) for source in new)
            real(self, slots, new)

        monkeypatch.setattr(ReferenceDecoder, "admit", admit)
        assert learned.translate(["word " * 50])[0].text
        assert 20 < max(lengths) <= 24


class TestNBest:
    def test_the_first_hypothesis_is_the_translation(self, translator: Translator) -> None:
        search = dataclasses.replace(translator.config.search, beam=4, n_best=4)
        for translation in translator.translate(some_lines(10)[1:], search=search):
            if "empty" in translation.flags:
                continue
            assert len(translation.hypotheses) == 4
            assert translation.text == translation.hypotheses[0].text
            assert translation.score == translation.hypotheses[0].score
            scores = [hypothesis.score for hypothesis in translation.hypotheses]
            assert scores == sorted(scores, reverse=True)

    def test_the_settings_of_the_model_are_the_default(self) -> None:
        config = byte_config({"search.beam": 3, "search.n_best": 3})
        translation = Translator(byte_model(config), config, byte_subwords()).translate(["abc"])[0]
        assert len(translation.hypotheses) == 3


class TestTranslationFlags:
    def flags(self, settings: dict[str, object], bias: dict[int, float]) -> tuple[str, ...]:
        config = byte_config(settings)
        model = byte_model(config)
        with torch.no_grad():
            for token, value in bias.items():
                model.output_bias[token] += value
        return Translator(model, config, byte_subwords()).translate(["abcd"])[0].flags

    def test_an_empty_translation_loses_its_sentence(self) -> None:
        assert self.flags({}, {3: 50.0}) == ("sentences_lost",)

    def test_a_translation_with_words_has_no_flags(self) -> None:
        assert self.flags({"search.min_length": 2}, {3: 50.0}) == ()

    def test_a_translation_cut_off_is_flagged_at_limit(self) -> None:
        assert "at_limit" in self.flags({}, {3: -50.0})

    def test_a_model_that_repeats_itself_is_flagged(self) -> None:
        result = self.flags({"search.max_extra_length": 20}, {3: -50.0, 4 + ord("x"): 50.0})
        assert result == ("at_limit", "repetition")

    def test_a_model_that_gives_nan_is_flagged_failed(self) -> None:
        assert self.flags({}, {5: float("nan")}) == ("failed",)


class TestTranslationWindows:
    def test_translation_windows_grow(self) -> None:
        sizes = [len(window) for window in windows(iter(["x"] * 10_000))]
        assert sizes[:4] == [64, 256, 1024, 2048]
        assert max(sizes) == 2048
        assert sum(sizes) == 10_000

    def test_long_lines_fill_a_window_sooner(self) -> None:
        assert [len(window) for window in windows(iter(["x" * 600_000] * 5))] == [2, 2, 1]

    def test_a_window_ends_where_reading_would_block(self) -> None:
        answers = iter([False, False, True, True, False])
        result = windows(iter("abcde"), lambda: next(answers))
        assert list(result) == [["a", "b", "c"], ["d"], ["e"]]

    def test_translations_come_before_the_last_line_is_read(self, translator) -> None:
        read = []

        def lines() -> Iterator[str]:
            for index in range(1000):
                read.append(index)
                yield "ab"

        next(translator.translate(lines()))
        assert len(read) <= 65


class TestLoadTranslator:
    def test_a_saved_model_translates_as_before(self, translator, tmp_path) -> None:
        weights = translator.model.state_dict()
        save_model(tmp_path / "m", weights, translator.config, translator.subwords, {})
        lines = some_lines(12)
        assert texts(Translator.load(tmp_path / "m"), lines) == texts(translator, lines)
        assert texts(Translator.load(str(tmp_path / "m")), lines) == texts(translator, lines)

    def test_kernels_are_used_unless_there_is_no_cache(self, translator, tmp_path, kernel_cache):
        weights = translator.model.state_dict()
        save_model(tmp_path / "m", weights, translator.config, translator.subwords, {})
        named = Translator.load(tmp_path / "m", cache=kernel_cache).engine
        assert Translator.load(tmp_path / "m").engine.about == named.about
        uncompiled = Translator.load(tmp_path / "m", cache=None).engine
        assert "nmt's own kernels are not available" in uncompiled.about

    def test_translation_in_bf16(self, translator, tmp_path, kernel_cache) -> None:
        weights = translator.model.state_dict()
        save_model(tmp_path / "m", weights, translator.config, translator.subwords, {})
        half = Translator.load(tmp_path / "m", precision="bf16", cache=kernel_cache)
        assert half.engine.name == "bf16"
        lines = some_lines(12)
        translations, expected = half.translate(lines), translator.translate(lines)
        for translation, other in zip(translations, expected, strict=True):
            assert translation.score == pytest.approx(other.score, abs=0.5)

    def test_load_raises_for_a_missing_model(self, tmp_path) -> None:
        with pytest.raises(NoInputError):
            Translator.load(tmp_path / "nothing")
        with pytest.raises(ConfigError):
            Translator.load(tmp_path)

    @pytest.mark.parametrize("name", ["banana", "cuda:99", "meta", "cpu:x"])
    def test_a_missing_device_is_unavailable(self, name: str) -> None:
        with pytest.raises(UnavailableError, match="device"):
            find_device(name)

    def test_find_device_takes_names_and_devices(self) -> None:
        assert find_device("cpu") == find_device(torch.device("cpu")) == torch.device("cpu")


def test_the_model_is_put_into_evaluation_mode() -> None:
    config = byte_config({"model.dropout": 0.5})
    model = byte_model(config).train()
    translator = Translator(model, config, byte_subwords())
    assert not model.training
    assert texts(translator, ["abc"] * 2) == texts(translator, ["abc"] * 2)


def test_a_translation_is_immutable(translator: Translator) -> None:
    translation = translator.translate(["abc"])[0]
    assert isinstance(translation, Translation)
    with pytest.raises(dataclasses.FrozenInstanceError):
        translation.text = "x"  # type: ignore[misc]


def test_translating_leaves_no_inference_tensors_in_the_model(translator: Translator) -> None:
    """Validation translates in the middle of training: nothing of it may stay in the model."""
    config = byte_config({"model.positions": "rotary"})
    model = byte_model(config)
    subwords: Subwords = byte_subwords()
    texts(Translator(model, config, subwords), ["abc " * 400])
    model.train()
    from nmt_cli.batch import make_batch

    ids = torch.randint(4, 200, (3000,)).numpy()
    loss = model(make_batch([ids], [ids], [0], 2)).sum()
    loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_translate_window_reports_progress(translator: Translator) -> None:
    """Again and again: each step of the search moves the clock of a bar, each sentence the bar."""
    shares: list[float] = []
    lines = ["a b c", "b", "a b a b a c", "", "c a"]
    plain = translator.translate_window(lines)
    assert translator.translate_window(lines, on_progress=shares.append) == plain
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    assert len(shares) > len(lines)
    assert 0.0 < shares[-1] <= 1.0


def test_repr_names_languages_device_and_precision(translator: Translator, tmp_path) -> None:
    save_model(tmp_path / "m", translator.model.state_dict(), byte_config(), byte_subwords(), {})
    languages = byte_config().languages
    pair = f"{languages.src}-{languages.tgt}"
    assert repr(translator) == f"Translator({pair}, cpu, float32)"
    loaded = Translator.load(tmp_path / "m", precision="int8")
    assert repr(loaded) == f"Translator({str(tmp_path / 'm')!r}, {pair}, cpu, int8)"


def test_an_invalid_option_is_named_as_the_argument(translator: Translator) -> None:
    with pytest.raises(ConfigError) as caught:
        translator.translate("a", beam=0)
    assert caught.value.message == "translate(): `beam` must be at least 1, not 0"
    assert "search." not in caught.value.hint
