"""How many bytes does a fit move over a network, with client and scheduler on one host, workers and
data on another?

    python -m benchmarks.speed.two_hosts [--rows 2000000]      (as root, on Linux)

The hosts are two network namespaces with a cable between them. The file with the data lies in a
file system that only the second one has. These are the commands that start the processes, each on
its host:

    10.77.0.1   dask scheduler --host 10.77.0.1 --port 8786
    10.77.0.2   dask worker tcp://10.77.0.1:8786 --host 10.77.0.2 --nworkers 2 --nthreads 1
    10.77.0.1   python -m benchmarks.speed.two_hosts --client

The client asks a worker to open the file, and fits what that returns. Bytes are those that the
network card of the first host has counted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._common import make_parser, parse

CLIENT_HOST = "cohirf-client"
WORKER_HOST = "cohirf-workers"
ADDRESSES = {CLIENT_HOST: "10.77.0.1", WORKER_HOST: "10.77.0.2"}
CARDS = {CLIENT_HOST: "cohirf0", WORKER_HOST: "cohirf1"}
SCHEDULER = f"tcp://{ADDRESSES[CLIENT_HOST]}:8786"
DATA = Path("/mnt/spheres.npy")


def sh(command: str) -> None:
    subprocess.run(command.split(), check=True)


@contextlib.contextmanager
def two_hosts() -> Iterator[None]:
    """Make the namespaces, the cable between them, and an address for each."""
    for host in ADDRESSES:
        subprocess.run(["ip", "netns", "del", host], check=False, stderr=subprocess.DEVNULL)
        sh(f"ip netns add {host}")
    try:
        sh(f"ip link add {CARDS[CLIENT_HOST]} type veth peer name {CARDS[WORKER_HOST]}")
        for host, address in ADDRESSES.items():
            sh(f"ip link set {CARDS[host]} netns {host}")
            sh(f"ip -n {host} addr add {address}/24 dev {CARDS[host]}")
            sh(f"ip -n {host} link set {CARDS[host]} up")
            sh(f"ip -n {host} link set lo up")
        yield
    finally:
        for host in ADDRESSES:
            sh(f"ip netns del {host}")


@contextlib.contextmanager
def started(host: str, command: list[str]) -> Iterator[None]:
    """Run a program on a host until the block ends."""
    process = subprocess.Popen(["ip", "netns", "exec", host, *command], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def received_bytes() -> int:
    return int(
        Path(f"/sys/class/net/{CARDS[CLIENT_HOST]}/statistics/rx_bytes").read_text(encoding="utf-8")
    )


def run(n_rows: int) -> int:
    """Start everything; return the exit code of the client."""
    python = sys.executable
    this = [python, "-m", "benchmarks.speed.two_hosts", "--rows", str(n_rows)]
    scheduler = [
        python,
        "-m",
        "dask",
        "scheduler",
        "--host",
        ADDRESSES[CLIENT_HOST],
        "--port",
        "8786",
    ]
    workers = [
        python,
        "-m",
        "dask",
        "worker",
        SCHEDULER,
        "--host",
        ADDRESSES[WORKER_HOST],
        "--nworkers",
        "2",
    ]
    workers += ["--nthreads", "1", "--no-dashboard"]
    with_disk = ["unshare", "--mount", *this, "--with-disk", *workers]
    with (
        two_hosts(),
        started(CLIENT_HOST, [*scheduler, "--no-dashboard"]),
        started(WORKER_HOST, with_disk),
    ):
        return subprocess.run(
            ["ip", "netns", "exec", CLIENT_HOST, *this, "--client"], check=False
        ).returncode


def start_with_disk(n_rows: int, command: list[str]) -> None:
    """Mount a disk that no other process sees, write the data there, and become the workers."""
    from examples.synthetic import write_data

    sh("mount --make-rprivate /")
    sh("mount -t tmpfs tmpfs /mnt")
    write_data("spheres", DATA, n_rows, random_state=0)
    os.execv(command[0], command)


def fit(n_rows: int) -> bool:
    """Fit from the client's host, and compare with a fit of the same rows on this host alone."""
    import tempfile

    from distributed import Client, wait
    from examples.synthetic import write_data

    from cohirf import CoHiRF, open_source
    from cohirf.clusterers import GridDBSCAN

    model = CoHiRF.as_published(
        GridDBSCAN(eps=0.2), views=1, batch_size=20_000, min_cluster_size=2, random_state=0
    )
    with Client(SCHEDULER) as client:
        client.wait_for_workers(2)
        print(f"workers: {', '.join(client.nthreads())}; the file is on this host: {DATA.exists()}")
        before = received_bytes()
        started = time.perf_counter()
        source = client.submit(open_source, DATA).result()
        model.fit(source, client=client)
        fitted = received_bytes() - before
        model.labels_ = model.labels_.persist()
        wait(model.labels_)
        seconds = time.perf_counter() - started
        print(
            f"{seconds:.1f} s; received {fitted / 1e6:.2f} MB of {12 * n_rows / 1e6:.0f} MB of data"
        )
        n_survivors = model.hierarchy_.n_rows
        print(
            f"{n_survivors:,} survivors, {fitted / n_survivors:.0f} bytes each; clusters "
            f"{model.n_clusters_}"
        )
        labels = model.labels_.compute()
    with tempfile.TemporaryDirectory() as folder:
        write_data("spheres", Path(folder) / "again.npy", n_rows, random_state=0)
        expected = CoHiRF.as_published(**model.get_params(deep=False)).fit(
            open_source(Path(folder) / "again.npy")
        )
        same = bool((expected.labels_ == labels).all())
    print(f"the same labels as on one machine: {same}")
    return same


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--with-disk", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parse(parser, argv, rows=200_000)
    if arguments.with_disk:
        start_with_disk(arguments.rows, arguments.with_disk)
    elif arguments.client:
        sys.exit(0 if fit(arguments.rows) else 1)
    else:
        sys.exit(run(arguments.rows))


if __name__ == "__main__":
    main()
