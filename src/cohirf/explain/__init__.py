"""What a fit has found, for people: descriptions, diagnoses and pages, from one sample, one table
and one named tree.

:func:`describe_clusters` describes the final clusters of a model: name, size, share, stability,
exemplar with its values, the features that set each cluster apart, and the rows that fit their
cluster badly. ``CoHiRF.summary`` shows it as a table.

:func:`make_headline` says in a few sentences how many clusters there are, how large, how far apart,
and whether to trust them. :func:`name_tree` names the branches of the tree, :func:`name_partition`
the clusters of any partition, and
:func:`name_topics` clusters of texts on several levels. ``CoHiRF.diagnose`` returns a
:class:`Diagnosis`.
:func:`write_report` writes one HTML page on a fitted model.

The files, in the order in which they build on each other:

- words, table: text, phrases and names; rows of any table as numbers
- effects, verdict: what sets clusters apart and splits siblings; whether to trust a fit
- study: a model with the rows that explain it, and the sampler
- rows, diagnose, describe, methods: rows that fit badly, the base method alone, clusters and
  branches in words
- cuts, columns, cards, map, script, page, report: the HTML page; topics: that of texts
"""

from typing import TYPE_CHECKING

from cohirf.optional import lazy_names

if TYPE_CHECKING:
    from cohirf.explain.describe import (
        ClusterDescription,
        Description,
        Headline,
        describe_clusters,
        make_headline,
        name_partition,
        name_tree,
        write_tree,
    )
    from cohirf.explain.diagnose import Diagnosis
    from cohirf.explain.effects import Trait
    from cohirf.explain.report import write_report
    from cohirf.explain.rows import BadlyFitting
    from cohirf.explain.topics import Topic, Topics, name_topics
    from cohirf.explain.verdict import Finding

__all__ = [
    "BadlyFitting",
    "ClusterDescription",
    "Description",
    "Diagnosis",
    "Finding",
    "Headline",
    "Topic",
    "Topics",
    "Trait",
    "describe_clusters",
    "make_headline",
    "name_partition",
    "name_topics",
    "name_tree",
    "write_report",
    "write_tree",
]

_PLACES = {
    "ClusterDescription": "cohirf.explain.describe",
    "Description": "cohirf.explain.describe",
    "Headline": "cohirf.explain.describe",
    "describe_clusters": "cohirf.explain.describe",
    "make_headline": "cohirf.explain.describe",
    "name_partition": "cohirf.explain.describe",
    "name_tree": "cohirf.explain.describe",
    "write_tree": "cohirf.explain.describe",
    "Diagnosis": "cohirf.explain.diagnose",
    "Trait": "cohirf.explain.effects",
    "write_report": "cohirf.explain.report",
    "BadlyFitting": "cohirf.explain.rows",
    "Topic": "cohirf.explain.topics",
    "Topics": "cohirf.explain.topics",
    "name_topics": "cohirf.explain.topics",
    "Finding": "cohirf.explain.verdict",
}

__getattr__, __dir__ = lazy_names(__name__, _PLACES)
