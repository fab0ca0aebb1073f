"""What a fit has found, for people: descriptions, diagnoses and reports, from one sample, one table and one tree.

In the order in which they build on each other:

- words: text, counts, phrases, and names of clusters
- table, sample: which rows are read, and as what
- effects, rows: what sets clusters apart, and which rows fit badly
- verdict, diagnose: whether to trust a fit
- describe, tree, methods: clusters and branches in words; the methods of a model
- study, cuts, columns, cards, pictures, map, script, page, report: the HTML page

Its public names are in ``cohirf.description`` and ``cohirf.report``.
"""
