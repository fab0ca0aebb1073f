"""Rows wherever they are, and what every other package needs to work with them: arrays, groups,
distances, storage.
"""

from cohirf.rows.arrays import Floats
from cohirf.rows.grouping import (
    BLOCK_ROWS,
    FloatArray,
    IntArray,
    count_with_noise,
    row_blocks,
    rows_by_label,
)
from cohirf.rows.metric_spaces import EARTH_KM
from cohirf.rows.silhouette import mean_silhouette

__all__ = [
    "BLOCK_ROWS",
    "EARTH_KM",
    "FloatArray",
    "Floats",
    "IntArray",
    "count_with_noise",
    "mean_silhouette",
    "row_blocks",
    "rows_by_label",
]
