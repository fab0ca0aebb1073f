"""What the tests of checkpoints share: a base method that counts its calls and can be stopped, and
small data.
"""

import hashlib
import json
from dataclasses import asdict

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from cohirf import CoHiRF

X = np.random.default_rng(0).normal(size=(240, 3))
CALLS = []  # a digest of the rows of each call
STOP_AT = [None]  # the call, counted from 1, in which the fit is stopped


class Stop(Exception):  # noqa: N818 - it stands for the end of the process
    """The fit ends here, as if it had been killed."""


class Cells(ClusterMixin, BaseEstimator):
    """Puts the rows of a cell of a grid together.

    Where the grid starts is random, and depends on the weights.
    """

    def __init__(self, width=0.6, random_state=None):
        self.width = width
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None, sample_weight=None):
        note_call(X)
        values = X[:, [0]].toarray().ravel() if sparse.issparse(X) else X[:, 0]
        shift = np.random.RandomState(self.random_state).uniform() + np.average(
            values, weights=sample_weight
        )
        self.labels_ = np.unique(np.floor((values + shift) / self.width), return_inverse=True)[1]
        return self


class StoppedKMeans(KMeans):
    """K-Means that counts its calls, too."""

    def fit(self, X, y=None, sample_weight=None):
        note_call(X)
        return super().fit(X, sample_weight=sample_weight)


def note_call(X):
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    CALLS.append(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
    if len(CALLS) == STOP_AT[0]:
        raise Stop


def make_model(checkpoint=None, **parameters):
    """Return a model that calls its base method once for each of about ten batches."""
    options = {"estimator": Cells(), "views": 1, "batch_size": 40, "random_state": 0} | parameters
    return CoHiRF.as_published(checkpoint=checkpoint, **options)


def fit(model, data=X, *, stop_at=None, **fit_options):
    """Fit, and return the model and the calls of its base method.

    None for the model if it was stopped.
    """
    CALLS.clear()
    STOP_AT[0] = stop_at
    try:
        return model.fit(data, **fit_options), list(CALLS)
    except Stop:
        return None, list(CALLS)


def result(model):
    """Return everything a fit found, but not how long it took."""
    medoids = model.medoids_.toarray() if sparse.issparse(model.medoids_) else model.medoids_
    arrays = (
        model.labels_,
        model.parents_,
        model.hierarchy_.absorbed_at,
        model.medoid_indices_,
        medoids,
    )
    records = [asdict(record) for record in model.diagnostics_]
    found = [
        {name: value for name, value in record.items() if "seconds" not in name}
        for record in records
    ]
    return [(array.dtype, array.tobytes()) for array in map(np.asarray, arrays)], json.dumps(found)
