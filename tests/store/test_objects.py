"""Models and checkpoints at URLs: as whole as on a disk, and of two writers one is refused."""

import os

import numpy as np
import pytest
from sklearn.cluster import KMeans
from tools.object_server import KEY, SECRET, serving

from cohirf import CoHiRF, load
from cohirf.sources.remote import Url, locate
from cohirf.store import checkpoint, objects
from cohirf.store.archive import Archive
from cohirf.store.files import CheckpointError, ModelFileError
from cohirf.store.models import load_about

pytest.importorskip("obstore")

PLACE = "s3://bucket/models/rows.cohirf"


@pytest.fixture
def store():
    with serving() as store:
        yield store


@pytest.fixture(scope="module")
def X():  # noqa: N802 - what scikit-learn calls data
    return np.random.default_rng(0).normal(size=(400, 3))


@pytest.fixture(scope="module")
def model(X):
    return CoHiRF(n_clusters=3, random_state=0).fit(X)


def credentials_in(store):
    return [
        key
        for key, content in store.content.items()
        for secret in (KEY, SECRET)
        if secret.encode() in content
    ]


def test_a_model_at_a_url_is_that_of_a_file(store, model, X):
    model.save(PLACE)
    loaded = load(PLACE)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert load_about(PLACE).model == load_about(locate(PLACE)).model
    assert not credentials_in(store)


def test_a_model_is_replaced_if_that_is_wanted(store, model, X):
    model.save(PLACE)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(PLACE)
    model.save(PLACE, overwrite=True)
    another = CoHiRF(n_clusters=2, random_state=0).fit(X)
    another.save(PLACE, overwrite=True)
    np.testing.assert_array_equal(load(PLACE).labels_, another.labels_)
    store.put("bucket/notes.txt", b"not a model")
    with pytest.raises(FileExistsError, match="not a saved model"):
        model.save("s3://bucket/notes.txt", overwrite=True)
    with pytest.raises(ModelFileError, match=r"s3://bucket/notes\.txt cannot be used"):
        load("s3://bucket/notes.txt")
    with pytest.raises(FileNotFoundError):
        load("s3://bucket/nothing")


@pytest.mark.parametrize("is_first", [True, False])
def test_the_second_of_two_writers_is_refused(store, model, is_first):
    if not is_first:
        model.save(PLACE)
    before = store.content.get("bucket/models/rows.cohirf", b"cohirf-model ")

    def write_first(method, key):
        if method == "PUT":
            store.put(key, before + b"of another writer")

    store.before = write_first
    with pytest.raises(FileExistsError, match="Another writer"):
        model.save(PLACE, overwrite=True)
    assert store.content["bucket/models/rows.cohirf"].endswith(b"of another writer")


def test_a_put_whose_answer_is_lost_is_no_other_writer(store, model):
    store.fault_share = 1.0
    store.faults = ("cut",)

    def stop(method, key):
        if store.requests["PUT"] > 1:
            store.fault_share = 0.0

    store.before = stop
    objects.put(Url("s3://bucket", "a"), b"content")
    assert store.content["bucket/a"] == b"content"
    assert store.requests["PUT"] > 1


def test_web_servers_are_refused(model):
    with pytest.raises(ValueError, match="web server, which is only read"):
        model.save("https://host/model.cohirf")
    with pytest.raises(ValueError, match="web server, which is only read"):
        CoHiRF(n_clusters=3, checkpoint="https://host/fit").fit(np.eye(3))


class Stopping(KMeans):
    """K-Means that stops after some calls, as a kill does."""

    left = 10**9

    def fit(self, X, y=None, sample_weight=None):
        if Stopping.left <= 0:
            raise KeyboardInterrupt
        Stopping.left -= 1
        return super().fit(X)


def fit_slowly(X, place):
    return CoHiRF.as_published(
        Stopping(3, n_init=1), views=2, batch_size=40, random_state=0, checkpoint=place
    ).fit(X)


def test_a_fit_that_was_stopped_goes_on_from_a_url(store, X, monkeypatch):
    monkeypatch.setitem(vars(checkpoint.CHECKPOINT), "sync_seconds_at_url", -1)
    expected = fit_slowly(X, None)
    n_all = 10**9 - Stopping.left
    Stopping.left = n_all // 2
    with pytest.raises(KeyboardInterrupt):
        fit_slowly(X, "s3://bucket/fits/one")
    parts = sorted(store.content)
    tags = dict(store.tags)
    assert len(parts) > 1
    Stopping.left = 10**9
    model = fit_slowly(X, "s3://bucket/fits/one")
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert 10**9 - Stopping.left < n_all
    assert {part: store.tags[part] for part in parts} == tags
    assert not credentials_in(store)
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        fit_slowly(X + 1, "s3://bucket/fits/one")


def test_half_a_record_is_not_put(store, X, monkeypatch):
    append = Archive.append
    n_records = []

    def stop(archive, *record):
        append(archive, *record)
        n_records.append(record)
        if len(n_records) == 4:
            archive.file.truncate(archive.file.seek(-5, os.SEEK_END))
            raise KeyboardInterrupt

    monkeypatch.setattr(Archive, "append", stop)
    with pytest.raises(KeyboardInterrupt):
        fit_slowly(X, "s3://bucket/one")
    monkeypatch.setattr(Archive, "append", append)
    np.testing.assert_array_equal(
        fit_slowly(X, "s3://bucket/one").labels_, fit_slowly(X, None).labels_
    )


def test_of_two_fits_with_one_checkpoint_one_is_refused(store, X):
    fit = {"rows": 3}

    def opened():
        return checkpoint.open_checkpoint("s3://bucket/one", fit, lambda: {"batch_size": 3}, 400)

    def write(journal, record):
        journal._file.write(record)
        journal._end = journal._file.tell()
        journal._sync()

    with opened() as first, opened() as second:
        assert first.read() is None
        assert second.read() is None
        write(first, b"a record")
        with pytest.raises(CheckpointError, match="in use by another fit"):
            write(second, b"another")
        write(first, b"goes on")
        second._end = 0


def test_what_is_no_checkpoint_is_refused(store, X):
    store.put("bucket/rows/part-0.parquet", b"rows")
    with pytest.raises(CheckpointError, match=r"part-0\.parquet.*does not belong"):
        fit_slowly(X, "s3://bucket/rows")


def test_a_damaged_part_is_refused(store, X):
    fit_slowly(X, "s3://bucket/one")
    last = max(store.content)
    store.put(last, store.content[last][:-40] + b"x" * 40)
    with pytest.raises(CheckpointError, match="damaged"):
        fit_slowly(X, "s3://bucket/one")
