"""CoHiRF, the estimator: parameters, documentation and public methods; no algorithm."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cohirf.beyond.merges import NAMES
from cohirf.beyond.size_limits import check_size_limits
from cohirf.data.open_data import choosing_client, map_new_rows, open_training_data
from cohirf.degrees.methods import DegreesMixin, density_of
from cohirf.described import DescribedClusters
from cohirf.fitting import fit_data
from cohirf.fitting.settings import CENTRALITY, SIMILARITY, Settings
from cohirf.graphs.fit import fit_graph, open_training_graph
from cohirf.graphs.new_nodes import measure_nodes, predict_nodes
from cohirf.landmarks import label_new_rows, measure_new_rows
from cohirf.rows.arrays import to_host
from cohirf.store.models import Origin, write_model
from cohirf.updating import UpdatingMixin
from cohirf.validation import GRAPH_METRICS, Columns

# Larger values would run for ever or fill the memory. The limit also applies to models that are
# loaded from disk.
MOST_VIEWS_OR_LEVELS = 100_000


Fit = TypeVar("Fit", bound=Callable[..., Any])


def checking_parameters(fit: Fit) -> Fit:
    """Check parameters before a fit, as scikit-learn does, and keep the types of the fit, which
    scikit-learn loses.
    """
    checked: Fit = _fit_context(prefer_skip_nested_validation=False)(fit)
    return checked


class CoHiRF(
    UpdatingMixin,
    DegreesMixin,
    DescribedClusters,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Consensus Hierarchical Random Features: a consensus of runs of any clustering method, on data
    of any size.

    At each level, the base method labels the active rows in several *views*: on random subsets of
    the features, or on all features with another seed. Rows on which the views agree fuse into a
    group: its most central row, the *medoid*, stays active for the next level, and absorbs the
    other rows. After the levels, groups merge to the wanted number of clusters: compactly, along a
    spanning tree, or along the graph of near neighbours, whichever fits the rows. The result is a
    flat partition and the hierarchy of all fusions.
    :meth:`as_published` returns a model that runs the algorithm of the paper, which ends when a
    level fuses nothing.

    Parameters
    ----------
    estimator : object, default=None
        The base clustering method: an instance with ``fit_predict``, or with ``fit`` and either
        ``labels_`` or ``predict``. It is cloned for each view and never changed. Every
        ``random_state`` of the clone, nested ones included, gets a new seed. A call that fails
        because there are few rows is repeated with lower values of ``n_components``,
        ``n_neighbors``, ``min_samples`` and ``min_cluster_size``. If ``n_clusters`` is at least the
        number of rows, only identical rows get the same label. Negative labels are noise. None
        means a quick K-Means: in each view, at most ten iterations on at most 100 rows for each
        cluster, and two if there are many clusters.
    n_clusters : int, "auto", "levels" or None, default=None
        The number of final clusters, before ``min_cluster_size`` is applied. An int gives exactly
        that many: after the levels, clusters are merged. If the base method finds fewer, or there
        are fewer distinct rows, these are the result, with a ConvergenceWarning. "auto" chooses the
        number, from 2 on, by the silhouette of the clusters and by how many near neighbours they
        keep together; if halves of the rows have nothing in common, it is 2. The clusters are those
        of a fit with this number. Up to three rows that are far from all others are no cluster:
        they are set aside, with the label -1. None means the number of the base method
        (``n_clusters``, or ``n_components`` of a mixture); if it has none, the clusters that it
        finds; without an estimator, "auto". If the number is known, the base method seeks a finer
        one inside the levels where this gives better clusters: four times as many for K-Means and
        in several batches, or eight times in several batches with a single view. "levels" is the
        paper's algorithm: the base method is left as it is, and the clusters of the last level are
        the result, however many. A row that the base method called noise at the last level that
        clustered it, and that fused with no other row, gets the label -1. With "levels" it is a
        cluster of its own, as in the paper, unless ``min_cluster_size`` is 2 or more.
    merge : {"auto", "compact", "connected", "graph"}, default="auto"
        How groups merge after the levels. "compact" is Ward's criterion, which takes their means
        and sizes, and suits round clusters. "connected" cuts the longest edges of a spanning tree,
        and suits long and curved clusters. "graph" merges along the edges to near neighbours, and
        suits data with many features, such as images. "auto" divides a sample of the rows in each
        of these ways, and takes the division that keeps near neighbours together, that has gaps
        between clusters, and that agrees with the others; ``choice_`` has the figures. It applies
        where the number of clusters is given or chosen: around K-Means, and around other methods
        that take the number, if there are several batches. Elsewhere it has no effect. This is
        not part of the paper.
    metric : {"euclidean", "cosine", "precomputed", "affinity"}, default="euclidean"
        How rows are compared. "cosine" compares their directions, as is usual for vectors of texts
        and images: rows are scaled to length 1 when they are read, and then all distances are
        chords, so ``medoids_`` and ``exemplars_`` have length 1. Rows that have length 1 already
        are not copied. A row of zeros is refused. With "precomputed", ``X`` is a graph of
        distances, and with "affinity", of similarities (:doc:`/choose/graphs`). Rows are then
        nodes, ``max_features`` is the share of the edges in each view, and groups merge along the
        edges.
    views : int or list, default=5
        Number of random feature views at each level (R in the paper). If the base method is
        deterministic and every view has all features, all views are the same, and the method runs
        only once. Or a list with the base method of each view: estimators and pipelines, or pairs
        of one and the columns that it sees, as names, numbers, a slice or a mask. ``estimator`` is
        then left out, and ``max_features`` has no effect.
    max_features : int or float, default=1.0
        Number (int) or fraction (float) of features in each view (q in the paper). With 1.0, every
        view has all features, and views differ only by the randomness of the base method. With many
        features, try fractions from 0.2 to 0.5; if many of them are noise, try
        :class:`cohirf.FeatureScreen` in a pipeline.
    consensus : {"auto", "strict", "relaxed", "majority"} or float, default="auto"
        Which rows fuse. "strict" fuses rows that have the same label in every view. "relaxed" does
        the same after it has dropped views that disagree with the others: the view with the lowest
        agreement, repeatedly, while that agreement is below 0.8. A number takes the place of 0.8 (h
        in the paper). The agreement of a view is the adjusted Rand index between the consensus with
        and without it. "majority" fuses two groups while the share of views in which two of their
        rows have the same label, averaged over all pairs of rows, is at least one half; it is not
        part of the paper. "auto" means "strict" for 2 to 50 batches, and "majority" otherwise.
    medoid : {"cosine", "euclidean", "rbf", "laplacian"} or callable, default="cosine"
        Similarity that defines the medoid of a cluster: the row with the highest sum of
        similarities to the other rows. "cosine" and "euclidean" (negative squared distance) are
        computed exactly. "rbf" (squared Euclidean distance) and "laplacian" (Manhattan distance)
        decay to 1/e at the mean distance within the cluster. A callable takes a matrix of rows and
        returns the square matrix of their similarities. Kernels and callables choose among a random
        sample of at most 1,000 rows of the cluster; :class:`SampledMedoid` has other limits.
    medoid_weights : bool, default=True
        Whether a medoid counts with its mass, the number (or total weight) of the rows that it
        represents. The mass is passed to the base method as ``sample_weight``. If the base method
        does not support sample weights, it instead clusters the medoids together with a random
        sample of the data, so that medoids with a large mass have many neighbours. This is not part
        of the paper.
    batch_size : int, "auto", "2GB" or None, default=None
        Approximate number of rows that are clustered together. The base method never sees more than
        1.5 times as many; DBSCAN and the spanning trees of HDBSCAN, which are computed in linear
        memory, have at least 131,072 rows in a local batch, or fewer with more than 15 or 16
        features. None means all rows in one batch. Text with a unit is the most memory that the
        process and its workers may use, including what it uses already: the base method is measured
        on small samples, and the largest batch size is chosen that stays below it and takes a
        reasonable time; ``verbose=1`` prints it. "auto" is the same with what the process uses
        already, plus half of the memory that is available.
    batches : {"auto", "random", "local"}, default="auto"
        Which rows are clustered together, if there are several batches. "random" batches are random
        rows or, for sources, blocks of consecutive rows. "local" batches are neighbouring rows with
        a halo of rows around them, so that each has the density of the data; clusters that reach
        over several batches are fused by the rows that these have in common. If there is room for
        halos as wide as twice the radius ``eps``, the clusters are those of DBSCAN on all rows, on
        the sphere up to ties at exactly ``eps``; without a radius, a halo has as many rows as the
        rest of the batch. HDBSCAN does not run on batches: their spanning trees are joined to that
        of all rows. A metric that batches cannot follow is refused. "auto" means "local" for base
        methods that find the number of clusters themselves.
    min_cluster_size : int or float, default=1
        Smallest size of a final cluster: a number of rows (or sum of ``sample_weight``), or a
        fraction (float) of all. Rows of smaller clusters get the label -1; the hierarchy keeps the
        cluster. If the number of clusters is chosen, only such clusters are counted.
    size_limits : tuple (smallest, largest), "balanced" or None, default=None
        Limits of the sizes of clusters, for a number of clusters that is given: each a number of
        rows, a share between 0 and 1, or None; with ``sample_weight``, a sum of weights. The sizes
        are exact: rows at borders move to other clusters, at the least sum of squared distances.
        "balanced" clusters differ by at most one row or, with weights, are at most the heaviest
        row away from their mean. Clusters are compact then. Limits that cannot be kept are refused
        before the fit. Around K-Means only, or without an estimator; rows in memory or in a source.
        New rows are labelled by the same borders, whatever the sizes are then; a model with limits
        is not updated. See :doc:`/choose/limits`.
    max_iter : int, default=100
        Largest number of levels. Local batches are one level, and the fusion of their clusters is
        another.
    checkpoint : str or path, default=None
        Directory in which the fit stores the results of its batches. If the fit is killed, run the
        same call again: it resumes where it stopped, and returns the same labels as without the
        interruption. A checkpoint of other data, another seed or other parameters raises an error;
        only ``n_jobs``, ``verbose``, ``min_cluster_size``, ``merge``, ``size_limits``, ``max_iter``
        and an amount of memory in ``batch_size`` may differ.
    n_jobs : int, default=None
        Number of views, runs of batches or blocks of rows that are computed at the same time:
        views and runs in processes, if these save at least a second, otherwise in this process;
        blocks of rows, the views of the default base method, and a base method that cannot be
        pickled in threads. Each job uses one thread, so that labels do not depend on the
        number of cores. None means 1, unless in a
        :func:`joblib.parallel_config` context, whose backend is used; -1 means all cores.
    device : str, default=None
        Where the batches of arrays of NumPy, sources and Dask collections are computed: a device
        that torch knows, such as "cuda". It needs a base method that takes tensors, such as
        :class:`cohirf.clusterers.TorchKMeans`. An array that is on a device already is fitted
        there.
    random_state : int, RandomState instance or None, default=None
        Seed of views, batches, base methods and samples. Pass an int to get the same result in
        every call.
    verbose : int, default=0
        If positive, show a progress bar for the batches of each level, and print a line after each
        level.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row. ``fit`` numbers clusters by their first row; updates keep numbers.
        Noise has the label -1. If ``X`` is on a device, this, ``parents_`` and ``stability_`` are
        arrays of the same library and device.
    n_clusters_ : int
        Number of clusters, not counting -1.
    cluster_numbers_ : array of int, shape (n_clusters_,)
        Sorted numbers of the clusters, in the order of ``medoids_``; from 0 without gaps, unless
        there were updates.
    changes_ : Changes or None
        What the last update has changed; ``print`` shows it in words. None after ``fit``.
    history_ : tuple of Step
        The last 200 updates in short: sizes of clusters, and which were born, merged, split or
        gone. Empty after ``fit``.
    names_ : mapping of int to str
        The name of each cluster, by its number. Empty until :meth:`name_clusters` is called, or
        names are set: ``model.names_ = {0: "regulars"}``. Names last as numbers do, and are saved.
        :meth:`name_clusters`, which the program calls, replaces names that say anything else than
        what sets the cluster apart.
    hierarchy_ : FusionHierarchy
        All fusions, level by level, and the tree in which the clusters merge pairwise, up to a
        single one. If clusters are merged after the levels to get ``n_clusters``, this is the last
        level of the hierarchy.
    choice_ : Choice or None
        How the number of clusters and their merge were chosen, and what the alternatives were;
        ``print`` shows it in words. None if the base method finds the number, or the
        clusters are those of the last level.
    parents_ : array of int, shape (n_samples,)
        For each row, the number of the row that absorbed it, or its own number if it was not
        absorbed.
    medoid_indices_ : array of int, shape (n_clusters_,)
        Row number of each cluster's medoid.
    medoids_ : array or CSR matrix, shape (n_clusters_, n_features)
        Values of each cluster's medoid, with NaN where a cell is missing; after :meth:`forget`, the
        mean of its group can take their place.
    exemplar_indices_ : array of int, shape (n_clusters_,)
        Row number of the most central row of each cluster: the one nearest to the mean of all its
        rows. For sources and Dask arrays in several batches, the nearest of the landmarks that
        ``predict`` uses. The medoid is the root of the cluster in the hierarchy, which can be less
        central.
    exemplars_ : array or CSR matrix, shape (n_clusters_, n_features)
        Values of each cluster's exemplar; after :meth:`forget`, the mean of a group can take their
        place.
    landmark_indices_ : array of int, shape (n_landmarks,)
        Sorted numbers of the rows that the model stores for ``predict``: all rows if there are at
        most 10,000, otherwise a sample, or rows that stand for groups. Rows of weight 0 are not
        among them.
    landmarks_ : array or CSR matrix, shape (n_landmarks, n_features)
        Values of these rows; missing cells are filled.
    stand_in_indices_ : array of int
        Numbers of rows whose values in ``medoids_``, ``exemplars_`` or ``landmarks_`` can be those
        of a mean, because :meth:`forget` has removed the row that had them.
    n_iter_ : int
        Number of levels that were run.
    batch_size_ : int or None
        The batch size of the fit: ``batch_size``, or the size that was measured.
    diagnostics_ : list of LevelRecord
        Sizes, agreement and times of each level; ``pandas.DataFrame(model.diagnostics_)`` shows
        them as a table.
    stability_ : array of float32, shape (n_samples,)
        Mean over views of the Jaccard index between the row's group and its cluster in that view:
        the number of rows in both, divided by the number of rows in either. It is 1 if all views
        agree with the group, and is measured at the level at which the row was absorbed into its
        parent; for medoids of final clusters, at the last level. NaN for rows of weight 0, and for
        rows that no level clustered.
    feature_agreement_ : array of float, shape (n_features_in_,)
        For each feature, the mean Jaccard index, as in ``stability_``, of the views that contained
        it, over all rows and levels. NaN for features that were in no view.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features. Only set if all column names of ``X`` are strings.
    node_names_ : sequence of str or None
        Names of the nodes of a graph, if it was a table of edges between names or AnnData. A model
        stores them, with eight bytes more for each. None otherwise.

    Notes
    -----
    ``sample_weight`` requires a base method that supports it. At the first level, the base method
    and the choice of medoids use the weights as if rows were repeated. From the second level on,
    each medoid has weight 1, or with ``medoid_weights=True`` the total weight of the rows that it
    represents. Rows of weight 0 do not take part in the fit; at the end, each gets the label that
    ``predict`` returns for it. The relaxed consensus counts rows without weights.

    A warning of the base method is shown once per fit. Dask workers write such warnings to their
    logs.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from cohirf import CoHiRF
    >>> X, y = make_blobs(1000, n_features=20, centers=4, random_state=0)
    >>> model = CoHiRF(n_clusters=4, random_state=0).fit(X)
    >>> model.n_clusters_
    4
    >>> model.hierarchy_
    FusionHierarchy(1,000 rows, clusters by level: 1,000 > 50 > 4)

    Any other clustering method can be the base method; its number of clusters is that of the
    result:

    >>> from sklearn.mixture import GaussianMixture
    >>> CoHiRF(GaussianMixture(4), batch_size=250, random_state=0).fit(X).n_clusters_
    4
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # check_base_method has clearer messages
        "n_clusters": [
            None,
            StrOptions({"auto", "levels"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "merge": [StrOptions({"auto", *NAMES})],
        "metric": [StrOptions({"euclidean", "cosine", *GRAPH_METRICS})],
        "views": [Interval(Integral, 1, MOST_VIEWS_OR_LEVELS, closed="both"), list],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "consensus": [
            StrOptions({"auto", "strict", "relaxed", "majority"}),
            Interval(Real, 0, 1, closed="both"),
        ],
        "medoid": [StrOptions({*CENTRALITY, *SIMILARITY}), callable],
        "medoid_weights": ["boolean"],
        "batch_size": [
            None,
            str,
            Interval(Integral, 2, None, closed="left"),
        ],  # Settings.of reads the text
        "batches": [StrOptions({"auto", "random", "local"})],
        "min_cluster_size": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "size_limits": [None, StrOptions({"balanced"}), tuple, list],
        "max_iter": [Interval(Integral, 1, MOST_VIEWS_OR_LEVELS, closed="both")],
        "checkpoint": [None, str, os.PathLike],
        "device": [None, str],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_clusters: int | str | None = None,
        merge: str = "auto",
        metric: str = "euclidean",
        views: int | list[Any] = 5,
        max_features: int | float = 1.0,
        consensus: str | float = "auto",
        medoid: str | Callable[[Any], Any] = "cosine",
        medoid_weights: bool = True,
        batch_size: int | str | None = None,
        batches: str = "auto",
        min_cluster_size: int | float = 1,
        size_limits: tuple[float | None, float | None] | str | None = None,
        max_iter: int = 100,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_clusters = n_clusters
        self.merge = merge
        self.metric = metric
        self.views = views
        self.max_features = max_features
        self.consensus = consensus
        self.medoid = medoid
        self.medoid_weights = medoid_weights
        self.batch_size = batch_size
        self.batches = batches
        self.min_cluster_size = min_cluster_size
        self.size_limits = size_limits
        self.max_iter = max_iter
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def as_published(cls, estimator: Any = None, **changes: Any) -> Self:
        """Return a model that runs the algorithm of the paper.

        The consensus is strict, medoids have no mass, batches are random, the base method is told
        at every level what the user wrote, and the clusters of the last level are the result,
        however many there are; noise rows are clusters of their own. The paper gives a new row the
        cluster of the nearest medoid, which
        ``model.cluster_numbers_[model.transform(X).argmin(axis=1)]`` returns; :meth:`predict` looks
        at more rows.

        Parameters
        ----------
        estimator : object, default=None
            The base clustering method; None means :class:`sklearn.cluster.KMeans` with its default
            parameters.
        **changes
            Other parameters, such as ``consensus="relaxed"``.

        Returns
        -------
        model : CoHiRF
            The model.

        Examples
        --------
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.datasets import load_iris
        >>> from cohirf import CoHiRF
        >>> X, _ = load_iris(return_X_y=True)
        >>> CoHiRF.as_published(KMeans(3, n_init=1), random_state=0).fit(X).n_clusters_
        3
        """
        published = {
            "n_clusters": "levels",
            "consensus": "strict",
            "medoid_weights": False,
            "batches": "random",
        }
        parameters: dict[str, Any] = published | changes
        return cls(estimator, **parameters)

    @checking_parameters
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        links: Any = None,
        client: Any = None,
    ) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            The data. float32 stays float32, and float16 becomes float32; other types become
            float64. CSR matrices need a base method that supports them. A source (see
            :func:`cohirf.open_source`) is read in order, batch by batch: once, and around K-Means
            again to find the cell of each row. For local batches it is read a few times, and its
            rows are written to a temporary file. With several batches, arrays that grow with the
            number of rows are kept on disk, and ``labels_``, ``parents_`` and ``stability_`` are
            memory maps. The batches of a Dask array or data frame run on the workers that hold its
            chunks, and ``hierarchy_`` starts at the clusters of the first level; for local batches,
            ``X`` is kept on the workers, and they gather the rows of each batch. ``labels_``,
            ``parents_`` and ``stability_`` are Dask arrays with the same chunks. A source is fitted
            on a cluster if ``client`` is given. In-memory data is always fitted locally. Tensors of
            torch and arrays of CuPy are fitted on their device; integers there become float64, and
            other types stay. With ``metric="precomputed"`` or "affinity", a graph: a sparse matrix,
            a square array, or a pair of arrays (indices, distances).
        y : ignored
            Not used; present for scikit-learn's conventions.
        sample_weight : array, shape (n_samples,), optional
            Weight of each row, for base methods that support it. It may be a Dask array if ``X`` is
            one.
        links : array of int, shape (n_links, 3), or pair of arrays, optional
            Pairs of rows that are to be in the same cluster, and pairs that are not to be: triples
            of two row numbers and 1 or -1, or two arrays (together, apart) with two columns of row
            numbers each, of which one may be None. All are kept. Links that contradict each other
            are refused before the fit. Rows that are to be together are moved to their mean, which
            is what the model stores of them. See :doc:`/choose/links`.
        client : distributed.Client or module, optional
            Client of the cluster that runs the batches of a source, Dask array or Dask data frame;
            or Ray's module (``client=ray``, after ``ray.init()``), whose workers run the batches of
            a source. By default, a Dask array or data frame uses the active client, if there is
            one, and a source stays in this process.

        Returns
        -------
        self : CoHiRF
            The fitted estimator.
        """
        parameters = self._parameters
        parameters.check_views()
        check_size_limits(parameters.size_limits)
        if parameters.is_of_graph:
            graph = open_training_graph(parameters, X, sample_weight, client, links)
            columns = Columns(graph.n_nodes)
            return self._become(fit_graph(Settings.of(parameters, columns), graph), columns)
        with nullcontext() if client is None else choosing_client(parameters, client, X):
            opened = open_training_data(parameters, X, client=client)
            settings = Settings.of(parameters, opened.columns)
            state = fit_data(settings, opened.data, sample_weight, links=links)
        return self._become(state, opened.columns)

    def predict(self, X: Any) -> Any:
        """Return, for each row, the cluster of the nearest point that the model stores.

        Without an estimator and around K-Means, a fit ends by assigning each row to the nearest of
        these points: a few hundred centres or, if clusters are not compact, at most 20,000 rows of
        the data. So ``predict`` of the rows of a fit returns ``labels_``, for any number of rows.

        Other methods, ``n_clusters="levels"`` and updated models have landmarks, which are rows of
        the fit: all of them if there are at most 10,000, otherwise a sample of about 10,000 that
        contains rows of every cluster. A landmark gets its own label, unless an identical row has
        another one. With more rows, a row near the border between two clusters can be nearer to a
        landmark of the other cluster; the user guide says how often. Around HDBSCAN, if all rows
        are landmarks, a new row joins a cluster, or is noise, as in the package hdbscan; see
        ``hdbscan_``.

        The search is exact, and it compares a row with as many landmarks as its label needs: if
        clusters are well separated, a few centres decide nearly every row. Landmarks can be
        confused only if their distance is below 1e-150 and the data has larger values as well. The
        first call for at least 1,000 rows prepares the search, which takes about as long as the
        search of a few hundred rows does without it.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to label. A source is read block by block. Rows on a device are labelled there. If
            the data are a graph, the distances, or similarities, of new nodes to the nodes of the
            fit: an array or a sparse matrix of shape (n_new, n_nodes), a pair (indices, distances),
            or a table of edges that :func:`cohirf.open_source` opens, whose new nodes are those
            that the fit did not have, sorted.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            Cluster of each row, or -1 as in ``labels_``; a Dask array with the chunks of ``X`` if
            ``X`` is a Dask array or data frame.
        """
        check_is_fitted(self, "n_clusters_")
        state = self._state
        parameters = self._parameters
        columns = self._columns
        if parameters.is_of_graph:
            return predict_nodes(state, X, parameters.metric)
        points = state.landmarks
        # of three packages
        if any(type(method).__name__ == "HDBSCAN" for method in parameters.methods):
            points = density_of(Settings.of(parameters, columns), state) or points
        label = partial(label_new_rows, landmarks=points, column_means=state.column_means)
        dtype = state.landmarks.labels.dtype
        return map_new_rows(parameters, columns, X, label, None, dtype, has_gaps=state.may_miss)

    def transform(self, X: Any) -> Any:
        """Return the Euclidean distance of each row to the medoid of each cluster.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows to measure. A source is read block by block. Rows on a device are measured there.

        Returns
        -------
        distances : array of float, shape (n_samples, n_clusters_)
            Column j has the distances to the medoid of the cluster with the number
            ``cluster_numbers_[j]``, which ``get_feature_names_out`` names; a Dask array if ``X`` is
            a Dask array or data frame.
        """
        check_is_fitted(self, "n_clusters_")
        state = self._state
        parameters = self._parameters
        if parameters.is_of_graph:
            return measure_nodes(state, X, parameters.metric)
        medoids = state.clusters.medoids
        measure = partial(measure_new_rows, medoids=medoids, column_means=state.column_means)
        return map_new_rows(
            parameters,
            self._columns,
            X,
            measure,
            state.n_clusters,
            medoids.dtype,
            has_gaps=state.may_miss,
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the opposite of the sum of squared distances to the nearest medoid, so that
        searches can compare fits.

        More clusters score higher, as with K-Means: ``choice_`` compares numbers of clusters.
        Distances are those of :meth:`transform`, in the metric of the
        fit: scores of different metrics cannot be compared.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            Rows.
        y : None
            Not used.
        sample_weight : array of float, shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        score : float
            At most 0; minus infinity if there are no clusters.
        """
        distances = np.asarray(to_host(self.transform(X)), dtype=np.float64)
        squared = distances.min(axis=1, initial=np.inf) ** 2
        return -float(
            squared.sum() if sample_weight is None else squared @ np.asarray(sample_weight)
        )

    def gather(self) -> Self:
        """Load the results of a fit on Dask or on a device into this process, as ``save`` and
        ``diagnose`` need them.

        ``labels_``, ``parents_`` and ``stability_`` become memory maps, and ``hierarchy_`` has all
        rows as its leaves, as after a local fit. This takes 8 bytes of disk space per row (16 with
        more than two billion rows) in the directory for temporary files, and 13 more (21) when
        these attributes are asked for. The client of the fit must be the active one. Results from a
        device are loaded into memory.

        Returns
        -------
        self : CoHiRF
            The fitted estimator, changed in place. If its labels are already in this process,
            nothing is done.
        """
        check_is_fitted(self, "n_clusters_")
        if self._state.rows.row_map.elsewhere is None:
            return self
        return self._become(self._state.gathered())

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        preparation: dict[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Write the fitted model to a file of JSON and numeric arrays, for :func:`cohirf.load`.

        Saving is atomic: the file is written with a temporary name beside ``path``, flushed to disk
        and then given its name. An incomplete model never appears at ``path``. A base estimator or
        callable ``medoid`` that cannot be stored is left out, and must be passed to
        :func:`cohirf.load`. Paths that a fit writes to, ``checkpoint`` and ``memory``, are never
        stored.

        Parameters
        ----------
        path : str or path
            The file to create. Its directory must exist.
        overwrite : bool, default=False
            Whether to replace a saved model that exists at ``path``. A file that is not a saved
            model is never replaced.
        preparation : dict, optional
            A description, serialisable as JSON, of how the data was prepared before the fit, such
            as :meth:`cohirf.app.preparation.Preparation.to_json` returns.
            :func:`cohirf.store.load_about` returns it.
        origin : cohirf.store.Origin, optional
            The file that the model was fitted to, and the command;
            :func:`cohirf.store.load_about` returns it. Reports show it.

        Raises
        ------
        FileExistsError
            If ``path`` exists, and either ``overwrite`` is False or ``path`` is not a saved model.
        ValueError
            If a parameter of the model cannot be stored, or if :func:`cohirf.load` would refuse the
            model. Nothing is replaced then.
        """
        if type(self) is not CoHiRF:
            raise TypeError(
                f"model={reprlib.repr(self)} is not a CoHiRF estimator: only CoHiRF estimators can "
                "be saved, and no subclasses."
            )
        check_is_fitted(self, "n_clusters_")
        write_model(
            self._parameters,
            self._columns,
            self._state,
            path,
            overwrite=overwrite,
            preparation=preparation,
            origin=origin,
        )

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse and missing values are allowed if the base method
        allows them.
        """
        tags = super().__sklearn_tags__()
        parameters = self._parameters
        tags.input_tags.pairwise = parameters.is_of_graph
        tags.input_tags.sparse = parameters.is_of_graph or parameters.take_sparse
        tags.input_tags.allow_nan = parameters.take_nan
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of ``transform``: "cohirf" and the number of the cluster.

        Parameters
        ----------
        input_features : ignored
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        names : array of str, shape (n_clusters_,)
            For example "cohirf0".
        """
        check_is_fitted(self, "n_clusters_")
        return np.array(
            [f"cohirf{number}" for number in self.cluster_numbers_.tolist()], dtype=object
        )

    def _base_method(self) -> Any:
        """Return the base method; of several, one that finds the number of clusters itself."""
        return self._parameters.base_method
