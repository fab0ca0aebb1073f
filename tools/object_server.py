"""A small object store on this machine, for http:// and s3://, that can fail, wait and cut.

It answers what is asked of S3 here: ranges of objects, lists of them, and to put one, on a
condition. It does not look at
signatures, and keeps nothing: tests and measurements use it, on the loopback alone.

    python -m tools.object_server FOLDER [--faults 0.2]

serves the folders in FOLDER as buckets, and prints the settings that lead there. With ``--behind
URL`` it passes all requests on to another store of S3, and only fails, waits and cuts:

    python -m tools.object_server --behind http://127.0.0.1:8333 --faults 0.2
"""

import argparse
import hashlib
import http.client
import mmap
import os
import random
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

KEY = "AKIA-A-KEY-OF-TESTS"
SECRET = "A-SECRET-OF-TESTS-0123456789"


class Objects:
    """Objects by their path, what was asked for, and how the server misbehaves."""

    def __init__(self):
        self.content = {}  # "bucket/key": bytes, or a mapped file
        self.tags = {}
        self.requests = Counter()  # by method
        self.sent = 0  # bytes
        self.ranges = []
        self.fault_share = 0.0
        self.faults = ("fail", "wait", "cut")
        self.draw = random.Random(0)
        self.lock = threading.Lock()
        self.before = lambda method, key: None
        self.url = ""

    def put(self, key, content):
        """Put an object."""
        self.content[key] = content
        self.tags[key] = etag(content)

    def put_folder(self, key, folder):
        """Put all files of a folder."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{key}/{file.relative_to(folder).as_posix()}", file.read_bytes())

    def map_folder(self, folder):
        """Serve the files of a folder without loading them; its folders are buckets."""
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.stat().st_size:
                key = file.relative_to(folder).as_posix()
                with file.open("rb") as opened:
                    self.content[key] = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
                about = file.stat()
                self.tags[key] = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'

    def next_fault(self):
        """Return how the next request fails; None if it does not."""
        with self.lock:
            if self.draw.random() >= self.fault_share:
                return None
            return self.draw.choice(self.faults)


def etag(content):
    """Return what S3 calls content of one part."""
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


class Handler(BaseHTTPRequestHandler):
    """Answers one client."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    @property
    def objects(self):
        """The objects that are served."""
        return self.server.objects

    def do_HEAD(self):
        """Describe an object."""
        self.answer(with_body=False)

    def do_GET(self):
        """Send a range of an object, or a list of objects."""
        self.answer(with_body=True)

    def do_PUT(self):
        """Put an object, unless there is one already, or another one than was seen."""
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        key = unquote(urlsplit(self.path).path).lstrip("/")
        objects = self.objects
        with objects.lock:
            objects.requests[self.command] += 1
        objects.before(self.command, key)
        fault = objects.next_fault()
        if fault == "fail":
            self.send(503, b"SlowDown", {}, with_body=True)
            return
        with objects.lock:
            there = objects.tags.get(key)
            wanted = self.headers.get("If-Match")
            refused = (wanted and wanted != there) or (self.headers.get("If-None-Match") and there)
            if not refused:
                objects.put(key, content)
        if refused:
            self.send(412, b"<Error><Code>PreconditionFailed</Code></Error>", {}, with_body=True)
        elif fault == "cut":  # it is there, but its writer does not hear of it
            self.close_connection = True
        else:
            self.send(200, b"", {"ETag": objects.tags[key]}, with_body=False)

    def answer(self, *, with_body):
        """Answer, or fail."""
        parts = urlsplit(self.path)
        key = unquote(parts.path).lstrip("/")
        with self.objects.lock:
            self.objects.requests[self.command] += 1
        self.objects.before(self.command, key)
        fault = self.objects.next_fault()
        if fault == "wait":
            time.sleep(0.05)
        if fault == "fail":
            self.send(503, b"SlowDown", {}, with_body)
        elif "list-type" in parts.query:
            self.list(key, parse_qs(parts.query), is_cut=fault == "cut")
        elif key not in self.objects.content:
            self.send(404, b"<Error><Code>NoSuchKey</Code></Error>", {}, with_body)
        else:
            self.send_object(key, with_body, is_cut=fault == "cut")

    def send_object(self, key, with_body, *, is_cut):
        """Send the range that was asked for."""
        content = memoryview(self.objects.content[key])
        headers = {
            "ETag": self.objects.tags[key],
            "Last-Modified": "Mon, 01 Jun 2026 00:00:00 GMT",
            "Accept-Ranges": "bytes",
        }
        asked = self.headers.get("Range")
        status = 200
        part = content
        if asked:
            first, last = asked.removeprefix("bytes=").split("-")
            start = int(first) if first else len(content) - int(last)
            stop = min(int(last) + 1, len(content)) if first and last else len(content)
            part = content[start:stop]
            status = 206
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
            with self.objects.lock:
                self.objects.ranges.append((start, stop))
        self.send(status, part, headers, with_body, is_cut=is_cut and with_body)

    def send(self, status, body, headers, with_body, *, is_cut=False):
        """Send an answer; if it is cut, half of it."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if is_cut:
            body = body[: len(body) // 2]
            self.close_connection = True
        if with_body:
            self.wfile.write(body)
            with self.objects.lock:
                self.objects.sent += len(body)

    def list(self, bucket, query, *, is_cut):
        """Send all objects below a prefix."""
        prefix = f"{bucket}/{query.get('prefix', [''])[0]}"
        found = "".join(
            f"<Contents><Key>{escape(key.partition('/')[2])}</Key>"
            f"<LastModified>2026-06-01T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(self.objects.tags[key])}</ETag><Size>{len(content)}</Size></Contents>"
            for key, content in sorted(self.objects.content.items())
            if key.startswith(prefix)
        )
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        kind = {"Content-Type": "application/xml"}
        self.send(200, body.encode(), kind, with_body=True, is_cut=is_cut)


class Proxy(Handler):
    """Passes requests on to another store, and spoils a share of the answers."""

    def answer(self, *, with_body):
        """Ask the store behind, and send what it says, or half of it, or an error."""
        fault = self.objects.next_fault()
        with self.objects.lock:
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
        if answer.getheader("Content-Length") is None:  # it came in chunks
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "cut" and with_body:
            body = body[: len(body) // 2]
            self.close_connection = True
        if with_body:
            self.wfile.write(body)
            with self.objects.lock:
                self.objects.sent += len(body)
        behind.close()

    def do_PUT(self):
        """Pass an object on."""
        self.answer(with_body=True)


class Server(ThreadingHTTPServer):
    """A server with a thread for each client."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        """Clients that hang up are no news."""


def make_server(behind=None):
    """Return a server without objects, or one in front of the store at another port."""
    server = Server(("127.0.0.1", 0), Handler if behind is None else Proxy)
    server.behind = behind
    server.objects = Objects()
    server.objects.url = f"http://127.0.0.1:{server.server_port}"
    return server


def settings_of(url):
    """Return the environment that leads to a server, as it does for any store of S3."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def serving(environment=os.environ):
    """Serve objects on this machine; the environment says where, as it does for any S3 store."""
    server = make_server()
    objects = server.objects
    settings = settings_of(objects.url)
    before = {name: environment.get(name) for name in settings}
    environment.update(settings)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield objects
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        for name, value in before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value


def as_url(objects, key, scheme):
    """Return the URL of an object."""
    return f"s3://{key}" if scheme == "s3" else f"{objects.url}/{quote(key)}"


def main(words=None):
    """Serve a folder, or what another store has, until this process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--behind", help="URL of another store on this machine")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that fail")
    given = parser.parse_args(words)
    if (given.folder is None) == (given.behind is None):
        parser.error("give a folder or --behind")
    behind = urlsplit(given.behind or "")
    if given.behind is not None and (behind.port is None or behind.hostname != "127.0.0.1"):
        parser.error("--behind takes a URL such as http://127.0.0.1:8333")
    server = make_server(behind.port)
    if given.folder is not None:
        server.objects.map_folder(given.folder)
    server.objects.fault_share = given.faults
    settings = settings_of(server.objects.url)
    if given.behind is not None:  # with the credentials of that store
        settings = {"AWS_ENDPOINT_URL": server.objects.url}
    for name, value in settings.items():
        print(f"export {name}={value}")
    print(f"# {len(server.objects.content)} objects", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    asked = ", ".join(f"{n} {method}" for method, n in server.objects.requests.items())
    print(f"# {asked}; {server.objects.sent / 1e6:,.1f} MB", flush=True)


if __name__ == "__main__":
    main()
