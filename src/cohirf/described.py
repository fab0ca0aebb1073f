"""Methods of a fitted model that the application carries out: summary, name_clusters, explain,
diagnose, and the tree in notebooks.

They are here for convenience, as ``DataFrame.plot`` is in pandas, and import the application when
they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cohirf.in_words import application
from cohirf.summary.fitted import FittedModel

WITH_TABLE = "the nodes of a graph have no features. Pass a table with a row for each node."


class DescribedClusters(FittedModel):
    """Adds the methods that describe clusters to an estimator."""

    def summary(self, X: Any = None, *, feature_names: Sequence[str] | None = None) -> Any:
        """Return a table of the clusters: what each of them is, how large it is, and what sets it
        apart.

        Parameters
        ----------
        X : array, table, CSR matrix, source or Prepared, shape (n_samples, any), optional
            The data of the fit, or the table that it was made from, with the same rows in the same
            order. Its columns may be numbers, categories, text, dates or truth values. Names and
            values are then in its units. At most 100,000 rows are read. By default, the clusters
            are described by the rows that the fit stored for ``predict``.
        feature_names : sequence of str, optional
            Names of the columns, if ``X`` has none.

        Returns
        -------
        table : pandas.DataFrame
            One row for each cluster, with its label as the index; -1 is noise. ``name`` says what
            sets it apart, ``size`` is its number of rows, ``share`` the share of all rows,
            ``stability`` the mean of ``stability_`` over its rows, ``exemplar`` the row number of
            its most central row, and ``features`` has the three features that set it apart most,
            with their means in the cluster and elsewhere.

        See Also
        --------
        explain : All features of one cluster.
        cohirf.app.explain.describe_clusters : The same as objects, with more features, and rows
            that fit badly.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cohirf import CoHiRF
        >>> X = load_iris(as_frame=True).data
        >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X)
        >>> table = model.summary(X)
        >>> print(table.loc[0, "name"])
        short petal, narrow petal, short sepal
        >>> print(table.loc[0, "features"])
        petal length (cm) 1.46 (others 4.91); petal width (cm) 0.246 (others 1.68); sepal length
        (cm) 5.01 (others 6.26)
        """
        if X is None:
            self._parameters.refuse_graph("summary without X", WITH_TABLE)
        self._require_labels_here()
        return application("explain.tables").summarize_clusters(self, X, feature_names)

    def name_clusters(
        self,
        X: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        preparation: Any = None,
    ) -> dict[int, str]:
        """Name the clusters by what sets them apart, and remember the names: they last through
        updates.

        A cluster keeps its name as long as all of it is true: each feature that it calls high or
        low must still be so by 0.3 standard deviations, and shares and means may be off by a tenth.
        Otherwise, the cluster gets another name, and ``changes_`` says so. That also holds for
        names that were set by ``names_``, unless the rows are vectors. Call it after an update,
        so that new clusters get names, and names that are not true any more are replaced.
        ``summary``, reports and the program show the names.

        Parameters
        ----------
        X : array, table, CSR matrix, source or Prepared, shape (n_samples, any), optional
            All rows of the model, as for :meth:`summary`. By default, the rows that the model
            stores for ``predict``.
        feature_names : sequence of str, optional
            Names of the columns, if ``X`` has none.
        preparation : Preparation, optional
            What made the data of the fit from a table. Names are then those of the columns of that
            table.

        Returns
        -------
        names : dict of int to str
            The name of each cluster by its number; of more than 1,000 clusters, of the largest. It
            is ``names_``, in which clusters that are gone have their last name as long as
            ``history_`` speaks of them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cohirf import CoHiRF
        >>> X = load_iris(as_frame=True).data
        >>> model = CoHiRF(n_clusters=2, random_state=0).fit(X[::2])
        >>> model.name_clusters()
        {0: 'short petal, narrow petal, short sepal', 1: 'long petal, wide petal, long sepal'}
        >>> print(model.partial_fit(X[1::2]).changes_)
        Update 1: 75 rows added, 0 older rows have another number
          grown: 0 "short petal, narrow petal, short sepal" (25 rows); 1 "long petal, wide petal,
          long sepal" (50 rows)
        """
        if X is None:
            self._parameters.refuse_graph("name_clusters without X", WITH_TABLE)
        self._require_labels_here()
        describe = application("explain.describe").describe_clusters
        found = describe(self, X, feature_names, preparation).clusters
        state = self._state.named({cluster.label: cluster.name for cluster in found})
        self._become(state)
        return dict(state.names)

    def _html_repr(self) -> str:
        """Return HTML for notebooks: scikit-learn's display of the parameters and, after a fit, the
        tree.
        """
        parameters: str = super()._html_repr()  # type: ignore[misc]  # of scikit-learn's BaseEstimator
        if not hasattr(self, "hierarchy_") or self._state.rows.row_map.elsewhere:
            return parameters
        return parameters + str(application("explain.describe").draw_model(self))

    def diagnose(self) -> Any:
        """Say whether to trust the clusters: whether they are usable, and whether the base method
        alone does better.

        The base method runs alone, three times, on at most 1,000 of the rows that the fit stored
        for ``predict``, without sample weights, and on the features that the fit used. K-Means has
        ten starts. A base method that finds the number of clusters itself needs rows that are as
        dense as the data: all rows or, if the fit stored them all (up to 10,000), those of a
        region.

        Returns
        -------
        diagnosis : cohirf.app.explain.Diagnosis
            Findings and figures; ``print`` shows them in words.
        """
        self._parameters.refuse_graph("diagnose")

        self._require_labels_here()
        return application("explain.diagnose").diagnose_model(self)

    def explain(self, cluster: int, X: Any = None) -> Any:
        """Return the features that distinguish a final cluster from the others, strongest first.

        Parameters
        ----------
        cluster : int
            The label of the cluster.
        X : array, table, CSR matrix or source, shape (n_samples, n_features), optional
            The data of the fit, of which at most 100,000 rows are read. By default, the rows that
            the fit stored for ``predict``.

        Returns
        -------
        table : pandas.DataFrame
            One row for each feature, with its name as the index. ``mean`` is the mean in the
            cluster, ``mean_elsewhere`` the mean of all other rows, and ``effect`` their difference
            in standard deviations of all rows. ``views_agree`` is ``feature_agreement_``: how well
            the views that contained the feature agreed with the fusions.
        """
        if X is None:
            self._parameters.refuse_graph("explain without X", WITH_TABLE)

        self._require_labels_here()
        return application("explain.tables").explain_cluster(self, cluster, X)

    def _require_labels_here(self) -> None:
        """Raise an error if the model is not fitted, or if its labels are on Dask or a device."""
        check_is_fitted(self, "n_clusters_")
        elsewhere = self._state.rows.row_map.elsewhere
        if elsewhere:
            raise ValueError(
                f"labels_ is {elsewhere}, and this method needs the labels in this process: call "
                "gather() first, which loads 8 bytes per row."
            )
