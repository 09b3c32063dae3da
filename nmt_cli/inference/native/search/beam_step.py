"""A step of plain beam search as one call of the library."""

import ctypes

import numpy as np

from nmt_cli.inference.native.memory import address
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.structs import StateStruct
from nmt_cli.search.decoder import Symbols
from nmt_cli.search.fused_step import PlainBeam, StepArrays

_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p
# The fields of `BeamTask` that are arrays of a search.
STATE = ("log_probs", "ids", "parents", "lengths", "busy")
FINISHED = (
    "finished_scores", "finished_log_probs", "eos_scores", "finished_lengths", "finished_parents",
)  # fmt: skip
BACKPOINTERS = ("past_ids", "past_parents", "past_scores")
OTHERS = ("limits", "prefixes", "penalties")


class BeamTask(ctypes.Structure):
    """The struct `beam_task` of beam_step.c."""

    _fields_ = (
        *((name, _INTEGER) for name in ("slots", "candidates", "kept", "steps", "prefix_steps")),
        *((name, _INTEGER) for name in ("words", "eos", "bans")),
        *((name, _POINTER) for name in (*STATE, *FINISHED, *BACKPOINTERS, *OTHERS)),
        ("banned", _POINTER),
        *((name, _POINTER) for name in ("rows", "row_of", "parent_rows", "forced", "edit_rows")),
        *((name, _POINTER) for name in ("edit_ids", "top_ids", "block_ids", "bias", "saved")),
        *((name, _POINTER) for name in ("top_scores", "block_maxima", "best")),
        ("reward", ctypes.c_float),
    )


class BeamStep:
    """Runs the steps of one search; its working memory is allocated once."""

    def __init__(
        self, model: NativeModel, state: StateStruct, slots: int, symbols: Symbols, rules: PlainBeam
    ) -> None:
        """state: of the decoder, which is about to run a step."""
        self._model, self._state = model, state
        self._bound: StepArrays | None = None
        self._banned = np.array(rules.banned_ids, np.int64)
        rows, candidates = slots * state.beam, rules.candidates
        edits = rows * len(self._banned)
        self._buffers = {
            **{
                name: np.empty(rows, np.int64)
                for name in ("rows", "row_of", "parent_rows", "forced")
            },
            "top_ids": np.empty(rows * candidates, np.int64),
            "top_scores": np.empty(rows * candidates, np.float32),
            **{name: np.empty(edits, np.int64) for name in ("edit_rows", "edit_ids")},
            **{name: np.empty(edits, np.float32) for name in ("bias", "saved")},
            "block_ids": np.empty(candidates, np.int64),
            "block_maxima": np.empty(candidates, np.float32),
            # The struct `candidate`: two floats and two integers.
            "best": np.empty(candidates * 3, np.int64),
        }
        self._task = BeamTask(
            slots=slots, candidates=candidates, kept=rules.finished, words=model.words,
            eos=symbols.eos_id, bans=len(self._banned), banned=address(self._banned),
            reward=rules.word_reward,
            **{name: address(buffer) for name, buffer in self._buffers.items()},
        )  # fmt: skip

    def run(self, arrays: StepArrays) -> None:
        """The step of the decoder, and what follows from it for the search."""
        if arrays is not self._bound:
            self._bind(arrays)
        kernels = self._model.kernels
        completed = kernels.library.nmt_beam_step(
            kernels.lanes,
            ctypes.byref(self._model.decoder_stack.model),
            ctypes.byref(self._state),
            ctypes.byref(self._task),
        )
        if not completed:
            raise RuntimeError(f"no kernels of {kernels.lanes} lanes here")

    def _bind(self, arrays: StepArrays) -> None:
        """Let the task refer to these arrays, which are kept alive."""
        self._bound, task = arrays, self._task
        state, history = arrays.state, arrays.backpointers
        fields = (*STATE, *FINISHED, *BACKPOINTERS, *OTHERS)
        columns = (
            *state[:5], *state.finished[:5], history.ids, history.parents, history.scores,
            arrays.limits, arrays.prefixes, arrays.penalties,
        )  # fmt: skip
        for field, column in zip(fields, columns, strict=True):
            setattr(task, field, address(column))
        task.steps, task.prefix_steps = history.capacity, arrays.prefixes.shape[1]
