"""What packages need that describe, draw or compare models, as :mod:`cohirf.app` does: facts about
models, labels and rows.
"""

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.beyond.choose_merge import MERGES
from cohirf.beyond.merge_tree import MergeTree
from cohirf.choice import count_crumbs
from cohirf.degrees.drift import ClusterDrift, FeatureDrift
from cohirf.engines.tasks import one_thread
from cohirf.facts import (
    FitFacts,
    base_method_of,
    cluster_positions,
    give_names,
    refuse_limits,
    remedies_for,
    require_labels_here,
    set_columns,
)
from cohirf.merge_models import find_largest, in_other_units
from cohirf.problems import Problem
from cohirf.summary.numbers import (
    Step,
    Totals,
    call_cluster,
    positions_of,
)
from cohirf.validation import column_means, count_views, refuse_what_is_no_table

__all__ = [
    "MERGES",
    "BaseMethod",
    "ClusterDrift",
    "FeatureDrift",
    "FitFacts",
    "MergeTree",
    "Problem",
    "Step",
    "Totals",
    "base_method_of",
    "call_cluster",
    "cluster_positions",
    "column_means",
    "count_crumbs",
    "count_views",
    "fill_missing",
    "find_largest",
    "give_names",
    "in_other_units",
    "one_thread",
    "positions_of",
    "refuse_limits",
    "refuse_what_is_no_table",
    "remedies_for",
    "require_labels_here",
    "set_columns",
]
