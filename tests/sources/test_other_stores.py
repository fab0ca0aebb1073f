"""Google Cloud Storage, Azure and Zarr by URL: the same rows as from S3 or a disk."""

import base64
import hashlib
import hmac
import http.client
import json
import pickle
import shutil
import socket
import subprocess
import time
from contextlib import closing
from email.utils import formatdate

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.object_server import SECRET, serving

from cohirf import CoHiRF, open_source
from cohirf.sources import SourceChangedError
from cohirf.sources.remote import RemoteFile, Url

obstore = pytest.importorskip("obstore")

NAMES = ["part 0.parquet", "part+1.parquet", "part%3A2[3].parquet"]
# those of each azurite
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@pytest.fixture
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(900, 3))


@pytest.fixture
def files(X, tmp_path):
    """Files with awkward names."""
    for name, block in zip(NAMES, np.array_split(X, 3), strict=True):
        pq.write_table(pa.table(dict(zip("abc", block.T, strict=True))), tmp_path / name)
    return {f"rows/day=1/{name}": (tmp_path / name).read_bytes() for name in NAMES}


def check(start, X, replace):
    """Read rows in all ways, and after an object was replaced."""
    order = np.concatenate([np.array_split(X, 3)[number] for number in (0, 2, 1)])
    for place in ("rows/", "rows/day=*/part*", "rows/day=1"):
        np.testing.assert_array_equal(open_source(f"{start}/{place}").take(np.arange(900)), order)
    one = open_source(f"{start}/rows/day=1/{NAMES[2]}")
    np.testing.assert_array_equal(one.take([5]), X[[605]])
    with pytest.raises(FileNotFoundError, match="There is no such object"):
        open_source(f"{start}/rows/none.parquet")
    replace(f"rows/day=1/{NAMES[2]}")
    again = pickle.loads(pickle.dumps(one))  # without the rows that were decoded last
    with pytest.raises(SourceChangedError, match="has changed since it was opened"):
        again.take([5])


def test_rows_in_google_cloud_storage(X, files, monkeypatch):
    with serving() as objects:
        settings = {
            "gcs_base_url": objects.url,
            "disable_oauth": True,
            **dict.fromkeys(("client_email", "private_key", "private_key_id"), ""),
        }
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(settings))
        for key, content in files.items():
            objects.put(f"bucket/{key}", content)
        check("gs://bucket", X, lambda key: objects.put(f"bucket/{key}", files[key] + b"x"))


def test_an_etag_is_the_same_with_and_without_quotation_marks():
    url = Url("az://box", "x")
    listed, answered = ({"size": 3, "e_tag": tag} for tag in ("0x8D", '"0x8D"'))
    assert RemoteFile.found(url, listed) == RemoteFile.found(url, answered)


def test_an_array_in_a_store_that_the_user_opened_with_zarr_is_read(X, tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(tmp_path / "x.zarr"), data=X, chunks=(100, 3))
    with serving() as objects:
        objects.put_folder("bucket/x.zarr", tmp_path / "x.zarr")
        store = obstore.store.from_url("s3://bucket/x.zarr", client_options={"allow_http": True})
        array = zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r")
        source = open_source(array)
        np.testing.assert_array_equal(source.take(np.arange(900)), X)
        handle = pickle.dumps(source)
        assert SECRET.encode() not in handle
        np.testing.assert_array_equal(pickle.loads(handle).take([7]), X[[7]])


@pytest.fixture
def azurite(tmp_path, monkeypatch):
    """A store of Azure that its makers wrote for tests, with a container."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite is not installed: npm install -g azurite")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = f"--blobPort {port} --inMemoryPersistence --silent --skipApiVersionCheck".split()
    process = subprocess.Popen([program, *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", ACCOUNT_KEY)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"http://127.0.0.1:{port}/{ACCOUNT}")
    for _ in range(600):
        try:
            assert make_container(port, "box") == 201
            break
        except OSError:
            time.sleep(0.1)
    yield
    process.kill()
    process.wait()


def make_container(port, name):
    """Make a container, which obstore does not do."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2023-11-03"}
    said = "".join(f"{key}:{value}\n" for key, value in headers.items())
    text = "PUT" + "\n" * 12 + f"{said}/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signed = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=headers)
        return connection.getresponse().status


@pytest.mark.slow
def test_rows_in_azure(X, files, azurite, tmp_path):
    store = obstore.store.from_url("az://box", client_options={"allow_http": True})
    for key, content in files.items():
        obstore.put(store, key, content)

    def fit(place):
        return CoHiRF(n_clusters=3, batch_size=100, random_state=0).fit(open_source(place)).labels_

    np.testing.assert_array_equal(fit("az://box/rows/"), fit(tmp_path))
    check("az://box", X, lambda key: obstore.put(store, key, files[key] + b"x"))
