"""What a fit has found, for people: descriptions, diagnoses and pages, from one sample, one table and one named tree.

In the order in which they build on each other:

- words, table: text, phrases and names; rows of any table as numbers
- effects, verdict: what sets clusters apart and splits siblings; whether to trust a fit
- study: a model with the rows that explain it, and the sampler
- rows, diagnose, describe, methods: rows that fit badly, the base method alone, clusters and branches in words
- cuts, columns, cards, map, script, page, report: the HTML page; topics: that of texts

Its public names are in ``cohirf.description`` and ``cohirf.report``.
"""
