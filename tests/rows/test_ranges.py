"""Ranges in the types of fields: what is within them passes, everything else is refused with its
name and value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows import ranges
from cohirf.rows.ranges import check_ranges


def check_even(value, n_rows):
    if value % 2:
        raise ValueError(f"is {value}, which is odd, among {n_rows} rows")


@dataclass(frozen=True, eq=False)
class Inner:
    numbers: Annotated[NDArray[Any], ranges.numbers(ranges.ANY, below="n_rows", is_sorted=True)]
    stability: Annotated[NDArray[Any], ranges.shares("numbers")]
    mass: Annotated[NDArray[Any] | None, ranges.measures("numbers", least=0)] = None


@dataclass(frozen=True, eq=False)
class Outer:
    n_rows: Annotated[int, ranges.counts(), ranges.Holds(check_even, "n_rows")] = 4
    names: Annotated[NDArray[Any], ranges.numbers(ranges.ANY, below=100, is_sorted=True)] = field(
        default_factory=lambda: np.array([3, 7])
    )
    labels: Annotated[NDArray[Any], ranges.labels("n_rows", among="names")] = field(
        default_factory=lambda: np.array([3, -1, 7, 7])
    )
    cells: Annotated[Any, ranges.cells("n_rows", 2)] = field(
        default_factory=lambda: np.array([[1, np.nan]] * 4)
    )
    parts: tuple[Inner, ...] = ()
    kind: Annotated[str, ranges.OneOf(("all", "some"))] = "all"
    steps: Annotated[dict[int, list[int]], ranges.counts()] = field(default_factory=dict)
    extra: Annotated[Any, ranges.OPTIONAL, ranges.flags(ranges.ANY)] = None


def inner(**changes):
    whole = Inner(np.array([0, 2]), np.array([0.5, np.nan]), np.array([1.0, 0.0]))
    return replace(whole, **changes)


def test_what_is_within_its_ranges_passes():
    check_ranges(
        Outer(parts=(inner(), inner(mass=None)), steps={3: [1, 2]}, extra=np.array([True]))
    )
    check_ranges(Outer(cells=sparse.csr_array(np.eye(4, 2))))
    check_ranges(inner(), around=(Outer(),))


def largest(array):
    changed = array.copy()
    changed[-1] = np.iinfo(array.dtype).max
    return changed


WRONG = {
    "a row number": (
        {"numbers": largest(np.array([0, 2]))},
        "numbers has 9223372036854775807, which is not from 0 to 3",
    ),
    "a negative number": (
        {"numbers": np.array([-1, 2])},
        "numbers has -1, which is not from 0 to 3",
    ),
    "order": ({"numbers": np.array([2, 0])}, "numbers is not sorted, or has a number twice"),
    "twice": ({"numbers": np.array([2, 2])}, "numbers is not sorted, or has a number twice"),
    "type": (
        {"numbers": np.array([0.0, 2.0])},
        "numbers has the type float64, which is not int32 or int64",
    ),
    "length": (
        {"stability": np.array([0.5])},
        r"stability has the shape \(1,\), which is not \(2\)",
    ),
    "dimensions": ({"mass": np.ones((2, 1))}, r"mass has the shape \(2, 1\), which is not \(2\)"),
    "a share": ({"stability": np.array([1.5, np.nan])}, "stability has 1.5, which is not from"),
    "NaN": (
        {"mass": np.array([1.0, np.nan])},
        "mass has nan, which is not a finite number from 0 on",
    ),
    "infinity": (
        {"mass": np.array([1.0, np.inf])},
        "mass has inf, which is not a finite number from 0 on",
    ),
    "None": ({"stability": None}, "stability is missing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_field_out_of_its_range_is_named_with_its_place_and_value(case):
    changes, message = WRONG[case]
    with pytest.raises(ValueError, match=rf"^parts\[1\]\.{message}"):
        check_ranges(Outer(parts=(inner(), inner(**changes))))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_rows": 3}, "n_rows is 3, which is odd, among 3 rows"),
        ({"labels": np.array([3, 4, 7, 7])}, "labels has 4, which is not in names"),
        ({"cells": np.array([[1, np.inf]] * 4)}, "cells has inf, which is not a finite number"),
        (
            {"cells": sparse.csr_array(np.full((4, 2), np.inf))},
            "cells has inf, which is not a finite number",
        ),
        ({"kind": "none"}, "kind is 'none', which is not one of all, some"),
        ({"steps": {3: [1, -2]}}, "steps has -2.0, which is not from 0"),
        ({"steps": {10**30: []}}, r"steps has 1e\+30, which is not from 0"),
        ({"extra": np.array([1])}, "extra has the type int64, which is not bool"),
    ],
)
def test_ranges_depend_on_other_fields(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_ranges(Outer(**changes))


def test_a_name_that_nobody_has_is_told():
    with pytest.raises(ValueError, match="numbers needs n_rows, which is missing"):
        check_ranges(inner())
