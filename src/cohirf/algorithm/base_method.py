"""The base clustering method: one interface to all kinds of estimators, and one call on one
view.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import Parameter, signature
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from cohirf.algorithm.consensus import NOISE
from cohirf.algorithm.policy import STEP
from cohirf.error_contexts import warning_once_a_fit
from cohirf.rows.arrays import namespace, put_beside, take_rows, to_host
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import IntArray


@dataclass(frozen=True)
class BaseMethod:
    """A clustering method that is called many times, each time as a fresh copy with new seeds."""

    # A clone of the user's estimator. It has ``fit_predict``, or ``fit`` and ``labels_``, or
    # ``fit`` and ``predict``.
    prototype: Any
    # Names of the parameters that are seeds, and of those that keep the method from overwriting its
    # input. Nested parameters are included.
    seeds: tuple[str, ...]
    copies: tuple[str, ...]
    sizes: dict[str, int]  # parameters that may not exceed the number of rows, with their values
    # the fixed number of clusters; None if the method finds the number itself
    n_clusters: int | None
    # Name of the parameter that tells the method how many clusters to find: ``n_clusters`` or, for
    # mixtures, ``n_components``
    number_name: str | None
    weight_argument: str | None  # name of the argument of ``fit`` that takes sample weights
    # The number of clusters to find in the end, if the method seeks a finer one; see ``telling``
    asked: int | None = None

    @property
    def clusterer(self) -> Any:
        """The method, or the last step of a pipeline."""
        if isinstance(self.prototype, Pipeline):
            return self.prototype.steps[-1][1]
        return self.prototype

    @property
    def is_deterministic(self) -> bool:
        """Whether two calls on the same rows give the same labels, by scikit-learn's
        conventions.
        """
        return isinstance(self.prototype, BaseEstimator) and not self.seeds

    @classmethod
    def of(cls, estimator: Any) -> BaseMethod:
        """Inspect the parameters of ``estimator``, which is not changed."""
        prototype = clone(estimator, safe=False)  # without get_params: a deep copy
        if hasattr(prototype, "get_params"):
            parameters = prototype.get_params()
        else:
            parameters = {}
        last = {name: name.rsplit("__", 1)[-1] for name in sorted(parameters)}
        # With None, the method would start its own jobs in a parallel_config context, beside those
        # of the levels.
        undecided = [name for name in last if last[name] == "n_jobs" and parameters[name] is None]
        if undecided:
            _set_parameters(prototype, dict.fromkeys(undecided, 1))
        # Parameters that may not exceed the number of rows. They are lowered only if a call fails:
        # DBSCAN with min_samples above the number of rows does not fail, but labels every row as
        # noise.
        names = ("n_clusters", "n_components", "n_neighbors", "min_samples", "min_cluster_size")
        sizes = {
            name: int(parameters[name])
            for name in last
            if last[name] in names and isinstance(parameters[name], int | np.integer)
        }
        if isinstance(prototype, Pipeline):
            clusterer = f"{prototype.steps[-1][0]}__"
        else:
            clusterer = ""
        return cls(
            prototype=prototype,
            seeds=tuple(name for name in last if last[name] == "random_state"),
            copies=tuple(
                name
                for name in last
                if last[name] in ("copy", "copy_x") and parameters[name] in (True, False, "warn")
            ),
            sizes=sizes,
            n_clusters=sizes.get(f"{clusterer}n_clusters"),
            number_name=next(
                (
                    name
                    for name in (f"{clusterer}n_clusters", f"{clusterer}n_components")
                    if name in sizes
                ),
                None,
            ),
            weight_argument=find_weight_argument(estimator),
        )

    @property
    def n_told(self) -> int | None:
        """The number of clusters that the method is to find.

        None if it finds the number itself.
        """
        return None if self.number_name is None else self.sizes[self.number_name]

    def telling(self, n_clusters: int, asked: int, **limits: int) -> BaseMethod:
        """Return the method that finds ``n_clusters`` clusters where ``asked`` are wanted in the
        end.

        If a batch has too few rows for these, the method is to find fewer, but not fewer than asked
        for. Parameters that are above one of the ``limits`` are lowered to it.
        """
        if self.number_name is None or (n_clusters != self.n_told and self._has_starts):
            return self
        method = clone(self.prototype, safe=False)
        given = method.get_params()
        step = self.number_name.rpartition("__")[0]
        names = {f"{step}__{name}" if step else name: limit for name, limit in limits.items()}
        lowered = {name: min(given[name], limit) for name, limit in names.items() if name in given}
        return replace(
            BaseMethod.of(method.set_params(**{self.number_name: n_clusters}, **lowered)),
            asked=asked,
        )

    @property
    def name(self) -> str:
        """Name of the method in messages.

        One of our own can have that of the method that it stands for.
        """
        return str(getattr(self.prototype, "_shown_as", type(self.prototype).__name__))

    @property
    def _has_radius(self) -> bool:
        """Whether the method has a radius, like DBSCAN, and therefore an answer for a single row:
        it can be noise.
        """
        method = self.clusterer  # OPTICS, which has max_eps, refuses a single row
        return isinstance(getattr(method, "eps", None), Real) and not hasattr(method, "max_eps")

    @property
    def _has_starts(self) -> bool:
        """Whether a parameter is an array with one row for each cluster, such as the first centres
        of K-Means.
        """
        parameters = self.clusterer.get_params(deep=False)
        names = ("init", "means_init", "weights_init", "precisions_init")
        return any(isinstance(parameters.get(name), np.ndarray | list | tuple) for name in names)

    def label_rows(
        self,
        view: Any,
        rng: np.random.Generator,
        sample_weight: Any = None,
        *,
        may_overwrite: bool = False,
    ) -> Any:
        """Return the labels that a fresh copy of the method gives to the rows of ``view``.

        See ``find_core``.
        """
        return self.find_core(view, rng, sample_weight, may_overwrite=may_overwrite)[0]

    def find_core(
        self,
        view: Any,
        rng: np.random.Generator,
        sample_weight: Any = None,
        *,
        may_overwrite: bool = False,
    ) -> tuple[Any, IntArray | None]:
        """Return the labels that a fresh copy of the method gives to the rows of ``view``, and the
        core rows.

        The second is None for methods that have no core rows, unlike DBSCAN.

        Parameters
        ----------
        view : array or CSR matrix
            The rows and features to cluster.
        rng : numpy.random.Generator
            Draws the seeds.
        sample_weight : array, optional
            Mass of each row, for methods that support weights.
        may_overwrite : bool
            Whether the method may overwrite ``view``.
        """
        n_rows = view.shape[0]
        if n_rows == 1 and not self._has_radius:  # many methods refuse a single row
            return put_beside(np.zeros(1, dtype=np.int32), view), None
        if self.finds_no_fewer_than(n_rows):
            return put_beside(find_distinct_rows(to_host(view))[1], view), None
        settings: dict[str, Any] = {name: int(rng.integers(2**31 - 1)) for name in self.seeds}
        # A call that may have to be repeated with lower sizes must not overwrite the view.
        may_overwrite = may_overwrite and all(size < n_rows for size in self.sizes.values())
        settings |= dict.fromkeys(self.copies, not may_overwrite)
        # too few rows for the finer number of clusters
        if self.asked is not None and self.number_name is not None:
            bound = max(self.asked, n_rows // STEP.rows_per_inner_cluster)
            settings |= {self.number_name: bound} if self.sizes[self.number_name] > bound else {}
        if sample_weight is None or self.weight_argument is None:
            weights = {}
        else:
            weights = {self.weight_argument: sample_weight}
        with warning_once_a_fit():
            alike = self._label_alike(view, settings)
            if alike is not None:
                return alike, None
            labels, core = self._call(view, settings, weights)
        return _check_labels(labels, view, self), to_host(core)

    def _label_alike(self, view: Any, settings: dict[str, Any]) -> IntArray | None:
        """Return a label for each of the distinct rows, if these are no more than the clusters to
        find, else None.

        Some methods would split identical rows to find as many clusters as they should.
        """
        if self.number_name is None:
            return None
        n_told = self.sizes[self.number_name]
        distinct = find_few_distinct(view, settings.get(self.number_name, n_told))
        if distinct is None or int(distinct.max()) + 1 == view.shape[0]:
            return None
        n_distinct = int(distinct.max()) + 1
        asked = n_told if self.asked is None else self.asked
        if n_distinct < asked:
            warnings.warn(
                f"{self.name} is told to find {asked} clusters, and there "
                f"{_say_distinct(n_distinct)}: identical rows are not split.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return distinct

    def finds_no_fewer_than(self, n_clusters: int) -> bool:
        """Return whether the method has a fixed number of clusters, and it is at least
        ``n_clusters``.
        """
        if self.asked is not None:
            return self.asked >= n_clusters
        return self.n_clusters is not None and self.n_clusters >= n_clusters

    def _call(
        self, view: Any, settings: dict[str, Any], weights: dict[Any, Any]
    ) -> tuple[Any, IntArray | None]:
        """Fit a fresh copy; if it fails and sizes may be the reason, try again with lower sizes."""
        try:
            return _fit_labels(self._fresh(settings), view, weights)
        except Exception as error:
            n_complete = _count_complete_rows(view)
            # some methods count a row as its own neighbour, and some do not
            for bound in (view.shape[0], view.shape[0] - 1, n_complete, n_complete - 1):
                lowered = {name: bound for name, size in self.sizes.items() if size > bound}
                if lowered and bound > 0:
                    with suppress(Exception):
                        return _fit_labels(self._fresh(settings | lowered), view, weights)
            if self.number_name is not None and settings.get(self.number_name, self.n_told) == 1:
                return np.zeros(
                    view.shape[0], dtype=np.int32
                ), None  # a mixture fails if all rows are on a line
            # fewer than two rows that could form a cluster
            if n_complete < view.shape[0] and n_complete < 2:
                return np.full(view.shape[0], NOISE), None
            reason = container_of(view).say_why_methods_fail(self.name)
            if reason is not None:
                error.add_note(reason)
            raise

    def _fresh(self, settings: dict[str, Any]) -> Any:
        # for an unfitted estimator, deepcopy does the same as clone in a tenth of the time, which
        # matters per batch
        return _set_parameters(deepcopy(self.prototype), settings)


def _set_parameters(method: Any, settings: dict[str, Any]) -> Any:
    """Set parameters of a method and return it.

    Only nested ones need ``set_params``, which inspects signatures.
    """
    nested = {name: value for name, value in settings.items() if "__" in name}
    for name in settings.keys() - nested.keys():
        setattr(method, name, settings[name])
    return method.set_params(**nested) if nested else method


def find_weight_argument(estimator: Any) -> str | None:
    """Return the name of the argument of ``fit`` that takes sample weights.

    None if there is no such argument.
    """
    # a model of ours passes weights on to its own base method
    if hasattr(estimator, "_base_method"):
        return find_weight_argument(estimator._base_method())
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = find_weight_argument(last)
        return None if inner is None else f"{step}__{inner}"
    methods = [
        getattr(estimator, name) for name in ("fit_predict", "fit") if hasattr(estimator, name)
    ]
    for parameters in (_find_parameters(getattr(method, "__func__", method)) for method in methods):
        if "sample_weight" in parameters:
            return "sample_weight"
        if all(parameter.kind != Parameter.VAR_KEYWORD for parameter in parameters.values()):
            return None  # without **kwargs, the first method that is called cannot pass weights on
    return None


# a fit asks several times, and to inspect a signature takes longer than to fit a few rows
@lru_cache(maxsize=128)
def _find_parameters(function: Any) -> Mapping[str, Parameter]:
    """Return the parameters of a function."""
    return signature(function).parameters


def _count_complete_rows(view: Any) -> int:
    """Return the number of rows without missing values."""
    return int(container_of(view).find_complete(view).sum())


def find_distinct_rows(X: Any) -> tuple[IntArray, IntArray]:
    """Return the first of each of the distinct rows, which are sorted, and the number of the
    distinct row of each row.

    Which number a row has does not depend on the order of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.algorithm.base_method import find_distinct_rows
    >>> find_distinct_rows(np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 0.0], [2.0, 1.0]]))
    (array([1, 2, 0]), array([2, 0, 1, 2]))
    """
    return container_of(X).find_distinct(X)


def find_few_distinct(X: Any, most: int) -> IntArray | None:
    """Return the number of the distinct row that each row is equal to.

    None if there are more than ``most`` of them.

    Examples
    --------
    >>> import numpy as np
    >>> find_few_distinct(np.array([[7.0], [7.0], [3.0]]), 2)
    array([1, 1, 0])
    >>> find_few_distinct(np.array([[7.0], [7.0], [3.0]]), 1) is None
    True
    """
    # nearly always, these are enough to say no
    step = max(1, X.shape[0] // (STEP.probed_per_cluster * (most + 1)))
    some = take_rows(X, slice(None, None, step))
    if len(find_distinct_rows(some)[0]) > most:
        return None
    first, number = find_distinct_rows(X)
    return number if len(first) <= most else None


def _say_distinct(count: int) -> str:
    return "is 1 distinct row" if count == 1 else f"are {count:,} distinct rows"


def _fit_labels(method: Any, view: Any, weights: dict[Any, Any]) -> tuple[Any, IntArray | None]:
    """Return labels and, if the method has them, core rows."""
    if hasattr(method, "fit_predict"):
        labels = method.fit_predict(view, **weights)
        return labels, getattr(method, "core_sample_indices_", None)
    method.fit(view, **weights)
    clusterer = method[-1] if isinstance(method, Pipeline) else method
    if hasattr(clusterer, "labels_"):
        return clusterer.labels_, getattr(clusterer, "core_sample_indices_", None)
    if hasattr(method, "predict"):
        return method.predict(view), None
    raise TypeError(
        f"estimator={method!r} is not a clustering estimator: after fit it has neither labels_ nor "
        "predict. Give an estimator that has one of them, or fit_predict."
    )


def _check_labels(labels: Any, view: Any, method: BaseMethod) -> Any:
    """Return the labels that a method gave to the rows of ``view``, beside these rows.

    Raise if they are not labels.
    """
    n_rows = view.shape[0]
    labels = container_of(view).bring(labels, view)
    if tuple(labels.shape) != (n_rows,):
        raise ValueError(
            f"The base method {method.name} returned labels of shape {tuple(labels.shape)} for "
            f"{n_rows} rows: it must return one label per row."
        )
    xp = namespace(labels)
    if not xp.isdtype(labels.dtype, "integral"):
        raise TypeError(
            f"The base method {method.name} returned labels of type {labels.dtype}: they must be "
            "integers."
        )
    is_wide = labels.dtype in (xp.int32, xp.int64)
    return labels if is_wide else xp.astype(labels, xp.int64)
