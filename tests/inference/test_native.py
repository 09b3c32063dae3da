"""The library of kernels: correct on every instruction set, cached safely, and optional."""

import errno
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from amx_cases import AMX, TILE_INPUTS
from byte_models import byte_config, byte_model, byte_subwords
from native_cases import VECTOR_PRECISIONS, filled_with, native_linear

from nmt_cli.errors import CannotCreateError, ConfigError, TryAgainError
from nmt_cli.inference.engines import fastest_engine
from nmt_cli.inference.native import linear, self_test
from nmt_cli.inference.native.library import load_library, must_compile
from nmt_cli.inference.native.linear import (
    Kernels,
    NativeLinear,
    QuantizedMatrix,
)
from nmt_cli.inference.native.self_test import find_kernels
from nmt_cli.inference.packed.emulation import make_int8_emulation
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.kernels import library
from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS
from nmt_cli.model_dir import refresh_weights, save_model
from nmt_cli.storage import user_cache
from nmt_cli.translation.translator import Translator


@pytest.fixture(scope="module")
def cache(kernel_cache: Path) -> Path:
    return kernel_cache


def affine(outputs: int, inputs: int, *, bias: bool = True) -> Affine:
    generator = torch.Generator().manual_seed(outputs)
    weight = torch.randn(outputs, inputs, generator=generator)
    return Affine(weight, torch.randn(outputs, generator=generator) if bias else None)


def rows(count: int, inputs: int) -> torch.Tensor:
    return torch.randn(count, inputs, generator=torch.Generator().manual_seed(count))


@pytest.mark.parametrize("lanes", INSTRUCTION_SETS.values())
@pytest.mark.parametrize(("outputs", "inputs"), [(16, 8), (35, 37), (1, 1), (200, 512), (7, 2050)])
def test_products_equal_those_of_the_rounded_weights(
    kernels: Kernels, lanes: int, outputs: int, inputs: int
) -> None:
    for bias in (False, True):
        layer = affine(outputs, inputs, bias=bias)
        x = rows(23, inputs)
        try:
            result = native_linear(Kernels(kernels.library, lanes), layer)(x)
        except RuntimeError:
            pytest.skip(f"no kernels of {lanes} lanes here")
        least, most = x.amin(1, keepdim=True).clamp(max=0), x.amax(1, keepdim=True).clamp(min=0)
        factor = torch.tensor(254.0) / (most - least)
        whole, scales = map(torch.from_numpy, QuantizedMatrix.of(layer.weight.numpy()))
        assert whole.abs().max() <= 64
        expected = (x * factor).round().double() @ whole.double().T
        expected = expected * scales.double() / factor.double()
        expected = expected if layer.bias is None else expected + layer.bias
        torch.testing.assert_close(result.double(), expected, atol=1e-4, rtol=1e-5)
        # The sums are exact: every instruction set gives the same bits.
        assert torch.equal(result, native_linear(kernels, layer)(x))
        # Torch adds up in float32, which is exact as long as sums stay small.
        torch.testing.assert_close(result, make_int8_emulation(layer)(x), atol=1e-5, rtol=1e-6)


def test_rows_of_one_sign_use_the_whole_integer_range(kernels: Kernels) -> None:
    """Of what an activation lets through, all is positive: its step is 1/254 of the greatest."""
    x = torch.linspace(0.0, 1.0, 255)[None]
    for sign in (1, -1):
        result = native_linear(kernels, Affine(torch.eye(255), None))(sign * x)
        torch.testing.assert_close(result, sign * x, atol=1e-6, rtol=0)


def test_sums_of_the_largest_integers_do_not_overflow(kernels: Kernels) -> None:
    linear = native_linear(kernels, Affine(torch.ones(16, 4096), None))
    x = torch.ones(7, 4096)
    x[3] = -1.0
    assert torch.equal(linear(x), x.sum(1)[:, None].expand(7, 16))


@pytest.mark.parametrize("lanes", INSTRUCTION_SETS.values())
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(("outputs", "inputs"), [(16, 8), (35, 37), (1, 1), (200, 512), (7, 2050)])
def test_products_of_float_weights(
    kernels: Kernels, precision, lanes: int, outputs: int, inputs: int
) -> None:
    for count in (1, 3, 5, 23, 60):
        layer, x = affine(outputs, inputs, bias=count != 5), rows(count, inputs)
        try:
            result = native_linear(Kernels(kernels.library, lanes), layer, precision)(x)
        except RuntimeError:
            pytest.skip(f"no kernels of {lanes} lanes here")
        weight = layer.weight.bfloat16() if precision == "bf16" else layer.weight
        # The tiles of AMX, which whole ones of the inputs fill, take rows in bf16 as well.
        in_tiles = precision == "bf16" and lanes == AMX and inputs % TILE_INPUTS == 0
        expected = (x.bfloat16() if in_tiles else x).double() @ weight.double().T
        expected = expected if layer.bias is None else expected + layer.bias
        torch.testing.assert_close(result.double(), expected, atol=1e-5 * inputs**0.5, rtol=1e-5)


@pytest.mark.parametrize("precision", VECTOR_PRECISIONS)
def test_a_row_does_not_depend_on_its_neighbours_or_threads(
    kernels: Kernels, precision: str
) -> None:
    linear = native_linear(kernels, affine(3000, 512), precision)
    x = rows(40, 512)
    together = linear(x)
    alone = torch.cat([linear(row[None]) for row in x])
    assert torch.equal(together, alone)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(linear(x), together)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("lanes", INSTRUCTION_SETS.values())
@pytest.mark.parametrize("precision", VECTOR_PRECISIONS)
@pytest.mark.parametrize("outputs", [1, 16, 40, 120])
def test_a_row_has_the_same_bits_in_a_tile_of_any_size(
    kernels: Kernels, precision: str, lanes: int, outputs: int
) -> None:
    """Tiles of different numbers of rows take different numbers of panels at once."""
    try:
        linear = native_linear(Kernels(kernels.library, lanes), affine(outputs, 70), precision)
        x = rows(14, 70)
        together = linear(x)
    except RuntimeError:
        pytest.skip(f"no kernels of {lanes} lanes here")
    for count in range(1, 14):
        assert torch.equal(linear(x[1 : 1 + count]), together[1 : 1 + count])


@pytest.mark.parametrize("lanes", INSTRUCTION_SETS.values())
@pytest.mark.parametrize("precision", VECTOR_PRECISIONS)
def test_what_was_in_memory_before_does_not_matter(
    kernels: Kernels, monkeypatch, precision: str, lanes: int
) -> None:
    """Such as NaN, where inputs do not fill a pair or a quad."""
    if not Kernels(kernels.library, lanes).has_form("float32"):
        pytest.skip(f"no kernels of {lanes} lanes here")
    layer = affine(35, 37)
    for count in (1, 3, 17):
        results = []
        for byte in (0, 255):
            monkeypatch.setattr(linear, "empty", filled_with(byte))
            results.append(
                native_linear(Kernels(kernels.library, lanes), layer, precision)(rows(count, 37))
            )
        assert torch.equal(*results)


def test_rows_of_zeros_nan_and_infinity(kernels: Kernels) -> None:
    linear = native_linear(kernels, Affine(torch.zeros(3, 20), torch.arange(3.0)))
    assert torch.equal(linear(rows(2, 20)), torch.arange(3.0).expand(2, 3))
    plain = affine(3, 20)
    linear = native_linear(kernels, plain)
    x = torch.zeros(5, 20)
    x[1, 3], x[2, 19], x[3, 2], x[4] = torch.nan, torch.nan, torch.inf, 1e30
    result = linear(x)
    assert torch.equal(result[0], plain.bias)
    assert not result[1:4].isfinite().any()
    assert result[4].isfinite().all()


class TestLibrary:
    def test_the_library_is_compiled_once(self, kernels: Kernels, cache: Path, monkeypatch) -> None:
        assert len(list(cache.glob("kernels-*.so"))) == 1
        monkeypatch.setattr(library, "_compile", lambda *_: pytest.fail("compiled again"))
        assert load_library(cache)[1] == ""

    def test_must_compile_tells_before_loading(
        self, kernels: Kernels, cache: Path, tmp_path: Path, monkeypatch
    ) -> None:
        assert not must_compile(cache)
        assert must_compile(tmp_path)
        assert list(tmp_path.iterdir()) == []
        monkeypatch.setenv("PATH", str(tmp_path))
        assert not must_compile(tmp_path)

    def test_changed_sources_make_another_library(
        self, tmp_path, cache, kernels, monkeypatch
    ) -> None:
        compiled = []
        monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-DOTHER"))
        monkeypatch.setattr(library, "_compile", lambda *_: compiled.append(1) or b"")
        shutil.copytree(cache, tmp_path / "c")
        result, reason = load_library(tmp_path / "c")
        assert compiled == [1]
        assert result is None
        assert "cannot be compiled" in reason

    @pytest.mark.parametrize("mode", [0o777, 0o720])
    def test_a_library_writable_by_others_is_compiled_again(
        self, cache, kernels, tmp_path, monkeypatch, mode
    ) -> None:
        whole = next(cache.glob("kernels-*.so")).read_bytes()
        compiled = []
        monkeypatch.setattr(library, "_compile", lambda *_: compiled.append(1) or whole)
        path = tmp_path / next(cache.glob("kernels-*.so")).name
        path.write_bytes(whole)
        path.chmod(0o600)
        assert load_library(tmp_path)[0] is not None
        assert compiled == []
        # The library is mapped, so its file may not be changed.
        path.unlink()
        path.write_bytes(b"the code of another user")
        path.chmod(mode)
        assert must_compile(tmp_path)
        assert load_library(tmp_path)[0] is not None
        assert compiled == [1]
        assert path.read_bytes() == whole
        assert path.stat().st_mode & 0o777 == 0o644

    @pytest.mark.parametrize("mode", [0o777, 0o770])
    def test_a_folder_of_the_user_is_closed_to_others(self, cache, kernels, tmp_path, mode) -> None:
        folder = shutil.copytree(cache, tmp_path / "c")
        folder.chmod(mode)
        assert load_library(folder)[1] == ""
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_a_folder_that_cannot_be_closed_is_not_used(
        self, cache, kernels, tmp_path, monkeypatch
    ) -> None:
        folder = shutil.copytree(cache, tmp_path / "c")
        folder.chmod(0o777)

        def refuse(*_: object) -> None:
            raise OSError(errno.EROFS, "Read-only file system")

        monkeypatch.setattr(Path, "chmod", refuse)
        assert load_library(folder) == (None, f"others may write to `{folder}`")

    @pytest.mark.parametrize("umask", [0o002, 0o000])
    def test_the_umask_does_not_matter(self, cache, kernels, tmp_path, monkeypatch, umask) -> None:
        whole = next(cache.glob("kernels-*.so")).read_bytes()
        compiled = []
        monkeypatch.setattr(library, "_compile", lambda *_: compiled.append(1) or whole)
        before = os.umask(umask)
        try:
            for _ in range(2):
                assert load_library(tmp_path / "home" / "nmt")[1] == ""
        finally:
            os.umask(before)
        assert compiled == [1]
        assert (tmp_path / "home" / "nmt").stat().st_mode & 0o777 == 0o700

    def test_a_library_in_a_folder_that_is_read_only_is_loaded(
        self, cache, kernels, monkeypatch
    ) -> None:
        def refuse(path: Path) -> None:
            raise CannotCreateError(f"`{path}` may not be written by this user", "choose another")

        monkeypatch.setattr(user_cache.files, "make_directory", refuse)
        assert load_library(cache)[1] == ""
        monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-DOTHER"))
        assert load_library(cache)[1] == (
            f"the kernels cannot be compiled and loaded: `{cache}` may not be written by this user "
            "(the variable XDG_CACHE_HOME can name another folder)"
        )

    def test_a_library_of_another_user_is_not_loaded(self, cache, kernels, monkeypatch) -> None:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert "another user" in load_library(cache)[1]

    def test_a_missing_compiler_is_reported(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert load_library(tmp_path) == (None, "there is no C compiler (cc)")

    def test_a_failing_compiler_is_reported(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "cc").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "cc").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        assert "cannot be compiled" in load_library(tmp_path / "new")[1]

    @pytest.mark.parametrize("damage", ["cut", "empty", "other"])
    def test_a_damaged_library_is_compiled_again(
        self, cache, kernels, tmp_path, monkeypatch, damage: str
    ) -> None:
        whole = next(cache.glob("kernels-*.so")).read_bytes()
        path = tmp_path / next(cache.glob("kernels-*.so")).name
        path.write_bytes({"cut": whole[:5000], "empty": b"", "other": b"no library"}[damage])
        path.chmod(0o600)
        compiled = []
        monkeypatch.setattr(library, "_compile", lambda *_: compiled.append(1) or whole)
        assert load_library(tmp_path)[0] is not None
        assert compiled == [1]
        assert path.read_bytes() == whole

    def test_a_compiler_that_makes_no_library_is_reported(
        self, tmp_path: Path, monkeypatch
    ) -> None:
        """It ends half-way without an error."""
        monkeypatch.setattr(library, "_compile", lambda *_: b"\x7fELF\x02 half")
        result, reason = load_library(tmp_path / "c")
        assert result is None
        assert "cannot be compiled and loaded" in reason

    def test_a_cache_on_a_file_system_without_execution_is_reported(
        self, cache, kernels, monkeypatch
    ) -> None:
        def refuse(path: str) -> None:
            raise OSError(f"{path}: failed to map segment from shared object")

        monkeypatch.setattr(library.ctypes, "CDLL", refuse)
        monkeypatch.setattr(library, "_compile", lambda *_: pytest.fail("compiled again"))
        result, reason = load_library(cache)
        assert result is None
        assert "failed to map segment" in reason

    def test_a_read_only_cache_is_reported(self) -> None:
        assert load_library(Path("/proc/nothing"))[0] is None

    def test_two_processes_compile_at_once(self, kernels: Kernels, tmp_path: Path) -> None:
        code = (
            "import sys, pathlib; from nmt_cli.inference.native.library import load_library;"
            "found, reason = load_library(pathlib.Path(sys.argv[1])); assert found, reason"
        )
        running = [
            subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "c")]) for _ in range(2)
        ]
        assert [process.wait() for process in running] == [0, 0]
        assert len(list((tmp_path / "c").iterdir())) == 1


def test_kernels_that_give_wrong_numbers_are_not_used(kernels, cache, monkeypatch) -> None:
    real = NativeLinear.__call__

    def wrong(self, x):
        return real(self, x) * (1.01 if self._kernels.lanes != 4 else 1.0)

    monkeypatch.setattr(NativeLinear, "__call__", wrong)
    loaded, _ = find_kernels(cache)
    assert loaded is not None
    assert loaded.lanes == 4
    monkeypatch.setattr(self_test, "wanted_lanes", lambda: [32, 16, 8])
    assert find_kernels(cache) == (None, "the kernels give wrong numbers here")


@pytest.mark.parametrize(
    ("wanted", "used", "notice"),
    [
        ("", "avx2", ""),
        ("portable", "portable", ""),
        ("avx2", "avx2", ""),
        ("avx512", "avx2", "NMT_CPU_ISA=avx512: this CPU cannot run these kernels; avx2 is used"),
        ("sse", "avx2", "NMT_CPU_ISA=sse is none of amx, avx512, avx2, portable; avx2 is used"),
    ],
)
def test_the_instruction_set_can_be_limited(kernels, cache, monkeypatch, wanted, used, notice):
    """On a CPU that has AVX2, and no AVX-512."""

    def has_form(kernels: Kernels, precision: str) -> bool:
        return kernels.instruction_set not in ("amx", "avx512")

    monkeypatch.setattr(Kernels, "has_form", has_form)
    monkeypatch.setattr(self_test, "_products_are_right", lambda kernels: True)
    monkeypatch.setattr(self_test, "_steps_are_right", lambda kernels: True)
    monkeypatch.setenv("NMT_CPU_ISA", wanted)
    chosen, reason = find_kernels(cache)
    assert chosen is not None
    assert (chosen.instruction_set, chosen.notice, reason) == (used, notice, "")


class TestMemory:
    """Only the engine keeps the weights; the plain model is loaded again from its directory."""

    @pytest.fixture
    def saved(self, tmp_path: Path) -> Path:
        config = byte_config()
        weights = byte_model(config, 1).state_dict()
        save_model(tmp_path / "m", weights, config, byte_subwords(), {"step": "1"})
        return tmp_path / "m"

    def test_the_reference_model_is_loaded_again(self, kernels, cache, saved) -> None:
        translator = Translator.load(saved, cache=cache)
        assert translator._model.stored.weights == {}
        lines = ["ab", "cba fed"]
        texts = [translation.text for translation in translator.translate(lines)]
        for name, weight in translator.model.state_dict().items():
            assert torch.equal(weight, byte_model(byte_config(), 1).state_dict()[name]), name
        assert [translation.text for translation in translator.translate(lines)] == texts
        reference = Translator(translator.model, translator.config, translator.subwords)
        assert [translation.text for translation in reference.translate(lines)] == texts

    def test_changed_weights_are_refused(self, kernels, cache, saved) -> None:
        translator = Translator.load(saved, cache=cache)
        refresh_weights(saved, byte_model(byte_config(), 2).state_dict(), {"step": "2"})
        with pytest.raises(TryAgainError, match="has other weights now than when it was loaded"):
            _ = translator.model


class TestTranslations:
    LINES = tuple("".join(random.Random(n).choices("abc defgh", k=n)) for n in range(1, 24))

    def test_int8_translations_do_not_depend_on_the_batch(self, kernels, cache, tmp_path) -> None:
        config = byte_config()
        weights = byte_model(config).state_dict()
        save_model(tmp_path / "m", weights, config, byte_subwords(), {})
        translator = Translator.load(tmp_path / "m", precision="int8", cache=cache)
        assert translator.engine.name == "int8"
        assert translator.engine.notice == ""
        plain = [
            translation.text
            for translation in Translator.load(tmp_path / "m").translate(self.LINES)
        ]
        translations = [translation.text for translation in translator.translate(self.LINES)]
        assert sum(a == b for a, b in zip(translations, plain, strict=True)) >= len(plain) // 2
        assert translations == [translator.translate(line).text for line in self.LINES]

    def test_int8_without_kernels_works_with_a_notice(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        model = byte_model(byte_config())
        engine = fastest_engine(model, tmp_path, "int8")
        assert "no C compiler" in engine.notice
        translator = Translator(model, byte_config(), byte_subwords(), lambda _: engine)
        assert all(translation.text for translation in translator.translate(["abc", "de"]))

    def test_int8_is_refused_on_a_gpu(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setattr(
            "nmt_cli.translation.translator.find_device", lambda _: torch.device("cuda")
        )
        with pytest.raises(ConfigError, match="CPU"):
            Translator.load(tmp_path, "cuda", precision="int8")
