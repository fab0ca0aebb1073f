"""The estimator gives what a literal transcription of Algorithm 1 gives."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN
from sklearn.metrics.pairwise import linear_kernel

import reference
from cohirf import CoHiRF
from cohirf.fitting import settings as contraction

# Random data may fuse nothing, which the fit says.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Nothing fused:sklearn.exceptions.ConvergenceWarning"
)

MEDOIDS = {
    "cosine": reference.cosine,
    "euclidean": reference.negative_squared_distance,
    "rbf": reference.rbf,
    "laplacian": reference.laplacian,
}


class RandomBins(ClusterMixin, BaseEstimator):
    """A fast stochastic base: rows are binned along a random direction, some bins are noise."""

    def __init__(self, n_bins=3, noise=False, random_state=None):
        self.n_bins = n_bins
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = np.random.RandomState(self.random_state)
        score = np.round(X @ rng.randint(-2, 3, X.shape[1]), 6)
        bins = np.floor(score / (np.abs(score).max() + 1) * self.n_bins).astype(int)
        self.labels_ = bins if self.noise else bins - bins.min()
        return self


# Multiples of 1/8: sums and differences are exact, ties are real ties.
cells = st.integers(-40, 40).map(lambda value: value / 8)
matrices = hnp.arrays(np.float64, st.tuples(st.integers(1, 24), st.integers(1, 5)), elements=cells)
bases = st.one_of(
    st.builds(RandomBins, n_bins=st.integers(1, 5), noise=st.booleans()),
    st.builds(DBSCAN, eps=st.sampled_from([0.5, 1.5, 4.0]), min_samples=st.integers(1, 4)),
)


@pytest.mark.parametrize("medoid", MEDOIDS)
@pytest.mark.parametrize("consensus", ["strict", "relaxed"])
@given(
    X=matrices,
    base=bases,
    views=st.integers(1, 5),
    max_features=st.sampled_from([0.3, 0.6, 1.0]),
    threshold=st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    seed=st.integers(0, 1000),
)
def test_labels_and_parents_equal_the_literal_algorithm(
    consensus, medoid, X, base, views, max_features, threshold, seed
):
    common = {"views": views, "max_features": max_features, "random_state": seed}
    model = CoHiRF.as_published(
        base, consensus=threshold if consensus == "relaxed" else consensus, medoid=medoid, **common
    ).fit(X)
    labels, parents = reference.cohirf(
        X,
        base,
        threshold=threshold if consensus == "relaxed" else None,
        medoid=MEDOIDS[medoid],
        **common,
    )
    assert model.parents_.tolist() == parents
    assert model.labels_.tolist() == labels


@given(X=matrices, base=bases, seed=st.integers(0, 1000))
def test_a_callable_medoid_rule_equals_the_literal_algorithm(X, base, seed):
    common = {"views": 3, "max_features": 1.0, "random_state": seed}
    model = CoHiRF.as_published(base, medoid=partial(linear_kernel), **common).fit(X)
    _, parents = reference.cohirf(X, base, medoid=linear_kernel, **common)
    assert model.parents_.tolist() == parents


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    X=hnp.arrays(np.float64, st.tuples(st.integers(1, 10), st.integers(1, 5)), elements=cells),
    base=bases,
    views=st.integers(1, 9),
    majority=st.sampled_from([0.3, 0.5, 0.7, 1.0]),
    seed=st.integers(0, 1000),
)
def test_majority_consensus_equals_the_literal_algorithm(X, base, views, majority, seed):
    common = {"views": views, "max_features": 0.6, "random_state": seed}
    try:
        labels, parents = reference.cohirf(
            X, base, medoid=reference.cosine, majority=majority, **common
        )
    except reference.TieError:
        reject()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(contraction.GROUP), "majority", majority)
        model = CoHiRF.as_published(base, consensus="majority", **common).fit(X)
    assert model.parents_.tolist() == parents
    assert model.labels_.tolist() == labels
