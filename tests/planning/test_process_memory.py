"""Amounts of memory as text, the memory of this process, and that of the machine."""

from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from sklearn.cluster import KMeans

from cohirf import CoHiRF
from cohirf.planning import memory
from cohirf.planning.memory import (
    available_bytes,
    format_bytes,
    parse_bytes,
    peak_bytes,
    read_memory_limit,
    reset_peak,
    resident_bytes,
    resolve_memory_limit,
)
from other_systems import OTHER_SYSTEMS, as_on
from systems import linux_only

HUNDRED_MB = 10**8


@pytest.mark.slow
@linux_only
def test_resident_memory_counts_what_is_touched():
    before = resident_bytes()
    block = np.ones(HUNDRED_MB, dtype=np.uint8)
    assert resident_bytes() - before == pytest.approx(block.nbytes, rel=0.02)


@pytest.mark.slow
@linux_only
def test_the_peak_outlives_what_made_it_until_it_is_forgotten():
    reset_peak()
    before = resident_bytes()
    assert np.ones(HUNDRED_MB, dtype=np.uint8).all()
    assert peak_bytes() - before == pytest.approx(HUNDRED_MB, rel=0.02)
    reset_peak()
    assert peak_bytes() - before < HUNDRED_MB / 10


@pytest.mark.slow
@pytest.mark.parametrize("system", OTHER_SYSTEMS)
def test_other_systems_tell_memory_too(system):
    with as_on(system):
        # the system counts pages of each thread in its own time
        assert 10**7 < resident_bytes() < 1.1 * peak_bytes()
        reset_peak()
        assert 10**7 < available_bytes() < 10**15


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make_group(place, limit, usage, file_pages=0, names=("memory.max", "memory.current")):
    write(place / names[0], f"{limit}\n")
    write(place / names[1], f"{usage}\n")
    write(place / "memory.stat", f"anon 1\nactive_file {file_pages}\ninactive_file 0\n")


VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def test_without_a_container_the_machine_is_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=7000))
    assert available_bytes(tmp_path) == 7000


@pytest.mark.parametrize(
    ("listing", "groups", "expected"),
    [
        pytest.param(
            "0::/inner\n",
            {"inner": (5000, 2000)},
            3000,
            id="a container can have less than the machine",
        ),
        pytest.param(
            "0::/out/in\n",
            {"out/in": ("max", 100), "out": (700, 100)},
            600,
            id="groups around it count",
        ),
        pytest.param(
            "0::/\n", {"": (5000, 4900, 4000)}, 4100, id="pages of files do not count as taken"
        ),
        pytest.param("0::/\n", {"": (100, 200)}, 0, id="a full container leaves nothing"),
        pytest.param(
            "5:cpu:/x\n4:memory:/x\n0::/\n",
            {"memory/x": (800, 300, 0, VERSION_1)},
            500,
            id="the older interface is read",
        ),
    ],
)
def test_control_groups_limit_what_is_available(tmp_path, listing, groups, expected):
    write(tmp_path / "proc/self/cgroup", listing)
    for path, group in groups.items():
        make_group(tmp_path / "sys/fs/cgroup" / path, *group)
    assert available_bytes(tmp_path) == expected


def test_no_limit_is_half_of_what_is_available(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**12)
    monkeypatch.setattr(memory, "resident_bytes", lambda: 10**9)
    assert resolve_memory_limit(None) == 10**9 + 5 * 10**11
    assert resolve_memory_limit(read_memory_limit("auto")) == 10**9 + 5 * 10**11
    assert resolve_memory_limit(read_memory_limit("2GB")) == 2 * 10**9


def test_a_fit_with_a_given_batch_size_does_not_ask_how_much_memory_there_is(monkeypatch):
    def fail():
        raise NotImplementedError("this system does not tell")

    monkeypatch.setattr(psutil, "virtual_memory", fail)
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert CoHiRF.as_published(KMeans(2), views=2, batch_size=20, random_state=0).fit(
        X
    ).labels_.shape == (40,)
    with pytest.raises(ValueError, match="batch_size='much' is not valid"):
        CoHiRF.as_published(KMeans(2), batch_size="much").fit(X)


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("500MB", 500 * 10**6),
        ("1.5GiB", 3 * 2**29),
        (" 0.5 tb ", 5 * 10**11),
        (".5KiB", 512),
        ("7B", 7),
    ],
)
def test_a_size_has_one_meaning(size, n_bytes):
    assert parse_bytes(size) == n_bytes


@pytest.mark.parametrize(
    "size",
    [
        "",
        "GB",
        "2G",
        "two GB",
        "-1GB",
        "1e3MB",
        "2 GB RAM",
        "1,5GB",
        "0",
        "4096",
        "0GB",
        "inf GB",
        f"{10**400}B",
    ],
)
def test_what_is_no_size_is_shown_with_the_remedy(size):
    with pytest.raises(
        ValueError, match=r'batch_size=.* is not valid: give .* "1.5GiB" \(units: B, KB, KiB, MB'
    ):
        parse_bytes(size)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 KB"),
        (123_456_789, "123 MB"),
        (999_700_000, "1 GB"),
        (2.5e12, "2.5 TB"),
    ],
)
def test_sizes_are_written_with_three_digits(n_bytes, text):
    assert format_bytes(n_bytes) == text


@pytest.mark.parametrize("n_bytes", [1, 1024, 10**6, 3 * 2**30, 10**13])
def test_what_is_written_can_be_read(n_bytes):
    assert parse_bytes(format_bytes(n_bytes)) == pytest.approx(n_bytes, rel=0.005)
