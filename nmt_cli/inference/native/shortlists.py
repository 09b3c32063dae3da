"""The words that the source in each slot allows, with the output's weights for them alone."""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmt_cli.inference.native.linear import Linear, address, in_panels
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.structs import WordList
from nmt_cli.inference.packed.head import BLOCK
from nmt_cli.search.decoder import Source


class Shortlists:
    """What the library is told of them; a row is multiplied with the words of its slot only.

    entries: one `shortlist` for each slot; all words where its source allows all.
    """

    def __init__(self, model: NativeModel, slots: int) -> None:
        self.entries = (WordList * slots)()
        # Of each busy slot: its words, None for all.
        self.ids: dict[int, Tensor | None] = {}
        self._model = model
        # What the entries refer to.
        self._kept: dict[int, tuple[Tensor | None, ...]] = {}

    @property
    def needed(self) -> bool:
        """Whether any source does not allow all words."""
        return any(ids is not None for ids in self.ids.values())

    @property
    def widest(self) -> int:
        """Words, in whole blocks, that a row has logits for at most."""
        return max((self.entries[slot].head.outputs for slot in self.ids), default=0)

    def words_of(self, slot: int) -> tuple[Tensor, int]:
        """The words of a slot, and of how many, in whole blocks, its rows have logits."""
        ids = self.ids[slot]
        ids = torch.arange(self._model.words) if ids is None else ids
        return ids, self.entries[slot].head.outputs

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Pack the weights of what new sources allow."""
        model, listed = self._model, {}
        for slot, source in zip(slots, sources, strict=True):
            self.ids[slot] = source.allowed
            if source.allowed is None:
                self.entries[slot] = WordList(model.targets.model.head, None, model.words)
            else:
                listed[slot] = source.allowed.contiguous()
        if listed:
            self._pack(listed)

    def retire(self, slots: Sequence[int]) -> None:
        """Free what they hold."""
        for slot in slots:
            del self.ids[slot]
            self._kept.pop(slot, None)

    def _pack(self, listed: dict[int, Tensor]) -> None:
        """All in one go; each in whole blocks, filled up with words whose logits are -inf."""
        model = self._model
        blocks = [-(-len(ids) // BLOCK) for ids in listed.values()]
        joined = torch.zeros(sum(blocks), BLOCK, dtype=torch.int64)
        bias = torch.full(joined.shape, -torch.inf)
        first = 0
        for ids, count in zip(listed.values(), blocks, strict=True):
            joined[first : first + count].view(-1)[: len(ids)] = ids
            inside = bias[first : first + count].view(-1)
            inside[: len(ids)] = 0.0 if model.bias is None else model.bias[ids]
            first += count
        rows = joined.flatten()
        packed = in_panels(model.rows.weight.index_select(0, rows), model.kind).view(
            sum(blocks), -1
        )
        sums = [None if one is None else one[rows].view_as(bias) for one in model.rows[1:]]
        first = 0
        for (slot, ids), count in zip(listed.items(), blocks, strict=True):
            own = slice(first, first + count)
            kept = packed[own], bias[own], *(None if one is None else one[own] for one in sums), ids
            whole = model.targets.model.head
            head = Linear(*map(address, kept[:-1]), whole.inputs, count * BLOCK, whole.kind)
            self.entries[slot] = WordList(head, address(ids), len(ids))
            self._kept[slot] = kept
            first += count
