"""What fits with 20 seeds find, as hashes, for every way to run them: printed as JSON for
test_determinism.py.

Also a program of its own, since BLAS and OpenMP read how many threads to use when a process starts,
and so do the workers it starts.
"""

import hashlib
import json
import sys

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info

from cohirf import CoHiRF

N_SEEDS = 20
X = np.random.default_rng(0).uniform(size=(900, 4))


class LastBit(ClusterMixin, BaseEstimator):
    """K-Means whose clusters fuse where the last bits of their centres say so: any difference in
    rounding shows.
    """

    def __init__(self, n_clusters=4, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        method = KMeans(self.n_clusters, n_init=1, max_iter=20, random_state=self.random_state)
        method.fit(X, sample_weight=sample_weight)
        last_bits = method.cluster_centers_.view(np.uint64).sum(axis=1) % 2
        self.labels_ = np.where(last_bits, np.arange(self.n_clusters), 0)[method.labels_]
        return self


OPTIONS = {"views": 2, "max_features": 0.5}
BATCHED = {"consensus": "relaxed", "medoid_weights": True, "medoid": "rbf", "batch_size": 300}
MODELS = {
    "strict": CoHiRF.as_published(LastBit(), **OPTIONS),
    "relaxed and batched": CoHiRF.as_published(LastBit(), **OPTIONS, **BATCHED),
}
WAYS = {
    "serial": {"backend": "sequential", "n_jobs": 1},  # which is what one job is with every backend
    "threads": {"backend": "threading", "n_jobs": 2},
    "processes": {"backend": "loky", "n_jobs": 2},
}


def fit_hash(model, seed):
    fitted = clone(model).set_params(random_state=seed).fit(X)
    found = (
        fitted.labels_,
        fitted.parents_,
        fitted.hierarchy_.absorbed_at,
        fitted.predict(X[::-1]),
    )
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()


def hash_fits():
    """Return the number of threads of this process, and the hashes of the fits for each way to run
    them.
    """
    hashes = {}
    for way, options in WAYS.items():
        with joblib.parallel_config(**options):
            for name, model in MODELS.items():
                hashes[f"{way}: {name}"] = [fit_hash(model, seed) for seed in range(N_SEEDS)]
    return {"threads": max(pool["num_threads"] for pool in threadpool_info()), "hashes": hashes}


if __name__ == "__main__":
    json.dump(hash_fits(), sys.stdout)
