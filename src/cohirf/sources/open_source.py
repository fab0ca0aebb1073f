"""open_source: from a path or an array to rows that can be read by number."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.sources.array import ArraySource


def open_source(data: Any) -> ArraySource:
    """Open data for a fit that reads rows by number, without loading all of it.

    Parameters
    ----------
    data : path or array
        A ``.npy`` file, or an array. The file is memory-mapped and never written to. C-ordered float64 and float32
        are read where they are; other types and orders are converted in memory by ``fit``.

    Returns
    -------
    source : ArraySource
        What ``CoHiRF.fit`` takes.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from cohirf import CoHiRF, open_source
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.npy"
    >>> np.save(path, np.random.default_rng(0).normal(size=(100, 3)))
    >>> CoHiRF(random_state=0).fit(open_source(path)).labels_.shape
    (100,)
    """
    if not isinstance(data, str | os.PathLike):
        return ArraySource(data)
    path = Path(data)
    if path.suffix != ".npy":
        raise ValueError(f"{path} cannot be opened as a source: give a .npy file, or read it into an array first.")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: check the path.")
    return ArraySource(np.load(path, mmap_mode="r", allow_pickle=False))
