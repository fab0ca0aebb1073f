"""How long arrays travel inside a page: compressed, as text, one plane of bytes after the other."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[Any]) -> dict[str, str]:
    """Return an array of numbers as text that a page can unpack.

    Integers take as few bytes as they need. The bytes of each number are set apart, all first ones before all second
    ones, since they compress better so.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.report.packing import pack
    >>> pack(np.array([0, 1, 1, -1]))["type"]
    'Int8'
    """
    narrow = _narrow(values)
    planes = narrow.reshape(-1, 1).view(np.uint8).T
    kind = {"u": "Uint", "i": "Int", "f": "Float"}[narrow.dtype.kind]
    return {"type": f"{kind}{8 * narrow.dtype.itemsize}", "data": compress_to_text(planes.tobytes())}


def compress_to_text(content: bytes) -> str:
    """Return bytes as text, compressed in a way that browsers undo."""
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers in little-endian order and as few bytes as they need; of floats, four are enough."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, dtype="<f4")
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    dtypes = ("<i1", "<i2", "<i4") if low < 0 else ("<u1", "<u2", "<u4")
    fitting = (dtype for dtype in dtypes if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max)
    return np.ascontiguousarray(values, dtype=next(fitting))
