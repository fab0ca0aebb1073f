"""Everything works without what only Linux has, and gives the same clusters."""

import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf import CoHiRF, load, open_source
from cohirf.app.explain import write_report
from cohirf.store.files import TemporaryFile
from other_systems import OTHER_SYSTEMS, as_on

X = np.random.default_rng(0).normal(size=(300, 3)) + np.repeat(np.eye(3) * 20, 100, axis=0)


@pytest.fixture(params=OTHER_SYSTEMS)
def system(request, tmp_path, monkeypatch):
    """Run a test as on another system, with a directory of its own for temporary files, which is
    empty at the end.
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with as_on(request.param):
        yield request.param
        gc.collect()  # a source that is being read refers to itself
        TemporaryFile()  # removes what Windows could not remove while it was open
    assert list(temporary.iterdir()) == []


@pytest.fixture
def data(tmp_path):
    """Return the path of a CSV file."""
    np.savetxt(tmp_path / "data.csv", X, delimiter=",", header="a,b,c", comments="")
    return tmp_path / "data.csv"


def make_model(**options):
    return CoHiRF.as_published(KMeans(3, n_init=1), **{"views": 2, "random_state": 0} | options)


@pytest.fixture(scope="module")
def labels():
    return make_model(batch_size=100).fit_predict(X)


def test_data_in_memory_is_fitted(system, labels):
    assert (make_model(batch_size=100).fit(X).labels_ == labels).all()


def test_data_in_batches_is_fitted(system, data, labels):
    assert (make_model(batch_size=100).fit(open_source(data)).labels_ == labels).all()


def test_threads_share_the_work(system, data, labels):
    assert (make_model(batch_size=100, n_jobs=2).fit(open_source(data)).labels_ == labels).all()


def test_a_fit_goes_on_from_its_checkpoint(system, data, labels, tmp_path):
    for _ in range(2):
        model = make_model(batch_size=100, checkpoint=tmp_path / "checkpoint").fit(
            open_source(data)
        )
        assert (model.labels_ == labels).all()


def test_a_model_is_saved_and_loaded_and_predicts(system, data, tmp_path):
    model = make_model(batch_size=100).fit(open_source(data))
    for overwrite in (False, True):
        model.save(tmp_path / "model", overwrite=overwrite)
    found = load(tmp_path / "model")
    assert (found.predict(open_source(data)) == model.predict(open_source(data))).all()
    assert found.labels_.tolist() == model.labels_.tolist()


def test_a_report_is_written_and_replaced(system, tmp_path):
    model = make_model().fit(X)
    for _ in range(2):
        write_report(model, X, tmp_path / "report.html", max_points=10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "temporary"]


def test_the_program_fits_and_writes_labels(system, data, tmp_path):
    from cohirf.app.cli import main

    command = [
        "fit",
        str(data),
        "--param",
        "n_clusters=3",
        "--out",
        str(tmp_path / "labels.csv"),
        "--quiet",
    ]
    assert main(command) == 0
    assert main([*command, "--force"]) == 0
    assert len((tmp_path / "labels.csv").read_bytes().split(b"\n")) == len(X) + 2


EVERYWHERE = """
import sys
import numpy as np
from joblib import parallel_config
from sklearn.cluster import KMeans
from cohirf import CoHiRF, open_source
from cohirf.store import files

source, base = open_source(sys.argv[1]), KMeans(3, n_init=1)
assert not hasattr(files.os, "O_TMPFILE")
with parallel_config(backend="loky", n_jobs=2):
    found = [CoHiRF.as_published(base, views=2, random_state=0, batch_size=100).fit(source).labels_]
found.append(CoHiRF.as_published(base, views=2, random_state=0, batch_size="auto").fit(source).labels_)
np.save(sys.argv[2], np.array(found))
"""
ON_START = """
import pytest
from other_systems import hide
hide({system!r}, pytest.MonkeyPatch())
"""


@pytest.mark.slow
@pytest.mark.parametrize("system_name", OTHER_SYSTEMS)
def test_processes_that_a_fit_starts_need_nothing_of_linux_either(
    system_name, data, labels, tmp_path
):
    (tmp_path / "temporary").mkdir()
    (tmp_path / "sitecustomize.py").write_text(
        ON_START.format(system=system_name), encoding="utf-8"
    )
    paths = [str(tmp_path), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "TMPDIR": str(tmp_path / "temporary"),
    }
    command = [sys.executable, "-c", EVERYWHERE, data, tmp_path / "labels.npy"]
    subprocess.run(command, env=environment, check=True)
    in_processes, auto = np.load(tmp_path / "labels.npy")
    assert (in_processes == labels).all()
    assert len(set(auto)) == 3
    with as_on(system_name):
        # Windows keeps files that were in use until the process ended
        TemporaryFile(tmp_path / "temporary")
    assert list((tmp_path / "temporary").glob(".temporary*")) == []
