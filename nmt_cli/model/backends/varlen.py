"""Section 3.2.1 on a GPU without Triton: torch's attention over sentences of unequal lengths."""

import inspect

import torch
from torch import Tensor

from nmt_cli.batch import Segments

VARLEN_DTYPES = (torch.bfloat16, torch.float16)
MAX_WIDTH = 256


def varlen_widths_fit(d_k: int, d_v: int) -> bool:
    """Whether torch's kernel supports heads of these widths."""
    return d_k == d_v and d_k % 8 == 0 and d_k <= MAX_WIDTH


def has_varlen() -> bool:
    """Whether this torch has `varlen_attn` with a window (2.11 has)."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return False
    return "window_size" in inspect.signature(varlen_attn).parameters


def varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
) -> Tensor:
    """Attention within each sentence; (tokens, heads, d) bfloat16 or float16; filler gives zeros.

    Widths as in `varlen_widths_fit`; CUDA only.
    """
    from torch.nn.attention.varlen import varlen_attn

    query_mask, key_mask = _in_sentences(query_segments), _in_sentences(key_segments)
    # torch does not write the rows of filler, neither forward nor backward.
    output = varlen_attn(
        query.where(query_mask, 0),
        key.where(key_mask, 0),
        value.where(key_mask, 0),
        query_segments.offsets.to(torch.int32),
        key_segments.offsets.to(torch.int32),
        query_segments.max_length,
        key_segments.max_length,
        window_size=(-1, 0) if causal else (-1, -1),
    )
    assert isinstance(output, Tensor)
    return output.where(query_mask, 0)


def _in_sentences(segments: Segments) -> Tensor:
    """(tokens, 1, 1) bool; False for filler."""
    indices = torch.arange(segments.tokens, device=segments.offsets.device)
    return (indices < segments.offsets[-1])[:, None, None]
