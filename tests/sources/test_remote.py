"""Files at URLs: the same rows as from a disk, whatever happens on the way."""

import gzip
import io
import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from tools.object_server import KEY, SECRET, as_url, serving

from cohirf import CoHiRF, open_source
from cohirf.sources import SourceChangedError, locate
from cohirf.sources.policy import READ
from cohirf.sources.remote import answering, list_objects

pytest.importorskip("obstore")

NAMES = ["a", "b", "b.c", "d e"]
FILES = ("x.npy", "f.npy", "x.parquet", "x.arrow", "lz4.arrow", "x.csv", "x.csv.gz")


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(3_000, 4)).round(6)


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    """One file of each format."""
    folder = tmp_path_factory.mktemp("files")
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    np.save(folder / "x.npy", X)
    np.save(folder / "f.npy", np.asfortranarray(X))
    pq.write_table(table, folder / "x.parquet", row_group_size=700)
    for name, compression in (("x.arrow", None), ("lz4.arrow", "lz4")):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(folder / name, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=500)
    pa_csv.write_csv(table, folder / "x.csv")
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    return folder


@pytest.fixture
def objects(folder):
    with serving() as objects:
        objects.put_folder("bucket/deep folder", folder)
        yield objects


@pytest.mark.parametrize("scheme", ["http", "s3"])
@pytest.mark.parametrize("name", FILES)
def test_rows_at_a_url_are_those_of_the_file(name, scheme, objects, folder):
    here = open_source(folder / name)
    there = open_source(as_url(objects, f"bucket/deep folder/{name}", scheme))
    assert there.feature_names == here.feature_names
    for rows in (np.arange(3_000), [0], [5, 699, 700, 2_999], np.arange(0, 3_000, 7)):
        np.testing.assert_array_equal(there.take(rows), here.take(rows))
    np.testing.assert_array_equal(
        np.concatenate(list(there.read_all())), np.concatenate(list(here.read_all()))
    )


@pytest.mark.parametrize("name", FILES)
def test_small_pieces_change_no_row(name, objects, folder, X, monkeypatch):
    for size, value in {"piece_bytes": 3_000, "ahead_bytes": 9_000, "gap_bytes": 10}.items():
        monkeypatch.setitem(READ.remote.__dict__, size, value)
    source = open_source(f"s3://bucket/deep folder/{name}")
    np.testing.assert_array_equal(source.take(np.arange(3_000)), X)
    np.testing.assert_array_equal(source.take([3, 2_000]), X[[3, 2_000]])


@pytest.mark.parametrize("name", FILES)
def test_a_fifth_of_requests_that_fail_changes_no_row(name, objects, X, monkeypatch):
    for size, value in {"piece_bytes": 5_000, "ahead_bytes": 40_000, "gap_bytes": 10}.items():
        monkeypatch.setitem(READ.remote.__dict__, size, value)
    objects.fault_share = 0.2
    source = open_source(f"s3://bucket/deep folder/{name}")
    np.testing.assert_array_equal(source.take(np.arange(3_000)), X)


def test_labels_are_those_of_the_file(objects, folder):
    def fit(place):
        return CoHiRF(n_clusters=4, batch_size=500, random_state=0).fit(open_source(place)).labels_

    expected = fit(folder / "x.parquet")
    np.testing.assert_array_equal(fit("s3://bucket/deep folder/x.parquet"), expected)
    objects.fault_share = 0.2
    np.testing.assert_array_equal(fit("s3://bucket/deep folder/x.parquet"), expected)


def test_columns_that_are_left_out_are_not_fetched(objects, folder):
    buffer = io.BytesIO()
    wide = np.random.default_rng(0).normal(size=(20_000, 40))
    table = pa.table({f"f{number}": column for number, column in enumerate(wide.T)})
    pq.write_table(table, buffer, compression="none", use_dictionary=False)
    objects.put("bucket/wide.parquet", buffer.getvalue())
    source = open_source("s3://bucket/wide.parquet", columns=["f3", "f30"])
    objects.sent = 0
    np.testing.assert_array_equal(source.take(np.arange(20_000)), wide[:, [3, 30]])
    assert objects.sent < len(buffer.getvalue()) * 0.1


def test_a_change_is_noticed_by_its_etag(objects, X):
    source = open_source("s3://bucket/deep folder/x.npy")
    source.take([0])
    buffer = io.BytesIO()
    np.save(buffer, X + 1)
    objects.put("bucket/deep folder/x.npy", buffer.getvalue())
    with pytest.raises(
        SourceChangedError, match=r"s3://bucket/deep folder/x\.npy has changed since it was opened"
    ):
        source.take([0])


@pytest.mark.parametrize("name", [name for name in FILES if ".csv" not in name])
def test_a_change_during_a_pass_is_noticed(name, objects, folder, X, monkeypatch):
    for size, value in {"piece_bytes": 3_000, "ahead_bytes": 6_000}.items():
        monkeypatch.setitem(READ.remote.__dict__, size, value)
    key = f"bucket/deep folder/{name}"
    source = open_source(f"s3://{key}")
    seen = 0

    def change(method, asked):
        nonlocal seen
        seen += method == "GET"
        if seen == 8:
            objects.put(key, objects.content[key] + b"x")

    objects.before = change
    with pytest.raises(SourceChangedError, match="has changed since it was opened"):
        source.take(np.arange(3_000))


def test_a_fingerprint_follows_the_content(objects):
    url = "s3://bucket/deep folder/x.npy"
    first = open_source(url).fingerprint()
    assert open_source(url).fingerprint() == first
    objects.put("bucket/deep folder/x.npy", objects.content["bucket/deep folder/f.npy"])
    assert open_source(url).fingerprint() != first


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("s3://bucket/none.npy", FileNotFoundError, "There is no such object: check the URL.*none"),
        ("s3://bucket/x.what", ValueError, "s3://bucket/x.what has an unknown format"),
        ("s3://bucket/x.xlsx", ValueError, "spreadsheet is read from a local disk only: copy it"),
        ("s3://me:word@bucket/x.npy", ValueError, "has a user or a password in it: leave them out"),
        ("https://host/x.npy?sig=word", ValueError, "https://host/x.npy has a query"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused(url, error, message, objects):
    with pytest.raises(error, match=message) as caught:
        open_source(url)
    assert "word@" not in str(caught.value)
    assert "sig" not in str(caught.value).replace("signature", "")


def test_a_store_that_keeps_failing_is_named(objects, monkeypatch):
    monkeypatch.setitem(READ.remote.__dict__, "retries", 1)
    monkeypatch.setitem(READ.remote.__dict__, "attempts", 2)
    monkeypatch.setenv("AWS_UNUSED", "a new client")
    source = open_source("s3://bucket/deep folder/x.npy")
    objects.fault_share = 1.0
    objects.faults = ("fail",)
    with pytest.raises(OSError, match=r"x\.npy cannot be read from its store: .*: check") as caught:
        source.take([0])
    assert "\n" not in str(caught.value)


def test_credentials_stay_in_the_environment(objects):
    source = open_source("s3://bucket/deep folder/x.parquet")
    source.take(np.arange(100))
    written = pickle.dumps(source)
    model = CoHiRF(n_clusters=2, random_state=0).fit(source)
    for secret in (KEY, SECRET):
        assert secret.encode() not in written
        assert secret.encode() not in pickle.dumps(model)
        assert secret not in repr(source) + repr(vars(source))
    np.testing.assert_array_equal(
        pickle.loads(written).take(np.arange(3_000)), source.take(np.arange(3_000))
    )


def test_urls_and_paths_are_told_apart(tmp_path):
    assert str(locate("s3://bucket/a/b.npy")) == "s3://bucket/a/b.npy"
    assert str(locate(Path("s3://bucket/a/b.npy"))) == "s3://bucket/a/b.npy"
    assert locate(f"file://{tmp_path}/a%20b.npy") == tmp_path / "a b.npy"
    assert locate(Path(f"file://{tmp_path}/a%20b.npy")) == tmp_path / "a b.npy"
    assert locate(str(tmp_path)) == tmp_path
    assert locate("http://host/a%20b.npy").key == "a b.npy"
    assert re.fullmatch("gs://bucket/x.npy", str(locate("gs://bucket/x.npy")))


def test_the_program_reads_urls(objects, folder, cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    common = ("--clusters", "3", "--seed", "1")
    cohirf("fit", str(folder / "x.parquet"), *common, "--out", "here.npy")
    cohirf(
        "fit", "s3://bucket/deep folder/x.parquet", *common, "--out", "there.npy", "--model", "m"
    )
    np.testing.assert_array_equal(np.load("there.npy"), np.load("here.npy"))
    cohirf("predict", "m", "s3://bucket/deep folder/x.csv", "--out", "again.npy")
    np.testing.assert_array_equal(np.load("again.npy"), np.load("here.npy"))
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"s3://bucket/deep folder/x.parquet" in written
    assert KEY.encode() not in written
    assert SECRET.encode() not in written


def test_the_program_names_an_object_that_is_not_there(objects, cohirf):
    failed = cohirf("fit", "s3://bucket/none.parquet")
    assert "s3://bucket/none.parquet: There is no such object: check the URL" in str(failed)


FIT = """
import sys, numpy as np
from sklearn.cluster import KMeans
from cohirf import CoHiRF, open_source
from cohirf.sources.policy import READ

vars(READ.remote).update(piece_bytes=4_000, ahead_bytes=12_000)
folder = sys.argv[1]
model = CoHiRF(
    KMeans(5, n_init=1), views=2, batch_size=300, random_state=0, checkpoint=folder + "/checkpoint"
).fit(open_source("s3://bucket/deep folder/x.parquet"))
np.save(folder + "/labels.npy", model.labels_)
model.save(folder + "/model.cohirf")
"""


@pytest.mark.slow
def test_killed_fits_with_faults_resume_with_the_same_labels(objects, tmp_path, folder):
    def run():
        words = [sys.executable, "-c", FIT, str(tmp_path)]
        return subprocess.Popen(words, stderr=subprocess.PIPE)

    started = []

    def kill(method, key):
        asked[0] += 1
        if asked[0] == 8 * len(started):
            os.kill(started[-1].pid, signal.SIGKILL)

    objects.fault_share = 0.2
    objects.before = kill
    for _ in range(3):
        asked = [0]
        started.append(run())
        assert started[-1].wait() == -signal.SIGKILL
        started[-1].stderr.close()
    objects.before = lambda method, key: None
    last = run()
    assert last.communicate()[1] == b""
    expected = CoHiRF(KMeans(5, n_init=1), views=2, batch_size=300, random_state=0).fit(
        open_source(folder / "x.parquet")
    )
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected.labels_)
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert KEY.encode() not in written
    assert SECRET.encode() not in written


@pytest.mark.parametrize("url", ["s3://bucket/m", "https://host/m"])
def test_the_program_refuses_results_at_a_url(url, tmp_path, cohirf, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).normal(size=(60, 2)))
    for flag, ending in (("--out", ".csv"), ("--model", ""), ("--report", ".html")):
        failed = cohirf("fit", "x.npy", "--clusters", "2", flag, url + ending)
        assert f"{url}{ending} is a URL, and {flag} is written on a local disk only" in failed.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.npy"]


def test_messages_of_a_store_lack_the_password_of_its_endpoint():
    class StoreError(Exception):
        __module__ = "obstore.exceptions"

    with (
        pytest.raises(OSError, match="sending to http://localhost:1/a") as raised,
        answering("s3://bucket/a"),
    ):
        raise StoreError("sending to http://user:secret@localhost:1/a")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/a.npy?X-Amz-Signature=secret",
        "az://box/a.parquet?sv=2026&sig=secret",
        "HTTPS://user:secret@host/a.npy",
        "s3a://user:secret@bucket/a.npy",
        "ftp://user:secret@host/a.npy",
    ],
)
def test_urls_that_are_refused_are_not_shown(url):
    with pytest.raises(ValueError, match="URL") as raised:
        open_source(url)
    assert "secret" not in str(raised.value)


def test_a_list_that_breaks_off_is_asked_for_again(objects, folder, monkeypatch):
    faults = iter(["cut", "cut", None])
    monkeypatch.setattr(objects, "next_fault", lambda: next(faults, None))
    found = list_objects(locate("s3://bucket/deep folder"))
    assert len(found) == len(FILES)
    monkeypatch.setattr(objects, "next_fault", lambda: "cut")
    with pytest.raises(OSError, match=r"s3://bucket/deep folder cannot be read from its store"):
        list_objects(locate("s3://bucket/deep folder"))
