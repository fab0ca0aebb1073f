"""How long arrays are embedded in a page: split into planes of bytes, compressed, and encoded as text."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[Any]) -> dict[str, str]:
    """Return an array of numbers as text that the script of the page can unpack.

    Integers are stored in the smallest type that holds them. All first bytes of the numbers are stored before all
    second bytes, and so on, because this compresses better.

    Parameters
    ----------
    values : array of int or float
        The numbers; floats are rounded to four bytes.

    Returns
    -------
    packed : dict
        ``type``, the JavaScript type of the numbers such as "Int8"; and ``data``, the compressed bytes as base64.

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
    """Return bytes as base64 text, compressed with zlib, which browsers can decompress."""
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers in the smallest little-endian type that holds them; floats become float32."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, dtype="<f4")
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    dtypes = ("<i1", "<i2", "<i4") if low < 0 else ("<u1", "<u2", "<u4")
    fitting = (dtype for dtype in dtypes if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max)
    return np.ascontiguousarray(values, dtype=next(fitting))
