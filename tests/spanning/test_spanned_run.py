"""Spanning trees of a run."""

import sys

import numpy as np

from cohirf.spanning.spanned_run import SpannedRun


def test_a_run_counts_its_rows_without_halos_and_its_bytes_with_them():
    rows, edges = np.arange(1000), np.arange(999)
    run = SpannedRun(rows, np.ones(1000), edges, edges + 1, np.ones(999), np.array([400, 300]))
    assert (run.n_batches, run.rows_in, run.rows_out) == (2, 700, 700)
    parts = [run.rows, run.core, run.one, run.two, run.lengths, run.batch_sizes]
    assert sum(part.nbytes for part in parts) < sys.getsizeof(run) < 1.1 * sum(map(sys.getsizeof, parts))
