"""Merge criteria: how groups become clusters after the levels. Each is a file of this folder.

To add one, write a file whose name is that of the merge, with an object ``CRITERION``, a
:class:`~cohirf.beyond.criterion.Criterion`: its fields say all that the rest of the package asks
about a merge. Then ``CoHiRF(merge=...)`` and ``cohirf fit --merge`` take it, and saved models, cuts
and descriptions know it. ``merge="auto"`` does not compare it, and no default changes.
``tests/beyond/merges/test_new_criterion.py`` adds the shortest one, and fits with it.

Nothing here imports NumPy, because the program lists ``NAMES`` in its help;
``cohirf.beyond.criterion`` has what imports the files.
"""

from pkgutil import iter_modules

__all__ = ["NAMES"]

# of all merges that can be asked for. Sorted.
NAMES = tuple(sorted(found.name for found in iter_modules(__path__)))
# where merges are neither compared nor asked for, as for methods that find the clusters themselves
DEFAULT = "compact"
