"""The self-test of the GPU engine: whether recorded steps give the reference model's numbers."""

import torch
from torch import Tensor

from nmt_cli.config.schema import ModelConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source

# The largest error of log-probabilities, by the dtype of the weights.
LARGEST_ERRORS = {torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.2}
SMALL = ModelConfig(
    layers=2, d_model=64, d_ff=96, heads=2, src_vocab_size=70, tgt_vocab_size=70, dropout=0.0
)
SLOTS, BEAM = 2, 2
# Eager, recorded, and replayed twice.
STEPS = 4


def find_fault(device: torch.device, dtype: torch.dtype) -> str:
    """Why the engine does not work for weights of this dtype; "" where it does."""
    limit = LARGEST_ERRORS.get(dtype)
    if limit is None:
        return f"not made for {dtype}"
    try:
        model = initialise(Transformer(SMALL), 0).eval().to(device)
        same_words = _words(CudaDecoder(make_cuda_model(model), SLOTS, BEAM)) == _words(
            ReferenceDecoder(model, SLOTS, BEAM)
        )
        model = model.to(dtype)
        actual = _steps(CudaDecoder(make_cuda_model(model), SLOTS, BEAM))
        expected = _steps(ReferenceDecoder(model, SLOTS, BEAM))
        near = torch.allclose(actual, expected, rtol=0.0, atol=limit)
    except (RuntimeError, AttributeError, TypeError) as error:
        # Also where this version of torch lacks an operator, or has it with other arguments.
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return "" if same_words and near else "they give wrong numbers"


@torch.inference_mode()
def _steps(decoder: Decoder) -> Tensor:
    """All results of a decoder over a few steps in which rows are reordered."""
    rows, arrays = SLOTS * BEAM, decoder.arrays
    parents = arrays.arange(rows)
    ids = arrays.filled((rows,), decoder.symbols.start_id)
    decoder.admit([0, 1], [Source([4, 5, 6, 3]), Source([7, 3])])
    results = []
    for index in range(STEPS):
        step = decoder.step(parents, ids)
        results += [step.top(2, Edits.ban([0, 69], rows, arrays))[0], step.full()]
        ids = arrays.arange(rows) + 10 * index + 4
        parents = arrays.integers([1, 1, 3, 2])
    return torch.cat([result.flatten() for result in results])


def _words(decoder: Decoder) -> dict[int, list[tuple[int, ...]]]:
    """The ids that a search finds, in which slots are refilled and a bucket is exceeded."""
    sources = [Source([*range(4, 4 + length), 3]) for length in (40, 3, 17, 1, 9)]
    result: dict[int, list[Hypothesis]] = dict(
        search(decoder, iter(sources), SearchConfig(beam=BEAM, max_extra_length=8))
    )
    return {
        index: [hypothesis.ids for hypothesis in hypotheses] for index, hypotheses in result.items()
    }
