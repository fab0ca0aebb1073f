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
from tools.object_server import Handler, Server, settings_of

from cohirf import CoHiRF, open_source
from cohirf.sources import SourceChangedError

moto = pytest.importorskip("moto", reason='moto is not installed: pip install -e ".[stores]"')
obstore = pytest.importorskip("obstore")

pytestmark = pytest.mark.slow
FAULTS = 0.2


class Proxy(Handler):
    """Passes requests on, and spoils a share of the answers."""

    def answer(self, *, with_body):
        """Ask the store behind, and send what it says, or half of it, or an error."""
        fault = self.objects.next_fault()
        self.objects.requests[str(fault)] += 1
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        if fault == "fail":
            self.send(503, b"", {}, with_body)
            return
        if fault == "wait":
            time.sleep(0.2)
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=30)
        behind.request(self.command, self.path, content, dict(self.headers))
        answer = behind.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "date", "server", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        if fault == "cut" and with_body:
            body = body[: len(body) // 2]
            self.close_connection = True
        if with_body:
            self.wfile.write(body)
        behind.close()

    def do_PUT(self):  # noqa: N802
        """Pass an object on."""
        self.answer(with_body=True)


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

    from tools.object_server import Objects

    server = Server(("127.0.0.1", 0), Proxy)
    server.objects = Objects()
    server.behind = behind
    for name, value in settings_of(f"http://127.0.0.1:{server.server_port}").items():
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
