"""The library of kernels with which trained models translate."""

import ctypes
from pathlib import Path

from nmt_cli.kernels import library
from nmt_cli.kernels.library import Sources

_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p
SOURCES = Sources(
    "kernels",
    {
        "nmt_cli.kernels.sources": ("vectors.h", "tiles.h"),
        "nmt_cli.inference.native.kernels": (
            "kernels.h", "instruction_set.h", "simd.h", "attention.h", "quantize.h", "tile.h",
            "gemm.h", "head.h", "step.h", "dispatch.c", "thread_pool.c", "step.c", "attention.c",
            "output.c", "head.c", "pack.c",
        ),
        "nmt_cli.inference.native.kernels.amx": (
            "tiled_rows.h", "tiled_products.h", "tiled_head.h",
        ),
        "nmt_cli.inference.native.search": ("top_k.h", "beam_search.c"),
    },
    {
        "nmt_has_form": (_INTEGER, _INTEGER),
        "nmt_next_alone": (_POINTER, _INTEGER, _INTEGER, _INTEGER),
        "nmt_product_bytes": (_INTEGER,),
        "nmt_product": (
            _INTEGER, _INTEGER, _POINTER, _POINTER, _INTEGER, _POINTER, _POINTER,
        ),
        "nmt_pack": (_POINTER,),
        "nmt_copy_outputs": (_POINTER, _POINTER, _INTEGER, _INTEGER, _POINTER),
        "nmt_step_bytes": (_INTEGER, _INTEGER, _INTEGER),
        "nmt_step": (_INTEGER, _POINTER, _POINTER),
        "nmt_encode_bytes": (_POINTER, _POINTER),
        "nmt_encode": (_INTEGER, _POINTER, _POINTER),
        "nmt_logits": (_INTEGER, _POINTER, _POINTER),
        "nmt_top_k": (_INTEGER, _POINTER, _POINTER, _POINTER),
        "nmt_search_bytes": (_POINTER,),
        "nmt_lay_out_search": (_POINTER, _INTEGER, _POINTER),
        "nmt_begin_search": (_POINTER, _POINTER, _INTEGER),
        "nmt_run_search": (_INTEGER, _POINTER, _POINTER, _POINTER, _INTEGER),
        "nmt_read_finished": (_POINTER, _INTEGER, _POINTER, _POINTER, _POINTER, _POINTER),
    },
)  # fmt: skip


def load_library(cache: Path) -> tuple[ctypes.CDLL | None, str]:
    """The library and "", or None and why there is none; cache: a folder of this user."""
    return library.load_library(cache, SOURCES)


def may_load() -> bool:
    """Whether there is a library, or a C compiler to make it with."""
    return library.may_load(SOURCES)


def must_compile(cache: Path) -> bool:
    """Whether `load_library` will have to compile, which takes a few seconds."""
    return library.must_compile(cache, SOURCES)
