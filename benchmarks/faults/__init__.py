"""What is lost when processes are killed, files are damaged or forged, and commands run at the same
time.
"""

from contextlib import suppress
from pathlib import Path

from cohirf.store.archive import Archive
from cohirf.store.checkpoint import CHECKPOINT
from cohirf.store.files import CONTENT_ERRORS


def count_records(path: Path) -> int:
    """Return how many runs a journal holds that a fit can resume from.

    The journal is not changed.
    """
    if not path.exists():
        return 0
    with path.open("rb", buffering=0) as file:
        # the first one identifies the fit
        archive = Archive(file)
        n_records = -1
        archive.open(*CHECKPOINT.kind)
        with suppress(*CONTENT_ERRORS):  # damaged records are not resumed from
            while archive.read() is not None:
                n_records += 1
        return n_records
