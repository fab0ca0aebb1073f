"""Are random batches too thin for the base method? Checked after the first level.

A radius or a number of neighbours that is right for the data can be wrong for a random batch, which has a small share
of the rows: the base method then leaves most rows as noise or in tiny clusters, and later levels cannot repair that.
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.levels import LevelRecord

MOST = 0.5  # if the first level left more than this share of the rows active, no setting that was tried found clusters


class ThinBatchesWarning(ConvergenceWarning):
    """Batches hold too few rows for the base method."""


def explain_thin_batches(record: LevelRecord, method: BaseMethod) -> str | None:
    """Return a warning if random batches seem to be too thin, given the record of the first level; otherwise None.

    Methods that are told the number of clusters hardly leave rows alone, and are not checked.
    """
    if record.rows_held_aside == 0 or method.told is not None:
        return None
    share_left = (record.rows_out - record.rows_held_aside) / (record.rows_in - record.rows_held_aside)
    if share_left <= MOST:
        return None
    return (
        f"The first level fused few of the rows in its {record.n_batches} random batches: it left {share_left:.0%} of "
        f"them active. A random batch is thinner than the data, so that a radius or a number of neighbours means "
        f'something else in it. Use batches="local", or a larger batch_size.'
    )
