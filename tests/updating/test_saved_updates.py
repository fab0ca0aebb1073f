"""A model with updates is saved with all that later updates need, and models of the former format load."""

import json
import os
import pickle
import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons

from cohirf import CoHiRF, load
from cohirf.durable.files import write_new_file
from cohirf.saving import ModelFileError
from cohirf.saving.manifest import digest_line
from systems import posix_only

BLOBS, _ = make_blobs(400, n_features=4, centers=3, random_state=0)
MOONS, _ = make_moons(600, noise=0.05, random_state=0)

CASES = {
    "pending": (CoHiRF(n_clusters=3, n_views=2), BLOBS),
    "blocks": (CoHiRF(KMeans(3, n_init=1), batch_size=60, n_views=2), BLOBS),
    "blocks, CSR": (CoHiRF(KMeans(3, n_init=1), batch_size=60, n_views=2), sparse.csr_array(BLOBS)),
    "density": (CoHiRF(DBSCAN(0.2)), MOONS),
}


@pytest.fixture(params=CASES)
def model_and_rows(request):
    model, X = CASES[request.param]
    model = CoHiRF(**model.get_params(deep=False)).set_params(random_state=0)
    n_rows = X.shape[0]
    for start, stop in ((0, n_rows // 2), (n_rows // 2, n_rows - 100)):
        model.partial_fit(X[start:stop])
    return model, X


def update(model, X):
    model.partial_fit(X[-100:])
    return model


def assert_same_results(one, other):
    for name in ("labels_", "parents_", "stability_", "cluster_numbers_", "medoid_indices_", "exemplar_indices_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.hierarchy_ == other.hierarchy_
    assert one.changes_ == other.changes_
    assert one.history_ == other.history_
    assert one._summary.update_rows == other._summary.update_rows


def test_a_loaded_model_is_updated_as_the_saved_one(model_and_rows, tmp_path):
    model, X = model_and_rows
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_same_results(loaded, model)
    assert_same_results(update(loaded, X), update(model, X))


def test_a_loaded_model_is_saved_byte_by_byte_as_before(model_and_rows, tmp_path):
    model, X = model_and_rows
    update(model, X).save(tmp_path / "model")
    load(tmp_path / "model").save(tmp_path / "again")
    for file in sorted((tmp_path / "model").iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_model_is_pickled_with_what_updates_need(model_and_rows):
    model, X = model_and_rows
    assert_same_results(update(pickle.loads(pickle.dumps(model)), X), update(model, X))


def save_and_die(model, path, call):
    """Save an updated model in a process of its own, which is killed in the given call of fsync."""
    child = os.fork()
    if child == 0:
        calls = []

        def kill(descriptor):
            calls.append(descriptor)
            if len(calls) == call:
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = kill
        model.save(path, overwrite=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@posix_only
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(("call", "n_rows"), [(1, 200), (12, 200), (99, 400)], ids=["begun", "half", "replaced"])
def test_an_update_that_is_killed_leaves_the_model_before_or_after_it(call, n_rows, tmp_path):
    before = CoHiRF(KMeans(3, n_init=1), batch_size=60, n_views=2, random_state=0).partial_fit(BLOBS[:200])
    before.save(tmp_path / "model")
    n_files = len(list((tmp_path / "model").iterdir()))
    after = load(tmp_path / "model").partial_fit(BLOBS[200:])
    save_and_die(after, tmp_path / "model", call if call < n_files else n_files + 2)
    left = load(tmp_path / "model")
    assert len(left.labels_) == n_rows
    assert_same_results(left, before if n_rows == 200 else after)


def rewrite(path, **changes):
    """Change the manifest of a saved model."""
    content = json.loads((path / "manifest.json").read_bytes()) | changes
    content = {name: value for name, value in content.items() if value is not ...}
    for name in ("manifest.json", "manifest.sha256"):
        (path / name).unlink()
    text = json.dumps(content).encode()
    write_new_file(path / "manifest.json", text)
    write_new_file(path / "manifest.sha256", digest_line(text))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_contracted": 10**9}, "the summary has 1000000000 contracted rows"),
        ({"n_contracted": 300}, "leaf_rows.npy differs|rows are pending"),
        ({"update_rows": [1, 2]}, "updates of 3 rows"),
        ({"update_rows": [-1]}, "update_rows is -1"),
        ({"entropy": 5}, "entropy must be a list"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"next_number": 1}, "outside the range -1 to 0|distinct cluster numbers"),
        ({"pending_are_landmarks": 1}, "must be true or false"),
        ({"pending_are_landmarks": True}, "arrays of pending rows have others"),
        ({"code": 1}, "summary must be a JSON object with the keys"),
    ],
    ids=str,
)
def test_a_hostile_summary_is_refused(changes, message, tmp_path):
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, n_views=2, random_state=0).partial_fit(BLOBS)
    model.save(tmp_path / "model")
    summary = json.loads((tmp_path / "model" / "manifest.json").read_bytes())["summary"]
    rewrite(tmp_path / "model", summary=summary | changes)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    "changes", [{"n_moved": -1}, {"gone": [0.5]}, {"grown": [[1]]}, {"merged": [[1, 2]]}, {"n_rows": "5"}, {"x": 1}]
)
def test_hostile_changes_are_refused(changes, tmp_path):
    CoHiRF(n_clusters=3, random_state=0).partial_fit(BLOBS).save(tmp_path / "model")
    content = json.loads((tmp_path / "model" / "manifest.json").read_bytes())["changes"]
    rewrite(tmp_path / "model", changes=content | changes)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    "changes", [{"n_rows": -1}, {"born": [0.5]}, {"sizes": [[1]]}, {"merged": [[1, [2]]]}, {"n_added": "5"}, {"x": 1}]
)
def test_a_hostile_history_is_refused(changes, tmp_path):
    CoHiRF(n_clusters=3, random_state=0).partial_fit(BLOBS).save(tmp_path / "model")
    history = json.loads((tmp_path / "model" / "manifest.json").read_bytes())["history"]
    rewrite(tmp_path / "model", history=[history[0] | changes])
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_a_history_that_is_too_long_is_refused(tmp_path):
    CoHiRF(n_clusters=3, random_state=0).partial_fit(BLOBS).save(tmp_path / "model")
    history = json.loads((tmp_path / "model" / "manifest.json").read_bytes())["history"]
    rewrite(tmp_path / "model", history=history * 201)
    with pytest.raises(ModelFileError, match="at most 200 steps"):
        load(tmp_path / "model")
