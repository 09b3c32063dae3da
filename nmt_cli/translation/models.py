"""The models that a translator runs: given by a Python caller, or stored in a directory.

The engine translates. What no engine gives, scores of given translations and attention, comes from
the reference model, which is loaded when it is first needed: in torch, or in NumPy where torch is
not installed.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nmt_cli.inference.engines import (
    Engine,
    fastest_engine,
    kernels_of,
    packed_engine,
    packed_weights_engine,
    plain_engine,
)
from nmt_cli.inference.forced_pairs import Forcer
from nmt_cli.inference.native.linear import Kernels
from nmt_cli.inference.native.packing.packed_cache import PackedCache
from nmt_cli.inference.native.packing.packed_weights import PackedWeights
from nmt_cli.inference.weights import TransformerArrays
from nmt_cli.installation import announce_torch, has_torch, require_torch
from nmt_cli.model_dir import StoredModel, read_model

if TYPE_CHECKING:
    import torch

    from nmt_cli.model.encoder_decoder import EncoderDecoder
    from nmt_cli.model.transformer import Transformer

# The dtypes that a model on a GPU can be loaded in, by their names in torch.
DTYPES = {"float32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class GivenModel:
    """A model in torch, with an engine that runs it.

    device, precision: as the `repr` of a translator shows them; reference: the model itself.
    """

    def __init__(self, model: "EncoderDecoder", engine: Engine) -> None:
        weight = next(model.parameters())
        self.device, self.precision = str(weight.device), str(weight.dtype).removeprefix("torch.")
        self.reference = model
        self.engine = engine

    @cached_property
    def forcer(self) -> Forcer:
        """The model itself."""
        from nmt_cli.inference.teacher_forcing import TorchForcer

        return TorchForcer(self.reference)


def gpu_model(stored: StoredModel, device: "torch.device", precision: str) -> GivenModel:
    """A stored model on a GPU, in a precision of DTYPES."""
    import torch

    from nmt_cli.model.precision import use_fast_float32

    use_fast_float32(device)
    model = stored.make_model().to(device, getattr(torch, DTYPES[precision]))
    given = GivenModel(model, fastest_engine(model))
    given.precision = precision
    return given


class StoredCpuModel:
    """A model directory on the CPU; the engine has its own copy of the weights.

    stored: what the directory holds, without its weights.
    """

    device = "cpu"

    def __init__(self, path: Path, cache: Path | None, precision: str) -> None:
        """cache: the folder of compiled kernels and packed weights; None: none are used.

        Raises as `model_dir.read_model` does.
        """
        self.precision = precision
        self._cache = cache
        self._packed = None if cache is None else PackedCache(cache, precision)
        if self._packed is None:
            stored = read_model(path)
        else:
            stored = read_model(path, self._begin, lazily=True)
        self.stored = stored.without_weights()
        self._reference: EncoderDecoder | None = None
        self.engine = self._engine(stored)

    @cached_property
    def _kernels(self) -> tuple[Kernels | None, str]:
        return kernels_of(self._cache, self.precision)

    def _begin(self, digest: str) -> bool:
        """Begin to read the packed weights; False if there are none."""
        assert self._cache is not None
        kernels = self._kernels[0] if self.precision == "split" else None
        if kernels is not None:
            # Where split weights cannot be used, those of float32 are.
            self.precision = kernels.precision
            self._packed = PackedCache(self._cache, self.precision)
        assert self._packed is not None
        return self._packed.begin(digest)

    def _engine(self, stored: StoredModel) -> Engine:
        config = stored.config.model
        if config.kind != "transformer":
            require_torch(f"a model of the kind {config.kind}")
            announce_torch(f"model.kind={config.kind}")
            self._reference = _make_reference(stored if stored.weights else stored.again())
            return fastest_engine(self._reference, None, self.precision)
        kernels, reason = self._kernels
        if kernels is not None:
            return self._native_engine(stored, kernels)
        if not stored.weights:
            stored = stored.again()
        if has_torch():
            announce_torch("translating", f"because {reason}")
            self._reference = _make_reference(stored)
            return packed_engine(cast("Transformer", self._reference), reason, self.precision)
        return plain_engine(TransformerArrays(config, stored.weights), reason, self.precision)

    def _native_engine(self, stored: StoredModel, kernels: Kernels) -> Engine:
        """The engine in C, with the packed weights of the cache, or with new ones."""
        assert self._packed is not None
        config = stored.config.model
        weights = None if stored.weights else self._packed.weights(config)
        if weights is None:
            if not stored.weights:
                stored = stored.again()
            arrays = TransformerArrays(config, stored.weights, consumes=True)
            weights = PackedWeights.of(arrays, kernels.library, self.precision)
            weights = self._packed.keep(stored.digest, weights)
        return packed_weights_engine(weights, kernels, self._packed.notice)

    @property
    def reference(self) -> "EncoderDecoder":
        """The reference model in torch, loaded again where the engine does not use it.

        Raises DataError where the weights in its directory have changed since.
        """
        if self._reference is None:
            require_torch("the reference model")
            self._reference = _make_reference(self.stored.again())
        return self._reference

    @cached_property
    def forcer(self) -> Forcer:
        """The reference model in torch or NumPy; raises as `reference` does."""
        if has_torch():
            from nmt_cli.inference.teacher_forcing import TorchForcer

            return TorchForcer(self.reference)
        from nmt_cli.inference.plain.forcing import PlainForcer
        from nmt_cli.inference.plain.model import PlainModel

        stored = self.stored.again()
        return PlainForcer(PlainModel(TransformerArrays(stored.config.model, stored.weights)))


def _make_reference(stored: StoredModel) -> "EncoderDecoder":
    """The stored model in torch on the CPU."""
    import torch

    from nmt_cli.model.precision import use_fast_float32

    use_fast_float32(torch.device("cpu"))
    return stored.make_model()
