"""Rows that are shown beside medoids."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering

from cohirf.algorithm.base_method import BaseMethod
from cohirf.beyond.companions import Companions, count_shown
from cohirf.beyond.policy import COMPANION
from cohirf.rows.storage import ArrayRows

X = np.arange(2000.0)[:, None]


def test_as_many_rows_are_drawn_as_are_wanted_in_all():
    companions = Companions(ArrayRows(X), (0,), 300)
    assert 270 < len(companions.draw(np.arange(0, 200, 10), (2, 0))) <= 280
    assert companions.draw(np.arange(300), (2, 0)) is None


def test_no_medoid_is_drawn():
    medoids = np.arange(0, 2000, 10)
    drawn = Companions(ArrayRows(X), (0,), 1500).draw(medoids, (2, 0))
    assert not np.isin(drawn, medoids).any()
    assert len(np.unique(drawn)) == len(drawn)


def test_clusters_come_in_proportion_to_their_mass():
    drawn = Companions(ArrayRows(X), (0,), 1000).draw(np.array([0, 1999]), (2, 0))
    assert np.mean(drawn < 200) == pytest.approx(0.1, abs=0.03)


def test_what_is_drawn_depends_on_the_place_alone():
    companions = Companions(ArrayRows(X), (0,), 100)
    first, again, other = (
        companions.draw(np.array([5]), place) for place in [(2, 0), (2, 0), (3, 0)]
    )
    assert (first == again).all()
    assert not np.array_equal(first, other)


def test_data_without_other_rows_lends_none():
    assert Companions(ArrayRows(X[:5]), (0,), 300).draw(np.arange(5), (2, 0)) is None


def test_the_data_is_read_once():
    class Counted(ArrayRows):
        reads = 0

        def take(self, rows):
            Counted.reads += 1
            return super().take(rows)

    companions = Companions(Counted(X), (0,), 100)
    drawn = [companions.draw(np.arange(10), (2, batch)) for batch in range(5)]
    assert Counted.reads == 1
    assert len({rows.tobytes() for rows in drawn}) == 5


def test_methods_that_look_for_many_clusters_see_more_rows():
    assert count_shown(BaseMethod.of(AgglomerativeClustering(4)), None) == COMPANION.fewest
    assert (
        count_shown(BaseMethod.of(AgglomerativeClustering(400)), None)
        == 400 * COMPANION.per_cluster
    )
    assert count_shown(BaseMethod.of(AgglomerativeClustering(400)), 500) == 500
    assert count_shown(BaseMethod.of(DBSCAN()), None) == COMPANION.fewest


def test_medoids_are_known_by_their_row_numbers_in_the_data():
    numbers = np.arange(1000, 2000)  # the fit has the second half of the rows
    drawn = Companions(ArrayRows(X), (0,), 2000, numbers).draw(np.arange(0, 1000, 2), (2, 0))
    assert len(drawn) > 1000
    assert not np.isin(drawn, X[1000:2000:2]).any()


def test_all_rows_are_shown_where_as_many_are_wanted():
    drawn = Companions(ArrayRows(X), (0,), 2000).draw(np.array([0]), (2, 0))
    assert len(drawn) >= 1998
    assert (np.diff(drawn[:, 0]) > 0).all()
