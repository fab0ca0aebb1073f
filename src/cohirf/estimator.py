"""CoHiRF, the estimator: parameters, validation, fitted attributes, predict and transform; no algorithm."""

from __future__ import annotations

import os
import warnings
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
from cohirf.checkpoint import ResumableEngine, open_checkpoint
from cohirf.describe import describe_fit
from cohirf.diagnosis.diagnose import Diagnosis, diagnose_model
from cohirf.diagnosis.explain import explain_cluster
from cohirf.engines import DaskEngine, LocalEngine
from cohirf.engines.dask import find_active_client, find_client, find_fullest_worker, is_usable
from cohirf.engines.local import one_thread
from cohirf.hierarchy import FusionHierarchy
from cohirf.landmarks import Landmarks, sample_landmarks
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
    """What the parameters leave open: the entropy of the fit, and the batch size."""

    entropy: Entropy
    batch_size: int | None


# More would run for ever or fill the memory; a model that somebody else saved is held to them, too.
MAX_VIEWS, MAX_LEVELS = 100_000, 100_000  # beyond any use; a saved model may not ask for more work than that
FIT_CALLER = 6  # stack frames out of the levels, fit and scikit-learn's wrapper, to the line that called it

CENTRALITY = {"cosine": cosine_centrality, "euclidean": euclidean_centrality}
SIMILARITY = {"rbf": rbf_similarity, "laplacian": laplacian_similarity}


class CoHiRF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Consensus Hierarchical Random Features: any clustering method, at sizes where it cannot run alone.

    At each level the base method labels the active rows on several random feature views. Rows on whose labels the
    views agree fuse: the most central one goes on, the others are absorbed. The levels end when nothing fuses any
    more. The result is a flat partition and the hierarchy of all fusions.

    Parameters
    ----------
    estimator : object, default=None
        The base clustering method: an instance with ``fit_predict``, or with ``fit`` and either ``labels_`` or
        ``predict``. It is cloned for each view and never changed; every ``random_state`` of the clone, nested ones
        included, is seeded anew. Sizes that a small level cannot satisfy (``n_components``, ``n_neighbors``,
        ``min_samples``, ``min_cluster_size``) are lowered for a call that fails without it; with ``n_clusters`` at or
        above the number of rows, only equal rows are put together. Negative labels are noise.
        None means :class:`sklearn.cluster.KMeans` with its defaults.
    n_views : int, default=5
        Number of random feature views at each level (R in the paper). For a base method without
        randomness, views that have all features are the same, and it runs once.
    max_features : int or float, default=1.0
        Number of features of a view, or their fraction (q in the paper); with ``feature_screen=True``, of the
        relevant ones. With 1.0 every view has all features, and views differ only by the randomness of the base
        method. Fractions of 0.2 to 0.5 make sense where there are many features.
    consensus : {"strict", "relaxed", "majority"}, default="strict"
        "strict" fuses rows that all views put together. "relaxed" first drops views that disagree with the others.
        "majority" fuses groups of rows that most views put together; it is not part of the paper.
    agreement_threshold : float, default=0.8
        Relaxed consensus drops the view with the lowest leave-one-out agreement while that is below this value (h
        in the paper).
    majority : float, default=0.5
        Majority consensus fuses two groups while the share of views in which their rows have the same label, on
        average over all pairs of rows, is at least this value. With 1 it is the strict consensus.
    medoid : {"cosine", "euclidean", "rbf", "laplacian"} or callable, default="cosine"
        What the most central row of a cluster is: the one with the highest summed similarity to the others.
        "cosine" and "euclidean" (squared distance) are exact. "rbf" and "laplacian" fall to 1/e at the mean (squared
        Euclidean or Manhattan) distance within the cluster. A callable maps a matrix of rows to the matrix of their
        similarities.
    max_candidates : int, default=1000
        Of larger clusters, only so many rows are drawn and compared; for "rbf", "laplacian" and callables.
    candidate_fraction : float, default=None
        Draw at most this share of each cluster's rows, rounded up; for "rbf", "laplacian" and callables.
    medoid_weights : bool, default=False
        Let medoids count with their mass, the number of rows they stand for. It is passed to the base method as
        ``sample_weight``. A method that does not take it sees some other rows of the data beside the medoids instead,
        so that heavy ones stand among many. This is not part of the paper.
    feature_screen : bool, default=False
        Before the first level, find the features that depend on other features, on a random sample of at most 2,000
        rows, and leave the others out of views, medoids and distances. Where fewer than two do, all stay. Sample
        weights play no part in it, except that rows of weight 0 are not looked at. This is not part of the paper.
    scale_views : bool, default=False
        Multiply a view of q of p features by sqrt(p / q). Distances in a view then have the size they have on all
        features, and a radius, such as ``eps`` of DBSCAN, keeps its meaning. This is not part of the paper.
    batch_size : int or "auto", default=None
        Contract about this many rows together, so that the base method never sees more than one and a half times
        as many. None contracts all of them together. "auto" tries the base method on small samples and takes the
        largest batch that ``memory_limit`` and a reasonable time allow; ``verbose=1`` says which.
    memory_limit : int or str, default=None
        How much memory the process may take with ``batch_size="auto"``, all that it holds already included: a number
        of bytes, or text such as "2GB". None means what it takes now and half of what is available.
    redraws : int, default=0
        After the levels, up to this many rounds in which rows are drawn anew from the data, and clusters fuse that
        the base method puts together by rows of theirs. Rounds end after two that fuse nothing. They mend what thin
        batches left apart. They are for base methods that connect rows within a radius, such as DBSCAN, and not
        part of the paper.
    min_cluster_size : int, default=1
        Final clusters with fewer rows, or with a smaller sum of ``sample_weight``, are labelled -1. The hierarchy
        keeps them.
    max_iter : int, default=100
        Largest number of levels.
    checkpoint : str or path, default=None
        A directory in which the fit writes down what became of each batch. The same fit, called again after it was
        killed, goes on where it stood, and gives the labels it would have given. A checkpoint of other data, another
        seed or other parameters is refused; only ``n_jobs``, ``verbose``, ``memory_limit``, ``min_cluster_size`` and,
        without ``redraws``, ``max_iter`` may change.
    n_jobs : int, default=None
        Number of views or batches that run at the same time. Each of them uses one thread, so that labels do not
        depend on the number of cores. None means 1 unless in a :func:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Seeds views, batches, the base method and the draw of candidates. Pass an int for the same result each time.
    verbose : int, default=0
        If positive, show a bar while the batches of a level are contracted, and print a line after each level.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row, numbered in order of first appearance; -1 for clusters below ``min_cluster_size``.
    n_clusters_ : int
        Number of clusters, not counting -1.
    hierarchy_ : FusionHierarchy
        All fusions, level by level.
    parents_ : array of int, shape (n_samples,)
        The row that absorbed each row, or the row itself.
    medoid_indices_ : array of int, shape (n_clusters_,)
        Row number of each cluster's medoid.
    medoids_ : array or CSR matrix, shape (n_clusters_, n_features)
        The medoids.
    n_iter_ : int
        Number of levels run, the last one, which fuses nothing, included.
    diagnostics_ : list of LevelRecord
        What each level did and how long it took; ``pandas.DataFrame(model.diagnostics_)`` makes a table of it.
    relevant_features_ : array of int or None
        The features that ``feature_screen=True`` left in, rising; None without it.
    feature_statistics_ : array of float, shape (n_features_in_,), or None
        How much each feature depends on others: the largest F statistic of its means across clusters that were found
        without it, over the largest value that chance allows. Features above 1 are relevant, unless they belong to a
        block of correlated features that depends on nothing else. None without ``feature_screen=True``.
    stability_ : array of float32, shape (n_samples,)
        How far the views agreed on the fusion of each row into ``parents_``, from 0 to 1: the share of the rows in its
        group or in its cluster of a view that are in both, as a mean over views. Of a row that stands for a final
        cluster, at the last level. 1 where views cannot differ, NaN for rows that took no part. Redraws, which fuse
        clusters by rows drawn anew, leave it as it is.
    feature_agreement_ : array of float, shape (n_features_in_,)
        How far the views that held each feature agreed with the fusions, as in ``stability_``: the mean over all rows
        and levels. NaN for features that no view held.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features, where ``X`` has names that are all strings.

    Notes
    -----
    With ``sample_weight``, rows count with their weight in the base method, which must take it, and in the choice
    of medoids, as if they were repeated. From its second level on, a row counts as one, or with the mass it stands for
    if ``medoid_weights=True``. Rows of weight 0 take no part: in the end they join the cluster of the nearest of the
    rows that ``predict`` uses. The agreement of the relaxed consensus counts rows, whatever their weight.

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

    labels_: Any  # these are arrays here, or on Dask
    parents_: Any
    stability_: Any
    hierarchy_: FusionHierarchy

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # check_base_method has better words
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
            The data. float32 stays float32. CSR where the base method takes it. What :func:`cohirf.open_source`
            returns is read once, in order, batch by batch; what grows with the number of rows is then kept on disk,
            and ``labels_`` and ``parents_`` are memory-maps. Batches of a Dask array or table run where its chunks
            are; ``labels_`` and ``parents_`` are then Dask arrays with the same chunks, and ``hierarchy_`` begins at
            the first level. So it is with a source while a ``distributed.Client`` is active and ``batch_size`` is
            set: workers read it. What is in memory stays here.
        y : ignored
            Present by convention.
        sample_weight : array, shape (n_samples,), optional
            Weight of each row, for base methods that take it; may be a Dask array where ``X`` is.
        client : distributed.Client, optional
            Whose cluster runs the batches of a source, or of a Dask array or table; by default, that of the active
            one, if there is one.

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
            settled, around = self._begin(data, weights, screen, stack)
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
                self._fit_on_dask(rows, weights, contraction, around, tally)
            else:
                if at_hand.in_order and one_batch:  # which sees all rows at once anyway
                    at_hand = RowsAtHand(ArrayRows(rows.take(np.arange(rows.n_rows))))
                    weights = weights.take(np.arange(rows.n_rows))[:, 0] if isinstance(weights, Source) else weights
                self._fit_here(at_hand, weights, contraction, around, tally)
                if isinstance(rows, LazyDaskSource):
                    align_vectors(self, rows)
            self.feature_agreement_ = self._spread_out(tally.mean())
            if self._count_relevant() < self.n_features_in_:
                # Medoids are whole rows, of which the levels saw a part.
                self.medoids_ = data.take(self.medoid_indices_)
        return self

    def predict(self, X: Any) -> Any:
        """Return the cluster of the nearest of the rows that the fit kept as landmarks.

        Landmarks are all rows of small data, else at most about 10,000 of them, drawn so that every cluster has some.
        A row that is a landmark gets its own label back, unless an identical row has another one. So, after a fit of
        at most 10,000 rows in memory, ``predict`` of them gives ``labels_``. Beyond, a row near the border of two
        clusters can be nearer to a landmark of the other cluster. Of 50,000 rows that was hardly any where clusters
        are apart, 4 to 7 % where they touch, and 17 to 18 % where one cloud of points is cut into pieces; the user
        guide has the table.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to label. A source is read block by block.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            Cluster of each row, or -1 as in ``labels_``; a Dask array with the chunks of ``X`` where that is of Dask.
        """
        check_is_fitted(self, "hierarchy_")
        if is_dask(X):
            label = partial(_label_rows, self._landmarks, self._landmark_labels, self.relevant_features_)
            return self._open_dask(X, reset=False).map_rows(label, None, self._landmark_labels.dtype)
        if isinstance(X, Source):
            return np.concatenate([self._landmark_labels[self._nearest(block)] for block in self._read(X)])
        X = fill_missing(self._check_data(X, reset=False), self._column_means)
        return self._landmark_labels[self._nearest(X)]

    def transform(self, X: Any) -> Any:
        """Return the Euclidean distance of each row to the medoid of each cluster, on the relevant features.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to measure. A source is read block by block.

        Returns
        -------
        distances : array of float, shape (n_samples, n_clusters_)
            Distances, in the order of the labels; a Dask array where ``X`` is of Dask.
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
        """Say what the fit is worth: how sure it is, what contraction kept, whether the base method alone does better.

        The base method is run alone, a few times, on at most 2,000 rows, without sample weights, and on the features
        that distances are measured on. One that is not told how many clusters to find runs only where these are all
        rows.

        Parameters
        ----------
        X : array, table, CSR matrix or source, shape (n_samples, n_features), optional
            The data of the fit, to draw rows from. Without it, rows are drawn from those that the fit kept for
            ``predict``: all of small data, else about 10,000.

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
        """Return which features set a final cluster apart, the strongest first.

        Parameters
        ----------
        cluster : int
            The label of the cluster.
        X : array, table, CSR matrix or source, shape (n_samples, n_features), optional
            The data of the fit, all of which is read, block by block. Without it, the table is made from at most 2,000
            of the rows that the fit kept for ``predict``, and leaves out features that were screened out.

        Returns
        -------
        table : pandas.DataFrame
            A row for each feature, by its name. ``effect`` is the mean of the cluster minus that of all other rows,
            in standard deviations of all rows; ``mean`` and ``mean_elsewhere`` are the two. ``views_agree`` says how
            far views that held the feature agreed with the fusions (``feature_agreement_``). With
            ``feature_screen=True``, ``statistic`` says how much the feature depends on others.

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
        """Bring here what a fit left on Dask, so that all that needs it works, such as ``save`` and ``diagnose``.

        ``labels_``, ``parents_`` and ``stability_`` become memory-maps, and ``hierarchy_`` has all rows as its leaves,
        as after a fit on one machine. That takes 13 bytes of disk for each row, 21 beyond two billion rows, in the
        directory for temporary files. The client of the fit has to be the active one.

        Returns
        -------
        self : CoHiRF
            The fitted estimator, changed. One whose labels are here is left as it is.
        """
        check_is_fitted(self, "hierarchy_")
        if not is_dask(self.labels_):
            return self
        storage, top = ScratchStorage(), self.hierarchy_
        vectors = gather_vectors((self.labels_, self.parents_, self.stability_), storage)
        self.labels_, self.parents_, self.stability_ = vectors
        if top.rows is not None:  # else there was one batch, and all of it is here
            absorbed_at = storage.vector(len(self.parents_), top.absorbed_at.dtype)
            absorbed_at[:] = 1  # the level at which all but its leaves were absorbed
            absorbed_at[top.rows] = np.where(top.absorbed_at > 0, top.absorbed_at + 1, 0)
            self.hierarchy_ = FusionHierarchy(self.parents_, absorbed_at)
        return self

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a directory of JSON and numeric arrays, for :func:`cohirf.load`.

        Parameters
        ----------
        path : str or path
            The directory to make.
        overwrite : bool, default=False
            Replace a model that is there already.
        """
        save_model(self, path, overwrite=overwrite)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse and missing values are taken where the base method takes them."""
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
                "The labels of a fit on Dask are no arrays of this process, and this needs them: call gather(), which "
                "brings 13 bytes for each row here."
            )

    def _base_method(self) -> Any:
        return KMeans() if self.estimator is None else self.estimator

    def _open(self, X: Any, *, on_cluster: bool) -> RowsAtHand:
        """Check the data; what a source holds is checked as it is read, on a cluster if that is meant or at hand."""
        validation.check_base_method(self._base_method())
        validation.check_jobs(self.n_jobs)
        if self.memory_limit is not None:
            parse_bytes(self.memory_limit)
        self._column_means = None
        self.relevant_features_: IntArray | None = None
        self.feature_statistics_: NDArray[np.float64] | None = None
        if is_dask(X):
            if self.batch_size is None:
                raise ValueError(
                    "batch_size=None contracts all rows together, and those of a Dask array stay where they are: give "
                    'batch_size a number or "auto", or fit X.compute().'
                )
            return RowsAtHand(LazyDaskSource(self._open_dask(X, reset=True).array), in_order=True)
        if isinstance(X, Source):
            validation.set_columns(self, X.n_features, X.feature_names)
            at_hand = self.batch_size is not None and not isinstance(X, ArraySource) and find_active_client()
            if on_cluster or at_hand:
                batch_size = int(self.batch_size) if isinstance(self.batch_size, Integral) else None
                return RowsAtHand(LazyDaskSource(spread_source(X, batch_size)), in_order=True)
            return RowsAtHand(X, in_order=True)
        X = self._check_data(X, reset=True)
        self._column_means = self._means_for_missing(X)
        return RowsAtHand(ArrayRows(X))

    def _choose_client(self, client: Any, X: Any) -> AbstractContextManager[Any]:
        """Make a client of Dask the active one."""
        if not hasattr(client, "as_current") or not is_usable(client):
            raise TypeError(
                f"client={client!r} is no distributed.Client that is connected and not asynchronous: give one that is."
            )
        if not (is_dask(X) or isinstance(X, Source)):
            raise TypeError(
                f"client= is for a source or for what is on Dask, and X is in memory ({type(X).__name__}): give "
                f"open_source(X), or leave client out."
            )
        if self.batch_size is None:
            raise ValueError('client= has batches to run only if there are some: give batch_size a number or "auto".')
        return cast("AbstractContextManager[Any]", client.as_current())

    def _open_dask(self, X: Any, *, reset: bool) -> DaskTable:
        """Check what an array or table of Dask tells of itself, without a look at its rows."""
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
        """Settle what the parameters leave open, or take it over from a checkpoint.

        Also returns what goes around the engines that run batches: the journal of a checkpoint, and the bar.
        """
        self._contraction(Settled((), None), weighted=False)  # what it refuses must not begin a checkpoint
        entropy = root_entropy(self.random_state)
        settle = partial(self._settle, screen, entropy, weighted=weights is not None or self.medoid_weights)
        around: list[Callable[[Engine], Engine]] = []
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
            # features are counted when an engine is wrapped, which is after the screening
            around.append(lambda engine: ResumableEngine(engine, checkpoint.journal, self._count_relevant()))
        if self.verbose:
            around.append(progress.WatchedEngine)
        return settled, lambda engine: reduce(lambda inner, wrap: wrap(inner), around, engine)

    def _settle(self, screen: Callable[[Entropy], RowsAtHand], entropy: Entropy, *, weighted: bool) -> Settled:
        """Choose the batch size, by measurement if the user leaves it open."""
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
        """Find the relevant features where asked, and return the rows with these alone."""
        if not self.feature_screen:
            return data
        # zeros among weights are left out; on Dask there are none
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
        """Return the columns that distances are measured on."""
        return _take_relevant(X, self.relevant_features_)

    def _read(self, source: Source) -> Iterator[Any]:
        """Yield the rows of a source with the columns of the fit, block by block."""
        validation.check_columns(self, source.n_features, source.feature_names)
        for block in row_blocks(source.n_rows):
            yield source.take(np.arange(block.start, block.stop))

    def _nearest(self, X: Any) -> IntArray:
        """Return the number of the landmark nearest to each row."""
        return self._landmarks.nearest(self._select(X))

    def _selected_means(self) -> NDArray[np.floating[Any]] | None:
        """Return what a missing cell counts as, of the columns that distances are measured on."""
        return None if self._column_means is None else self._select(self._column_means[None])[0]

    def _count_view_features(self) -> int:
        """Return how many features a view has, of those that distances are measured on."""
        n_features = validation.count_view_features(self.max_features, self.n_features_in_)
        if isinstance(self.max_features, Integral):
            return min(n_features, self._count_relevant())
        return validation.count_view_features(self.max_features, self._count_relevant())

    def _count_relevant(self) -> int:
        """Return how many features distances are measured on."""
        return self.n_features_in_ if self.relevant_features_ is None else len(self.relevant_features_)

    def _spread_out(self, of_relevant: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return figures of the features that distances are measured on with NaN for the others."""
        if self.relevant_features_ is None:
            return of_relevant
        of_all = np.full(self.n_features_in_, np.nan)
        of_all[self.relevant_features_] = of_relevant
        return of_all

    def _memory_budget(self, at_hand: RowsAtHand) -> dict[str, Any]:
        """Return the memory limit of whoever runs batches, how many of them at a time, and what is held beside them."""
        limit, rows = resolve_memory_limit(self.memory_limit), at_hand.values
        worker = find_fullest_worker() if isinstance(rows, LazyDaskSource) else None
        if worker is None or not isinstance(rows, LazyDaskSource):
            held_bytes = 0 if at_hand.in_order else None
            return {"memory_limit": limit, "n_jobs": effective_n_jobs(self.n_jobs), "held_bytes": held_bytes}
        return {
            "memory_limit": worker.usable_bytes if self.memory_limit is None else limit,
            "n_jobs": worker.n_threads,
            "held_bytes": 2 * worker.n_threads * rows.chunk_bytes,  # while one is contracted, the next one is read
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
        with validation.naming_text():
            X = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse=accept_sparse,
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,
            )
        # A fit from a source has no means to put in the place of missing values.
        allow_nan = validation.takes_nan(estimator) and (reset or self._column_means is not None)
        validation.check_finite(X, getattr(self, "feature_names_in_", None), allow_nan=allow_nan)
        return validation.narrow_indices(X) if sparse.issparse(X) else X

    def _means_for_missing(self, X: Any) -> NDArray[np.floating[Any]] | None:
        """Return what a missing cell counts as when distances are measured, or None where none can be missing."""
        if sparse.issparse(X) or not validation.takes_nan(self._base_method()):
            return None
        return validation.column_means(X)

    def _check_weights(self, sample_weight: Any, rows: Rows) -> Any:
        """Return the sample weights as an array, on Dask where the rows are; or None if there are none."""
        if sample_weight is None:
            return None
        if find_weight_argument(self._base_method()) is None:
            name = type(self._base_method()).__name__
            raise ValueError(
                f"sample_weight needs a base method whose fit takes it, and that of {name} does not: "
                f"choose another base method, such as KMeans or DBSCAN, or do without weights."
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
        """Return what stands in for medoid weights where the base method takes none."""
        if not self.medoid_weights or find_weight_argument(self._base_method()) is not None:
            return None
        n_shown = count_shown(BaseMethod.of(self._base_method()), batch_size)
        return Companions(values, entropy, n_shown, numbers)

    def _contraction(self, settled: Settled, *, weighted: bool) -> Contraction:
        """Turn the options into the functions they stand for."""
        method = BaseMethod.of(self._base_method())
        if self.redraws and method.n_clusters is not None:
            raise ValueError(
                f"redraws={self.redraws} needs a base method that finds the number of clusters by itself, such as "
                f"DBSCAN, and {type(method.prototype).__name__} is told it: neighbours would all fuse. Set redraws=0."
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
        around: Callable[[Engine], Engine],
        tally: FeatureTally,
    ) -> None:
        """Run all levels in this process; what grows with the data is kept on disk, if the data is."""
        engine, entropy = LocalEngine(self.n_jobs), contraction.views.entropy
        storage = ScratchStorage() if at_hand.in_order else MemoryStorage()
        resources = Resources(
            around(engine), engine, storage, self._companions(at_hand.values, entropy, contraction.batch_size)
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
        around: Callable[[Engine], Engine],
        tally: FeatureTally,
    ) -> None:
        """Run the first level where the rows are, and the others on those that it leaves."""
        storage, entropy = ScratchStorage(), contraction.views.entropy
        first_level = FirstLevel.contract(rows, weights, contraction, around, storage)
        here = LocalEngine(self.n_jobs)
        client = find_client()
        companions = self._companions(rows, entropy, contraction.batch_size, first_level.survivors.rows)
        resources = Resources(around(here if client is None else DaskEngine(client)), here, storage, companions)
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
        """Yield the state after each level and each redraw, and warn of what may have gone wrong."""
        done = [] if state.record is None else [state]  # a first level that ran elsewhere
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
        """Warn if batches are too thin, and tell whether further levels would be of no use."""
        assert state.record is not None  # a state that comes out of a level has its record
        verdict = judge_first_level(population, state.record, contraction, resources)
        if verdict is None:
            return False
        if verdict.is_hopeless or not self.redraws:  # which mend what is not hopeless
            warnings.warn(verdict.message, ThinBatchesWarning, stacklevel=FIT_CALLER)
        return verdict.is_hopeless

    def _consume(self, state: FitState) -> None:
        """Keep the record of a level, and print it where asked."""
        record = state.record
        assert record is not None  # a state that comes out of a level has its record
        self.diagnostics_.append(record)
        if self.verbose:
            progress.say(progress.describe_level(record, self.n_views))

    def _warn_if_no_two_rows_can_fuse(self, contraction: Contraction, rows: Rows, weights: Any) -> None:
        n_clusters = contraction.views.method.n_clusters
        n_rows = np.count_nonzero(weights) if isinstance(weights, np.ndarray) else rows.n_rows
        if n_clusters is not None and n_clusters >= n_rows > 1:
            warnings.warn(
                f"n_clusters={n_clusters} of {type(self._base_method()).__name__} is at or above the number of rows "
                f"({n_rows}), so only equal rows fuse: lower n_clusters.",
                ConvergenceWarning,
                stacklevel=FIT_CALLER - 2,  # which fit calls itself
            )

    def _warn_if_unfinished(self, state: FitState, batch_size: int | None) -> None:
        if state.stalled:
            warnings.warn(
                f"Level {state.level} merged nothing in any batch, twice: {state.n_active} clusters are left. "
                f"Raise batch_size above {batch_size}, or make the base method merge more.",
                ConvergenceWarning,
                stacklevel=FIT_CALLER,
            )
        elif state.idle_levels == 0:
            warnings.warn(
                f"The last level still merged clusters when max_iter={self.max_iter} was reached: "
                f"raise it, unless you mean to stop there.",
                ConvergenceWarning,
                stacklevel=FIT_CALLER,
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
        # Values are at hand of all rows or, where they were read once and in order, of those the first level left.
        candidates = state.at_hand.numbers if state.at_hand.numbers is not None else taken
        landmark_rows = sample_landmarks(labels, medoids, generator_at(entropy, Draw.LANDMARKS), candidates=candidates)
        self._landmarks = Landmarks.build(fill_missing(state.at_hand.take(landmark_rows), self._selected_means()))
        if weights is not None and taken is not None:
            self._join_left_out(values, np.flatnonzero(weights == 0), state, landmark_rows)
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
        self._landmark_labels = labels[landmark_rows]

    def _set_fitted_on_dask(self, first_level: FirstLevel, state: FitState, entropy: Entropy) -> None:
        survivors = first_level.survivors
        labels, medoids = first_level.label(state, self.min_cluster_size)
        landmarks = sample_landmarks(labels, medoids, generator_at(entropy, Draw.LANDMARKS))
        self._landmarks = Landmarks.build(state.at_hand.take(landmarks))
        self._landmark_labels = labels[landmarks]
        self.labels_ = first_level.spread(labels)
        self.n_clusters_ = len(medoids)
        self.medoid_indices_ = survivors.rows[medoids].astype(np.int64)
        self.medoids_ = state.at_hand.take(medoids)
        self.hierarchy_ = FusionHierarchy(
            state.parents,
            np.maximum(state.absorbed_at, 1) - 1,  # its level 0 is the first level of the fit
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

    def _join_left_out(self, values: Rows, left_out: IntArray, state: FitState, landmark_rows: IntArray) -> None:
        """Let the first-level cluster of the nearest landmark absorb each row that took no part in the fit."""
        medoids = roots_after_first_level(state.parents, state.absorbed_at, landmark_rows)
        for block in row_blocks(len(left_out)):
            rows = left_out[block]
            nearest = self._landmarks.nearest(fill_missing(values.take(rows), self._selected_means()))
            update_parents(state.parents, state.absorbed_at, rows, medoids[nearest], level=1)


def _describe_reading(at_hand: RowsAtHand) -> Any:
    """Return how rows are dealt into the batches of the first level, besides what parameters say."""
    if isinstance(at_hand.values, LazyDaskSource):
        return "by chunks", np.array(at_hand.values.array.chunks[0])
    return "in order" if at_hand.in_order else "at random"


def _take_relevant(X: Any, relevant: IntArray | None) -> Any:
    """Return the columns that distances are measured on; None stands for all."""
    return X if relevant is None else take_features(X, relevant)


def _label_rows(landmarks: Landmarks, labels: IntArray, relevant: IntArray | None, X: Any) -> IntArray:
    """Return the label of the landmark nearest to each row."""
    return labels[landmarks.nearest(_take_relevant(X, relevant))]


def _measure(X: Any, medoids: Any, relevant: IntArray | None) -> Any:
    """Return the Euclidean distance of each row to each medoid, which has the relevant features alone."""
    if medoids.shape[0] == 0:
        return np.empty((X.shape[0], 0), dtype=X.dtype)
    return measure_distances(_take_relevant(X, relevant), medoids)
