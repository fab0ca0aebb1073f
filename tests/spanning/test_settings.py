"""The parameters of the three classes named HDBSCAN, in one convention."""

import importlib
import math

import hdbscan
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN

from cohirf.spanning.settings import SpanningSettings, settings_of


@pytest.mark.parametrize(
    ("estimator", "settings"),
    [
        (HDBSCAN(), SpanningSettings(5, 5, as_sklearn=True)),
        (HDBSCAN(min_cluster_size=15, min_samples=3), SpanningSettings(3, 15, as_sklearn=True)),
        (
            HDBSCAN(metric="minkowski", metric_params={"p": 2}, store_centers="medoid"),
            SpanningSettings(5, 5, as_sklearn=True),
        ),
        (HDBSCAN(metric="minkowski"), SpanningSettings(5, 5, as_sklearn=True)),
        (
            HDBSCAN(max_cluster_size=90, cluster_selection_epsilon=0.5),
            SpanningSettings(5, 5, False, 0.5, 90, as_sklearn=True),
        ),
        (
            HDBSCAN(cluster_selection_method="leaf", allow_single_cluster=True),
            SpanningSettings(5, 5, True, 0, math.inf, True, as_sklearn=True),
        ),
        (hdbscan.HDBSCAN(), SpanningSettings(6, 5)),
        (
            hdbscan.HDBSCAN(min_cluster_size=15, min_samples=1, max_cluster_size=90),
            SpanningSettings(2, 15, False, 0, 90),
        ),
        (
            hdbscan.HDBSCAN(metric="minkowski", p=2, algorithm="prims_kdtree"),
            SpanningSettings(6, 5),
        ),
    ],
    ids=str,
)
def test_settings_are_those_of_the_estimator(estimator, settings):
    assert settings_of(estimator) == settings


class Derived(HDBSCAN):
    pass


@pytest.mark.parametrize(
    "estimator",
    [
        DBSCAN(),
        Derived(),
        None,
        HDBSCAN(metric="manhattan"),
        HDBSCAN(metric="precomputed"),
        HDBSCAN(metric=math.dist),
        HDBSCAN(metric="minkowski", metric_params={"p": 1}),
        HDBSCAN(metric="minkowski", metric_params={"w": [1, 2]}),
        HDBSCAN(alpha=0.5),
        HDBSCAN(min_cluster_size=1),
        HDBSCAN(min_samples=0),
        HDBSCAN(min_samples=2.5),
        HDBSCAN(cluster_selection_epsilon=-1.0),
        HDBSCAN(cluster_selection_method="best"),
        hdbscan.HDBSCAN(metric="minkowski", p=3),
        hdbscan.HDBSCAN(metric="euclidean", w=[1, 2]),
        hdbscan.HDBSCAN(alpha=2.0),
        hdbscan.HDBSCAN(cluster_selection_persistence=0.1),
        hdbscan.HDBSCAN(cluster_selection_epsilon_max=1.0),
        hdbscan.HDBSCAN(match_reference_implementation=True),
    ],
    ids=str,
)
def test_what_a_spanning_tree_cannot_give_has_no_settings(estimator):
    assert settings_of(estimator) is None


@pytest.mark.slow  # fast_hdbscan is compiled for half a minute, when it is first imported
@pytest.mark.parametrize(
    ("parameters", "settings"),
    [
        ({}, SpanningSettings(6, 5, as_fast_hdbscan=True)),
        ({"min_samples": 1}, SpanningSettings(1, 5, as_fast_hdbscan=True)),
        (
            {"algorithm": "kruskal", "reproducible": True},
            SpanningSettings(6, 5, as_fast_hdbscan=True),
        ),
        ({"metric": "cosine"}, None),
        ({"semi_supervised": True}, None),
        ({"cluster_selection_persistence": 0.1}, None),
        ({"algorithm": "kruskal", "knn_k": 20}, None),
        ({"algorithm": "kruskal", "cannot_link_groups": [0, 0]}, None),
        ({"algorithm": "kruskal", "cannot_link": [[0, 1], [1, 0]]}, None),
    ],
    ids=str,
)
def test_settings_are_those_of_fast_hdbscan(parameters, settings):
    assert settings_of(importlib.import_module("fast_hdbscan").HDBSCAN(**parameters)) == settings
