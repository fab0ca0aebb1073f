"""Open what the user passes as X: in memory, on a device, in a source, or on Dask.

No other file asks which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from cohirf import validation
from cohirf.data.dask_arrays import (
    DaskTable,
    LazyDaskSource,
    refuse_other_collections,
    spread_source,
)
from cohirf.data.first_level import Data
from cohirf.data.in_process import InMemory, InSource
from cohirf.data.on_dask import OnDask
from cohirf.data.on_device import OnDevice
from cohirf.engines.dask import is_usable
from cohirf.parameters import Parameters
from cohirf.rows.arrays import is_dask, is_on_device, is_torch, namespace, narrow_indices, to_host
from cohirf.sources import GraphSource, ScaledSource, Source
from cohirf.sources.scaled import unit_rows
from cohirf.summary.state import FittedState


def open_training_data(
    model: Parameters, X: Any, *, on_cluster: bool, state: FittedState | None = None
) -> Data:
    """Validate the data of a fit, and set the number and the names of its features.

    Sources are validated when read.

    The data of an update of a ``state`` must have the features of the model. A source is read by
    the workers of the active client if ``on_cluster`` is set.
    """
    is_first = state is None
    X = _rows_of(model, X)
    if is_dask(X):
        if model.batch_size is None:
            raise ValueError(
                "batch_size=None contracts all rows together, but the rows of a Dask array stay "
                "on its workers: "
                'set batch_size to a number or to "auto", or fit X.compute().'
            )
        return OnDask(LazyDaskSource(_open_table(model, X, reset=is_first, known_rows=True).array))
    if isinstance(X, Source):
        if is_first:
            use_columns = validation.set_columns
        else:
            use_columns = validation.check_columns
        use_columns(model, X.n_features, X.feature_names)
        X = _scale_source(model, X)
        if not on_cluster:
            return InSource(X)
        if isinstance(model.batch_size, Integral):
            batch_size = int(model.batch_size)
        else:
            batch_size = None
        return OnDask(LazyDaskSource(spread_source(X, batch_size)))
    if is_on_device(X):
        return OnDevice(_check_device_array(model, X, reset=is_first))
    allow_nan = state is None or state.column_means is not None
    X = _check_array(model, X, reset=is_first, allow_nan=allow_nan)
    fills = not sparse.issparse(X) and validation.take_nan(model)
    return InMemory(X, validation.column_means(X) if fills else None)


def _rows_of(model: Parameters, X: Any) -> Any:
    """Return the rows of a prepared table, which ``prepare`` returns; other data as it is."""
    if isinstance(X, GraphSource):
        raise TypeError(
            f"{X!r} is a graph, and metric={model.metric!r} is of rows: fit a graph of distances "
            'with CoHiRF(metric="precomputed"), one of similarities with metric="affinity".'
        )
    return X.rows() if hasattr(X, "preparation") and hasattr(X, "source") else X


def map_new_rows(
    model: Parameters,
    X: Any,
    function: Callable[[Any], Any],
    n_columns: int | None,
    dtype: Any,
    *,
    has_gaps: bool,
) -> Any:
    """Validate rows for a fitted model, and apply ``function`` to blocks of them where they are.

    The result has ``n_columns`` columns, or is a vector if that is None. Columns have at least the
    precision of the rows. Cells may be missing if the fit ``has_gaps``: otherwise, there is nothing
    to fill them with.
    """
    X = _rows_of(model, X)
    if is_dask(X):
        table = _open_table(model, X, reset=False, known_rows=False)
        return table.map_rows(
            function, n_columns, dtype if n_columns is None else np.result_type(table.dtype, dtype)
        )
    if isinstance(X, Source):
        validation.check_columns(model, X.n_features, X.feature_names)
        return InSource(_scale_source(model, X)).map_rows(function, n_columns, dtype)
    if is_on_device(X):
        return function(_check_device_array(model, X, reset=False))
    return function(_check_array(model, X, reset=False, allow_nan=has_gaps))


def choosing_client(model: Parameters, client: Any, X: Any) -> AbstractContextManager[Any]:
    """Return a context in which ``client`` is the active Dask client.

    One that does nothing if it is None.
    """
    if client is None:
        return nullcontext()
    if not hasattr(client, "as_current") or not is_usable(client):
        raise TypeError(
            f"client={client!r} is not a connected, synchronous distributed.Client: give one, or "
            "leave client out."
        )
    if not (is_dask(X) or isinstance(X, Source)):
        raise TypeError(
            "client= is for sources and Dask arrays or data frames, but X is in memory "
            f"({type(X).__name__}): give open_source(X), or leave client out."
        )
    if model.batch_size is None:
        raise ValueError(
            "client= needs batches to run, but batch_size=None: set batch_size to a number or to "
            '"auto".'
        )
    return cast("AbstractContextManager[Any]", client.as_current())


def _check_device_array(model: Parameters, X: Any, *, reset: bool) -> Any:
    """Validate an array on a device, and set or compare the number of features."""
    if len(X.shape) != 2:
        raise ValueError(f"X has shape {tuple(X.shape)}: give two dimensions, one row per sample.")
    if 0 in X.shape:
        raise ValueError(
            f"X has {X.shape[0]} rows and {X.shape[1]} columns: give at least one of each."
        )
    xp = namespace(X)
    X = X.detach() if is_torch(X) else X
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float64)
    if reset:
        validation.set_columns(model, int(X.shape[1]), None)
    elif X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, but the fit had {model.n_features_in_}.")
    _check_squares(xp, X)
    return unit_rows(X) if model.metric == "cosine" else X


def _check_squares(xp: Any, X: Any) -> None:
    """Raise for NaN, infinities, and values whose squares overflow."""
    # NaN is the extreme where there is one
    extremes = [to_host(extreme(X)) for extreme in (xp.min, xp.max)]
    largest = float(np.abs(extremes).max())
    if not np.isfinite(largest):
        raise ValueError(
            "Input X contains NaN or infinity: replace such values, or leave their rows out."
        )
    # in which distances of the values are computed
    dtype = np.float64 if X.dtype == xp.float64 else np.float32
    # differences are up to twice as large
    if largest > np.sqrt(np.finfo(dtype).max / (4 * X.shape[1])):
        raise ValueError(
            f"Input X holds values up to {largest:.3g}, whose squares overflow {np.dtype(dtype)}: "
            "scale the data first."
        )


def _open_table(model: Parameters, X: Any, *, reset: bool, known_rows: bool) -> DaskTable:
    """Validate the metadata of a Dask array or data frame, without computing its rows."""
    refuse_other_collections(X)
    validation.refuse_what_is_no_table(X)
    table = DaskTable.of(X, known_rows=known_rows)
    n_features = table.array.shape[1] if table.array.ndim == 2 else 0
    if reset:
        validation.set_columns(model, n_features, table.names)
    else:
        validation.check_columns(model, n_features, table.names)
    if model.metric == "cosine":
        table = replace(table, array=table.array.map_blocks(_scale_chunk, dtype=table.array.dtype))
    return table


def _scale_source(model: Parameters, source: Source) -> Source:
    if model.metric == "cosine":
        return ScaledSource(source, unit=True)
    return source


def _scale_chunk(chunk: Any) -> Any:
    """Return rows of a chunk with length 1.

    An empty chunk is a stand-in from which Dask infers types.
    """
    if np.size(chunk):
        return unit_rows(np.asarray(chunk), "A chunk of the Dask array")
    return chunk


def _check_array(model: Parameters, X: Any, *, reset: bool, allow_nan: bool) -> Any:
    """Return ``X`` as a finite C-ordered array or CSR matrix of float64 or float32."""
    validation.refuse_what_is_no_table(X)
    accept_sparse = "csr" if validation.take_sparse(model) else False
    is_half = getattr(X, "dtype", None) == np.float16  # float32 has all of its values
    try:
        X = validate_data(
            model,
            X,
            reset=reset,
            accept_sparse=accept_sparse,
            dtype=np.float32 if is_half else (np.float64, np.float32),
            order="C",
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        validation.raise_for_cell(X, error)
        raise
    allow_nan = allow_nan and validation.take_nan(model) and model.metric != "cosine"
    validation.check_finite(X, getattr(model, "feature_names_in_", None), allow_nan=allow_nan)
    X = unit_rows(X) if model.metric == "cosine" else X
    return narrow_indices(X)
