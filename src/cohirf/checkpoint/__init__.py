"""Checkpoints: a fit that was killed goes on where it stood.

A checkpoint is a directory with three files. ``manifest.json`` says which fit it belongs to, and what was settled when
that began. ``journal`` holds what became of each batch, in the order of the fit. ``lock`` keeps a second process out.
The manifest is written last: where it is, the journal is, too.

What a fit does is a function of its input and of its place, so nothing else is needed. To resume, the fit runs again
from its beginning; a batch that is in the journal is read from there instead of being computed.
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
