"""Which kernels are chosen for each precision: by the processor, the user and the self-test."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from amx_cases import AMX, Emulation
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli import model_weights
from nmt_cli.errors import ConfigError
from nmt_cli.inference.engines import fastest_engine
from nmt_cli.inference.native import self_test
from nmt_cli.inference.native.decoder import NativeStep
from nmt_cli.inference.native.library import SOURCES
from nmt_cli.inference.native.linear import Kernels, NativeLinear
from nmt_cli.inference.native.packing import packed_cache
from nmt_cli.inference.native.self_test import find_kernels
from nmt_cli.model_dir import save_model
from nmt_cli.translation.translator import Translator

PRECISIONS = ("float32", "bf16", "int8", "split")
TILED = PRECISIONS[1:]
LINES = ["ab cd", "the red house", "x"]


@pytest.fixture
def machine(emulated: Emulation, monkeypatch) -> Emulation:
    """A machine with AMX, whose library is found in every folder."""
    monkeypatch.delenv("NMT_CPU_ISA", raising=False)
    monkeypatch.setattr(self_test, "load_library", lambda folder: (emulated.library, ""))
    return emulated


def chosen(precision: str) -> tuple[str, str, str]:
    """The instruction set, the precision and the notice of the kernels that are chosen."""
    kernels, reason = find_kernels(Path(), precision)
    assert kernels is not None, reason
    return kernels.instruction_set, kernels.precision, kernels.notice


@pytest.fixture
def best(machine: Emulation) -> str:
    """The best vectors here."""
    kernels, _ = find_kernels(Path())
    assert kernels is not None
    return kernels.instruction_set


def test_amx_is_chosen_for_what_it_multiplies(machine: Emulation, best: str) -> None:
    assert best != "amx"
    assert chosen("float32") == (best, "float32", "")
    for precision in TILED:
        assert chosen(precision) == ("amx", precision, "")


@pytest.mark.parametrize("kinds", [("int8",), ("bf16", "split"), ()])
def test_a_processor_may_have_tiles_for_some_precisions_only(
    machine: Emulation, best: str, monkeypatch, kinds: tuple[str, ...]
) -> None:
    real = Kernels.has_form

    def has_form(self: Kernels, precision: str) -> bool:
        return real(self, precision) and (self.lanes != AMX or precision in kinds)

    monkeypatch.setattr(Kernels, "has_form", has_form)
    for precision in ("bf16", "int8"):
        assert chosen(precision)[:2] == ("amx" if precision in kinds else best, precision)
    if "split" in kinds:
        assert chosen("split") == ("amx", "split", "")
    else:
        notice = "split needs AMX for bf16, which this machine lacks; float32 is used"
        assert chosen("split") == (best, "float32", notice)


@pytest.mark.parametrize("wanted", ["avx512", "avx2", "portable"])
def test_the_user_leaves_amx_out(machine: Emulation, monkeypatch, wanted: str) -> None:
    monkeypatch.setenv("NMT_CPU_ISA", wanted)
    used = chosen("float32")[0]
    assert [chosen(precision)[:2] for precision in ("bf16", "int8")] == [
        (used, "bf16"), (used, "int8"),
    ]  # fmt: skip
    left_out = f"split needs AMX for bf16, which NMT_CPU_ISA={wanted} leaves out; float32 is used"
    set_, precision, notice = chosen("split")
    assert (set_, precision) == (used, "float32")
    assert notice.startswith(left_out)


def test_the_user_asks_for_amx(machine: Emulation, best: str, monkeypatch) -> None:
    monkeypatch.setenv("NMT_CPU_ISA", "amx")
    for precision in TILED:
        assert chosen(precision) == ("amx", precision, "")
    notice = f"NMT_CPU_ISA=amx: AMX does not multiply float32 weights; {best} is used"
    assert chosen("float32") == (best, "float32", notice)


@pytest.mark.parametrize("part", ["products", "steps", "best words"])
def test_amx_that_gives_wrong_numbers_is_not_used(
    machine: Emulation, best: str, monkeypatch, part: str
) -> None:
    if part == "products":
        right = NativeLinear.__call__

        def product(self: NativeLinear, x: np.ndarray) -> np.ndarray:
            return right(self, x) * (1.001 if self._kernels.lanes == AMX else 1.0)

        monkeypatch.setattr(NativeLinear, "__call__", product)
    elif part == "steps":
        right_full = NativeStep.full

        def full(self: NativeStep) -> np.ndarray:
            # Only where the inputs fill tiles.
            is_wrong = self._model.kernels.lanes == AMX and self._model.config.d_model == 64
            return np.roll(right_full(self), int(is_wrong), axis=1)

        monkeypatch.setattr(NativeStep, "full", full)
    else:
        right_top = NativeStep.top

        def top(self: NativeStep, *arguments: object) -> tuple[np.ndarray, np.ndarray]:
            values, ids = right_top(self, *arguments)
            is_wrong = self._model.kernels.lanes == AMX and self._model.config.d_model == 64
            return values, ids[:, ::-1] if is_wrong else ids

        monkeypatch.setattr(NativeStep, "top", top)
    assert chosen("bf16") == (best, "bf16", "")
    assert chosen("int8") == (best, "int8", "")
    notice = "split needs AMX for bf16, whose kernels give wrong numbers here; float32 is used"
    assert chosen("split") == (best, "float32", notice)


CPUID = """
#define __get_cpuid_count given_cpuid
#define syscall given_syscall
static long given_syscall(long number, ...);
#include "dispatch.c"
static unsigned given_bits;
static long answer, asked[3];
static int given_cpuid(unsigned leaf, unsigned part, unsigned *a, unsigned *b, unsigned *c,
                       unsigned *d) {
    *a = *b = *c = 0;
    *d = given_bits;
    return leaf == 7 && !part;
}
static long given_syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    asked[0] = number;
    asked[1] = va_arg(rest, int);
    asked[2] = va_arg(rest, int);
    va_end(rest);
    return answer;
}
/* For each combination of bits 22 (AMX-BF16), 24 (AMX-TILE) and 25 (AMX-INT8): the kinds. */
int main(void) {
    for (unsigned i = 0; i < 8; i++) {
        given_bits = (i & 1) << 22 | (i >> 1 & 1) << 24 | (i >> 2 & 1) << 25;
        printf("%d ", ask_for_tiles());
    }
    printf("%d ", asked[0] == SYS_arch_prctl && asked[1] == 0x1023 && asked[2] == 18);
    answer = -1;
    printf("%d\\n", ask_for_tiles());
    return 0;
}
"""


def test_the_bits_of_the_processor_and_the_permission_are_read(
    kernels: Kernels, tmp_path: Path
) -> None:
    """Without AMX-TILE or the system's permission there are no tiles."""
    for name, text in SOURCES.read().items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "main.c").write_text(
        "#define _GNU_SOURCE\n#include <stdarg.h>\n#include <stdio.h>\n"
        "#include <immintrin.h>\n#include <unistd.h>\n" + CPUID
    )
    # The header that has the function of this name.
    pointers = ", ".join(["unsigned *"] * 4)
    (tmp_path / "cpuid.h").write_text(f"static int given_cpuid(unsigned, unsigned, {pointers});")
    checked = subprocess.run(
        ["cc", "-dM", "-E", "-x", "c", "-std=gnu11", str(tmp_path / "dispatch.c")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    if "#define HAS_AMX" not in checked.stdout:
        pytest.skip("no compiler for AMX")
    command = ["cc", "-O0", "-std=gnu11", "-w", "-I.", "main.c", "-o", "main", "-lm", "-pthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    bf16, int8 = 1 << 1 | 1 << 3, 1 << 2
    assert said.split() == [
        *map(str, (0, 0, 0, bf16, 0, 0, int8, bf16 | int8)),
        "1", "0",
    ]  # fmt: skip


class TestTranslating:
    """With a small model, whose packed weights are kept."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        config = byte_config({"model.d_model": 64, "model.d_ff": 64})
        weights = byte_model(config, 1).state_dict()
        save_model(tmp_path / "model", weights, config, byte_subwords(), {"step": "1"})
        return tmp_path / "model"

    @pytest.fixture
    def cache(self, tmp_path: Path, monkeypatch) -> Path:
        monkeypatch.setattr(packed_cache, "SMALLEST", 0)
        return tmp_path / "cache"

    def answers(self, translator: Translator) -> list[tuple[str, float]]:
        return [(each.text, each.score) for each in translator.translate(LINES)]

    def scores(self, translator: Translator) -> list[float]:
        return [score for _, score in self.answers(translator)]

    @pytest.mark.parametrize("precision", TILED)
    def test_packed_weights_are_kept_and_read(
        self, machine, model: Path, cache: Path, monkeypatch, precision: str
    ) -> None:
        first = Translator.load(model, cache=cache, precision=precision)
        assert (first.engine.name, first.engine.notice) == (precision, "")
        assert first.engine.about.endswith("amx kernels")
        assert precision in repr(first)
        (path,) = cache.glob("packed-*")
        assert path.stem.endswith(precision)
        monkeypatch.setattr(model_weights, "_read_some", None)
        second = Translator.load(model, cache=cache, precision=precision)
        assert self.answers(second) == self.answers(first)

    def test_all_forms_share_packed_bf16_weights(
        self, machine, model: Path, cache: Path, monkeypatch
    ) -> None:
        """Rows are float32 without AMX, so that scores differ a little."""
        with_amx = self.answers(Translator.load(model, cache=cache, precision="bf16"))
        monkeypatch.setenv("NMT_CPU_ISA", "portable")
        monkeypatch.setattr(model_weights, "_read_some", None)
        without = Translator.load(model, cache=cache, precision="bf16")
        assert "portable" in without.engine.about
        assert self.scores(without) == pytest.approx([score for _, score in with_amx], abs=0.1)
        assert self.answers(without) != with_amx

    def test_split_is_about_float32(self, machine, model: Path, cache: Path) -> None:
        split, float32, bf16 = (
            self.scores(Translator.load(model, cache=cache, precision=precision))
            for precision in ("split", "float32", "bf16")
        )
        errors = (np.abs(np.subtract(scores, float32)).max() for scores in (split, bf16))
        split_error, bf16_error = errors
        assert 0 < split_error < bf16_error / 2**6

    def test_without_amx_split_is_float32_and_a_line_says_so(
        self, machine, model: Path, cache: Path, monkeypatch
    ) -> None:
        monkeypatch.setenv("NMT_CPU_ISA", "portable")
        float32 = Translator.load(model, cache=cache)
        # The packed weights are those of float32, too.
        monkeypatch.setattr(model_weights, "_read_some", None)
        split = Translator.load(model, cache=cache, precision="split")
        assert self.answers(split) == self.answers(float32)
        assert split.engine.notice == (
            "split needs AMX for bf16, which NMT_CPU_ISA=portable leaves out; float32 is used"
        )
        assert split.engine.about == "32-bit weights, portable kernels"
        assert "float32" in repr(split)
        assert [path.stem[-7:] for path in cache.glob("packed-*")] == ["float32"]

    def test_without_kernels_split_is_float32_and_a_line_says_so(self, model: Path) -> None:
        split = Translator.load(model, cache=None, precision="split")
        assert "float32 is used" in split.engine.notice
        assert self.answers(split) == self.answers(Translator.load(model, cache=None))
        engine = fastest_engine(byte_model(byte_config()), None, "split")
        assert engine.notice.startswith("split needs nmt's own kernels, so float32 is used: ")

    def test_split_is_refused_on_a_gpu(self, model: Path, monkeypatch) -> None:
        place = "nmt_cli.translation.translator.find_device"
        monkeypatch.setattr(place, lambda _: object())
        with pytest.raises(ConfigError, match="split needs a CPU"):
            Translator.load(model, "cuda", precision="split")
