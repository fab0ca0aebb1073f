"""A fit that was stopped goes on where it stood; one that is another fit is refused in words."""

import os
import re
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy
import sklearn
from benchmarks.faults import count_records
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cohirf.fit_identity
import cohirf.fitting.settings
from cohirf import CoHiRF, open_source
from cohirf.fit_identity import FREE_PARAMETERS
from cohirf.store.archive import Archive
from cohirf.store.checkpoint import CHECKPOINT, open_checkpoint
from cohirf.store.files import CheckpointError, CheckpointWarning
from resumable import Cells, StoppedKMeans, X, fit, make_model, result
from systems import posix_only

# batches are tiny here, so that there are many
pytestmark = pytest.mark.filterwarnings("ignore::cohirf.ThinBatchesWarning")

FILES = ["journal", "lock"]
WEIGHTS = np.arange(len(X)) % 4
OPTIONS = {  # parameters, and whether the data is a source
    "strict": ({"views": 2}, False),
    "strict, source": ({"views": 2}, True),
    "jobs": ({"views": 2, "n_jobs": 2}, False),
    "jobs, source": ({"views": 3, "consensus": "relaxed", "max_features": 2, "n_jobs": 2}, True),
    "medoid weights, source": ({"medoid_weights": True}, True),
    "rbf": ({"medoid": "rbf"}, False),
    "one batch": ({"batch_size": None}, False),
    "K-Means": ({"estimator": StoppedKMeans(4, n_init=1), "max_features": 2, "views": 2}, True),
}
SPARSE = np.where(X > 0, X, 0)
DATA = {
    "float32": lambda: X.astype(np.float32),
    "float32 source": lambda: open_source(X.astype(np.float32)),
    "CSR matrix": lambda: sparse.csr_matrix(SPARSE),
    "CSR source": lambda: open_source(sparse.csr_matrix(SPARSE)),
    "CSR array source": lambda: open_source(sparse.csr_array(SPARSE)),
    "CSR source without a value": lambda: open_source(sparse.csr_array(X.shape)),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The checkpoint of a fit that was stopped in its fourth batch, to be copied."""
    path = tmp_path_factory.mktemp("stopped") / "checkpoint"
    fit(make_model(path), stop_at=4)
    return path


@pytest.fixture
def half_done(stopped, path):
    """A checkpoint of a fit that was stopped in its fourth batch."""
    return shutil.copytree(stopped, path)


@cache
def whole_fit():
    """Return what the fit finds that nothing stops, and how often it calls its base method."""
    found, calls = fit(make_model())
    return result(found), len(calls)


def names(path):
    return sorted(entry.name for entry in path.iterdir())


@contextmanager
def refused(message):
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        yield


# -- the same fit goes on


def stop_and_resume(model, data, path, **fit_options):
    """Return the results of an undisturbed and of a resumed fit, and how often either called its
    base method.
    """
    whole, calls = fit(model, data, **fit_options)
    expected = result(whole)
    stopped, _ = fit(
        model.set_params(checkpoint=path), data, stop_at=min(4, len(calls)), **fit_options
    )
    assert stopped is None
    resumed, later = fit(model, data, **fit_options)
    assert names(path) == FILES
    return expected, result(resumed), len(calls), len(later)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_stopped_fit_gives_what_it_would_have_given(name, path):
    options, is_source = OPTIONS[name]
    expected, found, *_ = stop_and_resume(
        make_model(**options), open_source(X) if is_source else X, path
    )
    assert found == expected


@pytest.mark.parametrize("data", DATA)
def test_every_kind_of_data_comes_back_from_the_journal(data, path):
    expected, found, n_calls, n_later = stop_and_resume(make_model(), DATA[data](), path)
    assert found == expected
    assert n_later == n_calls - min(4, n_calls) + 1


@pytest.mark.parametrize("options", [{}, {"medoid_weights": True}], ids=["plain", "medoid weights"])
@pytest.mark.parametrize("open_data", [np.asarray, open_source], ids=["array", "source"])
def test_a_stopped_fit_with_sample_weights_gives_what_it_would_have_given(options, open_data, path):
    expected, found, *_ = stop_and_resume(
        make_model(**options), open_data(X), path, sample_weight=WEIGHTS
    )
    assert found == expected


def test_a_base_method_gets_the_same_kind_of_matrix_after_a_resume(path):
    kinds = []

    class Kinds(Cells):
        def fit(self, X, y=None):
            kinds.append((type(X), X.indices.dtype))
            return super().fit(X)

    for make in (sparse.csr_matrix, sparse.csr_array):
        kinds.clear()
        model = make_model(path / make.__name__, estimator=Kinds())
        data = open_source(make(SPARSE))
        path.mkdir(exist_ok=True)
        fit(model, data, stop_at=6)
        fit(model, data)
        assert set(kinds) == {(make, np.dtype(np.int32))}


def test_a_fit_stopped_at_any_batch_computes_no_batch_twice(tmp_path):
    whole, calls = fit(make_model(), open_source(X))
    assert len(set(calls)) == len(calls) > 6
    for stop_at in range(1, len(calls) + 1):
        model = make_model(tmp_path / str(stop_at))
        _, before = fit(model, open_source(X), stop_at=stop_at)
        resumed, after = fit(model, open_source(X))
        assert before[:-1] + after == calls
        assert result(resumed) == result(whole)


def test_a_fit_that_is_stopped_in_each_batch_gets_through(path):
    whole, calls = fit(make_model())
    model = make_model(path)
    for batch in calls[:-1]:
        stopped, done = fit(model, stop_at=2)
        assert stopped is None
        assert done[0] == batch
    resumed, done = fit(model)
    assert done == calls[-1:]
    assert result(resumed) == result(whole)


def test_a_finished_fit_is_read_without_a_call_of_the_base_method(path):
    whole, _ = fit(make_model(path))
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    again, calls = fit(make_model(path))
    assert calls == []
    assert result(again) == result(whole)
    # with the time it took to compute, not to read
    assert repr(again.diagnostics_) == repr(whole.diagnostics_)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_data_that_was_contracted_is_not_read_again(path, monkeypatch):
    _, calls = fit(make_model(), open_source(X))
    fit(make_model(path), open_source(X), stop_at=len(calls))
    source = open_source(X)
    reads = []
    monkeypatch.setattr(type(source), "take", lambda self, rows: reads.append(rows) or self.X[rows])
    fit(make_model(path), source)
    assert reads == []


def test_a_fit_goes_on_with_another_number_of_jobs(path):
    whole, _ = fit(make_model(views=2))
    fit(make_model(path, views=2), stop_at=4)
    fit(make_model(path, views=2, n_jobs=2), stop_at=7)
    resumed, _ = fit(make_model(path, views=2, n_jobs=1))
    assert result(resumed) == result(whole)


@pytest.mark.filterwarnings("ignore:The last level still merged")
def test_more_levels_go_on_from_the_last_one(path):
    whole, calls = fit(make_model())
    _, first = fit(make_model(path, max_iter=2))
    _, none = fit(make_model(path, max_iter=1))
    more, rest = fit(make_model(path, max_iter=1000))
    assert first + rest == calls
    assert none == []
    assert (more.parents_ == whole.parents_).all()
    assert more.n_iter_ == whole.n_iter_ > 2


def test_what_does_not_change_the_batches_may_change(half_done, capsys):
    model = make_model(half_done, n_jobs=2, verbose=1, min_cluster_size=20)
    resumed, calls = fit(model)
    whole, all_calls = fit(make_model(min_cluster_size=20))
    assert len(calls) == len(all_calls) - 3
    assert result(resumed) == result(whole)
    assert capsys.readouterr().out.startswith("[CoHiRF] level 1: 240 -> ")


def test_a_checkpoint_can_be_moved(half_done, tmp_path):
    moved = half_done.rename(tmp_path / "elsewhere")
    assert result(fit(make_model(moved))[0]) == whole_fit()[0]


def test_a_path_may_be_text_or_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit(make_model("here"), stop_at=3)
    assert len(fit(make_model(tmp_path / "here"))[1]) == whole_fit()[1] - 2


# -- seeds ---------------------------------------------------------------------------------------------------------


def test_without_a_seed_the_first_draw_is_kept(path):
    fit(make_model(path, random_state=None), stop_at=4)
    resumed, _ = fit(make_model(path, random_state=None))
    again, calls = fit(make_model(path, random_state=None))
    assert calls == []
    assert result(again) == result(resumed)
    assert result(fit(make_model(random_state=None))[0]) != result(resumed)


def test_a_random_state_instance_resumes_from_the_state_it_had(path):
    fit(make_model(path, random_state=np.random.RandomState(7)), stop_at=4)
    resumed, _ = fit(make_model(path, random_state=np.random.RandomState(7)))
    assert result(resumed) == result(fit(make_model(random_state=np.random.RandomState(7)))[0])
    moved_on = np.random.RandomState(7)
    moved_on.randint(2)
    with pytest.raises(
        CheckpointError,
        match=r"belongs to another fit: random_state was tuple\(.*\) and is tuple\(",
    ):
        fit(make_model(path, random_state=moved_on))


def test_numbers_of_numpy_are_numbers(half_done):
    model = make_model(
        half_done, views=np.int64(1), batch_size=np.int32(40), random_state=np.int64(0)
    )
    assert len(fit(model)[1]) == whole_fit()[1] - 3


# -- another fit is refused


CHANGES = {
    "n_clusters": (2, "'levels'", "2"),
    "views": (2, "1", "2"),
    "max_features": (2, "1.0", "2"),
    "consensus": ("relaxed", "'strict'", "'relaxed'"),
    "medoid": ("euclidean", "'cosine'", "'euclidean'"),
    "medoid_weights": (True, "False", "True"),
    "batch_size": (41, "40", "41"),
    "batches": ("local", "'random'", "'local'"),
    "metric": ("cosine", "'euclidean'", "'cosine'"),
    "device": ("cpu", "None", "'cpu'"),
    "estimator__width": (0.5, "0.6", "0.5"),
    "estimator__random_state": (1, "None", "1"),
}


def test_every_parameter_is_either_free_or_refused():
    as_other_data = {"metric"}  # rows of length 1 are other rows
    assert (
        set(make_model().get_params())
        == {"estimator"} | as_other_data | set(CHANGES) | FREE_PARAMETERS
    )


def another_fit(path, name, was, now):
    return refused(
        f"checkpoint={str(path)!r} belongs to another fit: {name} was {was} and is {now}. Give "
        "another directory, or repeat the fit it belongs to."
    )


@pytest.mark.parametrize("name", CHANGES)
def test_another_parameter_is_named(name, half_done):
    value, was, now = CHANGES[name]
    with another_fit(half_done, name, was, now):
        fit(make_model(half_done).set_params(**{name: value}))


def test_a_fit_that_reads_a_source_is_not_that_of_an_array(tmp_path):
    blobs = make_blobs(1000, n_features=6, centers=4, random_state=0)[0]
    model = CoHiRF.as_published(
        KMeans(4, n_init=1), batch_size=100, random_state=0, checkpoint=tmp_path / "fit"
    )
    model.fit(open_source(blobs))
    with another_fit(tmp_path / "fit", "reading", "'in order'", "'at random'"):
        model.fit(blobs)


def test_another_seed_is_named(half_done):
    with another_fit(half_done, "random_state", "0", "1"):
        fit(make_model(half_done, random_state=1))
    with another_fit(half_done, "random_state", "0", "None"):
        fit(make_model(half_done, random_state=None))


def test_another_base_method_is_named(half_done):
    class Cells2(Cells):
        pass

    name = f"{__name__}.test_another_base_method_is_named.<locals>.Cells2"
    with another_fit(half_done, "estimator", "resumable.Cells", name):
        fit(make_model(half_done, estimator=Cells2()))


def test_another_base_method_with_other_parameters_is_refused(half_done):
    with another_fit(half_done, "estimator__random_state", "None", "not given"):
        fit(make_model(half_done, estimator=make_pipeline(StandardScaler(), Cells())))


def test_other_data_is_named(half_done):
    other = X.copy()
    other[-1, -1] = np.nextafter(other[-1, -1], 1)
    with pytest.raises(
        CheckpointError, match=r"belongs to another fit: data was '[0-9a-f]+' and is '[0-9a-f]+'\. "
    ):
        fit(make_model(half_done), other)


def test_another_number_of_rows_and_of_features_is_named(half_done):
    with another_fit(half_done, "rows", "240", "239"):
        fit(make_model(half_done), X[1:])
    with another_fit(half_done, "features", "3", "2"):
        fit(make_model(half_done), X[:, 1:])


def test_data_of_another_type_is_refused(half_done):
    with pytest.raises(CheckpointError, match="belongs to another fit: data was "):
        fit(make_model(half_done), X.astype(np.float32))


def test_other_weights_are_named(half_done):
    with pytest.raises(
        CheckpointError,
        match=r"sample_weight was None and is array float64 \(240,\) [0-9a-f]{32}\.",
    ):
        fit(make_model(half_done), sample_weight=WEIGHTS)


@pytest.mark.parametrize("module", [np, scipy, sklearn], ids=["numpy", "scipy", "scikit-learn"])
def test_another_version_of_a_package_is_named(module, half_done, monkeypatch):
    name = "scikit-learn" if module is sklearn else module.__name__
    version = module.__version__
    monkeypatch.setattr(module, "__version__", "99.0")
    with another_fit(half_done, name, version, "99.0"):
        fit(make_model(half_done))


def test_another_version_of_this_package_is_named(half_done, monkeypatch):
    version = cohirf.__version__
    monkeypatch.setattr("cohirf.fit_identity.__version__", "99.0")
    with another_fit(half_done, "cohirf", version, "99.0"):
        fit(make_model(half_done))


def test_a_refused_checkpoint_is_left_as_it_was(half_done):
    before = {file.name: file.read_bytes() for file in half_done.iterdir()}
    with pytest.raises(CheckpointError):
        fit(make_model(half_done, views=2))
    assert {file.name: file.read_bytes() for file in half_done.iterdir()} == before
    assert len(fit(make_model(half_done))[1]) == whole_fit()[1] - 3


def test_batches_that_do_not_fit_are_refused_whatever_the_beginning_says(half_done, monkeypatch):
    was, *_ = beginning_of(half_done)
    monkeypatch.setattr(cohirf.fitting.settings, "describe_fit", lambda *_, **__: was)
    with refused(
        f"{half_done / 'journal'} holds batch (1, 0) with 40 rows where the fit has (1, 0) with "
        "42: the checkpoint belongs to another fit. Give another directory."
    ):
        fit(make_model(half_done), np.concatenate([X, X[:12]]))


# -- directories


def test_a_directory_with_other_files_is_refused_and_left_alone(path):
    path.mkdir()
    (path / "thesis.tex").touch()
    with refused(
        f"checkpoint={str(path)!r} contains 'thesis.tex', which does not belong to a checkpoint of "
        "this version of cohirf: give an empty or new directory."
    ):
        fit(make_model(path))
    assert names(path) == ["thesis.tex"]


def test_a_checkpoint_of_an_older_version_is_refused_and_left_alone(half_done):
    (half_done / "manifest.json").touch()  # it had one more file
    with pytest.raises(
        CheckpointError, match=r"contains 'manifest.json', which does not belong to a"
    ):
        fit(make_model(half_done))


def test_an_empty_directory_is_taken(path):
    path.mkdir()
    fit(make_model(path))
    assert names(path) == FILES


def test_hidden_files_do_not_matter(half_done):
    (half_done / ".DS_Store").touch()
    assert len(fit(make_model(half_done))[1]) == whole_fit()[1] - 3


def not_opened(error, reason, path):
    message = (
        f"The checkpoint was not opened ({reason}): give a directory that can be written to, or a "
        f"new one in a directory that exists: {str(path)!r}"
    )
    return pytest.raises(error, match=rf"^\[Errno \d+\] {re.escape(message)}$")


def test_a_missing_parent_is_named_and_not_made(path):
    with not_opened(FileNotFoundError, "No such file or directory", path / "inside"):
        fit(make_model(path / "inside"))
    assert not path.exists()


def test_a_file_is_no_directory(path):
    path.touch()
    with not_opened(NotADirectoryError, "Not a directory", path):
        fit(make_model(path))
    with not_opened(NotADirectoryError, "Not a directory", path / "inside"):
        fit(make_model(path / "inside"))


@contextmanager
def without_privileges():
    """Be a user without rights for a while; permissions do not bind the superuser."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public_path():
    """A directory that every user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@posix_only
def test_a_directory_without_permission_is_named(public_path):
    public_path.chmod(0o555)
    with (
        without_privileges(),
        not_opened(PermissionError, "Permission denied", public_path / "new"),
    ):
        fit(make_model(public_path / "new"))
    with (
        without_privileges(),
        not_opened(PermissionError, "Permission denied", public_path / "lock"),
    ):
        fit(make_model(public_path))
    public_path.chmod(0o755)
    assert names(public_path) == []


@posix_only
def test_a_checkpoint_that_may_not_be_written_to_is_named_and_left_alone(public_path):
    fit(make_model(public_path), stop_at=4)
    for file in public_path.iterdir():
        file.chmod(0o444)
    with (
        without_privileges(),
        not_opened(PermissionError, "Permission denied", public_path / "lock"),
    ):
        fit(make_model(public_path))
    for file in public_path.iterdir():
        file.chmod(0o644)
    assert len(fit(make_model(public_path))[1]) == whole_fit()[1] - 3


def test_errors_of_the_data_are_not_taken_for_those_of_the_checkpoint(path, monkeypatch):
    def fail(*_):
        raise OSError("the cable is unplugged")

    source = open_source(X)
    monkeypatch.setattr(type(source), "take", fail)
    with pytest.raises(OSError, match=r"^the cable is unplugged$"):
        fit(make_model(path), source)


# -- one fit at a time


def in_use(path):
    return refused(
        f"checkpoint={str(path)!r} is in use by another fit: wait until that ends, or give another "
        "directory."
    )


def test_of_two_fits_on_one_directory_one_is_refused(half_done):
    class Inner(Cells):
        def fit(self, X, y=None):
            with in_use(half_done):
                make_model(half_done).fit(X)
            return super().fit(X)

    outer = make_model(half_done.parent / "outer", estimator=Inner())
    with open_checkpoint(half_done, *beginning_of(half_done)):
        assert fit(outer)[0].n_clusters_ > 1
    assert len(fit(make_model(half_done))[1]) == whole_fit()[1] - 3


def beginning_of(path):
    """Return what the checkpoint was made for, what may not be settled anew, and the number of
    rows.
    """
    with (path / "journal").open("rb", buffering=0) as file:
        archive = Archive(file)
        archive.open(*CHECKPOINT.kind)
        return archive.read()[0]["fit"], lambda: pytest.fail("settled already"), len(X)


@posix_only
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_lock_of_a_killed_process_is_free(half_done):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        with open_checkpoint(half_done, *beginning_of(half_done)):
            os.write(tell, b"!")
            time.sleep(600)
    os.read(ready, 1)
    try:
        with in_use(half_done):
            fit(make_model(half_done))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(tell)
    assert len(fit(make_model(half_done))[1]) == whole_fit()[1] - 3


def test_the_lock_is_free_after_an_error(half_done):
    with pytest.raises(CheckpointError):
        fit(make_model(half_done, views=2))
    assert fit(make_model(half_done))[0] is not None


# -- what is on disk


def test_the_journal_is_on_disk_before_it_has_its_name_and_the_name_after(path, monkeypatch):
    events = []
    fsync = os.fsync
    monkeypatch.setattr(
        os,
        "fsync",
        lambda fd: (events.append((os.fstat(fd).st_ino, names_if_any(path))), fsync(fd)),
    )
    fit(make_model(path), stop_at=1)
    made, journal, directory = (
        file.stat().st_ino for file in (path.parent, path / "journal", path)
    )
    assert [number for number, _ in events] == [made, journal, directory]
    assert "journal" not in events[1][1]
    assert "journal" in events[2][1]


def names_if_any(path):
    return names(path) if path.exists() else []


def test_batches_are_brought_to_disk_now_and_then_and_at_the_end(path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), fsync(fd)))
    monkeypatch.setitem(vars(CHECKPOINT), "sync_seconds", -1)
    _, calls = fit(make_model(path))
    assert synced.count((path / "journal").stat().st_ino) == 1 + len(calls) + 1


def test_the_batches_of_a_journal_are_counted_without_a_change(half_done):
    journal = half_done / "journal"
    content = journal.read_bytes()
    assert count_records(journal) == 3
    assert count_records(half_done / "missing") == 0
    damaged = bytearray(content)
    damaged[-1] ^= 1
    journal.write_bytes(damaged + content[:10])  # a damaged record, and one that was cut short
    assert count_records(journal) == 2
    assert journal.read_bytes() == damaged + content[:10]


def test_row_numbers_that_the_data_does_not_have_are_computed_again(half_done):
    expected, _ = whole_fit()
    with (half_done / "journal").open("rb", buffering=0) as file:
        old = Archive(file)
        old.open(*CHECKPOINT.kind)
        records = list(iter(old.read, None))
    content, arrays = records[1]
    rows = content["outcome"]["ContractedRun"]["survivors"]["rows"]
    arrays[rows] = np.full_like(arrays[rows], np.iinfo(arrays[rows].dtype).max)
    with (half_done / "journal").open("wb", buffering=0) as file:
        new = Archive(file)
        new.begin(*CHECKPOINT.kind)
        for record in records:
            new.append(*record)
    with pytest.warns(CheckpointWarning, match="is damaged at byte .* computed again"):
        found, _ = fit(make_model(half_done))
    assert result(found) == expected


def test_reading_a_batch_keeps_no_more_of_it_than_is_used(path):
    """A view of the bytes that were read would keep all of them in memory."""
    make_model(path, medoid_weights=True).fit(X)
    with open_checkpoint(path, *beginning_of(path)) as opened:
        outcome = opened.read().outcome
    arrays = (outcome.survivor_of, outcome.survivors.rows, outcome.survivors.mass)
    assert all(
        array.base is None and array.flags.owndata and array.flags.writeable for array in arrays
    )
