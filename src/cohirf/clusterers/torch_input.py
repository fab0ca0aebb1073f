"""What clusterers on torch are given: data and weights of any kind, validated, as tensors on one device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn import get_config
from sklearn.utils.validation import validate_data

from cohirf.array_kinds import array_kind, to_torch
from cohirf.clusterers.torch_rows import Tensor


def read_values(estimator: Any, X: Any, device: str | None, *, reset: bool) -> Tensor:
    """Return the data as a tensor of floating-point numbers.

    Parameters
    ----------
    estimator : estimator
        Its number and names of features are set or compared.
    X : tensor or array
        What the user passed.
    device : str or None
        Where the tensor is to be; None means where ``X`` is.
    reset : bool
        Whether to set the number and names of features, and not compare them.
    """
    if array_kind(X) == "numpy":
        X = validate_data(estimator, X, reset=reset, dtype=(np.float64, np.float32), order="C")
        return to_torch(X, device)
    values = to_torch(X, device)
    if values.layout != torch.strided or values.is_complex():
        raise TypeError(f"X is a tensor with layout {values.layout} and type {values.dtype}: give dense real numbers.")
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"X has shape {tuple(values.shape)}: give a matrix with at least one row and one column.")
    validate_data(estimator, values, reset=reset, skip_check_array=True)
    if not values.is_floating_point():
        values = values.float()
    if not (get_config()["assume_finite"] or is_finite(values)):
        raise ValueError("Input X contains NaN or infinity: impute such values, or leave their rows out.")
    return values


def read_weights(sample_weight: Any, values: Tensor, dtype: Any) -> Tensor | None:
    """Return the weight of each row as a tensor of ``dtype`` beside ``values``; None if all are 1."""
    if sample_weight is None:
        return None
    weights = to_torch(sample_weight, values.device).to(dtype)
    if weights.shape != values.shape[:1]:
        raise ValueError(
            f"sample_weight has shape {tuple(weights.shape)}: give {len(values)} weights, one for each row."
        )
    if not is_finite(weights):
        raise ValueError("Input sample_weight contains NaN or infinity: give finite weights.")
    low, high = torch.stack([weights.min(), weights.max()]).tolist()
    if low < 0:
        raise ValueError(f"Negative values in data passed to `sample_weight`, down to {low:g}: give weights >= 0.")
    if high == 0:
        raise ValueError("All sample weights are zero: at least one row needs a positive weight.")
    return weights


def is_finite(values: Tensor) -> bool:
    """Return whether all values are finite; usually in one pass and without memory for a result per value."""
    total = values.sum(dtype=torch.promote_types(values.dtype, torch.float32))
    return bool(total.isfinite()) or bool(values.isfinite().all())  # finite values may have an infinite sum
