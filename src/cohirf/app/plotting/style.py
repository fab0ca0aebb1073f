"""Colours and sizes of all plots, and of the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Colours as hexadecimal numbers, and sizes with their units."""

    # Consecutive hues remain distinguishable with any type of colour blindness.
    hues: tuple[str, ...] = (
        *("#0072B2", "#E69F00", "#009E73", "#D55E00"),
        *("#CC79A7", "#332288", "#56B4E9", "#999933"),
    )
    # Share of black (negative) or white (positive) that is mixed into the hues in each round
    # through them.
    rounds: tuple[float, ...] = (0.0, -0.35, 0.4, -0.2, 0.2)
    noise: str = "#B3B3B3"
    ink: str = "#333333"
    faint: str = "#767676"
    paper: str = "#F2F2F2"
    # means of a heat map, readable for colour-blind people
    below: str = "#0072B2"
    equal: str = "#F7F7F7"
    above: str = "#D55E00"
    # text
    font: float = 8.0  # points
    letter: float = 0.6  # width, in font sizes
    line: float = 1.4  # height, in font sizes
    points_per_inch: int = 72
    # axes
    arranged: int = 4  # axes above which the layout engine is too slow to run early
    ticks: int = 12
    # heat map
    cell_width: float = 0.36  # inches
    cell_height: float = 0.28  # inches
    strongest: float = 2.0  # standard deviations, from which colours do not get stronger
    label: int = 60  # characters
    # map
    disc: float = 11.0  # diameter of a disc with a number, in points
    discs: int = 300  # those of the largest clusters
    numbered: int = 40  # with more discs, none shows the number of its cluster
    in_legend: int = 10  # clusters
    umap_neighbours: int = 15  # the default of UMAP
    # trees: additional distance between leaves of different clusters; that of neighbours is 1
    gap: float = 0.6

    @property
    def n_colours(self) -> int:
        """Number of colours of clusters; with more clusters, they repeat."""
        return len(self.hues) * len(self.rounds)

    @property
    def accent(self) -> str:
        """The colour of what a plot is about."""
        return self.hues[0]

    @property
    def second_accent(self) -> str:
        """The colour of what it is compared with."""
        return self.hues[3]


STYLE = Style()
