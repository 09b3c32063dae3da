"""What `--verify` finds: an engine whose lines know of their neighbours, and one that is wrong."""

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
            replace(one, ids=[*reversed(one.ids[:-1]), one.ids[-1]]) if place else one
            for place, one in enumerate(sources)
        ]
        super().admit(slots, changed)


class WrongDecoder(ReferenceDecoder):
    """Takes every source for another."""

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        super().admit(slots, [replace(one, ids=[70, 3]) for one in sources])


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
    wording: Constraints | None = None,
    **settings: object,
) -> tuple[Verifier, list[Difference]]:
    """What a verifier says of lines that come second, after ten others."""
    wording = wording or Constraints()
    found = translator.translate_window(
        lines, search=search, wording=wording, prefixes=prefixes, first=10
    )
    verifier = Verifier(translator, search, wording, **{"plain": True, **settings})
    return verifier, list(verifier.check(found, prefixes, 10))


@pytest.mark.parametrize(
    "settings",
    [{}, {"beam": 1}, {"n_best": 2}, {"sample": True, "seed": 5}, {"no_repeat_ngram": 2},
     {"beam": 4, "mbr": "chrf"}, {"alignment": True}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("plain", [True, False])
def test_a_right_engine_passes(config: Config, settings: dict[str, object], plain: bool) -> None:
    translator = translator_of(config, ReferenceDecoder)
    search = replace(config.search, **settings)
    verifier, found = checked(translator, search, [*LINES, LONG], plain=plain)
    assert found == []
    assert (verifier.checked, verifier.differing) == (7, 0)


def test_prefixes_and_banned_words_are_the_same_again(config: Config) -> None:
    prefixes = ["ab", "", "", "Das ", "", "q"]
    translator = translator_of(config, ReferenceDecoder)
    plain = [one.text for one in translator.translate(LINES, prefixes=prefixes)]
    wording = Constraints(banned=tuple({word for text in plain for word in text.split()}))
    found = [one.text for one in translator.translate(LINES, prefixes=prefixes, wording=wording)]
    assert found != plain
    assert checked(translator, config.search, LINES, prefixes, wording)[1] == []


def test_an_ensemble_is_judged_by_all_its_members(config: Config) -> None:
    other = translator_of(config, ReferenceDecoder, seed=2)
    right = Translator(
        byte_model(config), config, byte_subwords(),
        lambda model: Engine("made up", "", lambda *size: ReferenceDecoder(model, *size)), [other],
    )  # fmt: skip
    assert checked(right, config.search)[1] == []
    wrong = translator_of(config, WrongDecoder, seed=2)
    broken = Translator(byte_model(config), config, byte_subwords(), others=[wrong])
    assert checked(broken, config.search)[1]


@pytest.mark.parametrize("plain", [True, False])
def test_a_line_that_knows_its_neighbours_is_found(config: Config, plain: bool) -> None:
    translator = translator_of(config, LeakyDecoder)
    verifier, found = checked(translator, config.search, plain=plain)
    assert found
    assert verifier.differing == len(found)
    assert all(one.neighbours for one in found)
    alone = translator_of(config, ReferenceDecoder)
    for one in found:
        line = LINES[one.line - 10]
        expected: Translation = alone.translate([line])[0]
        assert one.expected.text == expected.text != one.found.text
        assert str(one).startswith(f"line {one.line + 1}: `{one.found.text}` (score -")
        assert f"but alone `{expected.text}`" in str(one)


def test_what_an_engine_says_of_the_line_alone_is_shown(config: Config) -> None:
    class Both(LeakyDecoder):
        def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
            super().admit(slots, [replace(sources[0], ids=[70, 3]), *sources[1:]])

    translator = translator_of(config, Both)
    _, found = checked(translator, config.search)
    leaks = [one for one in found if one.neighbours]
    alone = [translator.translate([LINES[one.line - 10]])[0].text for one in leaks]
    assert leaks
    assert [one.expected.text for one in leaks] == alone


def test_pieces_of_one_line_are_neighbours_too(config: Config) -> None:
    _, found = checked(translator_of(config, LeakyDecoder), config.search, [LONG])
    assert [one.neighbours for one in found] == [True]


def test_an_engine_that_is_wrong_alone_too_is_found_by_the_plain_model(config: Config) -> None:
    translator = translator_of(config, WrongDecoder)
    verifier, found = checked(translator, config.search)
    assert found
    assert not any(one.neighbours for one in found)
    assert "but by the plain model `" in str(found[0])
    assert verifier.judge == "alone, by the plain model"
    verifier, found = checked(translator, config.search, plain=False)
    assert found == []
    assert verifier.judge == "alone"


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("change", [{"text": "no"}, {"tokens": ("n", "o")}], ids=str)
def test_all_hypotheses_count_and_their_subwords(
    config: Config, rank: int, change: dict[str, object]
) -> None:
    translator = translator_of(config, ReferenceDecoder)
    search = replace(config.search, n_best=2)
    right = translator.translate([LINES[0]], search=search)[0]
    hypotheses = list(right.hypotheses)
    hypotheses[rank] = replace(hypotheses[rank], **change)
    verifier = Verifier(translator, search, plain=True)
    assert list(verifier.check([right], None, 0)) == []
    [found] = verifier.check([replace(right, hypotheses=tuple(hypotheses))], None, 0)
    assert (found.found, found.expected) == (hypotheses[rank], right.hypotheses[rank])
    [fewer] = verifier.check([replace(right, hypotheses=right.hypotheses[:1])], None, 0)
    assert fewer.expected == right.hypotheses[1]


@pytest.mark.parametrize(("every", "count"), [(1, 6), (2, 3), (4, 1), (100, 0)])
def test_each_nth_line_is_looked_at(config: Config, every: int, count: int) -> None:
    """The lines are numbers 10 to 15."""
    verifier, _ = checked(translator_of(config, ReferenceDecoder), config.search, every=every)
    assert verifier.checked == count


@pytest.mark.parametrize("precision", ["float32", "int8", "bf16"])
def test_the_engines_themselves(config: Config, precision: str, kernel_cache) -> None:
    torch.set_num_threads(1)
    translator = Translator(
        byte_model(config), config, byte_subwords(),
        lambda model: fastest_engine(model, kernel_cache, precision),
    )  # fmt: skip
    assert checked(translator, config.search, plain=precision == "float32")[1] == []
