"""An implementation of S3 by others, moto, behind a proxy that fails, waits and cuts.

It brings thirty packages, so it is in an extra of its own: ``pip install -e ".[stores]"``.
"""

import http.client
import socket
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.object_server import make_server, settings_of

from cohirf import CoHiRF, open_source
from cohirf.sources import SourceChangedError

moto = pytest.importorskip("moto", reason='moto is not installed: pip install -e ".[stores]"')
obstore = pytest.importorskip("obstore")

pytestmark = pytest.mark.slow
FAULTS = 0.2


@pytest.fixture(scope="module")
def behind():
    """The port of a server of moto."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("PUT", "/bucket")
            assert connection.getresponse().status == 200
            connection.close()
            break
        except OSError:
            time.sleep(0.1)
    yield port
    process.kill()
    process.wait()


@pytest.fixture
def proxy(behind, monkeypatch):
    """A proxy without faults at first; the environment leads to it."""
    from threading import Thread

    server = make_server(behind)
    for name, value in settings_of(server.objects.url).items():
        monkeypatch.setenv(name, value)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.objects
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def stored(proxy, tmp_path):
    """A folder of files with awkward names, here and in the store."""
    from obstore.store import from_url

    X = np.random.default_rng(0).normal(size=(40_000, 20)).astype(np.float32)
    store = from_url("s3://bucket", client_options={"allow_http": True})
    for number, block in enumerate(np.array_split(X, 16)):
        path = tmp_path / "rows" / f"day=2026-01-{number + 1:02} 00%3A00" / "part+0.parquet"
        path.parent.mkdir(parents=True)
        names = [f"f{place}" for place in range(20)]
        pq.write_table(pa.table(dict(zip(names, block.T, strict=True))), path)
        obstore.put(store, path.relative_to(tmp_path).as_posix(), path.read_bytes())
    return X, tmp_path / "rows", store


def test_rows_and_labels_are_those_of_the_files(stored, proxy):
    X, folder, _ = stored

    def fit(place):
        source = open_source(place)
        return CoHiRF(n_clusters=5, batch_size=4_000, random_state=0).fit(source).labels_

    expected = fit(folder)
    for share in (0, FAULTS):
        proxy.fault_share = share
        np.testing.assert_array_equal(open_source("s3://bucket/rows").take(np.arange(40_000)), X)
        np.testing.assert_array_equal(fit("s3://bucket/rows/day=*/*.parquet"), expected)
    spoilt = sum(proxy.requests[fault] for fault in proxy.faults)
    assert spoilt >= 20


def test_a_new_object_is_noticed(stored):
    _, folder, store = stored
    source = open_source("s3://bucket/rows")
    source.take(np.arange(40_000))
    first = next(iter(sorted(folder.rglob("*.parquet"))))
    key = first.relative_to(folder.parent).as_posix()
    obstore.put(store, key, first.read_bytes() + b"x")
    with pytest.raises(SourceChangedError, match=r"part\+0\.parquet has changed"):
        source.take(np.arange(40_000))


def test_an_array_of_zarr_is_that_of_the_folder_and_a_new_chunk_is_noticed(stored, proxy, tmp_path):
    zarr = pytest.importorskip("zarr")
    X, _, store = stored
    array = zarr.create_array(
        tmp_path / "rows.zarr", shape=X.shape, dtype=X.dtype, chunks=(2_000, 20)
    )
    array[:] = X
    for path in (tmp_path / "rows.zarr").rglob("*"):
        if path.is_file():
            obstore.put(store, path.relative_to(tmp_path).as_posix(), path.read_bytes())
    proxy.fault_share = FAULTS
    source = open_source("s3://bucket/rows.zarr")
    np.testing.assert_array_equal(source.take(np.arange(40_000)), X)
    assert sum(proxy.requests[fault] for fault in proxy.faults)
    proxy.fault_share = 0
    unread = open_source("s3://bucket/rows.zarr")
    obstore.put(store, "rows.zarr/c/3/0", b"another chunk")
    with pytest.raises(SourceChangedError, match=r"rows\.zarr/c/3/0 has changed"):
        unread.take(np.arange(40_000))
