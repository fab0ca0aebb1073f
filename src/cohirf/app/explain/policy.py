"""The thresholds of descriptions and pages: how much is read, compared, said and shown.

No benchmark chose them: they were set by reading the descriptions of real tables, and a page that
shows more than they allow is no longer read. What a description claims does not rest on them: each
claim is recomputed from the data (``facts.py``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The size of a sample: at most this many rows of at most this many cells, but at least the
    fewest rows.
    """

    most: int
    fewest: int
    cells: int

    def count(self, n_columns: int) -> int:
        """Return how many rows to draw, given the number of cells of each."""
        return min(self.most, max(self.fewest, self.cells // max(n_columns, 1)))


@dataclass(frozen=True)
class SamplePolicy:
    """Which rows are read to explain a fit."""

    seed: int = 0  # the same rows each time
    described: Size = Size(100_000, 500, 5_000_000)  # 40 MB
    compared: Size = Size(2000, 300, 2_000_000)  # with their neighbours
    neighbours: Size = Size(100_000, 0, 5_000_000)  # all rows, among which these are, if not more
    diagnosed: Size = Size(1000, 300, 500_000)  # the base method runs on them
    scored_rows: int = 2000  # whose pairwise distances are computed
    rows_of_cluster: int = 30  # of each described cluster, or all of a smaller one
    kept_of_cluster: int = 10  # that a model keeps at least, unless reduced to exemplars
    described_clusters: int = 1000  # that have a name: the largest
    checked_medoids: int = 100  # compared with X, to recognise the data of the fit
    # memory: clusters times features that are compared at a time, and distances of rows that are
    # computed at a time
    block_cells: int = 2**21


@dataclass(frozen=True)
class LevelPolicy:
    """Which levels of a category describe a cluster: shares of rows."""

    most: int = 30  # levels of a column; rarer ones do not describe a cluster
    distinct: float = 0.5  # a column of text with more different values, as a share, is left out
    all_have: float = 0.995  # all rows of a cluster have the level, to the whole percent
    of_all: float = 0.95  # the level is named instead of one that the cluster lacks
    common: float = 0.1  # one of several levels that a cluster has
    several: int = 3  # levels of a cluster that are named together, at most
    rare: float = 0.4  # too few of the cluster have the level for a name
    lack: float = 0.7  # weight of a level that a cluster lacks; 1 is that of one that it has
    # said without the share; most rows; few rows
    nearly_all: float = 0.9
    mostly: float = 0.5
    hardly: float = 0.1


@dataclass(frozen=True)
class TraitPolicy:
    """What sets clusters apart. Effects are in standard deviations of all rows."""

    most: int = 8  # traits of each cluster
    # Share of the rows of a cluster that have a cell, from which on their mean speaks for it; and
    # of all rows, from which on the levels of a column can be those that clusters follow.
    known: float = 0.8
    about: float = 0.3  # a mean that is nearer to the others is neither high nor low
    faint: float = 0.5  # below, a cluster is "high" only if no other one is higher
    rounding: float = 0.01  # relative difference of effects that are the same
    tail: float = 3.0  # interquartile ranges from the quartiles; further away counts as so far
    # A cluster in the middle of a feature differs from others by its narrowness, not by its mean.
    middle_effect: float = 0.8  # largest
    middle_narrowness: float = 0.5  # smallest
    middle_distance: float = 0.8  # smallest, of its mean from the lowest and the highest value
    # smallest, of its mean from the lowest and the highest mean of a cluster: a share of their
    # distance, so that it is in the middle half
    middle_span: float = 0.25
    # series of columns, as of months
    series_columns: int = 3  # of the shortest
    series_traits: int = 3  # of a cluster that are from one series
    alike: float = 0.5  # share of a trait's strength that a neighbour in its series needs
    # columns that say the same
    same_column: float = 0.95  # correlation
    correlated_rows: int = 50  # fewest
    likeness_rows: int = 2000  # most
    # splits of siblings
    split: float = 0.5  # deviations of both together, from which on a feature splits them
    value: float = 0.5  # weight of a split in values; 1 is that of one in words
    tried: int = 20  # features that split most
    # columns that the clusters repeat
    repeated: float = 0.85  # adjusted Rand index
    combined: int = 5  # columns, at most
    tried_categories: int = 10
    # Levels tell the clusters if they place by this share fewer rows wrong than placing all rows in
    # the largest cluster would; and clusters the levels likewise.
    told: float = 0.8
    # Numbers are levels, as those of a design or of a code, if there are few different ones.
    values: int = 12  # different ones, at most
    rows_per_value: int = 5  # on average, at least
    number_columns: int = 100  # more columns of numbers, such as pixels, are not compared


@dataclass(frozen=True)
class WordPolicy:
    """How much a phrase holds. Lengths are in characters."""

    text: int = 120
    phrase: int = 40  # the name of a feature
    levels: int = 60  # a level, or a few of them
    first_year: int = 1500  # numbers of a column of years have no comma
    last_year: int = 2200
    weakest: float = 0.3  # standard deviations; a weaker trait says nothing
    second: float = 0.5  # standard deviations; a weaker trait is not said beside a strong one
    faint_share: float = 0.35  # of the strongest trait; a weaker one is left out of the name
    # traits in a name; more than the first only if two clusters would have the same name
    traits: int = 3
    most_traits: int = 5
    values_in_name: int = 2  # features whose values tell clusters apart that have the same traits
    near: float = 0.1  # relative difference up to which a figure in a name is true
    table_traits: int = 3
    branch_traits: int = 2  # in the name of a branch
    branch_topics: int = 3  # of texts, in the name of a branch
    named_clusters: int = 6  # in the headline, at most
    named_slices: int = 3  # of what are no clear groups, at most
    formulas: int = 5  # columns that are formulas of each other
    named_rows: int = 3  # in the headline, at most
    findings: int = 3  # clusters, and features, that are said to have changed
    changes: int = 8  # clusters in a line on an update
    drift_lines: int = 5  # figures of clusters, and of features, in lines


@dataclass(frozen=True)
class BetweenPolicy:
    """When clusters are apart, and which rows are odd."""

    neighbours: int = 5  # of each row
    between: float = 0.8  # distance to the own cluster, as a share of that to another one
    loose: float = 2.0  # distance to the own cluster; 1 is that of its median row
    # shares of rows between two clusters up to which clusters are apart, touch, and overlap
    apart: float = 0.02
    touching: float = 0.2
    overlapping: float = 0.4
    # Densities half-way between two clusters, compared with their centres: up to the first there is
    # a gap, from the second on none. Rows are counted at stops from centre to centre.
    half_filled: float = 0.3
    filled: float = 0.7
    stops: int = 11
    window: float = 0.1  # around each stop; 1 is the distance of the centres
    digits: int = 9  # decimals of a place, in the same unit: more are rounding errors
    at_centre: int = 5  # fewest rows; with fewer, nothing is said
    # Share of the variance that one direction has, from which on rows lie along a line.
    line: float = 0.9
    line_features: int = 200  # of more, directions are not looked at
    # rows that are listed
    listed_loose: int = 3  # of each cluster
    listed_between: int = 50
    listed_aside: int = 20


@dataclass(frozen=True)
class CutPolicy:
    """Which numbers of clusters a page offers."""

    every_number: int = 60  # up to this one, every number
    ratio: float = 1.2  # of the next ones
    largest: int = 500
    levels: int = 30
    near_best: float = 0.02  # silhouettes that differ by less are equally good
    others: int = 3  # equally good numbers that are listed


@dataclass(frozen=True)
class PagePolicy:
    """How much a page holds."""

    # cards
    clusters: int = 300  # of a cut that are described
    traits: int = 5  # of each cluster
    exemplar_columns: int = 12
    bins: int = 24
    tail: float = 0.005  # share of the rows at each end that are counted in the outermost bins
    images: int = 600  # clusters with pictures, if there are many cuts
    image_side: int = 160  # pixels; larger images are scaled down
    thumbnail_side: int = 112  # pixels: about 3 kB, and there are three for each topic
    pale: float = 0.15  # standard deviations of all pixels: smaller differences have no words
    # heat map
    heatmap_features: int = 14
    heatmap_effect: float = 0.3  # standard deviations by which some cluster differs in each feature
    precision: int = 10_000  # parts of a deviation that are stored, so that means agree with cards
    # odd rows
    # pixels of the drawing of updates; marks are in ``history_top``, above the shapes
    history_width: int = 720
    history_height: int = 220
    history_top: int = 28
    odd_rows: int = 12  # least typical ones, and as many between two clusters
    filled_rows: int = 50  # most of whose cells were filled
    odd_columns: int = 3  # shown of each row
    odd_difference: float = 0.5  # standard deviations: smaller differences are not shown
    odd_level: float = 0.1  # share of a cluster that has the level, from which on it is not odd
    # map
    grid: int = 4000  # steps that coordinates are rounded to, less than a pixel
    degrees: int = 6  # lines in each direction
    narrowest_degree: float = 0.1  # near the poles, longitudes are not drawn still narrower
    leaves: int = 240  # of the tree
    # data for the script
    labelled_rows: int = 5_000_000  # a browser could not write a CSV file with more lines
    characters: int = 1_200_000  # for labels; and as many for names
    compression: int = 6  # of names, hardly ever more: longer ones need not be tried
    # updates
    shapes: int = 12  # clusters with a shape of their own
    steps: int = 20  # in the table
    # script
    value: int = 400  # characters of a parameter's value
    code: int = 100_000  # characters of an estimator
    code_width: int = 100


@dataclass(frozen=True)
class TopicPolicy:
    """How much a page of topics holds. Lengths are in characters."""

    read: int = 5000  # of a text, to count words
    shown: int = 300  # of a typical text
    typical: int = 3  # texts
    counted_words: int = 50_000
    longest_word: int = 40  # longer ones are no words
    words: int = 8
    words_in_name: int = 3
    name: int = 80
    title: int = 24
    labels: int = 40
    open: int = 12  # topics of the coarsest level that are opened at first, if there are no more
    placed: int = 8  # topics; of fewer, the plane of the largest variance shows as much
    # the map, in pixels; the largest circle is not cut off
    width: float = 1100.0
    height: float = 620.0
    margin: float = 50.0
    covered: float = 0.12  # share of the map that all circles cover
    smallest_radius: float = 3.0
    largest_radius: float = 46.0


SAMPLE = SamplePolicy()
LEVEL = LevelPolicy()
TRAIT = TraitPolicy()
WORD = WordPolicy()
BETWEEN = BetweenPolicy()
CUT = CutPolicy()
PAGE = PagePolicy()
TOPIC = TopicPolicy()
