"""The structs of the kernels, as ctypes structures with the fields of step.h and top_k.h."""

import ctypes

from nmt_cli.inference.native.linear import Linear

_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p


class NormStruct(ctypes.Structure):
    """The struct `norm`: a LayerNorm or an RMSNorm."""

    _fields_ = (
        ("weight", _POINTER),
        ("bias", _POINTER),
        ("epsilon", ctypes.c_double),
        ("root_mean_square", _INTEGER),
    )


# The linear layers of a layer, in the order of the struct.
LINEAR_PARTS = ("joined", "output", "query", "cross_output", "inner", "outer")


class LayerStruct(ctypes.Structure):
    """The struct `layer`: a layer of the encoder or of the decoder."""

    _fields_ = (
        *((name, Linear) for name in LINEAR_PARTS),
        ("norms", NormStruct * 3),
    )


class ModelStruct(ctypes.Structure):
    """The struct `model`: a stack of layers."""

    _fields_ = (
        ("layers", _POINTER),
        *((name, _INTEGER) for name in ("depth", "d_model", "heads", "d_k", "d_v", "d_ff")),
        *((name, _INTEGER) for name in ("activation", "gated", "pre_norm", "position_rows")),
        ("first_norm", NormStruct),
        ("head", Linear),
        *((name, _POINTER) for name in ("embedding", "position_table", "cosines", "sines")),
        ("scale", ctypes.c_float),
        *((name, _INTEGER) for name in ("embedded_in_panels", "embedding_file", "embedding_begin")),
        ("unreadable", _POINTER),
    )


class WordList(ctypes.Structure):
    """The struct `shortlist`: the words that the source in a slot allows."""

    _fields_ = (("head", Linear), ("ids", _POINTER), ("count", _INTEGER))


class CrossKeysValues(ctypes.Structure):
    """The struct `source`: the keys and values of the source in a slot."""

    _fields_ = (
        ("keys", _POINTER),
        ("values", _POINTER),
        ("stride", _INTEGER),
        ("length", _INTEGER),
    )


class Encoding(ctypes.Structure):
    """The struct `encoding`: sources that are encoded together."""

    _fields_ = (
        ("ids", _POINTER),
        ("lengths", _POINTER),
        *((name, _INTEGER) for name in ("sentences", "tokens", "longest", "threads")),
        *((name, _INTEGER) for name in ("widest", "layers")),
        *((name, _POINTER) for name in ("memory", "keys", "values", "room")),
    )


class StateStruct(ctypes.Structure):
    """The struct `state`: what changes from step to step."""

    _fields_ = (
        *((name, _INTEGER) for name in ("busy", "beam", "slot_rows", "capacity", "growth")),
        *((name, _INTEGER) for name in ("threads", "scratch_bytes", "longest")),
        *((name, _POINTER) for name in ("slots", "parents", "ids", "lengths", "ancestors")),
        *((name, _POINTER) for name in ("chunks", "sources")),
        *((name, _POINTER) for name in ("x", "normed", "joined", "query", "attended")),
        ("sublayer_output", _POINTER),
        *((name, _POINTER) for name in ("inner", "gated", "logits", "maxima", "totals", "scratch")),
        *((name, _POINTER) for name in ("starts", "ends", "positions", "shortlists")),
        *((name, _INTEGER) for name in ("widest", "kept", "all_logits")),
        ("sums", _POINTER),
        ("written", _POINTER),
    )


class ChoiceStruct(ctypes.Structure):
    """The struct `top_k_task`: the best k words of each row."""

    _fields_ = (
        *((name, _INTEGER) for name in ("busy", "words", "blocks", "k", "edits")),
        *((name, _POINTER) for name in ("rows", "row_of", "forced", "edit_rows", "edit_ids")),
        *((name, _POINTER) for name in ("bias", "totals", "logits", "maxima", "values")),
        *((name, _POINTER) for name in ("saved", "block_maxima", "ids", "block_ids", "shortlists")),
        ("beam", _INTEGER),
        *((name, _POINTER) for name in ("kernels", "model", "state")),
    )
