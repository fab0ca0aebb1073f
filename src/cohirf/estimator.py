"""CoHiRF, the estimator: parameters, validation, fitted attributes, predict and transform; no algorithm."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from functools import cache, partial, reduce
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, _fit_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from cohirf import progress, validation
from cohirf.algorithm.base_method import BaseMethod, find_weight_argument
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_medoids import (
    CallableSimilarity,
    choose_central_medoids,
    choose_sampled_medoids,
    cosine_centrality,
    euclidean_centrality,
    fill_missing,
    laplacian_similarity,
    rbf_similarity,
)
from cohirf.algorithm.companions import Companions, count_shown
from cohirf.algorithm.consensus import Codes, Consensus, relaxed_consensus, strict_consensus
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.faint_values import measure_distances
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.first_level import state_after
from cohirf.algorithm.get_clusters import Views, take_features
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.algorithm.levels import (
    ChooseMedoids,
    Contraction,
    FitState,
    LevelRecord,
    Resources,
    RowsAtHand,
    contract_levels,
)
from cohirf.algorithm.majority import majority_consensus
from cohirf.algorithm.parents import (
    find_roots,
    get_final_labels,
    hide_small_clusters,
    roots_after_first_level,
    update_parents,
)
from cohirf.algorithm.population import Population
from cohirf.algorithm.randomness import Draw, Entropy, generator_at, root_entropy
from cohirf.algorithm.redraw import redraw_rounds
from cohirf.algorithm.repeated_warnings import showing_warnings_once
from cohirf.algorithm.screening import sample_size, screen_features
from cohirf.algorithm.storage import ArrayRows, MemoryStorage, Rows, RowsWithFeatures, Storage
from cohirf.algorithm.thin_batches import ThinBatchesWarning, judge_first_level
from cohirf.callers import warn_caller
from cohirf.checkpoint import ResumableEngine, open_checkpoint
from cohirf.describe import describe_fit
from cohirf.diagnosis.diagnose import Diagnosis, diagnose_model
from cohirf.diagnosis.explain import explain_cluster
from cohirf.engines import DaskEngine, LocalEngine
from cohirf.engines.dask import find_active_client, find_client, find_fullest_worker, is_usable
from cohirf.engines.local import one_thread
from cohirf.hierarchy import FusionHierarchy
from cohirf.landmarks import Landmarks, sample_landmarks
from cohirf.nearest_label import NearestLabel
from cohirf.on_dask import (
    DaskPopulation,
    DaskTable,
    FirstLevel,
    LazyDaskSource,
    align_vectors,
    check_weights,
    gather_vectors,
    is_dask,
    refuse_other_collections,
    spread_source,
)
from cohirf.planning import draw_rows, parse_bytes, plan_batches, resolve_memory_limit
from cohirf.saving import save_model
from cohirf.scratch import ScratchStorage
from cohirf.sources import ArraySource, Source


@dataclass(frozen=True)
class Settled:
    """Settings that the parameters may leave open, resolved: the entropy of the fit, and the batch size."""

    entropy: Entropy
    batch_size: int | None


# Larger values would run for ever or fill the memory. The limits also apply to models that are loaded from disk.
MAX_VIEWS, MAX_LEVELS = 100_000, 100_000

CENTRALITY = {"cosine": cosine_centrality, "euclidean": euclidean_centrality}
SIMILARITY = {"rbf": rbf_similarity, "laplacian": laplacian_similarity}


class CoHiRF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Consensus Hierarchical Random Features: scales any clustering method to data too large for the method alone.

    At each level, the base method labels the active rows on several random subsets of the features (*views*). Rows
    on which the views agree fuse into a group: its most central row, the *medoid*, stays active for the next level,
    and absorbs the other rows. The fit ends when a level fuses nothing. The result is a flat partition and the
    hierarchy of all fusions.

    Parameters
    ----------
    estimator : object, default=None
        The base clustering method: an instance with ``fit_predict``, or with ``fit`` and either ``labels_`` or
        ``predict``. It is cloned for each view and never changed. Every ``random_state`` of the clone, nested ones
        included, gets a new seed. A call that fails because there are few rows is repeated with lower values of
        ``n_components``, ``n_neighbors``, ``min_samples`` and ``min_cluster_size``. If ``n_clusters`` is at least the
        number of rows, only identical rows get the same label. Negative labels are noise.
        None means :class:`sklearn.cluster.KMeans` with its default parameters.
    n_views : int, default=5
        Number of random feature views at each level (R in the paper). If the base method is deterministic and every
        view has all features, all views are the same, and the method runs only once.
    max_features : int or float, default=1.0
        Number (int) or fraction (float) of features in each view (q in the paper). With ``feature_screen=True``, the
        fraction is that of the relevant features. With 1.0, every view has all features, and views differ only by
        the randomness of the base method. With many features, try fractions from 0.2 to 0.5.
    consensus : {"strict", "relaxed", "majority"}, default="strict"
        Which rows fuse. "strict" fuses rows that have the same label in every view. "relaxed" does the same after it
        has dropped views that disagree with the others. "majority" fuses groups of rows that have the same label in
        most views; it is not part of the paper.
    agreement_threshold : float, default=0.8
        For ``consensus="relaxed"`` (h in the paper): the view with the lowest agreement is dropped, repeatedly, while
        that agreement is below this value. The agreement of a view is the adjusted Rand index between the consensus
        with and without it.
    majority : float, default=0.5
        For ``consensus="majority"``: two groups fuse while the share of views in which two of their rows have the
        same label, averaged over all pairs of rows, is at least this value. With 1.0 the result is the strict
        consensus.
    medoid : {"cosine", "euclidean", "rbf", "laplacian"} or callable, default="cosine"
        Similarity that defines the medoid of a cluster: the row with the highest sum of similarities to the other
        rows. "cosine" and "euclidean" (negative squared distance) are computed exactly. "rbf" (squared Euclidean
        distance) and "laplacian" (Manhattan distance) decay to 1/e at the mean distance within the cluster. A callable
        takes a matrix of rows and returns the square matrix of their similarities.
    max_candidates : int, default=1000
        For "rbf", "laplacian" and callables: in a cluster with more rows, the medoid is chosen from a random sample
        of this size.
    candidate_fraction : float, default=None
        For "rbf", "laplacian" and callables: the medoid is chosen from a random sample of at most this fraction of
        the cluster's rows, rounded up. None sets no such limit.
    medoid_weights : bool, default=False
        Whether a medoid counts with its mass, the number (or total weight) of the rows that it represents. The mass
        is passed to the base method as ``sample_weight``. If the base method does not support sample weights, it
        instead clusters the medoids together with a random sample of the data, so that medoids with a large mass
        have many neighbours. This is not part of the paper.
    feature_screen : bool, default=False
        Whether to search for irrelevant features before the first level, on a random sample of at most 2,000 rows.
        Features that do not depend on any other feature are then left out of views, medoids and distances. If fewer
        than two features depend on others, all are kept. Sample weights are ignored, except that rows of weight 0 are
        not sampled. This is not part of the paper.
    scale_views : bool, default=False
        Whether to multiply a view of q of p features by sqrt(p / q). Distances in a view are then about as large as
        distances on all features, so that a radius such as ``eps`` of DBSCAN keeps its meaning. This is not part of
        the paper.
    batch_size : int or "auto", default=None
        Approximate number of rows that are clustered together. The base method never sees more than 1.5 times as
        many. None means all rows in one batch. "auto" measures the base method on small samples and chooses the
        largest batch size that stays below ``memory_limit`` and takes a reasonable time; ``verbose=1`` prints it.
    memory_limit : int or str, default=None
        For ``batch_size="auto"``: the most memory that the process may use, including what it uses already, as a
        number of bytes or as text such as "2GB". None means the memory that the process uses already, plus half of
        what is available.
    redraws : int, default=0
        Largest number of extra rounds after the last level. Each round samples new rows of the data, and fuses
        clusters if the base method puts some of their rows together. The rounds end early after two that fuse nothing.
        They merge clusters that small batches left apart, and are meant for base methods that connect rows within a
        radius, such as DBSCAN. They cannot be combined with a base method that has ``n_clusters``. This is not part of
        the paper.
    min_cluster_size : int, default=1
        Final clusters with fewer rows (or a smaller sum of ``sample_weight``) get the label -1. The hierarchy keeps
        them.
    max_iter : int, default=100
        Largest number of levels.
    checkpoint : str or path, default=None
        Directory in which the fit stores the result of each batch. If the fit is killed, run the same call again: it
        resumes where it stopped, and returns the same labels as without the interruption. A checkpoint of other data,
        another seed or other parameters raises an error; only ``n_jobs``, ``verbose``, ``memory_limit``,
        ``min_cluster_size`` and, without ``redraws``, ``max_iter`` may differ.
    n_jobs : int, default=None
        Number of views or batches that run at the same time. Each uses one thread, so that labels do not depend on
        the number of cores. None means 1, unless in a :func:`joblib.parallel_config` context; -1 means all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of views, batches, base methods and samples. Pass an int to get the same result in every call.
    verbose : int, default=0
        If positive, show a progress bar for the batches of each level, and print a line after each level.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row. Clusters are numbered by their first row. Rows of clusters smaller than
        ``min_cluster_size`` have the label -1.
    n_clusters_ : int
        Number of clusters, not counting -1.
    hierarchy_ : FusionHierarchy
        All fusions, level by level.
    parents_ : array of int, shape (n_samples,)
        For each row, the number of the row that absorbed it, or its own number if it was not absorbed.
    medoid_indices_ : array of int, shape (n_clusters_,)
        Row number of each cluster's medoid.
    medoids_ : array or CSR matrix, shape (n_clusters_, n_features)
        Values of each cluster's medoid.
    n_iter_ : int
        Number of levels that were run, including the last one, which fuses nothing, and redraws.
    diagnostics_ : list of LevelRecord
        Sizes, agreement and times of each level; ``pandas.DataFrame(model.diagnostics_)`` shows them as a table.
    relevant_features_ : array of int or None
        Sorted indices of the features that ``feature_screen=True`` kept; None without it.
    feature_statistics_ : array of float, shape (n_features_in_,), or None
        How much each feature depends on other features: the largest F statistic of its means across clusters that
        were found without it, divided by the critical value. Features above 1 are relevant, unless they belong to a
        block of correlated features that does not depend on other features. None without ``feature_screen=True``.
    stability_ : array of float32, shape (n_samples,)
        Mean over views of the Jaccard index between the row's group and its cluster in that view: the number of rows
        in both, divided by the number of rows in either. It is 1 if all views agree with the group, and is measured
        at the level at which the row was absorbed into its parent; for medoids of final clusters, at the last level.
        NaN for rows of weight 0, and for rows that no level clustered. Redraws do not change it.
    feature_agreement_ : array of float, shape (n_features_in_,)
        For each feature, the mean Jaccard index, as in ``stability_``, of the views that contained it, over all rows
        and levels. NaN for features that were in no view.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features. Only set if all column names of ``X`` are strings.

    Notes
    -----
    ``sample_weight`` requires a base method that supports it. At the first level, the base method and the choice of
    medoids use the weights as if rows were repeated. From the second level on, each medoid has weight 1, or with
    ``medoid_weights=True`` the total weight of the rows that it represents. Rows of weight 0 do not take part in the
    fit; at the end, each joins the cluster of its nearest landmark, as in ``predict``. The relaxed consensus counts
    rows without weights.

    A warning of the base method is shown once per fit, also if the batches run in threads or processes of joblib. Dask
    workers write such warnings to their logs.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from cohirf import CoHiRF
    >>> X, y = make_blobs(1000, n_features=20, centers=4, random_state=0)
    >>> model = CoHiRF(KMeans(n_clusters=4), random_state=0).fit(X)
    >>> model.n_clusters_
    4
    >>> model.hierarchy_
    FusionHierarchy(1,000 rows, clusters by level: 1,000 > 4)
    """

    labels_: Any  # this one and the next two: NumPy arrays, or Dask arrays after a fit on Dask
    parents_: Any
    stability_: Any
    hierarchy_: FusionHierarchy

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # check_base_method has clearer messages
        "n_views": [Interval(Integral, 1, MAX_VIEWS, closed="both")],
        "max_features": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right")],
        "consensus": [StrOptions({"strict", "relaxed", "majority"})],
        "agreement_threshold": [Interval(Real, 0, 1, closed="both")],
        "majority": [Interval(Real, 0, 1, closed="right")],
        "medoid": [StrOptions({*CENTRALITY, *SIMILARITY}), callable],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "candidate_fraction": [None, Interval(Real, 0, 1, closed="right")],
        "medoid_weights": ["boolean"],
        "feature_screen": ["boolean"],
        "scale_views": ["boolean"],
        "batch_size": [None, StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "memory_limit": [None, str, Interval(Real, 1, None, closed="left")],
        "redraws": [Interval(Integral, 0, MAX_LEVELS, closed="both")],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, MAX_LEVELS, closed="both")],
        "checkpoint": [None, str, os.PathLike],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_views: int = 5,
        max_features: int | float = 1.0,
        consensus: str = "strict",
        agreement_threshold: float = 0.8,
        majority: float = 0.5,
        medoid: str | Callable[[Any], Any] = "cosine",
        max_candidates: int = 1000,
        candidate_fraction: float | None = None,
        medoid_weights: bool = False,
        feature_screen: bool = False,
        scale_views: bool = False,
        batch_size: int | str | None = None,
        memory_limit: int | str | None = None,
        redraws: int = 0,
        min_cluster_size: int = 1,
        max_iter: int = 100,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_views = n_views
        self.max_features = max_features
        self.consensus = consensus
        self.agreement_threshold = agreement_threshold
        self.majority = majority
        self.medoid = medoid
        self.max_candidates = max_candidates
        self.candidate_fraction = candidate_fraction
        self.medoid_weights = medoid_weights
        self.feature_screen = feature_screen
        self.scale_views = scale_views
        self.batch_size = batch_size
        self.memory_limit = memory_limit
        self.redraws = redraws
        self.min_cluster_size = min_cluster_size
        self.max_iter = max_iter
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            The data. float32 stays float32; other types become float64. CSR matrices need a base method that supports
            them. A source (see :func:`cohirf.open_source`) is read once, in order, batch by batch; arrays that grow
            with the number of rows are then kept on disk, and ``labels_``, ``parents_`` and ``stability_`` are memory
            maps. The batches of a Dask array or data frame run on the workers that hold its chunks; ``labels_``,
            ``parents_`` and ``stability_`` are then Dask arrays with the same chunks, and ``hierarchy_`` starts at
            the clusters of the first level. A source is also fitted on the cluster if a ``distributed.Client`` is
            active and ``batch_size`` is set; workers then read it. In-memory data is always fitted locally.
        y : ignored
            Not used; present for scikit-learn's conventions.
        sample_weight : array, shape (n_samples,), optional
            Weight of each row, for base methods that support it. It may be a Dask array if ``X`` is one.
        client : distributed.Client, optional
            Client of the cluster that runs the batches of a source, Dask array or Dask data frame. By default, the
            active client, if there is one.

        Returns
        -------
        self : CoHiRF
            The fitted estimator.
        """
        with ExitStack() as stack:
            if client is not None:
                stack.enter_context(self._choose_client(client, X))
            data = self._open(X, on_cluster=client is not None)
            weights = self._check_weights(sample_weight, data.values)
            screen = cache(partial(self._screen, data, weights))  # for the choice of the batch size, and for the fit
            settled, wrap_engine = self._begin(data, weights, screen, stack)
            at_hand = screen(settled.entropy)
            if self.feature_screen and self.verbose:
                progress.say(f"{self._count_relevant():,} of {self.n_features_in_:,} features are relevant")
            rows = at_hand.values
            contraction = self._contraction(settled, weighted=weights is not None or self.medoid_weights)
            tally = FeatureTally(contraction.views, self._count_relevant())
            self._warn_if_no_two_rows_can_fuse(contraction, rows, weights)
            one_batch = count_batches(rows.n_rows, settled.batch_size) == 1
            self.diagnostics_: list[LevelRecord] = []
            stack.enter_context(one_thread())
            stack.enter_context(showing_warnings_once())
            if isinstance(rows, LazyDaskSource) and not one_batch:
                self._fit_on_dask(rows, weights, contraction, wrap_engine, tally)
            else:
                if at_hand.in_order and one_batch:  # a single batch needs all rows in memory anyway
                    at_hand = RowsAtHand(ArrayRows(rows.take(np.arange(rows.n_rows))))
                    weights = weights.take(np.arange(rows.n_rows))[:, 0] if isinstance(weights, Source) else weights
                self._fit_here(at_hand, weights, contraction, wrap_engine, tally)
                if isinstance(rows, LazyDaskSource):
                    align_vectors(self, rows)
            self.feature_agreement_ = self._spread_out(tally.mean())
            if self._count_relevant() < self.n_features_in_:
                # medoids_ has all features, but the levels saw only the relevant ones
                self.medoids_ = data.take(self.medoid_indices_)
        return self

    def predict(self, X: Any) -> Any:
        """Return, for each row, the cluster of its nearest landmark.

        Landmarks are rows of the fit: all of them if there are at most 10,000, otherwise a sample of about 10,000 that
        contains rows of every cluster. A landmark gets its own label, unless an identical row has another one. So,
        after a fit of at most 10,000 rows in memory, ``predict`` of these rows returns ``labels_``. With more rows, a
        row near the border between two clusters can be nearer to a landmark of the other cluster. Of 50,000 rows, this
        concerned hardly any if the clusters were well separated, 4 to 7 % if they touched, and 17 to 18 % if a single
        cloud of points was cut into pieces; the user guide has the table.

        The search is exact, and it compares a row with as many landmarks as its label needs: if clusters are well
        separated, a few centres decide nearly every row. Landmarks can be confused only if their distance is below
        1e-150 and the data has larger values as well. The first call for at least 1,000 rows prepares the search, which
        takes about as long as the search of a few hundred rows does without it.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to label. A source is read block by block.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            Cluster of each row, or -1 as in ``labels_``; a Dask array with the chunks of ``X`` if ``X`` is a Dask array
            or data frame.
        """
        check_is_fitted(self, "hierarchy_")
        if is_dask(X):
            label = partial(_label_rows, self._landmarks.search_of_many, self.relevant_features_)
            return self._open_dask(X, reset=False).map_rows(label, None, self._landmarks.labels.dtype)
        if isinstance(X, Source):
            return np.concatenate([self._landmarks.label(self._select(block)) for block in self._read(X)])
        X = fill_missing(self._check_data(X, reset=False), self._column_means)
        return self._landmarks.label(self._select(X))

    def transform(self, X: Any) -> Any:
        """Return the Euclidean distance of each row to the medoid of each cluster, on the relevant features.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to measure. A source is read block by block.

        Returns
        -------
        distances : array of float, shape (n_samples, n_clusters_)
            Column k has the distances to the medoid of cluster k; a Dask array if ``X`` is a Dask array or data frame.
        """
        check_is_fitted(self, "hierarchy_")
        medoids = fill_missing(self.medoids_, self._column_means)
        measure = partial(_measure, medoids=self._select(medoids), relevant=self.relevant_features_)
        if is_dask(X):
            table = self._open_dask(X, reset=False)
            return table.map_rows(measure, self.n_clusters_, np.result_type(table.array.dtype, medoids.dtype))
        if isinstance(X, Source):
            return np.concatenate([measure(block) for block in self._read(X)])
        return measure(fill_missing(self._check_data(X, reset=False), self._column_means))

    def diagnose(self, X: Any = None) -> Diagnosis:
        """Diagnose the fit: its stability, what contraction preserved, and whether the base method alone does better.

        The base method runs alone, a few times, on at most 2,000 rows, without sample weights, and on the features
        that the fit used. A base method without a fixed number of clusters runs only if these are all rows of the data.

        Parameters
        ----------
        X : array, table, CSR matrix or source, shape (n_samples, n_features), optional
            The data of the fit, from which rows are sampled. Without it, rows are sampled from the landmarks that the
            fit kept for ``predict``: all rows if there are at most 10,000, otherwise about 10,000 of them.

        Returns
        -------
        diagnosis : Diagnosis
            Findings and figures; ``print`` shows them in words.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.datasets import load_digits
        >>> from cohirf import CoHiRF
        >>> X, _ = load_digits(return_X_y=True)
        >>> CoHiRF(KMeans(10, n_init=1), random_state=0).fit(X).diagnose().recommendation
        'use the base method alone'
        """
        self._check_labels_are_here()
        return diagnose_model(self, X)

    def explain(self, cluster: int, X: Any = None) -> Any:
        """Return the features that distinguish a final cluster from the others, strongest first.

        Parameters
        ----------
        cluster : int
            The label of the cluster.
        X : array, table, CSR matrix or source, shape (n_samples, n_features), optional
            The data of the fit, which is read completely, block by block. Without it, the table is computed from at
            most 2,000 of the landmarks that the fit kept for ``predict``, and lacks features that were screened out.

        Returns
        -------
        table : pandas.DataFrame
            One row for each feature, with its name as the index. ``mean`` is the mean in the cluster,
            ``mean_elsewhere`` the mean of all other rows, and ``effect`` their difference in standard deviations of
            all rows. ``views_agree`` is ``feature_agreement_``: how well the views that contained the feature agreed
            with the fusions. With ``feature_screen=True``, ``statistic`` is ``feature_statistics_``: how much the
            feature depends on others.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.datasets import load_iris
        >>> from cohirf import CoHiRF
        >>> X, _ = load_iris(return_X_y=True, as_frame=True)
        >>> model = CoHiRF(KMeans(3), n_views=10, max_features=0.5, consensus="majority", random_state=0).fit(X)
        >>> model.explain(0, X)["effect"].round(1).head(2)
        feature
        petal length (cm)   -2.0
        petal width (cm)    -1.9
        Name: effect, dtype: float64
        """
        self._check_labels_are_here()
        return explain_cluster(self, cluster, X)

    def gather(self) -> Self:
        """Load the results of a fit on Dask into this process, as ``save``, ``diagnose`` and other methods need them.

        ``labels_``, ``parents_`` and ``stability_`` become memory maps, and ``hierarchy_`` has all rows as its leaves,
        as after a local fit. This takes 13 bytes of disk space per row (21 with more than two billion rows) in the
        directory for temporary files. The client of the fit must be the active one.

        Returns
        -------
        self : CoHiRF
            The fitted estimator, changed in place. If its labels are already in this process, nothing is done.
        """
        check_is_fitted(self, "hierarchy_")
        if not is_dask(self.labels_):
            return self
        storage, top = ScratchStorage(), self.hierarchy_
        vectors = gather_vectors((self.labels_, self.parents_, self.stability_), storage)
        self.labels_, self.parents_, self.stability_ = vectors
        if top.rows is not None:  # otherwise there was a single batch, and the hierarchy already has all rows
            absorbed_at = storage.vector(len(self.parents_), top.absorbed_at.dtype)
            absorbed_at[:] = 1  # rows that are not leaves of `top` were absorbed at the first level
            absorbed_at[top.rows] = np.where(top.absorbed_at > 0, top.absorbed_at + 1, 0)
            self.hierarchy_ = FusionHierarchy(self.parents_, absorbed_at)
        return self

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a directory of JSON and numeric arrays, for :func:`cohirf.load`.

        Parameters
        ----------
        path : str or path
            The directory to create.
        overwrite : bool, default=False
            Whether to replace a saved model that exists at ``path``.
        """
        save_model(self, path, overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse and missing values are allowed if the base method allows them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = validation.takes_sparse(self._base_method())
        tags.input_tags.allow_nan = validation.takes_nan(self._base_method())
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)

    def _check_labels_are_here(self) -> None:
        check_is_fitted(self, "hierarchy_")
        if is_dask(self.labels_):
            raise ValueError(
                "labels_ is a Dask array, and this method needs the labels in this process: call gather() first, which "
                "loads 13 bytes per row."
            )

    def _base_method(self) -> Any:
        return KMeans() if self.estimator is None else self.estimator

    def _check_resources(self) -> None:
        """Check ``n_jobs`` and ``memory_limit``; loading a model checks them, too."""
        validation.check_jobs(self.n_jobs)
        if self.memory_limit is not None:
            parse_bytes(self.memory_limit)

    def _open(self, X: Any, *, on_cluster: bool) -> RowsAtHand:
        """Validate parameters and data; sources are validated while they are read.

        A source is read on the cluster if ``on_cluster`` is set, or if a client is active and ``batch_size`` is set.
        """
        validation.check_base_method(self._base_method())
        self._check_resources()
        self._column_means = None
        self.relevant_features_: IntArray | None = None
        self.feature_statistics_: NDArray[np.float64] | None = None
        if is_dask(X):
            if self.batch_size is None:
                raise ValueError(
                    "batch_size=None contracts all rows together, but the rows of a Dask array stay on its workers: "
                    'set batch_size to a number or to "auto", or fit X.compute().'
                )
            return RowsAtHand(LazyDaskSource(self._open_dask(X, reset=True).array), in_order=True)
        if isinstance(X, Source):
            validation.set_columns(self, X.n_features, X.feature_names)
            may_be_spread = self.batch_size is not None and not isinstance(X, ArraySource)
            active_client = find_active_client() if may_be_spread else None
            if on_cluster or active_client is not None:
                batch_size = int(self.batch_size) if isinstance(self.batch_size, Integral) else None
                return RowsAtHand(LazyDaskSource(spread_source(X, batch_size)), in_order=True)
            return RowsAtHand(X, in_order=True)
        X = self._check_data(X, reset=True)
        self._column_means = self._means_for_missing(X)
        return RowsAtHand(ArrayRows(X))

    def _choose_client(self, client: Any, X: Any) -> AbstractContextManager[Any]:
        """Return a context in which ``client`` is the active Dask client."""
        if not hasattr(client, "as_current") or not is_usable(client):
            raise TypeError(
                f"client={client!r} is not a connected, synchronous distributed.Client: give one, or leave client out."
            )
        if not (is_dask(X) or isinstance(X, Source)):
            raise TypeError(
                f"client= is for sources and Dask arrays or data frames, but X is in memory ({type(X).__name__}): give "
                f"open_source(X), or leave client out."
            )
        if self.batch_size is None:
            raise ValueError(
                'client= needs batches to run, but batch_size=None: set batch_size to a number or to "auto".'
            )
        return cast("AbstractContextManager[Any]", client.as_current())

    def _open_dask(self, X: Any, *, reset: bool) -> DaskTable:
        """Validate the metadata of a Dask array or data frame, without computing its rows."""
        refuse_other_collections(X)
        validation.refuse_what_is_no_table(X)
        table = DaskTable.of(X, known_rows=reset)
        n_features = table.array.shape[1] if table.array.ndim == 2 else 0
        if reset:
            validation.set_columns(self, n_features, table.names)
        else:
            validation.check_columns(self, n_features, table.names)
        return table

    def _begin(
        self, at_hand: RowsAtHand, weights: Any, screen: Callable[[Entropy], RowsAtHand], stack: ExitStack
    ) -> tuple[Settled, Callable[[Engine], Engine]]:
        """Resolve settings that the parameters leave open, or restore them from a checkpoint.

        Also returns a function that wraps an engine, so that it records batches in the checkpoint and shows progress.
        """
        self._contraction(Settled((), None), weighted=False)  # invalid options raise before a checkpoint is created
        entropy = root_entropy(self.random_state)
        settle = partial(self._settle, screen, entropy, weighted=weights is not None or self.medoid_weights)
        wrappers: list[Callable[[Engine], Engine]] = []
        if self.checkpoint is None:
            settled = settle()
        else:
            fit = describe_fit(
                self,
                rows=at_hand.values.n_rows,
                features=self.n_features_in_,
                reading=_describe_reading(at_hand),
                data=self._fingerprint(at_hand.values),
                sample_weight=weights.fingerprint() if isinstance(weights, Source) else weights,
                random_state=entropy if isinstance(self.random_state, np.random.RandomState) else self.random_state,
            )
            checkpoint = stack.enter_context(open_checkpoint(self.checkpoint, fit, lambda: asdict(settle())))
            settled = Settled(tuple(checkpoint.settled["entropy"]), checkpoint.settled["batch_size"])
            # features are counted when an engine is wrapped, which happens after the screening
            wrappers.append(
                lambda engine: ResumableEngine(engine, checkpoint.journal, self._count_relevant(), self.n_views)
            )
        if self.verbose:
            wrappers.append(progress.WatchedEngine)
        return settled, lambda engine: reduce(lambda inner, wrap: wrap(inner), wrappers, engine)

    def _settle(self, screen: Callable[[Entropy], RowsAtHand], entropy: Entropy, *, weighted: bool) -> Settled:
        """Return the entropy and the batch size, which is measured if ``batch_size="auto"``."""
        if not isinstance(self.batch_size, str):
            return Settled(entropy, None if self.batch_size is None else int(self.batch_size))
        at_hand = screen(entropy)
        rows = at_hand.values
        plan = plan_batches(
            lambda size: rows.take(draw_rows(rows.n_rows, size, entropy)),
            rows.n_rows,
            self._contraction(Settled(entropy, None), weighted=weighted),
            **self._memory_budget(at_hand),
        )
        if self.verbose:
            progress.say(plan.describe())
        return Settled(entropy, plan.batch_size)

    def _screen(self, data: RowsAtHand, weights: Any, entropy: Entropy) -> RowsAtHand:
        """Return the rows with the relevant features only, if ``feature_screen=True``."""
        if not self.feature_screen:
            return data
        # rows of weight 0 are not sampled; weights on Dask are all positive
        population = Population(data.values, None if isinstance(weights, Source) else weights)
        size = sample_size(population.n_rows, self.batch_size if isinstance(self.batch_size, Integral) else None)
        rows = np.sort(population.draw(size, generator_at(entropy, Draw.SCREEN)))
        with one_thread():
            found = screen_features(fill_missing(data.values.take(rows), self._column_means), entropy)
        self.relevant_features_, self.feature_statistics_ = found.relevant, found.statistics
        if len(found.relevant) == self.n_features_in_:
            return data
        if isinstance(data.values, LazyDaskSource):
            return RowsAtHand(LazyDaskSource(data.values.array[:, found.relevant]), in_order=True)
        if isinstance(data.values, ArrayRows):
            return RowsAtHand(ArrayRows(self._select(data.values.X)))
        return RowsAtHand(RowsWithFeatures(data.values, found.relevant), in_order=True)

    def _select(self, X: Any) -> Any:
        """Return the columns of the relevant features, which distances are computed on."""
        return _take_relevant(X, self.relevant_features_)

    def _read(self, source: Source) -> Iterator[Any]:
        """Yield the rows of a source with the columns of the fit, block by block."""
        validation.check_columns(self, source.n_features, source.feature_names)
        for block in row_blocks(source.n_rows):
            yield source.take(np.arange(block.start, block.stop))

    def _selected_means(self) -> NDArray[np.floating[Any]] | None:
        """Return the fill value for missing cells in each relevant feature; None if no cell can be missing."""
        return None if self._column_means is None else self._select(self._column_means[None])[0]

    def _count_view_features(self) -> int:
        """Return the number of relevant features in each view."""
        n_features = validation.count_view_features(self.max_features, self.n_features_in_)
        if isinstance(self.max_features, Integral):
            return min(n_features, self._count_relevant())
        return validation.count_view_features(self.max_features, self._count_relevant())

    def _count_relevant(self) -> int:
        """Return the number of relevant features; without a screening, all features are relevant."""
        return self.n_features_in_ if self.relevant_features_ is None else len(self.relevant_features_)

    def _spread_out(self, of_relevant: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of the relevant features at their indices, with NaN for all other features."""
        if self.relevant_features_ is None:
            return of_relevant
        of_all = np.full(self.n_features_in_, np.nan)
        of_all[self.relevant_features_] = of_relevant
        return of_all

    def _memory_budget(self, at_hand: RowsAtHand) -> dict[str, Any]:
        """Return the memory limit of the process that runs batches, how many run at once, and other bytes it holds."""
        limit, rows = resolve_memory_limit(self.memory_limit), at_hand.values
        worker = find_fullest_worker() if isinstance(rows, LazyDaskSource) else None
        if worker is None or not isinstance(rows, LazyDaskSource):
            held_bytes = 0 if at_hand.in_order else None
            return {"memory_limit": limit, "n_jobs": effective_n_jobs(self.n_jobs), "held_bytes": held_bytes}
        return {
            "memory_limit": worker.usable_bytes if self.memory_limit is None else limit,
            "n_jobs": worker.n_threads,
            "held_bytes": 2 * worker.n_threads * rows.chunk_bytes,  # the next chunk is read while one is contracted
            "taken_bytes": worker.taken_bytes,
        }

    def _fingerprint(self, values: Rows) -> str:
        source = values if isinstance(values, Source) else ArraySource(values.take(np.arange(values.n_rows)))
        return source.fingerprint()

    def _check_data(self, X: Any, *, reset: bool) -> Any:
        """Return ``X`` as a finite C-ordered array or CSR matrix of float64 or float32."""
        estimator = self._base_method()
        validation.refuse_what_is_no_table(X)
        accept_sparse = "csr" if validation.takes_sparse(estimator) else False
        with validation.naming_cells(X):
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=accept_sparse,
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,
            )
        # After a fit from a source there are no column means to fill missing cells with.
        allow_nan = validation.takes_nan(estimator) and (reset or self._column_means is not None)
        validation.check_finite(X, getattr(self, "feature_names_in_", None), allow_nan=allow_nan)
        return validation.narrow_indices(X) if sparse.issparse(X) else X

    def _means_for_missing(self, X: Any) -> NDArray[np.floating[Any]] | None:
        """Return the fill value for missing cells in each column; None if the base method allows no missing cells."""
        if sparse.issparse(X) or not validation.takes_nan(self._base_method()):
            return None
        return validation.column_means(X)

    def _check_weights(self, sample_weight: Any, rows: Rows) -> Any:
        """Return the sample weights as an array, or as a Dask source if the rows are on Dask; None without weights."""
        if sample_weight is None:
            return None
        if find_weight_argument(self._base_method()) is None:
            name = type(self._base_method()).__name__
            raise ValueError(
                f"sample_weight needs a base method whose fit takes it, but {name}.fit does not: "
                f"choose another base method, such as KMeans or DBSCAN, or leave sample_weight out."
            )
        if isinstance(rows, LazyDaskSource):
            return check_weights(sample_weight, rows)
        like = np.empty((rows.n_rows, 0))
        weights = _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("All sample weights are zero: give at least one row a positive weight.")
        return np.asarray(weights)

    def _companions(
        self, values: Rows, entropy: Entropy, batch_size: int | None, numbers: IntArray | None = None
    ) -> Companions | None:
        """Return the companions that replace medoid weights if the base method does not support weights."""
        if not self.medoid_weights or find_weight_argument(self._base_method()) is not None:
            return None
        n_shown = count_shown(BaseMethod.of(self._base_method()), batch_size)
        return Companions(values, entropy, n_shown, numbers)

    def _contraction(self, settled: Settled, *, weighted: bool) -> Contraction:
        """Turn option strings into functions."""
        method = BaseMethod.of(self._base_method())
        if self.redraws and method.n_clusters is not None:
            raise ValueError(
                f"redraws={self.redraws} cannot be combined with a fixed number of clusters, and "
                f"{type(method.prototype).__name__} has n_clusters={method.n_clusters}: set redraws=0, or choose a "
                f"base method that finds the number of clusters itself, such as DBSCAN."
            )
        return Contraction(
            views=Views(method, self.n_views, self._count_view_features(), settled.entropy, self.scale_views),
            consensus=self._consensus_function(),
            choose_medoids=self._medoid_function(),
            batch_size=settled.batch_size,
            weighted=weighted,
            sum_mass=self.medoid_weights,
            column_means=self._selected_means(),
        )

    def _consensus_function(self) -> Callable[[Codes], Consensus]:
        if self.consensus == "strict":
            return strict_consensus
        if self.consensus == "majority":
            return partial(majority_consensus, majority=self.majority)
        return partial(relaxed_consensus, threshold=self.agreement_threshold)

    def _medoid_function(self) -> ChooseMedoids:
        if not callable(self.medoid) and self.medoid in CENTRALITY:
            return partial(choose_central_medoids, centrality=CENTRALITY[self.medoid])
        return partial(
            choose_sampled_medoids,
            similarity=CallableSimilarity(self.medoid) if callable(self.medoid) else SIMILARITY[self.medoid],
            max_candidates=self.max_candidates,
            candidate_fraction=self.candidate_fraction,
        )

    def _fit_here(
        self,
        at_hand: RowsAtHand,
        weights: NDArray[np.float64] | None,
        contraction: Contraction,
        wrap_engine: Callable[[Engine], Engine],
        tally: FeatureTally,
    ) -> None:
        """Run all levels in this process. If the data is read in order, arrays that grow with it are kept on disk."""
        engine, entropy = LocalEngine(self.n_jobs), contraction.views.entropy
        storage = ScratchStorage() if at_hand.in_order else MemoryStorage()
        resources = Resources(
            wrap_engine(engine), engine, storage, self._companions(at_hand.values, entropy, contraction.batch_size)
        )
        state = FitState.initial(at_hand, weights, self.max_iter + self.redraws, storage, tally)
        for after in self._levels(Population(at_hand.values, weights), state, contraction, resources):
            state = after
            self._consume(state)
        self._set_fitted(at_hand.values, weights, state, entropy, storage)

    def _fit_on_dask(
        self,
        rows: LazyDaskSource,
        weights: LazyDaskSource | None,
        contraction: Contraction,
        wrap_engine: Callable[[Engine], Engine],
        tally: FeatureTally,
    ) -> None:
        """Run the first level on the workers that hold the rows, and later levels on the rows that it leaves active."""
        storage, entropy = ScratchStorage(), contraction.views.entropy
        first_level = FirstLevel.contract(rows, weights, contraction, wrap_engine, storage)
        here = LocalEngine(self.n_jobs)
        client = find_client()
        companions = self._companions(rows, entropy, contraction.batch_size, first_level.survivors.rows)
        resources = Resources(wrap_engine(here if client is None else DaskEngine(client)), here, storage, companions)
        max_level = self.max_iter + self.redraws
        state = state_after(first_level.survivors, rows.n_rows, contraction, max_level, storage, tally)
        population = DaskPopulation(values=rows, first_level=first_level, weights_there=weights)
        for after in self._levels(population, state, contraction, resources):
            state = after
            self._consume(state)
        self._set_fitted_on_dask(first_level, state, entropy)

    def _levels(
        self, population: Population, state: FitState, contraction: Contraction, resources: Resources
    ) -> Iterator[FitState]:
        """Yield the state after each level and each redraw; warn if batches are too thin or the fit is unfinished."""
        done = [] if state.record is None else [state]  # on Dask, the first level has been run already
        for after in chain(done, contract_levels(state, contraction, self.max_iter, resources)):
            state = after
            yield state
            if state.level == 1 and self._is_hopeless(population, state, contraction, resources):
                return
        if not self.redraws:
            self._warn_if_unfinished(state, contraction.batch_size)
        yield from redraw_rounds(population, state, contraction, self.redraws, resources)

    def _is_hopeless(
        self, population: Population, state: FitState, contraction: Contraction, resources: Resources
    ) -> bool:
        """Warn if batches are too thin; return whether further levels are pointless."""
        assert state.record is not None  # every level sets its record
        verdict = judge_first_level(population, state.record, contraction, resources)
        if verdict is None:
            return False
        if verdict.is_hopeless or not self.redraws:  # redraws can repair cases that are not hopeless
            warn_caller(verdict.message, ThinBatchesWarning)
        return verdict.is_hopeless

    def _consume(self, state: FitState) -> None:
        """Store the record of a level, and print it if ``verbose`` is set."""
        record = state.record
        assert record is not None  # every level sets its record
        self.diagnostics_.append(record)
        if self.verbose:
            progress.say(progress.describe_level(record, self.n_views))

    def _warn_if_no_two_rows_can_fuse(self, contraction: Contraction, rows: Rows, weights: Any) -> None:
        n_clusters = contraction.views.method.n_clusters
        n_rows = np.count_nonzero(weights) if isinstance(weights, np.ndarray) else rows.n_rows
        if n_clusters is not None and n_clusters >= n_rows > 1:
            warn_caller(
                f"n_clusters={n_clusters} of {type(self._base_method()).__name__} is at least the number of rows "
                f"({n_rows}), so only identical rows fuse: lower n_clusters.",
                ConvergenceWarning,
            )

    def _warn_if_unfinished(self, state: FitState, batch_size: int | None) -> None:
        if state.stalled:
            warn_caller(
                f"Levels {state.level - 1} and {state.level} merged nothing in any batch: {state.n_active} clusters "
                f"are left. Raise batch_size above {batch_size}, or choose a base method that merges more.",
                ConvergenceWarning,
            )
        elif state.idle_levels == 0:
            warn_caller(
                f"The last level still merged clusters when max_iter={self.max_iter} was reached: "
                f"raise max_iter, or ignore this warning if the fit is meant to stop there.",
                ConvergenceWarning,
            )

    def _set_fitted(
        self,
        values: Rows,
        weights: NDArray[np.float64] | None,
        state: FitState,
        entropy: Entropy,
        storage: Storage,
    ) -> None:
        taken = None if weights is None or weights.all() else np.flatnonzero(weights)
        labels = storage.vector(len(state.parents), state.parents.dtype)
        medoids = self._label_rows(state, weights, labels)
        # Values can be read of all rows or, if rows were read once in order, of those that the first level left active.
        candidates = state.at_hand.numbers if state.at_hand.numbers is not None else taken
        landmark_rows = sample_landmarks(labels, medoids, generator_at(entropy, Draw.LANDMARKS), candidates=candidates)
        points = fill_missing(state.at_hand.take(landmark_rows), self._selected_means())
        if weights is not None and taken is not None:
            roots = roots_after_first_level(state.parents, state.absorbed_at, landmark_rows)
            self._join_left_out(values, np.flatnonzero(weights == 0), state, Landmarks(points, roots))
            medoids = self._label_rows(state, weights, labels)
        self.labels_ = labels
        self.n_clusters_ = len(medoids)
        self.medoid_indices_ = medoids
        self.medoids_ = state.at_hand.take(medoids)
        self.hierarchy_ = FusionHierarchy(state.parents, state.absorbed_at)
        self.parents_ = state.parents
        self.stability_ = state.stability
        self.n_iter_ = state.level
        self._landmark_rows = landmark_rows
        self._landmarks = Landmarks(points, labels[landmark_rows])

    def _set_fitted_on_dask(self, first_level: FirstLevel, state: FitState, entropy: Entropy) -> None:
        survivors = first_level.survivors
        labels, medoids = first_level.label(state, self.min_cluster_size)
        landmarks = sample_landmarks(labels, medoids, generator_at(entropy, Draw.LANDMARKS))
        self._landmarks = Landmarks(state.at_hand.take(landmarks), labels[landmarks])
        self.labels_ = first_level.spread(labels)
        self.n_clusters_ = len(medoids)
        self.medoid_indices_ = survivors.rows[medoids].astype(np.int64)
        self.medoids_ = state.at_hand.take(medoids)
        self.hierarchy_ = FusionHierarchy(
            state.parents,
            np.maximum(state.absorbed_at, 1) - 1,  # level 0 of this hierarchy is the first level of the fit
            rows=survivors.rows,
            row_sizes=survivors.sizes,
        )
        self.parents_ = first_level.parents(state)
        self.stability_ = first_level.stability(state)
        self._landmark_rows = survivors.rows[landmarks]
        self.n_iter_ = state.level

    def _label_rows(self, state: FitState, weights: NDArray[np.float64] | None, labels: IntArray) -> IntArray:
        """Write the final label of each row to ``labels`` and return the medoid of each label."""
        roots = find_roots(state.parents, state.absorbed_at, state.level, out=labels)
        return hide_small_clusters(*get_final_labels(roots), weights, self.min_cluster_size)[1]

    def _join_left_out(self, values: Rows, left_out: IntArray, state: FitState, landmarks: Landmarks) -> None:
        """Let each row of weight 0 join its nearest landmark's first-level cluster, which is the landmark's label."""
        for block in row_blocks(len(left_out)):
            rows = left_out[block]
            medoids = landmarks.label(fill_missing(values.take(rows), self._selected_means()))
            update_parents(state.parents, state.absorbed_at, rows, medoids, level=1)


def _describe_reading(at_hand: RowsAtHand) -> Any:
    """Describe how rows are assigned to the batches of the first level, beyond what the parameters say."""
    if isinstance(at_hand.values, LazyDaskSource):
        return "by chunks", np.array(at_hand.values.array.chunks[0])
    return "in order" if at_hand.in_order else "at random"


def _take_relevant(X: Any, relevant: IntArray | None) -> Any:
    """Return the columns of the relevant features; None means all."""
    return X if relevant is None else take_features(X, relevant)


def _label_rows(search: NearestLabel, relevant: IntArray | None, X: Any) -> IntArray:
    """Return the label of the landmark nearest to each row."""
    return search.label(_take_relevant(X, relevant))


def _measure(X: Any, medoids: Any, relevant: IntArray | None) -> Any:
    """Return the Euclidean distance of each row to each medoid; ``medoids`` has only the relevant features."""
    if medoids.shape[0] == 0:
        return np.empty((X.shape[0], 0), dtype=X.dtype)
    return measure_distances(_take_relevant(X, relevant), medoids)
