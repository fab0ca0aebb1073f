"""Synthetic data, and the table of customers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples import synthetic
from examples.synthetic import (
    SHAPES,
    labels_file,
    main,
    make_customers,
    make_shapes,
    write_customers,
    write_data,
)
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import scale

from cohirf import datasets
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_hypercube, make_spheres

ROOT = Path(__file__).parents[1]


def test_spheres_have_their_radii():
    X, y = make_spheres(1001, radii=(1, 2, 5), noise=0, random_state=0)
    assert np.allclose(np.linalg.norm(X, axis=1), np.array([1, 2, 5])[y])
    assert np.bincount(y).tolist() == [334, 334, 333]


def test_spheres_are_drawn_in_random_order_and_reproducibly():
    X, y = make_spheres(100, random_state=3)
    assert (np.diff(y) != 0).sum() > 20
    assert (make_spheres(100, random_state=3)[0] == X).all()


def test_spheres_are_written_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "FILE_BLOCK_CELLS", 300)
    labels_path = write_data("spheres", tmp_path / "spheres.npy", 1001, noise=0, random_state=0)
    X = np.load(tmp_path / "spheres.npy")
    y = np.load(labels_path)
    assert labels_path == labels_file(tmp_path / "spheres.npy") == tmp_path / "spheres_labels.npy"
    assert (X.dtype, y.dtype) == (np.float32, np.int16)
    assert np.allclose(np.linalg.norm(X, axis=1), np.array([0.5, 1.0])[y])
    assert len(np.unique(X, axis=0)) == len(X)
    write_data("spheres", tmp_path / "again.npy", 1001, noise=0, random_state=0)
    assert (np.load(tmp_path / "again.npy") == X).all()


def test_shapes_have_their_shares_and_noise():
    _, y = make_shapes(10_000, noise=0.25, random_state=0)
    assert (y == -1).sum() == 2500
    assert (
        np.abs(np.bincount(y[y >= 0]) - 7500 * np.array([shape.share for shape in SHAPES])).max()
        <= 1
    )


def test_shapes_are_drawn_in_random_order_and_reproducibly():
    X, y = make_shapes(1000, random_state=3)
    assert (np.diff(y) != 0).sum() > 700
    assert (make_shapes(1000, random_state=3)[0] == X).all()


@pytest.mark.parametrize("n", [20_000, 50_000])
def test_shapes_stay_apart_while_they_become_denser(n):
    X, y = make_shapes(n, random_state=0)
    labels = GridDBSCAN(eps=30 / np.sqrt(n), min_samples=10).fit_predict(X)
    assert adjusted_rand_score(y[y >= 0], labels[y >= 0]) > 0.999
    assert (labels[y == -1] == -1).mean() > 0.75  # the others lie in shapes


def test_points_lie_within_the_width_of_their_shape():
    X, y = make_shapes(2000, random_state=0)
    for number, shape in enumerate(SHAPES):
        curve = shape.curve(np.linspace(0, 1, 2000))
        assert (
            NearestNeighbors(n_neighbors=1).fit(curve).kneighbors(X[y == number])[0].max()
            <= shape.width + 0.01
        )


@pytest.mark.parametrize("noise", [-0.1, 1.5])
def test_noise_that_is_not_a_share_is_refused(noise):
    with pytest.raises(
        ValueError, match=f"noise={noise} is not valid: give a share of the points from 0 to 1"
    ):
        make_shapes(10, noise=noise)


def test_hypercube_has_its_corners_and_noise():
    X, y = make_hypercube(20_000, n_clusters=5, n_informative=3, n_noise=4, random_state=0)
    means = np.stack([X[y == k].mean(axis=0) for k in range(5)])
    edge = 6 * np.sqrt(3)
    corners = np.round(means[:, :3] / edge)
    assert X.dtype == np.float32
    assert np.isin(corners, [0, 1]).all()
    assert len(np.unique(corners, axis=0)) == 5
    assert np.abs(means[:, :3] - edge * corners).max() < 0.1
    assert np.abs(means[:, 3:]).max() < 0.1
    assert np.allclose([X[y == k].std(axis=0) for k in range(5)], 1, atol=0.05)
    assert np.bincount(y).tolist() == [4000] * 5


def test_hypercube_of_many_dimensions_has_distinct_corners():
    X, y = make_hypercube(400, n_clusters=40, n_informative=60, n_noise=0, random_state=0)
    corners = np.round(np.stack([X[y == k].mean(axis=0) for k in range(40)]) / (6 * np.sqrt(60)))
    assert len(np.unique(corners, axis=0)) == 40


def test_corners_that_are_drawn_twice_are_drawn_anew(monkeypatch):
    monkeypatch.setattr(datasets, "FEW_CORNERS", 1)
    _, y = make_hypercube(80, n_clusters=8, n_informative=3, n_noise=0, random_state=0)
    assert len(np.unique(datasets.draw_corners(8, 3, np.random.RandomState(0)), axis=0)) == 8
    assert len(np.unique(y)) == 8


def test_more_clusters_than_corners_are_refused():
    with pytest.raises(
        ValueError,
        match="n_clusters=9 is above the 8 corners of a hypercube with n_informative=3: i",
    ):
        make_hypercube(100, n_clusters=9, n_informative=3)


def test_hypercube_is_written_block_by_block_around_the_same_corners(tmp_path, monkeypatch):
    whole, y_whole = make_hypercube(600, n_noise=2, random_state=0)
    assert (
        write_data("hypercube", tmp_path / "whole.npy", 600, n_noise=2, random_state=0)
        == tmp_path / "whole_labels.npy"
    )
    assert (np.load(tmp_path / "whole.npy") == whole).all()
    assert (np.load(tmp_path / "whole_labels.npy") == y_whole).all()
    monkeypatch.setattr(synthetic, "FILE_BLOCK_CELLS", 500)
    labels = write_data("hypercube", tmp_path / "parts.npy", 600, n_noise=2, random_state=0)
    X = np.load(tmp_path / "parts.npy")
    y = np.load(labels)
    assert len(np.unique(X, axis=0)) == 600
    distances = [
        np.linalg.norm(X[y == k, :3].mean(axis=0) - whole[y_whole == k, :3].mean(axis=0))
        for k in range(5)
    ]
    assert max(distances) < 1


def test_blobs_are_written_around_the_same_centres_in_every_block(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "FILE_BLOCK_CELLS", 100)
    labels = write_data(
        "blobs", tmp_path / "blobs.npy", 900, n_clusters=300, n_features=4, spread=0, random_state=0
    )
    X = np.load(tmp_path / "blobs.npy")
    y = np.load(labels)
    assert (X.dtype, y.dtype) == (np.float32, np.int16)
    assert X.shape == (900, 4)
    assert (
        len(np.unique(np.column_stack([X, y]), axis=0))
        == len(np.unique(y))
        == len(np.unique(X, axis=0))
    )


def test_labels_are_replaced_when_the_rows_are_on_disk(tmp_path, monkeypatch):
    rows = tmp_path / "s.npy"
    labels = tmp_path / "s_labels.npy"
    before_labels = []
    sync = os.fsync

    def note(descriptor):
        if not labels.exists():
            before_labels.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_data("spheres", rows, 100, random_state=0)
    assert rows.stat().st_ino in before_labels


def test_customers_are_reproducible_and_in_random_order():
    customers, segments = make_customers(500, random_state=3)
    again, same = make_customers(500, random_state=3)
    pd.testing.assert_frame_equal(customers, again)
    assert (segments == same).all()
    assert (segments[1:] != segments[:-1]).sum() > 250


def test_a_file_of_customers_reads_as_the_frame(tmp_path):
    known = write_customers(tmp_path / "c.csv", 500, random_state=3)
    customers, segments = make_customers(500, random_state=3)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "c.csv"), customers)
    assert known == tmp_path / "c_segments.csv"
    assert pd.read_csv(known)["customer_id"].equals(customers["customer_id"])
    assert (pd.read_csv(known)["segment"] == segments).all()


def test_the_demo_and_its_files_need_no_pandas(tmp_path):
    code = (
        "import sys; sys.modules['pandas'] = None; import tools.demo\n"
        "from examples.synthetic import main; main(sys.argv[1:])"
    )
    subprocess.run(
        [sys.executable, "-c", code, "customers", "9", tmp_path / "c.csv"], cwd=ROOT, check=True
    )
    assert len(pd.read_csv(tmp_path / "c.csv")) == 9


def test_the_program_writes_tables(tmp_path, capsys):
    main(["customers", "500", str(tmp_path / "c.csv"), "--seed", "3"])
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "c.csv"), make_customers(500, random_state=3)[0]
    )
    main(["blobs", "20", str(tmp_path / "b.csv")])
    assert pd.read_csv(tmp_path / "b.csv").columns.tolist() == [
        "x0",
        "x1",
        "x2",
        "x3",
        "x4",
        "label",
    ]
    assert capsys.readouterr().out.endswith("b.csv\n")


def test_a_kind_that_nobody_draws_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match="kind='cubes' is not valid: give one of spheres, hypercube, blobs"
    ):
        write_data("cubes", tmp_path / "c.npy", 10)
    assert list(tmp_path.iterdir()) == []


def test_parquet_stores_the_same_text(tmp_path):
    write_customers(tmp_path / "c.parquet", 200, random_state=3)
    stored = pd.read_parquet(tmp_path / "c.parquet")
    customers = make_customers(200, random_state=3)[0]
    assert stored.shape == customers.shape
    assert (stored["spend"].fillna("") == customers["spend"].fillna("")).all()


def test_customers_have_what_a_raw_table_has():
    customers, _ = make_customers(2000, random_state=0)
    assert customers["customer_id"].is_unique
    assert customers["country"].nunique() == 1
    assert customers["spend"].str.startswith("€").sum() == customers["spend"].notna().sum() < 2000
    assert customers["spend"].str.contains(",").any()
    assert customers["discounted"].str.endswith("%").all()
    assert customers["comment"].str.contains("\n").sum() == customers["comment"].notna().sum() > 500
    assert customers["age"].isna().mean() == pytest.approx(0.03, abs=0.02)
    assert set(customers["newsletter"]) == {"yes", "no"}
    assert (
        pd.to_datetime(customers["signed_up"]).max() < pd.to_datetime(customers["last_order"]).max()
    )


def test_segments_are_groups_that_a_clustering_finds():
    customers, segments = make_customers(2000, random_state=0)
    spend = np.log(customers["spend"].str.strip("€").str.replace(",", "").astype(float))
    discounted = customers["discounted"].str.strip("%").astype(float)
    numbers = pd.concat([customers[["age", "tenure", "orders"]], spend, discounted], axis=1)
    labels = KMeans(5, random_state=0, n_init=3).fit_predict(
        scale(numbers.fillna(numbers.median()))
    )
    assert adjusted_rand_score(segments, labels) > 0.9
