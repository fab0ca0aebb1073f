"""Nested dataclasses as JSON and arrays: all kinds of fields come back, and foreign content is
refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from cohirf.store.files import CONTENT_ERRORS
from cohirf.store.schema import read, write


@dataclass(frozen=True, eq=False)
class Group:
    rows: NDArray[np.integer[Any]]
    mass: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Noise:
    is_noise: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class State:
    n_rows: int
    side: float
    is_done: bool
    name: str
    labels: NDArray[Any]
    values: Any
    also_values: Any
    groups: Group
    parts: tuple[Group | Noise, ...]
    pairs: list[tuple[int, float]]
    counts: dict[int, list[int]]
    notes: dict[str, Any] | None = None
    other: Group | None = None


def make_state(**changes):
    values = np.arange(6.0).reshape(2, 3)
    groups = Group(np.array([0, 3]), np.array([1.5, 2.5]))
    state = State(
        n_rows=4,
        side=0.5,
        is_done=True,
        name="größe",
        labels=np.array([0, 0, -1, 1], dtype=np.int8),
        values=values,
        also_values=values,
        groups=groups,
        parts=(Noise(np.array([True, False])), groups),
        pairs=[(1, 0.5), (2, np.nan)],
        counts={3: [1, 2], 5: []},
        notes={"any": [1, {"json": None}]},
    )
    return replace(state, **changes)


def there_and_back(state):
    content, arrays = write(State, state)
    return read(State, json.loads(json.dumps(content, allow_nan=False)), arrays)


def test_every_kind_of_field_comes_back():
    state = make_state()
    found = there_and_back(make_state())
    for name in ("n_rows", "side", "is_done", "name", "counts", "notes", "other"):
        assert getattr(found, name) == getattr(state, name)
    assert repr(found.pairs) == repr(state.pairs)
    np.testing.assert_array_equal(found.values, state.values)
    assert isinstance(found.parts[0], Noise)
    assert isinstance(found.parts[1], Group)
    assert found.groups.mass.tolist() == [1.5, 2.5]


def test_an_array_that_is_in_two_places_is_stored_once_and_is_one_array_again():
    content, arrays = write(State, make_state())
    assert content["values"] == content["also_values"]
    assert len(arrays) == len({id(array) for array in arrays}) == 5
    found = read(State, content, arrays)
    assert found.values is found.also_values
    half = there_and_back(make_state(also_values=make_state().values[:1]))
    assert half.also_values.shape == (1, 3)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
def test_csr_matrices_come_back(make):
    values = make(np.array([[0.0, 1.0], [2.0, 0.0]]))
    found = there_and_back(make_state(values=values, also_values=values))
    assert type(found.values) is make
    assert found.values is found.also_values
    assert (found.values != values).nnz == 0


def test_numbers_of_numpy_are_numbers():
    found = there_and_back(
        make_state(n_rows=np.int64(4), side=np.float32(0.5), is_done=np.bool_(True))
    )
    assert (type(found.n_rows), type(found.side), type(found.is_done)) == (int, float, bool)


def test_an_infinite_number_cannot_be_stored():
    with pytest.raises(ValueError, match="JSON compliant"):
        there_and_back(make_state(side=np.inf))


CONTENT = {
    "another type": {"n_rows": "four"},
    "no array": {"labels": 99},
    "array by text": {"labels": "0"},
    "no dataclass": {"groups": 5},
    "unknown member": {"parts": [{"State": {}}]},
    "no list": {"parts": 5},
    "short pair": {"pairs": [[1]]},
    "no pairs": {"counts": [5]},
}


@pytest.mark.parametrize("name", CONTENT)
def test_foreign_content_is_refused(name):
    content, arrays = write(State, make_state())
    with pytest.raises(CONTENT_ERRORS):
        read(State, content | CONTENT[name], arrays)


@pytest.mark.parametrize(
    "change",
    [
        {"indptr": [0, 2, 1, 3]},
        {"indptr": [0, 9, 9, 0]},
        {"indptr": [0, 1, 2]},
        {"indptr": [1, 1, 2, 3]},
        {"indices": [0, 1, 2]},
        {"indices": [0, -1, 1]},
        {"indices": [0, 1]},
        {"data": [1.0]},
        {"kind": "coo_matrix"},
        {"shape": [3]},
    ],
    ids=str,
)
def test_a_csr_matrix_whose_parts_lead_outside_is_refused(change):
    parts = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 1], "indptr": [0, 1, 2, 3]}
    arrays = [np.array(change.get(name, part)) for name, part in parts.items()]
    content = {
        "csr": change.get("kind", "csr_array"),
        "shape": change.get("shape", [3, 2]),
        "parts": [0, 1, 2],
    }

    @dataclass
    class Matrix:
        values: Any

    assert [field.name for field in fields(Matrix)] == ["values"]
    good = [np.array(part) for part in parts.values()]
    assert read(
        Matrix, {"values": content | {"csr": "csr_array", "shape": [3, 2]}}, good
    ).values.shape == (3, 2)
    with pytest.raises(CONTENT_ERRORS):
        read(Matrix, {"values": content}, arrays)
