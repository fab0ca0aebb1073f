"""What the library asks of the rows of a fit and of the labels that belong to them: ``Container``.

Labels, and whatever else has an entry for each row, are where the rows are; what has an entry for
each label is an array of NumPy. The functions in ``arrays.py``, ``grouping.py``, ``distances.py``
and ``members.py`` say more about each operation, and ask the container of their argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from cohirf.rows.blocks import FloatArray, IntArray
from cohirf.rows.policy import BLOCK

if TYPE_CHECKING:
    from cohirf.rows.members import Members


class Container:
    """A kind of array: how its rows are taken, moved, compared and summed up."""

    # whether each cell is stored, so that rows can be shifted, sorted by column, or kept in a file
    is_dense: ClassVar[bool] = True

    def holds(self, X: Any) -> bool:
        """Return whether ``X`` is in such a container."""
        raise NotImplementedError

    # ---- rows

    def take(self, X: Any, rows: Any) -> Any:
        """Return some rows: a slice, or an array of NumPy or beside ``X``."""
        raise NotImplementedError

    def take_columns(self, X: Any, columns: IntArray, out: Any = None) -> Any:
        """Return some columns, in ``out`` if given and possible."""
        raise NotImplementedError

    def append_columns(self, X: Any, columns: list[Any]) -> Any:
        """Return the rows with more columns, each of which is a vector."""
        raise NotImplementedError

    def join(self, blocks: list[Any]) -> Any:
        """Concatenate blocks of rows, all of which are in this container."""
        raise NotImplementedError

    def leave_out(self, X: Any, left_out: IntArray) -> Any:
        """Return the rows that are not at the given positions (sorted, distinct)."""
        raise NotImplementedError

    def put_back(self, kept: Any, others: Any, left_out: IntArray) -> Any:
        """Return a vector with ``others`` at the positions ``left_out``, and ``kept`` elsewhere."""
        raise NotImplementedError

    # ---- from one container to another

    def bring(self, values: Any, X: Any) -> Any:
        """Return an array of any library where ``X`` is."""
        raise NotImplementedError

    def like(self, X: Any, values: Any) -> Any:
        """Return an array or CSR matrix in this process in the container of ``X``."""
        raise NotImplementedError

    def look_up(self, table: Any, index: Any) -> Any:
        """Return the entry of a table at each index, where the indices are."""
        raise NotImplementedError

    def dense(self, X: Any) -> Any:
        """Return the rows with all cells."""
        return X

    def stored(self, X: Any) -> Any:
        """Return the cells that are stored, in any shape."""
        return X

    def narrow(self, X: Any) -> Any:
        """Return the rows with indices as base methods require them, if there are any."""
        return X

    def merge_repeated(self, X: Any) -> Any:
        """Return the rows with each cell stored once; a copy if cells could be repeated."""
        return X

    def say_why_methods_fail(self, name: str) -> str | None:
        """Return what a base method of this name may not have expected of the rows, if anything."""
        return None

    def cells_at_once(self, n_cells: int) -> int:
        """Return how many cells to compute at once, if it were ``n_cells`` in a processor."""
        return n_cells

    # ---- missing cells

    def find_complete(self, X: Any) -> Any:
        """Return which rows have no missing cells, as an array of NumPy."""
        raise NotImplementedError

    def fill(self, X: Any, column_means: Any) -> Any:
        """Return the rows with missing cells replaced by the means of their columns."""
        return X

    def locate(self, X: Any, is_wrong: Any) -> tuple[IntArray, IntArray]:
        """Return row and column of each cell for which a function is true."""
        raise NotImplementedError

    # ---- values

    def shift(self, X: Any, origin: Any) -> Any:
        """Return the rows minus the origin, in float64; as they are, if they would take much
        memory.
        """
        raise NotImplementedError

    def centre(self, X: Any) -> Any:
        """Return the rows around the origin: far from it, their distances lose digits.

        Rows that cannot be shifted are near it.
        """
        raise NotImplementedError

    def to_unit(self, X: Any) -> tuple[Any, Any]:
        """Return the rows with length 1, and which of them are all zeros, and stay."""
        raise NotImplementedError

    def scale(self, X: Any) -> Any:
        """Return the rows around the origin in units of their largest value: distances by products
        lose no digits, and squares do not vanish.

        Rows that cannot be shifted are near the origin.
        """
        raise NotImplementedError

    def standardise(self, X: Any) -> Any:
        """Return the rows around the origin with absolute values of at most 1, in float64.

        Ratios of distances do not change, and squares neither overflow nor vanish. Of sparse rows,
        only columns that are stored in every row are shifted.
        """
        raise NotImplementedError

    def round(self, X: Any, n_digits: int) -> Any:
        """Return the rows in units of the largest values, rounded to ``n_digits``."""
        raise NotImplementedError

    def column_moments(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of each column, in float64."""
        raise NotImplementedError

    def subtract(self, X: Any, columns: IntArray, means: FloatArray) -> Any:
        """Return the rows with the means subtracted from some columns, which may become the
        last.
        """
        raise NotImplementedError

    def count_cells(self, X: Any) -> Any:
        """Return how many cells each row stores: an array, or a number if all store as many."""
        return X.shape[1]

    def square_lengths(self, X: Any) -> Any:
        """Return the squared length of each row."""
        raise NotImplementedError

    def row_dots(self, left: Any, right: Any) -> Any:
        """Return the inner product of each row of ``left`` with that of ``right``, in float64."""
        raise NotImplementedError

    def multiply_by_rows(self, X: Any, rows: Any) -> Any:
        """Return the inner product of each row with each of some rows, as an array."""
        return X @ self.take(X, rows).T

    def find_distinct(self, X: Any) -> tuple[IntArray, IntArray]:
        """Return the first of each of the distinct rows, and the number of each row's."""
        raise NotImplementedError

    def count_distinct(self, X: Any) -> int:
        """Return the number of distinct rows; all of them where rows are not compared."""
        return int(X.shape[0])

    def are_equal_columns(self, X: Any) -> bool:
        """Return whether all columns are known to be equal, which no device is asked."""
        return False

    def find_two_valued(self, X: Any) -> Any:
        """Return which columns have at most two values; none where columns are not compared."""
        raise NotImplementedError

    def take_filled_columns(self, X: Any, fewest: float) -> tuple[IntArray, Any]:
        """Return the columns with at least ``fewest`` stored cells, and rows of these alone."""
        raise NotImplementedError

    def is_range(self, vector: Any) -> bool:
        """Return whether a vector is known to count up from 0, which no device is asked."""
        return False

    def draw_by_chance(self, chances: Any, uniforms: FloatArray) -> Any:
        """Return a row for each number between 0 and 1, with chances in proportion to a vector.

        Sums are those of integers: floating-point sums would change with their order on a device.
        """
        raise NotImplementedError

    def drawn_at_once(self, n_drawn: int) -> int:
        """Return how many rows k-means++ draws at once after ``n_drawn``: of many, a sixteenth.

        One after the other, time would grow with the square of the number of clusters.
        """
        return 1 if n_drawn < BLOCK.drawn_alone else n_drawn // BLOCK.drawn_per_new

    def sum_taken(self, table: Any, indices: list[Any]) -> Any:
        """Return the sum of the rows of a table at several indices, with all cells."""
        return sum(self.take(table, index) for index in indices)

    # ---- distances

    def find_nearest(
        self, X: Any, points: Any, *, exact: bool, groups: Any, group_of_row: Any
    ) -> Any:
        """Return the number of the point nearest to each row; see ``distances.py``."""
        raise NotImplementedError

    def label_by_cells(self, X: Any, cells: Any) -> Any:
        """Return the label of the nearest of ``cells.points`` to each row; see ``landmarks.py``."""
        raise NotImplementedError

    def label_by_nested_cells(self, X: Any, cells: Any) -> Any:
        """Return the number of the point of each row; see ``NestedCells`` in ``landmarks.py``."""
        raise NotImplementedError

    def measure(self, X: Any, points: Any) -> Any:
        """Return the Euclidean distance of each row to each point; see ``distances.py``."""
        raise NotImplementedError

    def square_pairs(self, X: Any) -> FloatArray:
        """Return the squared distances of all pairs of rows, equal in both directions."""
        raise NotImplementedError

    def square_few(self, points: Any) -> FloatArray:
        """Return the squared distances between a few rows, without loss of digits."""
        raise NotImplementedError

    def nearest_pair(self, X: Any, others: Any) -> tuple[int, int, float]:
        """Return the row that is nearest to any of the others, that one, and their distance."""
        raise NotImplementedError

    def manhattan_few(self, points: Any) -> FloatArray:
        """Return the Manhattan distances between a few rows."""
        raise NotImplementedError

    # ---- labels

    def compress(self, keys: Any, n_keys: int) -> tuple[Any, Any]:
        """Return the sorted distinct keys, and for each key its number among them."""
        raise NotImplementedError

    def pair_keys(self, left: Any, n_left: int, right: Any, n_right: int) -> Any:
        """Encode each pair (left, right) as one integer."""
        raise NotImplementedError

    def first_rows(self, labels: Any, n_labels: int) -> Any:
        """Return the first row with each label."""
        raise NotImplementedError

    def count(self, labels: Any, n_labels: int) -> Any:
        """Return the number of rows with each label."""
        raise NotImplementedError

    def count_with_noise(self, labels: Any, n_labels: int) -> Any:
        """Return the number of rows with the label -1, and then with each other label."""
        raise NotImplementedError

    def sum(self, labels: Any, values: Any, n_labels: int) -> Any:
        """Return the sum of ``values`` for each label."""
        raise NotImplementedError

    def scale_mass(self, mass: Any, labels: Any, n_labels: int) -> Any:
        """Return the mass of each row relative to the largest of its label."""
        raise NotImplementedError

    def best(self, scores: Any, labels: Any, n_labels: int, tie: float) -> IntArray:
        """Return the first row of each label whose score is at most ``tie`` below the highest."""
        raise NotImplementedError

    def number_apart(self, labels: Any, is_apart: Any, codes: Any, first: int) -> Any:
        """Give each row whose code ``is_apart`` a label of its own, from ``first`` on."""
        raise NotImplementedError

    def sort(self, labels: Any, n_labels: int) -> tuple[IntArray, Any]:
        """Return where the rows of each label start in the order of labels, and this order."""
        raise NotImplementedError

    def find_ranked(self, labels: Any, group: IntArray, ranks: IntArray, n_groups: int) -> IntArray:
        """Return the row with each rank among those of a group: a label or, for the last group,
        -1.
        """
        raise NotImplementedError

    # ---- clusters

    def members(self, X: Any, labels: Any, n_clusters: int, mass: Any) -> Members:
        """Return rows with their clusters, for means and distances to them."""
        raise NotImplementedError

    def measure_own(self, X: Any, means: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the mean of its label.

        Only of the rows that may be the nearest of their label must it keep all digits.
        """
        raise NotImplementedError

    def find_near(self, means: Any) -> Callable[[Any, IntArray], Any]:
        """Return a function that, given rows and their labels, returns which of the rows may be the
        nearest of their label to its mean.
        """
        raise NotImplementedError

    def find_exemplars(self, rows: Any, labels: Any, means: Any) -> IntArray:
        """Return the row of each label that is nearest to its mean; see ``members.py``."""
        raise NotImplementedError

    def move_centres(self, X: Any, mass: Any, centres: FloatArray, n_passes: int) -> FloatArray:
        """Return the centres after passes of K-Means; empty ones may stay or be left out."""
        raise NotImplementedError

    def label_by_some(
        self, X: Any, some: Any, mass: Any, centres: FloatArray, n_passes: int
    ) -> Any:
        """Return the nearest centre of each row after passes of K-Means over some of the rows, of
        which the mass is given.
        """
        moved = self.move_centres(some, mass, centres, n_passes)
        return self.find_nearest(X, moved, exact=False, groups=None, group_of_row=None)


def container_of(X: Any) -> Container:
    """Return the container of an array."""
    for container in known_containers():
        if container.holds(X):
            return container
    raise TypeError(f"X of type {type(X).__name__} is not in a container that the library knows.")


@cache
def known_containers() -> tuple[Container, ...]:
    """Return all containers, the most frequent first.

    They are imported when the first row is looked at: they use functions that ask them.
    """
    from cohirf.rows.containers.csr_matrices import CsrMatrices
    from cohirf.rows.containers.device_arrays import DeviceArrays
    from cohirf.rows.containers.numpy_arrays import NumpyArrays

    return NumpyArrays(), CsrMatrices(), DeviceArrays()
