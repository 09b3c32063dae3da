"""Verification: it reports engines that depend on the batch, and engines that are wrong."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine, fastest_engine
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Source
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator
from nmt_cli.translation.verification import Difference, Verifier

LINES = ["some words to translate", "", "größer 👍", "more of them, and longer ones", "x", "x y z"]
LONG = "one two three four five six seven eight nine ten eleven twelve, and then some more of it"


class LeakyDecoder(ReferenceDecoder):
    """Encodes a source otherwise where it has neighbours."""

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        changed = [
            replace(source, ids=[*reversed(source.ids[:-1]), source.ids[-1]]) if index else source
            for index, source in enumerate(sources)
        ]
        super().admit(slots, changed)


class WrongDecoder(ReferenceDecoder):
    """Takes every source for another."""

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        super().admit(slots, [replace(source, ids=[70, 3]) for source in sources])


@pytest.fixture(scope="module")
def config() -> Config:
    return byte_config()


def translator_of(config: Config, decoder: type[ReferenceDecoder], seed: int = 1) -> Translator:
    def engine(model: Transformer) -> Engine:
        return Engine("made up", "", lambda slots, beam: decoder(model, slots, beam))

    return Translator(byte_model(config, seed), config, byte_subwords(), engine)


def checked(
    translator: Translator,
    search: SearchConfig,
    lines: Sequence[str] = LINES,
    prefixes: list[str] | None = None,
    constraints: Constraints | None = None,
    **settings: object,
) -> tuple[Verifier, list[Difference]]:
    """What a verifier says of lines that come second, after ten others."""
    constraints = constraints or Constraints()
    result = translator.translate_window(
        lines, search=search, constraints=constraints, prefixes=prefixes, first=10
    )
    verifier = Verifier(translator, search, constraints, **{"against_reference": True, **settings})
    return verifier, list(verifier.check(result, prefixes, 10))


@pytest.mark.parametrize(
    "settings",
    [{}, {"beam": 1}, {"n_best": 2}, {"sample": True, "seed": 5}, {"no_repeat_ngram": 2},
     {"beam": 4, "mbr": "chrf"}, {"alignment": True}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("against_reference", [True, False])
def test_a_correct_engine_passes(
    config: Config, settings: dict[str, object], against_reference: bool
) -> None:
    translator = translator_of(config, ReferenceDecoder)
    search = replace(config.search, **settings)
    verifier, findings = checked(
        translator, search, [*LINES, LONG], against_reference=against_reference
    )
    assert findings == []
    assert (verifier.checked, verifier.differing) == (7, 0)


def test_verification_uses_the_same_prefixes_and_constraints(config: Config) -> None:
    prefixes = ["ab", "", "", "Das ", "", "q"]
    translator = translator_of(config, ReferenceDecoder)
    unconstrained = [
        translation.text for translation in translator.translate(LINES, prefixes=prefixes)
    ]
    constraints = Constraints(ban=tuple({word for text in unconstrained for word in text.split()}))
    results = [
        translation.text
        for translation in translator.translate(LINES, prefixes=prefixes, constraints=constraints)
    ]
    assert results != unconstrained
    assert checked(translator, config.search, LINES, prefixes, constraints)[1] == []


def test_an_ensemble_is_compared_with_all_its_members(config: Config) -> None:
    other = translator_of(config, ReferenceDecoder, seed=2)
    right = Translator(
        byte_model(config), config, byte_subwords(),
        lambda model: Engine("made up", "", lambda *size: ReferenceDecoder(model, *size)), [other],
    )  # fmt: skip
    assert checked(right, config.search)[1] == []
    wrong = translator_of(config, WrongDecoder, seed=2)
    broken = Translator(byte_model(config), config, byte_subwords(), others=[wrong])
    assert checked(broken, config.search)[1]


@pytest.mark.parametrize("against_reference", [True, False])
def test_a_line_that_depends_on_its_batch_is_reported(
    config: Config, against_reference: bool
) -> None:
    translator = translator_of(config, LeakyDecoder)
    verifier, findings = checked(translator, config.search, against_reference=against_reference)
    assert findings
    assert verifier.differing == len(findings)
    assert all(translation.depends_on_batch for translation in findings)
    alone = translator_of(config, ReferenceDecoder)
    for translation in findings:
        line = LINES[translation.line - 10]
        expected: Translation = alone.translate([line])[0]
        assert translation.expected.text == expected.text != translation.actual.text
        assert str(translation).startswith(
            f"line {translation.line + 1}: `{translation.actual.text}` (score -"
        )
        assert f"but alone `{expected.text}`" in str(translation)


def test_the_engines_own_translation_of_the_line_is_shown(config: Config) -> None:
    class Both(LeakyDecoder):
        def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
            super().admit(slots, [replace(sources[0], ids=[70, 3]), *sources[1:]])

    translator = translator_of(config, Both)
    _, findings = checked(translator, config.search)
    leaks = [translation for translation in findings if translation.depends_on_batch]
    alone = [translator.translate([LINES[leak.line - 10]])[0].text for leak in leaks]
    assert leaks
    assert [leak.expected.text for leak in leaks] == alone


def test_segments_of_a_line_are_searched_separately(config: Config) -> None:
    _, findings = checked(translator_of(config, LeakyDecoder), config.search, [LONG])
    assert [translation.depends_on_batch for translation in findings] == [True]


def test_a_wrong_engine_differs_from_the_reference_model(config: Config) -> None:
    translator = translator_of(config, WrongDecoder)
    verifier, findings = checked(translator, config.search)
    assert findings
    assert not any(translation.depends_on_batch for translation in findings)
    assert "but by the reference engine `" in str(findings[0])
    assert verifier.baseline == "alone, by the reference engine"
    verifier, findings = checked(translator, config.search, against_reference=False)
    assert findings == []
    assert verifier.baseline == "alone"


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("change", [{"text": "no"}, {"tokens": ("n", "o")}], ids=str)
def test_all_hypotheses_and_their_subwords_are_compared(
    config: Config, rank: int, change: dict[str, object]
) -> None:
    translator = translator_of(config, ReferenceDecoder)
    search = replace(config.search, n_best=2)
    right = translator.translate([LINES[0]], search=search)[0]
    hypotheses = list(right.hypotheses)
    hypotheses[rank] = replace(hypotheses[rank], **change)
    verifier = Verifier(translator, search, against_reference=True)
    assert list(verifier.check([right], None, 0)) == []
    [result] = verifier.check([replace(right, hypotheses=tuple(hypotheses))], None, 0)
    assert (result.actual, result.expected) == (hypotheses[rank], right.hypotheses[rank])
    [fewer] = verifier.check([replace(right, hypotheses=right.hypotheses[:1])], None, 0)
    assert fewer.expected == right.hypotheses[1]


@pytest.mark.parametrize(("every", "count"), [(1, 6), (2, 3), (4, 2), (100, 1)])
def test_each_nth_line_is_checked(config: Config, every: int, count: int) -> None:
    """Of the lines that it is given, from the first on: they are numbers 10 to 15 of a text."""
    verifier, _ = checked(translator_of(config, ReferenceDecoder), config.search, every=every)
    assert verifier.checked == count


@pytest.mark.parametrize("precision", ["float32", "int8", "bf16"])
def test_the_engines_of_every_precision_pass(config: Config, precision: str, kernel_cache) -> None:
    torch.set_num_threads(1)
    translator = Translator(
        byte_model(config), config, byte_subwords(),
        lambda model: fastest_engine(model, kernel_cache, precision),
    )  # fmt: skip
    assert checked(translator, config.search, against_reference=precision == "float32")[1] == []
