"""Checkpoints: resume a killed fit.

A checkpoint is a directory with three files. ``manifest.json`` identifies the fit, and holds the settings that were
resolved when it began. ``journal`` holds the result of each batch, in the order of the fit. ``lock`` is locked while a
fit uses the checkpoint. The manifest is written after the journal, so a checkpoint with a manifest has a journal.

The result of a batch is a deterministic function of the input and of the position of the batch in the fit, so nothing
else is needed. To resume, the fit runs again from its beginning, and reads the batches that are in the journal instead
of computing them.
"""

from cohirf.checkpoint.errors import CheckpointError, CheckpointWarning
from cohirf.checkpoint.journal import count_records
from cohirf.checkpoint.opening import JOURNAL, LOCK, MANIFEST, Checkpoint, open_checkpoint
from cohirf.checkpoint.resuming import ResumableEngine

__all__ = [
    "JOURNAL",
    "LOCK",
    "MANIFEST",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "ResumableEngine",
    "count_records",
    "open_checkpoint",
]
