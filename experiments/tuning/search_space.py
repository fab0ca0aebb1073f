"""Search spaces: ranges of the parameters of base methods and of CoHiRF, as Optuna distributions.

And scores.

A search space is a dict from the name of a parameter, as in ``set_params``, to a distribution. It
can be edited like any dict. Scores are the three of the paper, or a function of the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna import distributions
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, pairwise_distances

from cohirf.eps import suggest_eps
from cohirf.estimator import CoHiRF
from cohirf.rows.grouping import IntArray
from cohirf.rows.silhouette import mean_silhouette

SearchSpace = dict[str, Any]
Ranges = dict[str, tuple[float, float]]

INNER = "estimator__"  # prefix of the base method's parameters in CoHiRF
# parameters of base methods that are a number of clusters
NUMBER_NAMES = (
    "n_clusters",
    "n_components",
)
# a radius is searched from the suggested one divided by this to the suggested one times this
RADIUS_FACTOR = 3.16

VIEWS: Ranges = {"max_features": (0.1, 1.0), "views": (2, 10)}
GOOD_VIEWS: Ranges = {"max_features": (0.3, 1.0), "views": (5, 10)}
CLUSTERS: Ranges = {"n_clusters": (2, 30)}
COMPONENTS: Ranges = {"n_components": (2, 30)}
RADIUS: Ranges = {"eps": (0.1, 10.0), "min_samples": (2, 50)}
KERNEL = CLUSTERS | {"gamma": (0.1, 30.0)}
# Lowest and highest values by class name; subclasses inherit them. The first four are those of the
# paper.
RANGES: dict[str, Ranges] = {
    "KMeans": CLUSTERS,
    "KernelKMeans": KERNEL,
    "DBSCAN": RADIUS,
    "SCSRGF": CLUSTERS | {"n_affinities": (10, 30), "sampling_ratio": (0.2, 0.8)},
    "GridDBSCAN": RADIUS,
    "HDBSCAN": {"min_cluster_size": (2, 50), "min_samples": (2, 50)},
    **dict.fromkeys(
        ("AgglomerativeClustering", "Birch", "BisectingKMeans", "MiniBatchKMeans"), CLUSTERS
    ),
    **dict.fromkeys(("SpectralClustering", "TorchKMeans"), CLUSTERS),
    **dict.fromkeys(("GaussianMixture", "BayesianGaussianMixture"), COMPONENTS),
}


def recommended_space(estimator: Any, X: Any = None) -> SearchSpace:
    """Return the search space that we recommend: the number of clusters or the radius, and how
    views are made.

    Ranges are those in which good values are: views with at least 0.3 of the features, five to ten
    views, and a radius around the one that :func:`cohirf.suggest_eps` suggests. A base method that
    finds the number of clusters itself gets views with all features, so that they are not searched.

    Parameters
    ----------
    estimator : estimator
        A clustering method, or a :class:`~cohirf.CoHiRF` with a base method.
    X : array or CSR matrix, shape (n_samples, n_features), default=None
        The data. Without it, the range of a radius is that of the paper.

    Returns
    -------
    space : dict of str to optuna distribution
        A range for each parameter, as that of :func:`paper_space`, which raises the same errors.

    See Also
    --------
    paper_space : The ranges of the paper.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from experiments.tuning import recommended_space
    >>> sorted(recommended_space(CoHiRF()))
    ['max_features', 'n_clusters', 'views']
    >>> eps = recommended_space(CoHiRF(DBSCAN()), load_iris().data)["estimator__eps"]
    >>> round(eps.low, 2), round(eps.high, 2)
    (0.16, 1.64)
    """
    space = paper_space(estimator)
    inner = {name.removeprefix(INNER): name for name in space}
    if "eps" in inner and X is not None and (radius := _suggest_radius(X)) > 0:
        space |= _to_space(
            {inner["eps"]: (radius / RADIUS_FACTOR, radius * RADIUS_FACTOR)}, log=True
        )
    views = _to_space(GOOD_VIEWS)
    finds_number = not any(name in inner for name in NUMBER_NAMES)
    return {
        name: views.get(name, values)
        for name, values in space.items()
        if name not in views or not finds_number
    }


def paper_space(estimator: Any) -> SearchSpace:
    """Return the search space of the paper for a base method, or for CoHiRF with a base method.

    Methods that the paper does not use have a similar space if their main parameter is the number
    of clusters, a radius or a cluster size. A CoHiRF without a base method searches its own
    ``n_clusters``. If ``n_clusters`` of a CoHiRF is given, the number of clusters is not searched.

    Parameters
    ----------
    estimator : estimator
        A clustering method, or a :class:`~cohirf.CoHiRF` with a base method.

    Returns
    -------
    space : dict of str to optuna distribution
        A range for each parameter. Names of parameters of a base method inside CoHiRF start with
        ``estimator__``.

    Raises
    ------
    ValueError
        If there is no default search space for the method.
    ImportError
        If optuna is not installed.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from cohirf import CoHiRF
    >>> from experiments.tuning import paper_space
    >>> for name, values in paper_space(CoHiRF(KMeans())).items():
    ...     print(name, values)
    max_features FloatDistribution(high=1.0, log=False, low=0.1, step=None)
    views IntDistribution(high=10, log=False, low=2, step=1)
    estimator__n_clusters IntDistribution(high=30, log=False, low=2, step=1)
    """
    if not isinstance(estimator, CoHiRF):
        return _to_space(_base_ranges(estimator))
    base = estimator._base_method()
    # which samples features itself (paper, section 3)
    takes_views = type(base).__name__ != "SCSRGF"
    space = _to_space(VIEWS) if takes_views else {}
    if estimator.estimator is None and estimator.n_clusters is None:
        return space | _to_space(CLUSTERS)
    is_given = estimator.n_clusters not in (None, "levels")
    inner = {
        name: found
        for name, found in _base_ranges(base).items()
        if not (is_given and name in NUMBER_NAMES)
    }
    return space | _to_space({f"{INNER}{name}": found for name, found in inner.items()})


def first_trials(
    estimator: Any, X: Any, space: SearchSpace, random_state: int = 0
) -> list[dict[str, Any]]:
    """Return the parameters that a search starts with: the defaults, and what the library itself
    chooses.

    The number of clusters is the one that ``CoHiRF(n_clusters="auto")`` chooses, and the radius is
    that of
    :func:`cohirf.suggest_eps`. So a search does not end with a worse score than a fit without a
    search.

    Parameters
    ----------
    estimator : estimator
        The method whose parameters are searched.
    X : array or CSR matrix, shape (n_samples, n_features)
        The data.
    space : dict of str to optuna distribution
        The search space.
    random_state : int
        Seed of the fit that chooses the number of clusters.

    Returns
    -------
    trials : list of dict
        A value for each parameter of the space, inside its range.
    """
    given = estimator.get_params()
    trial = {name: given.get(name) for name in space}
    for name in space:
        inner = name.removeprefix(INNER)
        if inner in NUMBER_NAMES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # this fit is only a proposal
                model = CoHiRF(n_clusters="auto", random_state=random_state).fit(X)
            trial[name] = max(2, int(model.n_clusters_))
        elif inner == "eps":
            trial[name] = _suggest_radius(X)
    return [{name: _inside(trial[name], where) for name, where in space.items()}]


def _suggest_radius(X: Any) -> float:
    return float(suggest_eps(X, random_state=0).eps)


def _inside(value: Any, where: Any) -> Any:
    """Return the value of a range that is nearest to a value."""
    if hasattr(where, "choices"):
        return value if value in where.choices else where.choices[0]
    if not isinstance(value, int | float) or isinstance(value, bool):
        number = where.low
    else:
        number = value
    return type(where.low)(min(max(number, where.low), where.high))


def _base_ranges(estimator: Any) -> Ranges:
    """Return the ranges of the class of ``estimator``, or of its nearest base class that has
    some.
    """
    if found := [RANGES[cls.__name__] for cls in type(estimator).__mro__ if cls.__name__ in RANGES]:
        return found[0]
    raise ValueError(
        f"There is no default search space for {type(estimator).__name__}: pass search_space, a "
        "dict from parameter names to Optuna distributions, for instance {'n_clusters': "
        "IntDistribution(2, 30)}."
    )


def _to_space(ranges: Mapping[str, tuple[float, float]], *, log: bool = False) -> SearchSpace:
    """Return ranges as distributions: of integers if both ends are integers."""
    return {
        name: distributions.IntDistribution(low, high)
        if isinstance(low, int)
        else distributions.FloatDistribution(low, high, log=log)
        for name, (low, high) in ranges.items()
    }


SILHOUETTE_ROWS = 10_000


@dataclass(frozen=True)
class Metric:
    """A score to maximise: higher is better."""

    score: Callable[[Any, IntArray, Any], float]  # of data, labels and true classes (or None)
    worst: float  # score of labels for which it is undefined, and of failed fits
    needs_classes: bool = (
        False  # only then it is defined for a single cluster, or for singletons only
    )
    remark: str = ""  # message for users about the score with these data

    def __call__(self, X: Any, labels: IntArray, y: Any) -> float:
        """Return the score, or ``worst`` if it is undefined for these labels."""
        if not (self.needs_classes or _has_clusters(labels)):
            return self.worst
        value = float(self.score(X, labels, y))
        return value if np.isfinite(value) else self.worst


def _has_clusters(labels: IntArray) -> bool:
    return 1 < len(np.unique(labels)) < len(labels)


class Silhouettes:
    """Mean silhouettes of partitions of the same data, or of the same random rows.

    Distances are computed once.
    """

    def __init__(self, X: Any):
        n_rows = X.shape[0]
        self.rows = np.arange(n_rows)
        if n_rows > SILHOUETTE_ROWS:
            self.rows = np.sort(
                np.random.default_rng(0).choice(n_rows, SILHOUETTE_ROWS, replace=False)
            )
        self.distances = pairwise_distances(X[self.rows]).astype(np.float32)

    def __call__(self, X: Any, labels: IntArray, y: Any) -> float:
        """Return the mean silhouette, or -1 if it is undefined for the sampled rows."""
        labels = np.asarray(labels)[self.rows]
        if _has_clusters(labels):
            return mean_silhouette(self.distances, labels)
        return -1.0


def _say_sampled(n_rows: int) -> str:
    some = f"silhouette: that of {SILHOUETTE_ROWS:,} random rows, the same ones in each trial"
    return some if n_rows > SILHOUETTE_ROWS else ""


# name of a metric -> function of the data that returns the metric
METRICS: dict[str, Callable[[Any], Metric]] = {
    "silhouette": lambda X: Metric(Silhouettes(X), worst=-1.0, remark=_say_sampled(X.shape[0])),
    "calinski_harabasz": lambda X: Metric(
        lambda X, labels, _: calinski_harabasz_score(X, labels), worst=0.0
    ),
    "ari": lambda X: Metric(
        lambda X, labels, y: adjusted_rand_score(y, labels), worst=-1.0, needs_classes=True
    ),
}


def find_metric(metric: str | Metric | Callable[..., float], X: Any, y: Any) -> Metric:
    """Return a metric by its name, or for a function of data and labels (and classes, if ``y`` is
    given).
    """
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        function = metric
        if y is not None:
            return Metric(function, worst=-np.inf)
        return Metric(lambda X, labels, _: function(X, labels), worst=-np.inf)
    if metric not in METRICS:
        raise ValueError(
            f"metric={metric!r} is not valid: pass one of {', '.join(METRICS)}, or a function."
        )
    found = METRICS[metric](X)
    if found.needs_classes and y is None:
        raise ValueError(
            f"metric={metric!r} compares with true classes: pass them as y, or choose another "
            "metric."
        )
    return found
