"""What the clusters of a fit are, in words and in the units of the user's data.

:func:`describe_clusters` describes the final clusters of a model: name, size, share, stability, exemplar with its
values, the features that set each cluster apart, and the rows that fit their cluster badly. ``CoHiRF.summary`` shows
it as a table.

The parts can be used for any other partition, such as a cut of the tree::

    table = read_table(frame, rows)                    # any columns: numbers, categories, dates, truth values
    traits = find_traits(table, labels, clusters)      # what sets each cluster apart, the strongest first
    names = name_clusters(traits)                      # "older, long tenure, low spend"
    traits[0][0].phrase, traits[0][0].values           # "older", "age 61 (others 38)"

:func:`find_badly_fitting` returns the least typical rows and the rows between two clusters. :func:`make_headline` says
in a few sentences how many clusters there are, how large, how far apart, and whether to trust them.
:func:`arrange_heatmap` sorts clusters and features for a heat map, :func:`name_tree` names the branches of the tree.
"""

from cohirf.description.cluster_names import name_clusters
from cohirf.description.described import ClusterDescription, Description, describe_clusters
from cohirf.description.headline import Headline, make_headline
from cohirf.description.heatmap import Heatmap, arrange_heatmap
from cohirf.description.named_tree import NamedTree, name_tree, write_tree
from cohirf.description.rows import BadlyFitting, BorderRow, LooseRow, find_badly_fitting
from cohirf.description.sampling import Sample, draw_described_rows, sample_table
from cohirf.description.table import Feature, Table, read_cells, read_table
from cohirf.description.traits import Trait, find_traits

__all__ = [
    "BadlyFitting",
    "BorderRow",
    "ClusterDescription",
    "Description",
    "Feature",
    "Headline",
    "Heatmap",
    "LooseRow",
    "NamedTree",
    "Sample",
    "Table",
    "Trait",
    "arrange_heatmap",
    "describe_clusters",
    "draw_described_rows",
    "find_badly_fitting",
    "find_traits",
    "make_headline",
    "name_clusters",
    "name_tree",
    "read_cells",
    "read_table",
    "sample_table",
    "write_tree",
]
