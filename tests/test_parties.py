"""Parties: owners of different columns cluster the same rows, and exchange labels and ranks
only.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.cli import main
from cohirf.parties import Party, PartyError, join, run, run_folder
from cohirf.parties.coordinator import combine_ranks
from cohirf.parties.party import NOT_HELD, Request, rank_rows

METHOD = KMeans(4, n_init=1)
NAMES = ("bank", "shop")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, n_features=6, centers=4, cluster_std=2.5, random_state=0)


def make_parties(X, folder=None, scale=1.0, **options):
    columns = np.array_split(np.arange(X.shape[1]), len(NAMES))
    return [
        Party(
            X[:, part] * scale,
            METHOD,
            name=name,
            views=2,
            log=None if folder is None else folder / f"{name}.jsonl",
            random_state=number,
            **options,
        )
        for number, (name, part) in enumerate(zip(NAMES, columns, strict=True))
    ]


def run_threads(folder, parties, **options):
    """Run each party in a thread, and the coordinator here.

    Return its result and the labels that parties got.
    """
    got = {}
    threads = [
        threading.Thread(
            target=lambda one=party: got.update({one.name: join(folder, one, timeout=60)})
        )
        for party in parties
    ]
    for thread in threads:
        thread.start()
    found = run_folder(folder, len(parties), timeout=60, **options)
    for thread in threads:
        thread.join()
    return found, got


@pytest.mark.parametrize("medoid", ["cosine", "euclidean"])
@pytest.mark.parametrize(
    ("consensus", "weights", "method"),
    [
        ("strict", False, METHOD),
        ("majority", True, METHOD),
        ("relaxed", True, METHOD),
        ("strict", False, DBSCAN(4.0)),
    ],
)
def test_one_party_with_all_columns_is_cohirf_label_for_label(
    blobs, medoid, consensus, weights, method
):
    X, _ = blobs
    options = {"consensus": consensus, "medoid_weights": weights}
    views = {"views": 4, "max_features": 0.6, "medoid": medoid, "random_state": 3}
    model = CoHiRF.as_published(method, **options, **views).fit(X)
    found = run([Party(X, method, **views)], **options)
    assert np.array_equal(found.labels, model.labels_)
    assert np.array_equal(found.hierarchy.parents, model.parents_)
    assert np.array_equal(found.stability, model.stability_)
    assert np.array_equal(found.medoid_indices, model.medoid_indices_)


def test_number_of_clusters_is_exact_and_parties_together_are_better_than_each_alone(blobs):
    X, y = blobs
    parties = make_parties(X)
    found = run(parties, n_clusters=4)
    alone = [run([party], n_clusters=4) for party in parties]
    assert found.n_clusters == len(found.medoid_indices) == 4
    together, *apart = (adjusted_rand_score(y, result.labels) for result in (found, *alone))
    assert together >= max(apart) - 0.05
    assert np.array_equal(found.labels[found.medoid_indices], np.arange(4))


def test_medoids_go_by_ranks_and_not_by_the_order_of_sorted_rows():
    ranks = rank_rows(np.array([0.1, 0.9, 0.5]), np.zeros(3, dtype=int))
    assert ranks.tolist() == [2, 0, 1]
    assert combine_ranks([ranks, ranks], np.zeros(3, dtype=int), 1).tolist() == [1]


def test_equal_rows_have_equal_ranks_and_the_first_is_the_medoid():
    scores = np.array([0.5, 0.9, 0.9 - 1e-12, 0.5 + 1e-12, 0.1])
    ranks = rank_rows(scores, np.zeros(5, dtype=int))
    assert ranks.tolist() == [2, 0, 0, 2, 4]
    assert combine_ranks([ranks], np.zeros(5, dtype=int), 1).tolist() == [1]


def test_rows_that_a_party_does_not_have_are_ranked_by_the_others():
    clusters = np.zeros(4, dtype=int)
    one = np.array([NOT_HELD, 1, 0, 2])
    two = np.array([0, 1, NOT_HELD, 2])
    # mean shares 0, 1/3, 0, 2/3: the first of two
    assert combine_ranks([one, two], clusters, 1).tolist() == [0]
    nobody = np.array([NOT_HELD, NOT_HELD, 1, 0])
    assert combine_ranks([nobody], clusters, 1).tolist() == [3]


def test_mass_decides_which_row_is_central():
    party = Party(np.array([[0.0], [1.0], [4.0]]), METHOD, medoid="euclidean")
    ask = Request(1, "rank", 1, np.arange(3), np.zeros(3, dtype=int))
    assert party.answer(ask).tolist() == [1, 0, 2]
    heavy = Request(1, "rank", 1, np.arange(3), np.zeros(3, dtype=int), np.array([1, 1, 100]))
    assert party.answer(heavy).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, -1, 2], "bank is asked for row -1, but there are 3 rows: ask for rows from 0 to 2"),
        ([-3, 1, 2], "bank is asked for row -3, but there are 3 rows"),
        ([0, 3, 1], "bank is asked for row 3, but there are 3 rows"),
        (
            [0, 0, 1],
            "bank is asked for rows in another order: ask for sorted rows, each of them once",
        ),
        (
            [2, 1, 0],
            "bank is asked for rows in another order: ask for sorted rows, each of them once",
        ),
    ],
)
def test_a_party_answers_for_existing_rows_only_and_for_each_once(rows, message):
    party = Party(np.array([[0.0], [1.0], [4.0]]), METHOD, name="bank")
    with pytest.raises(ValueError, match=message):
        party.answer(Request(1, "label", 1, np.array(rows)))


def test_parties_may_lack_rows(blobs):
    X, y = blobs
    half = np.arange(0, 150)
    parties = [
        Party(X[:, :3], METHOD, name="all", views=2),
        Party(X[half, 3:], METHOD, name="some", views=2, rows=half, n_rows=len(X)),
    ]
    found = run(parties, n_clusters=4)
    assert adjusted_rand_score(y, found.labels) > 0.7
    assert run(parties).n_clusters >= 4
    with pytest.raises(PartyError, match="No party has row 150"):
        run(parties[1:], n_clusters=4)


@pytest.mark.parametrize(
    "options", [{}, {"n_clusters": 4}, {"consensus": "majority", "medoid_weights": True}]
)
def test_folder_gives_the_same_as_one_process_and_the_parties_get_the_labels(
    blobs, tmp_path, options
):
    X, _ = blobs
    found, got = run_threads(tmp_path, make_parties(X), **options)
    assert np.array_equal(found.labels, run(make_parties(X), **options).labels)
    assert all(np.array_equal(labels, found.labels) for labels in got.values())


def test_what_leaves_a_party_is_in_its_log_and_does_not_depend_on_values(blobs, tmp_path):
    X, _ = blobs
    folders = [tmp_path / name for name in ("one", "other")]
    for folder, scale in zip(folders, (1.0, 2.0**40), strict=True):
        folder.mkdir()
        run_threads(folder / "shared", make_parties(X, folder, scale))
    for name in NAMES:
        sent = [
            json.loads(line) for line in (folders[0] / f"{name}.jsonl").read_text().splitlines()
        ]
        files = sorted((folders[0] / "shared").glob(f"*{name}.*"))
        assert {entry["file"]: entry["sha256"] for entry in sent} == {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files
        }
    assert {path.name.split(".")[-1] for path in (folders[0] / "shared").iterdir()} == {
        "joined",
        "request",
        "reply",
    }
    for path in (
        folders[0] / "shared"
    ).iterdir():  # other values with the same labels and ranks: the same bytes
        assert path.read_bytes() == (folders[1] / "shared" / path.name).read_bytes()


def test_parties_of_different_rows_are_refused(blobs):
    X, _ = blobs
    ids = [f"c{number}" for number in range(len(X))]
    with pytest.raises(PartyError, match="b has 199 rows, but a has 200"):
        run([Party(X, METHOD, name="a"), Party(X[1:], METHOD, name="b")])
    with pytest.raises(PartyError, match="different ids, or the same ids in different orders"):
        run([Party(X, METHOD, name="a", ids=ids), Party(X[::-1], METHOD, name="b", ids=ids[::-1])])
    with pytest.raises(PartyError, match=r"party \(2\) has 199 rows, but party has 200"):
        run([Party(X, METHOD), Party(X[1:], METHOD)])
    with pytest.raises(PartyError, match="no parties"):
        run([])


BAD = [
    ({"name": "../x"}, "name='../x'"),
    ({"medoid": "rbf"}, "medoid='rbf'"),
    ({"rows": [0, 1]}, "rows has 2 numbers"),
    ({"n_rows": 300}, "rows must have sorted, distinct numbers"),
    ({"ids": ["a"]}, "ids has 1 names for 200 rows"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_parties_are_refused(blobs, options, message):
    with pytest.raises(ValueError, match=message):
        Party(blobs[0], METHOD, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"consensus": "all"},
        {"consensus": "refined"},
        {"consensus": "all", "n_clusters": 3},
        {"max_iter": 0},
    ],
)
def test_bad_options_of_a_run_are_refused(blobs, options):
    with pytest.raises(ValueError, match="is not valid: give"):
        run([Party(blobs[0], METHOD)], **options)


def test_files_that_do_not_fit_are_refused_and_nothing_is_lost(blobs, tmp_path):
    X, _ = blobs
    expected, _ = run_threads(tmp_path, make_parties(X))
    first = tmp_path / "0001.bank.reply"
    second = tmp_path / "0003.bank.reply"
    whole = second.read_bytes()
    for content, message in [
        (first.read_bytes(), "answers another request than number 3"),
        (whole[:-40], "cut short"),
        (whole[:-40] + bytes(40), "cannot be used"),
        (b"cohirf-model 1\n" + whole, "not a cohirf-parties"),
    ]:
        second.write_bytes(content)
        with pytest.raises(PartyError, match=message):
            run_folder(tmp_path, 2, timeout=10)
    second.unlink()
    with pytest.raises(TimeoutError, match="A party has not written"):
        run_folder(tmp_path, 2, timeout=0)
    with pytest.raises(PartyError, match="a run with other parameters"):
        run_folder(tmp_path, 2, n_clusters=3, timeout=10)
    with pytest.raises(PartyError, match="n_parties=1, but bank, shop have joined"):
        run_folder(tmp_path, 1, timeout=10)
    with pytest.raises(PartyError, match="another party named bank"):
        join(tmp_path, Party(X[:5], METHOD, name="bank"))
    assert np.array_equal(run_threads(tmp_path, make_parties(X))[0].labels, expected.labels)
    assert second.read_bytes() == whole


def test_program_runs_parties(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    X, y = make_blobs(60, n_features=4, centers=3, random_state=2)
    for name, part in zip(NAMES, (X[:, :2], X[:, 2:]), strict=True):
        lines = [f"c{row},{a},{b}" for row, (a, b) in enumerate(part.tolist())]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,a,b", *lines]))
    threads = [
        threading.Thread(
            target=main,
            args=(
                [
                    "party",
                    "join",
                    "shared",
                    f"{name}.csv",
                    "--name",
                    name,
                    "--param",
                    "n_clusters=3",
                    "--id-column",
                    "id",
                ],
            ),
        )
        for name in NAMES
    ]
    for thread in threads:
        thread.start()
    assert (
        main(["party", "run", "shared", "--parties", "2", "--clusters", "3", "--out", "labels.npy"])
        == 0
    )
    for thread in threads:
        thread.join()
    assert adjusted_rand_score(y, np.load("labels.npy")) > 0.8
    assert (tmp_path / "bank.sent.jsonl").exists()


def _take_part(folder, X, name, log):
    party = next(party for party in make_parties(X, log) if party.name == name)
    join(folder, party)


def _coordinate(folder, out):
    result = run_folder(folder, len(NAMES))
    np.save(out.with_suffix(".unfinished.npy"), result.labels)
    out.with_suffix(".unfinished.npy").replace(out)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that start at once")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_labels_are_the_same_after_fifty_kills(tmp_path):
    """Kill the coordinator or a party at random instants, and start it again, until 50 were
    killed.
    """
    X, _ = make_blobs(3000, n_features=8, centers=4, cluster_std=3.0, random_state=0)
    expected = run(make_parties(X)).labels
    context = multiprocessing.get_context("fork")
    chance = random.Random(0)
    n_killed = 0
    n_runs = 0
    while n_killed < 50:
        folder = tmp_path / f"run{n_runs}"
        out = tmp_path / f"labels{n_runs}.npy"
        folder.mkdir()
        calls = {name: (_take_part, (folder / "shared", X, name, folder)) for name in NAMES}
        calls["coordinator"] = (_coordinate, (folder / "shared", out))
        started = {name: _start(context, *call) for name, call in calls.items()}
        while any(process.exitcode is None for process in started.values()):
            time.sleep(chance.uniform(0, 0.3))
            name = chance.choice(sorted(calls))
            if started[name].exitcode is None and n_killed < 50:
                os.kill(started[name].pid, signal.SIGKILL)
                started[name].join()
                n_killed += 1
                started[name] = _start(context, *calls[name])
        assert all(process.exitcode == 0 for process in started.values())
        assert np.array_equal(np.load(out), expected)
        assert not [path for path in (folder / "shared").iterdir() if path.name.startswith(".")]
        shutil.rmtree(folder)
        n_runs += 1


def _start(context, function, arguments):
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


def test_rows_that_are_noise_at_every_party_are_in_no_cluster(tmp_path):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 9]], cluster_std=0.3, random_state=0)
    X[0] = 100
    parties = [
        Party(X * scale, DBSCAN(eps=scale), name=name)
        for name, scale in zip(NAMES, (1.0, 1.5), strict=True)
    ]
    found = run(parties, n_clusters=2)
    np.testing.assert_array_equal(np.flatnonzero(found.labels < 0), [0])
    np.testing.assert_array_equal(found.labels[found.medoid_indices], [0, 1])
    _, got = run_threads(tmp_path, parties, n_clusters=2)
    np.testing.assert_array_equal(got["bank"], found.labels)


def test_a_party_may_have_a_sparse_matrix(blobs):
    X, _ = blobs
    dense, stored = (run([Party(values, METHOD)]).labels for values in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense, stored)
