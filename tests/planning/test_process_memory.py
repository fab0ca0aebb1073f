"""The memory of this process and of the machine."""

from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from sklearn.cluster import KMeans

from cohirf import CoHiRF
from cohirf.planning import memory
from cohirf.planning.memory import (
    available_bytes,
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
        assert 10**7 < resident_bytes() < 1.1 * peak_bytes()  # the system counts pages of each thread in its own time
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


def test_a_container_can_have_less_than_the_machine(tmp_path):
    write(tmp_path / "proc/self/cgroup", "0::/inner\n")
    make_group(tmp_path / "sys/fs/cgroup/inner", 5000, 2000)
    assert available_bytes(tmp_path) == 3000


def test_a_group_around_the_own_one_counts(tmp_path):
    write(tmp_path / "proc/self/cgroup", "0::/outer/inner\n")
    make_group(tmp_path / "sys/fs/cgroup/outer/inner", "max", 100)
    make_group(tmp_path / "sys/fs/cgroup/outer", 700, 100)
    assert available_bytes(tmp_path) == 600


def test_pages_of_files_do_not_count_as_taken(tmp_path):
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    make_group(tmp_path / "sys/fs/cgroup", 5000, 4900, file_pages=4000)
    assert available_bytes(tmp_path) == 4100


def test_the_older_interface_of_control_groups_is_read(tmp_path):
    write(tmp_path / "proc/self/cgroup", "5:cpu:/x\n4:memory:/x\n0::/\n")
    make_group(tmp_path / "sys/fs/cgroup/memory/x", 800, 300, names=VERSION_1)
    assert available_bytes(tmp_path) == 500


def test_a_container_that_is_full_leaves_nothing(tmp_path):
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    make_group(tmp_path / "sys/fs/cgroup", 100, 200)
    assert available_bytes(tmp_path) == 0


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
    assert CoHiRF.as_published(KMeans(2), n_views=2, batch_size=20, random_state=0).fit(X).labels_.shape == (40,)
    with pytest.raises(ValueError, match="batch_size='much' is not valid"):
        CoHiRF.as_published(KMeans(2), batch_size="much").fit(X)
