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
Choices, changes and drift are in words by :func:`say`, drift in one sentence by :func:`say_drift`.
:func:`write_report` writes one HTML page on a fitted model.

The files, in the order in which they build on each other:

- policy, words, facts, drift, results, table: thresholds; text, phrases and names; results of the
  library in words; rows of any table as numbers
- effects: what sets clusters apart and splits siblings
- study: a model with the rows that explain it, and the sampler
- rows, diagnose, describe, tables: rows that fit badly, whether to trust a fit, clusters and
  branches in words and in tables
- page, cuts, columns, cards, map, script: the HTML page; sections: what is below its cards
- heatmap, odd_rows, history: a section each; report: the whole page; topics: that of texts
"""

from typing import TYPE_CHECKING

from cohirf.optional import lazy_names

if TYPE_CHECKING:
    from cohirf.app.explain.describe import (
        ClusterDescription,
        Description,
        Headline,
        describe_clusters,
        make_headline,
        name_partition,
        name_tree,
        write_tree,
    )
    from cohirf.app.explain.diagnose import Diagnosis, Finding
    from cohirf.app.explain.drift import say_drift
    from cohirf.app.explain.effects import Trait
    from cohirf.app.explain.report import write_report
    from cohirf.app.explain.results import say
    from cohirf.app.explain.rows import BadlyFitting
    from cohirf.app.explain.topics import Topic, Topics, name_topics

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
    "say",
    "say_drift",
    "write_report",
    "write_tree",
]

_PLACES = {
    "ClusterDescription": "cohirf.app.explain.describe",
    "Description": "cohirf.app.explain.describe",
    "Headline": "cohirf.app.explain.describe",
    "describe_clusters": "cohirf.app.explain.describe",
    "make_headline": "cohirf.app.explain.describe",
    "name_partition": "cohirf.app.explain.describe",
    "name_tree": "cohirf.app.explain.describe",
    "write_tree": "cohirf.app.explain.describe",
    "Diagnosis": "cohirf.app.explain.diagnose",
    "Trait": "cohirf.app.explain.effects",
    "say_drift": "cohirf.app.explain.drift",
    "write_report": "cohirf.app.explain.report",
    "say": "cohirf.app.explain.results",
    "BadlyFitting": "cohirf.app.explain.rows",
    "Topic": "cohirf.app.explain.topics",
    "Topics": "cohirf.app.explain.topics",
    "name_topics": "cohirf.app.explain.topics",
    "Finding": "cohirf.app.explain.diagnose",
}

__getattr__, __dir__ = lazy_names(__name__, _PLACES)
