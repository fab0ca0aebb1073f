"""Open what the user passes as X: in memory, on a device, in a source, on Dask or Ray.

No other file asks which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from scipy import sparse

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
from cohirf.data.on_ray import OnRay
from cohirf.engines.dask import is_usable
from cohirf.engines.ray import is_ray, refuse_unready
from cohirf.parameters import Parameters
from cohirf.rows.arrays import is_dask, is_on_device, is_torch, namespace, narrow_indices, to_host
from cohirf.rows.containers import container_of
from cohirf.sources import GraphSource, ScaledSource, Source
from cohirf.sources.scaled import unit_rows
from cohirf.validation import Columns


@dataclass(frozen=True)
class TrainingData:
    """The data of a fit or an update, and their columns."""

    data: Data
    columns: Columns


def open_training_data(
    parameters: Parameters,
    X: Any,
    *,
    client: Any = None,
    known: Columns | None = None,
    may_miss: bool = True,
) -> TrainingData:
    """Validate the data of a fit. Sources are validated when read.

    The data of an update must have the ``known`` columns of the model, and cells may be missing if
    they ``may_miss`` there. A source is read by the workers of a ``client``, which is the active
    one of Dask, or Ray's module.
    """
    X = _rows_of(parameters, X)
    if is_dask(X):
        if parameters.batch_size is None:
            raise ValueError(
                "batch_size=None contracts all rows together, but the rows of a Dask array stay "
                "on its workers: "
                'set batch_size to a number or to "auto", or fit X.compute().'
            )
        table = _open_table(parameters, X, known, known_rows=True)
        return TrainingData(OnDask(LazyDaskSource(table.array)), known or table.columns)
    if isinstance(X, Source):
        columns = _columns_of_source(X, known)
        X = _scale_source(parameters, X)
        if client is None:
            return TrainingData(InSource(X), columns)
        if is_ray(client):
            return TrainingData(OnRay(X, client), columns)
        if isinstance(parameters.batch_size, Integral):
            batch_size = int(parameters.batch_size)
        else:
            batch_size = None
        return TrainingData(OnDask(LazyDaskSource(spread_source(X, batch_size))), columns)
    if is_on_device(X):
        X, columns = _check_device_array(parameters, X, known)
        return TrainingData(OnDevice(X), columns)
    X, columns = _check_array(parameters, X, known, allow_nan=may_miss)
    fills = not sparse.issparse(X) and parameters.take_nan
    return TrainingData(InMemory(X, validation.column_means(X) if fills else None), columns)


def _rows_of(parameters: Parameters, X: Any) -> Any:
    """Return the rows of a prepared table, which ``prepare`` returns; other data as it is."""
    if isinstance(X, GraphSource):
        raise TypeError(
            f"{X!r} is a graph, and metric={parameters.metric!r} is of rows: fit a graph of "
            'distances with CoHiRF(metric="precomputed"), one of similarities with '
            'metric="affinity".'
        )
    return X.rows() if hasattr(X, "preparation") and hasattr(X, "source") else X


def map_new_rows(
    parameters: Parameters,
    known: Columns,
    X: Any,
    function: Callable[[Any], Any],
    n_columns: int | None,
    dtype: Any,
    *,
    has_gaps: bool,
) -> Any:
    """Validate rows with the ``known`` columns of a model, and apply ``function`` to blocks of
    them where they are.

    The result has ``n_columns`` columns, or is a vector if that is None. Columns have at least the
    precision of the rows. Cells may be missing if the fit ``has_gaps``: otherwise, there is nothing
    to fill them with.
    """
    X = _rows_of(parameters, X)
    if is_dask(X):
        table = _open_table(parameters, X, known, known_rows=False)
        return table.map_rows(
            function, n_columns, dtype if n_columns is None else np.result_type(table.dtype, dtype)
        )
    if isinstance(X, Source):
        _columns_of_source(X, known)
        return InSource(_scale_source(parameters, X)).map_rows(function, n_columns, dtype)
    if is_on_device(X):
        return function(_check_device_array(parameters, X, known)[0])
    return function(_check_array(parameters, X, known, allow_nan=has_gaps)[0])


def choosing_client(parameters: Parameters, client: Any, X: Any) -> AbstractContextManager[Any]:
    """Return a context in which ``client`` is the active Dask client.

    One that does nothing if it is None, or Ray's module, which has one cluster at a time.
    """
    if client is None:
        return nullcontext()
    if is_ray(client):
        refuse_unready(client)
        if is_dask(X):
            raise TypeError(
                "client=ray is for sources, but X is on Dask: give the source that it was made of, "
                "or the client of Dask."
            )
    elif not hasattr(client, "as_current") or not is_usable(client):
        raise TypeError(
            f"client={client!r} is not a connected, synchronous distributed.Client, nor Ray's "
            "module: give one of them, or leave client out."
        )
    if not (is_dask(X) or isinstance(X, Source)):
        raise TypeError(
            "client= is for sources and Dask arrays or data frames, but X is in memory "
            f"({type(X).__name__}): give open_source(X), or leave client out."
        )
    if parameters.batch_size is None:
        raise ValueError(
            "client= needs batches to run, but batch_size=None: set batch_size to a number or to "
            '"auto".'
        )
    if is_ray(client):
        return nullcontext()
    return cast("AbstractContextManager[Any]", client.as_current())


def _columns_of_source(source: Source, known: Columns | None) -> Columns:
    """Return the columns of a source; raise if others are known."""
    columns = Columns.of_source(source.n_features, source.feature_names)
    if known is None:
        return columns
    known.check_source(columns)
    return known


def _check_device_array(
    parameters: Parameters, X: Any, known: Columns | None
) -> tuple[Any, Columns]:
    """Validate an array on a device, and return it with its columns, which have no names."""
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
    if known is not None and X.shape[1] != known.n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the fit had {known.n_features}.")
    _check_squares(xp, X)
    return unit_rows(X) if parameters.metric == "cosine" else X, known or Columns(int(X.shape[1]))


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


def _open_table(
    parameters: Parameters, X: Any, known: Columns | None, *, known_rows: bool
) -> DaskTable:
    """Validate the metadata of a Dask array or data frame, without computing its rows."""
    refuse_other_collections(X)
    validation.refuse_what_is_no_table(X)
    table = DaskTable.of(X, known_rows=known_rows)
    if known is not None:
        known.check_source(table.columns)
    if parameters.metric == "cosine":
        table = replace(table, array=table.array.map_blocks(_scale_chunk, dtype=table.array.dtype))
    return table


def _scale_source(parameters: Parameters, source: Source) -> Source:
    if parameters.metric == "cosine":
        return ScaledSource(source, unit=True)
    return source


def _scale_chunk(chunk: Any) -> Any:
    """Return rows of a chunk with length 1.

    An empty chunk is a stand-in from which Dask infers types.
    """
    if np.size(chunk):
        return unit_rows(np.asarray(chunk), "A chunk of the Dask array")
    return chunk


def _check_array(
    parameters: Parameters, X: Any, known: Columns | None, *, allow_nan: bool
) -> tuple[Any, Columns]:
    """Return ``X`` as a finite C-ordered array or CSR matrix of float64 or float32, and its
    columns.
    """
    validation.refuse_what_is_no_table(X)
    accept_sparse = "csr" if parameters.take_sparse else False
    is_half = getattr(X, "dtype", None) == np.float16  # float32 has all of its values
    try:
        X, columns = validation.check_columns(
            X,
            known,
            accept_sparse=accept_sparse,
            dtype=np.float32 if is_half else (np.float64, np.float32),
            order="C",
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        validation.raise_for_cell(X, error)
        raise
    allow_nan = allow_nan and parameters.take_nan and parameters.metric != "cosine"
    validation.check_finite(X, columns.names, allow_nan=allow_nan)
    X = container_of(X).merge_repeated(X)
    X = unit_rows(X) if parameters.metric == "cosine" else X
    return narrow_indices(X), columns
