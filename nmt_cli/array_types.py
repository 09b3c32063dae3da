"""The types of arrays with their shapes, such as `Float[Array, "rows words"]`.

They are those of jaxtyping where that is loaded: for a type checker, and for the tests, which
compare arguments with them. Elsewhere they only document, and jaxtyping is not imported, which
takes as long as an eighth of a start of `nmt translate`.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int
else:

    class _Documented:
        """`Float[Array, "rows"]` is `Array`."""

        def __class_getitem__(cls, parts: tuple[type, str]) -> type:
            return parts[0]

    Bool = Float = Int = _Documented

__all__ = ["Bool", "Float", "Int"]
