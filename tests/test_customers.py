"""The table of customers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from cohirf.datasets import make_customers, segments_file, write_customers


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
    assert known == segments_file(tmp_path / "c.csv")
    assert pd.read_csv(known)["customer_id"].equals(customers["customer_id"])
    assert (pd.read_csv(known)["segment"] == segments).all()


def test_parquet_stores_the_same_text(tmp_path):
    write_customers(tmp_path / "c.parquet", 200, random_state=3)
    stored, customers = pd.read_parquet(tmp_path / "c.parquet"), make_customers(200, random_state=3)[0]
    assert stored.shape == customers.shape
    assert (stored["spend"].fillna("") == customers["spend"].fillna("")).all()


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"c\.npy' has an unknown format: give a name that ends in"):
        write_customers(tmp_path / "c.npy", 10)
    assert list(tmp_path.iterdir()) == []


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
    assert pd.to_datetime(customers["signed_up"]).max() < pd.to_datetime(customers["last_order"]).max()


def test_segments_are_groups_that_a_clustering_finds():
    customers, segments = make_customers(2000, random_state=0)
    spend = np.log(customers["spend"].str.strip("€").str.replace(",", "").astype(float))
    discounted = customers["discounted"].str.strip("%").astype(float)
    numbers = pd.concat([customers[["age", "tenure", "orders"]], spend, discounted], axis=1)
    labels = KMeans(5, random_state=0, n_init=3).fit_predict(scale(numbers.fillna(numbers.median())))
    assert adjusted_rand_score(segments, labels) > 0.9
