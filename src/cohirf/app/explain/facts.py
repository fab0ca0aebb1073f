"""Facts: what a text says about rows, in a form that can be computed again from the table.

Words are made from facts, and nothing is said of rows that is no fact. A program can check them:
``cohirf fit --json`` prints them with the opening.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Fact:
    """A claim about the rows of some clusters.

    Attributes
    ----------
    words : str
        The claim as it is said.
    statistic : {"rows", "mean", "share", "own value", "level tells cluster", \
"cluster tells level", "adjusted Rand index", "missing", "between", "density between", \
"density at border", "slices", "along one line", "different rows", "formulas", "symmetric"}
        What was computed: the number of rows; the mean of a column; the share of the rows that have
        one of some levels; the value that all rows have, and no other row; the share of the rows
        that are in the cluster in which most rows of their level are, or that have the level that
        most rows of their cluster have; how much the clusters and combined levels of columns are
        the same groups; the share of the rows that have no cell in any of the columns; the share of
        the rows that are between two clusters; or how dense rows are there (``BadlyFitting``
        defines these); how many clusters there are that are no groups; which share of the variance
        of the fitted features is along one line; how many rows differ in some columns; how many
        values columns have of which each tells the others; or how many rows and columns a table of
        distances has. Missing cells do not count, but of
        levels; nor do numbers of rows in no cluster that are further from those of all clusters
        than three times their range.
    value : float
        The statistic of the rows of the clusters. Dates are days since 1970-01-01.
    clusters : tuple of int
        The labels of the clusters that it is about.
    columns : tuple of str
        The columns of the table that it is about; of what is between two clusters, those that were
        left out.
    levels : tuple of str
        The levels of a category.
    relation : {"is", "above", "below", "near", "most different"}
        What is said: the value itself, or how it lies to that of the compared rows.
    compared_with : str or tuple of int
        "all other rows", or the labels of other clusters; empty if the value itself is said.
    other : float
        The statistic of the compared rows; of sizes, the number of all rows; of levels that
        clusters repeat, how many there are.
    """

    words: str
    statistic: str
    value: float
    clusters: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    relation: str = "is"
    compared_with: str | tuple[int, ...] = ""
    other: float | None = None

    def about(self, *clusters: int) -> Fact:
        """Return the same fact of given clusters."""
        return replace(self, clusters=clusters)


def say_all(facts: list[Fact]) -> str:
    """Return the words of several facts, such as "low spend, older"; each once."""
    return ", ".join(dict.fromkeys(fact.words for fact in facts))
