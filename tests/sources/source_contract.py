"""What every source does, whatever it reads from. The tests of an adapter subclass one of these classes."""

import hashlib
import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.utils import check_array

from cohirf import CoHiRF, open_source
from cohirf.sources import SourceChangedError

N_ROWS, N_FEATURES = 1_100, 4
ROWS = {
    "all": np.arange(N_ROWS),
    "first": np.array([0]),
    "last": np.array([N_ROWS - 1]),
    "first and last": np.array([0, N_ROWS - 1]),
    "none": np.array([], dtype=int),
    "a run": np.arange(290, 725),
    "a run of two": np.array([299, 300]),
    "all but one": np.delete(np.arange(N_ROWS), 517),
    "every seventh": np.arange(3, N_ROWS, 7),
    "two runs": np.r_[10:200, 640:900],
    "few": np.array([5, 6, 411, 1003]),
    "int32": np.arange(20, 50, dtype=np.int32),
    "uint64": np.array([20, 21, 900], dtype=np.uint64),
}
PIECES = [f"cohirf.sources.{name}" for name in ("source.PIECE_BYTES", "npy.PIECE_BYTES", "parquet.PIECE_BYTES")]
PIECES += [
    "cohirf.sources.zarr.PIECE_BYTES",
    "cohirf.sources.arrow_ipc.MAPPED_BYTES",
    "cohirf.sources.arrow_ipc.LOADED_BYTES",
    "cohirf.sources.npy.SEEK_BYTES",
]


@cache
def other_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def read_elsewhere(source, rows):
    return os.getpid(), source.take(rows), source.fingerprint()


def make_data(dtype=np.float64):
    return np.random.default_rng(0).normal(scale=50, size=(N_ROWS, N_FEATURES)).astype(dtype)


class SourceContract:
    """Subclasses say how an array gets into their storage."""

    names = None  # of the features, where the storage keeps names
    types = ("f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
    most_handle_bytes = 2_500

    def store(self, X, folder):
        """Put ``X`` into the storage; return what is given to ``open_source``."""
        raise NotImplementedError

    @pytest.fixture
    def X(self):  # noqa: N802 - as scikit-learn calls data
        return make_data()

    @pytest.fixture
    def tiny_pieces(self, monkeypatch):
        for constant in PIECES:
            monkeypatch.setattr(constant, 1_000)

    @pytest.fixture(params=["ordinary pieces", "tiny pieces"])
    def source(self, X, tmp_path, request):
        if request.param == "tiny pieces":
            request.getfixturevalue("tiny_pieces")
        return open_source(self.store(X, tmp_path))

    def columns(self, *numbers):
        """Return the way to choose columns that the storage has."""
        return list(numbers) if self.names is None else [self.names[number] for number in numbers]

    def test_it_knows_its_size_type_and_names(self, source):
        assert (source.n_rows, source.n_features) == (N_ROWS, N_FEATURES)
        assert source.dtype == np.float64
        assert source.feature_names == self.names

    def test_it_shows_itself_in_one_line(self, source):
        assert repr(source) == f"{type(source).__name__}({source.name}: 1,100 rows x 4 features, float64)"
        assert "\n" not in repr(source)

    def test_rows_are_those_of_the_array(self, source, X):
        for which, rows in ROWS.items():
            taken = source.take(rows)
            assert taken.dtype == np.float64
            assert taken.dtype.isnative
            assert taken.shape == (len(rows), N_FEATURES)
            np.testing.assert_array_equal(self.dense(taken), X[rows], err_msg=which)

    def dense(self, taken):
        return taken

    def test_rows_are_new_memory_in_c_order(self, source, X):
        for rows in (np.arange(N_ROWS), np.arange(40), np.array([1, 5])):
            taken = source.take(rows)
            assert taken.flags.c_contiguous
            assert taken.flags.writeable
            taken[:] = -1
            np.testing.assert_array_equal(source.take(rows), X[rows])

    def test_blocks_may_be_read_in_any_order(self, source, X):
        starts = np.arange(0, N_ROWS, 90)
        for order in (starts, starts[::-1], np.random.default_rng(1).permutation(starts)):
            for start in order:
                rows = np.arange(start, min(start + 90, N_ROWS))
                np.testing.assert_array_equal(self.dense(source.take(rows)), X[rows])

    def test_threads_read_beside_each_other(self, source, X):
        rng = np.random.default_rng(2)
        runs = [np.arange(start, start + 70) for start in rng.integers(0, N_ROWS - 70, 20)]
        wanted = runs + [np.unique(rng.integers(0, N_ROWS, 30)) for _ in range(10)]
        with ThreadPoolExecutor(8) as pool:
            for rows, taken in zip(wanted, pool.map(source.take, wanted), strict=True):
                np.testing.assert_array_equal(self.dense(taken), X[rows])

    def test_its_handle_is_small(self, source):
        source.take(np.arange(50))
        assert len(pickle.dumps(source)) < self.most_handle_bytes

    def test_another_process_reads_the_same(self, X, tmp_path):
        source = open_source(self.store(X, tmp_path))
        rows = np.array([3, 4, 700])
        process, taken, fingerprint = other_process().submit(read_elsewhere, source, rows).result(timeout=600)
        assert process != os.getpid()
        np.testing.assert_array_equal(self.dense(taken), X[rows])
        assert fingerprint == source.fingerprint()

    def test_the_fingerprint_is_short_and_stays(self, X, tmp_path):
        data = self.store(X, tmp_path)
        assert open_source(data).fingerprint() == open_source(data).fingerprint()
        assert len(open_source(data).fingerprint()) == 32

    def test_the_fingerprint_tells_data_and_columns_apart(self, X, tmp_path):
        (tmp_path / "other").mkdir()
        data = self.store(X, tmp_path)
        fingerprints = {
            open_source(data).fingerprint(),
            open_source(data, columns=self.columns(0, 1)).fingerprint(),
            open_source(data, columns=self.columns(1, 0)).fingerprint(),
            open_source(self.store(X + 1, tmp_path / "other")).fingerprint(),
        }
        assert len(fingerprints) == 4

    @pytest.mark.parametrize("numbers", [(2,), (0, 3), (3, 1, 0)])
    def test_columns_are_read_in_the_order_given(self, X, tmp_path, numbers):
        source = open_source(self.store(X, tmp_path), columns=self.columns(*numbers))
        assert source.n_features == len(numbers)
        assert source.feature_names == (self.names and self.columns(*numbers))
        for rows in (np.arange(200, 800), np.array([0, 7, 1_099])):
            np.testing.assert_array_equal(self.dense(source.take(rows)), X[np.ix_(rows, numbers)])

    def test_columns_may_be_chosen_by_a_function(self, X, tmp_path):
        left_out = self.columns(1)[0]
        source = open_source(self.store(X, tmp_path), columns=lambda column: column != left_out)
        np.testing.assert_array_equal(self.dense(source.take([5, 9])), X[np.ix_([5, 9], [0, 2, 3])])

    def test_types_are_those_of_scikit_learn(self, tmp_path):
        for dtype in self.types:
            X = np.abs(make_data()).astype(dtype)
            (tmp_path / dtype.replace("?", "bool")).mkdir()
            source = open_source(self.store(X, tmp_path / dtype.replace("?", "bool")))
            taken = source.take(np.arange(N_ROWS))
            checked = check_array(X, dtype=(np.float64, np.float32))
            assert source.dtype == taken.dtype == checked.dtype, dtype
            np.testing.assert_array_equal(self.dense(taken), checked)
            np.testing.assert_array_equal(self.dense(source.take([1, 8])), checked[[1, 8]])

    @pytest.mark.parametrize(
        ("value", "fault"),
        [
            (np.nan, r"contains NaN\. .*impute them"),
            (np.inf, r"contains infinity: replace infinite values"),
            (-np.inf, r"contains infinity: replace infinite values"),
            (1e200, r"holds values up to 1e\+200, whose squares overflow float64: scale the data first\."),
        ],
    )
    def test_a_value_that_is_no_use_is_refused_where_it_is_read(self, X, tmp_path, value, fault):
        X[1_007, 2] = value
        source = open_source(self.store(X, tmp_path))
        np.testing.assert_array_equal(self.dense(source.take(np.arange(1_000))), X[:1_000])
        with pytest.raises(ValueError, match=f"rows 1,000 to 1,099: {fault}") as caught:
            source.take(np.arange(1_000, 1_100))
        assert str(caught.value).startswith(f"{source.name}, rows")
        assert "\n" not in str(caught.value)
        if not np.isfinite(value):
            self.check_that_a_cell_is_named(str(caught.value))
        np.testing.assert_array_equal(self.dense(source.take([1_006, 1_008])), X[[1_006, 1_008]])

    def check_that_a_cell_is_named(self, message):
        assert message.endswith(f"The first is in row 1,007, column {self.columns(2)[0]!r}.")

    def test_row_numbers_are_checked(self, X, tmp_path):
        source = open_source(self.store(X, tmp_path))
        for rows in ([3, 2], [0, 2, 1], [2, 2], [0.5], [[1, 2]]):
            with pytest.raises(ValueError, match="row numbers must be sorted, distinct integers"):
                source.take(rows)
        for rows, shown in (([-1, 2], "-1 to 2"), ([5, 1_100], "5 to 1,100")):
            with pytest.raises(IndexError, match=f"has rows 0 to 1,099, not {shown}"):
                source.take(rows)

    def test_a_fit_finds_the_clusters_of_the_array(self, X, tmp_path):
        data = self.store(X, tmp_path)
        model = CoHiRF.as_published(KMeans(4, n_init=1), n_views=2, random_state=0)
        expected = model.fit(self.fitted_alike(X)).parents_
        assert (model.fit(open_source(data)).parents_ == expected).all()

    def fitted_alike(self, X):
        """Return ``X`` in the form in which a fit rounds it as this source's."""
        return X


class FileContract(SourceContract):
    """What every source that reads files does, besides."""

    def file(self, data) -> Path:
        """Return a file in which rows are stored, of what ``store`` returned."""
        return data

    @pytest.mark.parametrize("change", ["rewritten", "truncated", "replaced", "removed"])
    def test_a_file_that_changed_is_noticed_and_named(self, tiny_pieces, X, tmp_path, change):
        data = self.store(X, tmp_path)
        file = self.file(data)
        source = open_source(data)
        source.take(np.arange(100))
        content = file.read_bytes()
        later = file.stat().st_mtime_ns + 1_000_000_000
        if change == "replaced":
            (tmp_path / "new").write_bytes(content)
            (tmp_path / "new").replace(file)
        elif change == "removed":
            file.unlink()
        else:
            file.write_bytes(content if change == "rewritten" else content[: len(content) // 2])
        if change != "removed":
            os.utime(file, ns=(later, later))  # the clock of a file system may be coarse
        with pytest.raises(SourceChangedError, match=r"open it again|restore the file") as caught:
            source.take(np.arange(900, 1_000))
        assert file.name in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_reading_leaves_the_files_alone(self, X, tmp_path):
        data = self.store(X, tmp_path)
        before = state_of(tmp_path)
        source = open_source(data)
        for rows in ROWS.values():
            source.take(rows)
        source.fingerprint()
        assert state_of(tmp_path) == before

    def test_the_working_directory_may_change(self, X, tmp_path, monkeypatch):
        data = self.store(X, tmp_path)
        monkeypatch.chdir(tmp_path)
        source = open_source(data.relative_to(tmp_path))
        assert source.name == str(data.relative_to(tmp_path))
        monkeypatch.chdir("/")
        np.testing.assert_array_equal(source.take(np.arange(5)), X[:5])

    def test_an_odd_file_name_is_shown_in_one_line(self, X, tmp_path):
        (tmp_path / "odd\nname\t").mkdir()
        source = open_source(self.store(X, tmp_path / "odd\nname\t"))
        assert "\n" not in source.name
        np.testing.assert_array_equal(source.take([0, 9]), X[[0, 9]])


def state_of(folder):
    """Return name, time and content of everything in a folder, of the folders its names and times."""
    return {
        path: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None)
        for path in [folder, *folder.rglob("*")]
    }
