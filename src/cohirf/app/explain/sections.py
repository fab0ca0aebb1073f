"""Sections of a report below the cards: what each is made from, and how it comes onto the page.

To add one, write a module with a ``SECTION``, and name it in ``SECTIONS`` of ``report``, where the
others are. ``describe`` returns plain JSON, or None if there is nothing to show; the template finds
it under the name of the section, beside all else that ``summarize`` returns. In a template,
``{{ cluster(label) }}`` of ``macros.html`` names a cluster of the fit, and follows when the reader
renames it. Only a section that shows the cut that the reader has chosen needs a script: see
``SCRIPTS`` and ``FOR_SCRIPT`` of ``page``, and ``onCut`` in ``html/state.js``.

A card is the box of one cluster, and is described in ``cards``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cohirf import CoHiRF
from cohirf.app.explain.columns import Columns, Pictures
from cohirf.app.explain.cuts import Cut
from cohirf.app.explain.rows import BadlyFitting
from cohirf.app.explain.study import Sample
from cohirf.rows import IntArray


@dataclass(frozen=True)
class Listing:
    """The clusters of all cuts."""

    clusters: list[dict[str, Any]]  # the descriptions of the clusters
    # for each cut, the places in ``clusters`` of its largest clusters, the largest first
    places: list[list[int]]
    names: list[list[str]]  # for each cut, the names of these clusters: unique within the cut


@dataclass(frozen=True)
class Made:
    """What was found in a model for a page, and what sections are made from."""

    sample: Sample  # holds every exemplar, and every row that is badly fitting
    columns: Columns  # the columns that the page shows, in the units of the data
    cuts: Sequence[Cut]
    colours: Sequence[IntArray]  # for each cut, the colour number of each cluster
    listing: Listing
    badly_fitting: BadlyFitting
    pictures: Pictures | None  # if rows are shown as images

    @property
    def model(self) -> CoHiRF:
        """The model that the page is about."""
        return self.sample.study.model


def show_always(content: Any) -> bool:
    """Return that content is shown."""
    return True


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str  # its key in the summary, and its address in the page
    link: str  # what the list of sections calls it
    describe: Callable[[Made], Any]  # plain JSON, or None for no section
    template: str  # a file in ``html``, or the template itself, if it is short
    is_shown: Callable[[Any], bool] = show_always  # given what ``describe`` returned


def describe_sections(sections: Sequence[Section], made: Made) -> dict[str, Any]:
    """Return the content of sections, each under its name, and the list of those that are shown."""
    content = {section.name: section.describe(made) for section in sections}
    shown = [
        {"name": section.name, "link": section.link, "template": section.template}
        for section in sections
        if content[section.name] is not None and section.is_shown(content[section.name])
    ]
    return content | {"sections": shown}
