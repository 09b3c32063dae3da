"""The largest inputs of each matrix product of a model, by which inputs are rounded to int8."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from nmt_cli.inference.teacher_forcing import force_pairs
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model_dir import LoadedModel

OUTPUT = "output"


def largest_inputs(
    loaded: LoadedModel, pairs: Sequence[tuple[list[int], list[int]]]
) -> dict[str, float]:
    """The largest magnitude of an input of each linear layer, by its name, and of OUTPUT.

    pairs: source and target ids, all of which end with EOS.
    """
    largest: dict[str, float] = {}
    with _watched(loaded.model, largest):
        force_pairs(loaded.model, pairs)
    return largest


@contextmanager
def _watched(model: EncoderDecoder, largest: dict[str, float]) -> Iterator[None]:
    """Keep the largest inputs of the products that the model computes in the block."""

    def keep(name: str, x: Tensor) -> None:
        largest[name] = max(largest.get(name, 0.0), float(x.abs().max()))

    def hook(name: str) -> Callable[..., None]:
        return lambda _, inputs: keep(name, inputs[0])

    handles = [
        module.register_forward_pre_hook(hook(name))
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
    ]
    logits = model.logits

    def watched_logits(hidden: Any) -> Any:
        keep(OUTPUT, hidden)
        return logits(hidden)

    # The output layer is no module: its matrix may be that of the embeddings.
    model.logits = watched_logits  # type: ignore[method-assign]
    try:
        yield
    finally:
        del model.logits
        for handle in handles:
            handle.remove()
