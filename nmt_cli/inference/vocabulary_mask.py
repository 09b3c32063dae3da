"""The vocabulary mask: logits of -inf for all ids that the source in a slot does not allow."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt_cli.search.decoder import Source


class VocabularyMask:
    """Hides logits, for engines that compute all of them.

    It saves no time; engines with shortlists compute only the others, and choose the same ids.
    """

    def __init__(self, words: int, device: torch.device) -> None:
        self._words = words
        self._device = device
        # For each slot whose source does not allow all ids: (words,), True for forbidden ids.
        self._forbidden: dict[int, Tensor] = {}

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Store what new sources allow."""
        for slot, source in zip(slots, sources, strict=True):
            if source.allowed is not None:
                forbidden = torch.ones(self._words, dtype=torch.bool)
                forbidden[torch.from_numpy(source.allowed)] = False
                self._forbidden[slot] = forbidden.to(self._device)

    def retire(self, slots: Sequence[int]) -> None:
        """Forget these slots."""
        for slot in slots:
            self._forbidden.pop(slot, None)

    def hide_others(self, logits: Tensor, slots: Sequence[int]) -> Tensor:
        """Mask (rows, words or more) in place; each of `slots` has the same number of rows."""
        by_slot = logits.view(len(slots), -1, logits.shape[1])
        for rows, slot in zip(by_slot, slots, strict=True):
            if slot in self._forbidden:
                rows[:, : self._words].masked_fill_(self._forbidden[slot], -torch.inf)
        return logits
