"""The methods of CoHiRF that change a fitted model."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cohirf.data.open_data import choosing_client, open_training_data
from cohirf.fitting.settings import Settings
from cohirf.rows.arrays import from_device
from cohirf.summary.fitted import FittedModel
from cohirf.summary.state import FittedState
from cohirf.updating.forget import forget
from cohirf.updating.update import recluster, update


def _takes_rows(self: UpdatingMixin) -> bool:
    """Return True, or raise: scikit-learn then says that there is no such method, and why."""
    self._parameters.refuse_limits()
    return True


class UpdatingMixin(FittedModel):
    """Updates of a fitted model."""

    @available_if(_takes_rows)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None
    ) -> Self:
        """Add rows to the model: contract them, and run the levels above the rows again.

        An update costs as much as the new rows and the groups of rows that the model keeps, however
        many rows it has seen. The first call may be for a new model or follow ``fit``. Parameters
        should not be changed between updates.

        The number of clusters is not chosen again: ``n_clusters=5`` means five at the fit. All
        clusters go on with all their rows, new rows get the cluster that ``predict`` gives them,
        and where many new rows are near each other and far from all known ones, a cluster is born
        beside the others. To choose again, call ``recluster``. Clusters of the first
        ``partial_fit`` calls go on as soon as there are 50 rows for each; until then, each call is
        a ``fit`` of all rows. With ``n_clusters="levels"``, the levels decide in each update.

        Methods that find the number of clusters themselves, as DBSCAN and HDBSCAN do, depend on the
        density of rows. Unless ``n_clusters`` is given, an update is a ``fit`` of all rows, which
        the model keeps: at most 262,144, and only if it was fitted to an array. More rows are
        refused.

        Few rows, up to 1.5 times ``batch_size`` (15,000 with ``batch_size=None``), are all kept.
        More are contracted in blocks of ``batch_size`` consecutive rows (10,000 with None) as soon
        as a block is full; groups of rows do not reach over the border between two clusters. When
        there are 8,000 groups, these are contracted in blocks, too. Missing cells are then filled
        by what the first rows say. If ``batch_size`` is measured, then on the rows of the first
        update, if these are more than 10,000; otherwise, it means None. A ``checkpoint`` is not
        used.

        Clusters keep their numbers. Where they were found anew, a cluster has the number of the
        cluster before it with which it shares most rows, if that is not taken by another that
        shares more. A new cluster has a new number, and a number that is gone is not used again. So
        numbers can have gaps: ``cluster_numbers_`` has the number of each, in the order of
        ``medoids_`` and other attributes with an entry for each cluster. ``changes_`` says what the
        update has changed. If an update fails or is interrupted, the model stays as it was.

        Parameters
        ----------
        X : array, table, CSR matrix, source, Dask array or table, shape (n_samples, n_features)
            The new rows, with the features of the model. Rows of a source are read in order, and
            what belongs to each of them is kept on disk. Rows on Dask are contracted by the
            workers; ``labels_`` is in this process, unless the model was fitted on Dask.
        y : ignored
            Not used; present for scikit-learn's conventions.
        sample_weight : array, shape (n_samples,), optional
            Weight of each new row, for base methods that support it. Rows of weight 0 do not take
            part, as in ``fit``: each gets the cluster of the nearest row that does, or of the
            nearest group of its block.
        client : distributed.Client or module, optional
            Client of the cluster that contracts the rows of a source, Dask array or Dask data
            frame, as for ``fit``.

        Returns
        -------
        self : CoHiRF
            The model with all rows so far: ``labels_``, ``parents_``, ``stability_`` and
            ``hierarchy_`` cover them in order. They are computed when they are first asked for
            after an update.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from cohirf import CoHiRF
        >>> X, y = make_blobs(1000, n_features=20, centers=4, random_state=0)
        >>> model = CoHiRF(n_clusters=4, random_state=0)
        >>> for month in range(4):
        ...     model = model.partial_fit(X[250 * month : 250 * (month + 1)])
        >>> len(model.labels_)
        1000
        >>> print(model.changes_)
        Update 3: 250 rows added, 0 older rows have another number
          grown: 0 (54 rows); 1 (69 rows); 2 (67 rows); 3 (60 rows)
        """
        parameters = self._parameters
        parameters.refuse_updates()
        parameters.check_views()
        before: FittedState | None = getattr(self, "_state", None)
        known = None
        may_miss = True
        if before is not None:
            before.refuse_links()
            before = before.in_this_process()
            known = self._columns
            may_miss = before.column_means is not None
        X = from_device(X)
        with choosing_client(parameters, client, X):
            opened = open_training_data(
                parameters, X, client=client, known=known, may_miss=may_miss
            )
            settings = Settings.of(parameters, opened.columns)
            state = update(settings, before, opened.data, sample_weight)
        return self._become(state, opened.columns)

    def forget(self, rows: Any = None, *, updates: Any = None) -> Self:
        """Take rows out of the model again, and run the levels above the rows again.

        The masses of the rows leave their groups, groups and clusters without rows go, and what the
        model keeps of the values of these rows is removed: they are not among the landmarks,
        medoids and exemplars any more. The other rows keep their order, and are numbered from 0
        again. Clusters go on with their numbers, as in ``partial_fit``.

        If the medoid of a group is forgotten, the row of the group nearest to its mean among those
        that the model has kept takes its place. If there is none, the mean of the group takes the
        place of the values of another row.

        What stays: means of groups still have the share of the forgotten rows. The model does not
        keep the weight of each row: with each forgotten row, the average weight of the rows of its
        group leaves. The borders between groups stay where they are. Copies of the model, saved
        ones included, are not changed.

        Parameters
        ----------
        rows : array of int or of bool, optional
            Numbers of the rows in ``labels_``, or a mask with an entry for each row.
        updates : int or list of int, optional
            Numbers of updates, from 0 (the fit, or the first update), all of whose rows are
            forgotten. An update keeps its number. Exactly one of ``rows`` and ``updates`` must be
            given.

        Returns
        -------
        self : CoHiRF
            The model without the rows. ``changes_`` says what has changed. Without rows to forget,
            the model stays as it is.

        Examples
        --------
        A window of three months:

        >>> from sklearn.datasets import make_blobs
        >>> from cohirf import CoHiRF
        >>> X, y = make_blobs(1000, n_features=20, centers=4, random_state=0)
        >>> model = CoHiRF(n_clusters=4, random_state=0)
        >>> for month in range(4):
        ...     model = model.partial_fit(X[250 * month : 250 * (month + 1)])
        >>> len(model.forget(updates=0).labels_)
        750
        """
        check_is_fitted(self, "n_clusters_")
        parameters = self._parameters
        parameters.refuse_updates()
        self._state.refuse_links()
        settings = Settings.of(parameters, self._columns)
        return self._become(forget(settings, self._state.in_this_process(), rows, updates))

    def recluster(self) -> Self:
        """Find the clusters of all rows anew, as a fit does, from what the model keeps of the rows.

        An update keeps the clusters and only adds to them. This chooses their number again, if
        ``n_clusters`` does not give it, and can move every row. While there are few rows, the
        clusters are those of a ``fit`` of all of them; with more, the groups of rows merge anew.
        Numbers last as far as rows stay together, and ``changes_`` says which clusters were born,
        split or merged.

        Returns
        -------
        self : CoHiRF
            The model with the new clusters.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from cohirf import CoHiRF
        >>> X, _ = make_blobs(600, centers=3, random_state=0)
        >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X).partial_fit(X[:100] + 50)
        >>> model.n_clusters_, model.recluster().n_clusters_
        (4, 3)
        """
        check_is_fitted(self, "n_clusters_")
        parameters = self._parameters
        parameters.refuse_updates()
        self._state.refuse_links()
        settings = Settings.of(parameters, self._columns)
        return self._become(recluster(settings, self._state.in_this_process()))
