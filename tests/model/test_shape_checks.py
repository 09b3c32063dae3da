"""The tests of the model compare the shape of each argument with its annotation."""

import jaxtyping
import pytest
import torch

from nmt_cli.model.attention import scaled_dot_product_attention


def test_keys_and_values_of_different_lengths_are_refused() -> None:
    query, key, value = (torch.ones(1, 2, length, 4) for length in (5, 3, 4))
    with pytest.raises(jaxtyping.TypeCheckError, match="value"):
        scaled_dot_product_attention(query, key, value, None)
