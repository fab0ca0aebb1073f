"""Tools: what computes something from AnnData, and writes it there."""

from __future__ import annotations

from typing import Any

import numpy as np

from cohirf.estimator import CoHiRF
from cohirf.optional import import_optional

__all__ = ["cohirf"]

NEIGHBORS = "neighbors"  # where scanpy notes its graph in uns
REPRESENTATION = "X_pca"


def cohirf(
    adata: Any,
    n_clusters: int | str | None = None,
    *,
    estimator: Any = None,
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
    random_state: Any = 0,
    key_added: str = "cohirf",
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster the observations of AnnData, on their neighbour graph or on a representation.

    Used as ``scanpy.tl.leiden`` is. It takes the distances of the graph that
    ``scanpy.pp.neighbors`` made; without a graph, ``obsm["X_pca"]``.

    Parameters
    ----------
    adata : AnnData
        The observations (extra ``anndata``).
    n_clusters : int or "auto", optional
        Number of clusters; chosen by default, unless ``estimator`` finds it.
    estimator : object, optional
        A base method, such as ``sklearn.cluster.HDBSCAN``: see :class:`cohirf.CoHiRF`.
    neighbors_key : str, optional
        The graph's entry in ``uns``; "neighbors" by default.
    obsp : str, optional
        A matrix in ``obsp`` in place of it. If its name ends in "distances", it has distances, and
        otherwise similarities, as "connectivities" has.
    use_rep : str, optional
        Cluster rows, and not a graph: a key of ``obsm``, or "X".
    random_state : int, default=0
        Seed.
    key_added : str, default="cohirf"
        Where results are written.
    copy : bool, default=False
        Whether to return a changed copy.
    **parameters
        Further parameters of :class:`cohirf.CoHiRF`.

    Returns
    -------
    adata : AnnData or None
        None, unless ``copy``. What is written:

        - ``obs[key_added]``: the cluster of each observation, a category; "-1" is noise;
        - ``obs[key_added + "_stability"]``: how much the views agree on it, from 0 to 1;
        - ``uns[key_added]``: ``params``; ``tree``, the hierarchy as JSON, for
          :meth:`cohirf.FusionHierarchy.from_json`; and ``exemplars``, the most central observation
          of each cluster.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from cohirf import FusionHierarchy
    >>> from cohirf.scverse import tl
    >>> X, _ = make_blobs(300, 5, centers=4, random_state=0)
    >>> adata = anndata.AnnData(np.zeros((300, 1), dtype=np.float32), obsm={"X_pca": X})
    >>> tl.cohirf(adata)
    >>> adata.obs["cohirf"].value_counts().tolist()
    [75, 75, 75, 75]
    >>> tree = FusionHierarchy.from_json(adata.uns["cohirf"]["tree"])
    >>> len(np.unique(tree.cut(n_clusters=2)))
    2
    """
    pandas = import_optional("pandas", "anndata", "tl.cohirf")
    adata = adata.copy() if copy else adata
    place, metric = _find_data(adata, neighbors_key, obsp, use_rep)
    group, key = place
    data = adata.X if key == "X" else getattr(adata, group)[key]
    if n_clusters is not None:
        parameters = {"n_clusters": n_clusters, **parameters}
    model = CoHiRF(estimator, **{"metric": metric, "random_state": random_state, **parameters}).fit(
        data
    )
    numbers = model.cluster_numbers_.tolist()
    labels = np.asarray(model.labels_)
    if (labels < 0).any():
        numbers = [-1, *numbers]
    # objects, because anndata does not write the texts of pandas 3
    names = pandas.Index([str(number) for number in numbers], dtype=object)
    codes = np.searchsorted(numbers, labels)
    adata.obs[key_added] = pandas.Categorical.from_codes(codes, categories=names)
    adata.obs[f"{key_added}_stability"] = np.asarray(model.stability_)
    given = {"random_state": random_state, **parameters}
    adata.uns[key_added] = {
        "params": {
            group if group == "obsp" else "use_rep": key,
            "estimator": "" if estimator is None else repr(estimator),
            **{name: _as_stored(value) for name, value in given.items()},
        },
        "tree": model.hierarchy_.to_json(),
        "exemplars": np.asarray(model.exemplar_indices_),
    }
    return adata if copy else None


def _find_data(
    adata: Any, neighbors_key: str | None, obsp: str | None, use_rep: str | None
) -> tuple[tuple[str, str], str]:
    """Return where the data are, group and key, and their metric."""
    given = {"neighbors_key": neighbors_key, "obsp": obsp, "use_rep": use_rep}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"{' and '.join(names)} are given: give one of them.")
    if use_rep is not None:
        if use_rep != "X":
            _refuse_missing(adata.obsm, "obsm", use_rep)
        return ("obsm", use_rep), "euclidean"
    if obsp is not None:
        _refuse_missing(adata.obsp, "obsp", obsp)
        return ("obsp", obsp), "precomputed" if obsp.endswith("distances") else "affinity"
    if neighbors_key is not None:
        _refuse_missing(adata.uns, "uns", neighbors_key)
    entry = neighbors_key or NEIGHBORS
    noted = adata.uns.get(entry, {})
    for name, metric in (("distances", "precomputed"), ("connectivities", "affinity")):
        # without a note, the plain names are those of the usual entry, and of no other
        key = noted.get(f"{name}_key", name if entry == NEIGHBORS else None)
        if key in adata.obsp:
            return ("obsp", key), metric
    if neighbors_key is not None:
        listed = ", ".join(map(repr, adata.obsp)) or "nothing"
        raise ValueError(
            f"uns[{neighbors_key!r}] names no matrix that is there: obsp has {listed}. Run "
            "scanpy.pp.neighbors again, or give obsp or use_rep."
        )
    if REPRESENTATION in adata.obsm:
        return ("obsm", REPRESENTATION), "euclidean"
    raise ValueError(
        f'adata has neither a neighbour graph nor obsm["{REPRESENTATION}"]: run '
        'scanpy.pp.neighbors or scanpy.pp.pca before, or give use_rep="X".'
    )


def _refuse_missing(mapping: Any, group: str, key: str) -> None:
    if key not in mapping:
        listed = ", ".join(map(repr, mapping)) or "nothing"
        raise ValueError(f"{group} has {listed} and not {key!r}.")


def _as_stored(value: Any) -> Any:
    """Return a parameter in a form that anndata writes."""
    return value if isinstance(value, bool | int | float | str) else repr(value)
